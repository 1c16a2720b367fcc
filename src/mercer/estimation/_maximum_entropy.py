"""The distribution that assumes least: maximum entropy under constraints on expected values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.reading import read_numbers
from mercer.errors import DataError
from mercer.optim import GradientNorm, MaxIter, TargetValue, minimize


@dataclass(frozen=True, eq=False)
class MaximumEntropy:
    """A distribution p = exp(sum_k l_k f_k) / Z on given points.

    Attributes
    ----------
    probabilities : ndarray of shape (m,)
        Of the points (of the cells around them, where sizes were given).
    multipliers : ndarray of shape (n_constraints,)
        l_k, the Lagrange multipliers.
    entropy : float
        Minus the sum of p log(p / size), in nats.
    residual : float
        The largest difference between an expected value and what it must be.
    """

    probabilities: np.ndarray
    multipliers: np.ndarray
    entropy: float
    residual: float


def maximum_entropy(features: Any, targets: Any, *, sizes: Any = None, tol: float = 1e-9) -> MaximumEntropy:
    """Find the distribution of maximum entropy with given expected values.

    The multipliers minimise the convex function log Z(l) - l' m by Newton's method. Without constraints on a bounded
    set the answer is uniform; a fixed mean on [0, inf) gives the exponential, fixed mean and variance the Gaussian, and
    a fixed expected penalty E the prior exp(-l E) that makes E a regulariser.

    Parameters
    ----------
    features : array-like of shape (m, n_constraints)
        f_k at each point.
    targets : array-like of shape (n_constraints,)
        m_k, what the expected value of f_k must be.
    sizes : array-like of shape (m,) or None, default=None
        Widths of the cells where points stand for a continuous variable; None counts each point once.
    tol : float, default=1e-9
        The largest error of an expected value, relative to the spread of its feature.

    Returns
    -------
    MaximumEntropy

    Examples
    --------
    >>> from mercer.estimation import maximum_entropy
    >>> die = np.arange(1, 7)
    >>> maximum_entropy(die[:, None], [4.5]).probabilities.round(3)  # a die that shows 4.5 on average
    array([0.054, 0.079, 0.114, 0.165, 0.24 , 0.347])
    """
    subject = "maximum_entropy"
    f = read_numbers(subject, "features", features, closed="neither")
    m = np.atleast_1d(read_numbers(subject, "targets", targets, closed="neither"))
    if f.ndim != 2 or f.shape[1] != len(m) or len(f) == 0:
        raise DataError(f"{subject}: features must have shape (m, {len(m)}), a column for each target; got {f.shape}.")
    size = np.ones(len(f)) if sizes is None else read_numbers(subject, "sizes", sizes, 0.0, closed="neither")
    if len(m) == 0:
        return _describe_constraints(np.log(size), f, m, size, np.zeros(0))
    low, high = f.min(axis=0), f.max(axis=0)
    if not ((low < m) & (m < high)).all():
        k = int(np.argmin((low < m) & (m < high)))
        raise DataError(
            f"{subject}: target {k} must be between {low[k]:g} and {high[k]:g}, the feature's range; got {m[k]:g}."
        )
    # Features are centred at their targets and scaled, so that the same tolerance suits all.
    scale = high - low
    # g has expected value zero at the answer.
    g = (f - m) / scale
    multipliers = _multipliers(g, size, tol)
    answer = _describe_constraints(g @ multipliers + np.log(size), f, m, size, multipliers / scale)
    # A thousand times the tolerance of the solver: beyond it the targets are at fault, not rounding.
    if answer.residual > 1e3 * tol * scale.max():
        raise DataError(
            f"{subject}: no distribution on these points has the expected values {m}; the nearest found is off by "
            f"{answer.residual:.3g}. Check that the targets agree with each other."
        )
    return answer


def _multipliers(g: np.ndarray, size: np.ndarray, tol: float) -> np.ndarray:
    """Find the multipliers that minimise the dual, log Z of the centred features."""

    def shares(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        logs = g @ multipliers + np.log(size)
        total = float(logsumexp(logs))
        return total, np.exp(logs - total)

    def dual(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        total, p = shares(multipliers)
        # The gradient of log Z is the expected value of the centred features: zero where the targets are met.
        return total, p @ g

    def curvature(multipliers: np.ndarray) -> np.ndarray:
        p = shares(multipliers)[1]
        # The Hessian of log Z is the covariance of the features, so the dual is convex.
        centred = g - p @ g
        return (centred * p[:, None]).T @ centred

    # At its minimum the dual is the entropy, which is at least that of all mass in the smallest cell: lower values mean
    # that the targets contradict each other, and that there is no minimum.
    stop = GradientNorm(tol) | MaxIter(500) | TargetValue(float(np.log(size.min())) - 1e-6)
    return minimize(dual, np.zeros(g.shape[1]), method="newton", grad=True, hess=curvature, stop=stop).x


def _describe_constraints(
    logs: np.ndarray, f: np.ndarray, m: np.ndarray, size: np.ndarray, multipliers: np.ndarray
) -> MaximumEntropy:
    logs = logs - logsumexp(logs)
    p = np.exp(logs)
    residual = float(np.abs(p @ f - m).max(initial=0.0))
    return MaximumEntropy(p, multipliers, float(-(p * (logs - np.log(size))).sum()), residual)
