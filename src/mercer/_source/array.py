"""Dense arrays in memory: NumPy, and any other library that speaks the array API."""

from typing import Any

import numpy as np

from mercer._source.block import DenseBlock, rows_per_block
from mercer._source.source import Source

__all__ = ["ArraySource"]

Array = Any


class ArraySource(Source):
    """Rows of a dense C-ordered array."""

    def __init__(self, X: Array, y: Array = None, weight: Array = None, threads: int = 1, xp: Any = np) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.threads = threads
        self.xp = xp
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        self.block_rows = rows_per_block(self.n_features)

    def block(self, number: int) -> DenseBlock:
        start, stop = self.bounds(number)
        y = None if self.y is None else self.y[start:stop, ...]
        weight = None if self.weight is None else self.weight[start:stop]
        return DenseBlock(self.X[start:stop, :], start, y, weight, self.xp)

    def take(self, indices: Array) -> Array:
        return self.xp.take(self.X, self.xp.asarray(indices), axis=0)

    def whole(self) -> Array:
        return self.X
