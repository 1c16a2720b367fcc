"""A random walk over states at one temperature.

At inverse temperature beta a proposal that changes the energy by d is accepted with probability 1 / (1 + exp(beta d))
(the heat bath; even d = 0 only with one half) or min(1, exp(-beta d)) (Metropolis). Both leave the Gibbs distribution
at that beta as it is.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from mercer._base.parameter import Choice, Real, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError
from mercer.optim._result import Result

ACCEPTANCE = Choice("heat bath", "metropolis")


def acceptance_probability(change: Any, beta: float, rule: str = "heat bath") -> Any:
    """Return the probability of accepting a proposal that changes the energy.

    Parameters
    ----------
    change : float or array-like
        New energy minus old.
    beta : float
        Inverse temperature, 0 to infinity.
    rule : {"heat bath", "metropolis"}, default="heat bath"
        1 / (1 + exp(beta * change)), or min(1, exp(-beta * change)).

    Returns
    -------
    ndarray or float

    Examples
    --------
    >>> from mercer.optim import acceptance_probability
    >>> acceptance_probability([-1.0, 0.0, 1.0], beta=2.0).round(3)
    array([0.881, 0.5  , 0.119])
    """
    check_parameters("acceptance_probability", {"beta": Real(0), "rule": ACCEPTANCE}, {"beta": beta, "rule": rule})
    return _accept(np.asarray(change, dtype=np.float64), beta, rule)


def _accept(change: Any, beta: float, rule: str) -> Any:
    # Infinity times zero is no number: a move without change is as likely at any temperature.
    exponent = np.multiply(beta, change, where=change != 0, out=np.zeros(np.shape(change)))
    # Both rules meet detailed balance; Metropolis accepts more, heat bath never accepts for certain.
    return expit(-exponent) if rule == "heat bath" else np.exp(-np.maximum(exponent, 0.0))


@plain
@dataclass(frozen=True, eq=False)
class AnnealingState:
    """The best state and its energy; where the walk stands; the levels of temperature passed; the seed."""

    x: Array
    value: float
    gradient: None
    current: Array
    energy: float
    n_levels: int
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Walk:
    """Ask for some proposals at one temperature."""

    state: AnnealingState
    beta: float
    rule: str
    n_moves: int

    def answer(self, source: "EnergySource") -> tuple[AnnealingState, float]:
        return source.walk(self.state, self.beta, self.rule, self.n_moves)


class EnergySource:
    """States with an energy, and a way to propose another."""

    def __init__(self, subject: str, energy: Any, propose: Any, change: Any = None) -> None:
        self.subject, self.energy, self.propose, self.change = subject, energy, propose, change
        self.n_evaluations = 0

    def energy_of(self, state: Array) -> float:
        """Return the energy of a state."""
        self.n_evaluations += 1
        energy = float(self.energy(state))
        if math.isnan(energy):
            raise DataError(f"{self.subject}: energy must be a number; got NaN.")
        return energy

    def walk(self, state: AnnealingState, beta: float, rule: str, n_moves: int) -> tuple[AnnealingState, float]:
        """Return the state after some proposals, and the share that was accepted."""
        random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_levels,)))
        current, energy, best, least = state.current, state.energy, state.x, state.value
        accepted = 0
        for _ in range(n_moves):
            # A user's function may write into what it is given, and reuse what it returns.
            candidate = self.propose(current.copy(), random)
            if self.change is None:
                difference = self.energy_of(candidate) - energy
            else:
                self.n_evaluations += 1
                # Energy differences are often O(1) where the energy itself is O(n) or more.
                difference = float(self.change(current, candidate))
            if random.random() < _accept(difference, beta, rule):
                current, energy = np.array(candidate), energy + difference
                accepted += 1
                if energy < least:
                    best, least = current, energy
        after = AnnealingState(best, least, None, current, energy, state.n_levels + 1, state.seed)
        return after, accepted / n_moves


def begin_walk(source: EnergySource, x0: Any, random_state: Any) -> AnnealingState:
    """Return the first state of a walk, or where an earlier result stopped."""
    if isinstance(x0, Result) and isinstance(x0.state, AnnealingState):
        return x0.state
    start = np.array(x0)
    energy = source.energy_of(start.copy())
    seed = tuple(int(word) for word in seed_sequence(random_state).generate_state(4))
    return AnnealingState(start, energy, None, start, energy, 0, seed)
