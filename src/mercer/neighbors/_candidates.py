"""Candidates of the neighbours family for a study."""

from typing import Any

import numpy as np

from mercer._base.candidate import Candidate, Shape
from mercer.neighbors._nearest.classifiers import KNeighborsClassifier
from mercer.neighbors._nearest.regressors import KNeighborsRegressor
from mercer.neighbors._nearest_centroid import NearestCentroid

# The most rows: every prediction of a fold compares its rows with all others.
_MOST_ROWS = 20_000
# Numbers of neighbours that are tried, the smoothest first.
_NEIGHBOURS = [25, 10, 5]


def _centroid(shape: Shape) -> NearestCentroid:
    return NearestCentroid()


def _vote(shape: Shape) -> KNeighborsClassifier:
    return KNeighborsClassifier(weights="distance")


def _average(shape: Shape) -> KNeighborsRegressor:
    return KNeighborsRegressor(weights="distance")


def _list_settings(shape: Shape) -> dict[str, list[Any]]:
    # A fold must have more rows than neighbours.
    return {"n_neighbors": [k for k in _NEIGHBOURS if 4 * k <= shape.n_rows] or [1]}


def _too_many(shape: Shape) -> str:
    return f"takes at most {_MOST_ROWS} rows; this table has {shape.n_rows}" if shape.n_rows > _MOST_ROWS else ""


def _count(model: NearestCentroid) -> tuple[float, str]:
    n_values = int(np.size(model.centroids_))
    return float(n_values), f"{len(model.centroids_)} centres of {n_values // len(model.centroids_)} numbers"


def _count_rows(model: Any) -> tuple[float, str]:
    n = int(model.n_samples_fit_)
    # Each prediction averages k of n rows, which leaves n / k free averages.
    return n / model.n_neighbors, f"{n} training rows; the {model.n_neighbors} nearest decide"


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
    Candidate(
        "nearest neighbours",
        "neighbours",
        ("classification",),
        190,
        _vote,
        _list_settings,
        ("scaled", "dense"),
        _too_many,
        _count_rows,
        "The votes of the most similar training rows.",
    ),
    Candidate(
        "nearest neighbours",
        "neighbours",
        ("regression",),
        190,
        _average,
        _list_settings,
        ("scaled", "dense"),
        _too_many,
        _count_rows,
        "The mean of the most similar training rows.",
    ),
)
