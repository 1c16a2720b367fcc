"""What an exact solution of a model says."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """Sums over all states of a model, without approximation.

    Attributes
    ----------
    method : str
        ``"tree"`` or ``"transfer"``.
    width : int
        The most sites whose states were held in one table: 2 on trees.
    beta : float
        Inverse temperature.
    n_sites : int
    log_partition : float
        log Z.
    mean_energy, energy_variance : float
        Of the whole system.
    mean_magnetisation, magnetisation_variance : float
        Of the sum over all sites.
    marginals : ndarray of shape (n_sites, n_states) or None
        The probability of each state of each site.
    pair_probabilities : ndarray of shape (n_edges, n_states, n_states) or None
        The joint probabilities of the two sites of each edge.
    pair_correlations : ndarray of shape (n_edges,) or None
        The mean of s_i s_j (Ising) or the probability that a_i = a_j (Potts), for each edge.
    """

    method: str
    width: int
    beta: float
    n_sites: int
    log_partition: float
    mean_energy: float
    energy_variance: float
    mean_magnetisation: float
    magnetisation_variance: float
    marginals: np.ndarray | None = None
    pair_probabilities: np.ndarray | None = None
    pair_correlations: np.ndarray | None = None

    @property
    def heat_capacity(self) -> float:
        """Return d<E>/dT = beta^2 Var(E), of the whole system."""
        return self.beta**2 * self.energy_variance

    @property
    def magnetisation(self) -> float:
        """Return the mean magnetisation of a site."""
        return self.mean_magnetisation / self.n_sites

    @property
    def susceptibility(self) -> float:
        """Return the derivative of the magnetisation of a site with respect to a uniform field: beta Var(M) / n."""
        return self.beta * self.magnetisation_variance / self.n_sites

    @property
    def entropy(self) -> float:
        """Return the entropy in nats: log Z + beta <E>."""
        return self.log_partition + self.beta * self.mean_energy

    @property
    def free_energy(self) -> float:
        """Return -log Z / beta."""
        return -self.log_partition / self.beta if self.beta > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class Thermodynamics:
    """Observables as functions of the inverse temperature, each an array with one entry for each beta.

    Attributes
    ----------
    betas, log_partition : ndarray of shape (n_betas,)
    energy, heat_capacity, magnetisation, susceptibility, entropy : ndarray of shape (n_betas,)
        For each site; heat capacity is that of one site too.
    """

    betas: np.ndarray
    log_partition: np.ndarray
    energy: np.ndarray
    heat_capacity: np.ndarray
    magnetisation: np.ndarray
    susceptibility: np.ndarray
    entropy: np.ndarray
