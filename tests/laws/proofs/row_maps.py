"""Certificates of maps of rows, recomputed from public attributes and the rows."""

from typing import Any

import numpy as np
from scipy.special import softmax


def _scaling_residual(D: np.ndarray, points: np.ndarray, values: np.ndarray) -> float:
    n = len(D)
    J = np.eye(n) - 1.0 / n
    B = -0.5 * J @ D**2 @ J
    vectors = points / np.sqrt(values)
    return float(np.linalg.norm(B @ vectors - values * vectors, axis=0).max() / np.abs(B).max())


def classical_residual(model: Any, X: np.ndarray, y: Any) -> float:
    points = model.transform(model.landmarks_)
    return _scaling_residual(model.dissimilarity_matrix_, points, model.eigenvalues_)


def path_residual(model: Any, X: np.ndarray, y: Any) -> float:
    return _scaling_residual(model.dist_matrix_, model.embedding_, model.eigenvalues_)


def guttman_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """The length of one more transform of the points, pair by pair; disparities by scikit-learn for ranks."""
    Y = model.embedding_
    n, wanted = len(Y), model.dissimilarity_matrix_
    distances = np.sqrt(((Y[:, None] - Y[None]) ** 2).sum(axis=2))
    if not model.metric_mds:
        from sklearn.isotonic import IsotonicRegression

        upper = np.triu_indices(n, 1)
        flat = IsotonicRegression().fit_transform(wanted[upper], distances[upper])
        wanted = np.zeros((n, n))
        wanted[upper] = flat * np.sqrt(n * (n - 1) / 2 / (flat**2).sum())
        wanted = wanted + wanted.T
    B = -wanted / np.where(distances > 0, distances, 1.0)
    np.fill_diagonal(B, 0.0)
    np.fill_diagonal(B, -B.sum(axis=1))
    moved, centred = B @ Y / n, Y - Y.mean(axis=0)
    return float(np.linalg.norm(moved - moved.mean(axis=0) - centred) / np.linalg.norm(centred))


def laplacian_residual(model: Any, X: np.ndarray, y: Any) -> float:
    A = model.affinity_matrix_
    A = np.array(A.toarray() if hasattr(A, "toarray") else A)
    np.fill_diagonal(A, 0.0)
    roots = np.sqrt(A.sum(axis=1))
    L = np.eye(len(A)) - A / roots[:, None] / roots[None, :]
    vectors = model.embedding_ * roots[:, None]
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    return float(np.linalg.norm(L @ vectors - model.eigenvalues_ * vectors, axis=0).max() / np.abs(L).max())


def locally_linear_residual(model: Any, X: np.ndarray, y: Any) -> float:
    n, k = len(X), model.n_neighbors
    W = np.zeros((n, n))
    for row in range(n):
        gaps = np.linalg.norm(X - X[row], axis=1)
        gaps[row] = np.inf
        near = np.argsort(gaps, kind="stable")[:k]
        G = (X[near] - X[row]) @ (X[near] - X[row]).T
        weights = np.linalg.solve(G + model.reg * np.trace(G) * np.eye(k), np.ones(k))
        W[row, near] = weights / weights.sum()
    M = (np.eye(n) - W).T @ (np.eye(n) - W)
    V = model.embedding_
    return float(np.linalg.norm(M @ V - model.eigenvalues_ * V, axis=0).max() / np.abs(M).max())


def neighbour_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest derivative of the expected accuracy of a random neighbour, with all pairs written out."""
    A = model.components_
    Z, steps = X @ A.T, X[:, None] - X[None]
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    P, same = softmax(-D, axis=1), y[:, None] == y[None]
    W = P * (same - (P * same).sum(axis=1, keepdims=True))
    return float(np.abs(2.0 * A @ np.einsum("ij,ijk,ijl->kl", W, steps, steps) / len(X)).max())
