"""Rules that choose the simplest candidate about as good as the best, by standard errors of scores or of lags."""

from typing import Any

import numpy as np

from mercer.errors import DataError


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
        raise DataError(
            f"one_standard_error: complexity must have one entry per row of scores, {len(table)}; got {len(ranks)}."
        )
    means = table.mean(axis=1)
    best = int(means.argmax())
    if standard_error is None:
        n_folds = table.shape[1]
        # With one fold there is no estimate of the error, and the best score wins.
        standard_error = table[best].std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else 0.0
    near = np.flatnonzero(means >= means[best] - standard_error)
    return int(min(near, key=lambda place: (ranks[place], -means[place])))


def choose_simplest(
    scores: Any, complexity: Any, *, test_share: float, variance: Any = None, losses: Any = None
) -> int:
    """Choose the simplest candidate whose lag behind the best is within one standard error of the lag.

    Scores on the same folds vary together: a fold that is hard for one candidate is hard for the others. The lag behind
    the best is therefore taken fold by fold, and its standard error is that of Nadeau and Bengio, which allows for the
    training rows that folds share: the square root of (1/J + n_test/n_train) s^2, with s^2 the variance of the J lags.
    One standard error of the scores themselves would let a simpler candidate win that lags on every fold.

    A few folds give a rough standard error: one fold with an extreme row makes it so large that a candidate which lags
    far behind counts as near. With the losses of single rows, a candidate must be near by them too.

    A lag may be small and certain, or large and uncertain: only the second is within one standard error. A candidate
    is therefore passed over if another one that is not near is at least as simple, has at least its score and, with
    losses, no larger mean loss: nobody wants a model that is more complex and worse.

    Parameters
    ----------
    scores : array-like of shape (n_candidates, n_folds)
        Scores on the same folds, greater is better.
    complexity : array-like of shape (n_candidates,)
        Smaller is simpler; among equals the better score wins.
    test_share : float
        Rows of a test fold divided by rows of a training part: 1/4 for five folds.
    variance : array-like of shape (n_candidates,) or None, default=None
        Variance of the lags of each candidate, where there is a better estimate than that from few folds; None takes
        the variance of its lags.
    losses : array-like of shape (n_candidates, n_rows) or None, default=None
        Loss of each candidate on each row, when the row was in a test fold; NaN where it is not known.

    Returns
    -------
    int
        The index of the chosen candidate.

    References
    ----------
    C. Nadeau and Y. Bengio, *Inference for the generalization error*, Machine Learning 52 (2003).

    Examples
    --------
    >>> from mercer.model_selection import one_standard_error, choose_simplest
    >>> scores = [[0.70, 0.80, 0.90], [0.72, 0.82, 0.92]]  # the second is better on each fold
    >>> one_standard_error(scores, [1, 2]), choose_simplest(scores, [1, 2], test_share=0.5)
    (0, 1)
    """
    table = np.atleast_2d(np.asarray(scores, dtype=float))
    ranks = np.asarray(complexity, dtype=float)
    if len(table) != len(ranks):
        raise DataError(
            f"choose_simplest: complexity must have one entry per row of scores, {len(table)}; got {len(ranks)}."
        )
    means = table.mean(axis=1)
    lags = table[int(means.argmax())] - table
    n_folds = table.shape[1]
    # With one fold there is no estimate of the error, and the best score wins.
    spread = np.zeros(len(table)) if n_folds < 2 else lags.var(axis=1, ddof=1)
    if variance is not None:
        spread = np.asarray(variance, dtype=float)
    errors = np.sqrt((1 / n_folds + test_share) * spread)
    # Rounding may leave a lag of 1e-16 between equal scores.
    near = lags.mean(axis=1) <= errors + 1e-12
    if losses is not None:
        near &= ~find_outdone(losses, int(means.argmax()), n_folds, test_share)
    kept = [int(place) for place in np.flatnonzero(near) if not _is_surpassed(int(place), near, ranks, means, losses)]
    return min(kept, key=lambda place: (ranks[place], -means[place]))


def _is_surpassed(place: int, near: np.ndarray, ranks: np.ndarray, means: np.ndarray, losses: Any) -> bool:
    """Return whether a candidate that is not near is as simple as the one at `place`, and no worse."""
    others = ~near & (ranks <= ranks[place]) & (means >= means[place])
    if losses is not None:
        others &= ~_find_larger_losses(losses, place)
    return bool(others.any())


def _find_larger_losses(losses: Any, reference: int) -> np.ndarray:
    """Return which candidates have a larger mean loss than the `reference`, over the rows where both are known."""
    excess = np.asarray(losses, dtype=float)
    excess = excess - excess[reference]
    return np.where(np.isfinite(excess), excess, 0.0).sum(axis=1) > 0


def find_outdone(losses: Any, best: int, n_folds: int, test_share: float) -> np.ndarray:
    """Return which candidates have larger losses than the `best` one, row by row, by more than one standard error.

    The standard error is that of a mean over rows, times the square root of 1 + J n_test/n_train for the training rows
    that the J folds share. One row with an absurd prediction makes it as large as the difference itself. A candidate
    with larger losses is therefore also compared with one in a hundred rows at each end moved to the next one
    (winsorised). A candidate with fewer than two rows in common with the best one is not outdone.
    """
    excess = np.asarray(losses, dtype=float)
    excess = excess - excess[best]
    known = np.isfinite(excess)
    counts = known.sum(axis=1)
    outdone = np.zeros(len(excess), dtype=bool)
    for place in np.flatnonzero(counts > 1):
        gap = np.sort(excess[place, known[place]])
        moved = max(1, len(gap) // 100)
        ordinary = np.clip(gap, gap[moved], gap[-1 - moved]) if len(gap) > 2 * moved else gap
        factor = np.sqrt((1 + n_folds * test_share) / len(gap))
        # Rounding may leave a difference of 1e-16 between equal losses.
        lags = [part.mean() > factor * part.std(ddof=1) + 1e-12 for part in (gap, ordinary)]
        outdone[place] = gap.mean() > 1e-12 and any(lags)
    return outdone
