"""Methods with a velocity: momentum, and Nesterov's look ahead."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mercer._base.parameter import Real, Rule
from mercer._plain import plain
from mercer._types import Array
from mercer.optim._methods.descent import RATE, FirstOrder

# A momentum of one would never forget: the memory is 1 / (1 - momentum) steps long.
_MOMENTUM = Real(0, 1, closed="left")


@plain
@dataclass(frozen=True)
class Momentum(FirstOrder):
    """Gradient descent with momentum: v <- momentum * v + rate * grad f(x), x <- x - v.

    Gradients of one sign add up to rate * g / (1 - momentum), those that alternate cancel: a narrow valley is followed
    instead of crossed. ``momentum=0`` is gradient descent.

    Parameters
    ----------
    learning_rate : float or callable, default=0.01
        A number, a :class:`~mercer.optim.Schedule`, or any function of the step t = 1, 2, ...
    momentum : a number in [0, 1), default=0.9
        The share of the velocity that is kept.

    References
    ----------
    Polyak (1964), Some methods of speeding up the convergence of iteration methods.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import MaxIter, minimize
    >>> curvature = np.array([1.0, 50.0])
    >>> result = minimize(
    ...     lambda x: 0.5 * curvature @ x**2, [1.0, 1.0], grad=lambda x: curvature * x, method="momentum",
    ...     learning_rate=0.018, stop=MaxIter(150),
    ... )
    >>> round(float(np.linalg.norm(result.x)), 6)
    0.000428
    """

    learning_rate: float | Callable[[int], float] = 0.01
    momentum: float = 0.9
    name: ClassVar[str] = "momentum"
    rules: ClassVar[dict[str, Rule]] = {"learning_rate": RATE, "momentum": _MOMENTUM}
    n_carried: ClassVar[int] = 1

    def move(self, x: Array, gradient: Array, carried: tuple[Array, ...], t: int) -> tuple[Array, tuple[Array, ...]]:
        velocity = self.momentum * carried[0] + self.rate(t) * gradient
        return x - velocity, (velocity,)

    def longest_rate(self, curvature: float) -> float | None:
        return 2.0 * (1.0 + self.momentum) / curvature


@plain
@dataclass(frozen=True)
class Nesterov(Momentum):
    """Nesterov's accelerated gradient: v <- momentum * v + rate * grad f(x - momentum * v), x <- x - v.

    The gradient is taken where the velocity is about to lead, which damps the swings of momentum. Each step evaluates
    twice: ahead, for the motion, and at x, for the record. ``momentum=0`` is gradient descent.

    Parameters
    ----------
    learning_rate : float or callable, default=0.01
        A number, a :class:`~mercer.optim.Schedule`, or any function of the step t = 1, 2, ...
    momentum : a number in [0, 1), default=0.9
        The share of the velocity that is kept.

    References
    ----------
    Nesterov (1983), A method of solving a convex programming problem with convergence rate O(1/k^2).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import MaxIter, minimize
    >>> curvature = np.array([1.0, 50.0])
    >>> result = minimize(
    ...     lambda x: 0.5 * curvature @ x**2, [1.0, 1.0], grad=lambda x: curvature * x, method="nesterov",
    ...     learning_rate=0.018, stop=MaxIter(150),
    ... )
    >>> round(float(np.linalg.norm(result.x)), 6)
    8.1e-05
    """

    name: ClassVar[str] = "nesterov"

    def place(self, x: Array, carried: tuple[Array, ...]) -> Array:
        return x - self.momentum * carried[0]

    def longest_rate(self, curvature: float) -> float | None:
        # Roots of z^2 - (1 + m) q z + m q with q = 1 - rate h leave the unit circle at z = -1.
        return (2.0 + 2.0 * self.momentum) / (1.0 + 2.0 * self.momentum) / curvature
