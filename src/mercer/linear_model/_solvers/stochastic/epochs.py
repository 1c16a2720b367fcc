"""Many epochs of stochastic gradient steps in one native call, for tables in the cache of the processor.

An epoch over 150 rows takes 3 microseconds, so that a solver which returns to Python after each spends most of its time
there. Native code runs whole epochs, judges each by the stopping rule and records it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.linear import stochastic
from mercer._solver.row_arrays import list_row_arrays
from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.linear_model._solvers.stochastic.row_order import CACHED, find_words

# Values read in one native call: some 10 ms of work, after which Ctrl-C is noticed.
_CHUNK = 2**21
# Values that the fixed cost of a visit amounts to.
_VISIT = 8
# Epochs of one call: the record of more would be longer than the history of any usual fit.
_MOST = 1000
# Below this an adaptive rate is not lowered further.
LOWEST_RATE = 1e-6
# A loss this many times that of all-zero scores, and rising, diverges.
DIVERGED = 1e6
# The slope at which native steps are clipped; see ``_STEEPEST`` in the native module.
STEEPEST = 1e12
_NOTHING = np.zeros(0)
_EMPTY = np.zeros(0, dtype=np.intp)
# The parts of the state that an epoch changes.
_CHANGED = ("coef", "intercept", "owed", "due", "t", "rate", "best", "stale", "active", "last")


@dataclass(frozen=True, eq=False)
class EpochRun:
    """The state after some epochs, and for each of them the objective and the updates, summed over the scores."""

    state: Any
    objectives: Array
    updates: Array


@dataclass(frozen=True, eq=False)
class Epochs:
    """A request: run up to `limit` epochs in one native call; the answer is None where one alone must be looked at.

    That is where rows are not in the cache, where averages are taken or held-out rows judge, and before an epoch with
    an overflow, with losses that diverge, or with targets out of reach.
    """

    descent: Any
    state: Any
    limit: int

    def answer(self, source: Source) -> EpochRun | None:
        descent = self.descent
        if source.place != "memory" or descent.average or descent.judge is not None:
            return None
        X = source.whole()
        stored = max(1.0, X.nnz / X.shape[0] if is_sparse_matrix(X) else X.shape[1])
        if source.n_rows * stored > CACHED:
            return None
        active = np.flatnonzero(self.state.active).tolist()
        values = len(active) * source.n_rows * (stored + _VISIT)
        limit = max(1, min(self.limit, _MOST, int(_CHUNK / values)))
        arrays = list_row_arrays(X)
        tasks = self._run(source, arrays, active, limit)
        if any(task.rule.odd for task in tasks):
            # The epochs before the odd one are sound: run these alone.
            limit = min(task.done for task in tasks if task.rule.odd)
            if limit == 0:
                return None
            tasks = self._run(source, arrays, active, limit)
        return self._read(tasks, active)

    def _run(self, source: Source, arrays: tuple[Array, Array, Array], active: list[int], limit: int) -> list["_Task"]:
        """Run up to `limit` epochs of every active score; scores are descents of their own, one thread each."""
        rows = np.arange(source.n_rows)
        if source.weight is not None:
            rows = rows[source.weight > 0]
        targets = np.ascontiguousarray(source.y, dtype=np.float64)
        weight = _NOTHING if source.weight is None else np.ascontiguousarray(source.weight, dtype=np.float64)
        tasks = [_Task(self.descent, self.state, k, rows, targets, weight, limit) for k in active]
        run_numbered(lambda number: tasks[number].run(arrays), len(tasks), source.threads)
        return tasks

    def _read(self, tasks: list["_Task"], active: list[int]) -> EpochRun:
        """Return the state after the epochs, with the objective of a score that has ended kept."""
        state, length = self.state, max(task.done for task in tasks)
        objectives, updates = np.zeros(length), np.zeros(length)
        # Sums in the order of the scores, those that ended earlier among them, as an epoch alone would take them.
        by_score = dict(zip(active, tasks, strict=True))
        for k in range(len(state.active)):
            if k not in by_score:
                objectives += state.last[k]
                continue
            task = by_score[k]
            objectives[: task.done] += task.record[: task.done, 0]
            objectives[task.done :] += task.rule.last
            updates[: task.done] += task.record[: task.done, 1]
        changed = {name: getattr(state, name).copy() for name in _CHANGED}
        for k, task in by_score.items():
            score, rule = task.score, task.rule
            changed["coef"][k], changed["owed"][k] = task.v, task.owed
            changed["best"][k], changed["stale"][k], changed["last"][k] = rule.best, rule.stale, rule.last
            changed["active"][k] = not rule.ended
            changed["intercept"][k], changed["due"][k] = score.intercept, score.due
            changed["t"][k], changed["rate"][k] = score.step, score.rate
        return EpochRun(replace(state, **changed, epochs=state.epochs + length), objectives, updates)


class _Task:
    """The descent of one score, as native code keeps it."""

    def __init__(self, descent: Any, state: Any, k: int, rows: Array, y: Array, weight: Array, limit: int) -> None:
        self.v, self.owed, self.done = state.coef[k].copy(), state.owed[k].copy(), 0
        positive = -1.0 if not descent.labels else float(k if len(state.coef) > 1 else 1)
        self.score = stochastic.Score(self.v, self.owed, _NOTHING, state.rate[k], positive)
        self.score.intercept, self.score.step, self.score.due = state.intercept[k], state.t[k], state.due[k]
        self.method = descent.make_method()
        words = find_words(state.seed) if descent.shuffle else None
        # Rates of the schedule "optimal" fall fast enough not to diverge.
        far = np.inf if descent.schedule == 1 else DIVERGED
        limits = (not descent.slope_is_bounded, 0.5 * STEEPEST**2, far)
        stop = (descent.tol, descent.n_iter_no_change, descent.adaptive, LOWEST_RATE)
        self.rule = stochastic.Rule(*stop, limits, words)
        self.rule.best, self.rule.stale, self.rule.last = state.best[k], state.stale[k], state.last[k]
        self.rule.epoch = state.epochs
        self.rows, self.order = rows, rows.copy()
        # Rows are in the cache: none is fetched ahead.
        self.visits = stochastic.Visits(y, weight, self.order, _EMPTY, 0)
        self.pushes, self.record = np.empty(min(descent.batch_size, max(1, len(rows)))), np.empty((limit, 2))

    def run(self, arrays: tuple[Array, Array, Array]) -> None:
        """Run the epochs, in place, and keep their number."""
        own: Any = (self.rows, self.order, self.visits, self.method, self.score, self.rule, self.pushes, self.record)
        self.done = stochastic.run_epochs(*arrays, *own)
