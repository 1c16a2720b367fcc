"""How detectors compare: the ranks that they give to the same rows, and how far these agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._types import Array
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class OutlierComparison:
    """What several detectors say of the same rows.

    Attributes
    ----------
    names : list of str
        The detectors.
    scores : ndarray of shape (n_detectors, n_samples)
        Their scores: the lower, the stranger.
    ranks : ndarray of shape (n_detectors, n_samples)
        0 for the strangest row, n - 1 for the most usual one; rows of equal score share their mean rank.
    correlations : ndarray of shape (n_detectors, n_detectors)
        Spearman's correlation of the ranks of each two detectors: 1 where both order all rows alike. NaN where a
        detector gives all rows the same score.
    overlaps : ndarray of shape (n_detectors, n_detectors)
        The share of the `top` strangest rows of one detector that are also among those of the other.
    consensus : ndarray of shape (n_samples,)
        The rows by rising mean rank: those first on which the detectors agree that they are strange.
    top : int
        The number of strangest rows that overlaps are about.
    """

    names: list[str]
    scores: Array
    ranks: Array
    correlations: Array
    overlaps: Array
    consensus: Array
    top: int


def compare_outliers(X: Any, detectors: Any, *, top: int | None = None) -> OutlierComparison:
    """Fit detectors to the same rows, rank the rows by each, and measure how far they agree.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    detectors : dict of str to detector, or list of detectors
        Anything with ``fit`` and ``score_samples``, and local outlier factors. They are cloned.
    top : int or None, default=None
        The number of strangest rows to compare; None means a tenth of the rows.

    Returns
    -------
    OutlierComparison

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.ensemble import IsolationForest
    >>> from mercer.outliers import KNeighborsOutlier, compare_outliers
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[7] = 9.0
    >>> comparison = compare_outliers(X, [KNeighborsOutlier(), IsolationForest(random_state=0)])
    >>> comparison.names, int(comparison.consensus[0]), bool(comparison.correlations[0, 1] > 0.8)
    (['KNeighborsOutlier', 'IsolationForest'], 7, True)
    """
    named = _name_detectors(detectors)
    scores = np.array([score_rows(clone(detector), X) for detector in named.values()], dtype=np.float64)
    n = scores.shape[1]
    # A tenth of the rows: more than most tables hold of outliers, few enough for shares of agreement to mean something.
    top = max(1, n // 10) if top is None else top
    if not 1 <= top <= n:
        raise ParameterError(f"compare_outliers: top must be an integer in [1, {n}], the number of rows; got {top!r}.")
    ranks = np.array([_rank(row) for row in scores])
    strangest = np.zeros(scores.shape, bool)
    for number, row in enumerate(scores):
        # The lowest scores are the strangest, as in score_samples; the stable order breaks ties by row number.
        strangest[number, np.argsort(row, kind="stable")[:top]] = True
    return OutlierComparison(
        names=list(named),
        scores=scores,
        ranks=ranks,
        correlations=_correlate(ranks),
        # Entry (a, b) is the share of the top rows of a that are also top rows of b.
        overlaps=strangest.astype(np.int64) @ strangest.T / top,
        # The consensus is the order by mean rank, which does not depend on the scales of the scores.
        consensus=np.argsort(ranks.mean(axis=0), kind="stable"),
        top=top,
    )


def score_rows(detector: Any, X: Any) -> Array:
    """Fit a detector, and return the scores of the rows of the fit: the lower, the stranger."""
    detector.fit(X)
    for name in ("negative_outlier_factor_", "training_scores_"):
        # Scores in which no row is its own neighbour.
        if hasattr(detector, name):
            return np.asarray(getattr(detector, name))
    if not hasattr(detector, "score_samples"):
        raise ParameterError(
            f"compare_outliers: a detector must have score_samples; {type(detector).__name__} has not. Use a detector "
            f"of mercer.outliers, mercer.ensemble, mercer.covariance, mercer.neighbors or mercer.svm."
        )
    return np.asarray(detector.score_samples(X)).reshape(-1)


def _name_detectors(detectors: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return the detectors by name; those of a list are named after their class, with a number where it is not new."""
    if isinstance(detectors, Mapping):
        named = dict(detectors)
    else:
        named = {}
        for detector in detectors:
            name, number = type(detector).__name__, 2
            while name in named:
                name, number = f"{type(detector).__name__} {number}", number + 1
            named[name] = detector
    if not named:
        raise DataError("compare_outliers: detectors must not be empty; give at least one.")
    return named


def _rank(scores: Array) -> Array:
    """Return the rank of each score from 0 on; equal scores share their mean rank."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    # Equal scores fill the places from ends - counts to ends - 1; the mean of these two is their common rank.
    return ((ends - counts + ends - 1) / 2.0)[inverse]


def _correlate(ranks: Array) -> Array:
    """Return the correlations of rows of ranks; NaN where all ranks of a row are equal."""
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Rounding can make a correlation slightly larger than one. Equal ranks have no length, and 0 / 0 gives NaN.
        return np.clip(centred @ centred.T / np.outer(lengths, lengths), -1.0, 1.0)
