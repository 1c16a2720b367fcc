"""Coordinate search: one coordinate at a time, or pairs of them under one linear constraint."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Nothing, Real, Rule, Seed
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer.errors import DataError
from mercer.optim._function import Value
from mercer.optim._line_search import search_by_parabola
from mercer.optim._method import Method
from mercer.optim._stopping import MaxIter, SmallStep, StopRule

_STATEMENT = "Largest move of a coordinate in the last sweep: zero where no single move lowers the function."


@plain
@dataclass(frozen=True, eq=False)
class CoordinateSearchState:
    """Parameters, value, the last move along each direction, the sweeps made, and the seed of their order."""

    x: np.ndarray
    value: float
    gradient: None
    moves: np.ndarray
    n_steps: int
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CoordinateSearch(Method):
    """Minimise along one coordinate at a time, by parabolas; no gradient is needed, and the value never rises.

    Under a constraint sum_i c_i x_i = constant a single coordinate cannot move at all; the least that can is a pair,
    x_i by t / c_i and x_j by -t / c_j, which is the idea of sequential minimal optimisation. One sweep minimises a
    separable function. Where a function has a ridge that is not along a coordinate, the search can stop short.

    Parameters
    ----------
    order : {"cyclic", "random"}, default="cyclic"
        The order of coordinates (or pairs) in a sweep.
    constraint : array-like of shape (d,) or None, default=None
        Coefficients c of a linear constraint that the start meets; None moves single coordinates.
    tol : float, default=1e-8
        The precision of each line search, beside the length of its move.
    random_state : int, Generator, RandomState or None, default=None
        For ``order="random"``.

    Notes
    -----
    A sweep takes about ten evaluations a coordinate, and d (d - 1) / 2 pairs under a constraint.

    Examples
    --------
    >>> from mercer.optim import minimize
    >>> minimize(lambda x: abs(x[0] - 2.0) + (x[1] + 1.0) ** 4, [0.0, 0.0], method="coordinate_search").x.round(3)
    array([ 2., -1.])
    """

    order: str = "cyclic"
    constraint: Any = None
    tol: float = 1e-8
    random_state: Any = None
    name: ClassVar[str] = "coordinate_search"
    rules: ClassVar[dict[str, Rule]] = {
        "order": Choice("cyclic", "random"),
        "constraint": ArrayRule() | Nothing(),
        "tol": Real(0, closed="neither"),
        "random_state": Seed(),
    }
    any_library: ClassVar[bool] = False
    state: ClassVar[type] = CoordinateSearchState

    def default_stop(self) -> StopRule:
        return MaxIter(1000) | SmallStep(1e-7)

    def solve(self, start: np.ndarray | CoordinateSearchState) -> Solver:
        x = start.x if isinstance(start, CoordinateSearchState) else start
        return _sweep(self, _directions(x, self.constraint), start)


def _sweep(
    method: CoordinateSearch, directions: list[np.ndarray], start: np.ndarray | CoordinateSearchState
) -> Generator[Any, Any, Solution]:
    if isinstance(start, CoordinateSearchState):
        state = start
    else:
        seed = tuple(int(word) for word in seed_sequence(method.random_state).generate_state(4))
        state = CoordinateSearchState(start, (yield Value(start)), None, np.ones(len(directions)), 0, seed)
    while True:
        x, value, moves = state.x, state.value, state.moves.copy()
        for number in _order_directions(method.order, len(directions), state):
            # The last move along a direction tells how far to look along it this time.
            # A direction that has not moved is tried with a small step.
            first = moves[number] or 1e-3
            line = yield from search_by_parabola(x, directions[number], value, float(first), method.tol)
            x, value, moves[number] = x + line.step * directions[number], line.value, line.step
        before, state = (
            state,
            CoordinateSearchState(x, value, None, _keep_moves(moves, state.moves), state.n_steps + 1, state.seed),
        )
        moved = float(np.max(np.abs(x - before.x), initial=0.0))
        yield Step(value, state, Certificate.of("fixed point", moved, float("nan"), _STATEMENT), {"step_norm": moved})


def _order_directions(order: str, count: int, state: CoordinateSearchState) -> Iterator[int]:
    if order == "cyclic":
        return iter(range(count))
    # The order depends on the seed and the sweep only, so a continued run draws the orders of an unbroken one.
    random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_steps,)))
    return iter(random.permutation(count).tolist())


def _keep_moves(moves: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the trial length: a direction that did not move is tried with a tenth of its last length."""
    return np.where(moves != 0.0, moves, 0.1 * before)


def _directions(x: np.ndarray, constraint: Any) -> list[np.ndarray]:
    """Return single coordinates, or pairs of them that keep a linear constraint."""
    if x.ndim != 1:
        raise DataError(f"CoordinateSearch: x0 must have one dimension; got {x.ndim}.")
    if constraint is None:
        return list(np.eye(len(x), dtype=x.dtype))
    c = np.asarray(constraint, dtype=x.dtype)
    if c.shape != x.shape or not np.all(np.isfinite(c)):
        raise DataError(
            f"CoordinateSearch: constraint must hold {len(x)} finite numbers, one for each parameter; got {c}."
        )
    # Coordinates that the constraint does not mention are free.
    free = [row for row, coefficient in zip(np.eye(len(x), dtype=x.dtype), c) if coefficient == 0]
    tied = np.flatnonzero(c)
    for i, j in ((i, j) for i in tied for j in tied if i < j):
        pair = np.zeros_like(x)
        # c . (e_i / c_i - e_j / c_j) = 0, so that c . x stays constant along the pair.
        pair[i], pair[j] = 1.0 / c[i], -1.0 / c[j]
        free.append(pair / np.max(np.abs(pair)))
    return free
