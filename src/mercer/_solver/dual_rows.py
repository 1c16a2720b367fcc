"""Rows as coordinate ascent in the dual sees them, and the visits it asks for; see ``_native/dual_coordinate.py``."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native import dual_coordinate as native
from mercer._objective import LabelLoss, Logistic, Loss, PiecewiseLoss
from mercer._source import Block, Source

__all__ = ["DualRows", "PrepareDual", "loss_shape", "sweep"]

Array = Any
# Numbers that one call of native code reads: some 20 ms.
_CHUNK = 2**24


def loss_shape(loss: Loss) -> Array | None:
    """What native code knows a loss of one score by: tube, width and limits; None if it knows no such loss."""
    if isinstance(loss, PiecewiseLoss):
        return np.array([loss.tube, loss.width, *loss.limits])
    return np.array([0.0, -1.0, -1.0, 0.0]) if isinstance(loss, Logistic) else None


@dataclass(frozen=True, eq=False)
class DualRows:
    """Sign and centre (k, n) of each row's loss, its factor c and its square (n,), and the shape of the loss.

    ``constant`` is the square of the intercept's column.
    """

    sign: Array
    centre: Array
    factor: Array
    square: Array
    shape: Array
    constant: float

    def residuals(self, slopes: Array) -> Array:
        """The derivatives of the losses by the scores (n, k), from the slopes (k, n)."""
        return (self.sign * slopes).T


@dataclass(frozen=True, eq=False)
class PrepareDual:
    """A request: the rows of `loss` under an l2 penalty of `strength`, with a column for the intercept.

    ``scale`` is that column's value; None stands for the mean length of the rows, but at least the root of `least`.
    """

    loss: Loss
    strength: float
    total_weight: float
    scale: float | None
    least: float = 0.0

    def answer(self, source: Source) -> DualRows:
        weight = np.ones(source.n_rows) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        targets = np.ascontiguousarray(self.loss.targets(source.y, np).T, dtype=np.float64)
        if isinstance(self.loss, LabelLoss):
            sign, corner = 2.0 * targets - 1.0, getattr(self.loss, "corner", 0.0)
            centre = np.full_like(targets, corner)
        else:
            sign, centre = np.ones_like(targets), targets
        square = source.map(_squares)
        factor = weight / (self.total_weight * self.strength)
        constant = self.scale**2 if self.scale is not None else max(float(weight @ square) / self.total_weight, self.least)
        return DualRows(sign, centre, factor, square, loss_shape(self.loss), constant)


def _squares(block: Block) -> Array:
    return block.squared_norms()


@dataclass(frozen=True, eq=False)
class _Visit:
    """A request: maximise the dual of score `k` in each coordinate of `order`, in place."""

    rows: DualRows
    k: int
    order: Array
    settled: float
    slopes: Array
    w: Array
    kept: Array

    def answer(self, source: Source) -> float:
        X, rows, k = source.whole(), self.rows, self.k
        given = (rows.sign[k], rows.centre[k], rows.factor, rows.square, rows.shape, rows.constant)
        moved = (self.order, self.settled, self.slopes[k], self.w[k], self.kept)
        if issparse(X):
            return native.ascend_sparse(X.data, X.indices, X.indptr, *given, *moved)
        return native.ascend(X, *given, *moved)


def sweep(
    rows: DualRows, k: int, order: Array, settled: float, slopes: Array, w: Array
) -> Generator[Any, Any, tuple[float, Array]]:
    """Visit rows in `order`, a chunk at a time; the largest violation met, and the rows worth another visit."""
    kept = np.empty(len(order), dtype=np.uint8)
    count = max(1, _CHUNK // w.shape[1])
    worst = 0.0
    for first in range(0, len(order), count):
        part = slice(first, first + count)
        worst = max(worst, (yield _Visit(rows, k, order[part], settled, slopes, w, kept[part])))
    return worst, order[kept.view(bool)]
