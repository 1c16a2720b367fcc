"""Certificates recomputed from public attributes and the data alone, by the plainest formula there is."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax, xlogy

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


def logistic_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """Penalised mean loss minus the dual at a feasible point near the model's probabilities, entropies row by row."""
    n, ratio, strength = len(X), model.l1_ratio, 1 / (model.C * len(X))
    Y = (y[:, None] == model.classes_[None]).astype(float)
    W, b = model.coef_, model.intercept_
    scores = X @ W.T + b
    scores = np.column_stack([0 * scores, scores]) if len(W) == 1 else scores
    loss = np.mean(logsumexp(scores, axis=1) - np.sum(Y * scores, axis=1))
    P = softmax(scores, axis=1)
    penalised = model.solver == "liblinear"
    columns = np.column_stack([X, np.ones(n)]) if penalised else X
    V = np.column_stack([W, b]) if penalised else W
    if not penalised:
        shares, wanted = P.mean(axis=0), Y.mean(axis=0)
        mix = max(float(np.max((shares - wanted) / shares)), 1e-300)
        P = (1 - mix) * P + mix * (shares + (wanted - shares) / mix)
    dual = ((P - Y).T @ columns / n)[-len(W) :]
    if ratio == 1:
        scale = min(1.0, strength / np.max(np.abs(dual)))
        P, dual = Y + scale * (P - Y), scale * dual
    excess = np.maximum(np.abs(dual) - strength * ratio, 0) ** 2
    conjugate = np.sum(excess) / (2 * strength * (1 - ratio)) if ratio < 1 else 0.0
    penalty = strength * (ratio * np.abs(V).sum() + (1 - ratio) / 2 * np.sum(V**2))
    return float(loss + penalty + np.mean(xlogy(P, np.maximum(P, 1e-300)).sum(axis=1)) + conjugate)


RECOMPUTED: dict[tuple[str, str], Callable[..., float]] = {
    ("fixed point", "GrowingKMeans"): kmeans_fixed_point,
    ("fixed point", "KMeans"): kmeans_fixed_point,
    ("residual", "PCA"): pca_residual,
    ("gradient norm", "LinearRegression"): linear_gradient,
    ("gradient norm", "Ridge"): linear_gradient,
    ("KKT residual", "LinearRegression"): linear_gradient,
    ("KKT residual", "Ridge"): linear_gradient,
    ("duality gap", "LogisticRegression"): logistic_gap,
}
