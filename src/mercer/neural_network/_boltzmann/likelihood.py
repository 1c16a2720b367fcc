"""The likelihood of a Boltzmann machine and its gradient: <s s^T>_data - <s s^T>_model.

The data term clamps the visible units to a row and sums over the hidden ones, exactly. The model term is a sum over all
states, or a mean over Markov chains.
"""

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.quasi_newton import step_by_memory
from mercer._solver.request import run_large
from mercer._source import Block, Source
from mercer._types import Array
from mercer.energy import IsingModel
from mercer.neural_network._boltzmann.enumeration import list_spins, read_spins, sum_spins

# Steps that L-BFGS remembers.
_MEMORY = 10
# States that are worked on at a time: with 12 hidden units, 4096 x 4096 numbers, 128 MiB.
_BLOCK = 4096
_SAMPLED = (
    "The largest entry of the gradient, averaged over the last steps; the tolerance is tol, or what the chains' noise "
    "leaves of a gradient of zero where that is more."
)
# Weight of the newest gradient in that running average: it remembers some forty steps.
_NEWEST = 0.05
# Standard deviations of a mean of chains that the largest of many entries may reach by chance.
_CHANCE = 4.0


@dataclass(frozen=True, eq=False)
class CountedStates:
    """The distinct visible states of the rows, eight units in a byte, the share of each, and the rows' least value."""

    codes: Array
    shares: Array
    n_features: int
    least: float

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield the states as spins, with their shares, some thousands at a time."""
        for start in range(0, len(self.codes), _BLOCK):
            bits = np.unpackbits(self.codes[start : start + _BLOCK], axis=1, count=self.n_features)
            yield read_spins(bits, 0.5), self.shares[start : start + _BLOCK]


@dataclass(frozen=True)
class ReadStates:
    """A request: the distinct visible states. Weights are repetitions exactly, since only counts are used."""

    threshold: float

    def answer(self, source: Source) -> CountedStates:
        parts: list[tuple[Array, Array, float]] = []
        source.each(self._count, parts.append)
        codes, weights = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        codes, counts = run_large(lambda: _merge(codes, weights), codes.size)
        seen = counts > 0
        least = min(part[2] for part in parts)
        return CountedStates(codes[seen], counts[seen] / counts.sum(), source.n_features, least)

    def _count(self, block: Block) -> tuple[Array, Array, float]:
        rows = block.dense()
        codes = np.packbits(rows > self.threshold, axis=1)
        return *_merge(codes, np.ones(block.n) if block.weight is None else np.asarray(block.weight)), float(rows.min())


def _merge(codes: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct rows of `codes` in rising order, and the sum of the weights of each.

    ``np.unique`` with an axis would sort rows as records, and hold the interpreter's lock meanwhile. Words of eight
    bytes, the first byte highest, have the same order, and NumPy sorts numbers without the lock.
    """
    n, width = codes.shape
    padded = np.zeros((n, -(-width // 8) * 8), np.uint8)
    padded[:, :width] = codes
    words = padded.view(">u8").astype(np.uint64)
    order = np.lexsort(words.T[::-1])
    ordered = words[order]
    begins = np.ones(n, bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(n, np.int64)
    place[order] = np.cumsum(begins) - 1
    return codes[order[begins]], np.bincount(place, weights, minlength=int(begins.sum()))


@plain
@dataclass(frozen=True, eq=False)
class LikelihoodState:
    """Weights and biases of all units, visible ones first; value; remembered steps; chains; their mean gradient."""

    weights: Array
    biases: Array
    log_likelihood: float
    least: float
    steps: tuple[Array, ...]
    changes: tuple[Array, ...]
    chains: Array
    n_steps: int = 0
    drift: Array | None = None


@dataclass(frozen=True, eq=False)
class _Place:
    """Parameters in one vector, the penalised loss there, and its gradient."""

    parameters: Array
    objective: float
    gradient: Array
    log_likelihood: float


class _Likelihood:
    """Minus the mean log-likelihood plus (alpha / 2) |parameters|^2, as a function of one vector."""

    def __init__(self, data: CountedStates, n_hidden: int, alpha: float) -> None:
        self.data, self.alpha = data, alpha
        self.n_units = data.n_features + n_hidden
        self.pairs = np.triu_indices(self.n_units, 1)

    def join(self, weights: Array, biases: Array) -> Array:
        return np.concatenate([weights[self.pairs], biases])

    def split(self, parameters: Array) -> tuple[Array, Array]:
        n_pairs = len(self.pairs[0])
        weights = np.zeros((self.n_units, self.n_units))
        weights[self.pairs] = parameters[:n_pairs]
        return weights + weights.T, parameters[n_pairs:]

    def evaluate(self, parameters: Array) -> Generator[Any, Any, _Place]:
        return self.measure(parameters)
        yield  # a generator that asks for nothing, as the line search takes it

    def measure(self, parameters: Array) -> _Place:
        weights, biases = self.split(parameters)
        value, means, products = average_clamped(weights, biases, self.data)
        model = sum_spins(weights, biases)
        value -= model.log_partition
        slope = self.join(products - model.products, means - model.means)
        objective = -value + 0.5 * self.alpha * float(parameters @ parameters)
        return _Place(parameters, objective, self.alpha * parameters - slope, value)


def clamp_rows(weights: Array, biases: Array, visible: Array, counts: Array) -> tuple[Array, Array, Array]:
    """Sum over the hidden units with the visible ones held.

    Returns
    -------
    logs : (n,): the log of the sum over hidden states of exp(-E) for each row
    means, products : (N,), (N, N): weighted means of the spins and of their products
    """
    d = visible.shape[1]
    hidden = list_spins(len(biases) - d)
    # Energy among the hidden units alone, for each of their states.
    inside = 0.5 * np.einsum("ij,ij->i", hidden @ weights[d:, d:], hidden) + hidden @ biases[d:]
    logs = visible @ weights[:d, d:] @ hidden.T + inside
    totals = logsumexp(logs, axis=1)
    # P(hidden | row) times the weight of the row.
    shares = np.exp(logs - totals[:, None]) * counts[:, None]
    own = 0.5 * np.einsum("ij,ij->i", visible @ weights[:d, :d], visible) + visible @ biases[:d]
    hidden_means = shares @ hidden
    means = np.concatenate([counts @ visible, hidden_means.sum(axis=0)])
    products = np.empty((len(biases), len(biases)))
    # <s s^T> in blocks: visible with visible, visible with hidden, hidden with hidden.
    products[:d, :d] = (visible * counts[:, None]).T @ visible
    products[:d, d:] = visible.T @ hidden_means
    products[d:, :d] = products[:d, d:].T
    products[d:, d:] = (hidden * shares.sum(axis=0)[:, None]).T @ hidden
    return own + totals, means, products


def average_clamped(weights: Array, biases: Array, data: CountedStates) -> tuple[float, Array, Array]:
    """Return the means over the data of what :func:`clamp_rows` gives."""
    n = len(biases)
    value, means, products = 0.0, np.zeros(n), np.zeros((n, n))
    # The shares of the distinct states sum to one, so the sums over blocks are means over the rows.
    for spins, shares in data.blocks():
        logs, some_means, some_products = clamp_rows(weights, biases, spins, shares)
        value += float(shares @ logs)
        means += some_means
        products += some_products
    return value, means, products


def ascend_exactly(
    request: ReadStates, n_hidden: int, alpha: float, tol: float, max_iter: int, start: LikelihoodState | Array
) -> Solver[LikelihoodState]:
    """Maximise the likelihood by L-BFGS with exact gradients; `start` is a state, or the first parameters."""
    data = yield request
    loss = _Likelihood(data, n_hidden, alpha)
    if isinstance(start, LikelihoodState):
        place = loss.measure(loss.join(start.weights, start.biases))
        steps, changes, n_steps = start.steps, start.changes, start.n_steps
    else:
        place, steps, changes, n_steps = loss.measure(start), (), (), 0
    reported = n_steps
    while True:
        state = LikelihoodState(
            *loss.split(place.parameters), place.log_likelihood, data.least, steps, changes, np.empty((0, 0)), n_steps
        )
        certificate = Certificate.of(
            "gradient norm",
            float(np.abs(place.gradient).max()),
            tol,
            "The largest entry of the gradient of the penalised mean log-likelihood."
            + ("" if n_hidden else " Without hidden units the problem is concave: the maximum is global."),
        )
        # The first place is where a resumed fit stopped: it has been reported already.
        if n_steps > reported:
            reported = n_steps
            yield Step(place.objective, state, certificate, {"log_likelihood": place.log_likelihood})
        if certificate.satisfied or n_steps >= max_iter:
            return Solution(state, certificate.satisfied, certificate)
        reached, steps, changes = yield from step_by_memory(loss, place, steps, changes, _MEMORY)
        if reached is None:
            return Solution(state, False, certificate, "line_search")
        place, n_steps = reached, n_steps + 1


def ascend_by_samples(
    request: ReadStates,
    n_hidden: int,
    settings: tuple[float, float, float, int, int],
    max_iter: int,
    start: LikelihoodState,
    seed: Array,
) -> Solver[LikelihoodState]:
    """Follow the gradient with persistent heat-bath chains in place of the sum over all states.

    `settings` are alpha, the tolerance, the learning rate, the sweeps between two steps, and the threads. The rate
    falls as 1 / (1 + 10 t / max_iter), so that the noise of the chains averages out towards the end.
    """
    alpha, tol, rate, n_sweeps, threads = settings
    data = yield request
    state, certificate = start, Certificate.none("No step was taken.")
    while state.n_steps < max_iter:
        t = state.n_steps
        _, means, products = average_clamped(state.weights, state.biases, data)
        # Chains persist between steps: weights move slowly, so that chains stay near the distribution of the model.
        chains = move_chains(state, n_sweeps, np.random.SeedSequence([*seed.tolist(), t]), threads)
        step = rate / (1.0 + 10.0 * t / max_iter)
        # <s s^T>_data - <s s^T>_chains - alpha W; no unit is coupled to itself.
        slope = products - chains.T @ chains / len(chains) - alpha * state.weights
        np.fill_diagonal(slope, 0.0)
        drift = slope if state.drift is None else state.drift + _NEWEST * (slope - state.drift)
        biases = state.biases + step * (means - chains.mean(axis=0) - alpha * state.biases)
        weights = state.weights + step * slope
        state = LikelihoodState(weights, biases, np.nan, data.least, (), (), chains, t + 1, drift)
        # A product of two spins varies by one at most; the average of steps has the share w / (2 - w) of its variance.
        noise = _CHANCE * math.sqrt(_NEWEST / ((2.0 - _NEWEST) * len(chains)))
        certificate = Certificate.of("gradient norm", float(np.abs(drift).max()), max(tol, noise), _SAMPLED)
        yield Step(float(np.abs(slope).max()), state, certificate)
    return Solution(state, bool(certificate.satisfied), certificate)


def move_chains(state: LikelihoodState, n_sweeps: int, seed: np.random.SeedSequence, threads: int) -> Array:
    """Return the states of the chains some sweeps later."""
    model = make_ising(state.weights, state.biases)
    # The chains go on from where they were (persistent contrastive divergence), so few sweeps are enough.
    simulated = model.simulate(
        1,
        burn_in=n_sweeps,
        n_chains=len(state.chains),
        start=state.chains.astype(np.int8),
        n_jobs=threads,
        random_state=np.random.default_rng(seed),
    )
    return simulated.states[:, -1, :].astype(np.float64)


def make_ising(weights: Array, biases: Array, beta: float = 1.0) -> IsingModel:
    """Return the machine as an Ising model, on all pairs of units."""
    pairs = np.triu_indices(len(biases), 1)
    return IsingModel(np.stack(pairs, axis=1), weights[pairs], biases, beta=beta, n_sites=len(biases))
