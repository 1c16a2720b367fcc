"""Silhouettes: how much nearer each row is to its own group than to the next one.

With a the mean distance of a row to the other rows of its group, and b the least mean distance to the rows of another
group, its silhouette is (b - a) / max(a, b); rows alone in their group have zero (Rousseeuw, 1987).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import norm
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state, check_X_y

from mercer._base.parameter import Integer, Nothing, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._native.space import distance_sums
from mercer._source.memory import require_memory
from mercer._source.threads import n_threads, run_numbered
from mercer._types import Array
from mercer.errors import DataError
from mercer.metrics._groups import Grouping

# Rows of a work item: together with a tile of others, products of 64 x 256 float64 that a second-level cache holds.
_ROWS = 64
# Rows that a work item meets at a time.
_TILE = 256
# Rows of one native call: Python regains control between calls, and sees Ctrl-C.
_CALL = 2**18
# Below this share of the squared norms a squared distance from products has lost about half its 16 digits.
_DOUBT = 1e-9


def silhouette_samples(
    X: Any, labels: Any, *, metric: Any = "euclidean", n_jobs: int | None = None, **kwds: Any
) -> Any:
    """Return the silhouette of each row.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) with ``metric="precomputed"``
        Rows, or the distances between them.
    labels : array-like of shape (n,)
        The group of each row.
    metric : str or callable, default="euclidean"
        A distance that :func:`sklearn.metrics.pairwise_distances` knows.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.
    **kwds
        Parameters of the metric.

    Returns
    -------
    silhouettes : ndarray of shape (n,)
        In [-1, 1]; zero for a row that is alone in its group.

    Notes
    -----
    Cost n^2 d; memory a copy of the rows and, per thread, a tile of distances.

    Examples
    --------
    >>> from mercer.metrics import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(4)
    array([0.9048, 0.8947, 0.8947, 0.9048])
    """
    X, groups = _check_rows("silhouette_samples", X, labels, metric)
    return _compute_silhouettes(X, groups, np.arange(len(groups.labels)), metric, n_jobs, kwds)


def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_size: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **kwds: Any,
) -> float:
    """Return the mean silhouette of all rows, or of a sample of them among themselves.

    Parameters
    ----------
    X, labels, metric, n_jobs, **kwds
        As for :func:`~mercer.metrics.silhouette_samples`.
    sample_size : int or None, default=None
        Rows to draw, as scikit-learn draws them; the others are left out altogether, so that groups are thinner. For an
        estimate of the score of all rows, with its error, see :func:`~mercer.metrics.silhouette_interval`.
    random_state : int, RandomState or None, default=None
        Seed of the sample.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.metrics import silhouette_score
    >>> round(silhouette_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 4)
    0.8997
    """
    if sample_size is not None:
        X, labels = check_X_y(X, labels, accept_sparse=["csc", "csr"])
        chosen = check_random_state(random_state).permutation(X.shape[0])[:sample_size]
        X, labels = X[chosen].T[chosen].T if _is_precomputed(metric) else X[chosen], labels[chosen]
    return float(np.mean(silhouette_samples(X, labels, metric=metric, n_jobs=n_jobs, **kwds)))


@dataclass(frozen=True)
class SilhouetteEstimate:
    """An estimate of the mean silhouette of all rows, and where it is.

    Attributes
    ----------
    score : float
        The mean over the drawn rows.
    low, high : float
        The ends of the interval.
    n_drawn : int
        How many rows were drawn.
    """

    score: float
    low: float
    high: float
    n_drawn: int


def silhouette_interval(
    X: Any,
    labels: Any,
    *,
    sample_size: int = 1000,
    confidence: float = 0.95,
    metric: Any = "euclidean",
    random_state: Any = None,
    n_jobs: int | None = None,
    **kwds: Any,
) -> SilhouetteEstimate:
    """Estimate the mean silhouette of all rows from that of some, each measured against all rows.

    Drawn without replacement, the mean is unbiased; its interval is that of the normal distribution with the correction
    for a finite number of rows, and closes when all are drawn.

    Parameters
    ----------
    X, labels, metric, n_jobs, **kwds
        As for :func:`~mercer.metrics.silhouette_samples`.
    sample_size : int, default=1000
        Rows to draw.
    confidence : float, default=0.95
        How often the interval holds the score of all rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draw.

    Returns
    -------
    SilhouetteEstimate

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.metrics import silhouette_interval
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)) + np.repeat([[0.0], [8.0]], 2500, axis=0)
    >>> estimate = silhouette_interval(X, np.repeat([0, 1], 2500), sample_size=200, random_state=0)
    >>> estimate.low < 0.85 < estimate.high
    True
    """
    rules = {"sample_size": Integer(2), "confidence": Real(0, 1, closed="neither"), "random_state": Seed()}
    values = {"sample_size": sample_size, "confidence": confidence, "random_state": random_state}
    check_parameters("silhouette_interval", rules | {"n_jobs": Integer() | Nothing()}, values | {"n_jobs": n_jobs})
    X, groups = _check_rows("silhouette_interval", X, labels, metric)
    n = len(groups.labels)
    size = min(sample_size, n)
    drawn = np.sort(np.random.default_rng(seed_sequence(random_state)).choice(n, size, replace=False))
    silhouettes = _compute_silhouettes(X, groups, drawn, metric, n_jobs, kwds)
    mean = float(np.mean(silhouettes))
    # Without replacement the variance of a mean is s^2 / m (1 - m / n): zero when all n rows are drawn.
    error = float(np.std(silhouettes, ddof=1)) * math.sqrt((1.0 - size / n) / size)
    reach = float(norm.ppf(0.5 + 0.5 * confidence)) * error
    return SilhouetteEstimate(mean, mean - reach, mean + reach, size)


def _check_rows(subject: str, X: Any, labels: Any, metric: Any) -> tuple[Any, Grouping]:
    X, labels = check_X_y(X, labels, accept_sparse=["csr"], estimator=subject)
    if _is_precomputed(metric):
        # Distances computed in this precision are zero on the diagonal up to some hundred units of rounding.
        tolerance = 100.0 * float(np.finfo(X.dtype).eps) if X.dtype.kind == "f" else 0.0
        if np.any(np.abs(X.diagonal()) > tolerance):
            raise DataError(
                f"{subject}: The precomputed distance matrix contains non-zero elements on the diagonal. "
                f"Use np.fill_diagonal(X, 0)."
            )
    return X, Grouping.of(subject, labels)


def _is_precomputed(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


def _compute_silhouettes(
    X: Any, groups: Grouping, wanted: Array, metric: Any, n_jobs: int | None, options: dict[str, Any]
) -> Array:
    """Return the silhouettes of the rows `wanted`, each against all rows."""
    euclidean = isinstance(metric, str) and metric in ("euclidean", "l2") and not options and not issparse(X)
    summing = _euclidean_sums(X, groups) if euclidean else _other_sums(X, groups, metric, options)
    silhouettes = np.empty(len(wanted))

    # Each part writes rows of its own, so the threads share nothing that changes.
    def fill(number: int) -> None:
        part = slice(number * _ROWS, (number + 1) * _ROWS)
        silhouettes[part] = _from_sums(summing(wanted[part]), groups, wanted[part])

    run_numbered(fill, -(-len(wanted) // _ROWS), n_threads(n_jobs))
    return silhouettes


def _from_sums(sums: Array, groups: Grouping, rows: Array) -> Array:
    """Compute (b - a) / max(a, b) for `rows`, from their sums of distances to every group, (n_rows, n_groups)."""
    place, own = np.arange(len(rows)), groups.labels[rows]
    # The distance of a row to itself is zero and does not count: a is a mean over the others of its group.
    others = groups.counts[own] - 1
    within = sums[place, own] / np.maximum(others, 1)
    means = sums / groups.counts
    # Infinity keeps a row's own group out of the least mean b.
    means[place, own] = np.inf
    between = means.min(axis=1)
    largest = np.maximum(within, between)
    values = np.divide(between - within, largest, out=np.zeros(len(rows)), where=largest > 0)
    return np.where(others > 0, values, 0.0)


def _euclidean_sums(X: Array, groups: Grouping) -> Callable[[Array], Array]:
    """Return a function from rows to their sums of Euclidean distances to every group, by compiled tiles."""
    size = 8.0 * X.size
    require_memory("silhouette", size, "a copy of the rows in the order of their groups", "use silhouette_interval")
    # About the mean, products keep more digits of the distances.
    rows = X[groups.order].astype(np.float64)
    rows -= rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", rows, rows)
    # `places` is the inverse of the order: where each row stands among the rows sorted by group.
    places = np.empty(len(rows), dtype=np.int64)
    places[groups.order] = np.arange(len(rows))

    def summing(wanted: Array) -> Array:
        # `rows` are sorted by group; `places` says where a row of the user lies among them.
        own = places[wanted]
        # `sums` is (wanted rows, groups): the distances of a row to all rows of a group.
        # `products` is room for one tile.
        sums, products = np.zeros((len(own), groups.n_groups)), np.empty((len(own), _TILE))
        mine, mine_norms = rows[own], norms[own]
        for first in range(0, len(rows), _CALL):
            last = min(first + _CALL, len(rows))
            distance_sums.add_distances(rows, norms, first, last, groups.starts, mine, mine_norms, products, sums)
        return sums

    return summing


def _other_sums(X: Any, groups: Grouping, metric: Any, options: dict[str, Any]) -> Callable[[Array], Array]:
    """Return a function from rows to their sums of distances by any metric to every group."""
    norms = None
    if issparse(X) and metric in ("euclidean", "l2"):
        X = X.astype(np.float64)
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def summing(wanted: Array) -> Array:
        if _is_precomputed(metric):
            distances = X[wanted].toarray() if issparse(X) else X[wanted]
        else:
            distances = pairwise_distances(X[wanted], X, metric=metric, n_jobs=1, **options)
            # A row is at distance zero from itself, whatever rounding makes of it.
            distances[np.arange(len(wanted)), wanted] = 0.0
            if norms is not None:
                _refine(distances, X, wanted, norms)
        ordered = np.asarray(distances, dtype=np.float64)[:, groups.order]
        # Columns in the order of groups: one reduction over each run gives sums (n_wanted, n_groups).
        return np.add.reduceat(ordered, groups.starts[:-1], axis=1)

    return summing


def _refine(distances: Array, X: Any, wanted: Array, norms: Array) -> None:
    """Replace distances of sparse rows in which products have cancelled by distances from differences."""
    i, j = np.nonzero(distances**2 <= _DOUBT * (norms[wanted, None] + norms[None, :]))
    apart = i[wanted[i] != j], j[wanted[i] != j]
    step = X[wanted[apart[0]]] - X[apart[1]]
    distances[apart] = np.sqrt(np.asarray(step.multiply(step).sum(axis=1)).ravel())
