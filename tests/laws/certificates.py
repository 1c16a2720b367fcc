"""Certificates recomputed from public attributes and the data alone, by the plainest formula there is."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RECOMPUTED"]


def kmeans_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the centres move in one more Lloyd iteration (squared)."""
    distance = ((X[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2)
    labels = distance.argmin(axis=1)
    means = np.array([X[labels == k].mean(axis=0) for k in range(len(model.cluster_centers_))])
    return float(((means - model.cluster_centers_) ** 2).sum())


def pca_residual(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the components are from eigenvectors of the covariance, relative to the largest eigenvalue."""
    C = np.cov(X, rowvar=False, ddof=model.ddof)
    gaps = model.components_ @ C - model.explained_variance_[:, None] * model.components_
    return float(np.linalg.norm(gaps, axis=1).max() / model.explained_variance_[0])


def linear_gradient(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Norm of X^T r - alpha coef over |X| |y|, X and y centred; with positive coefficients, of its violating part."""
    rows, targets = X - X.mean(axis=0), y - y.mean()
    gradient = rows.T @ (targets - rows @ model.coef_) - getattr(model, "alpha", 0.0) * model.coef_
    if model.positive:
        gradient = np.where(model.coef_ > 0, gradient, np.maximum(gradient, 0.0))
    return float(np.linalg.norm(gradient) / (np.linalg.norm(rows) * np.linalg.norm(targets)))


RECOMPUTED: dict[tuple[str, str], Callable[..., float]] = {
    ("fixed point", "GrowingKMeans"): kmeans_fixed_point,
    ("fixed point", "KMeans"): kmeans_fixed_point,
    ("residual", "PCA"): pca_residual,
    ("gradient norm", "LinearRegression"): linear_gradient,
    ("gradient norm", "Ridge"): linear_gradient,
    ("KKT residual", "LinearRegression"): linear_gradient,
    ("KKT residual", "Ridge"): linear_gradient,
}
