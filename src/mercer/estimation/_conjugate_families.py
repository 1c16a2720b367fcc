"""Conjugate beliefs about probabilities and rates: beta, gamma and Dirichlet."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln, gammaln

from mercer._base.randomness import seed_sequence
from mercer._base.reading import read_numbers, read_weight
from mercer._plain import plain
from mercer.errors import DataError, ParameterError
from mercer.estimation._conjugate import Conjugate
from mercer.estimation._densities.continuous import ExponentialDensity
from mercer.estimation._densities.discrete import (
    BernoulliDensity,
    BinomialDensity,
    CategoricalDensity,
    GeometricDensity,
    PoissonDensity,
    check_trials,
)
from mercer.estimation._densities.gamma_beta import BetaDensity, GammaDensity

_POSITIVE = (0.0, np.inf, "neither")


class _BetaConjugate(Conjugate):
    """A beta belief about a probability."""

    a: Any
    b: Any
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"a": _POSITIVE, "b": _POSITIVE}

    @property
    def belief(self) -> BetaDensity:
        """The density of the probability."""
        return BetaDensity(self.a, self.b)

    def _log_normaliser(self) -> Any:
        return betaln(self.a, self.b)


@plain
@dataclass(frozen=True, eq=False)
class BetaBernoulli(_BetaConjugate):
    """What is believed of the probability of a success, from successes (1) and failures (0).

    Beta(a, b) becomes Beta(a + successes, b + failures).

    Parameters
    ----------
    a, b : float or array, default=1.0
        Prior successes and failures, plus one; (1, 1) is uniform, (1/2, 1/2) Jeffreys' prior.

    Examples
    --------
    >>> from mercer.estimation import BetaBernoulli
    >>> BetaBernoulli().update([1, 1, 0])
    BetaBernoulli(a=3.0, b=2.0)
    """

    a: Any = 1.0
    b: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    _whole: ClassVar[bool] = True

    def update_sums(self, count: Any, total: Any) -> "BetaBernoulli":
        """Return the posterior after `count` observations with `total` successes."""
        return BetaBernoulli(self.a + np.asarray(total), self.b + np.asarray(count) - total)

    def _density(self, parameter: Any) -> BernoulliDensity:
        return BernoulliDensity(parameter)


@plain
@dataclass(frozen=True, eq=False)
class BetaBinomial(_BetaConjugate):
    """What is believed of the probability of a success, from numbers of successes in `trials` trials each.

    Parameters
    ----------
    a, b : float or array, default=1.0
        Prior successes and failures, plus one.
    trials : int or array, default=1
        Trials behind each observation.

    Examples
    --------
    >>> from mercer.estimation import BetaBinomial
    >>> np.exp(BetaBinomial(trials=4).log_predictive([0, 1, 2, 3, 4])).round(6)  # uniform
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    """

    a: Any = 1.0
    b: Any = 1.0
    trials: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {
        "a": _POSITIVE,
        "b": _POSITIVE,
        "trials": (0.0, np.inf, "left"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_trials("BetaBinomial", self.trials)

    def update_sums(self, count: Any, total: Any) -> "BetaBinomial":
        """Return the posterior after `count` observations with `total` successes."""
        failures = np.asarray(count) * self.trials - total
        return BetaBinomial(self.a + np.asarray(total), self.b + failures, self.trials)

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return super()._inside(x) & (x <= self.trials)

    def _log_base(self, x: np.ndarray) -> Any:
        m = np.asarray(self.trials)
        return gammaln(m + 1) - gammaln(x + 1) - gammaln(m - x + 1)

    def _density(self, parameter: Any) -> BinomialDensity:
        return BinomialDensity(parameter, self.trials)


@plain
@dataclass(frozen=True, eq=False)
class BetaGeometric(_BetaConjugate):
    """What is believed of the probability of a success, from numbers of failures before it.

    Beta(a, b) becomes Beta(a + n, b + sum x); the evidence is B(a + n, b + sum x) / B(a, b).

    Parameters
    ----------
    a, b : float or array, default=1.0
        Of the prior; (1, 1) is uniform.

    Examples
    --------
    >>> from mercer.estimation import BetaGeometric
    >>> posterior = BetaGeometric().update([0, 2])
    >>> posterior, round(float(np.exp(-BetaGeometric().log_evidence([0, 2]))), 6)  # one over the evidence
    (BetaGeometric(a=3.0, b=3.0), 30.0)
    """

    a: Any = 1.0
    b: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True

    def update_sums(self, count: Any, total: Any) -> "BetaGeometric":
        """Return the posterior after `count` observations with `total` failures."""
        return BetaGeometric(self.a + np.asarray(count), self.b + np.asarray(total))

    def _density(self, parameter: Any) -> GeometricDensity:
        return GeometricDensity(parameter)


class _GammaConjugate(Conjugate):
    """A gamma belief about a rate."""

    concentration: Any
    rate: Any
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {"concentration": _POSITIVE, "rate": _POSITIVE}

    @property
    def belief(self) -> GammaDensity:
        """The density of the rate."""
        return GammaDensity(self.concentration, self.rate)

    @property
    def mode(self) -> Any:
        """The rate of highest density; zero where the concentration is one or less."""
        return np.maximum(np.asarray(self.concentration) - 1, 0.0) / self.rate

    def _log_normaliser(self) -> Any:
        return gammaln(self.concentration) - self.concentration * np.log(self.rate)


@plain
@dataclass(frozen=True, eq=False)
class GammaPoisson(_GammaConjugate):
    """What is believed of a rate, from counts. Gamma(a, r) becomes Gamma(a + sum x, r + n).

    Parameters
    ----------
    concentration, rate : float or array, default=1.0
        a and r of the prior.

    Examples
    --------
    >>> from mercer.estimation import GammaPoisson
    >>> float(GammaPoisson().update([2, 4, 3]).mean)
    2.5
    """

    concentration: Any = 1.0
    rate: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True

    def update_sums(self, count: Any, total: Any) -> "GammaPoisson":
        """Return the posterior after `count` observations whose sum is `total`."""
        return GammaPoisson(self.concentration + np.asarray(total), self.rate + np.asarray(count))

    def _log_base(self, x: np.ndarray) -> Any:
        return -gammaln(x + 1)

    def _density(self, parameter: Any) -> PoissonDensity:
        return PoissonDensity(parameter)


@plain
@dataclass(frozen=True, eq=False)
class GammaExponential(_GammaConjugate):
    """What is believed of a rate, from waiting times. Gamma(a, r) becomes Gamma(a + n, r + sum x).

    Parameters
    ----------
    concentration, rate : float or array, default=1.0
        a and r of the prior.

    Examples
    --------
    >>> from mercer.estimation import GammaExponential
    >>> float(GammaExponential().update([0.5, 1.5]).mean)
    1.0
    """

    concentration: Any = 1.0
    rate: Any = 1.0
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def update_sums(self, count: Any, total: Any) -> "GammaExponential":
        """Return the posterior after `count` observations whose sum is `total`."""
        return GammaExponential(self.concentration + np.asarray(count), self.rate + np.asarray(total))

    def _density(self, parameter: Any) -> ExponentialDensity:
        return ExponentialDensity(parameter)


@plain
@dataclass(frozen=True, eq=False)
class DirichletCategorical(Conjugate):
    """What is believed of the probabilities of k categories, from observations numbered from zero.

    Parameters
    ----------
    concentration : array-like of shape (..., n_categories), default=(1.0, 1.0)
        Prior counts plus one; further axes are groups.

    Examples
    --------
    >>> from mercer.estimation import DirichletCategorical
    >>> posterior = DirichletCategorical([1, 1, 1]).update([0, 0, 2])
    >>> posterior.mean
    array([0.5       , 0.16666667, 0.33333333])
    """

    concentration: Any = (1.0, 1.0)
    _support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    _whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        value = read_numbers(name, "concentration", self.concentration, 0, closed="neither", error=ParameterError)
        if value.ndim == 0:
            raise ParameterError(f"{name}: concentration must have one entry for each category; got a single number.")
        object.__setattr__(self, "concentration", value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the groups."""
        return self.concentration.shape[:-1]

    @property
    def mean(self) -> np.ndarray:
        """The expected probabilities."""
        return self.concentration / self.concentration.sum(axis=-1, keepdims=True)

    @property
    def mode(self) -> np.ndarray:
        """The probabilities of highest density; NaN where a concentration is below one."""
        # (c_k - 1) / sum (c - 1): below one the density is unbounded at an edge and has no mode.
        less = self.concentration - 1
        mode = less / np.maximum(less.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
        return np.where((less < 0).any(axis=-1, keepdims=True), np.nan, mode)

    @property
    def variance(self) -> np.ndarray:
        """The variance of each probability."""
        return self.mean * (1 - self.mean) / (self.concentration.sum(axis=-1, keepdims=True) + 1)

    def update(self, X: Any, sample_weight: Any = None) -> "DirichletCategorical":
        """Return the posterior after some observations along the first axis."""
        x = self._check_observations(X)
        weight = read_weight(type(self).__name__, sample_weight, len(x)).reshape((-1,) + (1,) * (x.ndim - 1))
        counts = [(weight * (x == k)).sum(axis=0) for k in range(self.concentration.shape[-1])]
        return self.update_counts(np.stack(counts, axis=-1))

    def update_groups(self, X: Any, groups: Any, n_groups: int | None = None) -> "DirichletCategorical":
        """Return the posteriors of many groups from one long array of observations."""
        x, groups = self._check_observations(X).astype(np.int64), np.asarray(groups)
        k = self.concentration.shape[-1]
        n = n_groups or (int(groups.max()) + 1 if groups.size else 0)
        return self.update_counts(np.bincount(groups * k + x, minlength=n * k).reshape(n, k))

    def update_counts(self, counts: Any) -> "DirichletCategorical":
        """Return the posterior after `counts` observations of each category, along the last axis."""
        return DirichletCategorical(self.concentration + np.asarray(counts))

    def update_sums(self, count: Any, total: Any) -> "DirichletCategorical":
        """Refuse: a sum of category indices carries no information."""
        raise DataError("DirichletCategorical: needs a count for each category; use update_counts.")

    def log_predictive(self, X: Any) -> np.ndarray:
        """Return the log-probability of each of some new observations: that of the expected probabilities."""
        return CategoricalDensity(self.mean).logpdf(X)

    def log_evidence(self, X: Any, sample_weight: Any = None) -> Any:
        """Return the log-probability of all observations together, in the order given."""
        return self.update(X, sample_weight)._log_normaliser() - self._log_normaliser()

    def logpdf(self, parameter: Any) -> np.ndarray:
        """Return the log-density of the belief at some probabilities, along the last axis."""
        with np.errstate(divide="ignore", invalid="ignore"):
            # A concentration of one is a flat factor, also where a probability is zero.
            logs = np.where(self.concentration == 1, 0.0, (self.concentration - 1) * np.log(parameter))
        return logs.sum(axis=-1) - self._log_normaliser()

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw probabilities from their distribution."""
        random = np.random.default_rng(seed_sequence(random_state))
        # Independent gammas over their sum are Dirichlet.
        draws = random.standard_gamma(np.broadcast_to(self.concentration, (n, *self.concentration.shape)))
        return draws / draws.sum(axis=-1, keepdims=True)

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return super()._inside(x) & (x < self.concentration.shape[-1])

    def _log_normaliser(self) -> Any:
        return gammaln(self.concentration).sum(axis=-1) - gammaln(self.concentration.sum(axis=-1))

    def _density(self, parameter: Any) -> CategoricalDensity:
        return CategoricalDensity(parameter)
