"""Kernel machines: the closed form of kernel ridge, random features with ridge, and top kernel components."""

from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split

__all__ = ["CASES"]


def make_ridge(scale: float) -> dict[str, np.ndarray]:
    """Friedman's first function of ten columns."""
    test_rows = scaled(2_000, scale)
    X, y = make_friedman1(scaled(6_000, scale) + test_rows, 10, noise=1.0, random_state=0)
    return split(X, test_rows, y)


def ridge_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the cost |y - K a|^2 + alpha a^T K a, with kernels computed here."""
    a, X = solution["dual"].astype(np.float64), data["X"]
    squares = (X**2).sum(axis=1)
    cost = 0.0
    for rows in np.array_split(np.arange(len(X)), max(1, len(X) // 1000)):
        K = np.exp(-0.05 * np.maximum(squares[rows, None] + squares[None] - 2 * X[rows] @ X.T, 0.0))
        fitted = K @ a
        cost += float(np.sum((data["y"][rows] - fitted) ** 2) + 0.1 * a[rows] @ fitted)
    return {"cost": cost}


def make_components(scale: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    test_rows = scaled(1_000, scale)
    return split(random.normal(size=(scaled(4_000, scale) + test_rows, 20)), test_rows)


def components_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the sum of the eigenvalues found."""
    return {"eigenvalues": float(solution["eigenvalues"].sum())}


def dual(model: Any) -> dict[str, np.ndarray]:
    return {"dual": model.dual_coef_}


def eigenvalues(model: Any) -> dict[str, np.ndarray]:
    return {"eigenvalues": model.eigenvalues_}


ridge = estimators(
    {"mercer": "mercer.kernel_ridge.KernelRidge", "sklearn": "sklearn.kernel_ridge.KernelRidge"},
    dual,
    verb="predict",
    alpha=0.1,
    kernel="rbf",
    gamma=0.05,
)
components = estimators(
    {"mercer": "mercer.decomposition.KernelPCA", "sklearn": "sklearn.decomposition.KernelPCA"},
    eigenvalues,
    verb="transform",
    n_components=20,
    kernel="rbf",
    gamma=0.02,
    eigen_solver="randomized",
    random_state=0,
)

CASES = (
    Case(
        "kernel_ridge",
        "kernel ridge, 6 000 x 10, Gaussian kernel, closed form",
        make_ridge,
        ridge,
        ridge_quality,
        Agreement("cost", "lower", 1e-8),
    ),
    Case(
        "kernel_pca",
        "kernel PCA, 4 000 x 20, Gaussian kernel, 20 components",
        make_components,
        components,
        components_quality,
        Agreement("eigenvalues", "higher", 1e-6),
    ),
)
