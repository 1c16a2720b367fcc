"""Lasso and elastic net on wide rows: coordinate descent on the few columns that matter, checked against all others.

Columns enter the working set when their slope x_j . r breaks its bound l1 the most (Johnson and Guestrin, 2015;
Massias, Gramfort and Salmon, 2018), and stay. Descent runs on their Gram matrix, so that a sweep does not touch the
rows; beyond a size at which that matrix costs more than it saves, on the columns themselves. Whether a column outside
could break its bound is asked of the rows only where earlier passes cannot tell; see
:mod:`mercer.linear_model._solvers.lasso.references`.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from mercer._native.linear import descent as native
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.linear_model._solvers.lasso.column_store import ColumnStore
from mercer.linear_model._solvers.lasso.gram_descent import descend_gram
from mercer.linear_model._solvers.lasso.price import Price
from mercer.linear_model._solvers.lasso.references import References
from mercer.linear_model._solvers.lasso.sweep_order import Orders

Asking = Generator[Any, Any, None]
# From this many columns on, a Gram matrix may cost more than it saves, unless the rows exceed half the columns.
_GRAM_SIZE = 1000
# Columns that may enter at once even if fewer are in use.
_FIRST = 64
# Columns with slopes above this share of their bound enter with those that violate it: on a path they come next.
# On 2000 x 10000 rows, 100 penalties: 164 rounds at 0.98, 125 at 0.9, 115 at 0.8 with a quarter more columns.
_NEAR = 0.9
# If more than one column in this number is in doubt, a pass over all rows is cheaper than gathering those columns.
_DOUBTFUL = 64
# Sweeps over the moving columns between two visits to the others, without a Gram matrix.
_ROUND = 10
# Iterates that are extrapolated from, as in Bertrand and Massias (2021).
_MEMORY = 5


class WorkingSet:
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
        self.store, self.y, self.orders, self.subject = store, y, orders, subject
        self.cross = np.ascontiguousarray(moments.cross[:, target])
        self.norms = np.sqrt(moments.scatter)
        self.squares = float(moments.y_scatter[target])
        self.references = References(y[None], self.cross[None], self.norms)
        self.columns, self.batches = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self.outside = np.ones(len(self.cross), dtype=bool)
        self.w = self.q = np.empty(0)
        self.G = np.empty((0, 0))
        self.residual = y
        self.broken: Array = None
        self.gap, self.sweeps, self.settled, self.n_passes = np.inf, 0, False, 0

    @property
    def coef(self) -> Array:
        """All coefficients."""
        coef = np.zeros(len(self.cross))
        coef[self.columns] = self.w
        return coef

    def start(self, coef: Array) -> Asking:
        """Go to given coefficients."""
        missing = np.flatnonzero((coef != 0) & self.outside)
        if missing.size:
            yield from self._take(missing)
        self.w = np.ascontiguousarray(coef[self.columns])

    def record(self) -> tuple[Array, ...]:
        """Return the arrays, besides the coefficients, that a resumed run needs."""
        return self.columns, self.batches, self.references.vectors, self.references.products

    def restore(self, columns: Array, batches: Array, vectors: Array, products: Array) -> Asking:
        """Go to an earlier record; columns enter in the batches they came in, for the same rounding of products."""
        for batch in np.split(columns, np.cumsum(batches)[:-1]):
            yield from self._take(batch)
        self.references = References(vectors, products, self.norms)

    def objective(self, price: Price) -> float:
        """Return the objective at the last judged point."""
        return 0.5 * float(self.residual @ self.residual) + price.of(self.w)

    def round(self, price: Price, goal: float, small: float, most: int) -> Asking:
        """Sweep at most `most` times over the working set, compute the gap, and add the worst columns."""
        self.sweeps, self.settled = 0, self.w.size == 0
        if most and self.w.size:
            descend = self._descend_gram if self.has_gram else self._descend_columns
            descend(price, goal, small, most)
        yield from self._judge(price)
        # Without sweeps the gap alone decides.
        if most == 0:
            self.settled = self.gap <= goal
        # A column outside breaks its bound: it must come in before the problem may end.
        elif self.gap > goal and self.broken is not None and (self.broken > price.l1).any():
            self.settled = False
            yield from self._admit(price.l1)

    @property
    def has_gram(self) -> bool:
        """Whether descent runs on the Gram matrix of the working set."""
        return len(self.columns) <= max(_GRAM_SIZE, 2 * len(self.y))

    def _take(self, indices: Array) -> Asking:
        """Let columns into the working set."""
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

    def _descend_gram(self, price: Price, goal: float, small: float, most: int) -> None:
        self.q = self._slopes()
        descend_gram(self, self.G[: len(self.w)], self.cross[self.columns], price, goal, small, most)

    def _descend_columns(self, price: Price, goal: float, small: float, most: int) -> None:
        squares = self.norms[self.columns] ** 2
        self.residual = self.y - self.store.combine(self.w)
        while self.sweeps < most and not self.settled:
            slopes = self.store.products(self.residual)
            # A coefficient at zero whose slope is within the bound will not move in this round.
            live = np.flatnonzero((self.w != 0) | (price.upward(slopes) > price.l1))
            moved, record = 0.0, [self.w.copy()]
            for _ in range(min(_ROUND, most - self.sweeps)):
                order = live[self.orders.draw(len(live), 1)[0]]
                moved, self.residual = self.store.descend(order, squares, price, self.w, self.residual)
                self.sweeps += 1
                record.append(self.w.copy())
                if len(record) > _MEMORY:
                    self._leap(record, price)
                    record = [self.w.copy()]
                # The largest move of a sweep is small beside the largest coefficient.
                if moved <= small * np.abs(self.w).max(initial=0.0):
                    break
            slopes, squared = self.store.products(self.residual), float(self.residual @ self.residual)
            gap = native.duality_gap(self.w, slopes, squared, *price, 0.0, 0.0)
            still = moved <= small * np.abs(self.w).max(initial=0.0)
            self.settled = moved == 0.0 or (gap <= goal and bool(still))

    def _leap(self, record: list[Array], price: Price) -> None:
        """Move to Anderson's extrapolation of the iterates, if it lies lower."""
        iterates, share = np.stack(record), np.empty(len(record) - 1)
        if not native.mixture(iterates, share, np.empty((len(share), len(share)))):
            return
        w = share @ iterates[1:]
        if price.positive and w.min() < 0:
            return
        residual = self.y - self.store.combine(w)
        if 0.5 * float(residual @ residual) + price.of(w) < self.objective(price):
            self.w, self.residual = w, residual

    def _slopes(self) -> Array:
        """Return the slopes of the working set at its coefficients."""
        if not self.has_gram:
            return self.store.products(self.residual)
        used = np.flatnonzero(self.w)
        return self.cross[self.columns] - self.w[used] @ self.G[used, : len(self.w)]

    def _judge(self, price: Price) -> Asking:
        """Compute the duality gap over all columns; slopes are computed only where the references do not bound them."""
        self.residual = self.y - self.store.combine(self.w) if self.w.size else self.y
        self.q = self._slopes() if self.w.size else self.w
        # The dual point is the residual scaled until no slope exceeds l1.
        highest = max(price.l1, float(price.upward(self.q - price.l2 * self.w).max(initial=0.0)))
        # Slopes of earlier residuals bound those of this one by Cauchy and Schwarz.
        known, error = self.references.estimate(self.residual)
        bound = price.upward(known) + error
        doubtful = np.flatnonzero(self.outside & (bound > highest))
        self.broken = None
        if doubtful.size:
            yield from self._ask(doubtful, bound, price)
        beyond = 0.0 if self.broken is None else float(self.broken.max(initial=0.0))
        # Without an l2 part nothing may exceed the bound, and squares of slopes would overflow long before slopes do.
        excess = float(np.sum(np.maximum(bound[self.outside] - price.l1, 0.0) ** 2)) if price.l2 else 0.0
        squared = float(self.residual @ self.residual)
        self.gap = native.duality_gap(self.w, self.q, squared, *price, beyond, excess)

    def _ask(self, doubtful: Array, bound: Array, price: Price) -> Asking:
        """Compute the true slopes of the columns in doubt, or of all, which makes the residual a reference."""
        # For a few doubtful columns, their products alone; for many, all of them, which then serve as a reference.
        if len(doubtful) <= max(_FIRST, len(bound) // _DOUBTFUL):
            slopes = yield from self.store.some_products(doubtful, self.residual)
            bound[doubtful] = price.upward(slopes)
            self.broken = np.zeros(len(bound))
            self.broken[doubtful] = bound[doubtful]
            return
        slopes = yield from self.store.all_products(self.residual)
        self.n_passes += 1
        self.references = self.references.join_reference(self.residual, slopes)
        bound[:] = price.upward(slopes)
        self.broken = np.where(self.outside, bound, 0.0)

    def _admit(self, l1: float) -> Asking:
        """Add the columns with the largest violations, and some near their bound: at most twice those in use."""
        near = np.flatnonzero(self.broken > _NEAR * l1)
        room = max(_FIRST, 2 * int(np.count_nonzero(self.w)))
        yield from self._take(np.sort(near[np.argsort(-self.broken[near], kind="stable")[:room]]))
