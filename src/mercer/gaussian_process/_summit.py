"""The certificate of a climb: at a maximum the slope is small, or the predicted gain is below rounding.

Near a maximum with curvatures H, a slope g is worth g H^-1 g / 2 of evidence. The value of the evidence is a sum of
large terms that cancel; its slope is not. On 1 500 rows with a covariance of condition number 1e8, values scatter by
2e-8 and slopes by 1e-7, so a slope of 1e-3 along a curvature of 300, worth 2e-9, can be measured but not climbed. Where
the slope is above the tolerance but worth less than rounding, the certificate states the predicted gain.
"""

import numpy as np

from mercer._solver import Certificate
from mercer._types import Array

STEEPEST = (
    "Largest derivative of the log marginal likelihood by the logarithm of a hyper-parameter, those held at a bound "
    "left out: zero at a local maximum. Other maxima may be higher."
)
IN_PROSPECT = (
    "What the log marginal likelihood is expected to gain by a move to the local maximum, within the bounds, by its "
    "slope and curvatures; the tolerance is the rounding of its value. Other maxima may be higher."
)
# Rounding of more than this, in nats, excuses no slope: nothing is known of the maximum then.
KNOWN = 1e-2


def project_slope(theta: Array, slope: Array, bounds: Array) -> Array:
    """Return the slope, with zeros where it points out of the bounds; of one place (p,), or of several (r, p)."""
    held = ((theta <= bounds[:, 0]) & (slope < 0)) | ((theta >= bounds[:, 1]) & (slope > 0))
    return np.where(held, 0.0, slope)


def certify_climb(slopes: Array, gains: Array, roundings: Array, tol: float) -> Certificate:
    """Return the certificate of several problems: of the steepest, or of the largest predicted gain over rounding.

    Parameters
    ----------
    slopes : array-like of shape (r, p)
        At the best place of each problem, those that bounds hold being zero.
    gains, roundings : array-like of shape (r,)
        The predicted gain of each problem, and the rounding of its evidence.
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
    # The slope is above the tolerance, but what it promises is below the rounding of the evidence.
    if not ((gains <= roundings) & (roundings > 0.0)).all():
        return Certificate.of("gradient norm", worst, tol, STEEPEST)
    last = int(np.argmax(gains / roundings))
    return Certificate.of("expected gain", gains[last], roundings[last], IN_PROSPECT)
