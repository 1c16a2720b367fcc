"""Votes and means of neighbours: their weights, sums over lists of neighbours, and what models of both share."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Choice, Function, MetricName, Nothing, attribute, parameter
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.neighbors._nearest.rows_model import TARGETS_STAY, PairMetric, RowsModel

# What a sample weight is where the number of neighbours is fixed: the exceptions of models of k neighbours.
COUNTS_ROWS = {"weights": "k counts rows: a row of weight two is one neighbour that counts twice, not two neighbours"}
COUNTS_ROWS_IN_CHECKS = {
    "check_array_api_input": TARGETS_STAY,
    "check_sample_weight_equivalence_on_dense_data": "k counts rows: a weight multiplies that of one neighbour",
    "check_sample_weight_equivalence_on_sparse_data": "k counts rows: a weight multiplies that of one neighbour",
}


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Lists of neighbours of m queries, one after the other.

    Attributes
    ----------
    starts : ndarray of shape (m + 1,)
        The list of query i is from ``starts[i]`` to ``starts[i + 1]``.
    indices, distances : ndarray of shape (starts[-1],)
    width : int or None
        The length of every list, where all are equal.
    """

    starts: Array
    indices: Array
    distances: Array
    width: int | None = None

    @classmethod
    def of_table(cls, distances: Array, indices: Array) -> "Neighbours":
        """Return the lists that the lines of a table are."""
        m, k = indices.shape
        return cls(np.arange(0, m * k + 1, k), indices.ravel(), distances.ravel(), k)

    @property
    def queries(self) -> Array:
        """The query that each entry belongs to."""
        m = len(self.starts) - 1
        return np.repeat(np.arange(m), np.diff(self.starts) if self.width is None else self.width)

    def split(self, values: Array) -> Array:
        """Return values of the entries by query: as a table, or as an array of arrays."""
        if self.width is not None:
            return values.reshape(-1, self.width)
        lists = np.empty(len(self.starts) - 1, dtype=object)
        lists[:] = np.split(values, self.starts[1:-1])
        return lists


def weigh(subject: str, neighbours: Neighbours, weights: Any, sample_weight: Array) -> Array:
    """Return the weight of each neighbour, or None where all count the same.

    Parameters
    ----------
    subject : str
    neighbours : Neighbours
    weights : {'uniform', 'distance'}, callable or None
        ``'distance'`` is the inverse of the distance; where a distance is zero, only those neighbours count.
    sample_weight : ndarray of shape (n,) or None
        A factor for each row of the fit.
    """
    weight = None
    if isinstance(weights, str) and weights == "distance":
        weight = _invert(neighbours)
    elif callable(weights):
        weight = _call(subject, neighbours, weights)
    # The weight by distance says how near a neighbour is, its own weight how often it counts.
    if sample_weight is not None:
        own = sample_weight[neighbours.indices]
        weight = own if weight is None else weight * own
    return weight


def _invert(neighbours: Neighbours) -> Array:
    """Return one over each distance; one and zero in lists where a distance is zero."""
    distances = neighbours.distances
    zero = distances == 0
    if not zero.any():
        return 1.0 / distances
    queries = neighbours.queries
    # Queries that coincide with a row: only such rows vote.
    touched = np.zeros(len(neighbours.starts) - 1, bool)
    touched[queries[zero]] = True
    with np.errstate(divide="ignore"):
        return np.where(touched[queries], zero.astype(np.float64), 1.0 / distances)


def _call(subject: str, neighbours: Neighbours, weights: Any) -> Array:
    """Return what a function makes of the distances, by query, and check that it suits them."""
    values = weights(neighbours.split(neighbours.distances))
    if values is None:
        return None
    values = np.asarray(values)
    flat = np.concatenate([np.ravel(part) for part in values]) if values.dtype == object else values.ravel()
    if flat.shape != neighbours.distances.shape:
        raise DataError(
            f"{subject}: weights must return one number for each distance, {len(neighbours.distances)}; got "
            f"{len(flat)}. Return an array of the shape of its argument."
        )
    return flat.astype(np.float64)


def count_votes(subject: str, neighbours: Neighbours, labels: Array, n_classes: int, weight: Array) -> Array:
    """Return the share of each class in the weight of the neighbours, (m, n_classes); zeros where there are none."""
    m = len(neighbours.starts) - 1
    # One number for each pair of query and class, so that one count serves all.
    places = neighbours.queries * n_classes + labels[neighbours.indices]
    votes = np.bincount(places, weight, minlength=m * n_classes).reshape(m, n_classes).astype(np.float64, copy=False)
    totals = votes.sum(axis=1, keepdims=True)
    if neighbours.width is not None and not totals.all():
        raise DataError(
            f"{subject}: All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this "
            f"case if you are using a user-defined function, or raise sample_weight."
        )
    return votes / np.where(totals == 0, 1.0, totals)


def average(neighbours: Neighbours, targets: Array, weight: Array) -> Array:
    """Return the mean of the targets of the neighbours, (m, t); NaN where there are none."""
    m, values = len(neighbours.starts) - 1, targets[neighbours.indices]
    if neighbours.width is not None:
        # Queries with the same number k of neighbours form a table (m, k, t).
        table = values.reshape(m, neighbours.width, -1)
        if weight is None:
            return table.mean(axis=1)
        shares = weight.reshape(m, neighbours.width)
        return np.einsum("mk,mkt->mt", shares, table) / shares.sum(axis=1)[:, None]
    queries = neighbours.queries
    # Without a neighbour both sums are zero, and 0 / 0 gives the NaN that callers look for.
    with np.errstate(invalid="ignore"):
        totals = np.bincount(queries, weight, minlength=m)
        columns = [
            np.bincount(queries, column if weight is None else column * weight, minlength=m) / totals
            for column in values.T
        ]
    return np.stack(columns, axis=1)


class TargetsModel(RowsModel):
    """A model that predicts from the targets of neighbours."""

    weights: Any = parameter(Choice("uniform", "distance") | Function() | Nothing(), default="uniform")
    metric: Any = parameter(
        MetricName() | Function() | PairMetric(),
        default="minkowski",
        after="p",
        doc="As in :class:`NearestNeighbors`. Columns of different units should be scaled first.",
    )

    _row_weight: Array = attribute()
    _stored: ClassVar[dict[str, Stored]] = {"_row_weight": floats("rows | none")}

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "TargetsModel":
        """Keep the rows and their targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), rows in any other place, or distances of shape (n, n)
        y : array-like of shape (n,) or (n, n_outputs)
        sample_weight : array-like of shape (n,) or None, default=None
            Among k neighbours a factor of each row's vote; within a radius a weight of two is the row twice. Rows of
            weight zero are left out, and indices of neighbours count the others.
        """
        self._learn_rows(X, y, sample_weight)
        return self

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Open rows and targets, and keep them."""
        raise NotImplementedError  # labels and numbers are read in different ways

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
