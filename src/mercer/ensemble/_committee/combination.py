"""Combinations of members' predictions, and the variance of their mean."""

import math
from typing import Any

import numpy as np

from mercer._base.reading import read_integer
from mercer.errors import DataError


def combine_labels(labels: Any, weights: Any = None) -> np.ndarray:
    r"""Return the (weighted) majority of the members' labels, :math:`\arg\max_k \sum_t \alpha_t [h_t(x) = k]`.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Labels.
    weights : array-like of shape (n_members,) or None, default=None
        :math:`\alpha`; only their proportions matter. None: all equal.

    Returns
    -------
    ndarray of shape (n_samples,)
        The first of equal ones in sorted order.

    Examples
    --------
    >>> from mercer.ensemble import combine_labels
    >>> combine_labels([["a", "b", "b"], ["a", "a", "b"]]).tolist()
    ['b', 'a']
    >>> combine_labels([["a", "b", "b"]], weights=[3, 1, 1]).tolist()
    ['a']
    """
    labels = np.asarray(labels)
    weights = _check_weights("combine_labels", labels, weights)
    classes = np.unique(labels)
    votes = np.stack([(labels == label) @ weights for label in classes], axis=1)
    close = votes >= votes.max(axis=1, keepdims=True) - 1e-12 * np.abs(weights).sum()
    return classes[close.argmax(axis=1)]


def combine_numbers(values: Any, weights: Any = None, *, normalize: bool = True) -> np.ndarray:
    r"""Return the mean, or the weighted sum, of the members' predictions.

    Parameters
    ----------
    values : array-like of shape (n_samples, n_members) or (n_samples, n_members, k)
        Predictions or probabilities.
    weights : array-like of shape (n_members,) or None, default=None
        :math:`\alpha`; None: all one.
    normalize : bool, default=True
        Whether weights are divided by their sum: bagging's mean does so, boosting's sum does not.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, k)

    Examples
    --------
    >>> from mercer.ensemble import combine_numbers
    >>> combine_numbers([[1.0, 2.0, 6.0]]).tolist(), combine_numbers([[1.0, 3.0]], [3, 1]).tolist()
    ([3.0], [1.5])
    """
    values = np.asarray(values, dtype=np.float64)
    weights = _check_weights("combine_numbers", values, weights)
    if normalize:
        weights = weights / weights.sum()
    return np.tensordot(values, weights, axes=(1, 0))


def _check_weights(name: str, answers: np.ndarray, weights: Any) -> np.ndarray:
    """Return the weights (members,), ones for None; raise if they do not fit the table of predictions."""
    if answers.ndim < 2:
        raise DataError(
            f"{name}: answers must be a table, rows by members; got shape {answers.shape}. Stack them as columns."
        )
    checked = np.ones(answers.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if checked.shape != (answers.shape[1],) or checked.sum() <= 0:
        raise DataError(
            f"{name}: weights must be one number for each of {answers.shape[1]} members, with a positive sum; got "
            f"{weights!r}."
        )
    return checked


def variance_of_average(variance: float, correlation: float, n_members: int) -> float:
    r"""Return the variance of the mean of M equally correlated predictions, :math:`\rho s^2 + (1 - \rho) s^2 / M`.

    Parameters
    ----------
    variance : float
        :math:`s^2`, of one member.
    correlation : float in [-1, 1]
        :math:`\rho`, of any two; at least :math:`-1/(M-1)`.
    n_members : int
        M.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.ensemble import variance_of_average
    >>> variance_of_average(4.0, 0.0, 8), variance_of_average(4.0, 1.0, 8), variance_of_average(4.0, 0.5, 8)
    (0.5, 4.0, 2.25)
    """
    n_members = read_integer("variance_of_average", "n_members", n_members, 1)
    # M numbers whose pairs all have one correlation exist from -1 / (M - 1) on: below, their sum has variance < 0.
    least = -1.0 if n_members == 1 else max(-1.0, -1.0 / (n_members - 1))
    if not (0 <= variance < math.inf and least - 1e-9 <= correlation <= 1 + 1e-9):
        raise DataError(
            f"variance_of_average: variance must be in [0, inf) and correlation in [{least:.6g}, 1], since {n_members} "
            f"numbers cannot all be less correlated; got {variance!r} and {correlation!r}."
        )
    correlation = min(max(correlation, least), 1.0)
    return correlation * variance + (1 - correlation) * variance / n_members
