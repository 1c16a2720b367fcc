"""Standard surfaces in the plane, and all methods run on one of them from one start."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.optim._method import Method
from mercer.optim._minimize import minimize
from mercer.optim._result import Result
from mercer.optim._stopping import MaxIter, StopRule


@dataclass(frozen=True, eq=False)
class Surface:
    """A function of two variables with its derivatives; call it for its value.

    Attributes
    ----------
    name : str
    value, gradient, hessian : callable
        From an array of shape (2,) to a number, (2,) and (2, 2).
    minima : ndarray of shape (n, 2)
        All its minima; none for a saddle.
    start : tuple of float
        The customary start.
    window : tuple of float
        Left, right, bottom and top of the part worth drawing.
    """

    name: str
    value: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    hessian: Callable[[Any], Any]
    minima: np.ndarray
    start: tuple[float, float]
    window: tuple[float, float, float, float]

    def __call__(self, x: Any) -> Any:
        """Return the value at `x`; also for x of shape (2, ...), entry by entry."""
        return self.value(x)


def _rosenbrock_gradient(x: Any) -> np.ndarray:
    return np.array([-2.0 * (1.0 - x[0]) - 400.0 * x[0] * (x[1] - x[0] ** 2), 200.0 * (x[1] - x[0] ** 2)])


def _rosenbrock_hessian(x: Any) -> np.ndarray:
    cross = -400.0 * x[0]
    return np.array([[2.0 + 1200.0 * x[0] ** 2 - 400.0 * x[1], cross], [cross, 200.0]])


def _himmelblau_gradient(x: Any) -> np.ndarray:
    a, b = x[0] ** 2 + x[1] - 11.0, x[0] + x[1] ** 2 - 7.0
    return np.array([4.0 * a * x[0] + 2.0 * b, 2.0 * a + 4.0 * b * x[1]])


def _himmelblau_hessian(x: Any) -> np.ndarray:
    cross = 4.0 * (x[0] + x[1])
    first = 12.0 * x[0] ** 2 + 4.0 * x[1] - 42.0
    return np.array([[first, cross], [cross, 4.0 * x[0] + 12.0 * x[1] ** 2 - 26.0]])


# Curvatures 1 and 50: gradient descent zigzags, and a rate above 2/50 diverges.
VALLEY = Surface(
    "valley",
    lambda x: 0.5 * (x[0] ** 2 + 50.0 * x[1] ** 2),
    lambda x: np.array([x[0], 50.0 * x[1]]),
    lambda x: np.diag([1.0, 50.0]),
    np.zeros((1, 2)),
    (1.0, 1.0),
    (-1.3, 1.3, -1.3, 1.3),
)
# The usual start (-1.2, 1) lies on the far side of the curved valley.
ROSENBROCK = Surface(
    "Rosenbrock",
    lambda x: (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2,
    _rosenbrock_gradient,
    _rosenbrock_hessian,
    np.ones((1, 2)),
    (-1.2, 1.0),
    (-2.0, 2.0, -1.0, 3.0),
)
# The start lies on the ridge x[1] = 0, where the gradient leads straight to the saddle point.
SADDLE = Surface(
    "saddle",
    lambda x: 0.5 * (x[0] ** 2 - x[1] ** 2) + 0.25 * x[1] ** 4,
    lambda x: np.array([x[0], x[1] ** 3 - x[1]]),
    lambda x: np.diag([1.0, 3.0 * x[1] ** 2 - 1.0]),
    np.array([[0.0, -1.0], [0.0, 1.0]]),
    (1.0, 0.0),
    (-1.5, 1.5, -1.5, 1.5),
)
# Four minima of value 0; the start is near the local maximum between them.
HIMMELBLAU = Surface(
    "Himmelblau",
    lambda x: (x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - 7.0) ** 2,
    _himmelblau_gradient,
    _himmelblau_hessian,
    np.array([[3.0, 2.0], [-2.805118, 3.131313], [-3.779310, -3.283186], [3.584428, -1.848127]]),
    (0.0, 0.0),
    (-5.0, 5.0, -5.0, 5.0),
)
SURFACES = {"valley": VALLEY, "rosenbrock": ROSENBROCK, "saddle": SADDLE, "himmelblau": HIMMELBLAU}


def compare_methods(
    surface: Surface,
    methods: Mapping[str, str | Method],
    *,
    x0: Any = None,
    stop: StopRule | None = None,
) -> dict[str, Result]:
    """Run several methods on one surface from one start, and keep their paths.

    Parameters
    ----------
    surface : Surface
        The function; any object with ``gradient``, ``hessian`` and ``start`` will do.
    methods : dict
        Names for the results, and methods as :func:`~mercer.optim.minimize` takes them.
    x0 : array-like or None, default=None
        The start; None takes the surface's own.
    stop : StopRule or None, default=None
        When to end; None means 100 steps. The same rule is used for all, one after the other.

    Returns
    -------
    dict of Result
        With ``path``; :class:`mercer.inspection.TrajectoryDisplay` draws them.

    Examples
    --------
    >>> from mercer.optim import Momentum, VALLEY, compare_methods
    >>> results = compare_methods(VALLEY, {"newton": "newton", "momentum": Momentum(learning_rate=0.018)})
    >>> results["newton"].value < results["momentum"].value < 1e-2
    True
    """
    start = surface.start if x0 is None else x0
    results = {}
    for name, method in methods.items():
        second: dict[str, Any] = {"hess": surface.hessian} if "newton" in (method, getattr(method, "name", "")) else {}
        rule = MaxIter(100) if stop is None else stop
        results[name] = minimize(
            surface, start, method=method, grad=surface.gradient, stop=rule, keep_path=True, **second
        )
    return results
