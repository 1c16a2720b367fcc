"""Bayesian linear regression: a posterior for the coefficients, and the evidence that sets its own penalty."""

import math
from collections.abc import Generator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Boolean, Nothing, Real, parameter
from mercer._solver import Solver
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, part
from mercer.linear_model._least_squares.posterior import PosteriorRegressor
from mercer.linear_model._single_target import open_single_target
from mercer.linear_model._solvers.closed_form.evidence import Evidence, EvidenceState, Precisions, maximise_evidence
from mercer.linear_model._solvers.closed_form.linear_spectrum import (
    LinearSpectrum,
    spectrum_of_moments,
    spectrum_of_triangle,
)


class BayesianRidge(PosteriorRegressor):
    """Bayesian linear regression with a Gaussian prior on the coefficients.

    The model is y_i ~ N(b + x_i . w, 1 / alpha) and w ~ N(0, I / lambda), with a flat prior on the intercept b. Given
    the data, w is N(m, S) with

        S = (alpha X^T W X + lambda I)^-1,    m = alpha S X^T W y    (X and y centred)

    where W holds the ``sample_weight``: m is ridge regression with penalty lambda / alpha. The precisions alpha and
    lambda are those that maximise the evidence, the density of the targets with w integrated out, times Gamma priors;
    or they are given, with ``maximise_evidence=False``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The posterior mean m.
    intercept_ : float
        The posterior mean of b.
    alpha_, lambda_ : float
        The precisions of the noise and of the coefficients.
    sigma_ : ndarray of shape (n_features, n_features)
        The posterior covariance S.
    scores_ : ndarray of shape (n_iter_ + 1,)
        The log evidence at the start and after each step, with ``compute_score``.
    X_offset_, X_scale_ : ndarray of shape (n_features,)
        The mean that was taken off the rows, and ones.
    n_iter_ : int
        Steps taken.
    history_, converged_, certificate_
        How the fit went: the log evidence never falls. The certificate is its largest derivative by log alpha and log
        lambda; the evidence need not be concave, so another stationary point may lie higher.

    Notes
    -----
    One pass forms the d x d scatter, n d^2 multiplications; its eigenvectors give everything else, so the fit runs
    wherever rows can be summed. Rows in memory with n < d are reduced to a triangle instead, n^2 d. Steps are
    MacKay's, or those of expectation-maximisation where MacKay's would lower the evidence. The intercept's own
    uncertainty, 1 / (alpha n), is part of the predictive variance, which scikit-learn leaves out.

    References
    ----------
    D. J. C. MacKay, Bayesian interpolation, 1992. M. E. Tipping, Sparse Bayesian learning and the relevance vector
    machine, 2001.

    Examples
    --------
    >>> from mercer.linear_model import BayesianRidge
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BayesianRidge().fit(X, y)
    >>> mean, deviation = model.predict(X[:1], return_std=True)
    >>> print(f"{mean[0]:.0f} +- {deviation[0]:.0f}, ridge penalty {model.lambda_ / model.alpha_:.4f}")
    203 +- 55, ridge penalty 0.0336
    """

    tol: float = parameter(Real(0, math.inf, "neither"), default=1e-3, after="max_iter")
    alpha_init: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        after="lambda_2",
        doc="Where alpha starts, or what it is; None means one over the variance of the targets.",
    )
    lambda_init: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="Where lambda starts, or what it is; None means 1. Zero, held, is a flat prior: least squares.",
    )
    maximise_evidence: bool = parameter(
        Boolean(),
        default=True,
        after="verbose",
        doc="Whether to maximise the evidence over alpha and lambda, or to leave both where they start.",
    )
    _documents = {
        "max_iter": "The most steps of the maximisation; a step costs O(d^2) and no pass over the rows.",
        "tol": (
            "The fit ends when the coefficients change by less than this in sum and no derivative of the log evidence "
            "by log alpha and log lambda is larger."
        ),
    }

    _objective_moves: ClassVar[str | None] = "up"

    _stored: ClassVar[dict[str, Stored]] = {
        "lambda_": floats(),
        "sigma_": floats("columns, columns"),
        "_evidence": part("EvidenceState"),
    }
    _depends_on_units = ("columns", "scale", "target")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianRidge":
        """Fit the model."""
        source = open_single_target(self, X, y, sample_weight)
        # The directions, the covariance and their copies: 5 matrices of 8 bytes an entry.
        require_memory(
            "BayesianRidge", 40 * source.n_features**2, "the posterior covariance", "use Ridge, or select columns"
        )
        fitted = partial(self._read_state, dtype=source.host_dtype)
        steps = self.max_iter if self.maximise_evidence else 0
        outcome = self._drive(
            lambda start: self._solver(source, steps, start), source, fitted=fitted, max_steps=max(1, steps)
        )
        self.__dict__.pop("scores_", None)
        if self.compute_score:
            self.scores_ = outcome.state.scores
        if not self.maximise_evidence and outcome.interrupt is None:
            outcome.converged = self.converged_ = True
        self._conclude(outcome)
        return self

    def _solver(self, source: Source, steps: int, start: Any) -> Solver:
        return maximise_evidence(
            _spectrum(source, self.fit_intercept), self._first, self._priors(), self.tol, steps, start
        )

    def _priors(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.alpha_1, self.alpha_2), (self.lambda_1, self.lambda_2)

    def _first(self, spectrum: LinearSpectrum) -> Precisions:
        # As in scikit-learn: the precision of the targets themselves, and eps for constant ones.
        variance = float(spectrum.y_variance[0]) + np.finfo(np.float64).eps
        alpha = 1.0 / variance if self.alpha_init is None else self.alpha_init
        return Precisions.within(alpha, 1.0 if self.lambda_init is None else self.lambda_init)

    def _read_state(self, state: EvidenceState, dtype: np.dtype) -> dict[str, Any]:
        """Return the fitted attributes, in the precision of the rows."""
        spectrum, at = state.spectrum, state.precisions
        # The posterior mean is ridge regression with penalty lambda / alpha.
        coef = spectrum.coef(at.lambda_ / at.alpha)
        return {
            "coef_": coef[:, 0].astype(dtype),
            "intercept_": dtype.type(spectrum.intercept(coef)[0]) if self.fit_intercept else 0.0,
            "alpha_": at.alpha,
            "lambda_": at.lambda_,
            "sigma_": _covariance(spectrum, at).astype(dtype),
            "X_offset_": spectrum.mean.astype(dtype),
            "X_scale_": np.ones(len(spectrum.mean), dtype),
            "solver_used_": "evidence" if self.maximise_evidence else "posterior",
            "_evidence": state,
        }

    def _describe_posterior(self) -> tuple[np.ndarray, float]:
        return self.sigma_, self._evidence.spectrum.weight

    def log_evidence(self, alpha: float | None = None, lambda_: float | None = None) -> float:
        """Return the log density of the training targets with the coefficients integrated out, without Gamma priors.

        Parameters
        ----------
        alpha, lambda_ : float or None, default=None
            The precisions; None means those of the fit.

        Returns
        -------
        value : float
            log N(y; 0, I / alpha + X X^T / lambda), X and y centred where there is an intercept.
        """
        check_is_fitted(self)
        state = self._evidence
        alpha = state.precisions.alpha if alpha is None else alpha
        lambda_ = state.precisions.lambda_ if lambda_ is None else lambda_
        return Evidence(state.spectrum).evaluate(Precisions.within(alpha, lambda_)).value

    def sample_posterior(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw coefficients and intercepts from the posterior.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        coefs : ndarray of shape (n_samples, n_features)
        intercepts : ndarray of shape (n_samples,)
            Zero without an intercept.
        """
        check_is_fitted(self)
        random = np.random.default_rng(seed_sequence(random_state))
        spectrum, at = self._evidence.spectrum, self._evidence.precisions
        directions, d = spectrum.directions, len(spectrum.mean)
        # Draws from the prior N(0, 1 / lambda).
        noise = random.standard_normal((n_samples, d)) / math.sqrt(at.lambda_)
        # Along each direction of the data the prior's deviation shrinks to the posterior's; others keep the prior's.
        shrink = 1.0 - np.sqrt(at.lambda_ / (at.lambda_ + at.alpha * spectrum.values))
        coefs = spectrum.coef(at.lambda_ / at.alpha)[:, 0] + noise - (noise @ directions * shrink) @ directions.T
        if not self.fit_intercept:
            return coefs, np.zeros(n_samples)
        # The level of the centred model has variance 1 / (alpha sum(w)).
        level = random.standard_normal(n_samples) / math.sqrt(at.alpha * spectrum.weight)
        return coefs, spectrum.y_mean[0] - coefs @ spectrum.mean + level


def _spectrum(source: Source, centre: bool) -> Generator[Any, Any, LinearSpectrum]:
    """Return the spectrum by the triangle of the rows if they are fewer than columns, else by the scatter."""
    # A wide scatter is d x d and squares the rows; the triangle is n x d and does not.
    if source.place == "memory" and not source.is_sparse and source.n_rows < source.n_features:
        return spectrum_of_triangle(centre)
    return spectrum_of_moments(centre)


def _covariance(spectrum: LinearSpectrum, at: Precisions) -> np.ndarray:
    """Return V diag(1 / (alpha l + lambda)) V^T, plus I / lambda in the directions that V leaves out."""
    directions, spread = spectrum.directions, 1.0 / (at.alpha * spectrum.values + at.lambda_)
    if directions.shape[0] == directions.shape[1]:
        return (directions * spread) @ directions.T
    # More columns than rows: the data say nothing of the other directions, which keep the prior.
    outside = np.eye(directions.shape[0]) - directions @ directions.T
    return (directions * spread) @ directions.T + outside / at.lambda_
