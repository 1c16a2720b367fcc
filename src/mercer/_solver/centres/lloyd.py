"""Lloyd's algorithm with restarts: assign each row to its nearest centre, move each centre to the mean of its rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._native.space import assignment
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.assignment import AssignmentSums, Farthest, Memory
from mercer._solver.centres.centres import Centres
from mercer._solver.restarts import Restarts, keep_best_run
from mercer._types import Array

# Runs whose inertias differ by less than this relative amount ended in the same optimum: rounding, which differs
# between dense and sparse rows, must not decide between them.
_EQUAL = 1e-9
_STATEMENT = (
    "Sum of the squared moves that the centres would make in one more Lloyd iteration: zero at a local optimum of the "
    "inertia, where every row has its nearest centre and every centre the mean of its rows. It bounds nothing globally."
)


@plain
@dataclass(frozen=True, eq=False)
class LloydRun:
    """One run of Lloyd's algorithm.

    ``inertia`` is that of the centres before the last iteration, and of ``centres`` themselves once the run is
    complete; ``shift`` is what one more iteration would move a completed run's centres by. ``stopped`` says that the
    run has met its stopping rule.
    """

    iteration: int
    centres: Array
    inertia: float = np.inf
    shift: float = np.inf
    stopped: bool = False

    def improves_on(self, other: "LloydRun") -> bool:
        """Return whether the inertia is lower than that of `other` by more than rounding."""
        return self.inertia < other.inertia * (1.0 - _EQUAL)


def certify_fixed_point(shift: float, tolerance: float) -> Certificate:
    """Return the certificate of k-means: the sum of squared moves of the centres in one more iteration."""
    return Certificate.of("fixed point", shift, tolerance, _STATEMENT)


@dataclass(frozen=True)
class Lloyd:
    """The solver and its settings.

    Parameters
    ----------
    start : callable
        From the seed of a restart to a generator that returns its first centres.
    moments : callable
        A generator that returns mean and variance of the columns; `tol` is scaled by the mean variance.
    n_init, max_iter, tol :
        As in ``KMeans``.
    memory : Memory
        Labels and bounds that one pass leaves for the next.
    seed : SeedSequence
        The root of the seeds of all restarts.
    """

    start: Callable[[np.random.SeedSequence], Any]
    moments: Callable[[], Any]
    n_init: int
    max_iter: int
    tol: float
    memory: Memory
    seed: np.random.SeedSequence

    def solve(self, state: Restarts | None = None) -> Solver:
        """Run all restarts, from the beginning or from `state`."""
        tolerance = 0.0
        if self.tol > 0:
            _, variance = yield from self.moments()
            tolerance = self.tol * float(np.mean(variance))
        words = self.seed.generate_state(8)
        complete = partial(descend, memory=self.memory, max_iter=self.max_iter, tolerance=tolerance)
        state = yield from keep_best_run(self._begin, complete, self.n_init, words, state)
        return Solution(state, state.best.stopped, certify_fixed_point(state.best.shift, tolerance))

    def _begin(self, seed: np.random.SeedSequence, restart: int) -> Any:
        """Return a run at its first centres."""
        return LloydRun(0, (yield from self.start(seed)))


def descend(run: LloydRun, memory: Memory, max_iter: int, tolerance: float) -> Any:
    """Iterate one run until the squared moves sum to at most `tolerance`; return it with its own inertia."""
    # The sums of a pass with the centres of the run, where one has been made.
    sums: AssignmentSums | None = None
    while True:
        if sums is None:
            sums = memory.learn((yield memory.assignment(run.centres)))
        if run.stopped or run.iteration >= max_iter:
            # If squared distances overflow, the inertia is infinite and nothing can be certified.
            known = sums.cost < np.inf
            rest = measure_shift(sums.means(run.centres), run.centres) if known else np.inf
            # The next move may be larger than the last one: then the run goes on from the sums of this pass.
            if rest <= tolerance or not known or run.iteration >= max_iter:
                return replace(run, inertia=sums.cost, shift=rest, stopped=run.stopped and known)
        centres = yield from move_centres(run.centres, sums)
        shift = measure_shift(centres, run.centres)
        cost = sums.cost
        run = LloydRun(run.iteration + 1, centres, cost, np.inf, shift <= tolerance)
        yield Step(cost, run, certify_fixed_point(shift, tolerance), {"shift": math.sqrt(shift)})
        # If the centres have not moved, the last sums belong to them and no further pass is needed.
        sums = sums if shift == 0 else None


def measure_shift(after: Array, before: Array) -> float:
    """Return the sum over centres of the squared distance from `before` to `after`."""
    if after.dtype != before.dtype or not (after.flags.c_contiguous and before.flags.c_contiguous):
        after, before = (np.ascontiguousarray(centres, dtype=np.float64) for centres in (after, before))
    return assignment.measure_moves(after, before)


def move_centres(centres: Array, sums: AssignmentSums) -> Any:
    """Move each centre to the mean of its rows, and a centre without rows to the row farthest from its own centre.

    Several empty centres get the farthest rows in turn, the first centre the farthest. A row that is moved leaves its
    old cluster, whose mean is computed without it.
    """
    if sums.leaves_none_empty:
        return sums.means(centres)
    empty = np.flatnonzero(sums.weights <= 0)
    farthest = yield Farthest(Centres(centres), len(empty))
    # A row at distance zero of its centre would make a second centre at the same place.
    count = int(np.count_nonzero(farthest.distances > 0))
    if count == 0:
        return sums.means(centres)
    rows, weight = farthest.rows[:count].astype(np.float64), farthest.weights[:count]
    weights, totals = sums.weights.copy(), sums.sums.copy()
    for rank in range(count):
        old, new = farthest.labels[rank], empty[rank]
        # A cluster that held this row alone is empty now, although rounding may leave it a weight.
        left = weights[old] - weight[rank]
        weights[old] = left if left > 1e-12 * weights[old] else 0.0
        totals[old] -= weight[rank] * rows[rank]
        weights[new], totals[new] = weight[rank], weight[rank] * rows[rank]
    return AssignmentSums(weights, totals, sums.costs).means(centres)
