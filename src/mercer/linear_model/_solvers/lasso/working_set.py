"""Lasso and elastic net on wide rows: coordinate descent on the few columns that matter, checked against all others.

Columns enter the working set when their slope x_j . r breaks its bound l1 the most (Johnson and Guestrin, 2015;
Massias, Gramfort and Salmon, 2018), and stay. Descent runs on their Gram matrix, so that a sweep does not touch the
rows; beyond a size at which that matrix costs more than it saves, on the columns themselves. Whether a column outside
could break its bound is asked of the rows only where `References`, products of earlier passes, cannot tell.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from mercer._native.linear import descent as native
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.linear_model._solvers.lasso.column_store import ColumnStore
from mercer.linear_model._solvers.lasso.gram_descent import MEMORY, DescentProblem, Orders, Penalty

Asking = Generator[Any, Any, None]
# Columns that may enter at once even if fewer are in use.
_FIRST = 64
# Columns with slopes above this share of their bound enter with those that violate it: on a path they come next.
# On 2000 x 10000 rows, 100 penalties: 164 rounds at 0.98, 125 at 0.9, 115 at 0.8 with a quarter more columns.
_NEAR = 0.9
# If more than one column in this number is in doubt, a pass over all rows is cheaper than gathering those columns.
_DOUBTFUL = 64
# Sweeps over the moving columns between two visits to the others, without a Gram matrix.
_ROUND = 10
# Residuals remembered as references. On 2000 x 10000 rows four screen as well as 24; a few more serve returns to
# earlier penalties.
_REMEMBERED = 8
# Rounding in the products of a pass, as a share of |x_j| |v|.
_ROUNDING = 1e-13


class References:
    """Bounds x_j . r for all columns j of rows that are not looked at.

    A residual r is sum_k a_k v_k + d with d orthogonal to the references v_k, and small where r lies near them, as
    solutions along a piecewise linear path do. Hence |x_j . r| <= |sum_k a_k x_j . v_k| + |x_j| |d|: the sphere test of
    gap-safe screening (Ndiaye and others, 2017) about a point of their span.

    Parameters
    ----------
    vectors : ndarray of shape (k, n)
        The references.
    products : ndarray of shape (k, d)
        Their products with all columns.
    norms : ndarray of shape (d,)
        The norms of the columns.
    """

    def __init__(self, vectors: Array, products: Array, norms: Array) -> None:
        self.vectors = vectors
        self.products = products
        self.norms = norms
        self.lengths = np.linalg.norm(vectors, axis=1)
        self.orthogonal, self.triangle = np.linalg.qr(vectors.T)
        # A reference that depends on the others, or a zero target, is left out: any coefficients give a valid bound.
        pivots = np.abs(np.diagonal(self.triangle))
        largest = float(pivots.max(initial=0.0))
        self.triangle[np.diag_indices_from(self.triangle)] += np.where(pivots <= 1e-14 * largest, largest or 1.0, 0.0)

    def join_reference(self, vector: Array, product: Array) -> "References":
        """Return the references with one more, and without the oldest if there would be too many."""
        vectors = np.concatenate([self.vectors[1 - _REMEMBERED :], vector[None]])
        return References(vectors, np.concatenate([self.products[1 - _REMEMBERED :], product[None]]), self.norms)

    def estimate(self, residual: Array) -> tuple[Array, Array]:
        """Estimate the products of every column with a residual; return them and bounds on their errors."""
        coefficients = np.linalg.solve(self.triangle, self.orthogonal.T @ residual)
        distance = float(np.linalg.norm(residual - coefficients @ self.vectors))
        rounding = _ROUNDING * float(np.abs(coefficients) @ self.lengths)
        return coefficients @ self.products, self.norms * (distance + rounding)


class WorkingSet(DescentProblem):
    """One problem on columns in memory, whose working set and references serve every penalty it is solved for.

    Parameters
    ----------
    store : ColumnStore
        The columns; none taken yet.
    moments : MomentSums
        Of the rows and the targets, with the diagonal of the scatter.
    target : int
        The number of the target.
    y : ndarray of shape (n,)
        The target, centred and weighted as the store's vectors.
    orders : Orders
        In which order coordinates are visited.
    subject : str
        Who asks, for the memory forecast.
    """

    method = "working sets"
    # Sweeps in the first round of a single fit.
    pace = 50

    def __init__(self, store: ColumnStore, moments: Any, target: int, y: Array, orders: Orders, subject: str) -> None:
        super().__init__(moments, target, orders)
        self.store, self.y, self.subject = store, y, subject
        self.norms = np.sqrt(moments.scatter)
        self.references = References(y[None], self.linear[None], self.norms)
        self.columns, self.batches = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self.outside = np.ones(len(self.linear), dtype=bool)
        self.G = np.empty((0, 0))
        self.residual = y
        self.broken: Array = None
        self.n_passes = 0

    @property
    def coef(self) -> Array:
        """All coefficients."""
        coef = np.zeros(len(self.linear))
        coef[self.columns] = self.w
        return coef

    def start(self, coef: Array) -> Asking:
        """Go to given coefficients."""
        missing = np.flatnonzero((coef != 0) & self.outside)
        if missing.size:
            yield from self._add_columns(missing)
        self.w = np.ascontiguousarray(coef[self.columns])

    def record(self) -> tuple[Array, ...]:
        """Return the arrays, besides the coefficients, that a resumed run needs."""
        return self.columns, self.batches, self.references.vectors, self.references.products

    def restore(self, columns: Array, batches: Array, vectors: Array, products: Array) -> Asking:
        """Go to an earlier record; columns enter in the batches they came in, for the same rounding of products."""
        for batch in np.split(columns, np.cumsum(batches)[:-1]):
            yield from self._add_columns(batch)
        self.references = References(vectors, products, self.norms)

    def objective(self, penalty: Penalty) -> float:
        """Return the objective at the end of the last round."""
        return 0.5 * float(self.residual @ self.residual) + penalty.value(self.w)

    def round(self, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> Asking:
        """Sweep at most `max_sweeps` times over the working set, compute the gap, and add the worst columns."""
        self.sweeps, self.settled = 0, self.w.size == 0
        if max_sweeps and self.w.size:
            if self.has_gram:
                self.q, G = self._slopes(), self.G[: len(self.w)]
                self._descend_gram(G, self.linear[self.columns], penalty, goal, small, max_sweeps)
            else:
                self._descend_columns(penalty, goal, small, max_sweeps)
        yield from self._compute_gap(penalty)
        # Without sweeps the gap alone decides.
        if max_sweeps == 0:
            self.settled = self.gap <= goal
        # A column outside breaks its bound: it must come in before the problem may end.
        elif self.gap > goal and self.broken is not None and (self.broken > penalty.l1).any():
            self.settled = False
            yield from self._add_violating(penalty.l1)

    @property
    def has_gram(self) -> bool:
        """Whether descent runs on the Gram matrix of the working set.

        A visit to a coordinate that moves costs its length in k columns, and twice n numbers without it.
        """
        return len(self.columns) <= 2 * len(self.y)

    def _add_columns(self, indices: Array) -> Asking:
        """Add columns to the working set."""
        first, size = len(self.columns), len(self.columns) + len(indices)
        self.columns, self.batches = np.append(self.columns, indices), np.append(self.batches, len(indices))
        purpose, cure = f"a working set of {size} columns", "raise alpha, for fewer coefficients"
        require_memory(self.subject, self.store.bytes_for(size) + 8 * size * size * self.has_gram, purpose, cure)
        self.outside[indices] = False
        self.w = np.concatenate([self.w, np.zeros(len(indices))])
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

    def _descend_columns(self, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> None:
        squares = self.norms[self.columns] ** 2
        self.residual = self.y - self.store.combine(self.w)
        while self.sweeps < max_sweeps and not self.settled:
            slopes = self.store.products(self.residual)
            # A coefficient at zero whose slope is within the bound will not move in this round.
            live = np.flatnonzero((self.w != 0) | (penalty.orient(slopes) > penalty.l1))
            moved, iterates = 0.0, [self.w.copy()]
            for _ in range(min(_ROUND, max_sweeps - self.sweeps)):
                order = live[self.orders.draw(len(live), 1)[0]]
                moved, self.residual = self.store.descend(order, squares, penalty, self.w, self.residual)
                self.sweeps += 1
                iterates.append(self.w.copy())
                if len(iterates) > MEMORY:
                    self._extrapolate(iterates, penalty)
                    iterates = [self.w.copy()]
                # The largest move of a sweep is small beside the largest coefficient.
                if moved <= small * np.abs(self.w).max(initial=0.0):
                    break
            slopes, squared = self.store.products(self.residual), float(self.residual @ self.residual)
            gap = native.duality_gap(self.w, slopes, squared, *penalty, 0.0, 0.0)
            still = moved <= small * np.abs(self.w).max(initial=0.0)
            self.settled = moved == 0.0 or (gap <= goal and bool(still))

    def _extrapolate(self, iterates: list[Array], penalty: Penalty) -> None:
        """Move to Anderson's extrapolation of the iterates, if it lies lower."""
        stacked, weights = np.stack(iterates), np.empty(len(iterates) - 1)
        if not native.find_weights(stacked, weights, np.empty((len(weights), len(weights)))):
            return
        w = weights @ stacked[1:]
        if penalty.positive and w.min() < 0:
            return
        residual = self.y - self.store.combine(w)
        if 0.5 * float(residual @ residual) + penalty.value(w) < self.objective(penalty):
            self.w, self.residual = w, residual

    def _slopes(self) -> Array:
        """Return the slopes of the working set at its coefficients."""
        if not self.has_gram:
            return self.store.products(self.residual)
        used = np.flatnonzero(self.w)
        return self.linear[self.columns] - self.w[used] @ self.G[used, : len(self.w)]

    def _compute_gap(self, penalty: Penalty) -> Asking:
        """Compute the duality gap over all columns; slopes are computed only where the references do not bound them."""
        self.residual = self.y - self.store.combine(self.w) if self.w.size else self.y
        self.q = self._slopes() if self.w.size else self.w
        # The dual point is the residual scaled until no slope exceeds l1.
        highest = max(penalty.l1, float(penalty.orient(self.q - penalty.l2 * self.w).max(initial=0.0)))
        # Slopes of earlier residuals bound those of this one by Cauchy and Schwarz.
        known, error = self.references.estimate(self.residual)
        bound = penalty.orient(known) + error
        doubtful = np.flatnonzero(self.outside & (bound > highest))
        self.broken = None
        if doubtful.size:
            yield from self._compute_doubtful(doubtful, bound, penalty)
        beyond = 0.0 if self.broken is None else float(self.broken.max(initial=0.0))
        # Without an l2 part nothing may exceed the bound, and squares of slopes would overflow long before slopes do.
        excess = float(np.sum(np.maximum(bound[self.outside] - penalty.l1, 0.0) ** 2)) if penalty.l2 else 0.0
        squared = float(self.residual @ self.residual)
        self.gap = native.duality_gap(self.w, self.q, squared, *penalty, beyond, excess)

    def _compute_doubtful(self, doubtful: Array, bound: Array, penalty: Penalty) -> Asking:
        """Compute the true slopes of the columns in doubt, or of all, which makes the residual a reference."""
        # For a few doubtful columns, their products alone; for many, all of them, which then serve as a reference.
        if len(doubtful) <= max(_FIRST, len(bound) // _DOUBTFUL):
            slopes = yield from self.store.some_products(doubtful, self.residual)
            bound[doubtful] = penalty.orient(slopes)
            self.broken = np.zeros(len(bound))
            self.broken[doubtful] = bound[doubtful]
            return
        slopes = yield from self.store.all_products(self.residual)
        self.n_passes += 1
        self.references = self.references.join_reference(self.residual, slopes)
        bound[:] = penalty.orient(slopes)
        self.broken = np.where(self.outside, bound, 0.0)

    def _add_violating(self, l1: float) -> Asking:
        """Add the columns with the largest violations, and some near their bound: at most twice those in use."""
        near = np.flatnonzero(self.broken > _NEAR * l1)
        room = max(_FIRST, 2 * int(np.count_nonzero(self.w)))
        yield from self._add_columns(np.sort(near[np.argsort(-self.broken[near], kind="stable")[:room]]))
