"""How far two classes are apart along a direction: by means alone, and in units of their spread."""

from typing import Any

import numpy as np
from sklearn.utils import check_X_y

from mercer._base.reading import read_numbers
from mercer._source import open_source
from mercer._source.threads import one_blas_thread
from mercer._statistic.by_class import ClassMoments, ClassMomentSums
from mercer._types import Array
from mercer.errors import DataError


def mean_separation(X: Any, y: Any) -> tuple[np.ndarray, float]:
    """Return the direction along which the means of two classes are farthest apart, and how far.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, of two classes.

    Returns
    -------
    direction : ndarray of shape (n_features,)
        Of length one, from the first class to the second.
    distance : float
        |m_2 - m_1|.

    Examples
    --------
    >>> from mercer.discriminant_analysis import mean_separation
    >>> mean_separation([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    (array([0.6, 0.8]), 5.0)
    """
    means, _ = _two_classes("mean_separation", X, y)
    step = means[1] - means[0]
    distance = float(np.linalg.norm(step))
    # Equal means have no direction: zeros, and no division by zero.
    return step / (distance or 1.0), distance


def separation_ratio(X: Any, y: Any, direction: Any = None) -> Any:
    """Compute the distance of two class means over the root of their summed variances: a signal-to-noise ratio.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, of two classes.
    direction : array-like of shape (n_features,) or None, default=None
        What rows are projected to; None means each column by itself.

    Returns
    -------
    float or ndarray of shape (n_features,)
        Second class less first. Its square is :func:`fisher_criterion`, so that it is largest along Fisher's direction.

    Examples
    --------
    >>> from mercer.discriminant_analysis import separation_ratio
    >>> separation_ratio([[0.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]).round(6)  # 4 / sqrt(1 + 1)
    array([2.828427])
    """
    means, covariances = _two_classes("separation_ratio", X, y)
    step, spread = means[1] - means[0], covariances.sum(axis=0)
    if direction is None:
        variances = np.diag(spread)
        if not (variances > 0).all():
            column = int(np.argmin(variances))
            raise DataError(f"separation_ratio: column {column} must vary within a class; got a constant. Drop it.")
        # Column by column.
        return step / np.sqrt(variances)
    w = np.asarray(direction, dtype=np.float64)
    noise = float(w @ spread @ w)
    if not noise > 0:
        raise DataError("separation_ratio: rows must vary along the direction; got no spread. Choose another one.")
    return float(w @ step / np.sqrt(noise))


def fisher_criterion(
    X: Any, y: Any, direction: Any = None, *, ridge: float = 0.0, class_weight: Any = (1.0, 1.0)
) -> float:
    """Compute Fisher's criterion of two classes, J(w) = (w . (m_2 - m_1))^2 / w^T S w.

    S = a_1 C_1 + a_2 C_2 + ridge I, with C_k the covariance of a class and a_k its weight.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, of two classes.
    direction : array-like of shape (n_features,) or None, default=None
        w, of any length; None means the best, S^-1 (m_2 - m_1).
    ridge : float, default=0.0
        Added to the diagonal of S, so that it can be inverted where rows are few.
    class_weight : pair of float, default=(1.0, 1.0)
        a_1 and a_2, in the order of the sorted labels.

    Returns
    -------
    float
        J; of the best direction (m_2 - m_1)^T S^-1 (m_2 - m_1).

    Examples
    --------
    >>> from mercer.discriminant_analysis import fisher_criterion
    >>> X, y = [[0.0], [2.0], [5.0], [5.0]], [-1, -1, 1, 1]
    >>> fisher_criterion(X, y), fisher_criterion(X, y, ridge=1.0), fisher_criterion(X, y, class_weight=(2.0, 1.0))
    (16.0, 8.0, 8.0)
    """
    subject = "fisher_criterion"
    ridge = float(read_numbers(subject, "ridge", ridge, 0.0))
    shares = read_numbers(subject, "class_weight", class_weight, 0.0)
    if shares.shape != (2,):
        raise DataError(
            f"{subject}: class_weight must be two numbers, in the order of the labels; got {class_weight!r}."
        )
    means, covariances = _two_classes(subject, X, y)
    step = means[1] - means[0]
    spread = np.tensordot(shares, covariances, axes=1) + ridge * np.eye(len(step))
    if direction is not None:
        w = np.asarray(direction, dtype=np.float64)
        return float((w @ step) ** 2 / (w @ spread @ w))
    # The maximum of J is along S^-1 (m_2 - m_1), by the Cauchy-Schwarz inequality.
    values = np.linalg.eigvalsh(spread)
    if not values[0] > len(values) * np.finfo(np.float64).eps * values[-1]:
        raise DataError(
            f"{subject}: the covariance within classes must have full rank for a best direction; some of the "
            f"{len(step)} columns are constant or determined by others. Give ridge, or a direction."
        )
    return float(step @ np.linalg.solve(spread, step))


def _two_classes(subject: str, X: Any, y: Any) -> tuple[Array, Array]:
    """Return means and covariances of two classes, in the order of their labels."""
    X, y = check_X_y(X, y, dtype=[np.float64, np.float32], order="C")
    with one_blas_thread():
        sums: ClassMomentSums = open_source(X, y).reduce(ClassMoments("own")).plainly()
    if len(sums.classes) != 2:
        raise DataError(f"{subject}: y must have two classes; got {len(sums.classes)}. Choose two of them.")
    return sums.means, sums.scatter / sums.weights[:, None, None]
