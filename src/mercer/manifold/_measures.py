"""How well a map keeps neighbours: trustworthiness, continuity and recall, and a table to choose among maps."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array

from mercer._solver.neighbours import nearest_rows
from mercer._source.memory import require_memory
from mercer._source.threads import n_threads
from mercer._types import Array
from mercer.errors import DataError, ParameterError


def trustworthiness(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    r"""Compute to what share neighbours in a map are neighbours of the rows.

    .. math:: T(k) = 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in N_i^k} \max(0, r(i, j) - k)

    with the k nearest points :math:`N_i^k` of point i in the map, and the rank r(i, j) of row j among the distances
    from row i. It is 1 where no stranger comes near.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) with ``metric="precomputed"``
        Rows.
    X_embedded : array-like of shape (n_samples, n_components)
        Their map.
    n_neighbors : int, default=5
        k, less than half the number of rows.
    metric : str or callable, default='euclidean'
        The distance between rows.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    J. Venna and S. Kaski, Neighborhood preservation in nonlinear projection methods, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import trustworthiness
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> trustworthiness(X, -3 * X)
    1.0
    """
    X, Y = _check_maps(X, X_embedded, n_neighbors, "trustworthiness")
    return _penalise(_distances(X, metric), _nearest(Y, n_neighbors), n_neighbors)


def continuity(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    """Compute to what share neighbours of the rows are neighbours in a map: trustworthiness with both exchanged.

    Parameters
    ----------
    X, X_embedded, n_neighbors, metric
        As :func:`trustworthiness` has them.

    Returns
    -------
    float
        In [0, 1]; it is 1 where no neighbour is torn away.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import continuity
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> continuity(X, -3 * X)
    1.0
    """
    X, Y = _check_maps(X, X_embedded, n_neighbors, "continuity")
    return _penalise(_distances(Y, "euclidean"), _nearest(X, n_neighbors, metric), n_neighbors)


def neighborhood_recall(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    """Compute the mean share of a row's k nearest rows that are among its k nearest points in a map.

    Parameters
    ----------
    X, X_embedded, n_neighbors, metric
        As :func:`trustworthiness` has them.

    Returns
    -------
    float
        In [0, 1]. A random map has about k / n.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import neighborhood_recall
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> neighborhood_recall(X, -3 * X)
    1.0
    """
    X, Y = _check_maps(X, X_embedded, n_neighbors, "neighborhood_recall")
    return _count_shared(_nearest(X, n_neighbors, metric), _nearest(Y, n_neighbors), len(Y))


def compare_maps(
    X: Any, maps: Mapping[str, Any], *, n_neighbors: int = 5, metric: Any = "euclidean"
) -> dict[str, dict[str, float]]:
    """Compute the three measures of several maps of the same rows, to choose among them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) with ``metric="precomputed"``
        Rows.
    maps : mapping from str to array-like of shape (n_samples, n_components)
        Maps by name.
    n_neighbors : int, default=5
        Neighbours that are compared.
    metric : str or callable, default='euclidean'
        The distance between rows.

    Returns
    -------
    dict
        For each name, in the order of falling recall: ``"trustworthiness"``, ``"continuity"``,
        ``"neighborhood_recall"``, and ``"distance_correlation"``, the rank correlation of all distances.
        ``pandas.DataFrame(table).T`` shows it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import compare_maps
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> list(compare_maps(X, {"one axis": X[:, :1], "two axes": X[:, :2]}))
    ['two axes', 'one axis']
    """
    if not maps:
        raise ParameterError("compare_maps: maps must name at least one map; got none. Give {'name': embedding}.")
    table: dict[str, dict[str, float]] = {}
    D = near = None
    for name, points in maps.items():
        rows, Y = _check_maps(X, points, n_neighbors, f"compare_maps: {name}")
        if D is None:
            D, near = _distances(rows, metric), _nearest(rows, n_neighbors, metric)
        E, beside = _distances(Y, "euclidean"), _nearest(Y, n_neighbors)
        table[name] = {
            # Trustworthiness: neighbours of the map that are far apart among the rows. Continuity: the other way round.
            "trustworthiness": _penalise(D, beside, n_neighbors),
            "continuity": _penalise(E, near, n_neighbors),
            "neighborhood_recall": _count_shared(near, beside, len(Y)),
            "distance_correlation": _correlate_ranks(D, E),
        }
    order = sorted(table, key=lambda name: -table[name]["neighborhood_recall"])
    return {name: table[name] for name in order}


def _check_maps(X: Any, Y: Any, k: int, subject: str) -> tuple[Array, Array]:
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    Y = check_array(Y, dtype=[np.float64, np.float32], input_name="X_embedded")
    n = X.shape[0]
    if Y.shape[0] != n:
        raise DataError(
            f"{subject}: the map must have one point per row, {n}; got {Y.shape[0]}. Give the map of these rows."
        )
    if k < 1 or k >= n / 2:
        raise ParameterError(
            f"{subject}: n_neighbors ({k}) should be less than n_samples / 2 ({n / 2:g}) and at least 1; lower "
            f"n_neighbors."
        )
    return X, Y


def _distances(rows: Array, metric: Any) -> Array:
    n = rows.shape[0]
    if metric == "euclidean" and isinstance(rows, np.ndarray):
        # Far from zero the squares of the products would hide the distances.
        rows = rows - rows.mean(axis=0)
    require_memory("trustworthiness", 24.0 * n * n, f"the {n} x {n} distances", "give a sample of the rows")
    D = np.array(pairwise_distances(rows, metric=metric), dtype=np.float64)
    np.fill_diagonal(D, np.inf)
    return D


def _nearest(rows: Array, k: int, metric: Any = "euclidean") -> Array:
    """Return the k nearest rows of each row, itself left out; of equal distances the lower index comes first."""
    if metric == "euclidean" and isinstance(rows, np.ndarray):
        wide = np.ascontiguousarray(rows, dtype=np.float64)
        return nearest_rows(wide, wide, k, leave_out_self=True, threads=n_threads(None))[1]
    return np.argsort(_distances(rows, metric), axis=1, kind="stable")[:, :k]


def _penalise(D: Array, indices: Array, k: int) -> float:
    """Return one minus the scaled sum by which the ranks of given neighbours exceed k."""
    n = len(D)
    order = np.argsort(D, axis=1, kind="stable")
    ranks = np.empty((n, n), dtype=np.int64)
    ranks[np.arange(n)[:, None], order] = np.arange(1, n + 1)
    excess = np.take_along_axis(ranks, np.asarray(indices, dtype=np.int64), axis=1) - k
    total = float(np.sum(excess[excess > 0]))
    return 1.0 - total * (2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)))


def _count_shared(first: Array, second: Array, n: int) -> float:
    """Return the mean share of neighbours that two lists have in common."""
    k = first.shape[1]
    offsets = np.arange(len(first))[:, None] * n
    return float(np.isin(offsets + first, offsets + second).sum()) / (len(first) * k)


def _correlate_ranks(D: Array, E: Array) -> float:
    """Return Spearman's correlation of the distances of all pairs."""
    from scipy.stats import spearmanr

    upper = np.triu_indices(len(D), 1)
    first, second = D[upper], E[upper]
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(spearmanr(first, second).statistic)
