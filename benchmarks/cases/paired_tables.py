"""Canonical correlations and partial least squares; correlations and errors are recomputed from the rows."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split


def make(scale: float, rows: int, columns: int, targets: int, at_least: int = 500) -> dict[str, np.ndarray]:
    """Two tables that share five hidden numbers, each under unit noise."""
    random = np.random.default_rng(0)
    test_rows = max(50, min(1000, rows // 10))
    count = scaled(rows, scale, at_least) + test_rows
    hidden = random.normal(size=(count, 5))
    X = hidden @ random.normal(size=(5, columns)) + random.normal(size=(count, columns))
    y = hidden @ random.normal(size=(5, targets)) + random.normal(size=(count, targets))
    return split(X, test_rows, y)


def solution(model: Any) -> dict[str, np.ndarray]:
    names = ("x_rotations_", "y_rotations_")
    return {name: np.asarray(getattr(model, name)) for name in names} | {"coef": np.asarray(model.coef_)}


def correlations(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean correlation of the scores on the rows of the fit."""
    X, Y = ((table - table.mean(axis=0)) / table.std(axis=0, ddof=1) for table in (data["X"], data["y"]))
    t, u = X @ solution["x_rotations_"], Y @ solution["y_rotations_"]
    shared = np.sum(t * u, axis=0) / np.sqrt(np.sum(t * t, axis=0) * np.sum(u * u, axis=0))
    return {"correlation": float(np.mean(shared))}


def errors(solution: Data, data: Data) -> dict[str, float]:
    """Return R^2 on the test rows."""
    predicted = (data["X_test"] - data["X"].mean(axis=0)) @ solution["coef"].T + data["y"].mean(axis=0)
    left = np.sum((data["y_test"] - predicted) ** 2)
    return {"r2": 1.0 - float(left / np.sum((data["y_test"] - data["y"].mean(axis=0)) ** 2))}


def contestants(name: str, n_components: int, **options: Any) -> tuple:
    names = {library: f"{library}.cross_decomposition.{name}" for library in ("mercer", "sklearn")}
    return estimators(names, solution, verb="transform", n_components=n_components, **options)


CASES = (
    Case(
        "cca",
        "canonical correlations, 100 000 x 60 and 20, 5 pairs",
        partial(make, rows=100_000, columns=60, targets=20),
        contestants("CCA", 5),
        correlations,
        Agreement("correlation", "higher", 1e-3),
    ),
    Case(
        "pls_regression",
        "partial least squares, 100 000 x 200 and 5, 10 components",
        partial(make, rows=100_000, columns=200, targets=5),
        contestants("PLSRegression", 10),
        errors,
        Agreement("r2", "higher", 1e-6),
    ),
    Case(
        "pls_wide",
        "partial least squares, 500 x 20 000 and 1, 5 components",
        partial(make, rows=500, columns=20_000, targets=1),
        contestants("PLSRegression", 5),
        errors,
        Agreement("r2", "higher", 1e-6),
    ),
    Case(
        "small_fit_cca",
        "canonical correlations, 150 x 4 and 3, 2 pairs",
        partial(make, rows=150, columns=4, targets=3, at_least=150),
        contestants("CCA", 2),
        correlations,
        Agreement("correlation", "higher", 1e-2),
    ),
    Case(
        "small_fit_pls",
        "partial least squares, 150 x 10 and 1, 3 components",
        partial(make, rows=150, columns=10, targets=1, at_least=150),
        contestants("PLSRegression", 3),
        errors,
        Agreement("r2", "higher", 1e-6),
    ),
)
