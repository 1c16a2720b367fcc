"""Beta-divergences between rows and a product of factors, and the two parts of their gradients.

With V = W H the divergence is sum X log(X / V) - X + V for beta = 1 (Kullback and Leibler), sum X / V - log(X / V) - 1
for beta = 0 (Itakura and Saito), |X - V|^2 / 2 for beta = 2, and else the sum of
(X^b + (b - 1) V^b - b X V^(b - 1)) / (b (b - 1)).
Its gradient in W is the difference of two matrices without negative entries,

    V^(b - 1) H^T  -  (X V^(b - 2)) H^T,

and a multiplicative update divides the second by the first. Of sparse rows the second needs V at stored entries only.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._native.factors import sampled_products
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array

# Smallest divisor: the resolution of float32, as in scikit-learn.
EPSILON = float(np.finfo(np.float32).eps)
# Entries of a product that are held at a time: 2**16 float64 are 512 KiB, which a core's own cache holds.
_TILE = 2**16


def parts_in_rows(X: Any, W: Array, T: Array, beta: float) -> tuple[Array, Array]:
    """Return the subtracted and the added part of the gradient in W; the second may have one row, to be broadcast."""
    if beta == 2:
        # X H^T and W (H H^T): nothing of the size of X is formed.
        return _product(X, T), W @ (T.T @ T)
    products = [_product(_find_ratio(x, w, T, beta), T) for x, w in _cut_tiles(X, W, T)]
    subtracted = products[0] if len(products) == 1 else np.concatenate(products)
    # For Kullback and Leibler V^0 is one, so the added part is the sum of H.
    if beta == 1:
        return subtracted, T.sum(axis=0)[None, :]
    added = np.empty_like(W)
    for part in _tiles(len(W), len(T)):
        added[part] = _find_powers(W[part], T, beta) @ T
    return subtracted, added


def parts_in_columns(X: Any, W: Array, T: Array, beta: float) -> tuple[Array, Array]:
    """Return the subtracted and the added part of the gradient in H, transposed, as they sum over blocks of rows.

    The added part is one row for beta = 1, to be broadcast. For beta = 2 it is given as the k x k matrix W^T W; T times
    that matrix is the part.
    """
    if beta == 2:
        return _product(X.T, W), W.T @ W
    tiles = _cut_tiles(X, W, T)
    subtracted = _product(_find_ratio(*tiles[0], T, beta).T, tiles[0][1])
    for x, w in tiles[1:]:
        subtracted += _product(_find_ratio(x, w, T, beta).T, w)
    if beta == 1:
        return subtracted, W.sum(axis=0)[None, :]
    added = np.zeros_like(T)
    for part in _tiles(len(W), len(T)):
        added += _find_powers(W[part], T, beta).T @ W[part]
    return subtracted, added


def measure_divergence(X: Any, W: Array, T: Array, beta: float) -> float:
    """Return the divergence between rows and the product of the factors."""
    if beta == 2:
        return _measure_squares(X, W, T)
    fit = sum(_measure_stored(x, w, T, beta) for x, w in _cut_tiles(X, W, T))
    if beta == 1:
        # sum V = sum_k (sum_i W_ik) (sum_j H_kj).
        return fit + float(W.sum(axis=0) @ T.sum(axis=0))
    if beta == 0:
        return fit - float(X.shape[0] * X.shape[1])
    powers = float(sum(((W[part] @ T.T) ** beta).sum() for part in _tiles(len(W), len(T))))
    return fit + powers / beta


def _measure_stored(X: Any, W: Array, T: Array, beta: float) -> float:
    """Return the terms of the divergence that need both X and V; entries of X that are zero have none."""
    stored, V = (X.data, _sample(X, W, T)) if is_sparse_matrix(X) else (X.ravel(), (W @ T.T).ravel())
    # Entries that are zero to rounding count for nothing in X log(X / V): log 0 is never taken.
    kept = stored > EPSILON
    x, v = stored[kept].astype(np.float64), np.maximum(V[kept], EPSILON)
    if beta == 1:
        return float(np.dot(x, np.log(x / v))) - float(x.sum())
    if beta == 0:
        return float((x / v).sum()) - float(np.log(x / v).sum())
    return (float((x**beta).sum()) - beta * float(np.dot(x, v ** (beta - 1)))) / beta / (beta - 1)


def _measure_squares(X: Any, W: Array, T: Array) -> float:
    """Return half the squared error; that of sparse rows from sums, without a dense product."""
    if is_sparse_matrix(X):
        squares = float(np.einsum("i,i->", X.data, X.data, dtype=np.float64))
        cross = float((_product(X, T) * W).sum())
        return max((squares - 2 * cross + float(((W.T @ W) * (T.T @ T)).sum())) / 2, 0.0)
    gap = X - W @ T.T
    return float((gap * gap).sum()) / 2


def _find_ratio(X: Any, W: Array, T: Array, beta: float) -> Any:
    """Return X V^(beta - 2): dense, or with the stored entries of sparse rows."""
    if type(X) is np.ndarray or not is_sparse_matrix(X):
        V = W @ T.T
        np.maximum(V, EPSILON, out=V)
        if beta == 1 and X.dtype == V.dtype:
            return np.divide(X, V, out=V)
        return X * _raise_to(V, beta - 2.0)
    values = X.data * _raise_to(np.maximum(_sample(X, W, T), EPSILON), beta - 2.0)
    return csr_array((values, X.indices, X.indptr), shape=X.shape)


def _find_powers(W: Array, T: Array, beta: float) -> Array:
    """Return V^(beta - 1), with V at least EPSILON where the power is negative."""
    V = W @ T.T
    return _raise_to(np.maximum(V, EPSILON) if beta < 1 else V, beta - 1.0)


def _raise_to(V: Array, power: float) -> Array:
    """Return V^power; the powers of the named losses without the general function, which takes ten times as long."""
    if power == -1:
        return 1.0 / V
    return 1.0 / (V * V) if power == -2 else V**power


def _sample(X: Any, W: Array, T: Array) -> Array:
    """Return V at the stored entries of sparse rows."""
    out = np.empty(len(X.data))
    sampled_products.multiply_sampled(X.indptr, X.indices, np.ascontiguousarray(W), np.ascontiguousarray(T), out)
    return out


def _product(X: Any, right: Array) -> Array:
    return np.asarray(X @ right, dtype=np.float64)


def _tiles(n_rows: int, width: int) -> Iterator[slice]:
    step = max(1, _TILE // max(1, width))
    return (slice(start, start + step) for start in range(0, max(n_rows, 1), step))


def _cut_tiles(X: Any, W: Array, T: Array) -> list[tuple[Any, Array]]:
    """Return dense rows with their rows of W in pieces whose product is one tile; sparse rows in one piece."""
    if len(W) * len(T) <= _TILE or is_sparse_matrix(X):
        return [(X, W)]
    return [(X[part], W[part]) for part in _tiles(len(W), len(T))]
