"""Products of the rows with a few vectors: all that iterative least squares asks of the data.

Means are taken off by algebra, X_c = X - 1 m^T, so sparse rows stay sparse.
"""

from dataclasses import dataclass
from typing import Any

from mercer._source import Block
from mercer._statistic.moments import MomentSums, Moments
from mercer._statistic.statistic import Statistic, Sums

__all__ = ["LeanMoments", "NormalProduct", "ProductSums", "Residual", "TransposeProduct", "targets"]

Array = Any


def targets(block: Block) -> Array:
    """The block's targets as float64 columns."""
    xp = block.xp
    return xp.astype(block.y if block.y.ndim == 2 else block.y[:, None], xp.float64, copy=False)


class LeanMoments(Moments):
    """Moments that never make a sparse block dense: its scatter is X^T W X - (sum w) m m^T.

    The subtraction costs digits when a mean is large beside the spread, which sparse columns, mostly zero, do not have.
    """

    def of(self, block: Block) -> MomentSums:
        if not block.is_sparse:
            return super().of(block)
        xp = block.xp
        weight = block.total_weight()
        scale = 1.0 / weight if weight else 0.0
        mean = block.column_sums() * scale if self.centre else xp.zeros(block.X.shape[1])
        heavy = block.X if block.weight is None else block.X.multiply(block.weight[:, None]).tocsr()
        if self.diagonal:
            squares = xp.asarray(heavy.multiply(block.X).sum(axis=0), dtype=xp.float64).ravel()
            scatter = xp.maximum(squares - weight * mean * mean, 0.0)
        else:
            scatter = xp.asarray((block.X.T @ heavy).toarray(), dtype=xp.float64)
            scatter -= (weight * mean)[:, None] * mean
        if block.y is None:
            return MomentSums(weight, mean, scatter)
        y = targets(block)
        y_mean = xp.sum(block.weighted(y), axis=0) * scale if self.centre else xp.zeros(y.shape[1])
        # Centred targets have weighted sum zero, so the mean of X drops out of the cross moment.
        y_rows = y - y_mean
        heavy_rows = block.weighted(y_rows)
        cross = block.transpose_matmul(heavy_rows)
        return MomentSums(weight, mean, scatter, y_mean, cross, xp.sum(y_rows * heavy_rows, axis=0))


@dataclass(frozen=True)
class ProductSums(Sums):
    """``product``: X^T W u for vectors u; ``total``: 1^T W u, which centring needs; ``squares``: u^T W u."""

    product: Array
    total: Array
    squares: Array

    def centred(self, mean: Array) -> Array:
        """X_c^T W u."""
        return self.product - mean[:, None] * self.total


@dataclass(frozen=True)
class NormalProduct(Statistic):
    """X^T W (X V - offset) for the columns of V: the product with the normal matrix, in one pass."""

    right: Array
    offset: Array

    def of(self, block: Block) -> ProductSums:
        return _products(block, block.matmul(self.right) - self.offset)


@dataclass(frozen=True)
class Residual(Statistic):
    """X_c^T W r, 1^T W r and r^T W r for the residual r = (y - y_mean) - X_c coef, where X_c = X - 1 mean^T.

    Dense rows are centred before they are multiplied: columns far from zero would lose digits otherwise.
    """

    coef: Array
    mean: Array
    y_mean: Array

    def of(self, block: Block) -> ProductSums:
        if block.is_sparse:
            offset = self.y_mean - self.mean @ self.coef
            sums = _products(block, targets(block) - block.matmul(self.coef) - offset)
            return ProductSums(sums.centred(self.mean), sums.total, sums.squares)
        rows = block.centred(self.mean)
        residual = targets(block) - self.y_mean - rows @ self.coef
        heavy = block.weighted(residual)
        xp = block.xp
        return ProductSums(rows.T @ heavy, xp.sum(heavy, axis=0), xp.sum(residual * heavy, axis=0))


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
        return block.centred(self.shift).T @ left


def _products(block: Block, values: Array) -> ProductSums:
    xp = block.xp
    heavy = block.weighted(values)
    return ProductSums(block.transpose_matmul(heavy), xp.sum(heavy, axis=0), xp.sum(values * heavy, axis=0))
