"""What a simulation says: recorded states, observables, and how certain their means are."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.energy._sampling.autocorrelation import autocorrelation_time


@dataclass(frozen=True)
class ChainEstimate:
    """A mean over a Markov chain.

    Attributes
    ----------
    mean : float
    standard_error : float
        Of the mean, with the correlation of successive samples.
    autocorrelation_time : float
        Samples that are worth one independent sample.
    effective_samples : float
    """

    mean: float
    standard_error: float
    autocorrelation_time: float
    effective_samples: float

    @classmethod
    def of(cls, series: np.ndarray) -> "ChainEstimate":
        """Return the estimate from the values of some chains, (n_chains, n_samples)."""
        tau = autocorrelation_time(series)
        worth = series.size / tau
        error = float(series.std()) / math.sqrt(worth) if worth else math.inf
        return cls(float(series.mean()), error, tau, worth)


@dataclass(frozen=True, eq=False)
class Simulation:
    """States of Markov chains whose stationary distribution is that of a model.

    Attributes
    ----------
    method : str
    beta : float
    burn_in, thin : int
        Moves before the first recorded state, and from one to the next. A move is a sweep over all sites, a division
        into clusters, or one cluster of Wolff.
    states : ndarray of shape (n_chains, n_samples, n_sites)
        As the model writes them: -1 and 1, or 0 to q - 1.
    energies, magnetisations : ndarray of shape (n_chains, n_samples)
        The energy of the system; the mean magnetisation of a site.
    orders : ndarray of shape (n_chains, n_samples)
        The order parameter: abs(magnetisation) of an Ising model, (q share - 1) / (q - 1) with the share of the most
        frequent state in a Potts model.
    """

    method: str
    beta: float
    burn_in: int
    thin: int
    states: np.ndarray
    energies: np.ndarray
    magnetisations: np.ndarray
    orders: np.ndarray

    @property
    def samples(self) -> np.ndarray:
        """Return the states of all chains, one after the other: shape (n_chains * n_samples, n_sites)."""
        return self.states.reshape(-1, self.states.shape[2])

    @cached_property
    def energy(self) -> ChainEstimate:
        """Return the mean energy of the system with its standard error."""
        return ChainEstimate.of(self.energies)

    @cached_property
    def magnetisation(self) -> ChainEstimate:
        """Return the mean magnetisation of a site with its standard error."""
        return ChainEstimate.of(self.magnetisations)

    @cached_property
    def order(self) -> ChainEstimate:
        """Return the mean order parameter with its standard error."""
        return ChainEstimate.of(self.orders)

    @cached_property
    def heat_capacity(self) -> ChainEstimate:
        """Return beta^2 Var(E), of the system."""
        return _estimate_variance(self.energies, self.beta**2)

    @cached_property
    def susceptibility(self) -> ChainEstimate:
        """Return beta n Var(m)."""
        return _estimate_variance(self.magnetisations, self.beta * self.states.shape[2])

    @property
    def discrepancy(self) -> float:
        """Return by which ratio the energies of chains differ (Gelman and Rubin): 1 if all agree, NaN for one chain."""
        n = self.energies.shape[1]
        if len(self.energies) < 2 or n < 2:
            return math.nan
        within = float(self.energies.var(axis=1, ddof=1).mean())
        between = float(self.energies.mean(axis=1).var(ddof=1))
        return math.sqrt((n - 1) / n + between / within) if within else 1.0


def _estimate_variance(series: np.ndarray, factor: float) -> ChainEstimate:
    """Return a multiple of the variance: the mean of squared deviations, whose error is found like that of any mean."""
    return ChainEstimate.of(factor * (series - series.mean()) ** 2)
