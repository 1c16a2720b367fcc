"""Mean-field annealing: independent variables in the mean field of the others, colder and colder.

Among distributions Q(s) = prod_k Q_k(s_k) the nearest to the Gibbs distribution, in KL(Q || P) = beta F(Q) + log Z,
has the least free energy F = <E>_Q - H(Q) / beta. Where E is linear in each variable, <E>_Q is E at the means, and the
minimum over one Q_k with the others held is its Gibbs distribution in the field e_k = d<E> / d<s_k>:

    spins +-1:      <s_k> = -tanh(beta e_k)
    one of M:       <s_ka> = exp(-beta e_ka) / sum_b exp(-beta e_kb)
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import entr, softmax

from mercer._base.parameter import Integer, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Step
from mercer._source.threads import one_blas_thread
from mercer.errors import DataError
from mercer.optim._result import Iterate, Result, run
from mercer.optim._stopping import MaxIter, StopRule

_HEURISTIC = "A fixed point of the mean field: a local minimum of the free energy, not the optimum for certain."


class MeanEnergy(Protocol):
    """An energy that is linear in each variable."""

    def __call__(self, means: np.ndarray) -> float: ...

    def field(self, means: np.ndarray, k: int) -> Any:
        """Return the derivative with respect to the mean of variable k."""


class PairwiseEnergy:
    """E(s) = -1/2 sum_kl J_kl s_k . s_l - sum_k h_k . s_k.

    Variables are spins of -1 and 1 where `field` has one dimension (the Ising model), and one-of-M vectors, a row of
    `field` each, where it has two (the Potts model).

    Parameters
    ----------
    couplings : array-like of shape (n, n)
        J, symmetric; the diagonal must be zero, since a variable is not in its own field.
    field : array-like of shape (n,) or (n, M)
        h.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import PairwiseEnergy
    >>> energy = PairwiseEnergy([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.0])
    >>> energy(np.array([1, 1])), energy(np.array([1, -1]))
    (-1.5, 0.5)
    """

    def __init__(self, couplings: Any, field: Any) -> None:
        self.couplings = np.asarray(couplings, dtype=np.float64)
        self.external = np.asarray(field, dtype=np.float64)
        n = len(self.external)
        if self.external.ndim not in (1, 2) or self.couplings.shape != (n, n):
            raise DataError(
                f"PairwiseEnergy: couplings must have shape (n, n) for a field of n rows; got {self.couplings.shape} "
                f"and {self.external.shape}."
            )
        if not np.array_equal(self.couplings, self.couplings.T) or self.couplings.diagonal().any():
            raise DataError("PairwiseEnergy: couplings must be symmetric with a diagonal of zeros; got others.")

    def __call__(self, states: np.ndarray) -> float:
        """Return the energy of states, or the mean energy of independent variables with these means."""
        return float(-0.5 * np.sum(states * (self.couplings @ states)) - np.sum(self.external * states))

    def field(self, means: np.ndarray, k: int) -> Any:
        """Return the derivative of the mean energy with respect to the mean of variable `k`: O(n)."""
        return -(self.couplings[k] @ means + self.external[k])

    def flip_change(self, spins: np.ndarray, k: int) -> float:
        """Return the change of energy when spin `k` is turned over."""
        return float(-2.0 * spins[k] * self.field(spins, k))


@plain
@dataclass(frozen=True, eq=False)
class MeanFieldState:
    """The means, the mean energy, the level of temperature, and the sweeps made there."""

    x: np.ndarray
    value: float
    gradient: None
    level: int
    n_sweeps: int


@dataclass(frozen=True, eq=False)
class Sweep:
    """Ask for one update of each variable in turn."""

    means: np.ndarray
    beta: float

    def answer(self, source: "MeanFieldSource") -> tuple[np.ndarray, float]:
        return source.sweep(self.means, self.beta)


class MeanFieldSource:
    """An energy that is asked for fields."""

    def __init__(self, energy: MeanEnergy) -> None:
        self.energy = energy
        self.n_evaluations = self.n_gradients = 0

    def sweep(self, means: np.ndarray, beta: float) -> tuple[np.ndarray, float]:
        """Return the means after a sweep, and their mean energy."""
        means = means.copy()
        self.n_gradients += len(means)
        self.n_evaluations += 1
        with one_blas_thread():
            for k in range(len(means)):
                # One variable at a time with the others fixed: each update lowers the free energy, which a parallel one
                # need not.
                means[k] = update_mean(self.energy.field(means, k), beta)
            return means, float(self.energy(means))


def update_mean(field: Any, beta: float) -> Any:
    """Return the mean of a variable in a field: a number for spins, a vector for one-of-M variables."""
    # The mean of exp(-beta s f) / Z: over s = -1, 1 it is -tanh(beta f), over unit vectors the softmax.
    return softmax(-beta * field) if np.ndim(field) else -math.tanh(beta * field)


def mean_field_entropy(means: Any) -> float:
    """Return the entropy, in nats, of independent variables with the given means.

    Parameters
    ----------
    means : array-like of shape (n,) or (n, M)
        Of spins of -1 and 1, or of one-of-M variables.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.optim import mean_field_entropy
    >>> round(mean_field_entropy([0.0, 1.0]), 6)
    0.693147
    """
    means = np.asarray(means, dtype=np.float64)
    # A spin of mean m is up with probability (1 + m) / 2.
    shares = means if means.ndim == 2 else np.stack([0.5 * (1.0 + means), 0.5 * (1.0 - means)])
    return float(np.sum(entr(np.clip(shares, 0.0, 1.0))))


def anneal_mean_field(
    energy: MeanEnergy,
    shape: int | tuple[int, int],
    *,
    betas: Sequence[float] | None = None,
    tol: float = 1e-8,
    max_sweeps: int = 1000,
    stop: StopRule | None = None,
    callback: Callable[[Iterate], Any] | None = None,
    random_state: Any = None,
) -> Result:
    """Minimise an energy over spins or one-of-M variables by their mean field, at rising inverse temperature.

    Each update lowers the free energy at its temperature. Means end near -1 and 1, or near one-hot: round them. The
    answer is a local optimum; without interaction it is exact.

    Parameters
    ----------
    energy : PairwiseEnergy or similar
        Called with means; ``energy.field(means, k)`` is its derivative with respect to the mean of variable k. It must
        be linear in each variable.
    shape : int or pair of int
        n for spins of -1 and 1, (n, M) for one-of-M variables.
    betas : sequence of float or None, default=None
        Inverse temperatures, one after the other; None goes from 0.01 to 100 in forty steps.
    tol : float, default=1e-8
        A level ends when no mean moved by more in a sweep.
    max_sweeps : int, default=1000
        The most sweeps at one level.
    stop : StopRule or None, default=None
        When to end before the last level; a step is one sweep.
    callback : callable or None, default=None
        Called with an :class:`~mercer.optim.Iterate` after each sweep; True ends the run.
    random_state : int, Generator, RandomState or None, default=None
        For the small numbers that the means start from: exactly zero is a fixed point that symmetry never leaves.

    Returns
    -------
    Result
        ``x`` are the means, ``value`` the mean energy; the objective of the history is the free energy, which falls
        while ``beta`` stays.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import PairwiseEnergy, anneal_mean_field
    >>> chain = PairwiseEnergy(np.eye(5, k=1) + np.eye(5, k=-1), np.full(5, 0.1))
    >>> anneal_mean_field(chain, 5, random_state=0).x.round(6)
    array([1., 1., 1., 1., 1.])
    """
    levels = np.geomspace(0.01, 100.0, 40) if betas is None else np.asarray(betas, dtype=np.float64)
    values = {"tol": tol, "max_sweeps": max_sweeps, "random_state": random_state}
    rules = {"tol": Real(0), "max_sweeps": Integer(1), "random_state": Seed()}
    check_parameters("anneal_mean_field", rules, values)
    if levels.ndim != 1 or not len(levels) or not np.all(levels > 0):
        raise DataError(f"anneal_mean_field: betas must be positive numbers, at least one; got {betas!r}.")
    source = MeanFieldSource(energy)
    return run(
        "anneal_mean_field",
        "mean-field annealing",
        _anneal(_start(shape, random_state), levels.tolist(), tol, max_sweeps),
        source,
        MaxIter(len(levels) * max_sweeps) if stop is None else stop,
        callback=callback,
    )


def _start(shape: int | tuple[int, int], random_state: Any) -> MeanFieldState:
    """Return means slightly off the symmetric point."""
    size = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    # Equal means can be a fixed point by symmetry, which no sweep would leave.
    noise = 1e-3 * np.random.default_rng(seed_sequence(random_state)).uniform(-1.0, 1.0, size=size)
    return MeanFieldState(softmax(noise, axis=1) if len(size) == 2 else noise, math.nan, None, 0, 0)


def _anneal(state: MeanFieldState, betas: list[float], tol: float, max_sweeps: int) -> Generator[Any, Any, Solution]:
    moved = math.inf
    while True:
        # The means of one level start the next: slow cooling follows a minimum of the free energy.
        if state.n_sweeps >= max_sweeps or (state.n_sweeps and moved <= tol):
            state = MeanFieldState(state.x, state.value, None, state.level + 1, 0)
        if state.level >= len(betas):
            certificate = Certificate.of("fixed point", moved, tol, _HEURISTIC)
            return Solution(state, certificate.satisfied, certificate)
        beta = betas[state.level]
        means, energy = yield Sweep(state.x, beta)
        moved = float(np.max(np.abs(means - state.x), initial=0.0))
        state = MeanFieldState(means, energy, None, state.level, state.n_sweeps + 1)
        # F = <E> - S / beta is the bound that each update lowers at fixed beta.
        free = energy - mean_field_entropy(means) / beta
        certificate = Certificate.of("fixed point", moved, tol, _HEURISTIC)
        yield Step(free, state, certificate, {"beta": beta, "energy": energy, "step_norm": moved})
