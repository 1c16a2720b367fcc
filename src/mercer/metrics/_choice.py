"""How many clusters: the gap statistic, stability under resampling, and all curves side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_array

from mercer._base.parameter import Choice, Integer, Real, Seed, check_parameters
from mercer._base.randomness import generators, seed_sequence
from mercer._types import Array
from mercer.errors import DataError
from mercer.metrics._centre_measures import calinski_harabasz_score, davies_bouldin_score
from mercer.metrics._silhouette import silhouette_interval

_CRITERIA = ("gap", "silhouette", "calinski_harabasz", "davies_bouldin", "stability")


def gap_statistic(
    estimator: Any, X: Any, n_clusters: Sequence[int], *, n_references: int = 10, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the log of the scatter within clusters falls below that of rows without clusters, and its error.

    Gap(k) = E* log W*_k - log W_k, with W_k the sum of squared distances to the cluster means, and W*_k that of rows
    drawn evenly from the box around the data along its principal axes. The error is the standard deviation of log W*_k
    times sqrt(1 + 1 / n_references).

    Parameters
    ----------
    estimator : clusterer
        With a parameter ``n_clusters``; it is cloned.
    X : array-like of shape (n, d)
    n_clusters : sequence of int
        The numbers to try.
    n_references : int, default=10
        Sets of rows drawn.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws, and of the estimator where it takes one.

    Returns
    -------
    gaps, errors : ndarray of shape (len(n_clusters),)

    References
    ----------
    R. Tibshirani, G. Walther and T. Hastie, Estimating the number of clusters via the gap statistic, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMeans
    >>> from mercer.metrics import gap_statistic
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + 9.0 * np.repeat(np.eye(3, 2), 100, axis=0)
    >>> gaps, errors = gap_statistic(KMeans(n_init=3), X, [1, 2, 3, 4], random_state=0)
    >>> int(np.argmax(gaps)) + 1
    3
    """
    numbers = _check("gap_statistic", n_clusters, {"n_references": n_references, "random_state": random_state})
    X = check_array(X, dtype=np.float64)
    own, *streams = generators(random_state, n_references + 1)
    seed = int(own.integers(2**31))
    logs = np.array([_log_scatter(_find_labels(estimator, X, k, seed), X) for k in numbers])
    centred = X - X.mean(axis=0)
    # Rows without clusters keep the shape of the data: a box along its principal axes, rotated back afterwards.
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    corners = centred @ axes.T
    low, high = corners.min(axis=0), corners.max(axis=0)
    reference = []
    for stream in streams:
        rows = stream.uniform(low, high, size=corners.shape) @ axes
        reference.append([_log_scatter(_find_labels(estimator, rows, k, seed), rows) for k in numbers])
    # The root adds the simulation error of the mean over the references to their spread.
    errors = np.std(reference, axis=0) * np.sqrt(1.0 + 1.0 / n_references)
    return np.mean(reference, axis=0) - logs, errors


def cluster_stability(
    estimator: Any,
    X: Any,
    n_clusters: Sequence[int],
    *,
    n_pairs: int = 10,
    share: float = 0.5,
    random_state: Any = None,
) -> np.ndarray:
    """Return how alike the clusterings of two random parts of the rows are, for each number of clusters.

    Each pair of parts overlaps in some rows; the adjusted Rand index of their labels there, averaged over the pairs, is
    1 where clusters do not depend on which rows were seen, and about 0 where they do.

    Parameters
    ----------
    estimator, X, n_clusters, random_state
        As for :func:`~mercer.metrics.gap_statistic`.
    n_pairs : int, default=10
        Pairs of parts drawn.
    share : float, default=0.5
        Share of the rows in a part.

    Returns
    -------
    stability : ndarray of shape (len(n_clusters),)

    References
    ----------
    A. Ben-Hur, A. Elisseeff and I. Guyon, A stability based method for discovering structure in clustered data, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMeans
    >>> from mercer.metrics import cluster_stability
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + 9.0 * np.repeat(np.eye(3, 2), 100, axis=0)
    >>> cluster_stability(KMeans(n_init=3), X, [2, 3, 4], random_state=0).argmax() + 2
    np.int64(3)
    """
    checked = {"n_pairs": n_pairs, "share": share, "random_state": random_state}
    numbers = _check("cluster_stability", n_clusters, checked)
    X = check_array(X, dtype=np.float64)
    size = max(int(share * len(X)), 1)
    agreement = np.zeros((n_pairs, len(numbers)))
    for pair, stream in enumerate(generators(random_state, n_pairs)):
        # Rows are drawn without replacement, and sorted: the parts keep the order of the data, and overlap by chance.
        first, second = (np.sort(stream.choice(len(X), size, replace=False)) for _ in range(2))
        _, here, there = np.intersect1d(first, second, return_indices=True)
        # One seed for both parts and all k: labels differ by the rows alone, not by the random starts.
        seed = int(stream.integers(2**31))
        for place, k in enumerate(numbers):
            labels = [_find_labels(estimator, X[part], k, seed) for part in (first, second)]
            agreement[pair, place] = adjusted_rand_score(labels[0][here], labels[1][there])
    return agreement.mean(axis=0)


@dataclass(frozen=True)
class ClusterNumberChoice:
    """The number of clusters chosen, and the curves that speak for it.

    Attributes
    ----------
    n_clusters : int
        The choice of the criterion that was asked.
    criterion : str
    numbers : ndarray
        The numbers that were tried.
    curves : dict of ndarray
        A value for each number: ``gap`` (with ``gap_error``), ``silhouette``, ``calinski_harabasz``,
        ``davies_bouldin``, ``stability``; NaN where a measure is not defined, as for one cluster.
    choices : dict of int
        What each criterion would choose.
    """

    n_clusters: int
    criterion: str
    numbers: np.ndarray
    curves: dict[str, np.ndarray] = field(repr=False)
    choices: dict[str, int]


def choose_n_clusters(
    estimator: Any,
    X: Any,
    n_clusters: Sequence[int] = range(1, 11),
    *,
    criterion: str = "silhouette",
    sample_size: int = 2000,
    n_references: int = 10,
    n_pairs: int = 10,
    random_state: Any = None,
) -> ClusterNumberChoice:
    """Choose a number of clusters by one criterion, and show what all of them say.

    The gap chooses the least k with Gap(k) >= Gap(k + 1) - error(k + 1); stability the largest k among the most stable
    (to a hundredth); the others the k of their best value.

    Parameters
    ----------
    estimator : clusterer
        With a parameter ``n_clusters``; it is cloned.
    X : array-like of shape (n, d)
    n_clusters : sequence of int, default=range(1, 11)
        The numbers to try, rising.
    criterion : {"silhouette", "gap", "calinski_harabasz", "davies_bouldin", "stability"}, default="silhouette"
    sample_size : int, default=2000
        Rows whose silhouettes are taken, each against all rows.
    n_references, n_pairs, random_state
        As for :func:`~mercer.metrics.gap_statistic` and :func:`~mercer.metrics.cluster_stability`.

    Returns
    -------
    ClusterNumberChoice

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMeans
    >>> from mercer.metrics import choose_n_clusters
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + 9.0 * np.repeat(np.eye(3, 2), 100, axis=0)
    >>> choice = choose_n_clusters(KMeans(n_init=3), X, range(1, 6), random_state=0)
    >>> choice.n_clusters, choice.choices["gap"], choice.choices["stability"]
    (3, 3, 3)
    """
    values = {"criterion": criterion, "sample_size": sample_size, "random_state": random_state}
    rules = {"criterion": Choice(*_CRITERIA), "sample_size": Integer(2), "random_state": Seed()}
    check_parameters("choose_n_clusters", rules, values)
    numbers = _check("choose_n_clusters", n_clusters, {"n_references": n_references, "n_pairs": n_pairs})
    X = check_array(X, dtype=np.float64)
    # A seed of its own for each purpose: what one of them draws does not change the others.
    seeds = [int(seed.generate_state(1)[0] % 2**31) for seed in seed_sequence(random_state).spawn(4)]
    curves = {name: np.full(len(numbers), np.nan) for name in ("silhouette", "calinski_harabasz", "davies_bouldin")}
    for place, k in enumerate(numbers):
        labels = _find_labels(estimator, X, k, seeds[0])
        if 2 <= len(np.unique(labels)) < len(X):
            estimate = silhouette_interval(X, labels, sample_size=sample_size, random_state=seeds[1])
            curves["silhouette"][place] = estimate.score
            curves["calinski_harabasz"][place] = calinski_harabasz_score(X, labels)
            curves["davies_bouldin"][place] = davies_bouldin_score(X, labels)
    curves["gap"], curves["gap_error"] = gap_statistic(
        estimator, X, numbers, n_references=n_references, random_state=seeds[2]
    )
    stability = cluster_stability(estimator, X, numbers, n_pairs=n_pairs, random_state=seeds[3])
    # One cluster is always stable and says nothing.
    curves["stability"] = np.where(np.array(numbers) > 1, stability, np.nan)
    choices = {name: _choose(name, np.array(numbers), curves) for name in _CRITERIA}
    return ClusterNumberChoice(choices[criterion], criterion, np.array(numbers), curves, choices)


def _choose(name: str, numbers: Array, curves: dict[str, Array]) -> int:
    """Return the number of clusters that the criterion `name` chooses from its curve."""
    curve = curves[name]
    if name == "gap":
        # Tibshirani, Walther and Hastie (2001): the least k whose gap is at least gap(k + 1) less its standard error.
        good = curve[:-1] >= curve[1:] - curves["gap_error"][1:]
        return int(numbers[np.argmax(good)] if good.any() else numbers[-1])
    if np.isnan(curve).all():
        return int(numbers[0])
    if name == "stability":
        # Among nearly equal stabilities, within 0.01, the largest k says most.
        return int(numbers[curve >= np.nanmax(curve) - 0.01][-1])
    return int(numbers[np.nanargmin(curve) if name == "davies_bouldin" else np.nanargmax(curve)])


def _check(subject: str, n_clusters: Sequence[int], values: dict[str, Any]) -> list[int]:
    """Check the parameters, and return the numbers of clusters to try."""
    rules = {
        "n_references": Integer(1),
        "n_pairs": Integer(1),
        "share": Real(0, 1, closed="right"),
        "random_state": Seed(),
    }
    check_parameters(subject, {name: rules[name] for name in values}, values)
    numbers = [int(k) for k in n_clusters]
    if not numbers or min(numbers) < 1 or any(a >= b for a, b in pairwise(numbers)):
        raise DataError(
            f"{subject}: n_clusters must be rising positive integers, at least one; got {list(n_clusters)!r}."
        )
    return numbers


def _find_labels(estimator: Any, X: Array, k: int, seed: int) -> Array:
    model = clone(estimator).set_params(n_clusters=k)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return np.asarray(model.fit_predict(X))


def _log_scatter(labels: Array, X: Array) -> float:
    numbers = np.unique(labels, return_inverse=True)[1]
    counts = np.bincount(numbers)
    sums = np.zeros((len(counts), X.shape[1]))
    np.add.at(sums, numbers, X)
    scatter = float(np.sum((X - (sums / counts[:, None])[numbers]) ** 2))
    # Where every row is a cluster the scatter is zero, and its logarithm must stay finite.
    return float(np.log(max(scatter, np.finfo(np.float64).tiny)))
