"""Outliers: the threshold of scores, and neighbours of rows with weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base.interface import OutlierMixin
from mercer._base.parameter import Choice, Real
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError

# The share of outliers among the rows of a fit; more than half of them cannot be the exception.
CONTAMINATION = Choice("auto") | Real(0, 0.5, closed="right")


class Detector(OutlierMixin):
    """A detector of outliers: scores of rows, a threshold, and labels.

    A subclass defines ``fit``, which stores ``offset_``, and ``score_samples``.
    """

    offset_: float

    _stored: ClassVar[dict[str, Stored]] = {
        "offset_": floats(),
    }

    def score_samples(self, X: Any) -> Any:
        """Return the score of each row: the lower, the stranger."""
        raise NotImplementedError  # each detector defines its own

    def decision_function(self, X: Any) -> Any:
        """Return the score of each row less the threshold: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """Return 1 for usual rows and -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        return label_scores(self.decision_function(X))


def label_scores(decisions: Any) -> Any:
    """Return 1 where a decision value is not negative, else -1, where the values are."""
    if is_on_device(decisions):
        return Placement.of(decisions).put(np.where(to_numpy(decisions) >= 0, 1, -1))
    # In operations that Dask's arrays have too.
    return 2 * (decisions >= 0).astype(np.int64) - 1


def find_offset(scores: Array, contamination: float, weight: Array = None) -> float:
    """Return the quantile of scores below which a share `contamination` of the rows lies.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    contamination : float
        In (0, 0.5].
    weight : ndarray of shape (n,) or None
        A row of weight two counts as two rows of the same score, and one of weight zero is left out.
    """
    if weight is None:
        return float(np.percentile(scores, 100.0 * contamination))
    order = np.argsort(scores, kind="stable")
    order = order[weight[order] > 0]
    ends = np.cumsum(weight[order])
    # Position h of W rows in order, by linear interpolation between the two positions next to it, as np.percentile.
    position = max(ends[-1] - 1.0, 0.0) * contamination
    below = np.floor(position)
    places = np.minimum(np.searchsorted(ends, [below, below + 1.0], side="right"), len(order) - 1)
    low, high = scores[order[places]]
    return float(low + (position - below) * (high - low))


@dataclass(frozen=True, eq=False)
class NeighbourShares:
    """The nearest rows of m queries, and how many of the k neighbours each of them stands for.

    Attributes
    ----------
    distances, indices : ndarray of shape (m, c)
        In the order of rising distance.
    shares : ndarray of shape (m, c)
        Zero for rows beyond the k-th neighbour; each row sums to k, or to all the weight there is.
    """

    distances: Array
    indices: Array
    shares: Array

    def last_distances(self) -> Array:
        """Return the distance of each query to its k-th neighbour."""
        last = self.shares.shape[1] - 1 - np.argmax(self.shares[:, ::-1] > 0, axis=1)
        return np.take_along_axis(self.distances, last[:, None], axis=1)[:, 0]

    def mean(self, values: Array) -> Array:
        """Return the mean over the k neighbours of values (m, c)."""
        return np.sum(self.shares * values, axis=1) / np.sum(self.shares, axis=1)


def share_neighbours(
    find: Callable[[int], tuple[Array, Array]],
    weight: Array,
    k: int,
    most: int,
    passed_over: Callable[[Array, Array], Array],
) -> NeighbourShares:
    """Return the nearest rows of queries until their weights, taken as numbers of rows, add up to k.

    Parameters
    ----------
    find : callable
        Takes a number c and returns distances and indices (m, c) of the c nearest rows.
    weight : ndarray of shape (n,)
    k : int
    most : int
        The largest number of rows that `find` can return.
    passed_over : callable
        Takes distances and weights (m, c) and returns a weight (m,) at the beginning of the list that is not counted:
        that of the query itself.
    """
    # At the mean weight, this number of rows reaches k + 1, one for the query itself; where it does not, it is doubled.
    count = min(most, max(2, int(np.ceil((k + 1) / max(float(weight.mean()), 1e-3)))))
    while True:
        distances, indices = find(count)
        near = weight[indices]
        ends = np.cumsum(near, axis=1) - passed_over(distances, near)[:, None]
        if count == most or ends[:, -1].min() >= k:
            break
        count = min(most, 2 * count)
    ends = np.clip(ends, 0.0, k)
    return NeighbourShares(distances, indices, np.diff(ends, axis=1, prepend=0.0))


def put_own_first(find_others: Callable[[int], tuple[Array, Array]], n_rows: int, count: int) -> tuple[Array, Array]:
    """Return the `count` nearest rows of all rows: each row itself at no distance, then what `find_others` returns."""
    own = np.arange(n_rows)[:, None]
    if count == 1:
        # A table of one row, whose weight is that of several.
        return np.zeros((n_rows, 1)), own
    distances, indices = find_others(count - 1)
    return np.concatenate([np.zeros_like(distances[:, :1]), distances], axis=1), np.concatenate([own, indices], axis=1)


def count_others(subject: str, weight: Array) -> int:
    """Return how many neighbours a row has among rows with weights: one less than the sum of weights."""
    total = float(weight.sum())
    # Sums of weights such as 0.1 fall short of whole numbers by rounding.
    others = int(np.floor(total * (1.0 + 1e-12))) - 1
    if others < 1:
        raise DataError(
            f"{subject}: sample_weight counts rows, and neighbours need at least 2 rows; got weights with the sum "
            f"{total:g}. Multiply the weights so that a usual row weighs 1."
        )
    return others
