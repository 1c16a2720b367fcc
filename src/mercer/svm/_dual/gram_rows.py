"""Rows of a kernel matrix: made in tiles by products, and kept in a bounded table.

Tiles are of fixed shapes, padded where rows are few, so that a value does not depend on what it was made with; columns
are made on all threads.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.dual import pair_descent as native
from mercer._source.threads import run_numbered
from mercer.kernels import Kernel

__all__ = ["Gram", "LeastRecent", "RowTable", "Square"]

Array = Any
# Rows and columns of a tile of a square, and rows whose values are added at a time.
_SQUARE, _ROWS = 256, 256


def column_parts(count: int) -> list[slice]:
    """Columns as they are shared out: some sixteen parts, of sizes that make a call worth its start and fit a cache.

    They depend on the number of columns alone, never on that of threads.
    """
    wide = min(2048, max(512, -(-count // (16 * 64)) * 64))
    return [slice(first, min(first + wide, count)) for first in range(0, count, wide)]


def worthwhile(threads: int, made: float, read: float = 0.0) -> int:
    """Threads that so many values, made or read, keep busy for half a millisecond each.

    More cost more than they save: on 16 cores a crew of 16 takes some two milliseconds to begin and to end, and rounds
    after shrinking have less than that to do. A value is made in 2 ns and read in a quarter of one.
    """
    return max(1, min(threads, int((2.0 * made + 0.25 * read) / 5e5)))


@dataclass(frozen=True, eq=False)
class Square:
    """The values between some rows and themselves.

    ``values`` is whole, or lacks the values ``left`` within a first set of rows, ``right`` within a second, and those
    of the second with the first, but for its diagonal. A row takes them over once a descent looks at it, of which
    ``ready`` keeps account: between ten kinds of digits it looked at one row in fourteen.
    """

    values: Array
    left: Array
    right: Array
    ready: Array

    @classmethod
    def whole(cls, values: Array) -> "Square":
        """Values that lack nothing."""
        none = np.empty((0, 0), dtype=values.dtype)
        return cls(values, none, none, np.empty(0, dtype=np.uint8))


class Gram:
    """The values of a kernel between rows of one set, in float32 or float64.

    ``given`` says that `X` are the values themselves, which are used as they are.
    """

    # Whether rows of values are worth keeping, and how many coefficients a working set of a large program has at least.
    keeps_rows = True
    set_size = 1280
    # Whether squares are too large to be fetched, and stay where rows are.
    holds_squares = False

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

    def write(self, rows: Array, others: Array, slots: Array, table: Array, first: int = 0) -> None:
        """Write the values of some rows with others to the rows `slots` of a table, from a column on."""
        self.kernel.write_rows(self.rows(table.dtype), rows, others, slots, table, first)

    def square(self, rows: Array, dtype: Any) -> Array:
        """The values between some rows and themselves."""
        out = self.room(len(rows), dtype)
        count = -(-len(rows) // _SQUARE)
        pairs = [(i, j) for j in range(count) for i in range(j + 1)]
        numbers = np.arange(len(rows))
        self.rows(dtype)

        def fill(number: int) -> None:
            i, j = (slice(one * _SQUARE, min((one + 1) * _SQUARE, len(rows))) for one in pairs[number])
            self.write(rows[i], rows[j], numbers[i], out, j.start)
            if i != j:
                native.mirror(out, i.start, i.stop, j.start, j.stop)

        run_numbered(fill, len(pairs), worthwhile(self.threads, 0.5 * len(rows) ** 2))
        return out

    def held(self, rows: Array, dtype: Any) -> Any:
        """Return a square that stays on the device (:class:`mercer.svm._dual.device_gram.DeviceSquare`), or None."""
        return None

    def room(self, n: int, dtype: Any) -> Array:
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

    def pair_square(self, rows: Array, first: int, squares: tuple[Array, Array]) -> Square:
        """The values between two sets of rows and themselves, of which those within each set are at hand."""
        out = self.room(len(rows), squares[0].dtype)
        self.write(rows[:first], rows[first:], np.arange(first), out, first)
        np.fill_diagonal(out, np.concatenate([one.diagonal() for one in squares]))
        return Square(out, *squares, np.zeros(len(rows), dtype=np.uint8))

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
        self.add_products(rows, coefficients, others, dtype, found)
        return found

    def add_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any, found: Array) -> None:
        """Add rows, each times its coefficient, to what is found of the others: in the order and bits of `RowTable`."""
        parts = column_parts(len(others))
        self.rows(dtype)

        def fill(number: int) -> None:
            columns, sums = others[parts[number]], found[parts[number]]
            tile, slots = np.empty((min(_ROWS, len(rows)), len(columns)), dtype=dtype), np.arange(_ROWS)
            for first in range(0, len(rows), _ROWS):
                some = slice(first, min(first + _ROWS, len(rows)))
                own = slots[: some.stop - some.start]
                self.write(rows[some], columns, own, tile)
                native.add_rows(tile, own, coefficients[some], 0, len(columns), sums)

        run_numbered(fill, len(parts), worthwhile(self.threads, len(rows) * len(others)))

    def table(self, columns: Array, capacity: int, dtype: Any) -> "RowTable":
        """A table of rows over some columns."""
        return RowTable(self, columns, capacity, dtype)


class RowTable:
    """Rows of the kernel matrix over some columns, as many as fit; the longest unused make room for others."""

    def __init__(self, gram: Gram, columns: Array, capacity: int, dtype: Any) -> None:
        self.gram, self.columns = gram, columns
        self.kept = LeastRecent(len(columns), min(capacity, len(columns)))
        self.values = np.empty((len(self.kept), len(columns)), dtype=dtype)

    def add(self, positions: Array, change: Array, slope: Array) -> None:
        """Add the rows at some positions among the columns, each times its change, to the slopes of all columns."""
        missing = positions[self.kept.slot[positions] < 0]
        room = self.kept.made_room(positions, missing)
        slots, rows, parts = self.kept.slot[positions], self.columns[missing], column_parts(len(self.columns))
        self.gram.rows(self.values.dtype)

        def fill(number: int) -> None:
            part = parts[number]
            if len(rows):
                self.gram.write(rows, self.columns[part], room, self.values, part.start)
            native.add_rows(self.values, slots, change, part.start, part.stop, slope)

        width = len(self.columns)
        run_numbered(fill, len(parts), worthwhile(self.gram.threads, len(rows) * width, len(slots) * width))


class LeastRecent:
    """Which of `count` rows are kept in which of a number of slots; the longest unused make room for others."""

    def __init__(self, count: int, slots: int) -> None:
        self.slot = np.full(count, -1, dtype=np.intp)
        self.owner = np.full(slots, -1, dtype=np.intp)
        self.used = np.zeros(slots, dtype=np.int64)
        self.clock = self.filled = 0

    def __len__(self) -> int:
        return len(self.owner)

    def made_room(self, positions: Array, missing: Array) -> Array:
        """The slots of rows that are not there yet, whose owners go: those unused for longest."""
        self.clock += 1
        known = self.slot[positions]
        self.used[known[known >= 0]] = self.clock
        if self.filled + len(missing) <= len(self):
            room = np.arange(self.filled, self.filled + len(missing))
            self.filled += len(missing)
        else:
            # Times are few: counting them finds the last whose rows must go in a fifth of the time of sorting.
            last = np.searchsorted(np.cumsum(np.bincount(self.used)), len(missing))
            older, as_old = np.flatnonzero(self.used < last), np.flatnonzero(self.used == last)
            room = np.concatenate([older, as_old[: len(missing) - len(older)]])
            # Slots that were never used are among them: from now on none is.
            self.filled = len(self)
        gone = self.owner[room]
        self.slot[gone[gone >= 0]] = -1
        self.owner[room], self.slot[missing], self.used[room] = missing, room, self.clock
        return room
