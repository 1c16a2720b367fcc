"""Contrastive divergence: the gradient of a restricted Boltzmann machine's likelihood, with a sampled model term.

The gradient of the log-likelihood with respect to a weight is <v h>_data - <v h>_model. The data term is exact. The
model term is the mean over Markov chains: chains that begin at the rows themselves and take k Gibbs steps (contrastive
divergence, Hinton 2002), or chains that go on from batch to batch (persistent, Tieleman 2008).
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm, sgemm

from mercer._native.machine import contrast_steps, unit_draws
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.threads import one_blas_thread, run_alongside
from mercer._types import Array

# Weights in a panel of visible units: 2^16 of them take a quarter of a megabyte in float32, which the cache holds.
_PANEL = 2**16
# Hidden units in a panel: fewer would leave the registers of the matrix product half empty.
_ACROSS = 128
# Floating-point operations in a native call: about 12 ms on one core, and 50 ms on one that is four times slower, after
# which Ctrl-C is noticed.
_CALL = 5e8
# Operations that take as long as one unit of one state: a sigmoid, a random number and a comparison, some 8 ns.
_UNIT = 300.0
# Floating-point operations of a batch for each thread: below this a second thread costs more than it saves.
_SHARE = 4e6
_NO_WEIGHT = np.empty(0)
_STATEMENT = (
    "The likelihood of a restricted Boltzmann machine has many maxima and its gradient is sampled; nothing bounds the "
    "distance of the weights to the nearest one."
)
# Values of rows that are read at a time: 32 MiB of float64. Fixed, since the random numbers follow the pieces.
_PIECE = 2**22
# Rows up to which a product with the transposed weights is computed as its transpose.
_FEW = 32
# Standard deviation of the first weights, as in Hinton's guide (2010) and in scikit-learn.
_FIRST_SPREAD = 0.01


class NativeContrast:
    """The arrays of a machine in native code, and its steps.

    Parameters
    ----------
    contrast : Contrast
        The settings; units are binary, and there is no momentum.
    state : RestrictedState
    batch_size : int
    """

    def __init__(self, contrast: Any, state: Any, batch_size: int) -> None:
        d, k = state.weights.shape
        self.shape, self.batch = (d, k), batch_size
        self.dtype = dtype = state.weights.dtype
        n_chains = len(state.chains) if contrast.persistent else 0
        n_states = batch_size + (n_chains or batch_size)
        self.work = 2.0 * d * k * (2 * contrast.n_gibbs - 1) * (n_states - batch_size) + 4.0 * d * k * n_states
        # Small machines spend their time on units, not on products.
        self.per_batch = self.work + _UNIT * (d + k) * contrast.n_gibbs * n_states
        n_panels = -(-d * k // _PANEL)
        n_panels = min(d, n_panels + n_panels % 2) if n_panels > 1 else 1
        across = -(-k // -(-k // _ACROSS))
        self.parameters = (np.empty(d * k, dtype), np.empty(d, dtype), np.empty(k, dtype))
        self.chains = np.zeros((n_states - batch_size) * k, dtype)
        states = (self.chains, np.empty(n_states * d, dtype), np.empty(n_states * k, dtype))
        # Sums of every choice of four states: see listed_rows.py.
        tables = np.empty(-(-n_states // 4) * 16 * k, dtype)
        scratch = (
            np.empty(n_states, dtype),
            np.empty((n_states - batch_size) * d, dtype),
            np.empty(2 * k, dtype),
            tables,
        )
        kind = contrast_steps.DoubleMachine if dtype == np.float64 else contrast_steps.FloatMachine
        self.machine = kind(self.parameters, states, scratch)
        sizes = (d, k, -(-d // n_panels), across, n_chains, contrast.n_gibbs)
        rules = (contrast.learning_rate, 1.0 - contrast.learning_rate * contrast.weight_decay)
        gains = np.empty(-(-k // across) * batch_size)
        listed = np.empty(n_states * d, np.int32)
        counts = np.zeros(n_states * n_panels, np.int32)
        self.arguments = (dtype == np.float64, self.machine, sizes, rules, gains, listed, counts)
        self.persistent = contrast.persistent

    def load(self, state: Any) -> None:
        """Begin at this state."""
        for own, given in zip(self.parameters, (state.weights, state.visible, state.hidden), strict=True):
            own[:] = given.ravel()
        if self.persistent:
            self.chains[:] = state.chains.ravel()

    def read(self, state: Any) -> Any:
        """Return the state with the parameters and chains as they are now."""
        d, k = self.shape
        weights, visible, hidden = (part.copy() for part in self.parameters)
        chains = self.chains.reshape(-1, k).copy() if self.persistent else state.chains
        return replace(state, weights=weights.reshape(d, k), visible=visible, hidden=hidden, chains=chains)

    def learn(self, rows: Array, weight: Array | None, keys: Array, flips: Array, threads: int) -> float:
        """Take a step for each batch of rows; return the sum of their log pseudo-likelihoods before each step."""
        threads = max(1, min(threads, int(self.work / _SHARE)))
        # The control words begin at a cache line of their own.
        control = np.zeros(48 + 8 * threads, np.int64)[8:-8]
        tasks = contrast_steps.ContrastTasks(*self.arguments, control)
        rows = np.ascontiguousarray(rows, dtype=self.dtype)
        self.machine.hold(rows)
        weight = _NO_WEIGHT if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        tasks.hold(weight, keys, flips, bool(((rows == 0) | (rows == 1)).all()))
        # Rows in one native call: whole batches.
        per_call = max(1, int(_CALL / self.per_batch)) * self.batch
        total = 0.0
        with ExitStack() as team:
            if threads > 1:
                tasks.call()
                team.enter_context(run_alongside(tasks.help, tasks.dismiss, threads))
            for first in range(0, len(rows), per_call):
                total += tasks.run(first, min(first + per_call, len(rows)), self.batch)
        # Each row's term is that of one unit out of d, drawn at random.
        return self.shape[0] * total


@plain
@dataclass(frozen=True, eq=False)
class RestrictedState:
    """Parameters and chains of a machine after some epochs.

    ``weights`` is (d, k), ``visible`` and ``hidden`` are the biases, ``chains`` holds the hidden states of the
    persistent chains, ``velocity`` the running mean of gradients with respect to the weights and to both biases (empty
    without momentum). ``seed`` are the words that every draw comes from, and ``epoch`` counts the epochs.
    """

    weights: Array
    visible: Array
    hidden: Array
    chains: Array
    velocity: Array
    seed: Array
    epoch: int = 0

    @classmethod
    def begin(
        cls, seed: np.random.SeedSequence, shape: tuple[int, int], n_chains: int, dtype: Any
    ) -> "RestrictedState":
        """Return small random weights, biases of zero, and chains whose hidden units are all off."""
        words = seed.generate_state(8)
        draw = np.random.default_rng(np.random.SeedSequence(words.tolist()))
        d, k = shape
        weights = draw.normal(0.0, _FIRST_SPREAD, (d, k)).astype(dtype)
        visible, hidden, chains = (np.zeros(size, dtype=dtype) for size in (d, k, (n_chains, k)))
        return cls(weights, visible, hidden, chains, np.zeros(0, dtype=dtype), words)

    def copy(self) -> "RestrictedState":
        """Return a state whose arrays may be written to."""
        names = ("weights", "visible", "hidden", "chains", "velocity")
        return replace(self, **{name: getattr(self, name).copy(order="K") for name in names})

    def is_finite(self) -> bool:
        """Return whether every parameter is a number."""
        return all(bool(np.isfinite(part).all()) for part in (self.weights, self.visible, self.hidden))


@dataclass(frozen=True)
class Contrast:
    """The settings of the gradient and of the steps; parameters as in ``BernoulliRBM``."""

    learning_rate: float
    n_gibbs: int
    persistent: bool
    momentum: float
    weight_decay: float
    gaussian: bool

    @property
    def is_native(self) -> bool:
        """Whether native code takes the steps: of binary units, without momentum."""
        return not self.gaussian and self.momentum == 0.0

    @property
    def n_draws(self) -> int:
        """How many layers are drawn for each batch."""
        return 2 * self.n_gibbs + 1

    def learn_batch(
        self, state: RestrictedState, rows: Array, weight: Array, keys: list[list[int]], flips: Array
    ) -> float:
        """Take one step on a batch, which changes the arrays of `state`; return how well the state before it fits.

        Parameters
        ----------
        state : RestrictedState
        rows : (n, d)
        weight : (n,) or None
        keys : two words for each layer that is drawn
        flips : (n,): the unit of each row that the pseudo-likelihood looks at
        """
        n = len(rows)
        # Persistent chains go on from the last batch; others begin at the hidden units of the rows.
        if self.persistent:
            chains = state.chains
            self.run_chains(state, chains, keys[1:-2])
            visible = self._stack(state, rows, chains, keys[-2])
            # One product for the data and the chains.
            hidden = visible @ state.weights
            fit = self._measure_fit(state, rows, hidden[:n], flips)
        else:
            scores = rows @ state.weights
            fit = self._measure_fit(state, rows, scores, flips)
            chains = np.empty_like(scores)
            unit_draws.draw_units(scores.copy(), state.hidden, chains, *keys[0])
            self.run_chains(state, chains, keys[1:-2])
            visible = self._stack(state, rows, chains, keys[-2])
            hidden = np.concatenate([scores, visible[n:] @ state.weights])
        unit_draws.activate_units(hidden[:n], state.hidden)
        unit_draws.draw_units(hidden[n:], state.hidden, chains, *keys[-1])
        # Signed weights of the data and of the chains; together they sum to zero.
        signs = np.empty(len(hidden), dtype=rows.dtype)
        signs[:n] = 1.0 if weight is None else weight
        total = float(n) if weight is None else float(weight.sum())
        signs[n:] = -total / len(chains) if self.persistent else -signs[:n]
        self._step(state, visible, hidden, signs, n)
        return fit

    def _stack(self, state: RestrictedState, rows: Array, chains: Array, key: list[int]) -> Array:
        """Return the rows with the visible states of the chains below them."""
        stack = np.empty((len(rows) + len(chains), rows.shape[1]), dtype=rows.dtype)
        stack[: len(rows)] = rows
        self._draw_visible(state, chains, key, stack[len(rows) :])
        return stack

    def _measure_fit(self, state: RestrictedState, rows: Array, scores: Array, flips: Array) -> float:
        """Return the sum over rows of the log pseudo-likelihood, or minus the squared errors for Gaussian units."""
        if not self.gaussian:
            return measure_pseudo_likelihood(state, rows, scores, flips)[1]
        chances = scores.copy()
        unit_draws.activate_units(chances, state.hidden)
        return -_measure_errors(rows, chances @ state.weights.T + state.visible)

    def learn_once(self, state: RestrictedState, rows: Array, weight: Array) -> RestrictedState:
        """Return the state after one step on rows as one batch; its arrays are changed in place."""
        d, k = state.weights.shape
        if self.momentum and not state.velocity.size:
            # One vector holds the velocities of the weights (d k), the visible biases (d) and the hidden biases (k).
            state = replace(state, velocity=np.zeros(d * k + d + k, dtype=state.weights.dtype))
        # The seed of a step depends on the epoch alone, so a resumed fit draws the same numbers.
        random = np.random.default_rng(np.random.SeedSequence([*state.seed.tolist(), 2, state.epoch]))
        keys = random.integers(2**32, size=(self.n_draws, 2), dtype=np.uint32).tolist()
        flips = random.integers(d, size=len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            self.learn_batch(state, rows.astype(state.weights.dtype, copy=False), weight, keys, flips)
        return replace(state, epoch=state.epoch + 1)

    def walk(self, state: RestrictedState, rows: Array, n_steps: int, random: np.random.Generator) -> Array:
        """Return visible states some Gibbs steps after `rows`."""
        with one_blas_thread():
            for _ in range(n_steps):
                # Alternate draws of hidden and visible units: Gibbs steps.
                scores = rows @ state.weights
                chains = np.empty_like(scores)
                keys = random.integers(2**32, size=(3, 2), dtype=np.uint32).tolist()
                unit_draws.draw_units(scores, state.hidden, chains, *keys[0])
                rows = np.empty_like(rows)
                self._draw_visible(state, chains, keys[1], rows)
        return rows

    def run_chains(self, state: RestrictedState, chains: Array, keys: list[list[int]]) -> None:
        """Take whole Gibbs steps from hidden states, which are replaced; two keys for each step."""
        for layer in range(0, len(keys), 2):
            visible = np.empty((len(chains), len(state.visible)), dtype=chains.dtype)
            self._draw_visible(state, chains, keys[layer], visible)
            unit_draws.draw_units(visible @ state.weights, state.hidden, chains, *keys[layer + 1])

    def _draw_visible(self, state: RestrictedState, hidden: Array, key: list[int], out: Array) -> None:
        """Draw the visible units given the hidden ones, to `out`."""
        if len(hidden) <= _FEW and hidden.dtype == np.float32:
            # For few rows the BLAS is faster with the weights on the left: 88 against 147 us for 10 x 256 x 784.
            scores = np.ascontiguousarray((state.weights @ hidden.T).T)
        else:
            scores = hidden @ state.weights.T
        if self.gaussian:
            np.add(scores, state.visible, out=out)
            out += _draw_normal(key, scores.shape, scores.dtype)
        else:
            unit_draws.draw_units(scores, state.visible, out, *key)

    def _step(self, state: RestrictedState, visible: Array, hidden: Array, signs: Array, n: int) -> None:
        """Move the parameters along the sum over rows of sign times visible times hidden, divided by `n`."""
        # The gradient of the biases: signed sums over rows and chains.
        by_visible, by_hidden = signs @ visible, signs @ hidden
        hidden *= signs[:, None]
        d, k = state.weights.shape
        rate = self.learning_rate / n
        # Weight decay multiplies the weights by 1 - rate decay at each step.
        shrink = 1.0 - self.learning_rate * self.weight_decay
        multiply = sgemm if state.weights.dtype == np.float32 else dgemm
        if not self.momentum:
            # One pass over the weights: W = shrink W + rate V^T H, as the transposes that the BLAS sees.
            multiply(rate, hidden.T, visible.T, shrink, state.weights.T, trans_b=1, overwrite_c=1)
            state.visible[:] += rate * by_visible
            state.hidden[:] += rate * by_hidden
            return
        velocity = state.velocity[: d * k].reshape(d, k)
        multiply(1.0 / n, hidden.T, visible.T, self.momentum, velocity.T, trans_b=1, overwrite_c=1)
        biases = state.velocity[d * k :]
        biases *= self.momentum
        biases[:d] += by_visible / n
        biases[d:] += by_hidden / n
        state.weights[:] *= shrink
        state.weights[:] += self.learning_rate * velocity
        state.visible[:] += self.learning_rate * biases[:d]
        state.hidden[:] += self.learning_rate * biases[d:]


def measure_pseudo_likelihood(state: RestrictedState, rows: Array, scores: Array, flips: Array) -> tuple[Array, float]:
    """Return d log P(v_j | other units) of each row, with the unit j of ``flips``, and the sum over rows; an unbiased
    estimate of the log pseudo-likelihood if j is uniform.
    """
    terms = np.empty(len(rows))
    scratch = np.empty((3, scores.shape[1]), dtype=scores.dtype)
    biases = (state.visible, state.hidden)
    total = unit_draws.score_flips(rows, scores, *biases, state.weights, flips, scratch, terms)
    return rows.shape[1] * terms, rows.shape[1] * total


def _measure_errors(rows: Array, restored: Array) -> float:
    """Return the sum of squared errors of reconstruction."""
    gap = rows - restored
    return float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))


def _draw_normal(key: list[int], shape: tuple[int, ...], dtype: Any) -> Array:
    return np.random.default_rng(np.random.SeedSequence(key)).standard_normal(shape, dtype=dtype)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A request: rows from `start` on, at most `count`, dense and in memory, with their weights and the number of
    threads that may work on them; None at the end.
    """

    start: int
    count: int

    def answer(self, source: Source) -> tuple[Array, Array, int] | None:
        available = source.available(self.start, self.count)
        if available == 0:
            return None
        return *source.on_rows(self.start, self.start + available, read_rows), source.threads


def read_rows(block: Block) -> tuple[Array, Array]:
    """Return the rows of a block, dense, and their weights."""
    return np.ascontiguousarray(block.dense()), block.weight


def train_epochs(contrast: Contrast, state: RestrictedState, batch_size: int, n_epochs: int) -> Solver[RestrictedState]:
    """Pass over the rows `n_epochs` times, in batches of consecutive rows, with a step after each pass."""
    d, k = state.weights.shape
    if contrast.momentum and not state.velocity.size:
        state = replace(state, velocity=np.zeros(d * k + d + k, dtype=state.weights.dtype))
    # A piece is a whole number of batches, so that batches do not depend on how rows are fetched.
    size = batch_size * max(1, _PIECE // (batch_size * d))
    native = NativeContrast(contrast, state, batch_size) if contrast.is_native else None
    while state.epoch < n_epochs:
        current = state.copy() if native is None else state
        if native is not None:
            native.load(state)
        start, total, seen = 0, 0.0, 0
        while (piece := (yield _Piece(start, size))) is not None:
            total += _learn_piece(contrast, current, piece, batch_size, start, native)
            seen += len(piece[0])
            start += len(piece[0])
        if native is not None:
            current = native.read(state)
        # The weights of the last sound epoch are kept.
        if not current.is_finite():
            return Solution(state, False, Certificate.none(_STATEMENT), "diverged")
        state = replace(current, epoch=state.epoch + 1)
        yield Step(total / max(seen, 1), state, Certificate.none(_STATEMENT))
    return Solution(state, True, Certificate.none(_STATEMENT))


def _learn_piece(
    contrast: Contrast,
    state: RestrictedState,
    piece: tuple[Array, Array, int],
    batch_size: int,
    start: int,
    native: NativeContrast | None,
) -> float:
    """Take a step for each batch of some rows; return the sum of what :meth:`Contrast.learn_batch` measures."""
    rows, weight, threads = piece
    n, d = rows.shape
    rows = rows.astype(state.weights.dtype, copy=False)
    # One stream for each piece of each epoch; 1 separates it from other uses of the seed.
    random = np.random.default_rng(np.random.SeedSequence([*state.seed.tolist(), 1, state.epoch, start]))
    keys = random.integers(2**32, size=(-(-n // batch_size), contrast.n_draws, 2), dtype=np.uint32)
    # The pseudo-likelihood looks at one random unit of each row.
    flips = random.integers(d, size=n)
    if native is not None:
        return native.learn(rows, weight, keys, flips, threads)
    total, words = 0.0, keys.tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        for number, first in enumerate(range(0, n, batch_size)):
            batch = slice(first, min(first + batch_size, n))
            own = None if weight is None else weight[batch]
            if own is not None and not own.any():
                continue
            total += contrast.learn_batch(state, rows[batch], own, words[number], flips[batch])
    return total
