"""Bayesian linear regression: the posterior, the evidence, and its maximisation over the two precisions.

Targets have noise of precision alpha, coefficients a prior of precision lambda:

    y ~ N(X w, I / alpha),    w ~ N(0, I / lambda)

so that w given y is N(m, S) with S = (alpha X^T X + lambda I)^-1 and m = alpha S X^T y, and y itself is
N(0, I / alpha + X X^T / lambda): its density is the evidence. In the eigenvectors of X^T X all of it costs O(d), so a
step of the maximisation costs next to nothing and the rows are seen once.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer.linear_model._solvers.closed_form.linear_spectrum import LinearSpectrum

_STATIONARY = "The largest derivative of the log evidence by log alpha and log lambda: zero where it is stationary."
# The precisions that stand for zero and infinity: products of two of them neither underflow nor overflow.
_LEAST = 1e-150
_MOST = 1e150
_GIVEN = "Norm of alpha X^T r - lambda coef over alpha |X| |y| (X and y centred): zero at the posterior mean."


@plain
@dataclass(frozen=True)
class Precisions:
    """The precisions of the noise and of the coefficients."""

    alpha: float
    lambda_: float

    @classmethod
    def within(cls, alpha: float, lambda_: float) -> "Precisions":
        """Return precisions clipped to a range in which products do not overflow."""
        return cls(min(max(float(alpha), _LEAST), _MOST), min(max(float(lambda_), _LEAST), _MOST))


@plain
@dataclass(frozen=True)
class EvidenceState:
    """Precisions, the spectrum they belong to, the log evidence at the start and after each step."""

    precisions: Precisions
    spectrum: LinearSpectrum
    scores: Any


@dataclass(frozen=True, eq=False)
class Evidence:
    """The log evidence of one target as a function of the precisions, with Gamma priors on both.

    Parameters
    ----------
    spectrum : LinearSpectrum
    noise_prior, weight_prior : tuple of float
        Shape and rate of the priors on alpha and lambda: a log alpha - b alpha is added to the log evidence.
    """

    spectrum: LinearSpectrum
    noise_prior: tuple[float, float] = (0.0, 0.0)
    weight_prior: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def _least(self) -> np.ndarray:
        """Squares of the targets along each direction that coefficients without a prior would explain."""
        values, along = self.spectrum.values, self.spectrum.along[:, 0]
        return np.divide(along**2, values, out=np.zeros_like(values), where=values > 0)

    def evaluate(self, at: Precisions) -> "Evaluation":
        """Compute the posterior at some precisions, and the log evidence plus the log priors."""
        spectrum, alpha, lambda_ = self.spectrum, at.alpha, at.lambda_
        freedom = spectrum.directions.shape[0]
        # In the eigenvectors of X^T X the posterior precision is diagonal: alpha l_j + lambda.
        scaled = alpha * spectrum.values
        total = scaled + lambda_
        mean = alpha * spectrum.along[:, 0] / total
        squares = float(spectrum.unexplained[0] + self._least @ (lambda_ / total) ** 2)
        size = float(mean @ mean)
        # log |S| over all d directions; those without data keep the prior's precision.
        log_determinant = float(np.log(total).sum()) + (freedom - len(total)) * math.log(lambda_)
        # n log(alpha / 2 pi) - alpha |y - X m|^2, and below the same for the prior.
        likelihood = spectrum.weight * math.log(alpha / (2 * math.pi)) - alpha * squares
        prior = freedom * math.log(lambda_) - lambda_ * size - log_determinant
        value = (
            0.5 * (likelihood + prior) + _log_prior(alpha, self.noise_prior) + _log_prior(lambda_, self.weight_prior)
        )
        return Evaluation(at, squares, size, float((scaled / total).sum()), value)

    def slope(self, here: "Evaluation") -> tuple[float, float]:
        """Return the derivatives by log alpha and log lambda."""
        at = here.precisions
        # MacKay (1992): both vanish where alpha = (n - gamma) / squares and lambda = gamma / |m|^2, with gamma the
        # effective number of coefficients.
        by_alpha = 0.5 * (self.spectrum.weight - here.known - at.alpha * here.squares)
        by_lambda = 0.5 * (here.known - at.lambda_ * here.size)
        (a, b), (c, d) = self.noise_prior, self.weight_prior
        return by_alpha + a - b * at.alpha, by_lambda + c - d * at.lambda_

    def take_fixed_point_step(self, here: "Evaluation") -> Precisions:
        """Take MacKay's step: solve both stationarity conditions with the rest held; it may lower the evidence."""
        return self._balance(self.spectrum.weight - here.known, here.squares, here.known, here.size)

    def take_expectation_step(self, here: "Evaluation") -> Precisions:
        """Take the step of expectation-maximisation: slower, and the evidence never falls."""
        at, freedom = here.precisions, self.spectrum.directions.shape[0]
        # E |w|^2 = |m|^2 + trace S, and trace S = (d - gamma) / lambda.
        spread = (freedom - here.known) / at.lambda_
        return self._balance(self.spectrum.weight, here.squares + here.known / at.alpha, freedom, here.size + spread)

    def _balance(self, count: float, squares: float, freedom: float, size: float) -> Precisions:
        (a, b), (c, d) = self.noise_prior, self.weight_prior
        alpha = (count + 2 * a) / max(squares + 2 * b, _LEAST)
        lambda_ = (freedom + 2 * c) / max(size + 2 * d, _LEAST)
        return Precisions.within(alpha, lambda_)

    def improve(self, here: "Evaluation") -> "Evaluation":
        """Take MacKay's step if it raises the evidence, else that of expectation-maximisation."""
        quick = self.evaluate(self.take_fixed_point_step(here))
        return quick if quick.value >= here.value else self.evaluate(self.take_expectation_step(here))


@dataclass(frozen=True)
class Evaluation:
    """The evidence at some precisions, and what its slope and the next step need of the posterior.

    `squares` are the squares of the residuals at the posterior mean m, `size` is |m|^2, `known` the effective number of
    coefficients, and `value` the log evidence plus the log priors.
    """

    precisions: Precisions
    squares: float
    size: float
    known: float
    value: float


def _log_prior(value: float, prior: tuple[float, float]) -> float:
    return prior[0] * math.log(value) - prior[1] * value


def maximise_evidence(
    spectrum: Any,
    first: Any,
    priors: tuple[tuple[float, float], tuple[float, float]],
    tol: float,
    max_iter: int,
    start: EvidenceState | None,
) -> Solver:
    """Raise the evidence until coefficients and precisions rest; `max_iter` of zero leaves the precisions as they are.

    Parameters
    ----------
    spectrum : generator
        Gives the LinearSpectrum; asked only where there is no state to start from.
    first : callable
        From the spectrum to the precisions to start from.
    priors : pair of pairs
        Of alpha and of lambda.
    tol : float
        What the sum of changes of the coefficients and the slope of the evidence must come down to.
    max_iter : int
    start : EvidenceState or None
    """
    if start is None:
        eigen = yield from spectrum
        evidence = Evidence(eigen, *priors)
        at = first(eigen)
        here = evidence.evaluate(at)
        state = EvidenceState(at, eigen, np.array([here.value]))
        if max_iter == 0:
            return (yield from _solve_once(evidence, state, tol))
    else:
        state, evidence = start, Evidence(start.spectrum, *priors)
        here = evidence.evaluate(state.precisions)
    coef = _mean(state)
    certificate = _stationarity(evidence, here, tol)
    # A resumed fit has already recorded the score of its steps.
    for _ in range(len(state.scores) - 1, max_iter):
        here = evidence.improve(here)
        state = EvidenceState(here.precisions, state.spectrum, np.append(state.scores, here.value))
        previous, coef = coef, _mean(state)
        change = float(np.sum(np.abs(coef - previous)))
        certificate = _stationarity(evidence, here, tol)
        yield Step(float(state.scores[-1]), state, certificate, {"change": change})
        if change < tol and certificate.satisfied:
            return Solution(state, True, certificate)
    return Solution(state, False, certificate)


def _mean(state: EvidenceState) -> np.ndarray:
    return state.spectrum.coef(state.precisions.lambda_ / state.precisions.alpha)[:, 0]


def _stationarity(evidence: Evidence, here: Evaluation, tol: float) -> Certificate:
    return Certificate.of("gradient norm", max(map(abs, evidence.slope(here))), tol, _STATIONARY)


def _solve_once(evidence: Evidence, state: EvidenceState, tol: float) -> Solver:
    """Take one step at given precisions: the posterior in closed form."""
    spectrum, ratio = state.spectrum, state.precisions.lambda_ / state.precisions.alpha
    shrunk = spectrum.shrunk(ratio)
    gradient = spectrum.along - (spectrum.values[:, None] + ratio) * shrunk
    scale = math.sqrt(float(np.sum(spectrum.values)) * float(spectrum.y_scatter[0]))
    size = float(np.linalg.norm(gradient))
    certificate = Certificate.of("residual", size / scale if scale else size, tol, _GIVEN)
    yield Step(float(state.scores[-1]), state, certificate)
    return Solution(state, True, certificate)
