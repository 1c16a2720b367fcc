"""The one-standard-error rule: choose the simplest candidate within one standard error of the best."""

from typing import Any

import numpy as np

from mercer.errors import DataError

__all__ = ["one_standard_error"]


def one_standard_error(scores: Any, complexity: Any, *, standard_error: Any = None) -> int:
    """Choose the simplest candidate whose mean score is within one standard error of the best.

    Parameters
    ----------
    scores : array-like of shape (n_candidates, n_folds)
        Scores, greater is better.
    complexity : array-like of shape (n_candidates,)
        Smaller is simpler; among equals the better score wins.
    standard_error : float or None, default=None
        Standard error of the best mean; None estimates it from the fold scores.

    Returns
    -------
    int
        The index of the chosen candidate.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, *Classification and Regression Trees*, Wadsworth (1984), section
    3.4.3.

    Examples
    --------
    >>> from mercer.model_selection import one_standard_error
    >>> one_standard_error([[0.79, 0.81, 0.80], [0.80, 0.82, 0.79], [0.60, 0.62, 0.61]], complexity=[5, 40, 1])
    0
    """
    table = np.atleast_2d(np.asarray(scores, dtype=float))
    ranks = np.asarray(complexity, dtype=float)
    if len(table) != len(ranks):
        message = (
            f"one_standard_error: complexity must have one entry per row of scores, {len(table)}; got {len(ranks)}."
        )
        raise DataError(message)
    means = table.mean(axis=1)
    best = int(means.argmax())
    if standard_error is None:
        n_folds = table.shape[1]
        # With one fold there is no estimate of the error, and the best score wins.
        standard_error = table[best].std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else 0.0
    near = np.flatnonzero(means >= means[best] - standard_error)
    return int(min(near, key=lambda place: (ranks[place], -means[place])))
