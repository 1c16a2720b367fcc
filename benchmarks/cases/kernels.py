"""Kernel machines: the closed form of kernel ridge, features of a kernel with ridge, and top kernel components."""

from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split


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


def fit_by_hand(tool: Any, data: Data, threads: int) -> Any:
    """What a user of SciPy writes: kernels from one product, and LAPACK's factor in their place, on all threads."""
    from scipy.linalg import cho_solve

    X = data["X"]
    squares = (X**2).sum(axis=1)
    K = X @ X.T
    K *= -2.0
    K += squares[:, None]
    K += squares
    np.maximum(K, 0.0, out=K)
    K *= -0.05
    np.exp(K, out=K)
    K[np.diag_indices_from(K)] += 0.1
    # Fortran's order, so that LAPACK factors the matrix where it is.
    factor = tool(K.T, lower=True, overwrite_a=True, check_finite=False)
    return X, squares, cho_solve(factor, data["y"], check_finite=False)


def predict_by_hand(model: Any, rows: np.ndarray) -> Any:
    X, squares, dual = model
    gaps = np.maximum((rows**2).sum(axis=1)[:, None] + squares - 2.0 * rows @ X.T, 0.0)
    return np.exp(-0.05 * gaps) @ dual


def dual_by_hand(model: Any) -> dict[str, np.ndarray]:
    return {"dual": model[2]}


def make_components(scale: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    test_rows = scaled(1_000, scale)
    return split(random.normal(size=(scaled(4_000, scale) + test_rows, 20)), test_rows)


def components_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the sum of the eigenvalues found."""
    return {"eigenvalues": float(solution["eigenvalues"].sum())}


_GAMMA, _FEATURES = 0.05, 1_000


def make_features(scale: float) -> dict[str, np.ndarray]:
    """Friedman's first function of twenty columns."""
    test_rows = scaled(10_000, scale)
    X, y = make_friedman1(scaled(100_000, scale) + test_rows, 20, noise=1.0, random_state=0)
    return split(X, test_rows, y)


def fit_features(tool: Any, data: Data, threads: int) -> Any:
    """Features of the library that `tool` is of, and its own ridge regression on them."""
    from importlib import import_module

    ridge = import_module(f"{tool.__module__.partition('.')[0]}.linear_model").Ridge(alpha=1.0)
    features = tool(gamma=_GAMMA, n_components=_FEATURES, random_state=0)
    if "n_jobs" in features.get_params():
        features.set_params(n_jobs=threads)
    return features, ridge.fit(features.fit_transform(data["X"]), data["y"])


def features_solution(model: Any) -> dict[str, np.ndarray]:
    features, ridge = model
    names = ("random_weights_", "random_offset_", "components_", "normalization_")
    found = {name: getattr(features, name) for name in names if hasattr(features, name)}
    return found | {"coef": ridge.coef_, "intercept": np.asarray(ridge.intercept_)}


def features_predict(model: Any, rows: np.ndarray) -> Any:
    return model[1].predict(model[0].transform(rows))


def features_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the coefficient of determination on the test rows, with features computed here."""
    X, y = data["X_test"], data["y_test"]
    if "random_weights_" in solution:
        turns = X @ solution["random_weights_"] + solution["random_offset_"]
        Z = np.sqrt(2.0 / turns.shape[1]) * np.cos(turns)
    else:
        centres = solution["components_"]
        gaps = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * X @ centres.T
        Z = np.exp(-_GAMMA * np.maximum(gaps, 0.0)) @ solution["normalization_"].T
    error = y - Z @ solution["coef"] - solution["intercept"]
    return {"r2": float(1.0 - (error @ error) / np.sum((y - y.mean()) ** 2))}


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
features = tuple(
    Contestant(name, path, fit_features, features_solution, features_predict)
    for name, path in {
        "mercer": "mercer.kernel_approximation.RBFSampler",
        "mercer_nystroem": "mercer.kernel_approximation.Nystroem",
        "sklearn": "sklearn.kernel_approximation.RBFSampler",
        "sklearn_nystroem": "sklearn.kernel_approximation.Nystroem",
    }.items()
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
        (*ridge, Contestant("scipy", "scipy.linalg.cho_factor", fit_by_hand, dual_by_hand, predict_by_hand)),
        ridge_quality,
        Agreement("cost", "lower", 1e-8),
    ),
    Case(
        "random_features",
        "1 000 features of the Gaussian kernel, random or Nystrom's, with ridge, 100 000 x 20",
        make_features,
        features,
        features_quality,
        # Features are drawn: other draws are a little better or worse.
        Agreement("r2", "higher", 5e-2),
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
