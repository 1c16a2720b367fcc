"""The solver of label propagation and spreading: steps of the map, then conjugate gradients where the graph allows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows

_STATEMENT = (
    "The sum of all changes that one more step of the map would make: zero proves the fixed point, to which every "
    "start leads."
)
# Rows of a product that one thread takes: fixed, so that threads change no bit.
_ROWS = 256
# Conjugate gradients are worth their inner products where the map alone has not converged in four steps.
_FIRST_STEPS = 4


@plain
@dataclass(frozen=True, eq=False)
class LabelState:
    """The mass of each label in each row, what the next step of the map adds, the sum of that, and steps.

    Without a direction, an empty array, the next step is one of the map. ``measured`` says that what is left was
    measured, not carried along by conjugate gradients.
    """

    mass: Array
    left: Array
    change: float
    steps: int
    direction: Array
    measured: bool


@dataclass(frozen=True, eq=False)
class LabelMap:
    """The map F -> a M F + B, on free rows alone; `normalise` gives each row of the result the sum one.

    ``free`` has a one for each free row, None for all; ``weights`` are those of rows in an inner product in which M is
    symmetric; None where there is none.
    """

    matrix: Rows
    factor: float
    offset: Array
    free: Array | None
    normalise: bool
    weights: Array | None
    threads: int

    def multiply(self, mass: Array) -> Array:
        """Return a M F, its rows that are not free as zeros."""
        if self.threads == 1 and not isinstance(self.matrix, np.ndarray):
            out = self.matrix @ mass
        else:
            out = np.empty_like(mass)

            def fill(number: int) -> None:
                part = slice(number * _ROWS, (number + 1) * _ROWS)
                out[part] = self.matrix[part] @ mass

            run_numbered(fill, -(-len(mass) // _ROWS), self.threads)
        if self.factor != 1.0:
            out *= self.factor
        if self.free is not None:
            out *= self.free
        return out

    def apply(self, mass: Array) -> Array:
        """Return the next masses."""
        mass = self.multiply(mass)
        if self.normalise:
            # A product with ones: a sum along so short an axis takes NumPy ten times as long.
            sums = mass @ np.ones(mass.shape[1])
            mass /= np.where(sums > 0, sums, 1.0)[:, None]
        mass += self.offset
        return mass

    def follow(self, mass: Array, tol: float, max_iter: int, state: LabelState | None) -> Solver[LabelState]:
        """Look for the fixed point from `mass`, in at most `max_iter` steps.

        Steps of the map come first: where rows are normalised, labels must have reached all rows that they can reach
        before the map is linear in what follows. From there conjugate gradients take over, the whole table as one
        vector, which keeps the sums of the rows.
        """
        # Entries that a product reads, each for every label.
        size = (self.matrix.size if isinstance(self.matrix, np.ndarray) else self.matrix.nnz) * mass.shape[1]
        if state is None:
            left = yield Dense.over(lambda: self.apply(mass) - mass, size)
            state = LabelState(mass, left, _sum_changes(left), 0, np.empty((0, 0)), True)
        # Masses without a step hold the labels that were given, and no others.
        while state.steps < max_iter and (state.steps == 0 or not self._is_near(state, tol)):
            known = state
            state = yield Dense.over(lambda: self._advance(known, tol), size)  # noqa: B023 (answered at once)
            yield Step(state.change, state, self._certify(state, tol))
        return Solution(state, self._is_near(state, tol), self._certify(state, tol))

    def _is_near(self, state: LabelState, tol: float) -> bool:
        return state.measured and state.change <= tol

    def _advance(self, state: LabelState, tol: float) -> LabelState:
        """Return the state after one product more."""
        if state.direction.size:
            return self._descend(state, tol)
        if not state.measured:
            left = self.apply(state.mass) - state.mass
            return LabelState(state.mass, left, _sum_changes(left), state.steps + 1, state.direction, True)
        mass = state.mass + state.left
        left = self.apply(mass) - mass
        plain = self.weights is None or state.steps + 1 < _FIRST_STEPS
        if not plain and self.normalise:
            # Rows that labels have just reached begin with a mass of one.
            plain = bool(np.any((mass.sum(axis=1) == 0) & (left.sum(axis=1) > 0)))
        direction = np.empty((0, 0)) if plain else left
        return LabelState(mass, left, _sum_changes(left), state.steps + 1, direction, True)

    def _descend(self, state: LabelState, tol: float) -> LabelState:
        """Return the state after a step along the conjugate direction."""
        weights: Any = 1.0 if self.weights is None else self.weights[:, None]
        turned = state.direction - self.multiply(state.direction)
        square, curve = float((weights * state.left**2).sum()), float((weights * state.direction * turned).sum())
        none = np.empty((0, 0))
        if not (curve > 0 and np.isfinite(square / curve)):
            return LabelState(state.mass, state.left, state.change, state.steps + 1, none, True)
        length = square / curve
        mass, left = state.mass + length * state.direction, state.left - length * turned
        # What is left by recurrence may differ from what is left: the next product measures it.
        change = _sum_changes(left)
        if change <= 0.5 * tol:
            return LabelState(mass, left, change, state.steps + 1, none, False)
        ratio = float((weights * left**2).sum()) / square
        return LabelState(mass, left, change, state.steps + 1, left + ratio * state.direction, False)

    def _certify(self, state: LabelState, tol: float) -> Certificate:
        return Certificate.of("residual", state.change, tol, _STATEMENT)


def _sum_changes(left: Array) -> float:
    return float(np.abs(left).sum())


def attributes_of(state: LabelState, classes: Array, dtype: Any) -> dict[str, Any]:
    """Return the fitted attributes: distributions, what they were divided by, and the label of each row."""
    mass = np.maximum(state.mass, 0.0)
    sums = mass.sum(axis=1)
    shares = mass / np.where(sums > 0, sums, 1.0)[:, None]
    return {
        "label_distributions_": shares.astype(dtype),
        "label_mass_": sums.astype(dtype),
        "transduction_": classes[shares.argmax(axis=1)],
    }
