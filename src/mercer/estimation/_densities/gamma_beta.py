"""Densities of one positive number and of one number between 0 and 1: gamma and beta."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln, gammaln, polygamma, psi, xlog1py, xlogy

from mercer._plain import plain
from mercer.errors import DataError
from mercer.estimation._densities.density import NumberDensity

_POSITIVE = (0.0, np.inf, "neither")


@plain
@dataclass(frozen=True, eq=False)
class GammaDensity(NumberDensity):
    """The gamma density, r^a x^(a - 1) exp(-r x) / Gamma(a) for x > 0.

    Parameters
    ----------
    concentration : float or array, default=1.0
        a; fitted by Newton's method on its score, log a - psi(a) = log(mean x) - mean(log x).
    rate : float or array, default=1.0
        r.

    Examples
    --------
    >>> from mercer.estimation import GammaDensity
    >>> x = GammaDensity(3.0, 2.0).sample(100_000, random_state=0)
    >>> round(GammaDensity().fit(x).concentration, 1)
    3.0
    """

    concentration: Any = 1.0
    rate: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"concentration": _POSITIVE, "rate": _POSITIVE}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.concentration / np.asarray(self.rate)

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return self.concentration / np.square(self.rate)

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "GammaDensity":
        mean = (weight * x).sum(axis=0) / weight.sum()
        # The likelihood equation in the concentration: log a - psi(a) = log mean - mean log, positive by Jensen.
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.log(mean) - (weight * np.log(x)).sum(axis=0) / weight.sum()
        if not np.all((gap > 0) & np.isfinite(gap)):
            raise DataError(
                "GammaDensity: observations must be positive and not all equal. Drop zeros, or give more rows."
            )
        # Minka's start is within 1.5 %; Newton on 1/a then doubles the digits each time.
        a = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
        for _ in range(8):
            slope = 1 / a - _trigamma(a)
            a = 1 / (1 / a + (np.log(a) - psi(a) - gap) / (a**2 * slope))
        return GammaDensity(a, a / mean)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        a, r = np.asarray(self.concentration), np.asarray(self.rate)
        return xlogy(a, r) + xlogy(a - 1, x) - r * x - gammaln(a)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.gamma(self.concentration, 1 / np.asarray(self.rate), shape)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        a, r = np.asarray(self.concentration), np.asarray(self.rate)
        return np.log(r) + np.log(x) - psi(a), a / r - x

    def _information(self) -> list[list[Any]]:
        a, r = np.asarray(self.concentration), np.asarray(self.rate)
        return [[_trigamma(a), -1 / r], [-1 / r, a / r**2]]


@plain
@dataclass(frozen=True, eq=False)
class BetaDensity(NumberDensity):
    """The beta density on [0, 1], x^(a - 1) (1 - x)^(b - 1) / B(a, b): what is believed of a probability.

    Parameters
    ----------
    a, b : float or array, default=1.0
        Positive; (1, 1) is uniform, (1/2, 1/2) Jeffreys' prior of a Bernoulli variable.

    Examples
    --------
    >>> from mercer.estimation import BetaDensity
    >>> round(float(np.exp(BetaDensity(3, 3).logpdf(0.5))), 6)  # 30 / 16
    1.875
    """

    a: Any = 1.0
    b: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"a": _POSITIVE, "b": _POSITIVE}

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        total = self.a + self.b
        return self.a * self.b / (total**2 * (total + 1))

    @property
    def mode(self) -> Any:
        """The point of highest density; NaN where a or b is one or less and it lies at an end or nowhere."""
        a, b = np.asarray(self.a), np.asarray(self.b)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((a > 1) & (b > 1), (a - 1) / (a + b - 2), np.nan)[()]

    def _fitted(self, x: np.ndarray, weight: np.ndarray) -> "BetaDensity":
        with np.errstate(divide="ignore"):
            logs = (weight * np.log(x)).sum(axis=0) / weight.sum()
            rests = (weight * np.log1p(-x)).sum(axis=0) / weight.sum()
        mean = (weight * x).sum(axis=0) / weight.sum()
        variance = (weight * (x - mean) ** 2).sum(axis=0) / weight.sum()
        if not np.all(np.isfinite(logs) & np.isfinite(rests) & (variance > 0)):
            raise DataError(
                "BetaDensity: observations must lie between 0 and 1, without the ends, and not all be equal. Drop "
                "zeros and ones, or give more rows."
            )
        # Newton's method on the likelihood equations psi(a) - psi(a + b) = mean log x and psi(b) - psi(a + b) = mean
        # log(1 - x), from the parameters with the mean and variance of the observations. The likelihood is concave.
        size = np.maximum(mean * (1 - mean) / variance - 1, 1e-3)
        a, b = mean * size, (1 - mean) * size
        for _ in range(60):
            shared = _trigamma(a + b)
            first, second = logs - psi(a) + psi(a + b), rests - psi(b) + psi(a + b)
            p, q = _trigamma(a) - shared, _trigamma(b) - shared
            determinant = p * q - shared**2
            # A step that would leave the range goes half way to zero instead.
            a = np.maximum(a + (q * first + shared * second) / determinant, a / 2)
            b = np.maximum(b + (shared * first + p * second) / determinant, b / 2)
        return BetaDensity(a, b)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        a, b = np.asarray(self.a), np.asarray(self.b)
        return xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.beta(self.a, self.b, shape)

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        total = psi(np.asarray(self.a) + self.b)
        return np.log(x) - psi(self.a) + total, np.log1p(-x) - psi(self.b) + total

    def _information(self) -> list[list[Any]]:
        shared = _trigamma(np.asarray(self.a) + self.b)
        return [[_trigamma(self.a) - shared, -shared], [-shared, _trigamma(self.b) - shared]]


def _trigamma(x: Any) -> Any:
    return polygamma(1, x)
