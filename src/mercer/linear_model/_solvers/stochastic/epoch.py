"""One epoch of stochastic gradient steps over a source: which rows come when, and the native calls."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native.linear import stochastic
from mercer._source import Block, Source
from mercer._source.threads import run_numbered
from mercer.linear_model._solvers.stochastic.row_order import RowOrder, draw_order, given_order

__all__ = ["Epoch", "EpochSums"]

Array = Any
# Numbers touched in one native call: some milliseconds of work, after which Ctrl-C is heard and threads meet.
_CHUNK = 2**20
_NOTHING = np.zeros(0)
# Places in the native code's carry.
_INTERCEPT, _SCALE, _STEP, _DUE, _MASS, _AVERAGE, _LOSSES, _AT_ZERO, _UPDATES, _WEIGHT = range(10)


@dataclass(frozen=True, eq=False)
class EpochSums:
    """Of each score: the mean loss met on the way, that of all-zero scores, and the number of updates."""

    loss: Array
    loss_at_zero: Array
    updates: Array


@dataclass(frozen=True, eq=False)
class Epoch:
    """A request: visit every row once for every active score; the answer is the next state and the sums."""

    descent: Any
    state: Any

    def answer(self, source: Source) -> tuple[Any, EpochSums]:
        walk = _Walk(self.descent, self.state, source.threads)
        if source.place == "memory":
            walk.visit(source.whole(), source.y, source.weight, self._order(source), (self.state.epochs,))
        else:
            source.each(_itself, walk.visit_block)
        return walk.finished()

    def _order(self, source: Source) -> Array:
        """The rows that take part; those of weight zero are absent."""
        rows = np.arange(source.n_rows) if self.descent.training is None else self.descent.training
        return rows if source.weight is None else rows[source.weight[rows] > 0]


class _Walk:
    """The state of all scores on the way through an epoch, in the units of the native code."""

    def __init__(self, descent: Any, state: Any, threads: int) -> None:
        self.descent, self.state, self.threads = descent, state, threads
        k = len(state.t)
        self.v, self.owed = state.coef.copy(), state.owed.copy()
        # mass starts at zero in every epoch, so that the sum of the earlier steps is minus the lag.
        self.lag = -self._averaged(state.t)[:, None] * state.average_coef
        self.carry = np.zeros((k, 10))
        self.carry[:, _INTERCEPT], self.carry[:, _SCALE], self.carry[:, _STEP] = state.intercept, 1.0, state.t
        self.carry[:, _DUE], self.carry[:, _AVERAGE] = state.due, state.average_intercept

    def _averaged(self, t: Array) -> Array:
        """How many steps are in the averages before step t."""
        return np.maximum(0.0, t - self.descent.average)

    def visit_block(self, block: Block) -> None:
        rows = np.arange(block.n) if block.weight is None else np.flatnonzero(block.weight > 0)
        self.visit(block.X, block.y, block.weight, rows, (self.state.epochs, block.start))

    def visit(self, X: Any, y: Array, weight: Array | None, rows: Array, key: tuple[int, ...]) -> None:
        """Visit some rows in an order drawn from the seed and a key."""
        if len(rows) == 0:
            return
        y = np.ascontiguousarray(y, dtype=np.float64)
        weight = _NOTHING if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        stored = max(1.0, X.nnz / X.shape[0] if issparse(X) else X.shape[1])
        if self.descent.shuffle:
            random = np.random.default_rng(np.random.SeedSequence(self.state.seed, spawn_key=key))
            order = draw_order(rows, stored, random)
        else:
            order = given_order(rows)
        batch = self.descent.batch_size
        length = max(1, int(_CHUNK / stored) // batch) * batch
        active = np.flatnonzero(self.state.active).tolist()
        for first in range(0, len(rows), length):
            visit = _Visit(X, y, weight, order, first, min(first + length, len(rows)))
            run_numbered(lambda i, visit=visit: self._steps(visit, active[i]), len(active), self.threads)

    def _steps(self, visit: "_Visit", score: int) -> None:
        descent, k = self.descent, len(self.v)
        positive = -1.0 if not descent.labels else float(score if k > 1 else 1)
        visit(
            positive,
            descent.loss,
            descent.shape,
            descent.schedule,
            self.state.rate[score],
            descent.power,
            descent.origin,
            descent.fit_intercept,
            descent.l1,
            descent.l2,
            float(descent.average),
            self.v[score],
            self.owed[score],
            self.lag[score],
            self.carry[score],
            np.empty(min(descent.batch_size, visit.end - visit.begin)),
        )

    def finished(self) -> tuple[Any, EpochSums]:
        """The state after the epoch: scales multiplied in, penalties that are due paid, averages taken."""
        carry, scale = self.carry, self.carry[:, _SCALE]
        with np.errstate(all="ignore"):
            if self.owed.shape[1]:
                self._pay()
            mass, count = carry[:, _MASS], self._averaged(carry[:, _STEP])
            total = mass[:, None] * self.v - self.lag if self.lag.shape[1] else self.lag
            state = replace(
                self.state,
                coef=scale[:, None] * self.v,
                intercept=carry[:, _INTERCEPT].copy(),
                average_coef=np.where(count > 0, 1.0 / np.maximum(count, 1.0), 0.0)[:, None] * total,
                average_intercept=carry[:, _AVERAGE].copy(),
                owed=scale[:, None] * self.owed,
                due=scale * carry[:, _DUE],
                t=carry[:, _STEP].copy(),
                epochs=self.state.epochs + 1,
            )
            weight = np.where(carry[:, _WEIGHT] > 0, carry[:, _WEIGHT], 1.0)
            sums = EpochSums(carry[:, _LOSSES] / weight, carry[:, _AT_ZERO] / weight, carry[:, _UPDATES].copy())
        return state, sums

    def _pay(self) -> None:
        """Move the coefficients of columns that were not met lately towards zero by what is due."""
        due = self.carry[:, _DUE][:, None]
        down, up = np.maximum(self.v - (due + self.owed), 0.0), np.minimum(self.v + (due - self.owed), 0.0)
        change = np.where(self.v > 0, down, np.where(self.v < 0, up, self.v)) - self.v
        self.v += change
        self.owed += change
        if self.lag.shape[1]:
            self.lag += self.carry[:, _MASS][:, None] * change


@dataclass(frozen=True, eq=False)
class _Visit:
    """Some consecutive visits, for the native code that suits the rows."""

    X: Any
    y: Array
    weight: Array
    order: RowOrder
    begin: int
    end: int

    def __call__(self, *arguments: Any) -> None:
        X, order, rest = self.X, self.order, (self.begin, self.end, *arguments)
        if issparse(X):
            stochastic.visit_sparse(X.data, X.indices, X.indptr, self.y, self.weight, order.visits, *rest)
        else:
            stochastic.visit_dense(X, self.y, self.weight, order.visits, order.fetches, order.distance, *rest)


def _itself(block: Block) -> Block:
    return block
