"""How far the k-th nearest row is: the curve from which an epsilon for DBSCAN is read."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._base.parameter import Function, Integer, MetricName, Nothing, check_parameters
from mercer._solver.neighbours.metric import Metric
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import n_threads
from mercer._statistic.knee import find_knee
from mercer._types import Array
from mercer.cluster._density.neighbour_lists import densify
from mercer.cluster._density.spanning_tree import all_distances, core_distances
from mercer.errors import DataError


def k_distances(X: Any, k: int = 4, *, metric: Any = "euclidean", n_jobs: int | None = None) -> Array:
    """Return the distance from each row to its k-th nearest other row, in rising order.

    Rows of clusters make the flat part of the curve and noise its steep end.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The rows; distances of shape (n, n) if `metric` is ``'precomputed'``.
    k : int, default=4
        Which nearest row, the row itself not counted: ``min_samples - 1`` of the DBSCAN to come.
    metric : str or callable, default='euclidean'
        As in :class:`DBSCAN`.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    distances : ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.cluster import k_distances
    >>> k_distances([[0.0], [1.0], [3.0]], k=1).tolist()
    [1.0, 1.0, 2.0]
    """
    rules = {"k": Integer(1), "metric": MetricName() | Function(), "n_jobs": Integer() | Nothing()}
    check_parameters("k_distances", rules, {"k": k, "metric": metric, "n_jobs": n_jobs})
    rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", estimator="k_distances")
    n, threads, known = rows.shape[0], n_threads(n_jobs), Metric(metric, None)
    if k >= n:
        raise DataError(f"k_distances: k must be less than the number of rows; got k={k} and {n} rows. Lower k.")
    if known.is_euclidean and not is_sparse_matrix(rows):
        # The row itself is the first of k + 1; the tree holds squared distances.
        return np.sqrt(np.sort(SpaceTree(rows, threads, "k_distances").kth_distances(k + 1)))
    if known.name == "precomputed":
        return np.sort(core_distances(lambda row: _own_distances(rows, row), n, k + 1, threads))
    return np.sort(core_distances(all_distances(rows, known.settle_scales(rows), threads), n, k + 1, threads))


def _own_distances(D: Array, row: int) -> Array:
    """Return row `row` of a given distance matrix; the distance to itself is zero whatever is stored."""
    distances = densify(D[row : row + 1])[0].copy()
    distances[row] = 0.0
    return distances


def suggest_eps(X: Any, min_samples: int = 5, *, metric: Any = "euclidean", n_jobs: int | None = None) -> float:
    """Suggest an epsilon for DBSCAN: the knee of the curve of k-distances.

    With both axes scaled to [0, 1], the knee is where the rising curve is farthest below the straight line between its
    ends. That is a place to start from, not an answer: look at the curve (:class:`mercer.inspection.KDistanceDisplay`).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    min_samples : int, default=5
        That of the DBSCAN to come.
    metric : str or callable, default='euclidean'
        As in :class:`DBSCAN`.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    eps : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import suggest_eps
    >>> X = np.concatenate([np.arange(20.0), [50.0]])[:, None]
    >>> suggest_eps(X, min_samples=3)
    2.0
    """
    check_parameters("suggest_eps", {"min_samples": Integer(2)}, {"min_samples": min_samples})
    return find_knee(k_distances(X, min_samples - 1, metric=metric, n_jobs=n_jobs))
