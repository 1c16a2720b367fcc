"""Products of the rows with a few vectors: all that iterative least squares asks of the data.

Means are taken off by algebra, X_c = X - 1 m^T, so sparse rows stay sparse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sums import gradients, row_products
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


def multiply_rows(A: Array, B: Array) -> Array:
    """Compute A B^T on one thread: by native code where it is faster than the BLAS. It is symmetric where A is B."""
    if not (row_products.gains() and _is_plain(A) and _is_plain(B)):
        return A @ B.T
    product = np.zeros((len(A), len(B)))
    row_products.add_products(A, B, A is B, product, np.empty(row_products.count_scratch()))
    if A is B:
        above = np.triu_indices(len(A), 1)
        product[above] = product.T[above]
    return product


def _is_plain(A: Array) -> bool:
    return isinstance(A, np.ndarray) and A.dtype == np.float64 and A.flags.c_contiguous


@dataclass(frozen=True, eq=False)
class FourthNorms(Statistic):
    """For each class, sum_i w_i |(x_i - centre) * scale|^4 over its rows; of rows without labels, one sum.

    Parameters
    ----------
    centres, scales : array of shape (k, d)
        Of each class.
    classes : array of shape (k,) or None
        Their labels; None means one class of all rows.
    """

    centres: Array
    scales: Array
    classes: Array = None

    def of(self, block: Block) -> Array:
        xp = block.xp
        if self.classes is None:
            squares = _squares(block.centre(self.centres[0, :]) * self.scales[0, :], xp)
            return xp.reshape(xp.sum(block.weigh(squares * squares)), (1,))
        # Rows of a class that is not known, having weight zero, count for the class in whose place it would be.
        numbers = xp.clip(xp.searchsorted(self.classes, block.y), 0, self.classes.shape[0] - 1)
        rows = block.centre(xp.take(self.centres, numbers, axis=0)) * xp.take(self.scales, numbers, axis=0)
        squares = _squares(rows, xp)
        return block.group(numbers, self.classes.shape[0]).sums(block.weigh(squares * squares), block.wide)


def _squares(rows: Array, xp: Any) -> Array:
    return xp.sum(rows * rows, axis=1)
