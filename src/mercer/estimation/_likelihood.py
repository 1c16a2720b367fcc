"""Maximum likelihood and maximum a posteriori for any log-density, by any method of :mod:`mercer.optim`."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from mercer._base.density import as_density
from mercer._base.reading import read_weight
from mercer.errors import DataError, ParameterError
from mercer.estimation._densities.continuous import LaplaceDensity
from mercer.estimation._densities.density import IndependentDensity, MixtureDensity
from mercer.estimation._densities.multivariate import MultivariateGaussianDensity
from mercer.optim import Result, minimize, numerical_gradient, numerical_hessian

# The least change of the cost, by a step of one in a parameter, at which its unit is taken to be near one.
_NO_CHANGE = 1e-5
# The greatest such change.
_GREAT_CHANGE = 1e5
# Decades over which a unit is looked for.
_DECADES = 30


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
        Minus the second derivatives of log-likelihood plus log-prior, by differences. Of a prior with a kink, such as
        Laplace's, which is straight on both sides of it, those of the log-likelihood alone.
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
            raise DataError(
                "Estimate: the information is singular; some parameters do not change the likelihood. Fix them."
            ) from None

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
    method: Any = "auto",
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
    method : str or Method, default="auto"
        Any of :func:`mercer.optim.minimize`. "auto" is L-BFGS, and goes on with a search along coordinates if that does
        not converge, as where the log-density has a kink.
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
    return _maximise("maximum_likelihood", log_density, None, X, start, score, sample_weight, method, options)


def maximum_a_posteriori(
    log_density: Callable[[Any, np.ndarray], Any],
    prior: Any,
    X: Any,
    start: Any,
    *,
    score: Callable[[Any, np.ndarray], Any] | None = None,
    sample_weight: Any = None,
    method: Any = "auto",
    **options: Any,
) -> Estimate:
    """Find the parameters of highest posterior density.

    A point estimate: the maximum of log p(X | theta) + log p(theta), without the rest of the posterior. A flat prior
    gives maximum likelihood, and so does any prior as observations become many. A Laplace prior sets coefficients to
    exactly zero, as the lasso does. A search that does not converge warns.

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
    method : str or Method, default="auto"
        Any of :func:`mercer.optim.minimize`. "auto" is proximal gradient for a prior that has ``prox``, the proximal
        map of its negative logarithm (:class:`LaplaceDensity` and :class:`ExponentialDensity`, whose maxima often lie
        at the kink). For others it is L-BFGS, and goes on with a search along coordinates if that does not converge.
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
    return _maximise("maximum_a_posteriori", log_density, prior, X, start, score, sample_weight, method, options)


def _maximise(
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
        raise DataError(f"{subject}: X must hold at least one observation; got shape {X.shape}.")
    weight = read_weight(subject, sample_weight, len(X))
    total = weight.sum()

    def likelihood(theta: np.ndarray) -> float:
        try:
            logs = np.asarray(log_density(X, theta), dtype=np.float64)
        except ParameterError:
            return -np.inf  # a density refuses parameters outside its range
        return float(weight @ logs) if not np.isnan(logs).any() else -np.inf

    def cost(theta: np.ndarray) -> float:
        # Per observation, so that tolerances mean the same for any number of them.
        return -(likelihood(theta) + log_prior(prior, theta)) / total

    def slope(theta: np.ndarray) -> np.ndarray:
        own = -(weight @ np.asarray(score(X, theta), dtype=np.float64)) / total  # type: ignore[misc]
        if prior is None:
            return own
        return own - numerical_gradient(lambda one: log_prior(prior, one), theta) / total

    start = np.atleast_1d(np.asarray(start, dtype=np.float64))
    if not np.isfinite(cost(start)):
        raise DataError(
            f"{subject}: the observations must have a finite log-density at start; got {-cost(start):g}. Move it."
        )
    gradient = None if score is None else slope
    scales = np.ones_like(start)
    kinked = _KinkedPrior.read(prior, total) if method in ("auto", "proximal_gradient") else None
    with warnings.catch_warnings():
        # One warning about the answer, below, in place of one for each search.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if kinked is None:
            # Rules and bounds of the user's are in the units of the parameters as they are.
            scales = scales if options else _find_scales(cost, start)
            result = _search_smooth(cost, start, method, gradient, options, scales)
        else:

            def smooth(theta: np.ndarray) -> float:
                return -likelihood(theta) / total

            def own_slope(theta: np.ndarray) -> np.ndarray:
                return -(weight @ np.asarray(score(X, theta), dtype=np.float64)) / total  # type: ignore[misc]

            gradient = None if score is None else own_slope
            result = minimize(smooth, start, method="proximal_gradient", grad=gradient, penalty=kinked, **options)
    if not result.converged and result.reason not in ("callback", "interrupt"):
        warnings.warn(
            f"{subject}: the search did not converge ({result.message}) Allow more steps by stop=, or move start.",
            ConvergenceWarning,
            stacklevel=3,
        )
    # On both sides of a kink the log-prior is straight, so that the likelihood has all of the curvature. Differences
    # are taken in units in which the parameters are near one.
    bent = cost if kinked is None else smooth
    information = total * numerical_hessian(lambda u: bent(scales * u), result.x / scales) / np.outer(scales, scales)
    return Estimate(result.x, likelihood(result.x), log_prior(prior, result.x), information, result)


@dataclass(frozen=True, eq=False)
class _KinkedPrior:
    """The negative logarithm of a prior, for one observation of `total`, as a penalty with a proximal map."""

    prior: Any
    total: float

    @classmethod
    def read(cls, prior: Any, total: float) -> "_KinkedPrior | None":
        """Return the penalty of a prior that has a proximal map, or None."""
        law = getattr(getattr(prior, "dist", None), "name", None)
        if law == "laplace":  # SciPy's, whose frozen distributions know their location and scale by these moments
            prior = LaplaceDensity(prior.mean(), prior.std() / np.sqrt(2.0))
        return cls(prior, total) if hasattr(prior, "prox") else None

    def value(self, x: np.ndarray) -> float:
        return -log_prior(self.prior, x) / self.total

    def prox(self, x: np.ndarray, step: float) -> np.ndarray:
        return self.prior.prox(x, step / self.total)


def _find_scales(cost: Callable[[np.ndarray], float], start: np.ndarray) -> np.ndarray:
    """Return the unit of each parameter: one, unless a step of one hardly changes the cost, or changes it by orders.

    The cost is a log-likelihood of one observation, so that steps which change it by about one are those that matter;
    differences and tolerances are for parameters in such units.
    """
    scales, here = np.ones_like(start), cost(start)

    def change(index: int, size: float) -> float:
        moved = start.copy()
        moved[index] += size
        return abs(cost(moved) - here)

    for index in range(len(start)):
        rise = change(index, 1.0)
        if not np.isfinite(rise) or _NO_CHANGE <= rise <= _GREAT_CHANGE:
            continue
        factor = 10.0 if rise < _NO_CHANGE else 0.1
        for _ in range(_DECADES):
            scales[index] *= factor
            rise = change(index, scales[index])
            if not np.isfinite(rise) or (rise >= 0.1 if factor > 1 else rise <= 10.0):
                break
        else:
            scales[index] = 1.0  # nothing depends on this parameter
    return scales


def _search_smooth(
    cost: Any, start: np.ndarray, method: Any, gradient: Any, options: dict[str, Any], scales: np.ndarray
) -> Result:
    """Minimise the cost over the parameters in units of `scales`."""
    if not (scales == 1.0).all():
        slope = None if gradient is None else (lambda u: scales * gradient(scales * u))
        units = np.ones_like(scales)
        found = _search_smooth(lambda u: cost(scales * u), start / scales, method, slope, options, units)
        return replace(found, x=scales * found.x, gradient=None if found.gradient is None else found.gradient / scales)
    if method != "auto":
        return minimize(cost, start, method=method, grad=gradient, **options)
    result = minimize(cost, start, method="lbfgs", grad=gradient, **options)
    # No lower point along a direction of L-BFGS: there may be a kink, which single coordinates follow (Tseng, 2001).
    if result.reason != "no lower point" or result.converged:
        return result
    second = minimize(cost, result.x, method="coordinate_search", **{k: v for k, v in options.items() if k != "stop"})
    return second if second.value <= result.value else result


def log_prior(prior: Any, theta: np.ndarray) -> float:
    """Return the log-density that a prior, given in any form, has at some parameters."""
    if prior is None:
        return 0.0
    named = any(hasattr(prior, name) for name in ("logpdf", "logpmf", "score_samples"))
    if not named and not callable(prior):
        as_density(prior, "prior")  # raises, and says what a density is
    # A prior of one number is that of each parameter; one of rows takes all parameters as one row.
    value = as_prior(prior)(theta) if named else prior(theta)
    return float(np.sum(value))


def as_prior(prior: Any) -> Callable[[np.ndarray], Any]:
    """Return the log-density of a prior: of a density of numbers for each parameter, of a density of rows for all."""
    if not (hasattr(prior, "fit") or hasattr(prior, "rvs")):
        return prior.logpdf  # beliefs and priors such as Jeffreys', which know how many parameters they have
    density = as_density(prior, "prior")

    def logpdf(theta: np.ndarray) -> Any:
        theta = np.asarray(theta, dtype=np.float64)
        return density.logpdf(theta[None, :]) if _takes_rows(prior) and theta.ndim == 1 else density.logpdf(theta)

    return logpdf


def _takes_rows(density: Any) -> bool:
    """Return whether a density is of rows: an estimator, or one whose draws are rows."""
    if isinstance(density, BaseEstimator | IndependentDensity | MultivariateGaussianDensity):
        return True
    if isinstance(density, MixtureDensity):
        return any(_takes_rows(member) for member in density.densities)
    return hasattr(density, "rvs") and not hasattr(density, "ppf")
