"""Lasso and elastic net of several targets that share their columns: a move takes all coefficients of a column.

The problem is |Y - X W|^2 / 2 + l1 sum_j |W_j|_2 + l2 |W|^2 / 2 with W_j the coefficients of column j, on the Gram
matrix G = X^T X of all columns, or of a working set of those that matter; a pass over the rows then checks the others.
Targets are divided by their size first, so that no square overflows before the sums of the rows do.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.linear import descent, task_descent
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.linear_model._solvers.lasso.column_store import ColumnStore, DenseColumns
from mercer.linear_model._solvers.lasso.gram_descent import MEMORY, Orders, Penalty

Asking = Generator[Any, Any, None]
# What native code gives for a gap where sweeps ended without one.
_NO_GAP = 1e308
# Columns that may enter a working set at once even if fewer are in use.
_FIRST = 64


@dataclass
class TaskProblem:
    """All targets, for any penalty: the coefficients ``W`` (targets, columns in use) and the gap of the last round."""

    moments: Any
    orders: Orders

    def __post_init__(self) -> None:
        squares = float(self.moments.y_scatter.sum())
        # A power of two: dividing by it and back changes no bit.
        self.unit = 2.0 ** round(0.5 * math.log2(squares)) if squares > 0 else 1.0
        self.squares = squares / self.unit**2
        self.linear = np.ascontiguousarray(self.moments.cross.T / self.unit)
        self.W = self.Q = np.empty((len(self.linear), 0))
        self.gap, self.sweeps, self.settled = np.inf, 0, False

    @property
    def coef(self) -> Array:
        """All coefficients, (columns, targets)."""
        raise NotImplementedError  # each problem below defines its own

    def objective(self, penalty: Penalty) -> float:
        """Return the objective at the end of the last round."""
        sizes = np.sqrt(np.sum(self.W**2, axis=0))
        value = penalty.l1 / self.unit * float(sizes.sum()) + 0.5 * penalty.l2 * float(sizes @ sizes)
        return self.unit**2 * (0.5 * self._compute_left() + value)

    def _compute_left(self) -> float:
        """Return |Y - X W|^2."""
        return max(0.0, self.squares - float(np.vdot(self.W, self._own_linear() + self.Q)))

    def _own_linear(self) -> Array:
        """Return the products of the targets with the columns in use."""
        return self.linear

    def _descend(self, G: Array, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> None:
        """Sweep over ``W`` until the gap is at most `goal` and moves are `small`; after each few sweeps extrapolate."""
        linear, (k, m) = self._own_linear(), self.W.shape
        l1, l2 = penalty.l1 / self.unit, penalty.l2
        record, scratch = np.empty((MEMORY + 1, k, m)), np.empty(k + 1)
        while self.sweeps < max_sweeps and not self.settled:
            chunk = min(max_sweeps - self.sweeps, MEMORY)
            taken = task_descent.gram_descent(
                G, linear, self.squares, (l1, l2), self.orders.draw(m, chunk), goal / self.unit**2, small,
                self.W, self.Q, record[: chunk + 1], scratch,
            )  # fmt: skip
            self.sweeps += taken
            # The gap, where the sweeps ended because it was reached.
            self.settled = bool(scratch[k] < _NO_GAP)
            self.gap = self.unit**2 * float(scratch[k]) if self.settled else np.inf
            if self.settled or chunk < MEMORY:
                continue
            weights = np.empty(MEMORY)
            if descent.find_weights(record.reshape(MEMORY + 1, k * m), weights, np.empty((MEMORY, MEMORY))):
                self._extrapolate(G, np.tensordot(weights, record[1:], 1), (l1, l2))

    def _extrapolate(self, G: Array, W: Array, penalty: tuple[float, float]) -> None:
        """Move to a point if the objective is lower there."""
        Q = self._own_linear() - W @ G[: W.shape[1], : W.shape[1]]
        if self._compute_value(W, Q, penalty) < self._compute_value(self.W, self.Q, penalty):
            self.W, self.Q = W, Q

    def _compute_value(self, W: Array, Q: Array, penalty: tuple[float, float]) -> float:
        """Return the objective up to |Y|^2 / 2."""
        sizes = np.sqrt(np.sum(W**2, axis=0))
        smooth = 0.5 * penalty[1] * float(sizes @ sizes) - 0.5 * float(np.vdot(W, self._own_linear() + Q))
        return penalty[0] * float(sizes.sum()) + smooth


class TaskDescent(TaskProblem):
    """All targets on the Gram matrix of all columns, which one pass over the rows has summed, wherever they are."""

    method = "gram"
    # Sweeps in the first round of a single fit.
    pace = MEMORY

    def __post_init__(self) -> None:
        super().__post_init__()
        self.G = np.ascontiguousarray(self.moments.scatter)
        self.W, self.Q = np.zeros(self.linear.shape), self.linear.copy()

    @property
    def coef(self) -> Array:
        """All coefficients, (columns, targets)."""
        return self.unit * self.W.T

    def start(self, coef: Array) -> Asking:
        """Go to given coefficients."""
        self.W = np.ascontiguousarray(coef.T / self.unit)
        return
        yield

    def record(self) -> tuple[Array, ...]:
        """Return the arrays, besides the coefficients, that a resumed run needs: none."""
        return ()

    def restore(self) -> Asking:
        """Go to an earlier record."""
        return
        yield

    def round(self, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> Asking:
        """Sweep at most `max_sweeps` times, and compute the gap reached."""
        # Taken afresh, so that a fit resumed here goes on with the same bits.
        self.Q = self.linear - self.W @ self.G
        self.sweeps, self.settled = 0, False
        self._descend(self.G, penalty, goal, small, max_sweeps)
        if not self.settled:
            arguments = self.W, self.Q, self._compute_left(), penalty.l1 / self.unit, penalty.l2
            self.gap = self.unit**2 * task_descent.duality_gap(*arguments)
        self.settled |= max_sweeps == 0 and self.gap <= goal
        return
        yield


@dataclass
class TaskWorkingSet(TaskProblem):
    """All targets on columns in memory: descent on the Gram matrix of those that matter.

    A pass over the rows checks the others: columns whose slopes exceed their bound the most enter, and stay.
    """

    store: ColumnStore
    targets: Array
    subject: str

    method = "working sets"
    # Sweeps in the first round of a single fit.
    pace = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        self.columns, self.batches = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self.G = np.empty((0, 0))
        self.residual = self.squares
        self.slopes = self.linear

    @property
    def coef(self) -> Array:
        """All coefficients, (columns, targets)."""
        coef = np.zeros(self.linear.shape[::-1])
        coef[self.columns] = self.unit * self.W.T
        return coef

    def start(self, coef: Array) -> Asking:
        """Go to given coefficients."""
        missing = np.setdiff1d(np.flatnonzero(coef.any(axis=1)), self.columns)
        if missing.size:
            yield from self._add_columns(missing)
        self.W = np.ascontiguousarray(coef[self.columns].T / self.unit)

    def record(self) -> tuple[Array, ...]:
        """Return the arrays, besides the coefficients, that a resumed run needs."""
        return self.columns, self.batches

    def restore(self, columns: Array, batches: Array) -> Asking:
        """Go to an earlier record; columns enter in the batches they came in, for the same rounding of products."""
        for batch in np.split(columns, np.cumsum(batches)[:-1]):
            yield from self._add_columns(batch)

    def _own_linear(self) -> Array:
        return np.ascontiguousarray(self.linear[:, self.columns])

    def _compute_left(self) -> float:
        return self.residual

    def round(self, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> Asking:
        """Sweep at most `max_sweeps` times over the working set, compute the gap, and add the worst columns."""
        m, self.sweeps, self.settled = len(self.columns), 0, len(self.columns) == 0
        if max_sweeps and m and self.has_gram:
            self.Q = self._own_linear() - self.W @ self.G[:m, :m]
            self._descend(self.G[:m, :m].copy(), penalty, goal, small, max_sweeps)
        elif max_sweeps and m:
            self._descend_columns(penalty, goal, small, max_sweeps)
        residual = self._find_residual()
        self.residual = float(np.vdot(residual, residual))
        self.slopes = yield from self.store.products_of_all(residual)
        W = np.ascontiguousarray(self.coef.T / self.unit)
        arguments = W, self.slopes, self.residual, penalty.l1 / self.unit, penalty.l2
        self.gap = self.unit**2 * task_descent.duality_gap(*arguments)
        if max_sweeps == 0:
            self.settled = self.gap <= goal
        elif self.gap > goal:
            yield from self._add_violating(penalty.l1 / self.unit)

    def _find_residual(self) -> Array:
        """Return Y - X W, (targets, rows)."""
        fitted = [self.store.combine(row) for row in self.W] if self.W.size else 0.0
        return self.targets / self.unit - fitted

    @property
    def has_gram(self) -> bool:
        """Whether descent runs on the Gram matrix of the working set; of dense rows not where its columns are many."""
        few = len(self.columns) <= 2 * self.targets.shape[1]
        return few or not isinstance(self.store, DenseColumns)

    def _descend_columns(self, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> None:
        """Sweep over the columns of the working set until the gap among them is at most `goal`."""
        table = self.store.table[: len(self.columns)]
        squares = np.ascontiguousarray(self.moments.scatter[self.columns])
        l1, l2, change = penalty.l1 / self.unit, penalty.l2, np.empty(len(self.W))
        residual = self._find_residual()
        while self.sweeps < max_sweeps and not self.settled:
            order = self.orders.draw(self.W.shape[1], 1)[0]
            moved = task_descent.column_descent(table, squares, l1, l2, order, self.W, residual, change)
            self.sweeps += 1
            if moved <= small * float(np.sqrt(np.max(np.sum(self.W**2, axis=0)))):
                slopes, left = np.ascontiguousarray(residual @ table.T), float(np.vdot(residual, residual))
                gap = self.unit**2 * task_descent.duality_gap(self.W, slopes, left, l1, l2)
                self.settled = gap <= goal or moved == 0.0

    def _add_violating(self, l1: float) -> Asking:
        """Add the columns with the largest slopes beyond their bound: at most twice those in use."""
        sizes = np.sqrt(np.sum(self.slopes**2, axis=0))
        sizes[self.columns] = 0.0
        broken = np.flatnonzero(sizes > l1)
        if broken.size:
            # A column outside breaks its bound: it must come in before the problem may end.
            self.settled = False
            room = max(_FIRST, 2 * int(np.count_nonzero(self.W.any(axis=0))))
            yield from self._add_columns(np.sort(broken[np.argsort(-sizes[broken], kind="stable")[:room]]))

    def _add_columns(self, indices: Array) -> Asking:
        """Add columns to the working set."""
        first, size = len(self.columns), len(self.columns) + len(indices)
        self.columns, self.batches = np.append(self.columns, indices), np.append(self.batches, len(indices))
        purpose, cure = f"a working set of {size} columns", "raise alpha, for fewer coefficients"
        require_memory(self.subject, self.store.bytes_for(size) + 16 * size * size * self.has_gram, purpose, cure)
        self.W = np.concatenate([self.W, np.zeros((len(self.W), len(indices)))], axis=1)
        yield from self.store.take(indices)
        if not self.has_gram:
            self.G = np.empty((0, 0))
            return
        # The Gram matrix grows by half, so that copies cost no more than a constant factor.
        if size > len(self.G):
            wider = np.empty((max(size, 3 * len(self.G) // 2),) * 2)
            wider[:first, :first] = self.G[:first, :first]
            self.G = wider
        yield from self.store.extend_gram(self.G, first)
