"""An interval for a score from folds that share training rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from mercer.errors import ParameterError


@dataclass(frozen=True)
class ScoreInterval:
    """The mean of fold scores, and an interval for the score on new rows.

    Attributes
    ----------
    mean : float
        Mean of the fold scores.
    low, high : float
        Ends of the interval.
    level : float
        Confidence level.
    standard_error : float
        Standard error of the mean, corrected for shared training rows.
    """

    mean: float
    low: float
    high: float
    level: float
    standard_error: float


def score_interval(scores: Any, *, test_share: float, level: float = 0.95) -> ScoreInterval:
    """Compute an interval for a generalisation score by the corrected resampled t statistic.

    Scores of folds are not independent: any two folds share training rows. The variance of their mean is therefore
    taken as (1/J + n_test/n_train) s^2 instead of s^2/J, with s^2 the variance of the J scores.

    Parameters
    ----------
    scores : array-like of shape (n_splits,)
        One score per split.
    test_share : float
        Rows of a test fold divided by rows of a training part: 1/4 for five folds.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    ScoreInterval
        The mean, and the interval around it.

    Notes
    -----
    It assumes roughly normal scores and exchangeable rows (or groups, or times that continue as before). It is about
    models fitted to as many rows as a training part has. It is more often too wide than too narrow. The interval of a
    single split is infinite.

    References
    ----------
    C. Nadeau and Y. Bengio, *Inference for the generalization error*, Machine Learning 52 (2003).

    Examples
    --------
    >>> from mercer.model_selection import score_interval
    >>> found = score_interval([0.80, 0.84, 0.79, 0.83, 0.84], test_share=0.25)
    >>> round(found.mean, 2), round(found.low, 2), round(found.high, 2)
    (0.82, 0.78, 0.86)
    """
    if not 0 < level < 1:
        raise ParameterError(f"score_interval: level must be a number in (0, 1); got {level}.")
    values = np.asarray(scores, dtype=float)
    mean = float(values.mean())
    # One score has no variance to estimate.
    if len(values) < 2:
        return ScoreInterval(mean, -np.inf, np.inf, level, np.inf)
    # Nadeau and Bengio: folds that share training rows are correlated by about n_test / (n_test + n_train), which adds
    # n_test / n_train to the factor 1 / J of independent scores.
    error = float(np.sqrt((1 / len(values) + test_share) * values.var(ddof=1)))
    half = float(student.ppf(0.5 + level / 2, len(values) - 1)) * error
    return ScoreInterval(mean, mean - half, mean + half, level, error)
