"""Rows in memory, dense and sparse."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._native.sums import row_order
from mercer._source.block import Block, DenseBlock, SparseBlock, rows_per_block, rows_per_sparse_block
from mercer._source.source import Source
from mercer._types import Array


class ArraySource(Source):
    """Rows of a dense array in C order; of NumPy's also in Fortran order, whose blocks are copied as they are read."""

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
        rows = self.X[start:stop, :]
        if self.xp is np and not rows.flags.c_contiguous:
            # A block stays in the cache; a copy of all rows would take new memory, longer than the copying itself.
            rows = order_rows(self.X, start, stop)
        return DenseBlock(rows, start, y, weight, self.xp)

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
        # Rows that lie in C order are returned themselves, not a view: a caller may be allowed to overwrite them.
        ordered = self.xp is not np or self.X.flags.c_contiguous
        return self.X if ordered else order_rows(self.X, 0, self.n_rows)

    def _map(self, function: Callable[[Block], Array], out: Array) -> Array:
        if out is not None or self.xp is not np or self.n_blocks == 1:
            return super()._map(function, out)
        joined = _Joined(self.n_rows)
        self.each(lambda block: joined.put(block.start, function(block)))
        return joined.values() if joined.alike else super()._map(function, None)


def order_rows(X: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return rows `start` to `stop` of a NumPy matrix of floats in C order; those in Fortran order are copied."""
    if X.flags.c_contiguous:
        return X[start:stop]
    if not (X.flags.f_contiguous and X.flags.aligned and X.dtype.char in "fd" and X.dtype.isnative):
        return np.require(X[start:stop], requirements=["C", "A"])
    rows = np.empty((stop - start, X.shape[1]), X.dtype)
    row_order.copy_rows(X.T, start, rows)
    return rows


class _Joined:
    """Values of all rows, which threads write block by block: parts that were kept would be copied once more."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.lock = threading.Lock()
        self.columns: list[np.ndarray] | None = None
        self.is_tuple = False
        # Whether the parts have one type and shape; if not, they can only be joined by promoting them.
        self.alike = True

    def put(self, start: int, part: Any) -> None:
        """Write the values of a block, an array or a tuple of arrays, whose first row is `start`."""
        parts = part if isinstance(part, tuple) else (part,)
        if self.columns is None:
            with self.lock:
                if self.columns is None:
                    self.is_tuple = isinstance(part, tuple)
                    self.columns = [np.empty((self.n_rows, *own.shape[1:]), own.dtype) for own in parts]
        for whole, own in zip(self.columns, parts, strict=True):
            if own.dtype != whole.dtype or own.shape[1:] != whole.shape[1:]:
                self.alike = False
                return
            whole[start : start + len(own)] = own

    def values(self) -> Any:
        """Return the array, or the tuple of arrays, of all rows."""
        assert self.columns is not None  # there is at least one block
        return tuple(self.columns) if self.is_tuple else self.columns[0]


class SparseSource(Source):
    """Rows of a CSR array or matrix."""

    is_sparse = True
    n_rows = 0

    def __init__(self, X: Any, y: Array = None, weight: Array = None, threads: int = 1) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.threads = threads
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        self.block_rows = rows_per_sparse_block(self.n_rows, X.nnz, self.n_features)
        self.target_shape = None if y is None else tuple(y.shape[1:])
        self.has_weight = weight is not None

    def block(self, number: int) -> SparseBlock:
        start, stop = self.bounds(number)
        first, last = self.X.indptr[start], self.X.indptr[stop]
        rows = csr_array((stop - start, self.n_features), dtype=self.X.dtype)
        # Given to the constructor, places of 64 bits would be copied to 32.
        rows.data, rows.indices = self.X.data[first:last], self.X.indices[first:last]
        rows.indptr = self.X.indptr[start : stop + 1] - first
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return SparseBlock(rows, start, y, weight)

    def relabel(self, labelling: Any) -> "SparseSource":
        whole = labelling.on(SparseBlock(self.X, 0, self.y, self.weight))
        other = SparseSource(self.X, whole.y, whole.weight, self.threads)
        other.readings = self.readings
        return other

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        with self._report("parts", stop - start):
            return function(DenseBlock(self.X[start:stop].toarray(), start, y, weight))

    def part(self, rows: Array) -> "SparseSource":
        other = SparseSource(self.X[np.asarray(rows)], threads=self.threads)
        other.readings = self.readings
        return other

    def take(self, indices: Array) -> Array:
        return self.X[np.asarray(indices)].toarray()

    def whole(self) -> Any:
        return self.X
