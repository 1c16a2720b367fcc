"""Nearest neighbours of every row, exactly: in many columns, in few, and of a small table."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

# Neighbours of each row.
_K = 10
# Rows whose neighbours are computed here from all distances, for the judgement.
_JUDGED = 200


def make(scale: float, n: int, d: int) -> dict[str, np.ndarray]:
    """Standard normal rows."""
    rows = np.random.default_rng(0).normal(size=(scaled(n, scale), d))
    return {"X": rows, "X_test": rows[:1000]}


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean distance of the k-th neighbours, and the share of neighbours that are true ones."""
    rows, indices = data["X"], solution["indices"]
    distances = np.sqrt(np.sum((rows[indices[:, -1]] - rows) ** 2, axis=1))
    hits = 0
    for row in range(min(_JUDGED, len(rows))):
        exact = np.argsort(np.sum((rows - rows[row]) ** 2, axis=1), kind="stable")[:_K]
        hits += len(np.intersect1d(exact, indices[row]))
    return {"mean_distance": float(distances.mean()), "recall": hits / (_K * min(_JUDGED, len(rows)))}


def find(tool: Any, data: Data, threads: int, **parameters: Any) -> tuple[Any, np.ndarray]:
    """Fit to the rows and find the neighbours of each, itself counted."""
    model = tool(n_neighbors=_K, n_jobs=threads, **parameters).fit(data["X"])
    return model, model.kneighbors(data["X"], return_distance=True)[1]


def find_by_faiss(tool: Any, data: Data, threads: int) -> tuple[Any, np.ndarray]:
    """The same by faiss, which compares rows in float32."""
    import faiss

    faiss.omp_set_num_threads(threads)
    rows = data["X"].astype(np.float32)
    index = tool(rows.shape[1])
    index.add(rows)
    return index, index.search(rows, _K)[1]


def contestant(name: str, path: str, **parameters: Any) -> Contestant:
    """A contestant with scikit-learn's interface."""
    return Contestant(
        name,
        path,
        partial(find, **parameters),
        lambda found: {"indices": found[1]},
        lambda found, rows: found[0].kneighbors(rows, return_distance=False),
    )


_MERCER = contestant("mercer", "mercer.neighbors.NearestNeighbors")
_BRUTE = (
    contestant("sklearn_brute", "sklearn.neighbors.NearestNeighbors", algorithm="brute"),
    contestant("onedal_brute", "sklearnex.neighbors.NearestNeighbors", algorithm="brute"),
    Contestant(
        "faiss",
        "faiss.IndexFlatL2",
        find_by_faiss,
        lambda found: {"indices": found[1]},
        lambda found, rows: found[0].search(rows.astype(np.float32), _K)[1],
    ),
)
_TREES = (
    contestant("sklearn_kd_tree", "sklearn.neighbors.NearestNeighbors", algorithm="kd_tree"),
    contestant("onedal_kd_tree", "sklearnex.neighbors.NearestNeighbors", algorithm="kd_tree"),
)


def _case(name: str, text: str, n: int, d: int, peers: tuple[Contestant, ...]) -> Case:
    data = partial(make, n=n, d=d)
    return Case(name, text, data, (_MERCER, *peers), quality, Agreement("mean_distance", "lower", 1e-5))


CASES = (
    # In 30 columns a k-d tree visits nearly all rows of each query: it takes minutes, and has no chance.
    _case("nearest_neighbors", "10 nearest neighbours of each of 100 000 rows of 30", 100_000, 30, _BRUTE),
    # In 3 columns all pairs have no chance; faiss-flat stays as the fastest of them.
    _case(
        "nearest_neighbors_plane",
        "10 nearest neighbours of each of 100 000 rows of 3",
        100_000,
        3,
        (*_TREES, _BRUTE[-1]),
    ),
    _case("nearest_neighbors_small", "10 nearest neighbours of each of 150 rows of 8", 150, 8, (*_BRUTE, *_TREES)),
)
