"""The impurity of a node and the gain of a split, by their definitions, for any number of parts."""

import math
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError, ParameterError

_CRITERIA = ("entropy", "gini", "misclassification", "squared_error", "absolute_error", "poisson")


def impurity(y: Any, criterion: str = "entropy", *, sample_weight: Any = None, base: float = 2.0) -> float:
    r"""Return the impurity of the targets of a node; zero if all are equal.

    With p the weighted shares of the classes: entropy :math:`-\sum_k p_k \log p_k`, Gini's index
    :math:`1 - \sum_k p_k^2`, misclassification :math:`1 - \max_k p_k`; for numbers the variance, the mean distance from
    the median, or half the mean Poisson deviance :math:`\overline{y \log(y / \bar y)}`. All are concave in the shares.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels or numbers.
    criterion : str, default='entropy'
        'entropy', 'gini', 'misclassification', 'squared_error', 'absolute_error' or 'poisson'.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    base : float, default=2.0
        The base of the logarithm of the entropy: 2 gives bits, e nats.

    Returns
    -------
    impurity : float

    Examples
    --------
    >>> from mercer.tree import impurity
    >>> round(impurity([1] * 9 + [0] * 5), 6), impurity([0, 1], "gini")
    (0.940286, 0.5)
    """
    if criterion not in _CRITERIA:
        raise ParameterError(
            f"impurity: criterion must be one of {', '.join(map(repr, _CRITERIA))}; got {criterion!r}."
        )
    y = np.asarray(y)
    weight = _check_weights("impurity", y, sample_weight)
    if criterion in ("squared_error", "absolute_error", "poisson"):
        return _measure_numbers(y.astype(np.float64), weight, criterion)
    classes, numbers = np.unique(y, return_inverse=True)
    shares = np.bincount(numbers, weight, minlength=len(classes)) / weight.sum()
    # p log p goes to zero with p; classes without weight are left out so that log 0 is not taken.
    shares = shares[shares > 0]
    if criterion == "entropy":
        # Rounding can make the sum slightly negative for a pure node.
        return max(0.0, -float(shares @ np.log(shares)) / math.log(base))
    return float(1.0 - shares.max()) if criterion == "misclassification" else max(0.0, 1.0 - float(shares @ shares))


def _check_weights(name: str, y: Array, sample_weight: Any) -> Array:
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if y.ndim != 1 or weight.shape != y.shape or len(y) == 0 or weight.min() < 0 or weight.sum() <= 0:
        raise DataError(
            f"{name}: y must have one value per row, and sample_weight one weight, not negative and not all zero; got "
            f"shapes {y.shape} and {weight.shape}. Give vectors of one length."
        )
    return weight


def _measure_numbers(y: Array, weight: Array, criterion: str) -> float:
    if criterion == "absolute_error":
        order = np.argsort(y, kind="stable")
        # The first target at which half of the weight is reached.
        median = y[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
        return float(np.average(np.abs(y - median), weights=weight))
    mean = np.average(y, weights=weight)
    if criterion == "squared_error":
        return float(np.average((y - mean) ** 2, weights=weight))
    positive = y > 0
    # y log(y / mean) is zero at y = 0.
    return float(weight[positive] @ (y[positive] * np.log(y[positive] / mean)) / weight.sum())


def split_gain(
    y: Any, parts: Any, criterion: str = "entropy", *, sample_weight: Any = None, base: float = 2.0
) -> float:
    r"""Return the gain of a split: the impurity of the whole less the weighted mean impurity of its parts.

    .. math:: G = I(S) - \sum_v \frac{w(S_v)}{w(S)} I(S_v) .

    Never negative. With entropy it is the mutual information of label and part, zero if they are independent.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels or numbers.
    parts : array-like of shape (n_samples,)
        The part that each row goes to: two of them or more.
    criterion : str, default='entropy'
        As of :func:`impurity`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    base : float, default=2.0
        The base of the logarithm of the entropy.

    Returns
    -------
    gain : float

    Examples
    --------
    >>> from mercer.tree import split_gain
    >>> split_gain([0, 0, 1, 1], ["left", "left", "right", "right"])
    1.0
    """
    y, names = np.asarray(y), np.asarray(parts)
    weight = _check_weights("split_gain", y, sample_weight)
    if names.shape != y.shape:
        raise DataError(f"split_gain: parts must have one entry per row; got shape {names.shape} for {len(y)} rows.")
    rest = 0.0
    for name in np.unique(names):
        own = names == name
        # A part without weight adds nothing, and has no shares.
        if weight[own].sum() > 0:
            rest += weight[own].sum() * impurity(y[own], criterion, sample_weight=weight[own], base=base)
    return impurity(y, criterion, sample_weight=weight, base=base) - float(rest / weight.sum())
