"""Numbers of clusters: in the order of their first rows, whatever order a search found them in."""

import numpy as np

from mercer._types import Array


def number_by_first_rows(labels: Array) -> Array:
    """Return the same partition with labels from 0 in the order of first rows, int64; negative labels become -1."""
    numbers = np.full(len(labels), -1, np.int64)
    members = np.flatnonzero(labels >= 0)
    if len(members):
        _, first, inverse = np.unique(labels[members], return_index=True, return_inverse=True)
        # The inverse of the permutation that sorts first rows is the rank of each cluster.
        numbers[members] = np.argsort(np.argsort(first))[inverse]
    return numbers


def order_by_first_rows(labels: Array, n_clusters: int) -> Array:
    """Return the `n_clusters` old labels in the order of their first rows; those without rows come last."""
    used, first = np.unique(labels, return_index=True)
    return np.concatenate([used[np.argsort(first)], np.setdiff1d(np.arange(n_clusters), used)])
