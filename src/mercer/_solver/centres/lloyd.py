"""Lloyd's algorithm with restarts: assign each row to its nearest centre, move each centre to the mean of its rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.assignment import AssignmentSums, Farthest, Memory
from mercer._solver.centres.centres import Centres

__all__ = ["Lloyd", "LloydState", "child_seed", "fixed_point", "moved", "squared_shift"]

Array = Any
# Runs that end in one optimum differ by rounding, and that differs between dense and sparse rows: the first is kept.
_EQUAL = 1e-9
_STATEMENT = (
    "Sum of the squared moves that the centres would make in one more Lloyd iteration: zero at a local optimum of the "
    "inertia, where every row has its nearest centre and every centre the mean of its rows. It bounds nothing globally."
)


@plain
@dataclass(frozen=True)
class LloydState:
    """A run under way, and the best of those completed.

    ``stopped`` says that the run under way has met its stopping rule; ``kept_*`` describe the best completed run, with
    ``kept_restart`` -1 while there is none.
    """

    seed: Array
    restart: int
    iteration: int
    centres: Array
    inertia: float
    stopped: bool
    kept_restart: int
    kept_iteration: int
    kept_centres: Array
    kept_inertia: float
    kept_shift: float
    kept_stopped: bool

    def best(self) -> tuple[Array, int, int]:
        """Centres, restart and iterations of the best run so far, completed or not."""
        if self.kept_restart < 0 or self.improves():
            return self.centres, self.restart, self.iteration
        return self.kept_centres, self.kept_restart, self.kept_iteration

    def improves(self) -> bool:
        """Whether the run under way is better than the best completed one, by more than rounding."""
        return self.inertia < self.kept_inertia * (1.0 - _EQUAL)


def fixed_point(shift: float, tolerance: float) -> Certificate:
    """The certificate of k-means: how far one more iteration would move the centres."""
    return Certificate.of("fixed point", shift, tolerance, _STATEMENT)


@dataclass(frozen=True)
class Lloyd:
    """The solver and what it is told.

    Parameters
    ----------
    start : callable
        From the seed of a restart to a generator that returns its first centres.
    moments : callable
        A generator that returns mean and variance of the columns; `tol` is scaled by the mean variance.
    n_init, max_iter, tol :
        As in ``KMeans``.
    memory : Memory
        What passes leave for one another.
    seed : SeedSequence
        The root of all restarts. A state carries it, so that a resumed fit draws what the first one would have drawn.
    """

    start: Callable[[np.random.SeedSequence], Any]
    moments: Callable[[], Any]
    n_init: int
    max_iter: int
    tol: float
    memory: Memory
    seed: np.random.SeedSequence

    def solve(self, state: LloydState | None = None) -> Solver:
        """Run all restarts, from the beginning or from a state."""
        tolerance = 0.0
        if self.tol > 0:
            _, variance = yield from self.moments()
            tolerance = self.tol * float(np.mean(variance))
        if state is None:
            seed = self.seed.generate_state(8)
            centres = yield from self.start(child_seed(seed, 0))
            state = LloydState(seed, 0, 0, centres, np.inf, False, -1, 0, centres, np.inf, np.inf, False)
        while True:
            state, sums = yield from self._descend(state, tolerance)
            state = yield from self._keep_better(state, sums)
            if state.restart + 1 >= self.n_init:
                break
            centres = yield from self.start(child_seed(state.seed, state.restart + 1))
            state = replace(
                state, restart=state.restart + 1, iteration=0, centres=centres, inertia=np.inf, stopped=False
            )
        certificate = fixed_point(state.kept_shift, tolerance)
        return Solution(state, state.kept_stopped, certificate)

    def _descend(self, state: LloydState, tolerance: float) -> Any:
        """Iterate one run until the centres move by no more than the tolerance; return the sums of its end if known."""
        shift, sums = np.inf, None
        while not state.stopped and state.iteration < self.max_iter:
            sums = self.memory.learn((yield self.memory.assignment(state.centres)))
            centres = yield from moved(state.centres, sums)
            shift = squared_shift(centres, state.centres)
            state = replace(
                state,
                iteration=state.iteration + 1,
                centres=centres,
                inertia=sums.cost,
                stopped=shift <= tolerance,
            )
            extra = {"restart": float(state.restart), "shift": float(np.sqrt(shift))}
            yield Step(sums.cost, state, fixed_point(shift, tolerance), extra)
        return state, sums if shift == 0 else None

    def _keep_better(self, state: LloydState, sums: AssignmentSums | None) -> Any:
        """Measure the centres that the run ended with, and keep them if they are the best so far."""
        if sums is None:
            sums = self.memory.learn((yield self.memory.assignment(state.centres)))
        state = replace(state, inertia=sums.cost)
        if state.improves():
            state = replace(
                state,
                kept_restart=state.restart,
                kept_iteration=state.iteration,
                kept_centres=state.centres,
                kept_inertia=sums.cost,
                kept_shift=squared_shift(sums.means(state.centres), state.centres),
                kept_stopped=state.stopped,
            )
        return state


def child_seed(seed: Array, number: int) -> np.random.SeedSequence:
    """The seed of one restart or one batch."""
    return np.random.SeedSequence(seed.tolist(), spawn_key=(number,))


def squared_shift(after: Array, before: Array) -> float:
    step = after.astype(np.float64) - before
    return float(np.einsum("ij,ij->", step, step))


def moved(centres: Array, sums: AssignmentSums) -> Any:
    """Each centre at the mean of its rows; a centre without rows at the row that lies farthest from its own.

    Several such centres take the farthest rows in turn, the first centre the farthest. A row so taken leaves its old
    cluster, whose mean is taken without it.
    """
    empty = np.flatnonzero(sums.weights <= 0)
    if len(empty) == 0:
        return sums.means(centres)
    farthest = yield Farthest(Centres(centres), len(empty))
    count = int(np.count_nonzero(farthest.distances > 0))
    if count == 0:
        return sums.means(centres)
    rows, weight = farthest.rows[:count].astype(np.float64), farthest.weights[:count]
    weights, totals = sums.weights.copy(), sums.sums.copy()
    for number in range(count):
        old, new = farthest.labels[number], empty[number]
        # What rounding leaves of a cluster that held this row alone is no cluster.
        left = weights[old] - weight[number]
        weights[old] = left if left > 1e-12 * weights[old] else 0.0
        totals[old] -= weight[number] * rows[number]
        weights[new], totals[new] = weight[number], weight[number] * rows[number]
    return AssignmentSums(weights, totals, sums.costs).means(centres)
