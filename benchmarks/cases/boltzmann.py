"""Restricted Boltzmann machines at equal passes; the log pseudo-likelihood is recomputed here from the weights."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_expit

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split

# Columns of each row whose conditional probability is computed for the quality.
_JUDGED = 20


def make(scale: float, rows: int, columns: int, dtype: str) -> dict[str, np.ndarray]:
    """Draw bits that are signs of sums of 30 hidden numbers."""
    random = np.random.default_rng(0)
    test_rows = 100
    n = max(scaled(rows, scale), 20) + test_rows
    X = random.normal(size=(n, 30)) @ random.normal(size=(30, columns)) > 0
    return split(X.astype(dtype), test_rows)


def machine_solution(model: Any) -> dict[str, np.ndarray]:
    return {
        "weights": np.asarray(model.components_, dtype=np.float64),
        "hidden": np.asarray(model.intercept_hidden_, dtype=np.float64),
        "visible": np.asarray(model.intercept_visible_, dtype=np.float64),
    }


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean of -log P(v_j | other units) over some columns j of the first rows."""
    X = data["X"][:500].astype(np.float64)

    def measure_energy(rows: np.ndarray) -> np.ndarray:
        scores = rows @ solution["weights"].T + solution["hidden"]
        return -(rows @ solution["visible"]) - np.logaddexp(0.0, scores).sum(axis=1)

    here, total = measure_energy(X), 0.0
    columns = np.random.default_rng(1).choice(X.shape[1], min(_JUDGED, X.shape[1]), replace=False)
    for column in columns:
        turned = X.copy()
        turned[:, column] = 1.0 - turned[:, column]
        total -= float(log_expit(measure_energy(turned) - here).mean())
    return {"objective": total / len(columns)}


def contestants(**parameters: Any) -> tuple[Any, ...]:
    paths = {"mercer": "mercer.neural_network.BernoulliRBM", "sklearn": "sklearn.neural_network.BernoulliRBM"}
    return estimators(paths, machine_solution, "transform", random_state=0, **parameters)


CASES = (
    Case(
        "rbm",
        "Restricted Boltzmann machine, 10 000 x 784, 256 hidden units, batches of 10, two passes, float32",
        partial(make, rows=10_000, columns=784, dtype="float32"),
        contestants(n_components=256, n_iter=2),
        quality,
        Agreement("objective", "lower", 0.03),
    ),
    Case(
        "small_rbm",
        "Restricted Boltzmann machine, 150 x 8, 8 hidden units, ten passes",
        partial(make, rows=150, columns=8, dtype="float64"),
        contestants(n_components=8, n_iter=10),
        quality,
        Agreement("objective", "lower", 0.05),
    ),
)
