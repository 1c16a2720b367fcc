"""Logistic regression; the penalised loss is recomputed here in float64 from coefficients and intercepts."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split
from benchmarks.cases.least_squares import linear_solution


def make(scale: float, rows: int, columns: int, classes: int = 2, unscaled: bool = False) -> dict[str, np.ndarray]:
    """Draw labels from a softmax model of mildly correlated columns; ``unscaled`` stretches columns by 0.01 to 100."""
    random = np.random.default_rng(0)
    test_rows = scaled(10_000, scale)
    rows = scaled(rows, scale) + test_rows
    X = random.normal(size=(rows, columns))
    X[:, 1:] += 0.5 * X[:, :-1]
    weights = random.normal(size=(columns, classes)) * (0.9 if classes == 2 else 2.0) / np.sqrt(columns)
    y = np.argmax(X @ weights + random.gumbel(size=(rows, classes)), axis=1)
    if unscaled:
        X *= np.logspace(-2.0, 2.0, columns)
    return split(X, test_rows, y)


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean loss plus |w|^2 / (2 n), which is scikit-learn's objective at C=1, and the test accuracy."""
    coefficients, intercept = solution["coefficients"].astype(np.float64), solution["intercept"].astype(np.float64)
    scores = decide(coefficients, intercept, data["X"])
    rows = np.arange(len(scores))
    loss = float(np.mean(logsumexp(scores, axis=1) - scores[rows, data["y"]]))
    penalty = float(np.sum(coefficients**2)) / (2 * len(rows))
    hits = np.argmax(decide(coefficients, intercept, data["X_test"]), axis=1) == data["y_test"]
    return {"objective": loss + penalty, "accuracy": float(np.mean(hits)), "iterations": float(solution["iterations"])}


def decide(coefficients: np.ndarray, intercept: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return one score per class; the binary model's single score belongs to its second class."""
    scores = X @ coefficients.T + intercept
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def solution(model: Any) -> dict[str, np.ndarray]:
    return linear_solution(model) | {"iterations": np.max(model.n_iter_)}


default = estimators(
    {
        "mercer": "mercer.linear_model.LogisticRegression",
        "sklearn_lbfgs": "sklearn.linear_model.LogisticRegression",
        "sklearnex_lbfgs": "sklearnex.linear_model.LogisticRegression",
    },
    solution,
    max_iter=1000,
)
newton = estimators(
    {
        "mercer_newton": "mercer.linear_model.LogisticRegression",
        "sklearn_newton": "sklearn.linear_model.LogisticRegression",
    },
    solution,
    max_iter=1000,
    solver="newton-cholesky",
)

CASES = (
    Case(
        "logistic_binary",
        "L2 logistic regression, 200 000 x 100, two classes, C=1",
        partial(make, rows=200_000, columns=100),
        default + newton,
        quality,
        Agreement("objective", "lower", 2e-5),
    ),
    Case(
        "logistic_unscaled",
        "L2 logistic regression, 100 000 x 50, columns scaled from 0.01 to 100, C=1",
        partial(make, rows=100_000, columns=50, unscaled=True),
        default + newton,
        quality,
        Agreement("objective", "lower", 2e-5),
    ),
    Case(
        "softmax_multiclass",
        "L2 softmax regression, 100 000 x 64, ten classes, C=1",
        partial(make, rows=100_000, columns=64, classes=10),
        default + newton,
        quality,
        Agreement("objective", "lower", 2e-5),
    ),
)
