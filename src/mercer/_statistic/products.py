"""Products of the rows with a few vectors: all that iterative least squares asks of the data.

Means are taken off by algebra, X_c = X - 1 m^T, so sparse rows stay sparse.
"""

from dataclasses import dataclass

import numpy as np

from mercer._native.sums import gradients
from mercer._source import Block
from mercer._statistic.moments import targets
from mercer._statistic.statistic import Statistic, Sums, fold_sums
from mercer._types import Array

# Rows centred and multiplied at once: a divisor of every block's rows.
_TILE = 256


@dataclass(frozen=True)
class ProductSums(Sums):
    """For vectors u, one value a row: X_c^T W u, 1^T W u and u^T W u, where X_c = X - 1 mean^T."""

    product: Array
    total: Array
    squares: Array


@dataclass(frozen=True)
class NormalProduct(Statistic):
    """X_c^T W X_c V for the columns of V, in one pass."""

    right: Array
    mean: Array

    def of(self, block: Block) -> ProductSums:
        rows = _CentredRows(block, self.mean)
        return rows.sums(rows.times(self.right))


@dataclass(frozen=True)
class Residual(Statistic):
    """X_c^T W r, 1^T W r and r^T W r for the residual r = (y - y_mean) - X_c coef."""

    coef: Array
    mean: Array
    y_mean: Array

    def of(self, block: Block) -> ProductSums:
        rows = _CentredRows(block, self.mean)
        return rows.sums(targets(block) - self.y_mean - rows.times(self.coef))

    def native_run(self, block: Block, unit: int) -> ProductSums:
        Y, d = np.ascontiguousarray(targets(block)), block.X.shape[1]
        # Of each block and target: X_c^T W r in d places, then 1^T W r and r^T W r.
        table = np.zeros((-(-block.n // unit), Y.shape[1], d + 2))
        gradients.residual_run(
            block.X,
            unit,
            Y,
            np.empty(0) if block.weight is None else block.weight,
            np.ascontiguousarray(self.coef.T, dtype=np.float64),
            np.ascontiguousarray(self.mean, dtype=np.float64),
            np.ascontiguousarray(self.y_mean, dtype=np.float64),
            np.empty((_TILE, d)),
            np.empty((_TILE, Y.shape[1])),
            table,
        )
        total = fold_sums(table)
        return ProductSums(total[:, :d].T.copy(), total[:, d].copy(), total[:, d + 1].copy())


@dataclass(frozen=True)
class Bidiagonal(Statistic):
    """Half a step of Golub-Kahan bidiagonalisation: u = X_c V - scale u_before, written to `out`, and its sums."""

    right: Array
    mean: Array
    before: Array
    scale: Array
    out: Array

    def of(self, block: Block) -> ProductSums:
        rows, places = _CentredRows(block, self.mean), slice(block.start, block.start + block.n)
        self.out[places, :] = rows.times(self.right) - self.scale * self.before[places, :]
        return rows.sums(self.out[places, :])


@dataclass(frozen=True)
class TransposeProduct(Statistic):
    """(X - 1 shift^T)^T U for U with one row per row of the source; weights play no part."""

    left: Array
    shift: Array = None

    def of(self, block: Block) -> Array:
        left = self.left[block.start : block.start + block.n, :]
        if self.shift is None or block.is_sparse:
            product = block.transpose_matmul(left)
            return product if self.shift is None else product - self.shift[:, None] * block.xp.sum(left, axis=0)
        return block.centre(self.shift).T @ left


class _CentredRows:
    """Centred rows X_c of a block: dense rows are centred first, which keeps most digits; sparse ones by algebra."""

    def __init__(self, block: Block, mean: Array) -> None:
        self.block = block
        self.mean = mean
        self.rows = None if block.is_sparse else block.centre(mean)

    def times(self, right: Array) -> Array:
        if self.rows is None:
            return self.block.matmul(right) - self.mean @ right
        return self.rows @ right

    def sums(self, values: Array) -> ProductSums:
        xp = self.block.xp
        heavy = self.block.weigh(values)
        total = xp.sum(heavy, axis=0)
        if self.rows is None:
            product = self.block.transpose_matmul(heavy) - self.mean[:, None] * total
        else:
            product = self.rows.T @ heavy
        return ProductSums(product, total, xp.sum(values * heavy, axis=0))
