"""How good an estimator is, by simulation: bias, variance, mean squared error, efficiency, large samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from mercer._base.density import as_density
from mercer._base.randomness import seed_sequence
from mercer._base.reading import read_numbers
from mercer.errors import DataError
from mercer.estimation._fisher import cramer_rao_bound, fisher_information


@dataclass(frozen=True, eq=False)
class EstimatorRisk:
    """What repeated data sets make of an estimator.

    Attributes
    ----------
    truth : ndarray of shape (p,)
        What is estimated.
    estimates : ndarray of shape (n_repeats, p)
        The estimate of each data set.
    """

    truth: np.ndarray
    estimates: np.ndarray

    @property
    def bias(self) -> np.ndarray:
        """The mean estimate minus the truth, a vector."""
        return self.estimates.mean(axis=0) - self.truth

    @property
    def variance(self) -> np.ndarray:
        """The mean squared distance of each estimate from the mean estimate."""
        return self.estimates.var(axis=0)

    @property
    def mean_squared_error(self) -> float:
        """The mean squared distance from the truth: the squared length of the bias plus the total variance."""
        return float(np.square(self.estimates - self.truth).sum(axis=1).mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean squared error, by simulation."""
        squares = np.square(self.estimates - self.truth).sum(axis=1)
        return float(squares.std(ddof=1) / np.sqrt(len(squares)))

    def efficiency(self, bound: Any) -> np.ndarray:
        """Return the Cramer-Rao bound over the simulated variance; one for an efficient estimator.

        Parameters
        ----------
        bound : array-like of shape (p, p)
            From :func:`cramer_rao_bound`.

        Returns
        -------
        ndarray of shape (p,)
        """
        return np.diag(np.atleast_2d(bound)) / self.variance


def simulate_risk(
    estimator: Callable[[np.ndarray], Any],
    sample: Any,
    truth: Any,
    *,
    n_samples: int,
    n_repeats: int = 1000,
    random_state: Any = None,
) -> EstimatorRisk:
    """Draw many data sets, estimate from each, and compare with the truth.

    Parameters
    ----------
    estimator : callable
        From observations to a number or a vector.
    sample : density, or callable
        With ``sample``, or a function from a number of observations and a Generator to them.
    truth : array-like
        What should come out.
    n_samples : int
        Observations in a data set.
    n_repeats : int, default=1000
        Data sets.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    EstimatorRisk

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, simulate_risk
    >>> risk = simulate_risk(np.var, GaussianDensity(0.0, 1.0), 1.0, n_samples=5, n_repeats=4000, random_state=0)
    >>> risk.bias.round(1)  # (n - 1) / n - 1
    array([-0.2])
    """
    if n_samples < 1 or n_repeats < 2:
        raise DataError(
            f"simulate_risk: n_samples must be 1 or more and n_repeats 2 or more; got {n_samples} and {n_repeats}."
        )
    named = any(hasattr(sample, name) for name in ("sample", "rvs", "resample"))
    draw = as_density(sample, "simulate_risk").sample if named else sample
    truth = np.atleast_1d(read_numbers("simulate_risk", "truth", truth))
    # A stream for each data set: results do not depend on how many there are after it.
    seeds = seed_sequence(random_state).spawn(n_repeats)
    estimates = [np.atleast_1d(estimator(draw(n_samples, np.random.default_rng(seed)))) for seed in seeds]
    stacked = np.asarray(estimates, dtype=np.float64)
    if stacked.shape[1:] != truth.shape:
        raise DataError(f"simulate_risk: the estimator gives shape {stacked.shape[1:]} where truth has {truth.shape}.")
    return EstimatorRisk(truth, stacked)


@dataclass(frozen=True, eq=False)
class LargeSamples:
    """How an estimator behaves as observations become many.

    Attributes
    ----------
    sizes : ndarray of shape (m,)
        Numbers of observations.
    root_mean_squared_errors : ndarray of shape (m,)
        They fall like n^-1/2 for a consistent estimator.
    scaled_variances : ndarray of shape (m,)
        n times the variance; it tends to one over the Fisher information of an observation.
    limit : float
        That inverse; of several parameters, the entry of the inverse information that belongs to this one.
    estimates : ndarray of shape (m, n_repeats)
        The estimates themselves.
    truth : float
        The parameter.
    kolmogorov_distances : ndarray of shape (m,)
        The largest difference between the distribution function of the standardised estimates and that of the standard
        normal distribution. It falls like n^-1/2, down to some 0.8 / sqrt(n_repeats), which is chance.
    """

    sizes: np.ndarray
    root_mean_squared_errors: np.ndarray
    scaled_variances: np.ndarray
    limit: float
    estimates: np.ndarray
    truth: float

    @property
    def standardised(self) -> np.ndarray:
        """The estimates less the truth, times the root of n over the limit, (m, n_repeats): normal in the end."""
        return (self.estimates - self.truth) * np.sqrt(self.sizes / self.limit)[:, None]

    @property
    def kolmogorov_distances(self) -> np.ndarray:
        """How far the standardised estimates are from normal, for each size."""
        ordered = ndtr(np.sort(self.standardised, axis=1))
        # The empirical distribution function jumps at each value; both ends of a jump are compared.
        steps = np.arange(ordered.shape[1] + 1) / ordered.shape[1]
        return np.maximum(np.abs(ordered - steps[1:]), np.abs(ordered - steps[:-1])).max(axis=1)


def simulate_large_samples(
    density: Any, parameter: str, sizes: Any, *, n_repeats: int = 1000, random_state: Any = None
) -> LargeSamples:
    """Follow the maximum likelihood estimate of a parameter as observations become many.

    Parameters
    ----------
    density : density
        The truth; its ``fit`` is the estimator.
    parameter : str
        The field to follow.
    sizes : array-like of int
        Numbers of observations.
    n_repeats : int, default=1000
        Data sets of each size.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    LargeSamples

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, simulate_large_samples
    >>> study = simulate_large_samples(GeometricDensity(0.4), "probability", [50, 800], random_state=0)
    >>> round(study.limit, 6), study.root_mean_squared_errors[0] / study.root_mean_squared_errors[1] > 3.5
    (0.096, np.True_)
    """
    sizes = np.asarray(sizes)
    values = density.parameters() if hasattr(density, "fisher_information") else {}
    names = list(values)
    if parameter not in names or np.ndim(values[parameter]):
        raise DataError(
            f"simulate_large_samples: parameter must be a single number among {', '.join(names) or 'no parameters'} of "
            f"{type(density).__name__}; got {parameter!r}."
        )
    seeds = seed_sequence(random_state).spawn(len(sizes))
    truth = float(values[parameter])
    risks = [
        simulate_risk(
            lambda x: density.fit(x).parameters()[parameter],
            density,
            truth,
            n_samples=int(n),
            n_repeats=n_repeats,
            random_state=np.random.default_rng(seed),
        )
        for n, seed in zip(sizes, seeds, strict=True)
    ]
    # All parameters are estimated together: the limit is an entry of the inverse information, and not the inverse of an
    # entry, which would be the variance if the others were known.
    place = names.index(parameter)
    limit = float(cramer_rao_bound(fisher_information(density))[place, place])
    return LargeSamples(
        sizes,
        np.array([np.sqrt(risk.mean_squared_error) for risk in risks]),
        # n times the variance of an efficient estimator tends to that entry for one observation.
        np.array([n * risk.variance[0] for n, risk in zip(sizes, risks, strict=True)]),
        limit,
        np.array([risk.estimates[:, 0] for risk in risks]),
        truth,
    )


def running_means(x: Any) -> np.ndarray:
    """Compute the mean of the first 1, 2, 3... values along the first axis: the law of large numbers at work.

    Parameters
    ----------
    x : array-like of shape (n, ...)
        Numbers.

    Returns
    -------
    ndarray of shape (n, ...)

    Examples
    --------
    >>> from mercer.estimation import running_means
    >>> running_means([1.0, 3.0, 5.0])
    array([1., 2., 3.])
    """
    x = read_numbers("running_means", "x", x)
    return np.cumsum(x, axis=0) / np.arange(1, len(x) + 1).reshape((-1,) + (1,) * (x.ndim - 1))


def standardised_sums(density: Any, n_terms: int, n_sums: int, *, random_state: Any = None) -> np.ndarray:
    """Simulate sums of independent terms, minus their mean and over their standard deviation.

    Parameters
    ----------
    density : density
        Of a term, with ``mean`` and ``variance``.
    n_terms : int
        Terms of a sum.
    n_sums : int
        Sums.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    ndarray of shape (n_sums,)
        Their excess kurtosis is that of a term over `n_terms`.

    Examples
    --------
    >>> from mercer.estimation import ExponentialDensity, excess_kurtosis, standardised_sums
    >>> sums = standardised_sums(ExponentialDensity(), 12, 200_000, random_state=0)
    >>> round(float(excess_kurtosis(sums)), 1)  # 6 / 12
    0.5
    """
    density = as_density(density, "standardised_sums")
    if not all(hasattr(density, name) for name in ("mean", "variance")):
        raise DataError(
            f"standardised_sums: the density must have mean and variance; got {type(density).__name__} without."
        )
    drawn = density.sample(n_terms * n_sums, random_state)
    if drawn.size != n_terms * n_sums:
        raise DataError(f"standardised_sums: terms must be single numbers; got draws of shape {drawn.shape[1:]}.")
    # Terms along the first axis: sums of independent draws.
    sums = drawn.reshape(n_terms, n_sums).sum(axis=0)
    return (sums - n_terms * density.mean) / np.sqrt(n_terms * density.variance)


def excess_kurtosis(x: Any) -> Any:
    """Compute the excess kurtosis, fourth moment over squared second moment minus 3, along the first axis.

    Parameters
    ----------
    x : array-like of shape (n, ...)
        Numbers.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from mercer.estimation import excess_kurtosis
    >>> float(excess_kurtosis([-1.0, 1.0]))
    -2.0
    """
    x = read_numbers("excess_kurtosis", "x", x)
    centred = x - x.mean(axis=0)
    return (centred**4).mean(axis=0) / np.square(x.var(axis=0)) - 3
