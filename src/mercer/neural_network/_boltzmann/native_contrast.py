"""Contrastive divergence of binary machines by native code: all steps of a run of batches in one call."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._native.machine import contrast_steps
from mercer._source.threads import run_alongside
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
