"""Line searches: by parabolas through values, and by Wolfe's conditions on slopes."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from mercer._base.parameter import Integer, Real, Rule, check_parameters
from mercer._solver import Certificate, Solution, drive
from mercer._solver.line_search import search
from mercer._solver.vector import inner
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.optim._function import FunctionPoint, FunctionProblem, FunctionSource, Value, check_start

_GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
_WIDENING = 1.0 + 1.0 / (2.0 * _GOLDEN)
_TRIALS = 100


@dataclass(frozen=True)
class LineMinimum:
    """Where a line search ended.

    Attributes
    ----------
    step : float
        How far along the direction.
    value : float
        The function there; never above its value at the start.
    n_evaluations : int
        Calls of the function, beside the one at the start.
    n_fits : int
        Parabolas whose vertex was tried.
    """

    step: float
    value: float
    n_evaluations: int
    n_fits: int


def parabola_search(
    fun: Callable[[Array], Any], x: Any, direction: Any, *, first: float = 1.0, tol: float = 1e-8, max_iter: int = 100
) -> LineMinimum:
    """Minimise a function along a line by parabolas.

    Steps double until three points bracket a minimum. Then the vertex of the parabola through them replaces one of
    them, again and again; where it would not narrow the bracket, the golden section does.

    Parameters
    ----------
    fun : callable
        From an array to a number.
    x : array-like
        The start.
    direction : array-like
        The line is x + step * direction.
    first : float, default=1
        The first step tried; a negative one looks backwards first.
    tol : float, default=1e-8
        The search ends when the bracket is this small beside the step. Values tell no more than the root of the
        machine's precision.
    max_iter : int, default=100
        The most evaluations.

    Returns
    -------
    LineMinimum

    Examples
    --------
    >>> from mercer.optim import parabola_search
    >>> line = parabola_search(lambda x: (x[0] - 3.0) ** 2, [0.0], [1.0])
    >>> line.step, line.n_fits
    (3.0, 1)
    """
    values = {"first": first, "tol": tol, "max_iter": max_iter}
    check_parameters("parabola_search", {"first": Real(), "tol": Real(0), "max_iter": Integer(3)}, values)
    if first == 0:
        raise ParameterError("parabola_search: first must not be zero; got 0.")
    start, line = check_start("parabola_search", x), check_start("parabola_search", direction)
    source = FunctionSource("parabola_search", fun)

    def solve() -> Generator[Any, Any, Solution]:
        value = yield Value(start)
        minimum = yield from search_by_parabola(start, line, value, first, tol, max_iter)
        return Solution(minimum, True, Certificate.none("A line search bounds nothing."))

    return drive(solve(), source).state  # type: ignore[arg-type]


def wolfe_search(
    fun: Callable[[Array], Any],
    x: Any,
    direction: Any,
    *,
    grad: Callable[[Array], Any] | bool | None = None,
    first: float = 1.0,
    flatness: float = 0.9,
) -> LineMinimum | None:
    """Find a step that meets the strong Wolfe conditions.

    With s the slope at the start, a step t must decrease the function by at least 1e-4 t |s| and leave a slope of at
    most ``flatness * |s|`` either way. Cubics through values and slopes narrow the bracket.

    Parameters
    ----------
    fun : callable
        From an array to a number.
    x : array-like
        The start.
    direction : array-like
        A direction of descent.
    grad : callable, bool or None, default=None
        The gradient; True if `fun` returns value and gradient, None for differences.
    first : float, default=1
        The first step tried.
    flatness : float, default=0.9
        Smaller values make the search nearly exact.

    Returns
    -------
    LineMinimum or None
        None where no such step was found, as along a direction that does not descend.

    Examples
    --------
    >>> from mercer.optim import wolfe_search
    >>> wolfe_search(lambda x: (x[0] - 3.0) ** 2, [0.0], [1.0], grad=lambda x: 2 * (x - 3.0), flatness=1e-6).step
    3.0
    """
    rules: dict[str, Rule] = {"first": Real(0, closed="neither"), "flatness": Real(0, 1, closed="neither")}
    check_parameters("wolfe_search", rules, {"first": first, "flatness": flatness})
    start, line = check_start("wolfe_search", x), check_start("wolfe_search", direction)
    source = FunctionSource("wolfe_search", fun, grad)

    def solve() -> Generator[Any, Any, Solution]:
        point: FunctionPoint = yield from FunctionProblem().evaluate(start)
        reached = yield from search(FunctionProblem(), point, line, first=first, flatness=flatness, strong=True)
        return Solution(reached, True, Certificate.none("A line search bounds nothing."))

    reached = drive(solve(), source).state  # type: ignore[arg-type]
    if reached is None:
        return None
    moved = reached.parameters - start
    return LineMinimum(inner(moved, line) / inner(line, line), reached.objective, source.n_evaluations - 1, 0)


def search_by_parabola(
    x: Array, direction: Array, value: float, first: float, tol: float = 1e-8, max_iter: int = _TRIALS
) -> Generator[Any, Any, LineMinimum]:
    """Find the minimum along x + step * direction; a generator that yields requests for values."""
    line = _Line(x, direction)
    bracket = yield from _bracket(line, value, first, max_iter)
    if bracket is None:
        return LineMinimum(*line.best, line.n_evaluations, 0) if line.best[1] < value else _stay(line, value)
    n_fits, slow = 0, False
    # Invariant: the middle point is the lowest of the three, so a minimum lies between the outer two.
    while line.n_evaluations < max_iter and _width(bracket) > 2.0 * _resolution(bracket, first, tol):
        width, ends = _width(bracket), min(bracket[0][1], bracket[2][1])
        fit = None if slow else _vertex(bracket)
        guess = _apart(bracket, _golden(bracket) if fit is None else fit[0], _resolution(bracket, first, tol))
        height = yield from line.at(guess)
        n_fits += fit is not None
        bracket = _narrow(bracket, (guess, height))
        # The parabola was the function, to rounding: its vertex is the minimum.
        if fit is not None and abs(height - fit[1]) <= 1e-10 * (ends - fit[1]):
            break
        # A parabola that did not halve the bracket is followed by a golden section, which guarantees linear
        # convergence.
        slow = fit is not None and _width(bracket) > 0.5 * width
    step, low = bracket[1]
    return LineMinimum(step, low, line.n_evaluations, n_fits) if low < value else _stay(line, value, n_fits)


class _Line:
    """A function along a line; remembers the lowest point."""

    def __init__(self, x: Array, direction: Array) -> None:
        self.x, self.direction = x, direction
        self.n_evaluations = 0
        self.best = (0.0, math.inf)

    def at(self, step: float) -> Generator[Any, Any, float]:
        value = yield Value(self.x + step * self.direction)
        self.n_evaluations += 1
        value = value if math.isfinite(value) else math.inf
        if value < self.best[1]:
            self.best = (step, value)
        return value


Bracket = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


def _bracket(line: _Line, value: float, first: float, max_iter: int) -> Generator[Any, Any, Bracket | None]:
    """Find three points with the lowest in the middle; None if values fall without end or no point is lower."""
    middle, end = (0.0, value), (first, (yield from line.at(first)))
    # The first step already rises: the minimum lies before it, or behind the start.
    if end[1] > value:
        # Uphill, or across the valley: look nearer, and on the other side.
        back = (-first, (yield from line.at(-first)))
        if back[1] >= value:
            return back, middle, end
        middle, end, start = back, (2.0 * back[0], (yield from line.at(2.0 * back[0]))), middle
    else:
        start, middle = middle, end
        end = (_WIDENING * first, (yield from line.at(_WIDENING * first)))
    # Ever wider steps until the value rises again.
    while end[1] < middle[1]:
        if line.n_evaluations >= max_iter:
            return None
        start, middle = middle, end
        reach = middle[0] + _WIDENING * (middle[0] - start[0])
        end = (reach, (yield from line.at(reach)))
    return start, middle, end


def _width(bracket: Bracket) -> float:
    return abs(bracket[2][0] - bracket[0][0])


def _resolution(bracket: Bracket, first: float, tol: float) -> float:
    """Return how near two steps may be and still count as two."""
    return tol * max(abs(bracket[1][0]), 1e-3 * abs(first))


def _vertex(bracket: Bracket) -> tuple[float, float] | None:
    """Return the vertex of the parabola through three points, and its value there; None if it is outside."""
    (a, high_a), (b, low), (c, high_c) = bracket
    if not math.isfinite(high_a + high_c):
        return None
    # Newton's form: low + slope (t - b) + bend (t - b) (t - a).
    slope = (high_a - low) / (a - b)
    bend = ((high_c - low) / (c - b) - slope) / (c - a)
    if bend <= 0:
        return None
    # The derivative slope + bend (2 t - a - b) vanishes at t = b + move.
    move = 0.5 * (a - b - slope / bend)
    if not min(a, c) < b + move < max(a, c):
        return None
    return b + move, low + move * (slope + bend * (move - (a - b)))


def _golden(bracket: Bracket) -> float:
    """Return the golden section of the longer side."""
    (a, _), (b, _), (c, _) = bracket
    return b + _GOLDEN * (c - b) if abs(c - b) > abs(b - a) else b + _GOLDEN * (a - b)


def _apart(bracket: Bracket, guess: float, distance: float) -> float:
    """Return a guess that is not the middle point again: at least `distance` away, on the longer side."""
    (a, _), (b, _), (c, _) = bracket
    if abs(guess - b) >= distance:
        return guess
    return b + math.copysign(distance, (c if abs(c - b) > abs(b - a) else a) - b)


def _narrow(bracket: Bracket, new: tuple[float, float]) -> Bracket:
    """Return the three points that still bracket the minimum."""
    left, middle, right = bracket
    # Whether the new point lies between middle and right; brackets may run in either direction.
    beyond = (new[0] - middle[0]) * (right[0] - middle[0]) > 0
    if new[1] <= middle[1]:
        return (middle, new, right) if beyond else (left, new, middle)
    return (left, middle, new) if beyond else (new, middle, right)


def _stay(line: _Line, value: float, n_fits: int = 0) -> LineMinimum:
    return LineMinimum(0.0, value, line.n_evaluations, n_fits)
