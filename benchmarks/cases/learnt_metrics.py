"""Neighbourhood components of handwritten digits: the expected accuracy of a random neighbour, after 50 steps."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits

from benchmarks.case import Agreement, Case, Contestant, Data, fit_estimator, scaled

# Directions that are learnt.
_COMPONENTS = 8


def make(scale: float, rows: int) -> dict[str, np.ndarray]:
    """Digits in 64 columns, scaled to at most one."""
    X, y = load_digits(return_X_y=True)
    count = scaled(rows, scale, 300)
    return {"X": X[:count] / 16.0, "y": y[:count], "X_test": X[-100:] / 16.0, "y_test": y[-100:]}


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the share of rows that pick a row of their class, all pairs written out."""
    Z, y = data["X"] @ solution["components"].T, data["y"]
    D = np.sum(Z * Z, axis=1)[:, None] + np.sum(Z * Z, axis=1) - 2.0 * Z @ Z.T
    np.fill_diagonal(D, np.inf)
    return {"accuracy": float(np.mean(np.sum(softmax(-D, axis=1) * (y[:, None] == y), axis=1)))}


def contestant(library: str) -> Contestant:
    parameters: dict[str, Any] = {"n_components": _COMPONENTS, "init": "pca", "max_iter": 50, "tol": 1e-6}
    return Contestant(
        library,
        f"{library}.neighbors.NeighborhoodComponentsAnalysis",
        partial(fit_estimator, parameters=parameters),
        lambda model: {"components": np.asarray(model.components_)},
        lambda model, rows: model.transform(rows),
    )


CASES = (
    Case(
        "neighborhood_components",
        f"neighbourhood components, digits, 1600 x 64 to {_COMPONENTS}",
        partial(make, rows=1600),
        (contestant("mercer"), contestant("sklearn")),
        quality,
        Agreement("accuracy", "higher", 0.05),
    ),
)
