"""Maximum likelihood and maximum a posteriori for any log-density, by any method of :mod:`mercer.optim`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.reading import read_weight
from mercer.errors import DataError, ParameterError
from mercer.optim import Result, minimize, numerical_gradient, numerical_hessian

__all__ = ["Estimate", "maximum_a_posteriori", "maximum_likelihood"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters found by maximum likelihood or maximum a posteriori.

    Attributes
    ----------
    parameters : ndarray
        Where the log-likelihood (plus log-prior) is highest.
    log_likelihood : float
        Of the observations there.
    log_prior : float
        The log-prior there; zero for maximum likelihood.
    information : ndarray of shape (p, p)
        Minus the second derivatives of log-likelihood plus log-prior, by differences.
    result : mercer.optim.Result
        How the search went: history, certificate, what ended it.
    """

    parameters: np.ndarray
    log_likelihood: float
    log_prior: float
    information: np.ndarray
    result: Result

    @property
    def covariance(self) -> np.ndarray:
        """The inverse of the information: the covariance of the estimate in large samples."""
        try:
            return np.linalg.inv(self.information)
        except np.linalg.LinAlgError:
            message = "Estimate: the information is singular; some parameters do not change the likelihood. Fix them."
            raise DataError(message) from None

    @property
    def standard_errors(self) -> np.ndarray:
        """Roots of the diagonal of the covariance."""
        return np.sqrt(np.diag(self.covariance))


def maximum_likelihood(
    log_density: Callable[[Any, np.ndarray], Any],
    X: Any,
    start: Any,
    *,
    score: Callable[[Any, np.ndarray], Any] | None = None,
    sample_weight: Any = None,
    method: Any = "lbfgs",
    **options: Any,
) -> Estimate:
    """Find the parameters under which the observations are most likely.

    Minimises -(1/n) sum_i log p(x_i | theta), which differs from the Kullback-Leibler divergence of the model from the
    distribution of the data by a constant.

    Parameters
    ----------
    log_density : callable
        From observations and parameters to the log-density of each observation. Outside the parameters' range it may
        give NaN or minus infinity, and the search turns back.
    X : array-like
        Observations, passed on as an array.
    start : array-like of shape (p,)
        Parameters to begin with.
    score : callable or None, default=None
        From observations and parameters to the derivatives of each log-density, of shape (n, p); None takes
        differences.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights; a weight of two is the observation twice.
    method : str or Method, default="lbfgs"
        Any of :func:`mercer.optim.minimize`.
    **options : dict
        What `minimize` takes besides: ``stop``, ``bounds``, options of the method...

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, maximum_likelihood
    >>> estimate = maximum_likelihood(lambda x, theta: GeometricDensity(*theta).logpdf(x), [0, 2, 0, 1], [0.5])
    >>> round(float(estimate.parameters[0]), 6)  # 4 / 7
    0.571429
    """
    return _climb("maximum_likelihood", log_density, None, X, start, score, sample_weight, method, options)


def maximum_a_posteriori(
    log_density: Callable[[Any, np.ndarray], Any],
    prior: Any,
    X: Any,
    start: Any,
    *,
    score: Callable[[Any, np.ndarray], Any] | None = None,
    sample_weight: Any = None,
    method: Any = "lbfgs",
    **options: Any,
) -> Estimate:
    """Find the parameters of highest posterior density.

    A point estimate: the maximum of log p(X | theta) + log p(theta), without the rest of the posterior. A flat prior
    gives maximum likelihood, and so does any prior as observations become many.

    Parameters
    ----------
    log_density : callable
        From observations and parameters to the log-density of each observation.
    prior : density, or callable
        With ``logpdf``, summed over the parameters; or a function from parameters to their log-density.
    X : array-like
        Observations.
    start : array-like of shape (p,)
        Parameters to begin with.
    score : callable or None, default=None
        Derivatives of each log-density, of shape (n, p); those of the prior are by differences.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights; a weight of two is the observation twice.
    method : str or Method, default="lbfgs"
        Any of :func:`mercer.optim.minimize`.
    **options : dict
        What `minimize` takes besides.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from mercer.estimation import BetaDensity, GeometricDensity, maximum_a_posteriori
    >>> logpdf = lambda x, theta: GeometricDensity(*theta).logpdf(x)
    >>> estimate = maximum_a_posteriori(logpdf, BetaDensity(2, 2), [0, 2, 0, 1], [0.5])
    >>> round(float(estimate.parameters[0]), 6)  # the mode of Beta(6, 5)
    0.555556
    """
    return _climb("maximum_a_posteriori", log_density, prior, X, start, score, sample_weight, method, options)


def _climb(
    subject: str,
    log_density: Callable[[Any, np.ndarray], Any],
    prior: Any,
    X: Any,
    start: Any,
    score: Callable[[Any, np.ndarray], Any] | None,
    sample_weight: Any,
    method: Any,
    options: dict[str, Any],
) -> Estimate:
    X = np.asarray(X)
    if X.ndim == 0 or len(X) == 0:
        message = f"{subject}: X must hold at least one observation; got shape {X.shape}."
        raise DataError(message)
    weight = read_weight(subject, sample_weight, len(X))
    total = weight.sum()

    def likelihood(theta: np.ndarray) -> float:
        try:
            logs = np.asarray(log_density(X, theta), dtype=np.float64)
        except ParameterError:
            return -np.inf  # a density refuses parameters outside its range
        return float(weight @ logs) if not np.isnan(logs).any() else -np.inf

    def cost(theta: np.ndarray) -> float:
        return -(likelihood(theta) + log_prior(prior, theta)) / total

    def slope(theta: np.ndarray) -> np.ndarray:
        own = -(weight @ np.asarray(score(X, theta), dtype=np.float64)) / total  # type: ignore[misc]
        if prior is None:
            return own
        return own - numerical_gradient(lambda one: log_prior(prior, one), theta) / total

    start = np.atleast_1d(np.asarray(start, dtype=np.float64))
    if not np.isfinite(cost(start)):
        message = f"{subject}: the observations must have a finite log-density at start; got {-cost(start):g}. Move it."
        raise DataError(message)
    result = minimize(cost, start, method=method, grad=None if score is None else slope, **options)
    information = total * numerical_hessian(cost, result.x)
    return Estimate(result.x, likelihood(result.x), log_prior(prior, result.x), information, result)


def log_prior(prior: Any, theta: np.ndarray) -> float:
    """Return the log-density that a prior, given in any form, has at some parameters."""
    if prior is None:
        return 0.0
    value = prior.logpdf(theta) if hasattr(prior, "logpdf") else prior(theta)
    return float(np.sum(value))
