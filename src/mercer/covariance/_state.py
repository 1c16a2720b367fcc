"""From the moments of rows to a covariance, its shrinkage, its inverse and what is known of its spectrum."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._statistic import Moments, MomentSums
from mercer._statistic.fourth_norms import FourthNorms

__all__ = ["CovarianceState", "Shrinking", "estimate", "ledoit_wolf_share", "oas_share", "shrink", "spectrum"]

Array = Any
# From the moments to a generator that may ask for more and returns the share of the identity, or None.
Shrinking = Callable[[MomentSums], Generator[Any, Any, float | None]]
_HEAVY = 400  # columns from which a factorisation takes long enough (some 10 ms) to deserve its own thread
_CERTIFICATE = Certificate.none("The covariance is a closed form of sums over the rows, exact to rounding.")


@plain
@dataclass(frozen=True, eq=False)
class CovarianceState:
    """A mean, a covariance, the share of the identity in it (NaN where none was asked for), rank and condition.

    ``precision`` is None where the covariance has no inverse, or none was asked for.
    """

    location: Array
    covariance: Array
    precision: Array
    shrinkage: float
    rank: int
    condition: float


def estimate(centre: bool, shrinking: Shrinking, with_precision: bool) -> Solver:
    """One pass for the moments, one more where the shrinkage wants it, and one factorisation."""
    moments = yield Moments(centre)
    share = yield from shrinking(moments)
    covariance = moments.scatter / moments.weight
    empirical = covariance if share is None else covariance.copy()
    covariance = covariance if share is None else shrink(covariance, share)
    values, vectors = yield Dense(
        lambda: eigh(covariance) if with_precision else (eigh(covariance, eigvals_only=True), None),
        heavy=len(covariance) > _HEAVY,
    )
    rank, condition = spectrum(values)
    precision = None
    if vectors is not None and rank == len(values):
        precision = yield Dense(lambda: (vectors / values) @ vectors.T)
    state = CovarianceState(
        np.array(moments.mean), covariance, precision, math.nan if share is None else share, rank, condition
    )
    yield Step(_mean_log_likelihood(empirical, values, precision), state, _CERTIFICATE)
    return Solution(state, True, _CERTIFICATE)


def spectrum(values: Array) -> tuple[int, float]:
    """Rank and condition from rising eigenvalues; what rounding of the largest can have made counts as zero."""
    largest = max(float(values[-1]), 0.0)
    rank = int(np.sum(values > len(values) * np.finfo(np.float64).eps * largest))
    return rank, largest / float(values[0]) if rank == len(values) else math.inf


def shrink(covariance: Array, share: float) -> Array:
    """(1 - share) C + share tr(C) / d I, of a matrix or of a stack of them."""
    d = covariance.shape[-1]
    level = np.trace(covariance, axis1=-2, axis2=-1) / d
    return (1.0 - share) * covariance + np.expand_dims(share * level, (-2, -1)) * np.eye(d)


def ledoit_wolf_share(moments: MomentSums) -> Generator[Any, Any, float]:
    """The share of Ledoit and Wolf (2004); asks for one more pass."""
    d = len(moments.mean)
    level = float(np.trace(moments.scatter)) / moments.weight / d
    if d == 1 or level <= 0:
        return 0.0
    # In units of the mean variance, so that fourth powers neither overflow nor vanish.
    scales = np.full((1, d), 1.0 / math.sqrt(level))
    fourth = yield FourthNorms(np.array(moments.mean)[None, :], scales)
    return share_of_fourth_norm(moments.scatter / moments.weight / level, float(fourth[0]), moments.weight)


def share_of_fourth_norm(covariance: Array, fourth: float, weight: float) -> float:
    """Ledoit and Wolf's share for a covariance of mean variance one: the least expected squared Frobenius error.

    delta is the squared distance of the covariance from the identity, beta what of it is noise of estimation.
    """
    d = len(covariance)
    squares = float(np.sum(covariance * covariance))
    delta = (squares - d) / d
    beta = min((fourth / weight - squares) / (d * weight), delta)
    return 0.0 if beta <= 0 or delta <= 0 else beta / delta


def oas_share(moments: MomentSums) -> Generator[Any, Any, float]:
    """The share of the oracle approximating shrinkage of Chen and others (2010), for Gaussian rows."""
    yield from ()
    d = len(moments.mean)
    level = float(np.trace(moments.scatter)) / moments.weight / d
    if d == 1:
        return 0.0
    if level <= 0:
        return 1.0
    relative = moments.scatter / moments.weight / level
    mean_square = float(np.mean(relative * relative))
    below = (moments.weight + 1.0) * (mean_square - 1.0 / d)
    return 1.0 if below <= 0 else min((mean_square + 1.0) / below, 1.0)


def _mean_log_likelihood(empirical: Array, values: Array, precision: Array) -> float:
    """Of a row, under the Gaussian of the estimate; of a singular one, within its span, where the trace is the rank."""
    kept = values[values > len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)]
    trace = len(kept) if precision is None else float(np.sum(empirical * precision))
    return -0.5 * (len(kept) * math.log(2.0 * math.pi) + float(np.sum(np.log(kept))) + trace)
