"""Conjugate beliefs about the mean of a Gaussian whose variance is known, of numbers and of rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base.reading import read_covariance, read_numbers, read_weight
from mercer._plain import plain
from mercer.errors import ParameterError
from mercer.estimation._conjugate import Conjugate, PredictiveDensity
from mercer.estimation._densities.continuous import GaussianDensity
from mercer.estimation._densities.family import read_rows
from mercer.estimation._densities.multivariate import MultivariateGaussianDensity

_LINE = (-np.inf, np.inf, "neither")
_POSITIVE = (0.0, np.inf, "neither")


@plain
@dataclass(frozen=True, eq=False)
class GaussianMean(Conjugate):
    """What is believed of the mean of Gaussian numbers whose variance s2 is known.

    With prior N(m0, v0) and n observations of average x: 1/v = n/s2 + 1/v0 and m = v (n x/s2 + m0/v0). The next
    observation is N(m, s2 + v).

    Parameters
    ----------
    location : float or array, default=0.0
        m0, the expected mean.
    spread : float or array, default=1.0
        v0, the variance of the belief.
    noise : float or array, default=1.0
        s2, the variance of an observation about the mean.

    Examples
    --------
    >>> from mercer.estimation import GaussianMean
    >>> posterior = GaussianMean(0.0, 1.0, noise=4.0).update_sums(8, 24.0)
    >>> posterior.location, round(posterior.spread, 6), round(posterior.predictive_variance, 6)
    (2.0, 0.333333, 4.333333)
    """

    location: Any = 0.0
    spread: Any = 1.0
    noise: Any = 1.0
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {
        "location": _LINE,
        "spread": _POSITIVE,
        "noise": _POSITIVE,
    }

    @property
    def belief(self) -> GaussianDensity:
        """The density of the mean."""
        return GaussianDensity(self.location, self.spread)

    @property
    def mode(self) -> Any:
        """The most likely mean."""
        return self.location

    @property
    def predictive_variance(self) -> Any:
        """The variance of the next observation."""
        return self.noise + self.spread

    def update_sums(self, count: Any, total: Any) -> "GaussianMean":
        """Return the posterior after `count` observations whose sum is `total`."""
        count = np.asarray(count, dtype=np.float64)
        # v0 s2 / (s2 + n v0): no reciprocals, so that very wide and very narrow priors keep their digits.
        shared = self.noise + count * self.spread
        location = (self.noise * np.asarray(self.location) + self.spread * np.asarray(total)) / shared
        return GaussianMean(location, self.spread * (self.noise / shared), self.noise)

    def log_predictive(self, X: Any) -> np.ndarray:
        """Return the log-density of each of some new observations."""
        return GaussianDensity(self.location, self.predictive_variance).logpdf(X)

    def log_evidence(self, X: Any, sample_weight: Any = None) -> Any:
        """Return the log-density of all observations together: Gaussian, with covariance s2 I + v0 11'."""
        x, weight = self._read_observations(X, sample_weight)
        n = weight.sum(axis=0)
        mean = (weight * x).sum(axis=0) / np.where(n > 0, n, 1.0)
        scatter = (weight * (x - mean) ** 2).sum(axis=0)
        shared = self.noise + n * self.spread
        # (s2 I + v0 11')^-1 by Sherman and Morrison: the scatter about the mean, and the mean about its prior.
        quadratic = scatter / self.noise + n * (mean - self.location) ** 2 / shared
        return -0.5 * (n * np.log(2 * np.pi) + (n - 1) * np.log(self.noise) + np.log(shared) + quadratic)

    def _density(self, parameter: Any) -> GaussianDensity:
        return GaussianDensity(parameter, self.noise)


@plain
@dataclass(frozen=True, eq=False)
class GaussianVectorMean:
    """What is believed of the mean of Gaussian rows whose covariance S is known.

    With prior N(m0, V0): V^-1 = n S^-1 + V0^-1 and V^-1 m = n S^-1 x + V0^-1 m0. The next row is N(m, S + V).

    Parameters
    ----------
    location : array-like of shape (d,)
        m0, the expected mean.
    spread : array-like of shape (d, d)
        V0, the covariance of the belief.
    noise : array-like of shape (d, d)
        S, the covariance of a row about the mean.

    Examples
    --------
    >>> from mercer.estimation import GaussianVectorMean
    >>> posterior = GaussianVectorMean([0.0, 0.0], [[1, 0], [0, 1]], [[4, 0], [0, 4]]).update([[3.0, 0.0]] * 8)
    >>> posterior.location.round(6)
    array([2., 0.])
    """

    location: Any
    spread: Any
    noise: Any

    def __post_init__(self) -> None:
        name = type(self).__name__
        location = read_numbers(name, "location", self.location, closed="neither", error=ParameterError)
        if location.ndim != 1:
            raise ParameterError(f"{name}: location must have shape (d,); got shape {location.shape}.")
        object.__setattr__(self, "location", location)
        # Spread is the covariance of the mean's own distribution, noise that of an observation about the mean.
        for part in ("spread", "noise"):
            object.__setattr__(self, part, read_covariance(name, part, getattr(self, part), len(location))[0])

    @property
    def belief(self) -> MultivariateGaussianDensity:
        """The density of the mean."""
        return MultivariateGaussianDensity(self.location, self.spread)

    @property
    def mean(self) -> np.ndarray:
        """The expected mean."""
        return self.location

    @property
    def mode(self) -> np.ndarray:
        """The most likely mean."""
        return self.location

    @property
    def variance(self) -> np.ndarray:
        """The covariance of the belief."""
        return self.spread

    def update(self, X: Any, sample_weight: Any = None) -> "GaussianVectorMean":
        """Return the posterior after some rows, from which the next update goes on.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the row twice.

        Returns
        -------
        GaussianVectorMean
        """
        rows = read_rows(type(self).__name__, X, len(self.location))
        weight = read_weight(type(self).__name__, sample_weight, len(rows)) if len(rows) else np.zeros(0)
        return self.update_sums(weight.sum(), weight @ rows)

    def update_sums(self, count: float, total: Any) -> "GaussianVectorMean":
        """Return the posterior after `count` rows whose sum is `total`.

        Parameters
        ----------
        count : float
            Number (or total weight) of rows.
        total : array-like of shape (d,)
            Their sum.

        Returns
        -------
        GaussianVectorMean
        """
        if count == 0:
            return self
        # Gain V0 (V0 + S/n)^-1: one solve, and no inverse of either covariance.
        noise = self.noise / count
        gain = np.linalg.solve(self.spread + noise, self.spread).T
        location = self.location + gain @ (np.asarray(total) / count - self.location)
        # Symmetric in exact arithmetic; averaging with the transpose removes what rounding leaves.
        spread = gain @ noise
        return GaussianVectorMean(location, (spread + spread.T) / 2, self.noise)

    def log_predictive(self, X: Any) -> np.ndarray:
        """Return the log-density of each of some new rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, each judged alone.

        Returns
        -------
        ndarray of shape (n,)
        """
        return MultivariateGaussianDensity(self.location, self.noise + self.spread).logpdf(X)

    def log_evidence(self, X: Any) -> float:
        """Return the log-density of all rows together, the mean integrated out.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        float
        """
        # p(D) = p(D | mu) p(mu) / p(mu | D) for every mu; the posterior mean loses the fewest digits.
        rows = read_rows(type(self).__name__, X, len(self.location))
        after = self.update(rows)
        mu = after.location
        likelihood = MultivariateGaussianDensity(mu, self.noise).logpdf(rows).sum()
        return float(likelihood + self.belief.logpdf(mu[None])[0] - after.belief.logpdf(mu[None])[0])

    def logpdf(self, parameter: Any) -> np.ndarray:
        """Return the log-density of the belief at some means, row by row."""
        return self.belief.logpdf(parameter)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw means from their distribution, row by row."""
        return self.belief.sample(n, random_state)

    def predictive(self) -> PredictiveDensity:
        """Return the predictive distribution of the next row, as a density."""
        return PredictiveDensity(self)

    def sample_predictive(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw rows from the predictive distribution."""
        return MultivariateGaussianDensity(self.location, self.noise + self.spread).sample(n, random_state)
