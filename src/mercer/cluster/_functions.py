"""k-means and k-means++ as functions."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._base import seed_sequence
from mercer._base.parameter import Integer, Nothing, Seed, check_parameters
from mercer._base.validation import check_weight
from mercer._solver.centres.first_centres import plus_plus
from mercer._solver.relay import answer_requests
from mercer._source import Source, open_place, open_source, place_of
from mercer._source.threads import n_threads
from mercer.cluster._centres.k_means import KMeans
from mercer.errors import DataError


def k_means(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    init: Any = "k-means++",
    n_init: str | int = "auto",
    max_iter: int = 300,
    verbose: int = False,
    tol: float = 1e-4,
    random_state: Any = None,
    copy_x: bool = True,
    algorithm: str = "lloyd",
    return_n_iter: bool = False,
    n_jobs: int | None = None,
) -> tuple[Any, ...]:
    """Cluster rows by k-means; the parameters are those of :class:`KMeans`.

    Returns
    -------
    centroid : ndarray of shape (k, d)
    label : ndarray of shape (n,), int32
    inertia : float
    best_n_iter : int
        Only with `return_n_iter`.

    Examples
    --------
    >>> from mercer.cluster import k_means
    >>> centres, labels, inertia = k_means([[1.0], [2.0], [9.0]], 2, random_state=0)
    >>> float(inertia)
    0.5
    """
    model = KMeans(
        n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        verbose=verbose,
        random_state=random_state,
        copy_x=copy_x,
        algorithm=algorithm,
        n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)
    result = (model.cluster_centers_, model.labels_, model.inertia_)
    return (*result, model.n_iter_) if return_n_iter else result


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Any]:
    """Draw first centres for k-means, far from one another (greedy k-means++).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    n_clusters : an integer in [1, inf)
    sample_weight : array-like of shape (n,), default=None
        Rows are drawn in proportion to weight times squared distance.
    x_squared_norms : array-like of shape (n,), default=None
        Taken for compatibility: checked for its length, and not needed.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
    n_local_trials : an integer in [1, inf) or None, default=None
        Rows tried for each centre; the best is kept. None means 2 + log k, 1 is plain k-means++.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; changes no result.

    Returns
    -------
    centers : ndarray of shape (k, d)
    indices : ndarray of shape (k,)
        The rows that were drawn.

    Examples
    --------
    >>> from mercer.cluster import kmeans_plusplus
    >>> centres, rows = kmeans_plusplus([[1.0], [1.0], [9.0]], 2, random_state=0)
    >>> sorted(centres.ravel().tolist())
    [1.0, 9.0]
    """
    rules = {
        "n_clusters": Integer(1),
        "random_state": Seed(),
        "n_local_trials": Integer(1) | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }
    check_parameters("kmeans_plusplus", rules, locals())
    source = _open_rows(X, sample_weight, n_threads(n_jobs))
    if source.n_rows < n_clusters:
        raise DataError(
            f"kmeans_plusplus: n_samples={source.n_rows} should be >= n_clusters={n_clusters}. Lower n_clusters."
        )
    if x_squared_norms is not None and len(x_squared_norms) != source.n_rows:
        raise DataError(
            f"kmeans_plusplus: The length of x_squared_norms {len(x_squared_norms)} should be equal to the length of "
            f"n_samples {source.n_rows}. Leave it out."
        )
    generator = np.random.default_rng(seed_sequence(random_state))
    return source.send(answer_requests(plus_plus(n_clusters, generator, n_local_trials), source))


def _open_rows(X: Any, weight: Any, threads: int) -> Source:
    if (place := place_of(X)) != "memory":
        return open_place(place, X, None, weight, subject="kmeans_plusplus", targets=None, threads=threads)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    return open_source(X, weight=check_weight(None, weight, X.shape[0]), threads=threads)
