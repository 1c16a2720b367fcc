"""The six radial profiles of density estimates: values, integrals, and random distances."""

import math
from collections.abc import Callable

import numpy as np

from mercer._types import Array

# In the order of the indices in mercer._native.space.density_sums.
PROFILES = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")

_VALUES: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda r: np.exp(-0.5 * r * r),
    "tophat": lambda r: np.where(r < 1, 1.0, 0.0),
    "epanechnikov": lambda r: np.where(r < 1, 1 - r * r, 0.0),
    "exponential": lambda r: np.exp(-r),
    "linear": lambda r: np.where(r < 1, 1 - r, 0.0),
    "cosine": lambda r: np.where(r < 1, np.cos(0.5 * np.pi * r), 0.0),
}


def value(profile: str, r: Array) -> Array:
    """Return the profile k(r), which is 1 at r = 0."""
    return _VALUES[profile](r)


def log_volume(profile: str, d: int, p: float = 2.0) -> float:
    r"""Return the logarithm of :math:`\int k(\lVert u \rVert_p)\, du` over d dimensions.

    In polar coordinates it is the volume of the unit ball of the norm times :math:`\int d\, r^{d-1} k(r)\, dr`.
    """
    # Volume of the unit p-ball: 2^d Gamma(1 + 1/p)^d / Gamma(1 + d/p).
    ball = d * math.log(2.0)
    if p < math.inf:
        ball += d * math.lgamma(1 / p + 1) - math.lgamma(d / p + 1)
    match profile:
        case "gaussian":
            # The integral of d r^(d - 1) exp(-r^2 / 2) is 2^(d / 2) Gamma(d / 2 + 1).
            return ball + 0.5 * d * math.log(2.0) + math.lgamma(0.5 * d + 1)
        case "tophat":
            return ball
        case "epanechnikov":
            return ball + math.log(2 / (d + 2))
        case "exponential":
            return ball + math.lgamma(d + 1)
        case "linear":
            return ball - math.log(d + 1)
    # Gauss-Legendre, exact for polynomials of degree d + 47: beyond r^(d-1), 48 powers are left for the cosine.
    nodes, weights = np.polynomial.legendre.leggauss(24 + d // 2)
    r = (nodes + 1) / 2
    return ball + math.log(d) + math.log(float(np.sum(weights / 2 * r ** (d - 1) * np.cos(0.5 * np.pi * r))))


def draw_steps(profile: str, n: int, d: int, p: float, random: np.random.Generator) -> Array:
    """Draw `n` independent steps in d dimensions with density proportional to the profile of their p-norm, (n, d).

    Coordinates with density proportional to exp(-|x|^p), divided by their norm, have the direction of a point drawn
    uniformly from the ball of that norm.
    """
    # For p = 2 the density exp(-|x|^p) is that of a Gaussian up to scale; the limit p = inf is uniform in a cube.
    if p == 2:
        directions = random.normal(size=(n, d))
    elif p == np.inf:
        directions = random.uniform(-1, 1, size=(n, d))
    else:
        # If |x| has a density proportional to exp(-|x|^p), then |x|^p is Gamma(1 / p).
        directions = random.gamma(1 / p, size=(n, d)) ** (1 / p) * random.choice([-1.0, 1.0], size=(n, d))
    lengths = np.linalg.norm(directions, ord=p, axis=1) if d > 1 else np.abs(directions[:, 0])
    radii = _draw_radii(profile, n, d, random)
    return directions * (radii / np.maximum(lengths, np.finfo(float).tiny))[:, None]


def _draw_radii(profile: str, n: int, d: int, random: np.random.Generator) -> Array:
    """Draw `n` distances with density proportional to r^(d-1) k(r)."""
    match profile:
        case "gaussian":
            return np.sqrt(2 * random.gamma(0.5 * d, size=n))
        case "tophat":
            return random.uniform(size=n) ** (1 / d)
        case "epanechnikov":
            return np.sqrt(random.beta(0.5 * d, 2.0, size=n))
        case "exponential":
            return random.gamma(d, size=n)
        case "linear":
            return random.beta(d, 2.0, size=n)
    # cos(pi r / 2) <= (pi / 2)(1 - r): rejection from the linear profile keeps at least 2 / pi of the distances.
    kept = np.empty(0)
    while len(kept) < n:
        r = random.beta(d, 2.0, size=2 * n)
        bound = 0.5 * np.pi * (1 - r)
        kept = np.concatenate([kept, r[random.uniform(size=2 * n) * bound < np.sin(bound)]])
    return kept[:n]
