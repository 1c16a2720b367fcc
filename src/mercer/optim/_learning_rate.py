"""Learning rates: what a rate does on a parabola, and short runs that find one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Integer, Nothing, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer.errors import DataError, ParameterError
from mercer.optim._function import FunctionSource, check_start
from mercer.optim._methods.descent import FirstOrder, GradientDescent
from mercer.optim._result import run
from mercer.optim._stopping import MaxIter


def classify_learning_rate(learning_rate: float, curvature: Any) -> str:
    """Tell what gradient descent does with a learning rate on a parabola.

    With curvature h each step multiplies the distance to the minimum by 1 - learning_rate * h. The best rate is 1 / h.
    In several dimensions the largest eigenvalue of the Hessian decides.

    Parameters
    ----------
    learning_rate : float
    curvature : float or array-like of shape (d, d)
        h > 0, or a positive definite Hessian.

    Returns
    -------
    str
        ``"monotone"`` (below 1 / h), ``"one step"`` (1 / h: the minimum at once, if all curvatures are alike),
        ``"oscillating"`` (up to 2 / h: from side to side, but nearer), ``"cycling"`` (2 / h: between two places for
        ever) or ``"diverging"`` (beyond).

    Examples
    --------
    >>> from mercer.optim import classify_learning_rate
    >>> [classify_learning_rate(rate, curvature=2.0) for rate in (0.1, 0.5, 0.7, 1.0, 1.1)]
    ['monotone', 'one step', 'oscillating', 'cycling', 'diverging']
    """
    check_parameters(
        "classify_learning_rate", {"learning_rate": Real(0, closed="neither")}, {"learning_rate": learning_rate}
    )
    h = np.asarray(curvature, dtype=np.float64)
    if h.ndim not in (0, 2) or (h.ndim == 2 and h.shape[0] != h.shape[1]):
        raise DataError(f"classify_learning_rate: curvature must be a number or a square matrix; got shape {h.shape}.")
    values = np.linalg.eigvalsh(h) if h.ndim else h.reshape(1)
    if not values[0] > 0:
        raise DataError(
            f"classify_learning_rate: curvature must be positive (definite); got {values[0]:g}. "
            f"There is no minimum to go to."
        )
    # Along an eigenvector of curvature h each step multiplies the error by 1 - rate * h: the largest h decides.
    product = learning_rate * values[-1]
    # Rates written as quotients of curvatures land on the borders only to rounding.
    if np.isclose(product, 2.0, rtol=1e-12, atol=0.0):
        return "cycling"
    if np.isclose(product, 1.0, rtol=1e-12, atol=0.0):
        return "one step" if np.isclose(values[0], values[-1], rtol=1e-12) else "monotone"
    return "monotone" if product < 1.0 else "oscillating" if product < 2.0 else "diverging"


@dataclass(frozen=True, eq=False)
class PilotRun:
    """Short runs over a grid of learning rates.

    Attributes
    ----------
    learning_rates : ndarray
        The grid, rising.
    values : ndarray of shape (n_rates,)
        The objective after each run, infinite where it diverged.
    stable : ndarray of bool
        Whether the run came down, and was still shrinking its gradient at its end.
    largest_stable : float
        The largest rate below which all are stable; NaN where none is.
    best : float
        The rate with the lowest final objective.
    start_value : float
        The objective where all runs began.
    """

    learning_rates: np.ndarray
    values: np.ndarray
    stable: np.ndarray
    largest_stable: float
    best: float
    start_value: float


def pilot_learning_rates(
    fun: Callable[..., Any],
    x0: Any,
    *,
    grad: Callable[..., Any] | None = None,
    learning_rates: Sequence[float] | None = None,
    n_steps: int = 50,
    method: Callable[[float], FirstOrder] = GradientDescent,
    n_samples: int | None = None,
    subsample: int | None = None,
    random_state: Any = None,
) -> PilotRun:
    """Try learning rates in short runs, on a part of the samples if there are many.

    Parameters
    ----------
    fun : callable
        From x to a number; with `n_samples`, from x and row numbers to the mean over these rows.
    x0 : array-like
        The start of every run.
    grad : callable or None, default=None
        The gradient, with the arguments of `fun`; None takes differences.
    learning_rates : sequence of float or None, default=None
        The grid; None tries 1e-6 to 1e2, four to a decade.
    n_steps : int, default=50
        The length of each run.
    method : callable, default=GradientDescent
        From a learning rate to a method.
    n_samples : int or None, default=None
        How many samples there are, where `fun` takes row numbers.
    subsample : int or None, default=None
        How many of them to use; None means all.
    random_state : int, Generator, RandomState or None, default=None
        For the choice of the subsample, the same for all rates.

    Returns
    -------
    PilotRun

    Examples
    --------
    >>> from mercer.optim import pilot_learning_rates
    >>> pilot = pilot_learning_rates(lambda x: 2.0 * x @ x, [1.0, 1.0], grad=lambda x: 4.0 * x)
    >>> 0.25 < pilot.largest_stable < 0.5
    True
    """
    rules = {"n_steps": Integer(2), "n_samples": Integer(1) | Nothing(), "subsample": Integer(1) | Nothing()}
    values = {"n_steps": n_steps, "n_samples": n_samples, "subsample": subsample, "random_state": random_state}
    check_parameters("pilot_learning_rates", rules | {"random_state": Seed()}, values)
    # Four rates per decade: neighbours differ by a factor of 1.8, less than the factor 2 between best and unstable.
    rates = np.logspace(-6, 2, 33) if learning_rates is None else np.sort(np.asarray(learning_rates, dtype=np.float64))
    fun, grad = _on_part(fun, grad, n_samples, subsample, random_state)
    start = check_start("pilot_learning_rates", x0)
    begun = FunctionSource("pilot_learning_rates", fun, grad).value(start)
    runs = [_try(fun, grad, start, method(float(rate)), n_steps, begun) for rate in rates]
    finals, stable = np.array([value for value, _ in runs]), np.array([held for _, held in runs])
    # Rates above the first unstable one do not count, even if a short run survived by luck.
    count = len(rates) if stable.all() else int(np.argmin(stable))
    largest = float(rates[count - 1]) if count else float("nan")
    return PilotRun(rates, finals, stable, largest, float(rates[np.argmin(finals)]), begun)


def _on_part(fun: Any, grad: Any, n_samples: int | None, subsample: int | None, random_state: Any) -> tuple[Any, Any]:
    """Restrict function and gradient to the chosen rows; without rows, return them unchanged."""
    if n_samples is None:
        if subsample is not None:
            raise ParameterError(f"pilot_learning_rates: subsample needs n_samples; got subsample={subsample} alone.")
        return fun, grad
    random = np.random.default_rng(seed_sequence(random_state))
    count = n_samples if subsample is None else min(subsample, n_samples)
    rows = np.sort(random.choice(n_samples, count, replace=False))
    return (lambda x: fun(x, rows)), (None if grad is None else lambda x: grad(x, rows))


def _try(fun: Any, grad: Any, start: Any, method: FirstOrder, n_steps: int, begun: float) -> tuple[float, bool]:
    """Return the value after a short run, and whether it was stable."""
    method.check()
    source = FunctionSource("pilot_learning_rates", fun, grad)
    result = run("pilot_learning_rates", "", method.solve(start), source, MaxIter(n_steps), start=start, warn=False)
    values = result.history.get("objective", np.empty(0))
    if result.reason == "diverged" or len(values) == 0:
        return float("inf"), False
    # The steepest direction grows by the same factor at each step: late, the gradient shows it before the value does. A
    # stable rate lowers its Euclidean norm, though not each entry, until what is left is rounding.
    compared = (start, result.path[-max(2, n_steps // 5)], result.path[-1])
    first, before, after = (np.linalg.norm(source.evaluate(x).gradient) for x in compared)
    return float(values[-1]), bool(values[-1] <= begun and after <= max(before * (1.0 + 1e-12), first * 1e-10))
