"""Nonlinear conjugate gradients, by Polak and Ribiere, with restarts."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

from mercer._base.parameter import Choice, Integer, Nothing, Rule
from mercer._plain import plain
from mercer._solver import Solution, Solver
from mercer._solver.line_search import search
from mercer._solver.vector import inner
from mercer._types import Array
from mercer.optim._function import Evaluate, FunctionPoint, FunctionProblem
from mercer.optim._line_search import search_by_parabola
from mercer.optim._method import Method, certify_gradient, make_step

# How flat the slope must be where a line search ends: conjugacy needs nearly exact ones, Nocedal and Wright take 0.1.
_FLATNESS = {"wolfe": 0.1, "exact": 1e-12}


@plain
@dataclass(frozen=True, eq=False)
class FunctionConjugateState:
    """Parameters, value, gradient; the next direction, the length of the last step, and the steps since a restart."""

    x: Array
    value: float
    gradient: Array
    direction: Array
    step: float
    n_steps: int
    n_since: int


@plain
@dataclass(frozen=True)
class ConjugateGradient(Method):
    """Conjugate gradients: d <- -g + beta * d with beta = g . (g - g_before) / |g_before|^2, and a line search along d.

    On a quadratic with exact line searches directions are conjugate, gradients are orthogonal, and as many steps as
    there are parameters reach the minimum. Elsewhere conjugacy wears off: the method restarts along the gradient when
    beta is negative, and after `restart` steps.

    Parameters
    ----------
    line_search : {"wolfe", "exact", "parabola"}, default="wolfe"
        Strong Wolfe conditions; the same to rounding; or parabolas through values, which asks for no gradients on the
        way.
    restart : an integer in [1, inf) or None, default=None
        Steps between restarts; None means the number of parameters, but at least ten.

    References
    ----------
    Polak and Ribiere (1969), Note sur la convergence de methodes de directions conjuguees.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import minimize
    >>> A = np.diag([1.0, 10.0, 100.0])
    >>> result = minimize(
    ...     lambda x: 0.5 * x @ A @ x, [1.0, 1.0, 1.0], grad=lambda x: A @ x, method="conjugate_gradient",
    ...     line_search="exact",
    ... )
    >>> result.n_iter
    3
    """

    line_search: str = "wolfe"
    restart: int | None = None
    name: ClassVar[str] = "conjugate_gradient"
    rules: ClassVar[dict[str, Rule]] = {
        "line_search": Choice("wolfe", "exact", "parabola"),
        "restart": Integer(1) | Nothing(),
    }
    state: ClassVar[type] = FunctionConjugateState

    def solve(self, start: Array | FunctionConjugateState) -> Solver:
        return _conjugate_gradient(self, start)


def _conjugate_gradient(
    method: ConjugateGradient, start: Array | FunctionConjugateState
) -> Generator[Any, Any, Solution]:
    state = start if isinstance(start, FunctionConjugateState) else (yield from _begun(start))
    period = method.restart or max(10, _size(state.x))
    while True:
        reached = yield from _along(method, state)
        # Along the steepest descent itself no lower point was found: nothing is left to try.
        if reached is None and state.n_since == 0:
            return Solution(state, False, certify_gradient(state.gradient), "no lower point")
        if reached is None:
            state = _restart(state)
            continue
        before, state = state.x, _turn_direction(state, reached, period)
        yield make_step(state, before, restarted=float(state.n_since == 0))


def _begun(start: Array) -> Generator[Any, Any, FunctionConjugateState]:
    point = yield Evaluate(start)
    return _restart(FunctionConjugateState(start, point.objective, point.gradient, point.gradient, 0.0, 0, 0))


def _restart(state: FunctionConjugateState) -> FunctionConjugateState:
    """Restart along the gradient; without a known scale, the first trial moves by about one."""
    length = inner(state.gradient, state.gradient) ** 0.5
    step = state.step if state.step > 0 else min(1.0, 1.0 / length) if length > 0 else 1.0
    return FunctionConjugateState(state.x, state.value, state.gradient, -state.gradient, step, state.n_steps, 0)


def _along(method: ConjugateGradient, state: FunctionConjugateState) -> Generator[Any, Any, FunctionPoint | None]:
    """Return the next point along the direction."""
    point = FunctionPoint(state.x, state.value, state.gradient)
    if method.line_search != "parabola":
        flatness = _FLATNESS[method.line_search]
        return (
            yield from search(
                FunctionProblem(), point, state.direction, first=state.step, flatness=flatness, strong=True
            )
        )
    # Not a direction of descent any more: restart from the gradient.
    if not inner(state.gradient, state.direction) < 0:
        return None
    line = yield from search_by_parabola(state.x, state.direction, state.value, state.step)
    return (yield Evaluate(state.x + line.step * state.direction)) if line.value < state.value else None


def _turn_direction(state: FunctionConjugateState, reached: FunctionPoint, period: int) -> FunctionConjugateState:
    """Return the state at a point found, with its next direction."""
    moved, change = reached.parameters - state.x, reached.gradient - state.gradient
    step = (inner(moved, moved) / inner(state.direction, state.direction)) ** 0.5
    # Polak and Ribiere: beta = g_new . (g_new - g) / g . g; negative values restart ("PR+"), which is globally
    # convergent.
    beta = inner(reached.gradient, change) / inner(state.gradient, state.gradient)
    direction = beta * state.direction - reached.gradient
    slope = inner(reached.gradient, direction)
    here = FunctionConjugateState(
        reached.parameters, reached.objective, reached.gradient, direction, step, state.n_steps + 1, state.n_since + 1
    )
    if beta <= 0 or here.n_since >= period or not slope < 0:
        return _restart(here)
    # The next step is expected to promise as much as the last did.
    guess = step * inner(state.gradient, state.direction) / slope
    return FunctionConjugateState(here.x, here.value, here.gradient, direction, guess, here.n_steps, here.n_since)


def _size(x: Array) -> int:
    size = 1
    for length in x.shape:
        size *= int(length)
    return size
