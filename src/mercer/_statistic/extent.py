"""Find the range of each column: the smallest box around the rows."""

from dataclasses import dataclass

import numpy as np

from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._statistic.statistic import Statistic
from mercer._types import Array


@dataclass(frozen=True)
class ExtentSums:
    """The least and the greatest value of each column, in float64; inf and -inf without rows."""

    low: Array
    high: Array

    def __add__(self, other: "ExtentSums") -> "ExtentSums":
        xp = namespace_of(self.low)
        return ExtentSums(xp.minimum(self.low, other.low), xp.maximum(self.high, other.high))


@dataclass(frozen=True)
class Extent(Statistic):
    """The smallest box around the rows of positive weight."""

    def of(self, block: Block) -> ExtentSums:
        xp, X = block.xp, block.X
        if block.weight is not None:
            # A row of weight zero is no row: it does not widen the box.
            heavy = xp.nonzero(block.weight > 0)[0]
            X = X[heavy] if block.is_sparse else xp.take(X, heavy, axis=0)
        if X.shape[0] == 0:
            # The neutral element of the merge by minimum and maximum.
            low = xp.full((X.shape[1],), np.inf, dtype=block.wide, device=block.device)
            return ExtentSums(low, -low)
        if block.is_sparse:
            low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        else:
            low, high = xp.min(X, axis=0), xp.max(X, axis=0)
        return ExtentSums(xp.astype(low, block.wide), xp.astype(high, block.wide))
