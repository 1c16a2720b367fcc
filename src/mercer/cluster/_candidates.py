"""Clustering candidates for a study of structure."""

from typing import Any

import numpy as np

from mercer._base.candidate import Candidate, Shape
from mercer.cluster._centres.k_means import KMeans
from mercer.cluster._density.hdbscan import HDBSCAN

# HDBSCAN may compute the distances between all rows: 2e8 pairs at this number of rows.
_MOST_ROWS = 20_000


def _k_means(shape: Shape) -> Any:
    return KMeans(2, n_init=5, random_state=shape.seed)


def _density(shape: Shape) -> Any:
    return HDBSCAN(copy=True)


def _sizes(shape: Shape) -> dict[str, list[int]]:
    """Return four least cluster sizes: a hundredth, fiftieth, twentieth and tenth of the rows, but at least 5 rows."""
    return {"min_cluster_size": sorted({max(5, shape.n_rows // share) for share in (100, 50, 20, 10)})}


def _too_many(shape: Shape) -> str:
    return f"takes at most {_MOST_ROWS} rows; this table has {shape.n_rows}" if shape.n_rows > _MOST_ROWS else ""


def _count(model: Any) -> tuple[float, str]:
    n_values = int(np.size(model.cluster_centers_))
    return float(n_values), f"{len(model.cluster_centers_)} centres"


CANDIDATES = (
    Candidate(
        "k-means",
        "clustering",
        ("clustering",),
        10,
        _k_means,
        {"n_clusters": [2, 3, 4, 5, 6, 7, 8]},
        ("scaled", "dense"),
        complexity=_count,
        text="Groups around centres; each row belongs to the nearest centre.",
    ),
    Candidate(
        "density clusters",
        "clustering",
        ("clustering",),
        40,
        _density,
        _sizes,
        ("scaled", "dense"),
        _too_many,
        text="Dense regions of any shape; rows between them belong to none (HDBSCAN).",
    ),
)
