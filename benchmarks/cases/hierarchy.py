"""Hierarchies and medoids: the whole tree, judged by the sum of its heights; medoids from one start, by their total."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

ROWS, COLUMNS, MEDOIDS = 10_000, 10, 50


def make(scale: float) -> dict[str, np.ndarray]:
    """Overlapping blobs."""
    random = np.random.default_rng(0)
    rows = scaled(ROWS, scale)
    means = random.normal(scale=1.5, size=(30, COLUMNS))
    X = means[random.integers(30, size=rows)] + random.normal(size=(rows, COLUMNS))
    return {"X": X, "X_test": X[:100]}


def make_distances(scale: float) -> dict[str, np.ndarray]:
    """The distances of the same rows, in float32, and first medoids."""
    from scipy.spatial.distance import cdist

    X = make(scale)["X"]
    D = cdist(X, X).astype(np.float32)
    return {"X": D, "X_test": D[:100], "start": np.random.default_rng(1).choice(len(X), MEDOIDS, replace=False)}


def quality(solution: Data, data: Data) -> dict[str, float]:
    return {"heights": float(np.sum(solution["tree"][:, 2]))}


def tree(model: np.ndarray) -> dict[str, np.ndarray]:
    return {"tree": model}


def nothing(model: Any, rows: np.ndarray) -> np.ndarray:
    """A tree says nothing of new rows."""
    return rows[:, 0]


def fit_mercer(tool: Any, data: Data, threads: int, method: str) -> np.ndarray:
    return tool(data["X"], method, n_jobs=threads)


def fit_tree(tool: Any, data: Data, threads: int, method: str) -> np.ndarray:
    return tool(data["X"], method)


def fit_sklearn(tool: Any, data: Data, threads: int, method: str) -> np.ndarray:
    model = tool(n_clusters=2, linkage=method, compute_distances=True).fit(data["X"])
    return np.column_stack([model.children_, model.distances_, model.distances_])


def contestants(method: str, vector: bool) -> tuple[Contestant, ...]:
    """Everybody who builds the tree of that linkage."""
    found = [
        Contestant("mercer", "mercer.cluster.linkage", partial(fit_mercer, method=method), tree, nothing),
        Contestant("scipy", "scipy.cluster.hierarchy.linkage", partial(fit_tree, method=method), tree, nothing),
        Contestant(
            "sklearn",
            "sklearn.cluster.AgglomerativeClustering",
            partial(fit_sklearn, method=method),
            tree,
            nothing,
        ),
        Contestant("fastcluster", "fastcluster.linkage", partial(fit_tree, method=method), tree, nothing),
    ]
    if vector:
        path = "fastcluster.linkage_vector"
        found.append(Contestant("fastcluster_vector", path, partial(fit_tree, method=method), tree, nothing))
    return tuple(found)


def total(solution: Data, data: Data) -> dict[str, float]:
    return {"deviation": float(data["X"][solution["medoids"]].astype(np.float64).min(axis=0).sum())}


def fit_medoids(tool: Any, data: Data, threads: int) -> Any:
    return tool(MEDOIDS, metric="precomputed", init=data["start"], n_jobs=threads).fit(data["X"])


def fit_fasterpam(tool: Any, data: Data, threads: int) -> Any:
    return tool(data["X"], data["start"].astype(np.uint64), init="first", n_cpu=threads)


def nearest(model: Any, rows: np.ndarray) -> np.ndarray:
    return rows[:, np.asarray(model.medoids, dtype=np.intp)].argmin(axis=1)


medoids = (
    Contestant(
        "mercer",
        "mercer.cluster.KMedoids",
        fit_medoids,
        lambda model: {"medoids": model.medoid_indices_},
        lambda model, rows: model.predict(rows),
    ),
    Contestant(
        "kmedoids",
        "kmedoids.fasterpam",
        fit_fasterpam,
        lambda model: {"medoids": np.asarray(model.medoids, dtype=np.intp)},
        nearest,
    ),
)

CASES = (
    *(
        Case(
            f"hierarchy_{method}",
            f"{method} linkage, 10 000 x 10, the whole tree",
            make,
            contestants(method, method in ("single", "ward")),
            quality,
            Agreement("heights", "lower", 1e-9),
        )
        for method in ("ward", "single", "average")
    ),
    Case(
        "kmedoids",
        "k-medoids by eager swaps, 10 000 rows, distances given in float32, k=50, one given start",
        make_distances,
        medoids,
        total,
        # Eager swaps end in a local optimum that depends on the order of candidates: up to 0.3 % either way.
        Agreement("deviation", "lower", 5e-3),
    ),
)
