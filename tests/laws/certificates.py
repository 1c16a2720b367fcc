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


RECOMPUTED: dict[tuple[str, str], Callable[..., float]] = {
    ("fixed point", "GrowingKMeans"): kmeans_fixed_point,
    ("fixed point", "KMeans"): kmeans_fixed_point,
}
