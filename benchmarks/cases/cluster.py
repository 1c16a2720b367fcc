"""k-means: everybody starts from the same given centres and does thirty Lloyd iterations.

The inertia is recomputed here in float64 from the final centres.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split

ITERATIONS = 30
ROWS, COLUMNS, CLUSTERS = 200_000, 32, 100


def make(scale: float, dtype: str) -> dict[str, np.ndarray]:
    """Overlapping blobs, more of them than clusters, so that thirty iterations do not reach the fixed point."""
    random = np.random.default_rng(0)
    means = random.normal(scale=1.5, size=(2 * CLUSTERS, COLUMNS))
    test_rows = scaled(10_000, scale)
    rows = scaled(ROWS, scale, at_least=2_000) + test_rows
    X = means[random.integers(len(means), size=rows)] + random.normal(size=(rows, COLUMNS))
    start = X[random.choice(rows - test_rows, CLUSTERS, replace=False)]
    parts = split(X, test_rows) | {"start": start}
    return {name: np.ascontiguousarray(part, dtype=dtype) for name, part in parts.items()}


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Sum over the rows of the squared distance to the nearest centre, in float64 and block by block."""
    centres = solution["centres"].astype(np.float64)
    norms = np.einsum("ij,ij->i", centres, centres)
    inertia = 0.0
    for block in np.array_split(data["X"], max(1, len(data["X"]) // 10_000)):
        rows = block.astype(np.float64)
        nearest = np.argmin(norms - 2.0 * rows @ centres.T, axis=1)
        inertia += float(np.sum((rows - centres[nearest]) ** 2))
    return {"inertia": inertia, "iterations": float(solution["iterations"])}


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"centres": model.cluster_centers_, "iterations": np.array(getattr(model, "n_iter_", ITERATIONS))}


def fit_faiss(tool: Any, data: Data, threads: int) -> Any:
    import faiss

    faiss.omp_set_num_threads(threads)
    # faiss subsamples above max_points_per_centroid rows per cluster; here it must use them all.
    rows = len(data["X"])
    model = tool(COLUMNS, CLUSTERS, niter=ITERATIONS, max_points_per_centroid=rows, min_points_per_centroid=1)
    model.train(data["X"], init_centroids=data["start"])
    return model


def faiss_solution(model: Any) -> dict[str, np.ndarray]:
    return {"centres": model.centroids, "iterations": np.array(len(model.obj))}


def faiss_predict(model: Any, rows: np.ndarray) -> np.ndarray:
    return model.index.search(rows, 1)[1][:, 0]


def given_start(data: Data) -> np.ndarray:
    return data["start"]


lloyd = {"n_clusters": CLUSTERS, "init": given_start, "n_init": 1, "max_iter": ITERATIONS, "tol": 0.0}
full_batch = estimators(
    {"mercer": "mercer.cluster.KMeans", "sklearn": "sklearn.cluster.KMeans", "sklearnex": "sklearnex.cluster.KMeans"},
    solution,
    **lloyd,
)
elkan = estimators(
    {"mercer_elkan": "mercer.cluster.KMeans", "sklearn_elkan": "sklearn.cluster.KMeans"},
    solution,
    algorithm="elkan",
    **lloyd,
)
faiss_lloyd = Contestant("faiss", "faiss.Kmeans", fit_faiss, faiss_solution, faiss_predict)
# One epoch: 195 batches of 1024 rows drawn at random, with no early stop and no reassignment of small clusters.
mini_batch = estimators(
    {"mercer": "mercer.cluster.MiniBatchKMeans", "sklearn": "sklearn.cluster.MiniBatchKMeans"},
    solution,
    n_clusters=CLUSTERS,
    init=given_start,
    n_init=1,
    batch_size=1024,
    max_iter=1,
    max_no_improvement=None,
    tol=0.0,
    reassignment_ratio=0.0,
    random_state=0,
)

CASES = (
    Case(
        "kmeans_f32",
        "k-means, 200 000 x 32 float32, k=100, one given start, 30 Lloyd iterations",
        partial(make, dtype="float32"),
        (*full_batch, *elkan, faiss_lloyd),
        quality,
        Agreement("inertia", "lower", 1e-4),
    ),
    Case(
        "kmeans_f64",
        "k-means, 200 000 x 32 float64, k=100, one given start, 30 Lloyd iterations",
        partial(make, dtype="float64"),
        (*full_batch, *elkan),
        quality,
        Agreement("inertia", "lower", 1e-6),
    ),
    Case(
        "minibatch_kmeans",
        "mini-batch k-means, 200 000 x 32, k=100, one given start, one epoch of batches of 1024",
        partial(make, dtype="float64"),
        mini_batch,
        quality,
        # The batches are random: over six seeds scikit-learn's inertia spreads by 1.6 %.
        Agreement("inertia", "lower", 0.03),
    ),
)
