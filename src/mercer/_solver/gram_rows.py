"""Rows of a kernel matrix: made in tiles by products, and kept in a bounded table.

Tiles are of fixed shapes, padded where rows are few, so that a value does not depend on what it was made with; columns
are made on all threads.
"""

from functools import cached_property
from typing import Any

import numpy as np

from mercer._native import pair_descent as native
from mercer._source.threads import run_numbered
from mercer.kernels import Kernel

__all__ = ["Gram", "RowTable"]

Array = Any
# Columns of a tile: with 64 rows a tile of float32 is half a megabyte, in the second-level cache.
_COLUMNS = 2048
# Rows come in multiples of so many, because a BLAS may treat the rest of a tile in another order.
_MULTIPLE = 16
# Rows of a tile, and rows and columns of a tile of a square.
_ROWS, _SQUARE = 64, 256


class Gram:
    """The values of a kernel between rows of one set, in float32 or float64.

    ``given`` says that `X` are the values themselves, which are used as they are.
    """

    def __init__(self, kernel: Kernel, X: Any, threads: int, given: bool = False) -> None:
        self.kernel, self.X, self.threads, self.given = kernel, X, threads, given
        self.prepared: dict[Any, Any] = {}
        self.spare: list[Array] = []

    def rows(self, dtype: Any) -> Any:
        """The rows made ready, in a type."""
        kind = np.dtype(dtype)
        if kind not in self.prepared:
            self.prepared[kind] = self.kernel.prepare(self.X.astype(kind, copy=False))
        return self.prepared[kind]

    def tile(self, rows: Array, others: Any, dtype: Any) -> Array:
        """The values between some rows and others."""
        ready = self.rows(dtype)
        count = len(rows)
        padded = np.resize(rows, -(-count // _MULTIPLE) * _MULTIPLE)
        return self.kernel.between(ready.take(padded), ready.take(others))[:count]

    def square(self, rows: Array, dtype: Any) -> Array:
        """The values between some rows and themselves."""
        out = self._room(len(rows), dtype)
        count = -(-len(rows) // _SQUARE)
        pairs = [(i, j) for j in range(count) for i in range(j + 1)]

        def fill(number: int) -> None:
            i, j = (slice(one * _SQUARE, min((one + 1) * _SQUARE, len(rows))) for one in pairs[number])
            out[i, j] = self.tile(rows[i], rows[j], dtype)
            if i != j:
                out[j, i] = out[i, j].T

        run_numbered(fill, len(pairs), self.threads)
        return out

    def _room(self, n: int, dtype: Any) -> Array:
        """An n x n array, in memory that an earlier one has left: fresh pages cost as much as values."""
        needed = n * n * np.dtype(dtype).itemsize
        try:
            memory = self.spare.pop()
        except IndexError:
            memory = None
        if memory is None or memory.nbytes < needed:
            memory = np.empty(needed, dtype=np.uint8)
        return memory[:needed].view(dtype).reshape(n, n)

    def leave(self, K: Array) -> None:
        """Give the memory of a square back."""
        memory = K
        while memory.base is not None:
            memory = memory.base
        self.spare.append(memory)

    def pair_square(self, rows: Array, first: int, squares: tuple[Array, Array]) -> Array:
        """The values between two sets of rows and themselves, of which those within each set are at hand."""
        dtype = squares[0].dtype
        out = self._room(len(rows), dtype)
        out[:first, :first], out[first:, first:] = squares
        ready = self.rows(dtype)
        others = ready.take(rows[first:])
        for top in range(0, first, _SQUARE):
            some = slice(top, min(top + _SQUARE, first))
            out[some, first:] = self.kernel.between(ready.take(rows[some]), others)
        native.mirror(out, first)
        return out

    @cached_property
    def diagonal(self) -> Array:
        """The value of each row with itself, float64."""
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    @property
    def largest(self) -> float:
        """The largest value there can be."""
        return float(np.max(np.abs(self.diagonal)))

    def products(self, rows: Array, coefficients: Array, others: Array, dtype: Any) -> Array:
        """The sums over some rows of coefficient times value, for each of the others; float64."""
        found = np.zeros(len(others))

        def fill(number: int) -> None:
            part = slice(number * _COLUMNS, min((number + 1) * _COLUMNS, len(others)))
            columns = others[part]
            for first in range(0, len(rows), _ROWS * 4):
                some = slice(first, min(first + _ROWS * 4, len(rows)))
                tile = np.ascontiguousarray(self.tile(rows[some], columns, dtype))
                slots = np.arange(tile.shape[0], dtype=np.intp)
                native.add_rows(tile, slots, coefficients[some], 0, tile.shape[1], found[part])

        run_numbered(fill, -(-len(others) // _COLUMNS), self.threads)
        return found


class RowTable:
    """Rows of the kernel matrix over some columns, as many as fit; the longest unused make room for others."""

    def __init__(self, gram: Gram, columns: Array, capacity: int, dtype: Any) -> None:
        self.gram, self.columns = gram, columns
        self.values = np.empty((min(capacity, len(columns)), len(columns)), dtype=dtype)
        self.slot = np.full(len(columns), -1, dtype=np.intp)
        self.owner = np.full(len(self.values), -1, dtype=np.intp)
        self.used = np.zeros(len(self.values), dtype=np.int64)
        self.clock = 0

    def fetch(self, positions: Array) -> Array:
        """Have the rows at some positions among the columns; return their slots."""
        self.clock += 1
        known = self.slot[positions] >= 0
        self.used[self.slot[positions[known]]] = self.clock
        missing = positions[~known]
        if len(missing):
            self._make(missing)
        return self.slot[positions]

    def _make(self, missing: Array) -> None:
        room = np.argsort(self.used, kind="stable")[: len(missing)]
        room = np.sort(room)
        gone = self.owner[room]
        self.slot[gone[gone >= 0]] = -1
        self.owner[room], self.slot[missing], self.used[room] = missing, room, self.clock
        ready = self.gram.rows(self.values.dtype)
        padded = np.resize(missing, -(-len(missing) // _MULTIPLE) * _MULTIPLE)
        rows = ready.take(self.columns[padded])

        def fill(number: int) -> None:
            part = slice(number * _COLUMNS, min((number + 1) * _COLUMNS, len(self.columns)))
            others = ready.take(self.columns[part])
            for first in range(0, len(missing), _ROWS):
                some = slice(first, min(first + _ROWS, len(padded)))
                tile = self.gram.kernel.between(rows.take(some), others)
                kept = room[first : first + _ROWS]
                self.values[kept, part] = tile[: len(kept)]

        run_numbered(fill, -(-len(self.columns) // _COLUMNS), self.gram.threads)

    def square(self, slots: Array, positions: Array) -> Array:
        """The values between the rows in slots and the columns at positions."""
        out = np.empty((len(slots), len(positions)), dtype=self.values.dtype)
        native.gather(self.values, slots, positions, out)
        return out

    def add(self, slots: Array, change: Array, slope: Array) -> None:
        """Add the rows in slots, each times its change, to the slopes of all columns."""

        def fill(number: int) -> None:
            stop = min((number + 1) * _COLUMNS, len(slope))
            native.add_rows(self.values, slots, change, number * _COLUMNS, stop, slope)

        run_numbered(fill, -(-len(slope) // _COLUMNS), self.gram.threads)
