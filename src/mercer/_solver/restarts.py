"""Run a solver from several starts and keep the best run.

A method that ends in a local optimum is started `n_init` times. Each start has a seed of its own, derived from one root
and the index of the start, so that a resumed fit draws what the first one would have drawn.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from mercer._plain import plain
from mercer._solver.relay import relay
from mercer._solver.step import Step
from mercer._types import Array
from mercer.errors import CheckpointError


class Run(Protocol):
    """The state of one run: plain data, complete enough to continue it."""

    def improves_on(self, other: Any) -> bool:
        """Return whether this run is better than `other` by more than rounding; equal runs leave the first in place."""


@plain
@dataclass(frozen=True, eq=False)
class Restarts:
    """The run under way and the best completed one.

    ``restart`` is the index of the run under way, ``best_restart`` that of ``best``; it is -1, and ``best`` None, while
    no run is complete. ``seed`` holds the words of the root seed.
    """

    seed: Array
    restart: int
    run: Any
    best_restart: int = -1
    best: Any = None

    def choose(self) -> tuple[Any, int]:
        """Return the best run so far, completed or under way, and its index."""
        if self.best is None or self.run.improves_on(self.best):
            return self.run, self.restart
        return self.best, self.best_restart


def child_seed(seed: Array, index: int) -> np.random.SeedSequence:
    """Return the seed of the restart or batch `index` of a root whose words are `seed`."""
    return np.random.SeedSequence(seed.tolist(), spawn_key=(index,))


def keep_best_run(
    begin: Callable[[np.random.SeedSequence, int], Generator[Any, Any, Any]],
    complete: Callable[[Any], Generator[Any, Any, Any]],
    n_init: int,
    seed: Array,
    state: Restarts | None = None,
) -> Generator[Any, Any, Restarts]:
    """Complete `n_init` runs one after the other; return the state after the last.

    Parameters
    ----------
    begin : callable
        From the seed of a run and its index to a generator that returns the first :class:`Run`.
    complete : callable
        From a run to a generator that continues it to its end: it yields requests, and steps whose state is the run,
        and returns the run.
    n_init : int
        The number of runs.
    seed : ndarray
        The words of the root seed.
    state : Restarts or None
        Where to resume.
    """
    if state is None:
        state = Restarts(seed, 0, (yield from begin(child_seed(seed, 0), 0)))
    elif state.best is not None and _list_shapes(state.best) != _list_shapes(state.run):
        raise CheckpointError(
            "Checkpoint: all runs of a fit must have arrays of the same shapes; delete the file to start afresh."
        )
    while True:
        run = yield from relay(complete(state.run), partial(_add_restart, state))
        state = replace(state, run=run)
        # Strictly better: among equal runs the first is kept.
        if state.best is None or run.improves_on(state.best):
            state = replace(state, best_restart=state.restart, best=run)
        following = state.restart + 1
        if following >= n_init:
            return state
        # The seed depends on the root and the index of the run alone.
        run = yield from begin(child_seed(state.seed, following), following)
        state = replace(state, restart=following, run=run)


def _list_shapes(run: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays that a run holds."""
    return [value.shape for value in vars(run).values() if isinstance(value, np.ndarray)]


def _add_restart(state: Restarts, step: Step) -> Step:
    """Return a step of one run with the state of all runs and the index of its restart."""
    # Spelled out: `replace` takes three times as long, which shows in runs over few rows.
    joined = Restarts(state.seed, state.restart, step.state, state.best_restart, state.best)
    return Step(step.objective, joined, step.certificate, {"restart": float(state.restart)} | step.extra)


def keep_history_of(restart: int, history: dict[str, Array]) -> dict[str, Array]:
    """Return the part of `history` that belongs to one restart, its steps numbered from zero."""
    if len(history["step"]) == 0:
        return history
    if "restart" not in history:
        raise CheckpointError(
            "Checkpoint: a fit with restarts must have the column 'restart' in its history; delete the file."
        )
    chosen = history["restart"] == restart
    return {name: column[chosen] for name, column in history.items()} | {"step": np.arange(np.count_nonzero(chosen))}
