"""Diagonals of kernels and their derivatives by hyper-parameters in array-API operations, for rows on any device.

`Kernel.of` computes the values. This module has what a fit of hyper-parameters needs besides, for kernels whose
derivatives have a closed form. `itself` says whether each row is paired with itself or with an equal row of another
set: white noise differs between the two.
"""

from functools import singledispatch
from typing import Any

from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.kernels._algebra import Columns, Power, Product, Sum
from mercer.kernels._constant import Constant, White
from mercer.kernels._distances import square_distances
from mercer.kernels._dot_product import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels._kernel import Kernel
from mercer.kernels._laplacian import Laplacian, Periodic
from mercer.kernels._profile import BesselProfile
from mercer.kernels._radial import Radial

# Rows of a block; only its diagonal is kept.
_BAND = 64


def _make_refusal(kernel: Kernel) -> UnsupportedError:
    """Return the error of a kernel that has no such derivatives."""
    message = (
        f"{type(kernel).__name__}: derivatives by hyper-parameters must be asked for rows in memory; got rows on a "
        f"device. Fix its hyper-parameters, move the rows to memory, or use RBF, Matern or RationalQuadratic."
    )
    return UnsupportedError(message)


def _make_empty(xp: Any, X: Array) -> Array:
    """Return an array without elements, of the type and on the device of `X`."""
    return xp.sum(X[:0, :1], axis=1)


def _join(xp: Any, X: Array, parts: list[Array]) -> Array:
    """Return the parts one after the other, as one dimension."""
    return xp.concat([xp.reshape(part, (-1,)) for part in parts]) if parts else _make_empty(xp, X)


@singledispatch
def compute_diagonal(kernel: Kernel, xp: Any, X: Array, itself: bool = True) -> Array:
    """Compute the value of each row with itself or, if not `itself`, with an equal row of another set.

    A kernel that tells no row from its equals needs no form of its own: its values are on the diagonal of small blocks.
    """
    starts = range(0, X.shape[0], _BAND)
    blocks = (kernel.of(xp, X[start : start + _BAND, :], X[start : start + _BAND, :]) for start in starts)
    return xp.concat([xp.linalg.diagonal(block) for block in blocks])


@singledispatch
def sum_slopes(kernel: Kernel, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    """Sum weights[i, j] dk(x_i, y_j)/dtheta over all pairs, where x_i and y_j are different rows."""
    if len(kernel.theta):
        raise _make_refusal(kernel)
    return _make_empty(xp, X)


@singledispatch
def sum_diagonal_slopes(kernel: Kernel, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    """Sum weights[i] dk(x_i, x_i)/dtheta over all rows."""
    if len(kernel.theta):
        raise _make_refusal(kernel)
    return _make_empty(xp, X)


@compute_diagonal.register
def _(kernel: Constant, xp: Any, X: Array, itself: bool = True) -> Array:
    return xp.zeros_like(X[:, 0]) + kernel.constant_value


@sum_slopes.register
def _(kernel: Constant, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    return _join(xp, X, [kernel.constant_value * xp.sum(weights)] if len(kernel.theta) else [])


@sum_diagonal_slopes.register
def _(kernel: Constant, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    return _join(xp, X, [kernel.constant_value * xp.sum(weights)] if len(kernel.theta) else [])


@compute_diagonal.register
def _(kernel: White, xp: Any, X: Array, itself: bool = True) -> Array:
    return xp.zeros_like(X[:, 0]) + (kernel.noise_level if itself else 0.0)


@sum_slopes.register
def _(kernel: White, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    # Different rows share no noise, whatever its level.
    return _join(xp, X, [0.0 * weights[0, 0]] if len(kernel.theta) else [])


@sum_diagonal_slopes.register
def _(kernel: White, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    level = kernel.noise_level if itself else 0.0
    return _join(xp, X, [level * xp.sum(weights)] if len(kernel.theta) else [])


@compute_diagonal.register
def _(kernel: Sum, xp: Any, X: Array, itself: bool = True) -> Array:
    return compute_diagonal(kernel.k1, xp, X, itself) + kernel.sign * compute_diagonal(kernel.k2, xp, X, itself)


@sum_slopes.register
def _(kernel: Sum, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    second = kernel.sign * sum_slopes(kernel.k2, xp, X, Y, weights)
    return xp.concat([sum_slopes(kernel.k1, xp, X, Y, weights), second])


@sum_diagonal_slopes.register
def _(kernel: Sum, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    second = kernel.sign * sum_diagonal_slopes(kernel.k2, xp, X, weights, itself)
    return xp.concat([sum_diagonal_slopes(kernel.k1, xp, X, weights, itself), second])


@compute_diagonal.register
def _(kernel: Product, xp: Any, X: Array, itself: bool = True) -> Array:
    return compute_diagonal(kernel.k1, xp, X, itself) * compute_diagonal(kernel.k2, xp, X, itself)


@sum_slopes.register
def _(kernel: Product, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    # Product rule: the values of one factor become weights of the derivatives of the other.
    first = sum_slopes(kernel.k1, xp, X, Y, weights * kernel.k2.of(xp, X, Y))
    return xp.concat([first, sum_slopes(kernel.k2, xp, X, Y, weights * kernel.k1.of(xp, X, Y))])


@sum_diagonal_slopes.register
def _(kernel: Product, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    first = sum_diagonal_slopes(kernel.k1, xp, X, weights * compute_diagonal(kernel.k2, xp, X, itself), itself)
    second = sum_diagonal_slopes(kernel.k2, xp, X, weights * compute_diagonal(kernel.k1, xp, X, itself), itself)
    return xp.concat([first, second])


@compute_diagonal.register
def _(kernel: Power, xp: Any, X: Array, itself: bool = True) -> Array:
    return compute_diagonal(kernel.kernel, xp, X, itself) ** kernel.exponent


@sum_slopes.register
def _(kernel: Power, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    # Chain rule: dk^p = p k^(p - 1) dk.
    return sum_slopes(kernel.kernel, xp, X, Y, weights * kernel.differentiate_power(kernel.kernel.of(xp, X, Y)))


@sum_diagonal_slopes.register
def _(kernel: Power, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    outer = kernel.differentiate_power(compute_diagonal(kernel.kernel, xp, X, itself))
    return sum_diagonal_slopes(kernel.kernel, xp, X, weights * outer, itself)


@compute_diagonal.register
def _(kernel: Columns, xp: Any, X: Array, itself: bool = True) -> Array:
    return compute_diagonal(kernel.kernel, xp, kernel.take_columns(xp, X), itself)


@sum_slopes.register
def _(kernel: Columns, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    return sum_slopes(kernel.kernel, xp, kernel.take_columns(xp, X), kernel.take_columns(xp, Y), weights)


@sum_diagonal_slopes.register
def _(kernel: Columns, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    return sum_diagonal_slopes(kernel.kernel, xp, kernel.take_columns(xp, X), weights, itself)


@compute_diagonal.register
def _(kernel: Radial, xp: Any, X: Array, itself: bool = True) -> Array:
    profile = kernel.make_profile(X.shape[1])
    if isinstance(profile, BesselProfile):
        raise _make_refusal(kernel)
    return xp.zeros_like(X[:, 0]) + profile.factor


@sum_slopes.register
def _(kernel: Radial, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    profile, gradients = kernel.make_profile(X.shape[1]), []
    X, Y = kernel.scale_rows(xp, X), kernel.scale_rows(xp, Y)
    squares, others, s = X * X, Y * Y, square_distances(xp, X, Y)
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        if parameter.name not in ("length_scale", "gamma"):
            gradients.append(xp.sum(weights * kernel.compute_shape_slopes(xp, profile.of(xp, s), X.shape[1])))
            continue
        # Sums of squared differences in each column, by products: (x - y)^2 = x^2 + y^2 - 2 x y.
        both = weights * profile.slopes_of(xp, s)
        sums = xp.sum(both, axis=1) @ squares + xp.sum(both, axis=0) @ others - 2.0 * xp.sum(X * (both @ Y), axis=0)
        sums = sums if parameter.n_elements > 1 else xp.sum(sums)
        gradients.append(sums if parameter.name == "length_scale" else -0.5 * sums)
    return _join(xp, X, gradients)


@sum_diagonal_slopes.register
def _(kernel: Radial, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    gradients = []
    for parameter in kernel.hyperparameters:
        if not parameter.fixed and parameter.name not in ("length_scale", "gamma"):
            values = compute_diagonal(kernel, xp, X, itself)
            gradients.append(xp.sum(weights * kernel.compute_shape_slopes(xp, values, X.shape[1])))
        elif not parameter.fixed:
            # At distance zero the value does not depend on the length scale.
            gradients.append(xp.zeros((parameter.n_elements,), dtype=weights.dtype, device=getattr(X, "device", None)))
    return _join(xp, X, gradients)


@compute_diagonal.register(Laplacian)
@compute_diagonal.register(Periodic)
def _(kernel: Any, xp: Any, X: Array, itself: bool = True) -> Array:
    return xp.ones_like(X[:, 0])


@sum_slopes.register(Laplacian)
@sum_slopes.register(Periodic)
def _(kernel: Any, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    if not len(kernel.theta):
        return _make_empty(xp, X)
    if isinstance(kernel, Periodic) or kernel.norm != "euclidean":
        raise _make_refusal(kernel)
    # gamma is the inverse of the length scale: their logarithms have opposite derivatives.
    return (1.0 if kernel.gamma is None else -1.0) * sum_slopes(kernel.form, xp, X, Y, weights)


@sum_diagonal_slopes.register(Laplacian)
@sum_diagonal_slopes.register(Periodic)
def _(kernel: Any, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    return xp.zeros((len(kernel.theta),), dtype=weights.dtype, device=getattr(X, "device", None))


@compute_diagonal.register(Linear)
@compute_diagonal.register(Polynomial)
@compute_diagonal.register(Sigmoid)
def _(kernel: Any, xp: Any, X: Array, itself: bool = True) -> Array:
    squares = xp.sum(X * X, axis=1)
    if isinstance(kernel, Cosine):
        return xp.astype(squares > 0, X.dtype)
    if isinstance(kernel, Linear):
        return squares
    inner = kernel.gamma * squares + kernel.coef0
    return inner**kernel.degree if isinstance(kernel, Polynomial) else xp.tanh(inner)
