"""Dot products, squared distances and sums of squared differences between two sets of rows."""

import math
from typing import Any

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.kernels._prepared import Prepared


def products(rows: Prepared, others: Prepared, out: Array) -> Array:
    """Write the dot products of two sets to `out`; return it."""
    if not (is_sparse_matrix(rows.rows) or is_sparse_matrix(others.rows)):
        return np.matmul(rows.rows, others.rows.T, out=out)
    inner = rows.rows @ others.rows.T
    out[...] = inner.toarray() if is_sparse_matrix(inner) else inner
    return out


def square_distances(xp: Any, X: Array, Y: Array) -> Array:
    """Compute squared distances in array-API operations, by one product of [-2 x, x^2, 1] and [y, 1, y^2].

    A sum of three tables would write and read each again, which takes longest on a device.
    """
    squares, others = xp.sum(X * X, axis=1, keepdims=True), xp.sum(Y * Y, axis=1, keepdims=True)
    left = xp.concat([-2.0 * X, squares, xp.ones_like(squares)], axis=1)
    s = left @ xp.concat([Y, xp.ones_like(others), others], axis=1).T
    # Rounding may leave a negative distance between equal rows.
    return xp.maximum(s, xp.zeros_like(s[:1, :1]))


def find_centre(X: Array) -> Array:
    """Return the mean of the rows: with this origin of coordinates, the fewest digits cancel."""
    if not len(X):
        return np.zeros(X.shape[1], dtype=X.dtype)
    # The sum by hand: `mean` inspects its arguments for as long as 150 rows of 8 take.
    centre = np.add.reduce(X, axis=0, dtype=np.float64) / len(X)
    # vdot gives no warning where squares overflow.
    if not np.vdot(centre, centre) < math.inf:
        centre = np.where(np.isfinite(centre), centre, 0.0)
    return centre.astype(X.dtype, copy=False)


def square_gaps(rows: Prepared, others: Prepared) -> Array:
    """Return the squared differences in each column, in length scales."""
    X, Y = _make_dense(rows.rows), _make_dense(others.rows)
    return (X[:, None, :] - Y[None, :, :]) ** 2


def sum_gaps(weights: Array, X: Array, Y: Array) -> Array:
    """Return for each column the weighted sum of squared differences, by one product."""
    X, Y = _make_dense(X), _make_dense(Y)
    weights = weights.astype(np.float64, copy=False)
    # sum_ij w_ij (x_ik - y_jk)^2, expanded: no array of shape (n, m, d) is made.
    across = np.einsum("ik,ik->k", X, weights @ Y)
    return weights.sum(axis=1) @ X**2 + weights.sum(axis=0) @ Y**2 - 2.0 * across


def multiply_gaps(slopes: Array, X: Array, Y: Array, vectors: Array) -> Array:
    """Return for each column the product of (slopes times squared differences) and `vectors`.

    Expanding (x - y)^2 = x^2 - 2 x y + y^2 makes one matrix product of it.
    """
    X, Y = _make_dense(X), _make_dense(Y)
    (m, d), k = Y.shape, vectors.shape[1]
    # sum_j s_ij (x_i - y_j)^2 v_j = x_i^2 (S v)_i - 2 x_i (S y v)_i + (S y^2 v)_i, with the products S side by side.
    powers = np.concatenate([np.ones((m, 1)), Y, Y * Y], axis=1)
    sums = (slopes @ (powers[:, :, None] * vectors[:, None, :]).reshape(m, -1)).reshape(len(X), 2 * d + 1, k)
    weighted = X[:, :, None] ** 2 * sums[:, :1] - 2.0 * X[:, :, None] * sums[:, 1 : d + 1] + sums[:, d + 1 :]
    return np.moveaxis(weighted, 1, 0)


def _make_dense(rows: Rows) -> Array:
    """Return the rows as a dense array of float64."""
    return (rows.toarray() if is_sparse_matrix(rows) else rows).astype(np.float64, copy=False)
