"""Probability functions of whole numbers: Bernoulli, binomial, geometric, Poisson and categorical."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from mercer._base.reading import read_probabilities
from mercer._plain import plain
from mercer.errors import ParameterError
from mercer.estimation._densities.density import NumberDensity

_UNIT = (0.0, 1.0, "both")


@plain
@dataclass(frozen=True, eq=False)
class BernoulliDensity(NumberDensity):
    """One with probability p, else zero.

    Parameters
    ----------
    probability : float or array, default=0.5
        p, in [0, 1].

    Examples
    --------
    >>> from mercer.estimation import BernoulliDensity
    >>> BernoulliDensity().fit([1, 0, 1, 1]).probability
    0.75
    """

    probability: Any = 0.5
    _support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    _whole: ClassVar[bool] = True
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"probability": _UNIT}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.probability

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return self.probability * (1 - self.probability)

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "BernoulliDensity":
        return BernoulliDensity((weight * x).sum(axis=0) / weight.sum())

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        # xlogy and xlog1py make 0 log 0 zero, so that probabilities of zero and one are allowed.
        return xlogy(x, self.probability) + xlog1py(1 - x, -np.asarray(self.probability))

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return (random.random(shape) < self.probability).astype(np.float64)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        return ((x - self.probability) / self.variance,)

    def _information(self) -> list[list[Any]]:
        return [[1 / self.variance]]


@plain
@dataclass(frozen=True, eq=False)
class BinomialDensity(NumberDensity):
    """The number of successes in m independent trials.

    Parameters
    ----------
    probability : float or array, default=0.5
        Of a success, in [0, 1].
    trials : int or array, default=1
        m; known, not fitted.

    Examples
    --------
    >>> from mercer.estimation import BinomialDensity
    >>> BinomialDensity(trials=10).fit([3, 5, 4]).probability
    0.4
    """

    probability: Any = 0.5
    trials: Any = 1.0
    _known: ClassVar[tuple[str, ...]] = ("trials",)
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"probability": _UNIT, "trials": (0.0, np.inf, "left")}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_trials("BinomialDensity", self.trials)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.trials * self.probability

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return self.trials * self.probability * (1 - self.probability)

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return super()._inside(x) & (x <= self.trials)

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "BinomialDensity":
        trials = (weight * np.broadcast_to(self.trials, x.shape)).sum(axis=0)
        return BinomialDensity((weight * x).sum(axis=0) / trials, self.trials)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        m, p = np.asarray(self.trials), np.asarray(self.probability)
        # Logarithms of factorials: the binomial coefficient itself overflows from about 1030 trials.
        ways = gammaln(m + 1) - gammaln(x + 1) - gammaln(m - x + 1)
        return ways + xlogy(x, p) + xlog1py(m - x, -p)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.binomial(np.asarray(self.trials, dtype=np.int64), self.probability, shape).astype(np.float64)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        p = self.probability
        return ((x - self.mean) / (p * (1 - p)),)

    def _information(self) -> list[list[Any]]:
        p = self.probability
        return [[self.trials / (p * (1 - p))]]


@plain
@dataclass(frozen=True, eq=False)
class GeometricDensity(NumberDensity):
    """The failures before the first success: p(k) = (1 - p)^k p for k = 0, 1, 2...

    Parameters
    ----------
    probability : float or array, default=0.5
        p of a success, in [0, 1]. Maximum likelihood gives n / (n + sum x).

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity
    >>> GeometricDensity().fit([0, 2]).probability, round(GeometricDensity().fit([0, 2, 0, 1]).probability, 6)
    (0.5, 0.571429)
    """

    probability: Any = 0.5
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"probability": _UNIT}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return (1 - self.probability) / self.probability

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return (1 - self.probability) / self.probability**2

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "GeometricDensity":
        n = weight.sum()
        return GeometricDensity(n / (n + (weight * x).sum(axis=0)))

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        return xlog1py(x, -np.asarray(self.probability)) + np.log(self.probability)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        # NumPy counts the trials up to the success; here its failures are counted.
        return random.geometric(self.probability, shape) - 1.0

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        return (1 / self.probability - x / (1 - self.probability),)

    def _information(self) -> list[list[Any]]:
        return [[1 / (self.probability**2 * (1 - self.probability))]]


@plain
@dataclass(frozen=True, eq=False)
class PoissonDensity(NumberDensity):
    """Counts of rare events: p(k) = r^k e^-r / k!

    Parameters
    ----------
    rate : float or array, default=1.0
        r, the expected count.

    Examples
    --------
    >>> from mercer.estimation import PoissonDensity
    >>> PoissonDensity().fit([2, 4, 3]).rate
    3.0
    """

    rate: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"rate": (0.0, np.inf, "left")}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.rate

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return self.rate

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "PoissonDensity":
        return PoissonDensity((weight * x).sum(axis=0) / weight.sum())

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        return xlogy(x, self.rate) - self.rate - gammaln(x + 1)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.poisson(self.rate, shape).astype(np.float64)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        return (x / self.rate - 1,)

    def _information(self) -> list[list[Any]]:
        return [[1 / np.asarray(self.rate)]]


@plain
@dataclass(frozen=True, eq=False)
class CategoricalDensity(NumberDensity):
    """One of k categories, numbered from zero.

    Parameters
    ----------
    probabilities : array-like of shape (..., n_categories), default=(0.5, 0.5)
        Non-negative, with sum one. `fit` keeps the number of categories.

    Examples
    --------
    >>> from mercer.estimation import CategoricalDensity
    >>> CategoricalDensity([1 / 3, 1 / 3, 1 / 3]).fit([0, 2, 2, 1]).probabilities
    array([0.25, 0.25, 0.5 ])
    """

    probabilities: Any = (0.5, 0.5)
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        probabilities = read_probabilities("CategoricalDensity", "probabilities", self.probabilities)
        object.__setattr__(self, "probabilities", probabilities)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters, without the axis of the categories."""
        return self.probabilities.shape[:-1]

    def parameter_sizes(self) -> dict[str, int]:
        """Return how many free numbers each parameter has: one probability less than categories."""
        return {"probabilities": self.probabilities.shape[-1] - 1}

    def score(self, X: Any) -> np.ndarray:
        """Return the derivatives of the log-probability by all probabilities but the last, one minus their sum.

        Parameters
        ----------
        X : array-like
            Categories.

        Returns
        -------
        ndarray of shape (..., n_categories - 1)
        """
        x, last = self._read_observations(X)[..., None], self.probabilities.shape[-1] - 1
        p = self.probabilities
        return np.where(x == np.arange(last), 1 / p[..., :-1], 0.0) - np.where(x == last, 1 / p[..., -1:], 0.0)

    def fisher_information(self) -> np.ndarray:
        """Return the expected outer product of the score: diag(1 / p_j) + 1 / p_k, without the last probability.

        Returns
        -------
        ndarray of shape (..., n_categories - 1, n_categories - 1)
        """
        with np.errstate(divide="ignore"):
            inverse = 1 / self.probabilities
        return inverse[..., :-1, None] * np.eye(self.probabilities.shape[-1] - 1) + inverse[..., -1:, None]

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return super()._inside(x) & (x < self.probabilities.shape[-1])

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "CategoricalDensity":
        counts = [(weight * (x == k)).sum(axis=0) for k in range(self.probabilities.shape[-1])]
        return CategoricalDensity(np.stack(counts, axis=-1) / weight.sum())

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        logs, category = np.log(self.probabilities), x.astype(np.int64)
        if not self.shape:
            return logs[category]
        shape = np.broadcast_shapes(category.shape, self.shape)
        spread = np.broadcast_to(logs, (*shape, logs.shape[-1]))
        return np.take_along_axis(spread, np.broadcast_to(category, shape)[..., None], axis=-1)[..., 0]

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        # Inversion: a uniform draw falls into category k between the running sums up to k - 1 and k. Divided by the
        # last, so that rounding leaves no draw beyond it.
        edges = np.cumsum(self.probabilities, axis=-1)
        edges = edges / edges[..., -1:]
        return (random.random(shape)[..., None] >= edges).sum(axis=-1).astype(np.float64)


def check_trials(subject: str, trials: Any) -> None:
    """Raise unless numbers of trials are whole."""
    if not np.all(np.asarray(trials) == np.floor(trials)):
        raise ParameterError(f"{subject}: trials must be whole numbers; got {trials!r}.")
