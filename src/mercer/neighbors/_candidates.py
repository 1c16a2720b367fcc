"""Candidates of the neighbours family for a study."""

import numpy as np

from mercer._base.candidate import Candidate, Shape
from mercer.neighbors._nearest_centroid import NearestCentroid

__all__ = ["CANDIDATES"]


def _centroid(shape: Shape) -> NearestCentroid:
    return NearestCentroid()


def _count(model: NearestCentroid) -> tuple[float, str]:
    n_values = int(np.size(model.centroids_))
    return float(n_values), f"{len(model.centroids_)} centres of {n_values // len(model.centroids_)} numbers"


CANDIDATES = (
    Candidate(
        "nearest centroid",
        "neighbours",
        ("classification",),
        10,
        _centroid,
        needs=("scaled", "dense"),
        complexity=_count,
        text="The class whose mean is nearest.",
    ),
)
