"""The k nearest rows where rows have weights: a row of weight two counts as two neighbours at the same distance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._types import Array
from mercer.errors import DataError


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
