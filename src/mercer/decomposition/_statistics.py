"""The passes over the rows that principal components need besides their moments."""

from dataclasses import dataclass
from typing import Any

from mercer._source import Block
from mercer._statistic import Statistic
from mercer._statistic.products import multiply_rows
from mercer._statistic.triangle import TriangleSums, reduce_rows
from mercer._types import Array


@dataclass(frozen=True)
class ScatterProduct(Statistic):
    """``X^T W X basis`` for rows X minus `mean`, or as they are, without the matrix X^T W X: a block is read once."""

    mean: Array
    basis: Array

    def of(self, block: Block) -> Array:
        xp = block.xp
        if block.is_sparse and self.mean is None:
            return block.transpose_matmul(block.weigh(block.matmul(self.basis)))
        if block.is_sparse:
            # (X - 1 m^T) basis = X basis - 1 (m^T basis), so that sparse rows stay sparse.
            scores = block.weigh(block.matmul(self.basis) - self.mean @ self.basis)
            return block.transpose_matmul(scores) - self.mean[:, None] * xp.sum(scores, axis=0)[None, :]
        rows = xp.astype(block.X, block.wide, copy=False) if self.mean is None else block.centre(self.mean)
        return rows.T @ block.weigh(rows @ self.basis)


@dataclass(frozen=True)
class ScoreTriangle(Statistic):
    """The triangular factor R of ``(X - mean) basis``, with the rows of X times the roots of their weights."""

    mean: Array
    basis: Array

    def of(self, block: Block) -> TriangleSums:
        if block.is_sparse:
            scores = block.matmul(self.basis) - (0.0 if self.mean is None else self.mean @ self.basis)
        else:
            scores = block.centre(0.0 if self.mean is None else self.mean) @ self.basis
        if block.weight is not None:
            scores = scores * block.xp.sqrt(block.weight)[:, None]
        zero = block.xp.zeros(scores.shape[1], dtype=block.wide, device=block.device)
        return TriangleSums(block.total_weight(), zero, reduce_rows(scores))


@dataclass(frozen=True)
class Lift(Statistic):
    """``X^T vectors`` for rows X minus `mean`: from eigenvectors of the Gram matrix to axes in feature space."""

    mean: Array
    vectors: Array

    def of(self, block: Block) -> Array:
        vectors = self.vectors[block.start : block.start + block.n, :]
        if block.weight is not None:
            vectors = vectors * block.xp.sqrt(block.weight)[:, None]
        return block.centre(self.mean).T @ vectors


def make_centred_gram(mean: Array, scale: Array) -> Any:
    """Return a function of two blocks: inner products of centred, scaled rows, each times the root of its weight."""

    def rows_of(block: Block) -> Array:
        rows = block.centre(mean) if scale is None else block.centre(mean) / scale
        return rows if block.weight is None else rows * block.xp.sqrt(block.weight)[:, None]

    def multiply(left: Block, right: Block) -> Array:
        rows = rows_of(left)
        return multiply_rows(rows, rows if left.start == right.start else rows_of(right))

    return multiply
