"""Density clustering: the partition is defined, so everybody must find the same one.

Quality is the adjusted Rand index against the blobs that the rows were drawn from; noise is a class of its own.
scikit-learn's classes cannot label new rows: there the labels of the fit stand in, and prediction times mean nothing.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, fit_estimator, scaled


def make(scale: float, rows: int, columns: int, blobs: int) -> dict[str, np.ndarray]:
    """Blobs, and a tenth of the rows anywhere."""
    random = np.random.default_rng(0)
    rows = scaled(rows, scale, at_least=2_000)
    means = random.uniform(-10, 10, size=(blobs, columns))
    truth = random.integers(blobs, size=rows)
    X = means[truth] + random.normal(scale=0.7, size=(rows, columns))
    noise = random.random(rows) < 0.1
    X[noise] = random.uniform(-12, 12, size=(int(noise.sum()), columns))
    return {"X": X, "X_test": X[:1000], "truth": np.where(noise, -1, truth)}


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Agreement with the blobs, clusters, and noise."""
    from sklearn.metrics import adjusted_rand_score

    labels = solution["labels"]
    rand = adjusted_rand_score(data["truth"], labels)
    return {"rand": float(rand), "clusters": float(labels.max() + 1), "noise": float(np.sum(labels < 0))}


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"labels": model.labels_}


def predict(model: Any, rows: np.ndarray) -> np.ndarray:
    return model.predict(rows) if hasattr(model, "predict") else model.labels_[: len(rows)]


def fit(tool: Any, data: Data, threads: int, parameters: dict[str, Any]) -> Any:
    rows = {"X": data["X"]}
    return fit_estimator(tool, rows, threads, parameters | {"n_jobs": threads})


def contest(name: str, peers: tuple[str, ...], **parameters: Any) -> tuple[Contestant, ...]:
    return tuple(
        Contestant(peer, f"{peer}.cluster.{name}", partial(fit, parameters=parameters), solution, predict)
        for peer in ("mercer", *peers)
    )


CASES = (
    Case(
        "dbscan",
        "DBSCAN, 200 000 x 3, 20 blobs and 10 % noise, eps=0.4, min_samples=10",
        partial(make, rows=200_000, columns=3, blobs=20),
        contest("DBSCAN", ("sklearn", "sklearnex"), eps=0.4, min_samples=10),
        quality,
        Agreement("rand", "higher", 1e-9),
    ),
    Case(
        "hdbscan",
        "HDBSCAN, 100 000 x 20, 50 blobs and 10 % noise, min_cluster_size=25, min_samples=5",
        partial(make, rows=100_000, columns=20, blobs=50),
        contest("HDBSCAN", ("sklearn",), min_cluster_size=25, min_samples=5, copy=True),
        quality,
        # Rows between clusters may fall to either where distances tie.
        Agreement("rand", "higher", 1e-3),
    ),
)
