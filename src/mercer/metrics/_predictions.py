"""Measures of predictions: the correlation of values and of members of an ensemble, and the error of labels."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from mercer.errors import DataError, ParameterError


def correlation(x: Any, y: Any = None) -> Any:
    """Compute the correlation coefficient of two variables, or the matrix of coefficients of columns.

    r = sum_t u_t v_t / root(sum_t u_t^2 sum_t v_t^2) with u and v the centred variables: the cosine of the angle
    between them. It is 1 or -1 exactly when one is an affine function of the other.

    Parameters
    ----------
    x : array-like of shape (n,) or (n, d)
        A variable, or variables in columns.
    y : array-like of shape (n,) or (n, m) or None, default=None
        The other. None stands for `x` itself.

    Returns
    -------
    r : float, or ndarray of shape (d, m)
        A number for two vectors. Undefined (NaN) for a constant variable.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.metrics import correlation
    >>> float(correlation([1, 2, 3, 4], [1, 3, 2, 4]))
    0.8
    """
    first = check_array(x, ensure_2d=False, dtype=np.float64, input_name="x")
    second = first if y is None else check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(first, second)
    left, right = (_directions(vectors) for vectors in (first, second))
    result = np.clip(left.T @ right, -1.0, 1.0)
    return result if first.ndim == 2 or second.ndim == 2 else result[0, 0]


def empirical_error(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """Return the mean 0-1 loss: the share of rows whose label is not the predicted one, one less the accuracy.

    It is piecewise constant in the parameters of a model, its gradient zero wherever there is one, which is why models
    are fitted to losses that bound it from above.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights.

    Returns
    -------
    error : float

    Examples
    --------
    >>> from mercer.metrics import empirical_error
    >>> empirical_error(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.25
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred, sample_weight)
    if not len(y_true):
        raise DataError("empirical_error: at least one label is needed; got none.")
    return float(np.average(y_true != y_pred, weights=sample_weight))


def population_error(joint: Any, decisions: Any) -> float:
    """Return the probability, under a known distribution, that the class is not the one decided for.

    Parameters
    ----------
    joint : array-like of shape (n_values, n_classes)
        P(x, class) for each value of x; it sums to one.
    decisions : array-like of shape (n_values,)
        The number of the class that is decided for at each value.

    Returns
    -------
    error : float

    Examples
    --------
    >>> from mercer.metrics import population_error
    >>> round(population_error([[0.3, 0.1], [0.2, 0.4]], [0, 1]), 6)
    0.3
    """
    joint = check_array(joint, dtype=np.float64, input_name="joint")
    if (joint < 0).any() or not np.isclose(joint.sum(), 1.0):
        raise ParameterError(
            f"population_error: joint must be probabilities that sum to one; got a sum of {joint.sum():g}."
        )
    given = column_or_1d(decisions)
    check_consistent_length(joint, given)
    chosen = given.astype(np.int64)
    if (chosen != given).any() or chosen.min() < 0 or chosen.max() >= joint.shape[1]:
        raise ParameterError(
            f"population_error: decisions must be class numbers from 0 to {joint.shape[1] - 1}; got "
            f"{given[(chosen != given) | (chosen < 0) | (chosen >= joint.shape[1])][0]}."
        )
    # Entry (i, k) of `joint` is P(x_i, k). The decision is right with probability sum_i P(x_i, k_i).
    return float(1.0 - joint[np.arange(len(joint)), chosen].sum())


def member_correlation(predictions: Any) -> tuple[float, float]:
    """Return the mean variance of members and their mean pairwise correlation over repeated experiments.

    Parameters
    ----------
    predictions : array-like of shape (n_repeats, n_members)
        What each member predicts for one row, in experiments that differ by their training rows; or for many rows,
        less the truth.

    Returns
    -------
    variance, correlation : float
        Such that :func:`mercer.ensemble.variance_of_average` gives the variance of the members' mean exactly: the
        correlation is the mean covariance of two members over the mean variance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.ensemble import variance_of_average
    >>> from mercer.metrics import member_correlation
    >>> table = np.random.default_rng(0).normal(size=(500, 4)) + np.random.default_rng(1).normal(size=(500, 1))
    >>> variance, correlation = member_correlation(table)
    >>> bool(np.isclose(variance_of_average(variance, correlation, 4), table.mean(axis=1).var(ddof=1)))
    True
    """
    table = np.asarray(predictions, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise DataError(f"member_correlation: predictions must be a table of at least 2 x 2; got shape {table.shape}.")
    covariance = np.cov(table, rowvar=False)
    m = table.shape[1]
    variance = float(np.trace(covariance) / m)
    # The mean of the m (m - 1) entries off the diagonal.
    between = float((covariance.sum() - np.trace(covariance)) / (m * (m - 1)))
    return variance, between / variance if variance > 0 else 0.0


def _directions(values: np.ndarray) -> np.ndarray:
    """Return centred columns of unit length; NaN for a constant column."""
    columns = values if values.ndim == 2 else values[:, None]
    # Scaled first, so that squares neither overflow nor vanish.
    most = np.abs(columns).max(axis=0)
    columns = columns / np.where(most > 0, most, 1.0)
    centred = columns - columns.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    constant = norms <= 1e-15 * np.sqrt(len(columns))
    return np.where(constant, np.nan, centred / np.where(constant, 1.0, norms))
