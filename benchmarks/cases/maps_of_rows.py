"""Multidimensional scaling, Isomap, locally linear and spectral embeddings of an S-curve; neighbours are counted."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_s_curve

from benchmarks.case import Agreement, Case, Contestant, Data, fit_estimator, scaled, split

# Neighbours that are compared, and rows for which they are.
NEAR, SAMPLE = 10, 300


def make(scale: float, rows: int, columns: int = 10, at_least: int = 300) -> dict[str, np.ndarray]:
    """An S-curve in the first three of some columns, with a little noise in all."""
    random = np.random.default_rng(0)
    count = scaled(rows, scale, at_least) + 50
    X = 0.02 * random.normal(size=(count, columns))
    X[:, :3] += make_s_curve(count, random_state=0)[0]
    return split(X, 50)


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the share of the nearest rows that are among the nearest points, for some rows."""
    X, Y = data["X"], solution["points"]
    chosen = np.random.default_rng(1).permutation(len(X))[:SAMPLE]
    kept = 0
    for row in chosen:
        near, beside = (np.argsort(np.sum((table - table[row]) ** 2, axis=1))[1 : NEAR + 1] for table in (X, Y))
        kept += len(np.intersect1d(near, beside))
    return {"recall": kept / (NEAR * len(chosen))}


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"points": np.asarray(model.embedding_)}


def place(model: Any, rows: np.ndarray) -> np.ndarray:
    """Return places of new rows; of scikit-learn's maps without a method for it, the last points."""
    return model.transform(rows) if hasattr(model, "transform") else model.embedding_[-len(rows) :]


def contestants(name: str, **options: Any) -> tuple[Contestant, ...]:
    fit = partial(fit_estimator, parameters=options)
    return tuple(
        Contestant(library, f"{library}.manifold.{name}", fit, solution, place) for library in ("mercer", "sklearn")
    )


def case(name: str, title: str, rows: int, family: str, tolerance: float = 0.05, **options: Any) -> Case:
    least = min(rows, 300)
    return Case(
        name,
        f"{title}, {rows} x 10",
        partial(make, rows=rows, at_least=least),
        contestants(family, **options),
        quality,
        Agreement("recall", "higher", tolerance),
    )


random_start = {"init": "random", "n_init": 1, "random_state": 0, "max_iter": 100}
CASES = (
    case("mds", "multidimensional scaling, 100 steps at most", 3_000, "MDS", 0.2, **random_start),
    case("mds_nonmetric", "non-metric scaling", 1_000, "MDS", 0.2, metric_mds=False, **random_start),
    case("isomap", "Isomap, 10 neighbours", 5_000, "Isomap", n_neighbors=10),
    case("lle", "locally linear embedding, 12 neighbours", 10_000, "LocallyLinearEmbedding", n_neighbors=12),
    case("ltsa", "tangent-space alignment", 5_000, "LocallyLinearEmbedding", n_neighbors=12, method="ltsa"),
    case("spectral_embedding", "spectral embedding, 15 neighbours", 10_000, "SpectralEmbedding", n_neighbors=15),
    case("small_fit_mds", "multidimensional scaling", 150, "MDS", 0.2, **random_start),
    case("small_fit_isomap", "Isomap", 150, "Isomap", n_neighbors=10),
    case("small_fit_lle", "locally linear embedding", 150, "LocallyLinearEmbedding", n_neighbors=10),
    case("small_fit_spectral", "spectral embedding", 150, "SpectralEmbedding", n_neighbors=10),
)
