"""Simulated annealing: a random walk over states, colder and colder.

At inverse temperature beta a proposal that changes the energy by d is accepted with probability 1 / (1 + exp(beta d))
(the heat bath; even d = 0 only with one half) or min(1, exp(-beta d)) (Metropolis). Both leave the Gibbs distribution
at that beta as it is. The temperature falls, beta rises.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from mercer._base.parameter import Choice, Function, Integer, Nothing, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Step, drive
from mercer.errors import DataError, ParameterError
from mercer.optim._result import Iterate, Result, run
from mercer.optim._stopping import MaxIter, StopRule

__all__ = ["AnnealingState", "acceptance_probability", "anneal", "sample_states"]

Array = Any
_HEURISTIC = (
    "Annealing is a heuristic: only a schedule beta = log(t) / c with c above the deepest trap reaches the global "
    "minimum with certainty, in the limit."
)
_RULES = {
    "energy": Function(),
    "propose": Function(),
    "rule": Choice("heat bath", "metropolis"),
    "random_state": Seed(),
}


def acceptance_probability(change: Any, beta: float, rule: str = "heat bath") -> Any:
    """The probability of accepting a proposal that changes the energy.

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
    check_parameters("acceptance_probability", {"beta": Real(0), "rule": _RULES["rule"]}, {"beta": beta, "rule": rule})
    return _accept(np.asarray(change, dtype=np.float64), beta, rule)


def _accept(change: Any, beta: float, rule: str) -> Any:
    # Infinity times zero is no number: a move without change is as likely at any temperature.
    exponent = np.multiply(beta, change, where=change != 0, out=np.zeros(np.shape(change)))
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
        """The energy of a state."""
        self.n_evaluations += 1
        energy = float(self.energy(state))
        if math.isnan(energy):
            message = f"{self.subject}: energy must be a number; got NaN."
            raise DataError(message)
        return energy

    def walk(self, state: AnnealingState, beta: float, rule: str, n_moves: int) -> tuple[AnnealingState, float]:
        """The state after some proposals, and the share that was accepted."""
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
                difference = float(self.change(current, candidate))
            if random.random() < _accept(difference, beta, rule):
                current, energy = np.array(candidate), energy + difference
                accepted += 1
                if energy < least:
                    best, least = current, energy
        after = AnnealingState(best, least, None, current, energy, state.n_levels + 1, state.seed)
        return after, accepted / n_moves


def anneal(
    energy: Callable[[Array], float],
    propose: Callable[[Array, np.random.Generator], Array],
    x0: Any,
    *,
    change: Callable[[Array, Array], float] | None = None,
    rule: str = "heat bath",
    beta: float = 0.1,
    factor: float | None = 1.05,
    depth: float | None = None,
    n_moves: int = 100,
    stop: StopRule | None = None,
    callback: Callable[[Iterate], Any] | None = None,
    random_state: Any = None,
) -> Result:
    """Minimise an energy over discrete states by simulated annealing.

    Parameters
    ----------
    energy : callable
        From a state (an array) to a number.
    propose : callable
        From a state (a copy to write into, if you like) and a random generator to another state. As likely there as
        back, or the walk does not have the Gibbs distribution.
    x0 : array-like or Result
        The first state; the result of an earlier run continues it with the same bits.
    change : callable or None, default=None
        From two states to the change of energy, where that is cheaper than two energies.
    rule : {"heat bath", "metropolis"}, default="heat bath"
        How proposals are accepted; see :func:`acceptance_probability`.
    beta : float, default=0.1
        The first inverse temperature.
    factor : float or None, default=1.05
        beta is multiplied by this after each level; 1.01 to 1.3 are customary. None with `depth`.
    depth : float or None, default=None
        In place of `factor`: beta = log(1 + t) / depth at level t. With `depth` at least the depth of the deepest local
        trap this finds the global minimum with certainty, in the limit (Hajek, 1988).
    n_moves : int, default=100
        Proposals at each level.
    stop : StopRule or None, default=None
        When to end; None means 200 levels. A step is one level.
    callback : callable or None, default=None
        Called with an :class:`~mercer.optim.Iterate` after each level; True ends the run.
    random_state : int, Generator, RandomState or None, default=None
        One stream for each level.

    Returns
    -------
    Result
        ``x`` is the best state met, ``value`` its energy; history has ``beta``, ``energy`` of the walk and the share
        ``accepted``.

    References
    ----------
    Kirkpatrick, Gelatt and Vecchi (1983), Optimization by simulated annealing; Hajek (1988), Cooling schedules for
    optimal annealing.

    Examples
    --------
    Cut seven numbers into two heaps of one weight:

    >>> import numpy as np
    >>> from mercer.optim import anneal
    >>> numbers = np.array([8, 7, 6, 5, 4, 3, 1])
    >>> def flip(signs, random):
    ...     signs[random.integers(7)] *= -1
    ...     return signs
    >>> anneal(lambda signs: abs(signs @ numbers), flip, np.ones(7, dtype=int), random_state=0).value
    0.0
    """
    values = {"energy": energy, "propose": propose, "rule": rule, "random_state": random_state}
    check_parameters("anneal", _RULES, values)
    numbers = {"beta": beta, "factor": factor, "depth": depth, "n_moves": n_moves}
    positive = Real(0, closed="neither")
    check_parameters(
        "anneal",
        {
            "beta": positive,
            "factor": Real(1, closed="neither") | Nothing(),
            "depth": positive | Nothing(),
            "n_moves": Integer(1),
        },
        numbers,
    )
    if factor is None and depth is None:
        message = "anneal: factor or depth must be given; got None for both."
        raise ParameterError(message)

    def inverse_temperature(level: int) -> float:
        return beta * float(factor) ** level if depth is None else math.log(level + 2.0) / depth  # type: ignore[arg-type]

    source = EnergySource("anneal", energy, propose, change)
    return run(
        "anneal",
        f"annealing by {rule}",
        _levels(_read_start(source, x0, random_state), inverse_temperature, rule, n_moves),
        source,
        MaxIter(200) if stop is None else stop,
        callback=callback,
    )


def sample_states(
    energy: Callable[[Array], float],
    propose: Callable[[Array, np.random.Generator], Array],
    x0: Any,
    *,
    beta: float,
    n_samples: int = 1000,
    thin: int = 10,
    burn_in: int = 1000,
    rule: str = "heat bath",
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sample states from the Gibbs distribution of an energy, P(s) proportional to exp(-beta energy(s)), by a walk.

    Parameters
    ----------
    energy, propose, x0, rule, random_state
        As for :func:`anneal`.
    beta : float
        Inverse temperature, fixed.
    n_samples : int, default=1000
        States to return.
    thin : int, default=10
        Proposals between two of them; neighbours in the walk are alike.
    burn_in : int, default=1000
        Proposals before the first.

    Returns
    -------
    states : ndarray of shape (n_samples, ...)
    energies : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import sample_states
    >>> states, energies = sample_states(
    ...     lambda s: -float(s[0]), lambda s, random: -s, np.array([1]), beta=1.0, n_samples=4000, random_state=0
    ... )
    >>> bool(abs(states.mean() - np.tanh(1.0)) < 0.03)
    True
    """
    values = {"energy": energy, "propose": propose, "rule": rule, "random_state": random_state}
    check_parameters("sample_states", _RULES, values)
    counts = {"beta": beta, "n_samples": n_samples, "thin": thin, "burn_in": burn_in}
    rules = {"beta": Real(0), "n_samples": Integer(1), "thin": Integer(1), "burn_in": Integer(0)}
    check_parameters("sample_states", rules, counts)
    source = EnergySource("sample_states", energy, propose)
    start = _read_start(source, x0, random_state)
    states, energies = [], []

    def walk() -> Generator[Any, Any, Solution]:
        state = start
        if burn_in:
            state, _ = yield Walk(state, beta, rule, burn_in)
        for _ in range(n_samples):
            state, _ = yield Walk(state, beta, rule, thin)
            states.append(state.current)
            energies.append(state.energy)
        return Solution(state, True, Certificate.none("A sample bounds nothing."))

    drive(walk(), source)  # type: ignore[arg-type]
    return np.stack(states), np.array(energies)


def _levels(
    state: AnnealingState, inverse_temperature: Callable[[int], float], rule: str, n_moves: int
) -> Generator[Any, Any, Solution]:
    while True:
        beta = inverse_temperature(state.n_levels)
        state, accepted = yield Walk(state, beta, rule, n_moves)
        measures = {"beta": beta, "energy": state.energy, "accepted": accepted}
        yield Step(state.value, state, Certificate.none(_HEURISTIC), measures)


def _read_start(source: EnergySource, x0: Any, random_state: Any) -> AnnealingState:
    if isinstance(x0, Result) and isinstance(x0.state, AnnealingState):
        return x0.state
    start = np.array(x0)
    energy = source.energy_of(start.copy())
    seed = tuple(int(word) for word in seed_sequence(random_state).generate_state(4))
    return AnnealingState(start, energy, None, start, energy, 0, seed)
