"""The first-order family: one solver, and a rule of motion for each method.

A method says where the gradient is wanted, and how parameters move, given that gradient and the arrays it carries along
(velocity, mean squares...). The solver evaluates, moves, and watches for divergence. All of it is array arithmetic, so
it runs wherever the parameters are: NumPy, or torch and CuPy on a GPU.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mercer._base.parameter import Function, Real, Rule
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver
from mercer._solver.vector import inner
from mercer._types import Array
from mercer.optim._function import Evaluate, FunctionPoint
from mercer.optim._method import Method, make_step
from mercer.optim._stopping import GradientNorm, MaxIter, StopRule

RATE: Rule = Real(0, closed="neither") | Function()
# A value this many times the start's height above the best seen is no transient: momentum overshoots by a factor of at
# most a few hundred.
_RISE = 1e6
# A momentum of one would never forget: the memory is 1 / (1 - momentum) steps long.
_MOMENTUM = Real(0, 1, closed="left")


@plain
@dataclass(frozen=True, eq=False)
class FunctionDescentState:
    """Parameters, value and gradient there, the arrays that the method carries along, and what tells divergence."""

    x: Array
    value: float
    gradient: Array
    carried: tuple[Array, ...]
    n_steps: int
    start_value: float
    best_value: float
    curvature: float


class FirstOrder(Method):
    """Base of methods that move by a rule from gradient to step."""

    learning_rate: float | Callable[[int], float]
    # How many arrays of the shape of x the rule carries along; they start at zero.
    n_carried: ClassVar[int] = 0
    # Whether batches of rows will do for the gradient.
    takes_batches: ClassVar[bool] = True
    state: ClassVar[type] = FunctionDescentState

    def rate(self, t: int) -> float:
        """Return the learning rate at step t = 1, 2, ..."""
        return float(self.learning_rate(t)) if callable(self.learning_rate) else self.learning_rate

    def carry(self, x: Array) -> tuple[Array, ...]:
        """Return the arrays that the rule carries along, at the start."""
        return (0.0 * x,) * self.n_carried

    def place(self, x: Array, carried: tuple[Array, ...]) -> Array:
        """Return the point at which the gradient is needed."""
        return x

    def move(self, x: Array, gradient: Array, carried: tuple[Array, ...], t: int) -> tuple[Array, tuple[Array, ...]]:
        """Return the next parameters, and the arrays carried along."""
        raise NotImplementedError  # each method defines its own

    def longest_rate(self, curvature: float) -> float | None:
        """Return the rate above which the method diverges on a parabola of this curvature, where that is known."""
        return None

    def default_stop(self) -> StopRule:
        return MaxIter(10_000) | GradientNorm(1e-6)

    def solve(self, start: Array | FunctionDescentState) -> Solver:
        return _descend(self, start)


@plain
@dataclass(frozen=True)
class GradientDescent(FirstOrder):
    """Gradient descent: x <- x - rate * grad f(x).

    On a parabola of curvature h the distance to the minimum shrinks by the factor 1 - rate * h at each step; in several
    dimensions the largest eigenvalue of the Hessian sets the limit, 2 / h. See
    :func:`~mercer.optim.classify_learning_rate`.

    Parameters
    ----------
    learning_rate : float or callable, default=0.01
        A number, a :class:`~mercer.optim.Schedule`, or any function of the step t = 1, 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import minimize
    >>> curvature = np.array([1.0, 4.0])
    >>> result = minimize(
    ...     lambda x: 0.5 * curvature @ x**2, [3.0, 1.0], grad=lambda x: curvature * x,
    ...     method="gradient_descent", learning_rate=0.4,
    ... )
    >>> result.converged, result.n_iter
    (True, 30)
    """

    learning_rate: float | Callable[[int], float] = 0.01
    name: ClassVar[str] = "gradient_descent"
    rules: ClassVar[dict[str, Rule]] = {"learning_rate": RATE}

    def move(self, x: Array, gradient: Array, carried: tuple[Array, ...], t: int) -> tuple[Array, tuple[Array, ...]]:
        return x - self.rate(t) * gradient, carried

    def longest_rate(self, curvature: float) -> float | None:
        return 2.0 / curvature


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


def _descend(method: FirstOrder, start: Array | FunctionDescentState) -> Generator[Any, Any, Solution]:
    """Move by the method's rule, for ever or until divergence; stopping rules end it."""
    if isinstance(start, FunctionDescentState):
        state = start
    else:
        point = yield Evaluate(start)
        value = point.objective
        state = FunctionDescentState(start, value, point.gradient, method.carry(start), 0, value, value, math.nan)
    best = state
    while True:
        t = state.n_steps + 1
        place = method.place(state.x, state.carried)
        # Nesterov's method wants the gradient ahead of the present place.
        gradient = state.gradient if place is state.x else (yield Evaluate(place)).gradient
        x, carried = method.move(state.x, gradient, state.carried, t)
        before, state = state, _advance(state, (yield Evaluate(x)), carried)
        best = state if state.value < best.value else best
        # The value rises beyond any former one by too much: the rate is too high for the curvature.
        if rises(state.value, state):
            return Solution(best, False, divergence(method, t, before.curvature), "diverged")
        yield make_step(state, before.x, learning_rate=method.rate(t))


def rises(value: float, state: FunctionDescentState) -> bool:
    """Return whether a value is so far above the best that the run has diverged."""
    # A rise is judged against what the run has gained so far, or the size of the function where that is larger.
    height = max(state.start_value - state.best_value, abs(state.start_value), 1e-300)
    return not math.isfinite(value) or value - state.best_value > _RISE * height


def _advance(state: FunctionDescentState, point: FunctionPoint, carried: tuple[Array, ...]) -> FunctionDescentState:
    step = point.parameters - state.x
    length = inner(step, step)
    # The Rayleigh quotient s . H s / s . s of the mean Hessian along the step, from gradients alone.
    curvature = inner(step, point.gradient - state.gradient) / length if length > 0 else math.nan
    return replace(
        state,
        x=point.parameters,
        value=point.objective,
        gradient=point.gradient,
        carried=carried,
        n_steps=state.n_steps + 1,
        best_value=min(state.best_value, point.objective),
        curvature=curvature if math.isfinite(curvature) else state.curvature,
    )


def divergence(method: FirstOrder, t: int, curvature: float) -> Certificate:
    """Return the statement that the run diverged, with a rate that would not.

    A diverging run follows the steepest curvature, which the last steps measure: half the longest rate is safe there.
    """
    rate = method.rate(t)
    limit = method.longest_rate(curvature) if curvature > 0 else None
    advice = 0.1 * rate if limit is None else min(0.5 * limit, 0.5 * rate)
    bound = "" if limit is None or limit >= rate else f" (the curvature met allows less than {limit:.2g})"
    return Certificate.none(
        f"diverged at step {t} with learning_rate={rate:.3g}{bound}; try learning_rate={advice:.2g}."
    )
