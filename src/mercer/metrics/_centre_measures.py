"""Measures of a clustering by its centres and extents: Davies-Bouldin, Calinski-Harabasz, Dunn, and the scatter."""

from typing import Any

import numpy as np

from mercer._source.threads import n_threads, run_numbered
from mercer._types import Array
from mercer.metrics._groups import Grouping, group_rows

# Rows of a work item.
_ROWS = 256
# Rows that a work item meets at a time: the table of their distances takes 8 MiB per thread.
_COLUMNS = 4096


def within_scatter(X: Any, labels: Any) -> float:
    """Return the sum of squared distances of rows to the mean of their group.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.metrics import within_scatter
    >>> within_scatter([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    1.0
    """
    X, groups = group_rows("within_scatter", X, labels)
    return float(np.sum(_subtract_means(X, groups) ** 2))


def calinski_harabasz_score(X: Any, labels: Any) -> float:
    """Return the variance between groups over that within them, each per degree of freedom; larger is better.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)

    Returns
    -------
    float
        One where all rows of each group are equal.

    References
    ----------
    T. Calinski and J. Harabasz, A dendrite method for cluster analysis, 1974.

    Examples
    --------
    >>> from mercer.metrics import calinski_harabasz_score
    >>> calinski_harabasz_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    200.0
    """
    X, groups = group_rows("calinski_harabasz_score", X, labels)
    within = float(np.sum(_subtract_means(X, groups) ** 2))
    gaps = groups.means(X) - np.mean(X, axis=0, dtype=np.float64)
    between = float(np.sum(groups.counts[:, None] * gaps**2))
    # k group means have k - 1 degrees of freedom about their common mean, n rows n - k about theirs.
    k = groups.n_groups
    return 1.0 if within == 0.0 else between * (len(X) - k) / (within * (k - 1))


def davies_bouldin_score(X: Any, labels: Any) -> float:
    """Return the mean over groups of the largest (s_i + s_j) / d_ij; smaller is better.

    s_i is the mean distance of the rows of group i to its mean, d_ij the distance between two means.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)

    Returns
    -------
    float
        Zero where all rows of each group are equal, or all means are.

    References
    ----------
    D. Davies and D. Bouldin, A cluster separation measure, 1979.

    Examples
    --------
    >>> from mercer.metrics import davies_bouldin_score
    >>> davies_bouldin_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    0.1
    """
    X, groups = group_rows("davies_bouldin_score", X, labels)
    gaps = _subtract_means(X, groups)
    spread = np.bincount(groups.labels, np.sqrt(np.einsum("ij,ij->i", gaps, gaps))) / groups.counts
    means = groups.means(X)
    apart = np.sqrt(np.sum((means[:, None] - means[None]) ** 2, axis=2))
    if np.allclose(spread, 0.0) or np.allclose(apart, 0.0):
        return 0.0
    # A group at distance zero, as each is from itself, has no ratio: it must not be the largest.
    apart[apart == 0.0] = np.inf
    return float(np.mean(np.max((spread[:, None] + spread[None]) / apart, axis=1)))


def dunn_index(X: Any, labels: Any, *, n_jobs: int | None = None) -> float:
    """Return the least distance between rows of two groups over the largest between two rows of one; larger is better.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    float
        Infinite where all rows of each group are equal.

    Notes
    -----
    Cost n^2 d / 2; memory a tile of distances per thread.

    References
    ----------
    J. Dunn, Well-separated clusters and optimal fuzzy partitions, 1974.

    Examples
    --------
    >>> from mercer.metrics import dunn_index
    >>> dunn_index([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    9.0
    """
    X, groups = group_rows("dunn_index", X, labels)
    rows = X[groups.order].astype(np.float64)
    # Distances do not depend on the origin; about the mean, |x|^2 + |y|^2 - 2 x.y cancels least.
    rows -= rows.mean(axis=0)
    labels, norms = groups.labels[groups.order], np.einsum("ij,ij->i", rows, rows)
    ends: list[tuple[float, float]] = []

    def find_extremes(number: int) -> tuple[float, float]:
        """Find the least squared distance to rows of other groups and the largest to rows of the same group.

        Work item `number` compares its rows with themselves and all later ones. Products of near rows cancel, so the
        nearest pair is measured again, directly.
        """
        mine = slice(number * _ROWS, (number + 1) * _ROWS)
        least, most = np.inf, 0.0
        for start in range(mine.start, len(rows), _COLUMNS):
            theirs = slice(start, start + _COLUMNS)
            squares = norms[mine, None] + norms[None, theirs] - 2.0 * rows[mine] @ rows[theirs].T
            same = labels[mine, None] == labels[None, theirs]
            # Rounding may leave a square slightly below zero: the largest starts from 0, the exact distance of a row to
            # itself.
            most = max(most, float(np.max(squares, where=same, initial=0.0)))
            others = np.where(same, np.inf, squares)
            i, j = np.unravel_index(np.argmin(others), others.shape)
            if others[i, j] < np.inf:
                least = min(least, float(np.sum((rows[mine][i] - rows[theirs][j]) ** 2)))
        return least, most

    run_numbered(find_extremes, -(-len(rows) // _ROWS), n_threads(n_jobs), ends.append)
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    return float(np.sqrt(least / most)) if most > 0 else float("inf")


def _subtract_means(X: Array, groups: Grouping) -> Array:
    """Return each row less the mean of its group."""
    return X - groups.means(X)[groups.labels]
