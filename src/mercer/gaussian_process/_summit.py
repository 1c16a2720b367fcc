"""Whether a climb stands on a maximum: by its slope, or by a gain in prospect that is lost in rounding.

Near a maximum with curvatures H, a slope g is worth g H^-1 g / 2 of evidence. The value of the evidence is a sum with
large terms that cancel, its slope is not: on 1 500 rows with a covariance of condition 1e8 values scatter by 2e-8 and
slopes by 1e-7, so that a slope of 1e-3 along a curvature of 300, worth 2e-9, can be seen but not climbed. Where the
slope is above the tolerance but worth less than rounding, that is what is certified.
"""

from typing import Any

import numpy as np

from mercer._solver import Certificate
from mercer.gaussian_process._quadratic import highest

__all__ = ["KNOWN", "certified", "expected_gain", "free_slope"]

Array = Any
STEEPEST = (
    "Largest derivative of the log marginal likelihood by the logarithm of a hyper-parameter, those held at a bound "
    "left out: zero at a local maximum. Other maxima may be higher."
)
IN_PROSPECT = (
    "What the log marginal likelihood is expected to gain by a move to the local maximum, within the bounds, by its "
    "slope and curvatures; the tolerance is the rounding of its value. Other maxima may be higher."
)
# A rounding of more than this, a hundredth of a nat, excuses no slope: nothing is known of the maximum then.
KNOWN = 1e-2


def free_slope(theta: Array, slope: Array, bounds: Array) -> Array:
    """The slope, with zeros where it points out of the bounds."""
    held = ((theta <= bounds[:, 0]) & (slope < 0)) | ((theta >= bounds[:, 1]) & (slope > 0))
    return np.where(held, 0.0, slope)


def expected_gain(theta: Array, slope: Array, curvatures: list[Array], bounds: Array) -> float:
    """The most that quadratic models of these curvatures promise within the bounds; without any, no bound is known."""
    gains = []
    for B in curvatures:
        move = highest(slope, B, bounds[:, 0] - theta, bounds[:, 1] - theta)
        gains.append(float(slope @ move - 0.5 * move @ B @ move))
    return max(gains, default=np.inf)


def certified(slopes: Array, gains: Array, roundings: Array, tol: float) -> Certificate:
    """The certificate of several problems: of the steepest, or of the one with the most to gain beside its rounding.

    Parameters
    ----------
    slopes : array-like of shape (r, p)
        At the best place of each problem, those that bounds hold being zero.
    gains, roundings : array-like of shape (r,)
        What each is expected to gain, and the rounding of its evidence.
    tol : float
    """
    steepest = np.abs(slopes).max(axis=1, initial=0.0)
    steep = np.flatnonzero(~(steepest <= tol))
    worst = float(steepest.max(initial=0.0))
    if not steep.size:
        return Certificate.of("gradient norm", worst, tol, STEEPEST)
    gains, roundings = np.asarray(gains)[steep], np.asarray(roundings)[steep]
    if (roundings > KNOWN).any():
        known = f"{STEEPEST} Rounding leaves {roundings.max():.1g} of the likelihood unknown: raise alpha."
        return Certificate.of("gradient norm", worst, tol, known)
    if not ((gains <= roundings) & (roundings > 0.0)).all():
        return Certificate.of("gradient norm", worst, tol, STEEPEST)
    last = int(np.argmax(gains / roundings))
    return Certificate.of("expected gain", gains[last], roundings[last], IN_PROSPECT)
