"""The matrices of locally linear embeddings: four ways to say that neighbourhoods are nearly flat.

Each gives a sparse positive semidefinite matrix M; coordinates are its eigenvectors of least eigenvalues, without the
constant one. Small problems of all rows are solved together, in batches.
"""

import math

import numpy as np
from scipy.sparse import csr_array, eye_array

from mercer._types import Array
from mercer.errors import ParameterError


def find_weights(queries: Array, rows: Array, indices: Array, reg: float) -> Array:
    """Return for each query the weights, of sum one, by which its neighbours restore it best.

    They solve (G + reg tr(G) I) w = 1, up to scale, with the products G of the differences to the neighbours.
    """
    gaps = rows[indices] - queries[:, None, :]
    G = gaps @ gaps.transpose(0, 2, 1)
    traces = np.trace(G, axis1=1, axis2=2)
    k = indices.shape[1]
    G[:, np.arange(k), np.arange(k)] += np.where(traces > 0, reg * traces, reg)[:, None]
    weights = np.linalg.solve(G, np.ones((len(queries), k, 1)))[:, :, 0]
    return weights / weights.sum(axis=1, keepdims=True)


def build_standard(X: Array, indices: Array, reg: float) -> csr_array:
    """Return (I - W)^T (I - W) with the weights W of the neighbours: Roweis and Saul's method."""
    n, k = indices.shape
    weights = find_weights(X, X, indices, reg)
    pointers = np.arange(0, n * k + 1, k)
    W = csr_array((weights.ravel(), indices.ravel().astype(np.int32), pointers.astype(np.int32)), shape=(n, n))
    rest = csr_array(eye_array(n, format="csr")) - W
    return csr_array(rest.T @ rest)


def _sum_blocks(blocks: Array, indices: Array, n: int) -> csr_array:
    """Add a small matrix for each neighbourhood at the rows and columns of its members."""
    k = indices.shape[1]
    rows = np.repeat(indices, k, axis=1).ravel()
    columns = np.tile(indices, (1, k)).ravel()
    return csr_array((blocks.ravel(), (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n))


def _local_axes(X: Array, indices: Array) -> Array:
    """Return, for each neighbourhood, the left singular vectors of its centred members: coordinates in its plane."""
    members = X[indices]
    members = members - members.mean(axis=1, keepdims=True)
    if members.shape[1] > members.shape[2]:
        return np.linalg.svd(members, full_matrices=False)[0]
    _, vectors = np.linalg.eigh(members @ members.transpose(0, 2, 1))
    return vectors[:, :, ::-1]


def build_tangent(X: Array, indices: Array, n_components: int) -> csr_array:
    """Return the matrix of local tangent space alignment: what each plane leaves of its members' coordinates."""
    n, k = indices.shape
    axes = _local_axes(X, indices)[:, :, :n_components]
    basis = np.concatenate([np.full((n, k, 1), 1.0 / math.sqrt(k)), axes], axis=2)
    blocks = np.eye(k) - basis @ basis.transpose(0, 2, 1)
    return _sum_blocks(blocks, indices, n)


def build_hessian(X: Array, indices: Array, n_components: int, tol: float) -> csr_array:
    """Return the sum of squared second derivatives, estimated in the plane of each neighbourhood."""
    n, k = indices.shape
    products = n_components * (n_components + 1) // 2
    if k <= n_components + products:
        raise ParameterError(
            f"LocallyLinearEmbedding: for method='hessian', n_neighbors must be greater than "
            f"n_components * (n_components + 3) / 2 = {n_components + products}; got {k}. Raise n_neighbors."
        )
    # Coordinates of the neighbours in the plane of each neighbourhood.
    axes = _local_axes(X, indices)[:, :, :n_components]
    pairs = [(i, j) for i in range(n_components) for j in range(i, n_components)]
    squares = np.stack([axes[:, :, i] * axes[:, :, j] for i, j in pairs], axis=2)
    # Columns: constant, linear and quadratic functions; the last ones, made orthogonal, measure second derivatives.
    functions = np.concatenate([np.ones((n, k, 1)), axes, squares], axis=2)
    Q = np.linalg.qr(functions)[0][:, :, n_components + 1 :]
    sums = Q.sum(axis=1, keepdims=True)
    # Each function is scaled to sum one, as in Donoho and Grimes (2003).
    W = Q / np.where(np.abs(sums) < tol, 1.0, sums)
    return _sum_blocks(W @ W.transpose(0, 2, 1), indices, n)


def build_modified(X: Array, indices: Array, n_components: int, tol: float) -> csr_array:
    """Return the matrix of modified locally linear embedding: several independent weights for each row."""
    n, k = indices.shape
    if k < n_components:
        raise ParameterError(
            f"LocallyLinearEmbedding: modified LLE requires n_neighbors >= n_components; got {k} and {n_components}. "
            f"Raise n_neighbors."
        )
    gaps = X[indices] - X[:, None, :]
    values, vectors = np.linalg.eigh(gaps @ gaps.transpose(0, 2, 1))
    values, vectors = np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]
    rank = min(X.shape[1], k)
    # A ridge, since there may be more neighbours than dimensions.
    ridge = 1e-3 * values.sum(axis=1)
    ones = vectors.sum(axis=1)
    weights = np.einsum("nij,nj->ni", vectors, ones / (values + ridge[:, None]))
    weights /= weights.sum(axis=1, keepdims=True)
    # How many directions carry next to no variance: that many weights are independent.
    sizes = np.maximum(_count_weights(values[:, :rank], n_components) + k - rank, 1)
    blocks, edges = np.empty((n, k, k)), np.empty((n, k))
    for row in range(n):
        size = sizes[row]
        V = vectors[row, :, k - size :]
        # A Householder reflection makes the weights sum to one.
        alpha = np.linalg.norm(V.sum(axis=0)) / math.sqrt(size)
        h = alpha - V.sum(axis=0)
        length = np.linalg.norm(h)
        h = h / length if length >= tol else np.zeros(size)
        W = V - 2.0 * np.outer(V @ h, h) + (1.0 - alpha) * weights[row, :, None]
        blocks[row], edges[row] = W @ W.T, W.sum(axis=1)
    own = np.repeat(np.arange(n, dtype=np.int32), k)
    links = csr_array((edges.ravel(), (own, indices.ravel().astype(np.int32))), shape=(n, n))
    diagonal = csr_array((sizes.astype(float), (np.arange(n), np.arange(n))), shape=(n, n))
    return csr_array(_sum_blocks(blocks, indices, n) - links - links.T + diagonal)


def _count_weights(values: Array, n_components: int) -> Array:
    """Return how many directions of each neighbourhood count as flat: their share is at most the median one."""
    shares = values[:, n_components:].sum(axis=1) / np.maximum(values[:, :n_components].sum(axis=1), 1e-300)
    limit = np.median(shares)
    sums = np.maximum(np.cumsum(values, axis=1), 1e-300)
    ratios = sums[:, -1:] / sums[:, :-1] - 1.0
    return np.sum(ratios < limit, axis=1)
