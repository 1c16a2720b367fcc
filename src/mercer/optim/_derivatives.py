"""Derivatives by differences, and a check of those that were written by hand.

Central differences err by O(h^2), forward ones by O(h); rounding adds eps/h. The best step balances the two: eps^(1/3)
and eps^(1/2) times the scale of x. The complex step Im f(x + ih)/h subtracts nothing, so h can be tiny and the error is
that of f itself; it needs a function that goes through complex arithmetic (Squire and Trapp, 1998).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Choice, Function, Nothing, Real, check_parameters
from mercer.errors import DataError

# Im f(x + ih) / h subtracts nothing, so the step may be so small that its error h^2 vanishes beside rounding.
_COMPLEX_STEP = 1e-30
_RULES = {
    "fun": Function(),
    "scheme": Choice("central", "forward", "complex"),
    "step": Real(0, closed="neither") | Nothing(),
}


@dataclass(frozen=True, eq=False)
class GradientCheck:
    """How a gradient compares with differences of its function.

    Attributes
    ----------
    passed : bool
        Whether ``relative_error <= tolerance``.
    relative_error : float
        The largest difference over the largest entry of either gradient.
    tolerance : float
    worst : tuple of int
        The index of the entry with the largest difference.
    given, numerical : ndarray
        The two gradients.
    """

    passed: bool
    relative_error: float
    tolerance: float
    worst: tuple[int, ...]
    given: np.ndarray
    numerical: np.ndarray


def numerical_gradient(
    fun: Callable[[np.ndarray], Any], x: Any, *, scheme: str = "central", step: float | None = None
) -> np.ndarray:
    """Return the gradient of a function by differences.

    Parameters
    ----------
    fun : callable
        From an array to a number.
    x : array-like
        Where.
    scheme : {"central", "forward", "complex"}, default="central"
        Central differences err by O(h^2) and cost two calls an entry, forward ones by O(h) and cost one; the complex
        step errs as little as `fun` itself, which must accept complex arrays and be analytic.
    step : float or None, default=None
        h, on the scale of x = 1 (entries larger than one have larger steps); None takes the best for the scheme.

    Returns
    -------
    ndarray
        Of the shape of `x`, in float64.

    Examples
    --------
    >>> from mercer.optim import numerical_gradient
    >>> numerical_gradient(lambda x: x[0] ** 2 * x[1], [3.0, 2.0]).round(6)
    array([12.,  9.])
    """
    check_parameters("numerical_gradient", _RULES, {"fun": fun, "scheme": scheme, "step": step})
    return differentiate(fun, _place("numerical_gradient", x), scheme, step)


def numerical_hessian(
    fun: Callable[[np.ndarray], Any],
    x: Any,
    *,
    grad: Callable[[np.ndarray], Any] | None = None,
    step: float | None = None,
) -> np.ndarray:
    """Return the matrix of second derivatives by central differences, made symmetric.

    Parameters
    ----------
    fun : callable
        From an array to a number.
    x : array-like of shape (d,)
        Where.
    grad : callable or None, default=None
        The gradient; with it the Hessian costs 2 d gradients and is far more precise than by 2 d^2 values.
    step : float or None, default=None
        h, on the scale of x = 1; None takes the best.

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> from mercer.optim import numerical_hessian
    >>> numerical_hessian(lambda x: x[0] ** 2 * x[1], [3.0, 2.0]).round(4)
    array([[4., 6.],
           [6., 0.]])
    """
    place = _place("numerical_hessian", x)
    if grad is not None:
        return differentiate_twice(grad, place, step)
    # Two nested differences divide the rounding by h^2: the best step is eps^(1/4).
    h = np.finfo(np.float64).eps ** 0.25 if step is None else step
    return differentiate_twice(lambda inside: differentiate(fun, inside, "central", h), place, h)


def check_gradient(
    fun: Callable[[np.ndarray], Any],
    grad: Callable[[np.ndarray], Any],
    x: Any,
    *,
    scheme: str = "central",
    tolerance: float = 1e-6,
) -> GradientCheck:
    """Compare a gradient with differences of its function.

    Parameters
    ----------
    fun : callable
        From an array to a number.
    grad : callable
        The gradient to check.
    x : array-like
        Where; a place without symmetry, since a wrong gradient can be right at special ones.
    scheme : {"central", "forward", "complex"}, default="central"
        How to differentiate `fun`.
    tolerance : float, default=1e-6
        The relative error up to which the gradient passes.

    Returns
    -------
    GradientCheck

    Examples
    --------
    >>> from mercer.optim import check_gradient
    >>> check_gradient(lambda x: (x**4).sum(), lambda x: 4 * x**3, [0.3, -1.2]).passed
    True
    >>> round(check_gradient(lambda x: (x**4).sum(), lambda x: 3 * x**3, [0.3, -1.2]).relative_error, 3)
    0.25
    """
    place = _place("check_gradient", x)
    numerical = numerical_gradient(fun, place, scheme=scheme)
    given = np.asarray(grad(place.copy()), dtype=np.float64)
    if given.shape != place.shape:
        raise DataError(f"check_gradient: grad must return an array of shape {place.shape}; got {given.shape}.")
    difference = np.abs(given - numerical)
    # Relative to the largest entry: entries near zero have no relative accuracy of their own.
    scale = max(np.abs(given).max(), np.abs(numerical).max(), np.finfo(np.float64).tiny)
    error = float(difference.max() / scale)
    worst = tuple(int(i) for i in np.unravel_index(np.argmax(difference), place.shape))
    return GradientCheck(bool(error <= tolerance), error, tolerance, worst, given, numerical)


def differentiate(
    fun: Callable[[np.ndarray], Any], x: np.ndarray, scheme: str = "central", step: float | None = None
) -> np.ndarray:
    """Return the gradient by a scheme, without checks, in float64; the caller casts it to the type of `x`."""
    # The best step balances truncation, h^2 (central) or h (forward), against rounding, eps / h.
    eps = np.finfo(x.dtype).eps
    # eps^(1/3) balances rounding and the h^2 error of central differences, eps^(1/2) the h error of forward ones.
    h = {"central": eps ** (1 / 3), "forward": eps**0.5, "complex": _COMPLEX_STEP}[scheme] if step is None else step
    place = x.astype(np.complex128) if scheme == "complex" else x.copy()
    gradient = np.empty(x.shape)
    base = float(fun(x.copy())) if scheme == "forward" else 0.0
    for i in np.ndindex(x.shape):
        if scheme == "complex":
            place[i] = x[i] + 1j * h
            gradient[i] = np.imag(fun(place.copy())) / h
        else:
            # The step actually taken is what rounding makes of it.
            width = h * max(1.0, float(abs(x[i])))
            place[i] = x[i] + width
            above, high = place[i], fun(place.copy())
            place[i] = x[i] if scheme == "forward" else x[i] - width
            low = base if scheme == "forward" else fun(place.copy())
            gradient[i] = (high - low) / (above - place[i])
        place[i] = x[i]
    return gradient if x.dtype == np.float64 or scheme == "complex" else gradient.astype(x.dtype)


def differentiate_twice(grad: Callable[[np.ndarray], Any], x: np.ndarray, step: float | None = None) -> np.ndarray:
    """Return the Hessian by central differences of a gradient, made symmetric."""
    h = np.finfo(x.dtype).eps ** (1 / 3) if step is None else step
    rows = []
    for i in range(x.size):
        above, below = x.copy(), x.copy()
        above[i] += h * max(1.0, abs(x[i]))
        below[i] -= h * max(1.0, abs(x[i]))
        difference = np.asarray(grad(above.copy())) - np.asarray(grad(below.copy()))
        rows.append(difference.astype(np.float64) / float(above[i] - below[i]))
    matrix = np.array(rows)
    # Differences of each column round differently, while second derivatives are symmetric.
    return 0.5 * (matrix + matrix.T)


def _place(subject: str, x: Any) -> np.ndarray:
    place = np.array(x, dtype=np.float64)
    if place.ndim == 0:
        raise DataError(f"{subject}: x must have at least one dimension; got a single number. Give [x].")
    return place
