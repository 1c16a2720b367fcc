"""Dense NumPy rows in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._source.block import Block, DenseBlock, rows_per_block
from mercer._source.source import Source
from mercer._types import Array

__all__ = ["ArraySource"]


class ArraySource(Source):
    """Rows of a dense C-ordered array."""

    n_rows = 0

    def __init__(self, X: Array, y: Array = None, weight: Array = None, threads: int = 1, xp: Any = np) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.threads = threads
        self.xp = xp
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        self.block_rows = rows_per_block(self.n_features)
        self.target_shape = None if y is None else tuple(y.shape[1:])
        self.has_weight = weight is not None

    def block(self, number: int) -> DenseBlock:
        return self._rows(*self.bounds(number))

    def _rows(self, start: int, stop: int) -> DenseBlock:
        y = None if self.y is None else self.y[start:stop, ...]
        weight = None if self.weight is None else self.weight[start:stop]
        return DenseBlock(self.X[start:stop, :], start, y, weight, self.xp)

    def _sum_run(self, statistic: Any, first: int, stop: int) -> Any:
        return statistic.on_run(self._rows(first * self.block_rows, self.bounds(stop - 1)[1]), self.block_rows)

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        with self._report("parts", stop - start):
            return self.fetch(function(self._rows(start, stop)))

    def relabel(self, labelling: Any) -> "ArraySource":
        whole = labelling.on(DenseBlock(self.X, 0, self.y, self.weight, self.xp))
        other = type(self)(self.X, whole.y, whole.weight, self.threads, self.xp)
        other.readings = self.readings
        return other

    def part(self, rows: Array) -> "ArraySource":
        other = type(self)(self.xp.take(self.X, self.xp.asarray(rows), axis=0), threads=self.threads, xp=self.xp)
        other.readings = self.readings
        return other

    def take(self, indices: Array) -> Array:
        return self.xp.take(self.X, self.xp.asarray(indices), axis=0)

    def whole(self) -> Array:
        return self.X
