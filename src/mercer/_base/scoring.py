"""scikit-learn's mixins of classifiers and regressors, whose ``score`` does not inspect plain arrays.

scikit-learn's metrics find out what kind of targets they are given, which takes 0.3 ms for 30 rows, as long as a small
fit: a search pays it once for each fold. Labels and numbers in plain NumPy arrays need no such inspection; everything
else goes to scikit-learn's functions.
"""

import math
from typing import Any

import numpy as np

from mercer._base import interface

# Kinds of NumPy types whose values are labels as they are: integers of both kinds, booleans, texts.
_LABELS = {"i": "integer", "u": "integer", "b": "boolean", "U": "text"}


def compute_accuracy(y: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Return the share of labels that are predicted, as ``sklearn.metrics.accuracy_score`` does.

    Parameters
    ----------
    y, predicted : array-like of shape (n,)
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    float
    """
    if sample_weight is None and _are_vectors(y, predicted):
        kind = _LABELS.get(y.dtype.kind)
        if kind is not None and kind == _LABELS.get(predicted.dtype.kind):
            return int(np.count_nonzero(y == predicted)) / len(y)
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def compute_determination(y: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Return the coefficient of determination, as ``sklearn.metrics.r2_score`` does.

    Parameters
    ----------
    y, predicted : array-like of shape (n,) or (n, n_targets)
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    float
    """
    plain = sample_weight is None and _are_vectors(y, predicted) and len(y) > 1
    if plain and y.dtype == predicted.dtype == np.float64:
        # As columns, since NumPy may add up a vector in another order than r2_score adds up its columns.
        gaps, spread = (y - predicted)[:, None], y[:, None] - np.average(y[:, None], axis=0)
        left, total = float((gaps**2).sum(axis=0)[0]), float((spread**2).sum(axis=0)[0])
        # Constant targets have a rule of their own, and NaN and infinity an error.
        if 0.0 < total < math.inf and left < math.inf:
            return 1.0 - left / total
    from sklearn.metrics import r2_score

    return float(r2_score(y, predicted, sample_weight=sample_weight))


def _are_vectors(y: Any, predicted: Any) -> bool:
    """Return whether both are NumPy vectors of one length, which is not zero."""
    plain = type(y) is np.ndarray and type(predicted) is np.ndarray
    return plain and y.ndim == 1 and y.shape == predicted.shape and len(y) > 0


class ClassifierMixin(interface.ClassifierMixin):
    """What makes an estimator a classifier for scikit-learn, with an accuracy for a score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels; a row of several counts if all are right.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        float
        """
        return compute_accuracy(y, self.predict(X), sample_weight)  # type: ignore[attr-defined]


class RegressorMixin(interface.RegressorMixin):
    """What makes an estimator a regressor for scikit-learn, with a coefficient of determination for a score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions, averaged over targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        float
        """
        return compute_determination(y, self.predict(X), sample_weight)  # type: ignore[attr-defined]
