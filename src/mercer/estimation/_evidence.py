"""The evidence of a model: how probable it made the data before they were seen, its parameters integrated out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.density import as_density
from mercer._base.randomness import seed_sequence
from mercer._solver.quadrature import integrate_box
from mercer.errors import DataError, ParameterError
from mercer.estimation._likelihood import log_prior, maximum_a_posteriori


@dataclass(frozen=True)
class Evidence:
    """The log-evidence of a model, and how well it is known.

    Attributes
    ----------
    log_value : float
        The log of p(D | M).
    error : float
        An estimate of its error (of the logarithm): of the quadrature, the standard error of the simulation; NaN for
        the Laplace approximation, which has none.
    method : str
        Where it comes from.
    """

    log_value: float
    error: float
    method: str


def quadrature_evidence(
    log_density: Callable[[Any, np.ndarray], Any], prior: Any, X: Any, low: Any, high: Any, *, tol: float = 1e-9
) -> Evidence:
    """Return the evidence by quadrature over one to three parameters.

    Parameters
    ----------
    log_density : callable
        From observations and parameters to the log-density of each observation.
    prior : density or callable
        Normalised; with ``logpdf``, summed over the parameters, or a function of them.
    X : array-like
        Observations.
    low, high : array-like of shape (p,)
        Limits that hold all of the posterior that matters.
    tol : float, default=1e-9
        Relative error allowed.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, UniformDensity, quadrature_evidence
    >>> logpdf = lambda x, theta: GeometricDensity(*theta).logpdf(x)
    >>> round(float(np.exp(quadrature_evidence(logpdf, UniformDensity(), [0, 2], [0.0], [1.0]).log_value)), 9)  # 1/30
    0.033333333
    """
    X = np.asarray(X)

    def joint(points: np.ndarray) -> np.ndarray:
        return np.array([_log_joint(log_density, prior, X, theta) for theta in points])

    low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (low, high))
    # The scale of the integrand: without it, n = 1000 observations underflow.
    # A grid of 33 points a side, for the order of magnitude.
    look = np.stack(np.meshgrid(*[np.linspace(0.01, 0.99, 33)] * len(low), indexing="ij"), axis=-1).reshape(
        -1, len(low)
    )
    top = joint(low + look * (high - low)).max()
    if not np.isfinite(top):
        raise DataError("quadrature_evidence: likelihood times prior is zero between the limits. Move them.")
    # Between the points of the first look the integrand may exceed its largest value there, but not overflow.
    integral = integrate_box(
        lambda at: np.exp(np.minimum(joint(at) - top, 600.0)), low, high, tol=tol, subject="quadrature_evidence"
    )
    if integral.value == 0:
        raise DataError(
            "quadrature_evidence: the integral is zero; a prior of whole numbers has sums and no integrals."
        )
    if not integral.error <= max(1e-6, 10 * tol) * integral.value:
        raise DataError(
            f"quadrature_evidence: the integral of likelihood times prior does not settle (relative error "
            f"{integral.error / integral.value:.2g}); the posterior may be improper. Use a proper prior, or move the "
            f"limits."
        )
    return Evidence(float(top + np.log(integral.value)), integral.error / integral.value, "quadrature")


def laplace_evidence(
    log_density: Callable[[Any, np.ndarray], Any], prior: Any, X: Any, start: Any, **options: Any
) -> Evidence:
    """Return the evidence of a posterior that is peaked: a Gaussian about its mode.

    log p(D) = log p(D | t) + log p(t) + p/2 log 2 pi - 1/2 log det H at the posterior mode t, with H minus the second
    derivatives there. The error falls like 1/n.

    Parameters
    ----------
    log_density : callable
        From observations and parameters to the log-density of each observation.
    prior : density or callable
        Normalised.
    X : array-like
        Observations.
    start : array-like of shape (p,)
        Where to begin to look for the mode.
    **options : dict
        What :func:`maximum_a_posteriori` takes: ``method``, ``stop``...

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, laplace_evidence
    >>> logpdf = lambda x, theta: GaussianDensity(theta[0], 1.0).logpdf(x)
    >>> evidence = laplace_evidence(logpdf, GaussianDensity(0.0, 1.0), [0.2, -0.1, 0.3, 0.0, 0.1], [0.0])
    >>> round(evidence.log_value, 4)  # exact for a Gaussian
    -5.5447
    """
    mode = maximum_a_posteriori(log_density, prior, X, start, **options)
    sign, determinant = np.linalg.slogdet(mode.information)
    if sign <= 0 or not np.isfinite(determinant):
        raise DataError(
            "laplace_evidence: the posterior must have a maximum with negative curvature; at the point found it has "
            "none. Begin elsewhere, or use quadrature_evidence."
        )
    p = len(mode.parameters)
    # Second order about the mode: p(D | t) p(t) (2 pi)^(p/2) det(H)^(-1/2), with H minus the Hessian of the logarithm.
    value = mode.log_likelihood + mode.log_prior + 0.5 * (p * np.log(2 * np.pi) - determinant)
    return Evidence(float(value), float("nan"), "Laplace")


def monte_carlo_evidence(
    log_density: Callable[[Any, np.ndarray], Any],
    prior: Any,
    X: Any,
    n_samples: int = 10_000,
    *,
    n_parameters: int = 1,
    random_state: Any = None,
) -> Evidence:
    """Return the evidence as the mean likelihood of parameters drawn from the prior.

    Simple and unbiased, and of use where the posterior is not much narrower than the prior.

    Parameters
    ----------
    log_density : callable
        From observations and parameters to the log-density of each observation.
    prior : density
        With ``sample``.
    X : array-like
        Observations.
    n_samples : int, default=10000
        Draws.
    n_parameters : int, default=1
        Parameters that are drawn from a prior of numbers.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, UniformDensity, monte_carlo_evidence
    >>> logpdf = lambda x, theta: GeometricDensity(*theta).logpdf(x)
    >>> evidence = monte_carlo_evidence(logpdf, UniformDensity(), [0, 2], random_state=0)
    >>> bool(abs(evidence.log_value + np.log(30)) < 4 * evidence.error)
    True
    """
    X = np.asarray(X)
    if n_samples < 2:
        raise DataError(f"monte_carlo_evidence: n_samples must be an integer in [2, inf); got {n_samples!r}.")
    seeds = seed_sequence(random_state).spawn(n_parameters)
    density = as_density(prior, "monte_carlo_evidence")
    draws = [np.asarray(density.sample(n_samples, np.random.default_rng(seed))) for seed in seeds]
    theta = draws[0] if draws[0].ndim == 2 else np.column_stack(draws)
    logs = np.array([_log_joint(log_density, None, X, parameters) for parameters in theta])
    # The mean of likelihoods that underflow one by one is taken in log space.
    # The relative standard error of a mean of ratios.
    value = float(logsumexp(logs) - np.log(n_samples))
    spread = np.exp(logs - value).std(ddof=1) / np.sqrt(n_samples)
    return Evidence(value, float(spread), "Monte Carlo")


def _log_joint(log_density: Any, prior: Any, X: np.ndarray, theta: np.ndarray) -> float:
    try:
        value = float(np.sum(log_density(X, theta))) + log_prior(prior, theta)
    except ParameterError:
        return -np.inf  # a density refuses parameters outside its range
    return value if not np.isnan(value) else -np.inf
