"""An interval for a score from the predictions of unseen rows, pooled over the folds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from mercer.errors import DataError, ParameterError
from mercer.model_selection._interval import ScoreInterval

# The variance of the pooled rows is multiplied by this: it allows for the training rows, which are random too. It was
# chosen on the first half of the tables of benchmarks/intervals.py; the second half confirms it.
_TRAINING_SHARE = 1.5
# Of each class, one right and one wrong row are added, so that a class without errors does not have variance zero.
_ADDED = 1.0
# Scores that are a ratio or a root of means: where few rows have most of the variance, the mean over folds differs from
# the pooled score, and the spread of the folds shows by how much.
_CURVED = ("r2", "neg_root_mean_squared_error")


def pool_interval(
    y: Any,
    predictions: Any,
    *,
    scoring: str,
    scores: Any = None,
    labels: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> ScoreInterval:
    """Compute an interval for a generalisation score from predictions of unseen rows, pooled over the folds.

    The variance of the score is that of the mean of its influence values: how much each row moves the score. For
    accuracy these are ones and zeros, for an R² squared residuals over the variance of the target, for the area under
    the ROC curve the shares of the other class that a row is ranked above. Rows of one group count as one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes or values.
    predictions : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predictions of models that have not seen the row: values, or class probabilities in the sorted order of the
        classes.
    scoring : {"accuracy", "balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss", "neg_brier_score", "r2", \
"neg_mean_absolute_error", "neg_root_mean_squared_error"}
        scikit-learn's name of the score.
    scores : array-like of shape (n_splits,) or None, default=None
        The scores of the folds; their mean is the middle of the interval. None takes the score of the pooled rows.
    labels : array-like of shape (n_samples,) or None, default=None
        Predicted classes, where they are not the most probable ones.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows of one group depend on each other.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    ScoreInterval
        The score, and the interval around it.

    Notes
    -----
    Scores of five folds have a variance that is itself known badly: the interval of :func:`score_interval` is wide,
    since it must allow for that. Every row has a prediction, so that the pooled variance has as many degrees of freedom
    as rows or groups. The variance over training sets is not in it; a factor of 1.5 on the variance allows for it,
    which is measured on real tables. See *Intervals of scores* in the documentation.

    References
    ----------
    P. Bayle, A. Bayle, L. Janson and L. Mackey, *Cross-validation confidence intervals for test error*, NeurIPS 2020.

    S. Bates, T. Hastie and R. Tibshirani, *Cross-validation: what does it estimate and how well does it do it?*,
    Journal of the American Statistical Association 119 (2024).

    Examples
    --------
    >>> from mercer.model_selection import pool_interval
    >>> found = pool_interval([0, 1] * 50, [0, 1] * 45 + [1, 0] * 5, scoring="accuracy")
    >>> round(found.mean, 2), round(found.low, 2), round(found.high, 2)
    (0.9, 0.82, 0.98)
    """
    if scoring not in POOLED_SCORES:
        raise ParameterError(f"pool_interval: scoring must be one of {', '.join(POOLED_SCORES)}; got {scoring!r}.")
    if not 0 < level < 1:
        raise ParameterError(f"pool_interval: level must be a number in (0, 1); got {level}.")
    true, given = np.asarray(y), np.asarray(predictions)
    if len(true) != len(given) or len(true) < 2:
        raise DataError(
            f"pool_interval: y and predictions must have the same number of rows, 2 or more; got {len(true)} and "
            f"{len(given)}."
        )
    weight = np.ones(len(true)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    # Weights with mean one: sums of influence values stay in units of rows.
    weight = weight / weight.mean()
    answer = _decide(true, given) if labels is None else np.asarray(labels)
    mean, moved, added = POOLED_SCORES[scoring](true, given, answer, weight)
    if groups is not None:
        # Rows of one group move together: their influence values are added before they are squared.
        _, place = np.unique(np.asarray(groups), return_inverse=True)
        moved = np.bincount(place, moved)
    n_rows, n_units = len(true), len(moved)
    if n_units < 2:
        return ScoreInterval(mean, -np.inf, np.inf, level, np.inf)
    # A score is its mean plus the mean of the influence values, up to terms of smaller order.
    variance = (float(moved @ moved) + added) / n_rows**2 * n_units / (n_units - 1)
    error = float(np.sqrt(_TRAINING_SHARE * variance))
    middle = mean
    if scores is not None:
        folds = np.asarray(scores, dtype=float)
        middle = float(folds.mean())
        if scoring in _CURVED and len(folds) > 1:
            error = max(error, float(folds.std(ddof=1) / np.sqrt(len(folds))))
    half = float(student.ppf(0.5 + level / 2, n_units - 1)) * error
    return ScoreInterval(middle, middle - half, middle + half, level, error)


def _decide(true: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the predictions, or of probabilities the most probable classes."""
    return np.unique(true)[given.argmax(axis=1)] if given.ndim == 2 else given


Influence = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray, float]]


def _move_accuracy(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    right = (answer == true).astype(float)
    mean = float(np.average(right, weights=weight))
    # The added rows move the score by 1 - mean and by -mean.
    return mean, weight * (right - mean), _ADDED * ((1 - mean) ** 2 + mean**2)


def _move_balanced(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    names, place = np.unique(true, return_inverse=True)
    right = (answer == true).astype(float)
    sizes = np.bincount(place, weight)
    recall = np.bincount(place, weight * right) / sizes
    # The score is the mean recall. A row of a class of size m moves the recall of its class by n / m of its own share.
    share = len(true) / (len(names) * sizes)
    added = _ADDED * float((share**2 * ((1 - recall) ** 2 + recall**2)).sum())
    return float(recall.mean()), share[place] * weight * (right - recall[place]), added


def _move_f1(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    names = np.unique(true)
    moved, scores = np.zeros(len(true)), []
    for name in names:
        here, said = true == name, answer == name
        hits, half = float(weight @ (here & said)), float(weight @ here + weight @ said) / 2
        scores.append(hits / half if half else 0.0)
        # F1 is a ratio of two sums, hits over half of the rows that are or are called `name`: the delta method.
        if half:
            moved += weight * ((here & said) - scores[-1] * (here / 2 + said / 2)) * len(true) / half / len(names)
    return float(np.mean(scores)), moved, _ADDED * 0.5 * len(names)


def _move_area(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    names = np.unique(true)
    moved, areas = np.zeros(len(true)), []
    # With two classes one area says all: the other is the same by symmetry.
    tested = names[1:] if len(names) == 2 else names
    for name in tested:
        here = true == name
        column = given[:, int(np.flatnonzero(names == name)[0])] if given.ndim == 2 else given.astype(float)
        n_here, n_other = int(here.sum()), int((~here).sum())
        # Mid-ranks: ties count one half, as the area takes them.
        ranks = rankdata(column)
        above = np.empty(len(true))
        # DeLong: for each row the share of rows of the other kind that it is ranked rightly against.
        above[here] = (ranks[here] - rankdata(column[here])) / n_other
        above[~here] = 1 - (ranks[~here] - rankdata(column[~here])) / n_here
        area = float(above[here].mean())
        areas.append(area)
        sizes = np.where(here, n_here, n_other)
        moved += weight * (above - area) * len(true) / sizes / len(tested)
    return float(np.mean(areas)), moved, 0.0


def _move_log_loss(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    place = np.searchsorted(np.unique(true), true)
    gain = np.log(np.maximum(given[np.arange(len(true)), place], 1e-6))
    mean = float(np.average(gain, weights=weight))
    return mean, weight * (gain - mean), 0.0


def _move_brier(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    names = np.unique(true)
    gain = -((given - (true[:, None] == names)) ** 2).sum(axis=1)
    # scikit-learn counts one column of two classes.
    gain = gain / 2 if len(names) == 2 else gain
    mean = float(np.average(gain, weights=weight))
    return mean, weight * (gain - mean), 0.0


def _move_r2(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    left = (true - given) ** 2
    away = (true - np.average(true, weights=weight)) ** 2
    error, spread = float(np.average(left, weights=weight)), float(np.average(away, weights=weight))
    spread = spread or 1.0
    # The score is 1 - error / spread; both are means over the same rows.
    return 1 - error / spread, weight * (error / spread * (away - spread) - (left - error)) / spread, 0.0


def _move_absolute(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    left = np.abs(true - given)
    mean = float(np.average(left, weights=weight))
    return -mean, weight * (mean - left), 0.0


def _move_root(true: Any, given: Any, answer: Any, weight: Any) -> tuple[float, np.ndarray, float]:
    left = (true - given) ** 2
    mean = float(np.average(left, weights=weight))
    root = float(np.sqrt(mean))
    return -root, weight * (mean - left) / (2 * root or 1.0), 0.0


# Each returns the score, n times what each row adds to it beyond its mean share, and the squares of the added rows.
POOLED_SCORES: dict[str, Influence] = {
    "accuracy": _move_accuracy,
    "balanced_accuracy": _move_balanced,
    "f1_macro": _move_f1,
    "roc_auc_ovr": _move_area,
    "neg_log_loss": _move_log_loss,
    "neg_brier_score": _move_brier,
    "r2": _move_r2,
    "neg_mean_absolute_error": _move_absolute,
    "neg_root_mean_squared_error": _move_root,
}
