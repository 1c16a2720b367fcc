"""How far a source is from a Gaussian, against what a search over Gaussian noise gives.

The curvature <g'(y)> <y^2> - <g(y) y> of a source is zero for a Gaussian, by Stein's identity, and two sources can be
told apart only if the sum of their curvatures is not. On n rows of Gaussian noise the curvature has a standard
deviation of sigma / sqrt(n), but a solver looks for the direction where it is largest. Over all directions in k
dimensions the standardised curvature is a smooth Gaussian field on a sphere, and the probability that its largest
value exceeds z is, for z above 2, the expected Euler characteristic of the set where it does (Adler and Taylor, 2007).
"""

import math
import warnings

import numpy as np
from scipy.special import log_ndtr, ndtr

from mercer._types import Array
from mercer.decomposition._separation.scores import Score

# A source is called Gaussian if noise alone gives a curvature as large with at least this probability.
_LEVEL = 0.01


def rate_sources(score: Score, curvature: Array, weight: float, k: int | None = None) -> tuple[Array, Array]:
    """Return the curvatures in standard deviations of Gaussian noise, and the probability that noise exceeds each.

    `k` is the number of dimensions that were searched; by default that of the sources.
    """
    reference = score.gaussian()
    z = curvature * math.sqrt(weight) / reference.deviation
    k = len(curvature) if k is None else k
    return z, np.array([exceedance(abs(float(value)), k, reference.roughness) for value in z])


def exceedance(z: float, k: int, roughness: float) -> float:
    """Return the probability that the largest |curvature| over all directions in k dimensions exceeds z deviations."""
    m = k - 1
    # Beyond the largest root of every Hermite polynomial the formula is a probability; noise exceeds smaller values
    # almost surely.
    if z <= max(1.0, 2.0 * math.sqrt(max(0, m - 1))):
        return 1.0 if m else 2.0 * float(ndtr(-z))
    # Opposite directions have one curvature, which halves the sphere, and both signs count, which doubles the tail.
    logs = [math.log(2.0) + float(log_ndtr(-z))] if m % 2 == 0 else []
    log_hermite, ratio = 0.0, z
    for j in range(1, m + 1):
        if (m - j) % 2 == 0:
            # Lipschitz-Killing curvature number j of a sphere of dimension m and radius sqrt(roughness), times the
            # density of the Euler characteristic, (2 pi)^(-(j + 1) / 2) H_(j - 1)(z) exp(-z^2 / 2).
            area = _log_area(m + 1) - _log_area(m + 1 - j) + 0.5 * j * math.log(roughness)
            density = log_hermite - 0.5 * z * z - 0.5 * (j + 1) * math.log(2 * math.pi)
            logs.append(math.log(2.0) + _log_choose(m, j) + area + density)
        # H_j / H_(j-1) = z - (j - 1) / (H_(j-1) / H_(j-2)): ratios cannot overflow.
        ratio = z if j == 1 else z - (j - 1) / ratio
        log_hermite += math.log(ratio)
    largest = max(logs)
    return min(1.0, math.exp(min(0.0, largest + math.log(sum(math.exp(value - largest) for value in logs)))))


def _log_choose(n: int, k: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_area(dimension: int) -> float:
    """Return the logarithm of the area of the unit sphere in `dimension` dimensions."""
    return math.log(2.0) + 0.5 * dimension * math.log(math.pi) - math.lgamma(0.5 * dimension)


def warn_of_gaussians(subject: str, pvalues: Array, n_rows: float, stacklevel: int = 5) -> None:
    """Warn if two sources or more could be Gaussian: their mixture can be turned without changing the likelihood."""
    gaussian = np.flatnonzero(pvalues > _LEVEL)
    if len(gaussian) < 2:
        return
    which = ", ".join(map(str, gaussian[:10])) + (", ..." if len(gaussian) > 10 else "")
    warnings.warn(
        f"{subject}: {len(gaussian)} of {len(pvalues)} sources ({which}) are no further from Gaussian than noise of "
        f"{n_rows:g} rows gives. Gaussian sources cannot be separated from each other: treat these as one subspace, "
        f"give more rows, or lower n_components.",
        UserWarning,
        stacklevel=stacklevel,
    )
