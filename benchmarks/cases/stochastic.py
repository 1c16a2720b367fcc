"""Stochastic gradients at equal epochs; losses and accuracies are recomputed here from coefficients and intercepts."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split
from benchmarks.cases.least_squares import linear_solution


def make(scale: float, rows: int, columns: int, noise: float) -> dict[str, np.ndarray]:
    """Draw two classes that a plane separates up to `noise`, in standard deviations of the score."""
    random = np.random.default_rng(0)
    test_rows = scaled(10_000, scale)
    rows = scaled(rows, scale) + test_rows
    X = random.normal(size=(rows, columns))
    scores = X @ random.normal(size=columns) / np.sqrt(columns)
    return split(X, test_rows, (scores + noise * random.normal(size=rows) > 0).astype(np.int64))


def quality(solution: Data, data: Data, corner: float, alpha: float) -> dict[str, float]:
    """Return the mean of max(0, corner - t z) plus alpha |w|^2 / 2, the training error and the test accuracy."""
    w, b = solution["coefficients"].astype(np.float64)[0], float(np.ravel(solution["intercept"])[0])
    t = 2.0 * data["y"] - 1.0
    z = data["X"] @ w + b
    loss = float(np.mean(np.maximum(0.0, corner - t * z))) + 0.5 * alpha * float(w @ w)
    hits = (data["X_test"] @ w + b > 0) == (data["y_test"] > 0)
    return {"objective": loss, "error": 1.0 - float(np.mean((z > 0) == (t > 0))), "accuracy": float(np.mean(hits))}


def contestants(name: str, **parameters: Any) -> tuple[Any, ...]:
    paths = {"mercer": f"mercer.linear_model.{name}", "sklearn": f"sklearn.linear_model.{name}"}
    return estimators(paths, linear_solution, tol=None, random_state=0, **parameters)


CASES = (
    Case(
        "sgd_epoch",
        "Hinge loss by stochastic gradients, one epoch, 1 000 000 x 100, averaged, alpha=1e-4",
        partial(make, rows=1_000_000, columns=100, noise=0.3),
        contestants("SGDClassifier", max_iter=1, average=True),
        partial(quality, corner=1.0, alpha=1e-4),
        Agreement("error", "lower", 0.05),
    ),
    Case(
        "perceptron",
        "Perceptron, ten epochs, 500 000 x 50",
        partial(make, rows=500_000, columns=50, noise=0.3),
        contestants("Perceptron", max_iter=10),
        partial(quality, corner=0.0, alpha=0.0),
        # The last step decides; two orders of the rows differ by some points.
        Agreement("error", "lower", 0.5),
    ),
)
