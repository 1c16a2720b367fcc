"""Evidence of linear regression whose coefficients have a precision each: those that say nothing go to infinity.

The prior of w_j is N(0, 1 / lambda_j). Given the precisions, w is N(m, S) with S = (alpha G + Lambda)^-1 and
m = alpha S c, where G is the scatter of the columns and c their products with the target: all that a step needs.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, pinvh

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._statistic import Moments, MomentSums
from mercer._types import Array

STATEMENT = (
    "The largest derivative of the log evidence, with its Gamma priors, by the logarithm of a precision of the columns "
    "that are kept; another stationary point may lie higher."
)
# The least precision: zero would leave coefficients without a prior, which least squares is for.
_LEAST = 1e-300


@plain
@dataclass(frozen=True, eq=False)
class RelevanceState:
    """The precisions, the posterior of the coefficients (``coef`` is features x 1), and the log evidence so far."""

    coef: Array
    intercept: Array
    alpha: float
    precisions: Array
    kept: Array
    covariance: Array
    scores: Array
    mean: Array
    weight: float
    method: str


@dataclass(frozen=True)
class RelevancePriors:
    """Shapes and rates of the Gamma priors on alpha and on each lambda, and the precision that ends a column."""

    alpha: tuple[float, float]
    precision: tuple[float, float]
    highest: float


@dataclass(frozen=True, eq=False)
class _Posterior:
    """The posterior at some precisions, the log evidence and its derivatives by their logarithms."""

    coef: Array
    covariance: Array
    shares: Array
    squares: float
    score: float
    slopes: Array


def maximise_relevance(
    centre: bool, priors: RelevancePriors, tol: float, max_iter: int, start: RelevanceState | None
) -> Solver[RelevanceState]:
    """Maximise the evidence by MacKay's steps, dropping columns whose precision passes the highest."""
    moments = yield Moments(centre)
    d = len(moments.mean)
    if start is None:
        # The precision of the targets themselves, about zero where there is no intercept, and eps for constant ones.
        alpha = 1.0 / (float(moments.y_scatter[0]) / moments.weight + np.finfo(np.float64).eps)
        precisions, kept, scores = np.ones(d), np.ones(d, dtype=bool), np.empty(0)
    else:
        alpha, precisions, kept, scores = start.alpha, start.precisions.copy(), start.kept, start.scores
    here = _find_posterior(moments, alpha, precisions, kept, priors)
    state = _read(moments, here, alpha, precisions, kept, scores)
    before = here.coef
    for _ in range(len(scores), max_iter):
        alpha, precisions = _step(moments, here, precisions, kept, priors)
        kept = precisions < priors.highest
        here = _find_posterior(moments, alpha, precisions, kept, priors)
        scores = np.append(scores, here.score)
        state = _read(moments, here, alpha, precisions, kept, scores)
        certificate = _certify(here, tol)
        change, before = float(np.abs(here.coef - before).sum()), here.coef
        yield Step(-here.score, state, certificate, {"change": change, "columns": float(kept.sum())})
        if not kept.any() or (change < tol and certificate.satisfied):
            return Solution(state, True, certificate)
    return Solution(state, False, _certify(here, tol))


def _step(
    moments: MomentSums, here: _Posterior, precisions: Array, kept: Array, priors: RelevancePriors
) -> tuple[float, Array]:
    """Return the precisions at which the derivatives would be zero if the posterior stayed."""
    shape, rate = priors.precision
    changed = precisions.copy()
    changed[kept] = np.maximum((here.shares + 2.0 * shape) / (here.coef[kept] ** 2 + 2.0 * rate), _LEAST)
    shape, rate = priors.alpha
    freedom = moments.weight - float(here.shares.sum()) + 2.0 * shape
    return max(freedom, _LEAST) / max(here.squares + 2.0 * rate, _LEAST), changed


def _find_posterior(
    moments: MomentSums, alpha: float, precisions: Array, kept: Array, priors: RelevancePriors
) -> _Posterior:
    """Compute the posterior of the coefficients that are kept; all others are zero."""
    columns, cross = np.flatnonzero(kept), moments.cross[kept, 0]
    own = precisions[kept]
    covariance, logarithm = _invert(alpha * moments.scatter[np.ix_(columns, columns)] + np.diag(own))
    found = alpha * (covariance @ cross)
    coef = np.zeros(len(kept))
    coef[kept] = found
    fitted = moments.scatter[np.ix_(columns, columns)] @ found
    squares = max(0.0, float(moments.y_scatter[0] - 2.0 * (found @ cross) + found @ fitted))
    # How much of each coefficient the data determine.
    shares = np.clip(1.0 - own * np.diagonal(covariance), 0.0, 1.0)
    (a1, a2), (l1, l2) = priors.alpha, priors.precision
    score = a1 * math.log(alpha) - a2 * alpha + float(np.sum(l1 * np.log(own) - l2 * own))
    score += 0.5 * (moments.weight * math.log(alpha) + float(np.log(own).sum()) - logarithm)
    score -= 0.5 * (alpha * squares + float(own @ found**2) + moments.weight * math.log(2.0 * math.pi))
    slopes = np.append(
        0.5 * (shares - own * found**2) + l1 - l2 * own,
        0.5 * (moments.weight - shares.sum() - alpha * squares) + a1 - a2 * alpha,
    )
    return _Posterior(coef, covariance, shares, squares, score, slopes)


def _invert(matrix: Array) -> tuple[Array, float]:
    """Return the inverse of a positive definite matrix and the logarithm of its determinant."""
    if not len(matrix):
        return matrix, 0.0
    # Precisions differ by ten powers of ten: with ones on the diagonal the factor loses no digits to that.
    root = np.sqrt(np.diagonal(matrix))
    scaled = matrix / (root[:, None] * root)
    factor, failed = lapack.dpotrf(scaled, lower=1)
    if failed:
        inverse = pinvh(scaled)
        logarithm = float(np.linalg.slogdet(scaled)[1])
    else:
        lower = lapack.dpotri(factor, lower=1)[0]
        inverse = np.tril(lower) + np.tril(lower, -1).T
        logarithm = 2.0 * float(np.log(np.diagonal(factor)).sum())
    return inverse / (root[:, None] * root), logarithm + 2.0 * float(np.log(root).sum())


def _read(
    moments: MomentSums, here: _Posterior, alpha: float, precisions: Array, kept: Array, scores: Array
) -> RelevanceState:
    coef = here.coef[:, None]
    intercept = moments.y_mean - moments.mean @ coef
    return RelevanceState(
        coef, intercept, alpha, precisions, kept, here.covariance, scores, moments.mean, float(moments.weight),
        "evidence",
    )  # fmt: skip


def _certify(here: _Posterior, tol: float) -> Certificate:
    return Certificate.of("gradient norm", float(np.abs(here.slopes).max()), tol, STATEMENT)
