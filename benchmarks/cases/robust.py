"""Robust regression, Huber's and of quantiles; the objectives are recomputed here in float64 from the models."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split
from benchmarks.cases.least_squares import linear_solution


def make(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Correlated columns of unequal means, a linear response, heavy-tailed noise, and one row in twenty far off."""
    random = np.random.default_rng(0)
    test_rows = scaled(10_000, scale)
    rows = scaled(rows, scale) + test_rows
    X = random.normal(size=(rows, columns)) + random.normal(size=columns)
    X[:, 1:] += 0.5 * X[:, :-1]
    y = X @ random.normal(size=columns) + 2.0 + random.standard_t(3, size=rows)
    y[::20] += 50.0
    return split(X, test_rows, y)


def huber_quality(solution: Data, data: Data, epsilon: float, alpha: float) -> dict[str, float]:
    """Return Huber's objective with its scale, over n."""
    coefficients, scale = solution["coefficients"].ravel(), float(solution["scale"])
    ratio = np.abs(data["y"] - data["X"] @ coefficients - float(solution["intercept"].ravel()[0])) / scale
    loss = np.where(ratio <= epsilon, ratio**2, 2 * epsilon * ratio - epsilon**2)
    return {"objective": float(np.sum(scale * (1 + loss)) + alpha * coefficients @ coefficients) / len(ratio)}


def quantile_quality(solution: Data, data: Data, quantile: float, alpha: float) -> dict[str, float]:
    """Return the mean pinball loss plus alpha |w|_1."""
    coefficients = solution["coefficients"].ravel()
    residual = data["y"] - data["X"] @ coefficients - float(solution["intercept"].ravel()[0])
    loss = np.mean(np.maximum(quantile * residual, (quantile - 1) * residual))
    return {"objective": float(loss + alpha * np.abs(coefficients).sum())}


def huber_solution(model: Any) -> dict[str, np.ndarray]:
    return linear_solution(model) | {"scale": np.asarray(model.scale_)}


huber = estimators(
    {"mercer": "mercer.linear_model.HuberRegressor", "sklearn": "sklearn.linear_model.HuberRegressor"},
    huber_solution,
    max_iter=1000,
)
quantile = estimators(
    {"mercer": "mercer.linear_model.QuantileRegressor", "sklearn": "sklearn.linear_model.QuantileRegressor"},
    linear_solution,
    quantile=0.8,
    alpha=0.01,
)

CASES = (
    Case(
        "huber",
        "Huber regression with its scale, 100 000 x 50, one row in twenty an outlier",
        partial(make, rows=100_000, columns=50),
        huber,
        partial(huber_quality, epsilon=1.35, alpha=1e-4),
        Agreement("objective", "lower", 1e-6),
    ),
    Case(
        "quantile",
        "quantile regression, 100 000 x 50, quantile 0.8, l1 penalty 0.01",
        partial(make, rows=100_000, columns=50),
        quantile,
        partial(quantile_quality, quantile=0.8, alpha=0.01),
        Agreement("objective", "lower", 1e-7),
    ),
    Case(
        "quantile_small",
        "quantile regression, 5 000 x 20, quantile 0.8, l1 penalty 0.01",
        partial(make, rows=5_000, columns=20),
        quantile,
        partial(quantile_quality, quantile=0.8, alpha=0.01),
        Agreement("objective", "lower", 1e-7),
    ),
)
