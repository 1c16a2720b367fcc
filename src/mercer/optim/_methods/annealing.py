"""Simulated annealing: a random walk over states, colder and colder; the temperature falls, beta rises."""

import math
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from mercer._base.parameter import Function, Integer, Nothing, Real, Seed, check_parameters
from mercer._solver import Certificate, Solution, Step, drive
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.optim._result import Iterate, Result, run
from mercer.optim._stopping import MaxIter, StopRule
from mercer.optim._walk import ACCEPTANCE, AnnealingState, EnergySource, Walk, begin_walk

_HEURISTIC = (
    "Annealing is a heuristic: only a schedule beta = log(t) / c with c above the deepest trap reaches the global "
    "minimum with certainty, in the limit."
)
_RULES = {
    "energy": Function(),
    "propose": Function(),
    "rule": ACCEPTANCE,
    "random_state": Seed(),
}


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
        How proposals are accepted; see :func:`~mercer.optim.acceptance_probability`.
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
        raise ParameterError("anneal: factor or depth must be given; got None for both.")

    # log(t + 2) / depth is the schedule of Geman and Geman; the geometric one is faster and promises nothing.
    def inverse_temperature(level: int) -> float:
        return beta * float(factor) ** level if depth is None else math.log(level + 2.0) / depth  # type: ignore[arg-type]

    source = EnergySource("anneal", energy, propose, change)
    return run(
        "anneal",
        f"annealing by {rule}",
        _levels(begin_walk(source, x0, random_state), inverse_temperature, rule, n_moves),
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
        As for :func:`~mercer.optim.anneal`.
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
    start = begin_walk(source, x0, random_state)
    states, energies = [], []

    def walk() -> Generator[Any, Any, Solution]:
        state = start
        if burn_in:
            # The first states still depend on the start and are thrown away.
            state, _ = yield Walk(state, beta, rule, burn_in)
        for _ in range(n_samples):
            # Successive states of a walk are correlated; keep every `thin`-th.
            state, _ = yield Walk(state, beta, rule, thin)
            states.append(state.current)
            energies.append(state.energy)
        return Solution(state, True, Certificate.none("A sample bounds nothing."))

    drive(walk(), source)  # type: ignore[arg-type]
    return np.stack(states), np.array(energies)


def _levels(
    state: AnnealingState, inverse_temperature: Callable[[int], float], rule: str, n_moves: int
) -> Generator[Any, Any, Solution]:
    # Stopping rules end this loop from outside. One temperature per level lets the walk approach equilibrium.
    while True:
        beta = inverse_temperature(state.n_levels)
        state, accepted = yield Walk(state, beta, rule, n_moves)
        measures = {"beta": beta, "energy": state.energy, "accepted": accepted}
        yield Step(state.value, state, Certificate.none(_HEURISTIC), measures)
