"""Certificates of projections of two tables, recomputed from public attributes and the rows."""

from typing import Any

import numpy as np

from mercer.kernels import as_kernel


def _standardise(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    Y = y.reshape(len(y), -1)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), (Y - Y.mean(axis=0)) / Y.std(axis=0, ddof=1)


def deflation_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """How far each pair of weights is from singular vectors of the tables that earlier ones leave, row by row."""
    X, Y = _standardise(model, X, y)
    residuals = []
    for w, c in zip(model.x_weights_.T, model.y_weights_.T, strict=True):
        unit, C, t = c / np.linalg.norm(c), X.T @ Y, X @ w
        size = w @ C @ unit
        residuals.append(np.linalg.norm(C @ unit - size * w) / size)
        u = Y @ unit if type(model).__name__ == "PLSCanonical" else t
        X, Y = X - np.outer(t, t @ X) / (t @ t), Y - np.outer(u, u @ Y) / (u @ u)
    return float(max(residuals))


def singular_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """How far the weights are from singular vectors of the products of the columns, relative to their norm."""
    X, Y = _standardise(model, X, y)
    C, values = X.T @ Y, model.covariances_ * (len(X) - 1)
    gaps = np.linalg.norm(C @ model.y_weights_ - values * model.x_weights_, axis=0)
    gaps += np.linalg.norm(C.T @ model.x_weights_ - values * model.y_weights_, axis=0)
    return float(gaps.max() / np.linalg.norm(C))


def canonical_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """How far the pairs are from solutions of the generalised eigenproblem, relative to its right-hand side."""
    X, Y = _standardise(model, X, y)
    cross, r = X.T @ Y, model.singular_values_[: model.n_components]
    sides = []
    for table, rotations, share in ((X, model.x_rotations_, 0), (Y, model.y_rotations_, 1)):
        weight, S = model.shrinkage_[share], table.T @ table
        S = (1 - weight) * S + weight * np.trace(S) / len(S) * np.eye(len(S))
        a = rotations / np.sqrt(np.diagonal(rotations.T @ S @ rotations))
        sides.append((a, S @ a))
    (a, Sa), (b, Sb) = sides
    gaps = np.linalg.norm(cross @ b - r * Sa, axis=0) / np.linalg.norm(Sa, axis=0)
    y_gaps = np.linalg.norm(cross.T @ a - r * Sb, axis=0) / np.linalg.norm(Sb, axis=0)
    mixed = max(np.abs(product - np.eye(len(r))).max() for product in (a.T @ Sa, b.T @ Sb))
    return float(max(gaps.max(), y_gaps.max(), mixed))


def kernel_canonical_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The same with kernels, centred by a matrix."""
    n = len(X)
    centring = np.eye(n) - 1.0 / n
    Y = y.reshape(n, -1)
    y_kernel = as_kernel(model.kernel if model.y_kernel is None else model.y_kernel, gamma=model.gamma, rows=Y)
    K, L = centring @ model.kernel_(X) @ centring, centring @ y_kernel(Y) @ centring
    worst = 0.0
    for one, other, a, b in (
        (K, L, model.x_dual_coef_, model.y_dual_coef_),
        (L, K, model.y_dual_coef_, model.x_dual_coef_),
    ):
        size = one @ (one @ a + n * model.alpha * a)
        gaps = np.linalg.norm(one @ other @ b - model.correlations_ * size, axis=0) / np.linalg.norm(size, axis=0)
        worst = max(worst, float(gaps.max()))
    return worst
