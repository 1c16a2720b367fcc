"""Rows as dual coordinate ascent sees them, and the visits it asks for; see ``_native/linear/dual_coordinate.py``."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.linear import dual_coordinate as native
from mercer._objective import LabelLoss, Logistic, Loss, PiecewiseLoss
from mercer._source import Block, Source
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array

# Values that one call of native code reads: some 20 ms.
_CHUNK = 2**24
# Of dense rows, which store no indices.
_NO_INDICES = np.zeros(0, dtype=np.int32)


def list_row_arrays(X: Any) -> tuple[Array, Array, Array]:
    """Return the data, indices and index pointers of CSR rows; of dense rows, all values and two empty arrays."""
    return (X.data, X.indices, X.indptr) if is_sparse_matrix(X) else (X.reshape(-1), _NO_INDICES, _NO_INDICES)


def loss_shape(loss: Loss) -> Array | None:
    """Return the tube, width and limits by which native code knows a loss of one score; None for other losses."""
    if isinstance(loss, PiecewiseLoss):
        return np.array([loss.tube, loss.width, *loss.limits])
    return np.array([0.0, -1.0, -1.0, 0.0]) if isinstance(loss, Logistic) else None


@dataclass(frozen=True, eq=False)
class DualRows:
    """The loss and the targets of the rows, their factors c, squares and lifts (n,), and the shape of the loss.

    ``constant`` is the square of the intercept's column, ``mean`` the row that is taken off all others, and
    ``n_visits`` the number of rows that one call of native code may visit.
    """

    loss: Loss
    y: Array
    factor: Array
    square: Array
    lift: Array
    shape: Array
    constant: float
    mean: Array
    n_visits: int

    @property
    def highest(self) -> float:
        return self.constant + float(self.mean @ self.mean)

    def directions(self, k: int) -> tuple[Array, Array]:
        """Return the sign and the centre (n,) of the losses of score `k`."""
        if not isinstance(self.loss, LabelLoss):
            return np.ones(len(self.y)), np.ascontiguousarray(self.y, dtype=np.float64)
        chosen = self.y == (1 if self.loss.n_scores == 1 else k)
        return np.where(chosen, 1.0, -1.0), np.full(len(self.y), getattr(self.loss, "corner", 0.0))

    def parts(self, combination: Array, intercept: Array) -> Array:
        """Return the sums that visits keep up to date (k, d + 3), from those of g_j x_j and of g_j, and from b."""
        v = combination[:, :-1]
        return np.concatenate([combination, (v @ self.mean)[:, None], intercept[:, None]], axis=1)

    def intercepts(self, parts: Array) -> Array:
        """Return the score of the mean row (k,)."""
        return parts[:, -1] + self.constant * parts[:, -3]

    def parameters(self, parts: Array) -> Array:
        """Return coefficients and intercepts (k, d + 1)."""
        w = parts[:, :-3] - parts[:, -3:-2] * self.mean
        return np.concatenate([w, (self.intercepts(parts) - w @ self.mean)[:, None]], axis=1)


@dataclass(frozen=True, eq=False)
class PrepareDual:
    """A request: the rows of `loss` under an l2 penalty of `strength`, with a column for the intercept.

    ``scale`` is that column's value; None stands for the mean length of the rows less their `mean`, but at least the
    root of `least`.
    """

    loss: Loss
    strength: float
    total_weight: float
    scale: float | None
    mean: Array
    least: float = 0.0

    def answer(self, source: Source) -> DualRows:
        weight = np.ones(source.n_rows) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        length, across = source.map(_Lengths(self.mean)).T
        # |x - r|^2 without centring the rows, which would fill sparse ones; rounding may make it negative.
        square = np.maximum(length - 2.0 * across + self.mean @ self.mean, 0.0)
        spread = float(weight @ square) / self.total_weight
        constant = self.scale**2 if self.scale is not None else max(spread, self.least)
        lift = constant + self.mean @ self.mean - across
        # w = -sum_i c_i u_i x_i, from the optimality condition l2 w = -(1 / S) sum_i s_i u_i x_i.
        factor = weight / (self.total_weight * self.strength)
        shape, rows = loss_shape(self.loss), source.whole()
        # A visit of a sparse row reads and writes in places that no processor foresees.
        width = 4 * rows.nnz // max(1, len(weight)) if is_sparse_matrix(rows) else rows.shape[1]
        n_visits = max(1, _CHUNK // (width + 1))
        return DualRows(self.loss, source.y, factor, square + constant, lift, shape, constant, self.mean, n_visits)


@dataclass(frozen=True, eq=False)
class _Lengths:
    """The squared length of each row, and its product with the mean."""

    mean: Array

    def __call__(self, block: Block) -> Array:
        return np.stack([block.sum_squares(), block.matmul(self.mean)], axis=1)


@dataclass(frozen=True, eq=False)
class _Visit:
    """A request: maximise the dual of score `k` in each coordinate of `order`, in place."""

    rows: DualRows
    k: int
    directions: tuple[Array, Array]
    order: Array
    settled: float
    slopes: Array
    w: Array
    kept: Array

    def answer(self, source: Source) -> float:
        rows, k = self.rows, self.k
        terms = native.Terms(*self.directions, rows.factor, rows.square, rows.lift, rows.shape, rows.highest)
        moved = (self.order, self.settled, self.slopes[k], self.w[k], self.kept)
        return native.ascend(*list_row_arrays(source.whole()), terms, *moved)


def sweep(
    rows: DualRows, k: int, directions: tuple[Array, Array], order: Array, settled: float, slopes: Array, w: Array
) -> Generator[Any, Any, tuple[float, Array]]:
    """Visit rows in `order`, a chunk at a time; the largest violation met, and the rows worth another visit."""
    kept = np.empty(len(order), dtype=np.uint8)
    worst = 0.0
    for first in range(0, len(order), rows.n_visits):
        part = slice(first, first + rows.n_visits)
        worst = max(worst, (yield _Visit(rows, k, directions, order[part], settled, slopes, w, kept[part])))
    return worst, order[kept.view(bool)]
