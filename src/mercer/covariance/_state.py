"""From the moments of rows to a covariance, its shrinkage, its inverse and what is known of its spectrum."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.graded import find_graded_eigenpairs, is_graded
from mercer._solver.request import HEAVY
from mercer._statistic import Moments, MomentSums
from mercer._statistic.products import FourthNorms
from mercer._statistic.shrinkage import compute_ledoit_wolf_weight, shrink_covariance
from mercer._types import Array

# From the moments to a generator that may ask for more and returns the share of the identity, or None.
Shrinking = Callable[[MomentSums], Generator[Any, Any, float | None]]
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


def estimate(
    centre: bool, shrinking: Shrinking, with_precision: bool, adjust: Callable[[Array, float], Array]
) -> Solver:
    """Estimate a covariance: a pass for the moments, a second one if `shrinking` asks for it, a factorisation.

    `adjust` changes the divisor and the diagonal where nothing is shrunk.
    """
    moments = yield Moments(centre)
    share = yield from shrinking(moments)
    covariance = moments.scatter / moments.weight
    # The likelihood is of the rows, whose covariance is the empirical one; shrinking may overwrite it.
    empirical = covariance if share is None else covariance.copy()
    covariance = adjust(covariance, moments.weight) if share is None else shrink_covariance(covariance, share)
    values, rank, precision = yield Dense(lambda: _factorise(covariance, with_precision), heavy=len(covariance) > HEAVY)
    condition = float(values[-1]) / float(values[0]) if rank == len(values) else math.inf
    state = CovarianceState(
        np.array(moments.mean), covariance, precision, math.nan if share is None else share, rank, condition
    )
    yield Step(_mean_log_likelihood(empirical, values[len(values) - rank :], precision), state, _CERTIFICATE)
    return Solution(state, True, _CERTIFICATE)


def _factorise(covariance: Array, with_precision: bool) -> tuple[Array, int, Array | None]:
    """Return the eigenvalues in rising order, the rank, and the inverse if there is one and it is asked for.

    Where columns are in very different units, rank and inverse are those of the correlations, put back into the units:
    eigenvalues of small columns are not rounding beside large ones.
    """
    if is_graded(np.diagonal(covariance)):
        own = find_graded_eigenpairs(covariance, len(covariance) * float(np.finfo(np.float64).eps))[1][::-1]
        precision = _invert_correlations(covariance) if with_precision and len(own) == len(covariance) else None
        return np.append(np.zeros(len(covariance) - len(own)), own), len(own), precision
    # By divide and conquer, whose errors stay below d eps; those of the default reach 10 eps for five columns.
    values, vectors = eigh(covariance, driver="evd") if with_precision else (eigh(covariance, eigvals_only=True), None)
    rank, _ = spectrum(values)
    # C = V diag(l) V^T has the inverse V diag(1 / l) V^T: the spectrum that gives the rank gives the inverse too.
    return values, rank, (vectors / values) @ vectors.T if vectors is not None and rank == len(values) else None


def _invert_correlations(covariance: Array) -> Array:
    """Return the inverse of a covariance by way of its correlations."""
    unit = np.sqrt(np.diagonal(covariance))
    values, vectors = eigh(covariance / unit[:, None] / unit)
    maps = vectors / np.sqrt(values) / unit[:, None]
    return maps @ maps.T


def spectrum(values: Array) -> tuple[int, float]:
    """Return rank and condition from rising eigenvalues; what rounding of the largest can have made counts as zero."""
    # eigh is accurate to about d eps times the largest eigenvalue.
    largest = max(float(values[-1]), 0.0)
    rank = int(np.sum(values > len(values) * np.finfo(np.float64).eps * largest))
    return rank, largest / float(values[0]) if rank == len(values) else math.inf


def ledoit_wolf_share(moments: MomentSums) -> Generator[Any, Any, float]:
    """Return the weight of Ledoit and Wolf (2004), after one more pass for the fourth powers of row lengths."""
    d = len(moments.mean)
    level = float(np.trace(moments.scatter)) / moments.weight / d
    if d == 1 or level <= 0:
        return 0.0
    # In units of the mean variance, so that fourth powers neither overflow nor vanish.
    scales = np.full((1, d), 1.0 / math.sqrt(level))
    fourth = yield FourthNorms(np.array(moments.mean)[None, :], scales)
    return compute_ledoit_wolf_weight(moments.scatter / moments.weight / level, float(fourth[0]), moments.weight)


def oas_share(moments: MomentSums) -> Generator[Any, Any, float]:
    """Return the weight of oracle approximating shrinkage, which assumes Gaussian rows (Chen et al., 2010)."""
    yield from ()
    d = len(moments.mean)
    level = float(np.trace(moments.scatter)) / moments.weight / d
    if d == 1:
        return 0.0
    if level <= 0:
        return 1.0
    # In units of the mean variance m, the formula has a + 1 over (n + 1) (a - 1 / d) with a the mean squared entry.
    relative = moments.scatter / moments.weight / level
    mean_square = float(np.mean(relative * relative))
    # Zero where the covariance is a multiple of the identity already, so that any weight gives the same.
    below = (moments.weight + 1.0) * (mean_square - 1.0 / d)
    return 1.0 if below <= 0 else min((mean_square + 1.0) / below, 1.0)


def _mean_log_likelihood(empirical: Array, kept: Array, precision: Array) -> float:
    """Return the mean log-likelihood of a row under the estimated Gaussian; `kept`: the eigenvalues above rounding.

    A singular covariance is taken within its span, where the trace of C P is the rank.
    """
    trace = len(kept) if precision is None else float(np.sum(empirical * precision))
    return -0.5 * (len(kept) * math.log(2.0 * math.pi) + float(np.sum(np.log(kept))) + trace)
