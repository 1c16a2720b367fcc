"""Proximal gradient: a smooth function plus a penalty with corners or walls."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

from mercer._base.parameter import Boolean, Real, Rule
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.vector import inner, largest_entry
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError
from mercer.optim._function import Evaluate, FunctionPoint, PenaltyValue, Prox, Value
from mercer.optim._method import Method

_STATEMENT = (
    "Largest entry of (y - x) / step, where x is the proximal gradient step from y: twice its norm bounds the least "
    "subgradient at x."
)


@plain
@dataclass(frozen=True, eq=False)
class FunctionProximalState:
    """Parameters, value with penalty; the point ahead, the weight of momentum, the step length and the steps taken."""

    x: Array
    value: float
    gradient: None
    ahead: Array
    weight: float
    step: float
    n_steps: int


@dataclass(frozen=True)
class ProximalGradient(Method):
    """Minimise f(x) + penalty(x), f smooth and the penalty with a simple proximal map, by FISTA with restarts.

    x <- prox(y - step * grad f(y)), with y ahead of x by Nesterov's momentum (Beck and Teboulle, 2009). The step is
    halved until f lies below its parabola; momentum starts afresh when it would raise the objective, so that this never
    rises (O'Donoghue and Candes, 2015). The penalty is an object with ``value(x)`` and ``prox(x, step)``; ``bounds``
    are the walls of a box.

    Parameters
    ----------
    accelerated : bool, default=True
        Whether to use momentum; without, each step is a plain proximal gradient step.
    first_step : float, default=1
        The step length tried first.

    References
    ----------
    Beck and Teboulle (2009), A fast iterative shrinkage-thresholding algorithm; O'Donoghue and Candes (2015), Adaptive
    restart for accelerated gradient schemes.

    Examples
    --------
    The least squares solution in the unit box:

    >>> from mercer.optim import minimize
    >>> result = minimize(
    ...     lambda x: (x[0] - 2.0) ** 2 + (x[1] - 0.5) ** 2, [0.0, 0.0], bounds=(0.0, 1.0), method="proximal_gradient"
    ... )
    >>> result.x.round(6)
    array([1. , 0.5])
    """

    accelerated: bool = True
    first_step: float = 1.0
    name: ClassVar[str] = "proximal_gradient"
    rules: ClassVar[dict[str, Rule]] = {"accelerated": Boolean(), "first_step": Real(0, closed="neither")}
    uses: ClassVar[frozenset[str]] = frozenset({"penalty", "bounds"})
    state: ClassVar[type] = FunctionProximalState

    def solve(self, start: Array | FunctionProximalState) -> Solver:
        return _fista(self, start)


@dataclass(frozen=True, eq=False)
class Bounds:
    """A box as a penalty: nothing inside, and everything outside is moved to the wall."""

    low: Array
    high: Array

    def value(self, x: Array) -> float:
        """Zero: proximal steps never leave the box."""
        return 0.0

    def prox(self, x: Array, step: float) -> Array:
        """Return the nearest point of the box."""
        return namespace_of(x).clip(x, self.low, self.high)

    @classmethod
    def read(cls, subject: str, bounds: Any, x: Array) -> "Bounds":
        """Return bounds as a pair of arrays; None means no bound."""
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise DataError(f"{subject}: bounds must be a pair (low, high) of numbers or arrays; got {bounds!r}.")
        xp = namespace_of(x)
        low, high = (
            0.0 * x + xp.asarray(default if wall is None else wall, dtype=x.dtype)
            for wall, default in zip(bounds, (-float("inf"), float("inf")))
        )
        if not bool(xp.all(low <= high)):
            raise DataError(f"{subject}: bounds must have low <= high everywhere; got {bounds!r}.")
        return cls(low, high)


def _fista(method: ProximalGradient, start: Array | FunctionProximalState) -> Generator[Any, Any, Solution]:
    if isinstance(start, FunctionProximalState):
        state = start
    else:
        # The prox makes the start feasible: a penalty with walls is infinite outside of them.
        x = yield Prox(start, method.first_step)
        value = (yield Value(x)) + (yield PenaltyValue(x))
        state = FunctionProximalState(x, value, None, x, 1.0, method.first_step, 0)
    while True:
        trial = yield from _take_step(state.ahead, state.step)
        if state.weight > 1.0 and (trial is None or trial.value > state.value):
            # Momentum overshot: a step from x itself cannot.
            trial = yield from _take_step(state.x, state.step)
            state = FunctionProximalState(state.x, state.value, None, state.x, 1.0, state.step, state.n_steps)
        if trial is None:
            return Solution(state, False, Certificate.none("No step lowers the function."), "no lower point")
        before, state = state, _advance(method, state, trial)
        measures = {
            "gradient_norm": trial.residual,
            "step_norm": largest_entry(state.x - before.x),
            "step": trial.step,
        }
        certificate = Certificate.of("proximal gradient norm", trial.residual, float("nan"), _STATEMENT)
        yield Step(state.value, state, certificate, measures)


@dataclass(frozen=True, eq=False)
class _Trial:
    x: Array
    value: float
    step: float
    residual: float


def _take_step(y: Array, step: float) -> Generator[Any, Any, _Trial | None]:
    """Return a proximal gradient step from `y`, halved until the parabola of that step lies above the function."""
    point: FunctionPoint = yield Evaluate(y)
    for _ in range(60):
        x = yield Prox(y - step * point.gradient, step)
        smooth = yield Value(x)
        moved = x - y
        # f(y) + g . (x - y) + |x - y|^2 / (2 t) lies above f wherever t <= 1 / L; then the step cannot increase f +
        # penalty.
        bound = point.objective + inner(point.gradient, moved) + 0.5 * inner(moved, moved) / step
        # Near the minimum both sides agree to rounding, which must not shrink the step.
        if smooth <= bound + 1e-14 * max(1.0, abs(bound)):
            return _Trial(x, smooth + (yield PenaltyValue(x)), step, largest_entry(moved) / step)
        step *= 0.5
    return None


def _advance(method: ProximalGradient, state: FunctionProximalState, trial: _Trial) -> FunctionProximalState:
    """Accept a step; lengthen the next a little, since the curvature may have fallen on the way."""
    # Momentum that points back from where the proximal step led has outlived its use.
    turned = inner(state.ahead - trial.x, trial.x - state.x) > 0
    # Nesterov's sequence t_(k+1) = (1 + sqrt(1 + 4 t_k^2)) / 2 gives the rate O(1 / k^2) (Beck and Teboulle, 2009).
    weight = 1.0 if turned else 0.5 * (1.0 + (1.0 + 4.0 * state.weight**2) ** 0.5)
    push = 0.0 if turned or not method.accelerated else (state.weight - 1.0) / weight
    ahead = trial.x + push * (trial.x - state.x)
    if not method.accelerated:
        weight = 1.0
    return FunctionProximalState(trial.x, trial.value, None, ahead, weight, 1.1 * trial.step, state.n_steps + 1)
