"""Densities of one real number: Gaussian, Laplace, uniform and exponential."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer.errors import DataError, ParameterError
from mercer.estimation._densities.density import NumberDensity

_LINE = (-np.inf, np.inf, "neither")
_POSITIVE = (0.0, np.inf, "neither")
_LOG_TWO_PI = float(np.log(2 * np.pi))


@plain
@dataclass(frozen=True, eq=False)
class GaussianDensity(NumberDensity):
    """The normal density, exp(-(x - m)^2 / (2 v)) / sqrt(2 pi v).

    Parameters
    ----------
    mean : float or array, default=0.0
        m.
    variance : float or array, default=1.0
        v; maximum likelihood divides the squared distances from the mean by n. As a prior of strength l, v = 1 / l.
    ddof : {0, 1}, default=0
        `fit` divides by n - ddof: 0 for maximum likelihood, 1 for an unbiased variance.

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity
    >>> GaussianDensity().fit([1.0, 2.0, 6.0])
    GaussianDensity(mean=3.0, variance=4.666666666666667)
    """

    mean: Any = 0.0
    variance: Any = 1.0
    ddof: int = field(default=0, repr=False, kw_only=True)
    is_gaussian: ClassVar[bool] = True
    _known: ClassVar[tuple[str, ...]] = ("ddof",)
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"mean": _LINE, "variance": _POSITIVE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ddof not in (0, 1):
            raise ParameterError(f"GaussianDensity: ddof must be 0 or 1; got {self.ddof!r}.")

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "GaussianDensity":
        mean = (weight * x).sum(axis=0) / weight.sum()
        # ddof = 1 divides by n - 1 and makes the variance unbiased; ddof = 0 is maximum likelihood.
        divisor = weight.sum() - self.ddof
        if divisor <= 0:
            raise DataError(f"GaussianDensity: the unbiased variance needs total weight above 1; got {weight.sum():g}.")
        variance = (weight * (x - mean) ** 2).sum(axis=0) / divisor
        # The likelihood grows without bound as the variance goes to zero.
        if not np.all(variance > 0):
            raise DataError(
                "GaussianDensity: the variance of constant observations is zero, and the density has no bound. "
                "Give more rows, or drop the constant column."
            )
        return GaussianDensity(mean, variance, ddof=self.ddof)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        return -0.5 * (_LOG_TWO_PI + np.log(self.variance) + (x - self.mean) ** 2 / self.variance)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return self.mean + np.sqrt(self.variance) * random.standard_normal(shape)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        offset = x - self.mean
        return offset / self.variance, offset**2 / (2 * self.variance**2) - 1 / (2 * self.variance)

    def _information(self) -> list[list[Any]]:
        return [[1 / self.variance, 0.0], [0.0, 1 / (2 * self.variance**2)]]


@plain
@dataclass(frozen=True, eq=False)
class LaplaceDensity(NumberDensity):
    """The double exponential density, exp(-|x - m| / s) / (2 s).

    Parameters
    ----------
    location : float or array, default=0.0
        m; maximum likelihood gives the median.
    scale : float or array, default=1.0
        s. As a prior of strength l, s = 1 / l.

    Examples
    --------
    >>> from mercer.estimation import LaplaceDensity
    >>> LaplaceDensity().fit([1.0, 2.0, 6.0]).location
    2.0
    """

    location: Any = 0.0
    scale: Any = 1.0
    _twice_differentiable: ClassVar[bool] = False
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"location": _LINE, "scale": _POSITIVE}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.location

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return 2 * np.square(self.scale)

    def prox(self, x: Any, step: float) -> np.ndarray:
        """Return the proximal map of -log p, by which searches find a maximum at the kink exactly.

        Parameters
        ----------
        x : array-like
            Where to begin.
        step : float
            The weight of -log p beside half the squared distance from `x`.

        Returns
        -------
        ndarray
            `x` moved by step / s towards m, and m itself where that is nearer.
        """
        offset = np.asarray(x, dtype=np.float64) - self.location
        return self.location + np.sign(offset) * np.maximum(np.abs(offset) - step / self.scale, 0.0)

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "LaplaceDensity":
        # The median minimises the sum of absolute distances; then their mean is the most likely scale.
        location = np.quantile(x, 0.5, axis=0, weights=weight.ravel(), method="inverted_cdf")
        scale = (weight * np.abs(x - location)).sum(axis=0) / weight.sum()
        if not np.all(scale > 0):
            raise DataError("LaplaceDensity: the scale of constant observations is zero. Give more rows.")
        return LaplaceDensity(location, scale)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        return -np.abs(x - self.location) / self.scale - np.log(2 * np.asarray(self.scale))

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.laplace(self.location, self.scale, shape)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        offset = x - self.location
        return np.sign(offset) / self.scale, np.abs(offset) / np.square(self.scale) - 1 / np.asarray(self.scale)

    def _information(self) -> list[list[Any]]:
        return [[1 / np.square(self.scale), 0.0], [0.0, 1 / np.square(self.scale)]]


@plain
@dataclass(frozen=True, eq=False)
class UniformDensity(NumberDensity):
    """The constant density on an interval; maximum likelihood gives the range of the observations.

    Parameters
    ----------
    low, high : float or array, default=0.0 and 1.0
        The ends.

    Examples
    --------
    >>> from mercer.estimation import UniformDensity
    >>> UniformDensity(0.0, 4.0).logpdf([1.0, 5.0]).round(6)
    array([-1.386294,      -inf])
    """

    low: Any = 0.0
    high: Any = 1.0
    _fixed_support: ClassVar[bool] = False
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"low": _LINE, "high": _LINE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.asarray(self.high) > self.low):
            raise ParameterError(f"UniformDensity: high must be above low; got low={self.low} and high={self.high}.")

    @property
    def mean(self) -> Any:
        """The expected value."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return (self.high - self.low) ** 2 / 12

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "UniformDensity":
        # The likelihood falls with the width of the interval: the smallest that holds all observations of weight.
        present = x[weight.ravel() > 0]
        return UniformDensity(present.min(axis=0), present.max(axis=0))

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, -np.log(np.asarray(self.high) - self.low), -np.inf)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.uniform(self.low, self.high, shape)


@plain
@dataclass(frozen=True, eq=False)
class ExponentialDensity(NumberDensity):
    """Waiting times: r exp(-r x) for x >= 0.

    Parameters
    ----------
    rate : float or array, default=1.0
        r; maximum likelihood gives one over the mean.

    Examples
    --------
    >>> from mercer.estimation import ExponentialDensity
    >>> ExponentialDensity().fit([1.0, 3.0]).rate
    0.5
    """

    rate: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"rate": _POSITIVE}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return 1 / np.asarray(self.rate)

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return 1 / np.square(self.rate)

    def prox(self, x: Any, step: float) -> np.ndarray:
        """Return the proximal map of -log p: `x` less step r, and not below zero.

        Parameters
        ----------
        x : array-like
            Where to begin.
        step : float
            The weight of -log p beside half the squared distance from `x`.

        Returns
        -------
        ndarray
        """
        return np.maximum(np.asarray(x, dtype=np.float64) - step * self.rate, 0.0)

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "ExponentialDensity":
        total = (weight * x).sum(axis=0)
        if not np.all(total > 0):
            raise DataError(
                "ExponentialDensity: the rate of observations that are all zero is infinite. Give more rows."
            )
        return ExponentialDensity(weight.sum() / total)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        return np.log(self.rate) - self.rate * x

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.exponential(1 / np.asarray(self.rate), shape)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        return (1 / np.asarray(self.rate) - x,)

    def _information(self) -> list[list[Any]]:
        return [[1 / np.square(self.rate)]]
