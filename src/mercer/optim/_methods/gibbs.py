"""The Gibbs distribution of an energy over states that can be listed."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.parameter import Integer, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._source.memory import require_memory
from mercer.errors import DataError
from mercer.optim._walk import acceptance_probability


def list_states(n: int, values: Sequence[Any] = (-1, 1)) -> np.ndarray:
    """Return all states of `n` variables that each take one of some values.

    Parameters
    ----------
    n : int
        How many variables.
    values : sequence, default=(-1, 1)
        What each may be.

    Returns
    -------
    ndarray of shape (len(values) ** n, n)

    Examples
    --------
    >>> from mercer.optim import list_states
    >>> list_states(2)
    array([[-1, -1],
           [-1,  1],
           [ 1, -1],
           [ 1,  1]])
    """
    check_parameters("list_states", {"n": Integer(1)}, {"n": n})
    count = len(values) ** n
    # Each state is a tuple of pointers before it is a row.
    require_memory("list_states", 16.0 * count * (n + 4), f"the list of {count} states", "sample them (sample_states)")
    return np.array(list(product(values, repeat=n)))


class GibbsDistribution:
    """P(s) = exp(-beta E(s)) / Z over states that can be listed.

    At beta = 0 all states are alike; as beta grows those of least energy take all. d log Z / d beta = -<E>.

    Parameters
    ----------
    energies : array-like of shape (n,)
        The energy of each state.
    beta : float, default=1
        Inverse temperature, 0 to infinity.
    states : array-like of shape (n, ...) or None, default=None
        The states, in the order of energies; None numbers them.

    Attributes
    ----------
    probabilities : ndarray of shape (n,)
    log_partition : float
        log Z.
    mean_energy : float
    entropy : float
        In nats.
    free_energy : float
        <E> - H / beta = -log Z / beta: the least of all distributions.

    Examples
    --------
    A ring of four spins, E = -sum_j s_j s_(j+1), whose partition function is known:

    >>> import numpy as np
    >>> from mercer.optim import GibbsDistribution, list_states
    >>> spins = list_states(4)
    >>> ring = GibbsDistribution.of(lambda s: -np.sum(s * np.roll(s, 1)), spins, beta=0.5)
    >>> bool(np.isclose(np.exp(ring.log_partition), (2 * np.cosh(0.5)) ** 4 + (2 * np.sinh(0.5)) ** 4))
    True
    """

    def __init__(self, energies: Any, beta: float = 1.0, states: Any = None) -> None:
        check_parameters("GibbsDistribution", {"beta": Real(0)}, {"beta": beta})
        self.energies = np.asarray(energies, dtype=np.float64)
        if self.energies.ndim != 1 or not len(self.energies) or not np.all(np.isfinite(self.energies)):
            raise DataError(
                f"GibbsDistribution: energies must be finite numbers, one a state; got {self.energies.shape}."
            )
        self.beta = beta
        self.states = np.arange(len(self.energies)) if states is None else np.asarray(states)
        if len(self.states) != len(self.energies):
            raise DataError(
                f"GibbsDistribution: there must be as many states as energies; got {len(self.states)} and "
                f"{len(self.energies)}."
            )

    @classmethod
    def of(cls, energy: Callable[[Any], float], states: Any, beta: float = 1.0) -> "GibbsDistribution":
        """Return the distribution of an energy over listed states."""
        return cls([float(energy(state)) for state in states], beta, states)

    @cached_property
    def _log_weights(self) -> np.ndarray:
        """Minus beta times the energy above the least: no weight overflows."""
        above = self.energies - self.energies.min()
        return np.where(above == 0, 0.0, -np.inf) if math.isinf(self.beta) else -self.beta * above

    @cached_property
    def log_partition(self) -> float:
        if math.isinf(self.beta):
            return math.inf if self.energies.min() < 0 else -math.inf
        # log Z = log sum exp(-beta (E - min E)) - beta min E.
        return float(logsumexp(self._log_weights) - self.beta * self.energies.min())

    @cached_property
    def probabilities(self) -> np.ndarray:
        return np.exp(self._log_weights - logsumexp(self._log_weights))

    @property
    def mean_energy(self) -> float:
        return float(np.sum(self.probabilities * self.energies))

    @property
    def entropy(self) -> float:
        # p log p tends to 0 as p does.
        p = self.probabilities[self.probabilities > 0]
        return float(-np.sum(p * np.log(p)))

    @property
    def free_energy(self) -> float:
        return self.mean_energy - self.entropy / self.beta if self.beta > 0 else -math.inf

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` states independently.

        Parameters
        ----------
        n : int
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n, ...)
        """
        check_parameters("sample", {"n": Integer(0), "random_state": Seed()}, {"n": n, "random_state": random_state})
        random = np.random.default_rng(seed_sequence(random_state))
        return self.states[random.choice(len(self.energies), size=n, p=self.probabilities)]

    def transition_matrix(self, neighbours: Any, rule: str = "heat bath") -> np.ndarray:
        """Return the matrix of a walk that proposes a neighbour at random and accepts it by `rule`.

        Parameters
        ----------
        neighbours : array-like of bool of shape (n, n)
            Symmetric, with equally many neighbours for each state, so that proposals are as likely as their reverse.
        rule : {"heat bath", "metropolis"}, default="heat bath"

        Returns
        -------
        ndarray of shape (n, n)
            W[s, t], the probability of going from s to t; this distribution keeps detailed balance with it.
        """
        linked = np.asarray(neighbours, dtype=bool)
        counts = linked.sum(axis=1)
        if not np.array_equal(linked, linked.T) or counts.min() != counts.max() or linked.diagonal().any():
            raise DataError(
                "transition_matrix: neighbours must be symmetric, alike in number and without loops; got others."
            )
        # Symmetric proposals and this acceptance give detailed balance: P(s) T(s, s') = P(s') T(s', s).
        change = self.energies[None, :] - self.energies[:, None]
        matrix = np.where(linked, acceptance_probability(change, self.beta, rule), 0.0) / max(1, counts[0])
        # A rejected proposal stays where it is.
        matrix[np.diag_indices_from(matrix)] = 1.0 - matrix.sum(axis=1)
        return matrix
