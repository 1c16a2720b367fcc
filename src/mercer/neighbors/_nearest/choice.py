"""The choice of the number of neighbours by leaving out one row at a time, for every number from one search."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Choice, Integer, check_parameters
from mercer._types import Array
from mercer.neighbors._nearest.nearest_neighbors import NearestNeighbors


@dataclass(frozen=True, eq=False)
class NeighborChoice:
    """The leave-one-out scores of k = 1 to K neighbours.

    Attributes
    ----------
    n_neighbors : int
        The k of the best score; of equal ones the largest k, whose decisions are the smoothest.
    scores : ndarray of shape (K,)
        The accuracy, or the coefficient of determination, of rows predicted from the k nearest other rows.
    standard_errors : ndarray of shape (K,)
        The standard error of each accuracy; NaN for regression.
    """

    n_neighbors: int
    scores: Array
    standard_errors: Array


def select_n_neighbors(
    X: Any, y: Any, max_neighbors: int = 50, *, task: str = "classification", n_jobs: int | None = None, **options: Any
) -> NeighborChoice:
    """Compare numbers of neighbours by leave-one-out: one search gives the scores of all of them.

    Row i is predicted from its k nearest other rows, for each k up to `max_neighbors`, by votes or means of equal
    weight.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
    y : array-like of shape (n,)
        Labels, or numbers for ``task='regression'``.
    max_neighbors : int, default=50
        The largest k; at most n - 1 is taken.
    task : {'classification', 'regression'}, default='classification'
        Whether neighbours vote, or their targets are averaged.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.
    **options
        Parameters of :class:`NearestNeighbors`, such as `metric`.

    Returns
    -------
    choice : NeighborChoice

    Examples
    --------
    >>> from mercer.neighbors import select_n_neighbors
    >>> from sklearn.datasets import load_iris
    >>> choice = select_n_neighbors(*load_iris(return_X_y=True), max_neighbors=30)
    >>> choice.n_neighbors, round(float(choice.scores.max()), 2)
    (21, 0.98)
    """
    rules = {"max_neighbors": Integer(1), "task": Choice("classification", "regression")}
    check_parameters("select_n_neighbors", rules, {"max_neighbors": max_neighbors, "task": task})
    model = NearestNeighbors(n_jobs=n_jobs, **options).fit(X)
    targets = np.asarray(y)
    indices = model.kneighbors(n_neighbors=min(max_neighbors, model.n_samples_fit_ - 1), return_distance=False)
    if task == "regression":
        # Running means over 1, 2, 3... neighbours from one sorted list.
        means = np.cumsum(targets[indices], axis=1, dtype=np.float64) / np.arange(1, indices.shape[1] + 1)
        residuals = np.mean((targets[:, None] - means) ** 2, axis=0)
        scores = 1.0 - residuals / max(float(np.var(targets)), np.finfo(np.float64).tiny)
        errors = np.full(len(scores), np.nan)
    else:
        scores = _score_votes(indices, targets)
        # The standard error of a share.
        errors = np.sqrt(scores * (1.0 - scores) / len(targets))
    # Of equally good numbers the largest: it varies less.
    best = len(scores) - 1 - int(np.argmax(scores[::-1]))
    return NeighborChoice(best + 1, scores, errors)


def _score_votes(indices: Array, labels: Array) -> Array:
    """Return the accuracy of the votes of the first k neighbours, for each k."""
    classes, codes = np.unique(labels, return_inverse=True)
    votes = np.zeros((len(labels), len(classes)))
    rows, scores = np.arange(len(labels)), np.empty(indices.shape[1])
    for k, neighbours in enumerate(indices.T):
        votes[rows, codes[neighbours]] += 1.0
        scores[k] = np.mean(np.argmax(votes, axis=1) == codes)
    return scores
