"""James and Stein's estimator of many means at once: better than the sample mean for every truth."""

from typing import Any

import numpy as np
from scipy.special import hyp1f1

from mercer._base.reading import read_numbers
from mercer.errors import DataError


def james_stein(X: Any, variance: Any = None, *, target: Any = 0.0, positive: bool = True) -> np.ndarray:
    """Estimate the mean of d >= 3 coordinates by shrinking the sample mean.

    With m the mean of N rows whose coordinates have variance v each,

        estimate = t + (1 - (d - 2) (v / N) / |m - t|^2) (m - t).

    Its total mean squared error is below that of the mean whatever the truth is; at the target it is 2 v / N in the
    place of d v / N.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Rows.
    variance : float or None, default=None
        v, known; None estimates it from the rows, with a shrinkage that allows for the estimate.
    target : float or array-like of shape (d,), default=0.0
        t, towards which to shrink.
    positive : bool, default=True
        Whether the factor is kept from turning negative, which is better still.

    Returns
    -------
    ndarray of shape (d,)

    References
    ----------
    W. James, C. Stein, *Estimation with quadratic loss*, Proc. Fourth Berkeley Symposium (1961).

    Examples
    --------
    >>> from mercer.estimation import james_stein
    >>> james_stein([[3.0, 0.0, 4.0]], 1.0)
    array([2.88, 0.  , 3.84])
    """
    rows = read_numbers("james_stein", "X", X, closed="neither")
    if rows.ndim != 2 or rows.shape[1] < 3:
        raise DataError(
            f"james_stein: X must have rows of three coordinates or more; got shape {rows.shape}. In one and two "
            f"dimensions nothing beats the mean everywhere; use it."
        )
    d = rows.shape[1]
    mean = rows.mean(axis=0)
    offset = mean - np.broadcast_to(read_numbers("james_stein", "target", target), (d,))
    distance = float(offset @ offset)
    if distance == 0:
        return mean
    # 1 - (d - 2) v / |m|^2; beyond one it would point away from the target, which the positive part forbids.
    shrinkage = (d - 2) * _mean_variance(rows, variance) / distance
    return mean - (min(shrinkage, 1.0) if positive else shrinkage) * offset


def _mean_variance(rows: np.ndarray, variance: Any) -> float:
    """Return the variance of a coordinate of the mean.

    An estimated variance is scaled so that the risk stays below that of the mean.
    """
    n, d = rows.shape
    if variance is not None:
        return float(read_numbers("james_stein", "variance", variance, 0.0, closed="neither")) / n
    freedom = (n - 1) * d
    if freedom == 0:
        raise DataError("james_stein: the variance cannot be estimated from one row. Give variance.")
    # Divided by freedom + 2 and not by freedom: the factor that minimises the risk when the variance is estimated.
    return float(np.square(rows - rows.mean(axis=0)).sum()) / (freedom + 2) / n


def james_stein_risk(norm: Any, d: int, variance: float = 1.0) -> np.ndarray:
    """Return the exact total mean squared error of James and Stein's estimator (without the positive part).

    v (d - (d - 2)^2 E[1 / chi2]), with chi2 non-central of d degrees at |mu|^2 / v; the mean of its inverse is a
    confluent hypergeometric function.

    Parameters
    ----------
    norm : array-like
        |mu|, the distance of the truth from the target.
    d : int
        Coordinates, three or more.
    variance : float, default=1.0
        v, of a coordinate of the sample mean.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from mercer.estimation import james_stein_risk
    >>> james_stein_risk([0.0, 1e3], 10).round(3)  # two at the target, the mean's ten far away
    array([ 2., 10.])
    """
    if d < 3:
        raise DataError(f"james_stein_risk: d must be an integer in [3, inf); got {d!r}.")
    half = np.square(read_numbers("james_stein_risk", "norm", norm, 0.0)) / (2 * variance)
    # E[1/chi2] = e^-h 1F1(d/2 - 1; d/2; h) / (d - 2); Kummer's transformation has no large factors to cancel.
    inverse = hyp1f1(1.0, d / 2, -half) / (d - 2)
    return variance * (d - (d - 2) ** 2 * inverse)
