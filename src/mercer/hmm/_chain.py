"""A hidden Markov chain as native code needs it, and what is computed for one piece of a sequence."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.sequence import best_paths, chain_passes, log_passes
from mercer._native.shared import elementary
from mercer._types import Array
from mercer.errors import DataError


class UnderflowError(Exception):
    """The probability of a step left the range of doubles; the sequence must be passed in logarithms."""


def count_lanes(n_states: int) -> int:
    """Return the number of states rounded up to a multiple of eight, the lanes of a register."""
    return -(-int(n_states) // 8) * 8


def pad_lanes(table: Array, fill: float = 0.0) -> Array:
    """Return `table` with its last axis padded to a whole number of registers."""
    table = np.asarray(table, dtype=np.float64)
    lanes = count_lanes(table.shape[-1])
    if lanes == table.shape[-1]:
        return np.ascontiguousarray(table)
    out = np.full((*table.shape[:-1], lanes), fill)
    out[..., : table.shape[-1]] = table
    return out


class Tables:
    """Work space for one piece: five tables with a row per step and a lane per state. Threads take turns with them."""

    def __init__(self, rows: int, lanes: int) -> None:
        self.rows = rows
        self.scores, self.predicted, self.smoothed, self.ratio = np.empty((4, rows, lanes))
        self.filtered = np.empty((rows + 1, lanes))
        self.tops, self.scale = np.empty((2, rows))


@dataclass(frozen=True, eq=False)
class Chain:
    """Probabilities of first states and of transitions, and the emissions of the states."""

    initial: Array
    transition: Array
    emission: Any

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.initial)

    @cached_property
    def lanes(self) -> int:
        """The number of states rounded up to whole registers."""
        return count_lanes(self.n_states)

    @cached_property
    def first(self) -> Array:
        """Probabilities of first states, (lanes,)."""
        return pad_lanes(self.initial)

    @cached_property
    def forward(self) -> Array:
        """Transitions from each state, (states, lanes)."""
        return pad_lanes(self.transition)

    @cached_property
    def backward(self) -> Array:
        """Transitions into each state, (states, lanes)."""
        return pad_lanes(self.transition.T)

    @cached_property
    def logs(self) -> tuple[Array, Array, Array]:
        """Logarithms of `first`, `forward` and `backward`; lanes beyond the states hold minus infinity."""
        with np.errstate(divide="ignore"):
            return np.log(self.first), np.log(self.forward), np.log(self.backward)

    def score(self, X: Array, tables: Tables) -> Array:
        """Write the log densities of rows to the tables and return them."""
        scores = tables.scores[: len(X)]
        self.emission.scores(X, scores)
        return scores

    def filter(self, X: Array, starts: Array, entering: Array, tables: Tables) -> None:
        """Filter the states of some rows; `entering` are the probabilities of the state before them, or None."""
        n, scores = len(X), self.score(X, tables)
        chain_passes.exponentiate(scores, scores.reshape(-1), tables.tops[:n])
        tables.filtered[0] = self.guess if entering is None else entering
        done = chain_passes.pass_forward(
            scores, starts, self.first, self.forward, tables.filtered, tables.predicted, tables.scale
        )
        if done < n:
            raise UnderflowError

    @cached_property
    def guess(self) -> Array:
        """Equal probabilities of all states, where a warm-up begins."""
        return pad_lanes(np.full(self.n_states, 1.0 / self.n_states))

    def log_likelihoods(self, tables: Tables, start: int, stop: int) -> Array:
        """Return the log density of each of the filtered rows `start` to `stop`, given those before it."""
        logs = np.empty(stop - start)
        elementary.log(tables.scale[start:stop], logs)
        logs += tables.tops[start:stop]
        return logs

    def smooth(self, start: int, stop: int, starts: Array, message: Array, tables: Tables) -> Array:
        """Smooth the filtered rows `start` to `stop`; return the message for the step before them."""
        message = np.ones(self.lanes) if message is None else message.copy()
        chain_passes.pass_backward(
            tables.filtered[start : stop + 1],
            tables.predicted[start:stop],
            starts,
            self.backward,
            message,
            tables.smoothed[start:stop],
            tables.ratio[start:stop],
        )
        return message

    def count_transitions(self, tables: Tables, start: int, stop: int) -> Array:
        """Return the expected numbers of transitions into the smoothed rows `start` to `stop`, (states, states)."""
        sums = np.zeros((self.lanes, self.lanes))
        chain_passes.add_transitions(tables.filtered[start:stop], tables.ratio[start:stop], sums)
        k = self.n_states
        return sums[:k, :k] * self.transition

    def multiply(self, X: Array, tables: Tables) -> Array:
        """Return the (states, states) matrix by which rows multiply filtered probabilities, up to a factor."""
        scores = self.score(X, tables)
        chain_passes.exponentiate(scores, scores.reshape(-1), tables.tops[: len(X)])
        product = pad_lanes(np.eye(self.n_states))
        chain_passes.multiply_chain(scores, self.forward, product, np.empty_like(product))
        return product[:, : self.n_states]

    def multiply_best(self, X: Array, tables: Tables) -> Array:
        """Return the best scores from each state before some rows to each last state, (states, states)."""
        with np.errstate(divide="ignore"):
            product = pad_lanes(np.log(np.eye(self.n_states)), -np.inf)
        best_paths.multiply_best(self.score(X, tables), self.logs[1], product, np.empty_like(product))
        return product[:, : self.n_states]

    def score_paths(self, X: Array, starts: Array, entering: Array, tables: Tables) -> None:
        """Write the scores of the best paths to the ``filtered`` table, and what was subtracted to ``tops``."""
        tables.filtered[0] = 0.0 if entering is None else entering
        first, forward, _ = self.logs
        best_paths.score_paths(self.score(X, tables), starts, first, forward, tables.filtered, tables.tops)

    def trace_path(self, start: int, stop: int, starts: Array, last: int, tables: Tables) -> tuple[Array, int]:
        """Return the best path through rows `start` to `stop` that ends in `last`, and the state before it."""
        path = np.empty(stop - start, dtype=np.intp)
        before = best_paths.trace_path(tables.filtered[start : stop + 1], starts, self.logs[2], last, path)
        return path, before

    def smooth_in_logs(self, X: Array, subject: str, sequence: int) -> tuple[Array, Array, Array, Array]:
        """Return filtered and smoothed probabilities (n, lanes), expected transitions and the log density of steps."""
        k, n = self.n_states, len(X)
        scores = np.empty((n, self.lanes))
        self.emission.scores(X, scores)
        scores, tops = take_tops(np.ascontiguousarray(scores[:, :k]))
        first, forward, backward = (np.ascontiguousarray(table[..., :k]) for table in self.logs)
        table, terms, counts = np.empty((n, k)), np.empty(k), np.zeros((k, k))
        # log p(steps up to t, state); its logsumexp over states is the log-likelihood up to t.
        log_passes.log_forward(scores, first, backward, terms, table)
        totals = np.empty(n)
        elementary.logsumexp(table, totals)
        if not np.isfinite(totals[-1]):
            # The first step at which no state is possible.
            step = int(np.argmin(totals > -np.inf))
            raise ImpossibleSequenceError(subject, sequence, step)
        filtered = pad_lanes(np.exp(table - totals[:, None]))
        log_passes.log_backward(scores, forward, terms, table, np.empty(k), counts)
        if not are_probabilities(table):
            path = _find_best_path(scores, first, forward)
            table = np.eye(k)[path]
            counts = np.bincount(path[:-1] * k + path[1:], minlength=k * k).reshape(k, k).astype(np.float64)
        # Differences of cumulative log-likelihoods are the log densities of single steps.
        return filtered, pad_lanes(table), counts, np.diff(totals, prepend=0.0) + tops


# How far the sum of a step's probabilities may be from one. Beyond it the rounding of log densities, which grows with
# their size, has become a factor of probabilities: log densities of -1e16 are rounded by 1, those of -1e38 by 1e22.
_ROUNDING = 1e-6


def take_tops(scores: Array) -> tuple[Array, Array]:
    """Return log densities less the largest of each step, and these: sums over steps then stay small and exact."""
    tops = scores.max(axis=1)
    tops[~np.isfinite(tops)] = 0.0
    return scores - tops[:, None], tops


def are_probabilities(table: Array) -> bool:
    """Return whether each row sums to one.

    Where they do not, states differ by log densities so large that their rounding decides. All probability is then on
    the best path: another one is less likely by a factor that no double can hold.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.all(np.abs(table.sum(axis=1) - 1.0) <= _ROUNDING))


def _find_best_path(scores: Array, first: Array, forward: Array) -> Array:
    """Return the states of the best path, from log densities and log probabilities (Viterbi)."""
    n, k = scores.shape
    best, sources = first + scores[0], np.zeros((n, k), dtype=np.intp)
    for t in range(1, n):
        sums = best[:, None] + forward
        sources[t] = sums.argmax(axis=0)
        best = sums[sources[t], np.arange(k)] + scores[t]
        # Only differences decide; without the common part the next sums are rounded less.
        best = best - best.max()
    path = np.empty(n, dtype=np.intp)
    path[-1] = best.argmax()
    for t in range(n - 1, 0, -1):
        path[t - 1] = sources[t, path[t]]
    return path


class ImpossibleSequenceError(DataError):
    """A sequence has probability zero under the model."""

    def __init__(self, subject: str, sequence: int, step: int) -> None:
        super().__init__(
            f"{subject}: sequence {sequence} has probability zero: no state that can be reached at step {step} can "
            f"emit what was observed there. Correct the step, mark it as missing (NaN), or allow more by a prior above "
            f"1 or transitions without zeros."
        )
        self.sequence, self.step = sequence, step
