"""Conformal p-values of scores, and how many of them are discoveries."""

from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError


def conformal_p_values(scores: Any, new_scores: Any) -> np.ndarray:
    """Return how unusual new scores are beside scores of usual rows: the share of ranks that are as strange.

    A p-value is at most t with a probability of at most t, for a new row that is exchangeable with the usual ones.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of usual rows that the model was not fitted to; greater is stranger. Of a detector of outliers, take
        ``-detector.score_samples(X)``.
    new_scores : array-like of shape (m,)
        Scores of the rows in question.

    Returns
    -------
    ndarray of shape (m,)
        At least 1 / (n + 1): with few usual rows no row can be very unusual.

    References
    ----------
    S. Bates, E. Candes, L. Lei, Y. Romano and M. Sesia, *Testing for outliers with conformal p-values*, Annals of
    Statistics 51 (2023).

    Examples
    --------
    >>> from mercer.conformal import conformal_p_values
    >>> conformal_p_values([1.0, 2.0, 3.0], [2.5, 9.0]).tolist()
    [0.5, 0.25]
    """
    usual = np.sort(_read_scores("scores", scores))
    new = _read_scores("new_scores", new_scores)
    return (1.0 + len(usual) - np.searchsorted(usual, new, side="left")) / (len(usual) + 1.0)


def _read_scores(name: str, scores: Any) -> np.ndarray:
    values = np.asarray(scores, dtype=np.float64).ravel()
    if np.isnan(values).any():
        raise DataError(f"conformal_p_values: {name} must be numbers; got NaN. Leave those rows out.")
    return values


def select_discoveries(p_values: Any, false_discovery_rate: float = 0.1) -> np.ndarray:
    """Return which p-values are small enough that few of the chosen ones are false, by Benjamini and Hochberg.

    Of the chosen rows, a share of at most `false_discovery_rate` are usual ones, in expectation. Conformal p-values
    that share their usual rows depend on each other in the way that the procedure allows.

    Parameters
    ----------
    p_values : array-like of shape (m,)
        As :func:`conformal_p_values` returns them.
    false_discovery_rate : float, default=0.1
        In (0, 1).

    Returns
    -------
    ndarray of bool of shape (m,)

    References
    ----------
    Y. Benjamini and Y. Hochberg, *Controlling the false discovery rate*, Journal of the Royal Statistical Society B 57
    (1995).

    Examples
    --------
    >>> from mercer.conformal import select_discoveries
    >>> select_discoveries([0.01, 0.04, 0.03, 0.5], 0.05).tolist()
    [True, False, False, False]
    """
    if not 0.0 < false_discovery_rate < 1.0:
        raise ParameterError(
            f"select_discoveries: false_discovery_rate must be a number in (0, 1); got {false_discovery_rate!r}."
        )
    values = np.asarray(p_values, dtype=np.float64).ravel()
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise DataError("select_discoveries: p_values must lie in [0, 1].")
    m = len(values)
    ordered = np.sort(values)
    # The largest p-value below its line chooses itself and all smaller ones.
    below = np.flatnonzero(ordered <= false_discovery_rate * np.arange(1, m + 1) / max(m, 1))
    return values <= ordered[below[-1]] if len(below) else np.zeros(m, dtype=bool)
