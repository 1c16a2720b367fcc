"""A line search by Wolfe's conditions: a generator that asks for one pass per trial step."""

from collections.abc import Generator
from typing import Any, Protocol

import numpy as np

from mercer._solver.linear_problem import ROUNDING
from mercer._solver.vector import inner

_DECREASE = 1e-4
_CURVATURE = 0.9
_TRIALS = 30
# Searches with a tight slope condition need the minimum itself, for which values are too coarse. Conjugate gradients on
# Rosenbrock's function of ten variables take 357 gradients by secants and 769 by cubics.
_NEARLY_EXACT = 0.2


class Place(Protocol):
    """Where a function was evaluated."""

    @property
    def parameters(self) -> Any: ...

    @property
    def objective(self) -> float: ...

    @property
    def gradient(self) -> Any: ...


class Problem(Protocol):
    """A function that can be evaluated at parameters."""

    def evaluate(self, parameters: Any) -> Generator[Any, Any, Any]:
        """Ask for the place at `parameters`."""


def search(
    problem: Problem,
    point: Place,
    direction: Any,
    *,
    first: float = 1.0,
    flatness: float = _CURVATURE,
    strong: bool = False,
) -> Generator[Any, Any, Any]:
    """Find the first point along `direction`, from step `first`, that decreases J and its slope enough.

    Slopes count as flat above `flatness` times the one at the start; `strong` asks for it on either side of the
    minimum. Where J is flat to rounding, the approximate condition of Hager and Zhang (2005) on the slope alone
    decides. None means that no such place was found.
    """
    slope = inner(point.gradient, direction)
    # Uphill or NaN: not a direction of descent.
    if not slope < 0:
        return None
    low, high = (0.0, point.objective, slope), None
    step, width = first, np.inf
    for _ in range(_TRIALS):
        trial = yield from problem.evaluate(point.parameters + step * direction)
        new_slope = inner(trial.gradient, direction)
        end = (step, trial.objective, new_slope)
        # Too high: the minimum lies before this step.
        if not _is_low_enough(point.objective, slope, end):
            high = end
        # Still falling steeply: the minimum lies beyond.
        elif new_slope < flatness * slope:
            low = end
        # Rising steeply: the minimum lies before.
        elif strong and new_slope > -flatness * slope:
            high = end
        else:
            return trial
        # No upper end of the bracket yet: go twice as far.
        if high is None:
            step = 2.0 * step
        else:
            step = _secant(low, high, width) if flatness < _NEARLY_EXACT else _between(low, high, width)
            width = high[0] - low[0]
    return trial if trial.objective < point.objective else None


def _is_low_enough(objective: float, slope: float, end: tuple[float, float, float]) -> bool:
    step, value, new_slope = end
    if value <= objective + _DECREASE * step * slope:
        return True
    flat = value <= objective + ROUNDING * max(1.0, abs(objective))
    return flat and new_slope <= (2.0 * _DECREASE - 1.0) * slope


def _between(low: tuple[float, float, float], high: tuple[float, float, float], before: float) -> float:
    """Return the minimum of the cubic through both ends, kept to the middle four fifths of the interval.

    A function that bends sharply near one end, as a sum of logistic losses does along a step a billion times too long,
    is no cubic: brackets then hardly shrink. Where the last one did not shrink well from `before`, the tangents at both
    ends are followed to where they cross, the bend itself if the pieces are straight.
    """
    (a, value_a, slope_a), (b, value_b, slope_b) = low, high
    width = b - a
    if width > 0.6 * before and np.isfinite(value_b) and slope_a < 0 < slope_b < np.inf:
        # Where the two tangents cross.
        crossing = a + (value_b - value_a - slope_b * width) / (slope_a - slope_b)
        return crossing if a < crossing < b else 0.5 * (a + b)
    # A slope by differences may be infinite at a finite value, near the edge of the function's domain.
    if not (np.isfinite(value_b) and np.isfinite(slope_b)):
        return a + 0.1 * width
    # The cubic through values and slopes at both ends; its minimum by the formula of Nocedal and Wright (3.59).
    tilt = slope_a + slope_b - 3.0 * (value_b - value_a) / width
    square = tilt * tilt - slope_a * slope_b
    # The cubic has no minimum.
    if square < 0:
        return a + 0.5 * width
    root = float(np.sqrt(square))
    share = (root - tilt - slope_a) / (slope_b - slope_a + 2.0 * root) if slope_b - slope_a + 2.0 * root else 0.5
    return a + min(max(share, 0.1), 0.9) * width


def _secant(low: tuple[float, float, float], high: tuple[float, float, float], width: float) -> float:
    """Return the zero of the line through both slopes; the middle if it lies outside or brackets shrink slowly."""
    (a, _, slope_a), (b, _, slope_b) = low, high
    place = a - slope_a * (b - a) / (slope_b - slope_a) if slope_b > 0 else a
    # Not one half: halved brackets would be ties, which rounding decides.
    return place if a < place < b and b - a <= 0.6 * width else 0.5 * (a + b)
