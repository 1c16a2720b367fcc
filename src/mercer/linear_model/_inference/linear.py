"""Inference for least squares and ridge: covariances from the spectrum of the rows, influence from their leverages.

With X_c^T W X_c = V diag(l) V^T and noise of variance s^2, the covariance of the coefficients is
s^2 V diag(l / (l + alpha)^2) V^T, and the intercept, y_mean - mean . coef, adds s^2 / sum(w).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from mercer._solver.relay import answer_requests
from mercer._source import Block, Source
from mercer._statistic.products import Residual
from mercer.errors import ParameterError
from mercer.linear_model._inference.inference import Inference, describe_estimates, refuse_rank, term_names
from mercer.linear_model._single_target import open_single_target
from mercer.linear_model._solvers.closed_form.linear_spectrum import (
    LinearSpectrum,
    spectrum_of_moments,
    spectrum_of_triangle,
)


def infer_linear(model: Any, X: Any, y: Any, sample_weight: Any, confidence: float) -> Inference:
    """Compute the inference of a fitted LinearRegression or Ridge."""
    name, alpha = type(model).__name__, float(np.ravel(getattr(model, "alpha", 0.0))[0])
    if model.positive:
        raise ParameterError(
            f"{name}: standard errors do not hold for coefficients at a bound; fit with positive=False."
        )
    source = open_single_target(model, X, y, sample_weight, reset=False)
    centre = model.fit_intercept
    dense = source.place == "memory" and not source.is_sparse
    # The triangle keeps the small singular values that the squares of the scatter lose.
    spectrum = answer_requests(spectrum_of_triangle(centre) if dense else spectrum_of_moments(centre), source)
    if alpha == 0 and (len(spectrum.values) < source.n_features or not (spectrum.values > 0).all()):
        refuse_rank(name)
    coef = np.ravel(model.coef_).astype(np.float64)
    level = float(np.ravel(model.intercept_)[0])
    sums = source.reduce(Residual(coef[:, None], np.zeros(len(coef)), np.array([level])))
    squares, n = float(sums.squares[0]), spectrum.weight
    # The trace of the hat matrix: the effective number of coefficients of ridge, d without a penalty.
    freedom = float(np.sum(spectrum.values / (spectrum.values + alpha))) + centre
    # Residual degrees of freedom.
    left = n - freedom
    if left <= 0:
        raise ParameterError(
            f"{name}: {freedom:g} coefficients leave nothing of {n:g} rows to estimate the noise; add rows."
        )
    variance = squares / left
    estimates = np.append(level, coef) if centre else coef
    return Inference(
        names=term_names(model),
        **describe_estimates(estimates, variance * _covariance(spectrum, alpha, centre), left, confidence),
        **_quality(squares, float(spectrum.y_scatter[0]), n, freedom, left, centre),
        noise_variance=variance,
        **(_influence(source, spectrum, alpha, centre, (coef, level), variance, freedom) if dense else {}),
    )


def _covariance(spectrum: LinearSpectrum, alpha: float, centre: bool) -> np.ndarray:
    """Return the covariance of intercept and coefficients under noise of variance one."""
    # (S + alpha I)^-1 S (S + alpha I)^-1 in the eigenvectors of S.
    spread = spectrum.values / (spectrum.values + alpha) ** 2
    inner = (spectrum.directions * spread) @ spectrum.directions.T
    if not centre:
        return inner
    # The intercept is y_mean - mean . coef: its covariances follow from those of the coefficients, and the mean of y
    # has variance 1 / n.
    edge = -inner @ spectrum.mean
    corner = 1.0 / spectrum.weight - spectrum.mean @ edge
    return np.block([[np.array([[corner]]), edge[None, :]], [edge[:, None], inner]])


def _quality(squares: float, total: float, n: float, freedom: float, left: float, centre: bool) -> dict[str, Any]:
    # The likelihood at the maximum-likelihood variance squares / n.
    likelihood = -0.5 * n * (math.log(2 * math.pi * squares / n) + 1.0) if squares > 0 else math.inf
    unexplained = squares / total if total > 0 else math.nan
    explaining = freedom - centre
    # The F test compares with the model of the intercept alone, or with zero.
    ratio = (total - squares) / explaining / (squares / left) if explaining > 0 and squares > 0 else math.nan
    return {
        "n_samples": n,
        "residual_freedom": left,
        "effective_freedom": freedom,
        "log_likelihood": likelihood,
        "aic": 2.0 * freedom - 2.0 * likelihood,
        "bic": freedom * math.log(n) - 2.0 * likelihood,
        "r_squared": 1.0 - unexplained,
        "adjusted_r_squared": 1.0 - unexplained * (n - centre) / left,
        "test": ratio,
        "test_p_value": float(special.fdtrc(explaining, left, ratio)),
    }


@dataclass(frozen=True, eq=False)
class _Leverage:
    """The leverage that each row has with weight one, and its residual."""

    whitening: np.ndarray
    mean: np.ndarray
    share: float
    coef: np.ndarray
    level: float

    def __call__(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        leverage = np.sum((block.centre(self.mean) @ self.whitening) ** 2, axis=1) + self.share
        return leverage, block.y - block.matmul(self.coef) - self.level


def _influence(
    source: Source, spectrum: LinearSpectrum, alpha: float, centre: bool, fit: tuple, variance: float, freedom: float
) -> dict[str, Any]:
    """Compute leverages, residuals under the model without one copy of each row, and Cook's distances."""
    # Leverages are h_i = |V (l + alpha)^(-1/2) x_i|^2, plus 1 / sum(w) for the intercept.
    whitening = spectrum.directions / np.sqrt(np.maximum(spectrum.values + alpha, np.finfo(np.float64).tiny))
    share = 1.0 / spectrum.weight if centre else 0.0
    leverage, residual = source.map(_Leverage(whitening, spectrum.mean, share, *fit))
    taken = leverage if source.weight is None else leverage * np.minimum(source.weight, 1.0)
    # A row of leverage one is fitted exactly: without it the model is not determined.
    left = np.where(taken < 1.0 - 1e-12, 1.0 - taken, np.nan)
    missed = residual / left
    return {
        "leverages": leverage,
        "leave_one_out_residuals": missed,
        # D_i = (r_i / (1 - h_i))^2 h_i / (p s^2).
        "cooks_distances": missed**2 * taken / (freedom * variance),
    }
