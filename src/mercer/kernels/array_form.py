"""Diagonals of kernels and their derivatives by hyper-parameters in array-API operations, for rows on any device.

`Kernel.of` has the values; what a fit of hyper-parameters needs beside them is here, for the kernels whose derivatives
have a closed form. `itself` says whether a row meets itself or an equal row of another set, which white noise tells
apart.
"""

from functools import singledispatch
from typing import Any

import numpy as np

from mercer.errors import UnsupportedError
from mercer.kernels._algebra import Columns, Power, Product, Sum
from mercer.kernels._constant import Constant, White
from mercer.kernels._dot_product import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels._kernel import Kernel
from mercer.kernels._laplacian import Laplacian, Periodic
from mercer.kernels._profile import BesselProfile
from mercer.kernels._radial import Radial, squared_distances

__all__ = ["diagonal_of", "diagonal_slopes_of", "slopes_of"]

Array = Any


def _refused(kernel: Kernel) -> UnsupportedError:
    message = (
        f"{type(kernel).__name__}: derivatives by hyper-parameters must be asked for rows in memory; got rows on a "
        f"device. Fix its hyper-parameters, move the rows to memory, or use RBF, Matern or RationalQuadratic."
    )
    return UnsupportedError(message)


def _nothing(xp: Any, X: Array) -> Array:
    return xp.sum(X[:0, :1], axis=1)


def _joined(xp: Any, X: Array, parts: list[Array]) -> Array:
    return xp.concat([xp.reshape(part, (-1,)) for part in parts]) if parts else _nothing(xp, X)


def _seen(kernel: Columns, xp: Any, X: Array) -> Array:
    chosen = xp.asarray(kernel._index(X.shape[1]), device=getattr(X, "device", None))
    return xp.take(X, chosen, axis=1)


@singledispatch
def diagonal_of(kernel: Kernel, xp: Any, X: Array, itself: bool = True) -> Array:
    """The value of each row with itself, or with an equal row."""
    raise _refused(kernel)


@singledispatch
def slopes_of(kernel: Kernel, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    """The sums over pairs of weights[i, j] dk(x_i, y_j)/dtheta, x_i and y_j being different rows."""
    if len(kernel.theta):
        raise _refused(kernel)
    return _nothing(xp, X)


@singledispatch
def diagonal_slopes_of(kernel: Kernel, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    """The sums over rows of weights[i] dk(x_i, x_i)/dtheta."""
    if len(kernel.theta):
        raise _refused(kernel)
    return _nothing(xp, X)


@diagonal_of.register
def _(kernel: Constant, xp: Any, X: Array, itself: bool = True) -> Array:
    return xp.zeros_like(X[:, 0]) + kernel.constant_value


@slopes_of.register
def _(kernel: Constant, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    return _joined(xp, X, [kernel.constant_value * xp.sum(weights)] if len(kernel.theta) else [])


@diagonal_slopes_of.register
def _(kernel: Constant, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    return _joined(xp, X, [kernel.constant_value * xp.sum(weights)] if len(kernel.theta) else [])


@diagonal_of.register
def _(kernel: White, xp: Any, X: Array, itself: bool = True) -> Array:
    return xp.zeros_like(X[:, 0]) + (kernel.noise_level if itself else 0.0)


@slopes_of.register
def _(kernel: White, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    return _joined(xp, X, [0.0 * weights[0, 0]] if len(kernel.theta) else [])


@diagonal_slopes_of.register
def _(kernel: White, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    level = kernel.noise_level if itself else 0.0
    return _joined(xp, X, [level * xp.sum(weights)] if len(kernel.theta) else [])


@diagonal_of.register
def _(kernel: Sum, xp: Any, X: Array, itself: bool = True) -> Array:
    return diagonal_of(kernel.k1, xp, X, itself) + kernel._sign * diagonal_of(kernel.k2, xp, X, itself)


@slopes_of.register
def _(kernel: Sum, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    second = kernel._sign * slopes_of(kernel.k2, xp, X, Y, weights)
    return xp.concat([slopes_of(kernel.k1, xp, X, Y, weights), second])


@diagonal_slopes_of.register
def _(kernel: Sum, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    second = kernel._sign * diagonal_slopes_of(kernel.k2, xp, X, weights, itself)
    return xp.concat([diagonal_slopes_of(kernel.k1, xp, X, weights, itself), second])


@diagonal_of.register
def _(kernel: Product, xp: Any, X: Array, itself: bool = True) -> Array:
    return diagonal_of(kernel.k1, xp, X, itself) * diagonal_of(kernel.k2, xp, X, itself)


@slopes_of.register
def _(kernel: Product, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    first = slopes_of(kernel.k1, xp, X, Y, weights * kernel.k2.of(xp, X, Y))
    return xp.concat([first, slopes_of(kernel.k2, xp, X, Y, weights * kernel.k1.of(xp, X, Y))])


@diagonal_slopes_of.register
def _(kernel: Product, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    first = diagonal_slopes_of(kernel.k1, xp, X, weights * diagonal_of(kernel.k2, xp, X, itself), itself)
    second = diagonal_slopes_of(kernel.k2, xp, X, weights * diagonal_of(kernel.k1, xp, X, itself), itself)
    return xp.concat([first, second])


@diagonal_of.register
def _(kernel: Power, xp: Any, X: Array, itself: bool = True) -> Array:
    return diagonal_of(kernel.kernel, xp, X, itself) ** kernel.exponent


@slopes_of.register
def _(kernel: Power, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    return slopes_of(kernel.kernel, xp, X, Y, weights * kernel._outer(kernel.kernel.of(xp, X, Y)))


@diagonal_slopes_of.register
def _(kernel: Power, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    outer = kernel._outer(diagonal_of(kernel.kernel, xp, X, itself))
    return diagonal_slopes_of(kernel.kernel, xp, X, weights * outer, itself)


@diagonal_of.register
def _(kernel: Columns, xp: Any, X: Array, itself: bool = True) -> Array:
    return diagonal_of(kernel.kernel, xp, _seen(kernel, xp, X), itself)


@slopes_of.register
def _(kernel: Columns, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    return slopes_of(kernel.kernel, xp, _seen(kernel, xp, X), _seen(kernel, xp, Y), weights)


@diagonal_slopes_of.register
def _(kernel: Columns, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    return diagonal_slopes_of(kernel.kernel, xp, _seen(kernel, xp, X), weights, itself)


@diagonal_of.register
def _(kernel: Radial, xp: Any, X: Array, itself: bool = True) -> Array:
    profile = kernel._profile(X.shape[1])
    if isinstance(profile, BesselProfile):
        raise _refused(kernel)
    return xp.zeros_like(X[:, 0]) + profile.factor


@slopes_of.register
def _(kernel: Radial, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    profile, found = kernel._profile(X.shape[1]), []
    unit = xp.asarray(np.asarray(kernel._unit(), dtype=np.float64), dtype=X.dtype, device=getattr(X, "device", None))
    X, Y = X / unit, Y / unit
    squares, others, s = X * X, Y * Y, squared_distances(xp, X, Y)
    for one in kernel.hyperparameters:
        if one.fixed:
            continue
        if one.name not in ("length_scale", "gamma"):
            found.append(xp.sum(weights * kernel._shape_slopes(xp, profile.of(xp, s), X.shape[1])))
            continue
        # Sums of squared differences in each column, by products: (x - y)^2 = x^2 + y^2 - 2 x y.
        both = weights * profile.slopes_of(xp, s)
        sums = xp.sum(both, axis=1) @ squares + xp.sum(both, axis=0) @ others - 2.0 * xp.sum(X * (both @ Y), axis=0)
        sums = sums if one.n_elements > 1 else xp.sum(sums)
        found.append(sums if one.name == "length_scale" else -0.5 * sums)
    return _joined(xp, X, found)


@diagonal_slopes_of.register
def _(kernel: Radial, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    found = []
    for one in kernel.hyperparameters:
        if not one.fixed and one.name not in ("length_scale", "gamma"):
            values = diagonal_of(kernel, xp, X, itself)
            found.append(xp.sum(weights * kernel._shape_slopes(xp, values, X.shape[1])))
        elif not one.fixed:
            # Nothing that is at no distance changes with lengths.
            found.append(xp.zeros((one.n_elements,), dtype=weights.dtype, device=getattr(X, "device", None)))
    return _joined(xp, X, found)


@diagonal_of.register(Laplacian)
@diagonal_of.register(Periodic)
def _(kernel: Any, xp: Any, X: Array, itself: bool = True) -> Array:
    return xp.ones_like(X[:, 0])


@slopes_of.register(Laplacian)
@slopes_of.register(Periodic)
def _(kernel: Any, xp: Any, X: Array, Y: Array, weights: Array) -> Array:
    if not len(kernel.theta):
        return _nothing(xp, X)
    if isinstance(kernel, Periodic) or kernel.norm != "euclidean":
        raise _refused(kernel)
    return (1.0 if kernel.gamma is None else -1.0) * slopes_of(kernel._form, xp, X, Y, weights)


@diagonal_slopes_of.register(Laplacian)
@diagonal_slopes_of.register(Periodic)
def _(kernel: Any, xp: Any, X: Array, weights: Array, itself: bool = True) -> Array:
    return xp.zeros((len(kernel.theta),), dtype=weights.dtype, device=getattr(X, "device", None))


@diagonal_of.register(Linear)
@diagonal_of.register(Polynomial)
@diagonal_of.register(Sigmoid)
def _(kernel: Any, xp: Any, X: Array, itself: bool = True) -> Array:
    squares = xp.sum(X * X, axis=1)
    if isinstance(kernel, Cosine):
        return xp.astype(squares > 0, X.dtype)
    if isinstance(kernel, Linear):
        return squares
    inner = kernel.gamma * squares + kernel.coef0
    return inner**kernel.degree if isinstance(kernel, Polynomial) else xp.tanh(inner)
