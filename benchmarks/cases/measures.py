"""The silhouettes of all rows of a clustering."""

from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled, split

ROWS, COLUMNS, CLUSTERS = 20_000, 20, 10


def make(scale: float) -> dict[str, np.ndarray]:
    """Overlapping blobs with the labels they were drawn from."""
    random = np.random.default_rng(0)
    rows = scaled(ROWS, scale, at_least=2_000)
    labels = random.integers(CLUSTERS, size=rows + 500)
    X = random.normal(scale=1.5, size=(CLUSTERS, COLUMNS))[labels] + random.normal(size=(rows + 500, COLUMNS))
    return split(X, 500) | {"labels": labels[:rows]}


def fit(tool: Any, data: Data, threads: int) -> Any:
    return tool(data["X"], data["labels"], n_jobs=threads)


def fit_serially(tool: Any, data: Data, threads: int) -> Any:
    return tool(data["X"], data["labels"])


def solution(silhouettes: Any) -> dict[str, np.ndarray]:
    return {"silhouettes": silhouettes}


def predict(silhouettes: Any, rows: np.ndarray) -> np.ndarray:
    """A measure predicts nothing; the field must be filled."""
    return np.zeros(len(rows))


def quality(answer: Data, data: Data) -> dict[str, float]:
    """The mean silhouette."""
    return {"silhouette": float(np.mean(answer["silhouettes"]))}


CASES = (
    Case(
        "silhouette",
        "silhouettes of 20 000 x 20 rows in 10 clusters",
        make,
        (
            Contestant("mercer", "mercer.metrics.silhouette_samples", fit, solution, predict),
            Contestant("sklearn", "sklearn.metrics.silhouette_samples", fit_serially, solution, predict),
            Contestant("sklearn_jobs", "sklearn.metrics.silhouette_samples", fit, solution, predict),
        ),
        quality,
        Agreement("silhouette", "higher", 1e-9),
    ),
)
