"""Rows as zeros and ones: values above a threshold are ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Block
from mercer._statistic import Statistic, Sums
from mercer._statistic.expectation import ExpectedSums, compute_responsibilities
from mercer._types import Array


def binary_block(block: Block, threshold: float | None) -> Block:
    """Return a block of zeros and ones, in the type of the rows; sparse rows keep the entries they store."""
    if threshold is None:
        return block
    xp = block.xp
    if block.is_sparse:
        # Stored entries become zeros or ones; those not stored are zeros, below any threshold allowed.
        X = block.X.copy()
        X.data = (X.data > threshold).astype(X.data.dtype)
    else:
        X = xp.astype(threshold < block.X, block.X.dtype)
    return type(block)(X, block.start, block.y, block.weight, xp, block.wide)


@dataclass(frozen=True, eq=False)
class Binarised(Statistic):
    """Another statistic, of the rows as zeros and ones; they are converted one block at a time."""

    statistic: Any
    threshold: float | None

    def of(self, block: Block) -> Any:
        return self.statistic.of(binary_block(block, self.threshold))

    def on(self, block: Block) -> Any:
        return self.statistic.on(binary_block(block, self.threshold))

    def on_run(self, block: Block, unit: int) -> Any:
        return self.statistic.on_run(binary_block(block, self.threshold), unit)

    def scores(self, block: Block) -> Array:
        """Return the score of each row for each component, (n, k)."""
        return self.statistic.scores(binary_block(block, self.threshold))


@dataclass(frozen=True, eq=False)
class BinariesByCentre(Statistic):
    """Counts of rows and ones of the rows given to each centre, by the largest score of the rows as they are."""

    theta: Array
    threshold: float | None

    def of(self, block: Block) -> ExpectedSums:
        xp = block.xp
        scores = block.matmul(self.theta[:, 1:].T) + self.theta[:, 0][None, :]
        heavy = block.weigh(compute_responsibilities(scores, True, xp)[0])
        ones = binary_block(block, self.threshold).transpose_matmul(heavy).T
        return ExpectedSums(xp.concat([xp.sum(heavy, axis=0)[:, None], ones], axis=1), 0.0)


@dataclass(frozen=True)
class BinarySums(Sums):
    """The number of values that are neither zero nor one, and the weight of the rows."""

    n_other: int
    weight: float


@dataclass(frozen=True)
class BinaryCheck(Statistic):
    """The number of values that are neither zero nor one."""

    def of(self, block: Block) -> BinarySums:
        xp = np if block.is_sparse else block.xp
        values = block.X.data if block.is_sparse else block.X
        other = xp.logical_and(values != 0, values != 1)
        return BinarySums(int(xp.sum(xp.astype(other, xp.int64))), block.total_weight())
