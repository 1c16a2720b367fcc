"""Rows of a kernel matrix: computed in tiles by products, and kept in a bounded table.

Tiles have fixed shapes, padded where rows are few, so that a value does not depend on what it was computed with;
columns are computed on all threads. The solvers ask for kernel values through :class:`KernelRows` only.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer._native.dual import pair_descent as native
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.kernels import Kernel

# Rows and columns of a tile of a square.
_SQUARE = 256
# Rows whose values are added to sums at a time.
_ROWS = 256
# Nanoseconds to compute a value and to read one that is kept, and those of work that are worth calling a thread for.
_MADE = 2.0
_READ = 0.25
_WORTH = 5e5


class KernelRows(Protocol):
    """What a solver may ask about the values of a kernel between the rows of one source.

    Rows are named by their index in the source; `dtype` is float32 or float64. :class:`Gram` computes values on the
    host, :class:`~mercer.svm._dual.device_gram.DeviceGram` on a device.

    Attributes
    ----------
    threads : int
        Worker threads of the host.
    given : bool
        Whether the source holds the kernel values themselves.
    keeps_rows : bool
        Whether reading a kernel row is faster than computing it again.
    holds_squares : bool
        Whether squares are too large to be fetched, and stay on the device (`hold_square`).
    set_size : int
        Least number of coefficients in a working set of a large program.
    """

    threads: int
    given: bool
    keeps_rows: bool
    holds_squares: bool

    @property
    def set_size(self) -> int: ...

    @property
    def largest(self) -> float:
        """The largest absolute kernel value there can be: the largest k(x, x)."""

    def make_square(self, rows: Array, dtype: Any) -> Array:
        """Return the kernel matrix of `rows`, on the host."""

    def make_pair_square(self, rows: Array, first: int, squares: tuple[Array, Array]) -> "Square":
        """Return the kernel matrix of `rows`, given the `squares` of its first `first` rows and of the others."""

    def hold_square(self, rows: Array, dtype: Any) -> Any:
        """Return the kernel matrix of `rows` as a ``DeviceSquare``, or None if kernels are computed on the host."""

    def return_memory(self, K: Array) -> None:
        """Take back the memory of a square, for the next one."""

    def sum_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any) -> Array:
        """Return sum_j coefficients_j k(x_j, x_i) over the rows j, for each row i of `others`; float64."""

    def add_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any, out: Array) -> None:
        """Add these sums to `out`."""

    def make_table(self, columns: Array, capacity: int, dtype: Any) -> "RowTable":
        """Return a table that keeps up to `capacity` kernel rows over some columns."""

    def find_profile(self, dtype: Any) -> Any:
        """Return how native code computes this kernel from dense rows (``Kernel.profile``), or None if it cannot."""

    def prepare_rows(self, dtype: Any) -> Any:
        """Return all rows as the kernel wants them (``Kernel.prepare``)."""

    def take_memory(self, n: int, dtype: Any) -> Array:
        """Return an n x n array that native code may fill with a square."""


def cut_columns(count: int) -> list[slice]:
    """Return the parts of columns that threads share: about sixteen, large enough for a call and small enough for a
    cache.

    They depend on the number of columns alone, never on that of threads.
    """
    wide = min(2048, max(512, -(-count // (16 * 64)) * 64))
    return [slice(first, min(first + wide, count)) for first in range(0, count, wide)]


def count_threads(threads: int, made: float, read: float = 0.0) -> int:
    """Return how many threads `made` computed and `read` kept values keep busy for half a millisecond each.

    More cost more than they save: on 16 cores, 16 threads take some two milliseconds to begin and to end, and rounds
    after shrinking have less than that to do.
    """
    return max(1, min(threads, int((_MADE * made + _READ * read) / _WORTH)))


@dataclass(frozen=True, eq=False)
class Square:
    """The kernel matrix of some rows.

    ``values`` is complete, or lacks the values ``left`` within a first set of rows, ``right`` within a second, and
    those of the second with the first; the diagonal is there. A descent copies what a row lacks when it first reads the
    row, and marks it in ``ready``: between ten kinds of digits it read one row in fourteen.
    """

    values: Array
    left: Array
    right: Array
    ready: Array

    @classmethod
    def whole(cls, values: Array) -> "Square":
        """Return a square that lacks nothing."""
        none = np.empty((0, 0), dtype=values.dtype)
        return cls(values, none, none, np.empty(0, dtype=np.uint8))


class Gram:
    """The values of a kernel between the rows `X` on the host: the :class:`KernelRows` of arrays.

    If `given`, `X` holds the values themselves, which are used as they are.
    """

    keeps_rows = True
    holds_squares = False
    # Their square has 6.5 MB in float32.
    set_size = 1280

    def __init__(self, kernel: Kernel, X: Any, threads: int, given: bool = False) -> None:
        self.kernel, self.X, self.threads, self.given = kernel, X, threads, given
        self.prepared: dict[Any, Any] = {}
        self.spare: list[Array] = []

    def prepare_rows(self, dtype: Any) -> Any:
        """Return all rows as the kernel wants them, computed once for each type."""
        kind = np.dtype(dtype)
        if kind not in self.prepared:
            self.prepared[kind] = self.kernel.prepare(self.X.astype(kind, copy=False))
        return self.prepared[kind]

    def find_profile(self, dtype: Any) -> Any:
        """Return how native code computes this kernel from dense rows, or None if it cannot."""
        return None if self.given else self.kernel.profile(self.prepare_rows(dtype))

    def write_values(self, rows: Array, others: Array, slots: Array, table: Array, first: int = 0) -> None:
        """Write the values of `rows` with `others` to the rows `slots` of a table, from column `first` on."""
        self.kernel.write_rows(self.prepare_rows(table.dtype), rows, others, slots, table, first)

    def make_square(self, rows: Array, dtype: Any) -> Array:
        """Return the kernel matrix of `rows`, computed in tiles at and above the diagonal and mirrored."""
        out = self.take_memory(len(rows), dtype)
        count = -(-len(rows) // _SQUARE)
        # Tiles at and above the diagonal; the others are mirrored.
        pairs = [(i, j) for j in range(count) for i in range(j + 1)]
        places = np.arange(len(rows))
        self.prepare_rows(dtype)

        def fill(number: int) -> None:
            i, j = (slice(tile * _SQUARE, min((tile + 1) * _SQUARE, len(rows))) for tile in pairs[number])
            self.write_values(rows[i], rows[j], places[i], out, j.start)
            if i != j:
                native.mirror(out, i.start, i.stop, j.start, j.stop)

        # The work is half of the square, in values.
        run_numbered(fill, len(pairs), count_threads(self.threads, 0.5 * len(rows) ** 2))
        return out

    def hold_square(self, rows: Array, dtype: Any) -> Any:
        """Return None: squares are on the host."""
        return None

    def take_memory(self, n: int, dtype: Any) -> Array:
        """Return an n x n array, in memory of an earlier one if there is: fresh pages cost as much as values."""
        needed = n * n * np.dtype(dtype).itemsize
        try:
            memory = self.spare.pop()
        except IndexError:
            memory = None
        if memory is None or memory.nbytes < needed:
            memory = np.empty(needed, dtype=np.uint8)
        return memory[:needed].view(dtype).reshape(n, n)

    def return_memory(self, K: Array) -> None:
        """Take back the memory of a square, for the next one."""
        memory = K
        while memory.base is not None:
            memory = memory.base
        self.spare.append(memory)

    def make_pair_square(self, rows: Array, first: int, squares: tuple[Array, Array]) -> Square:
        """Return the kernel matrix of two sets of rows; `squares` are the matrices of each set."""
        out = self.take_memory(len(rows), squares[0].dtype)
        self.write_values(rows[:first], rows[first:], np.arange(first), out, first)
        np.fill_diagonal(out, np.concatenate([square.diagonal() for square in squares]))
        return Square(out, *squares, np.zeros(len(rows), dtype=np.uint8))

    @cached_property
    def diagonal(self) -> Array:
        """k(x, x) of each row, float64."""
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    @cached_property
    def largest(self) -> float:
        """The largest absolute kernel value there can be: the largest k(x, x)."""
        return float(np.abs(self.diagonal).max())

    def sum_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any) -> Array:
        """Return sum_j coefficients_j k(x_j, x_i) over the rows j, for each row i of `others`; float64."""
        sums = np.zeros(len(others))
        self.add_products(rows, coefficients, others, dtype, sums)
        return sums

    def add_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any, out: Array) -> None:
        """Add these sums to `out`, in the order and with the bits of :meth:`RowTable.add`."""
        parts = cut_columns(len(others))
        self.prepare_rows(dtype)

        def fill(number: int) -> None:
            columns, sums = others[parts[number]], out[parts[number]]
            tile, slots = np.empty((min(_ROWS, len(rows)), len(columns)), dtype=dtype), np.arange(_ROWS)
            # A few rows at a time, added in their order: the sums have the bits of the table's.
            for first in range(0, len(rows), _ROWS):
                some = slice(first, min(first + _ROWS, len(rows)))
                own = slots[: some.stop - some.start]
                self.write_values(rows[some], columns, own, tile)
                native.add_rows(tile, own, coefficients[some], 0, len(columns), sums)

        run_numbered(fill, len(parts), count_threads(self.threads, len(rows) * len(others)))

    def make_table(self, columns: Array, capacity: int, dtype: Any) -> "RowTable":
        """Return a table that keeps up to `capacity` kernel rows over some columns."""
        return RowTable(self, columns, capacity, dtype)


class RowTable:
    """Kernel rows over some columns, as many as fit; those unused for longest make room for others."""

    def __init__(self, gram: Gram, columns: Array, capacity: int, dtype: Any) -> None:
        self.gram, self.columns = gram, columns
        self.kept = LeastRecent(len(columns), min(capacity, len(columns)))
        self.values = np.empty((len(self.kept), len(columns)), dtype=dtype)

    def add(self, positions: Array, change: Array, slope: Array) -> None:
        """Add the rows at `positions` among the columns, each times its change, to the slopes of all columns."""
        # Rows that the table does not hold yet are made in the places of the least recently used.
        missing = positions[self.kept.slot[positions] < 0]
        room = self.kept.make_room(positions, missing)
        slots, rows, parts = self.kept.slot[positions], self.columns[missing], cut_columns(len(self.columns))
        self.gram.prepare_rows(self.values.dtype)

        def fill(number: int) -> None:
            part = parts[number]
            if len(rows):
                self.gram.write_values(rows, self.columns[part], room, self.values, part.start)
            native.add_rows(self.values, slots, change, part.start, part.stop, slope)

        width = len(self.columns)
        run_numbered(fill, len(parts), count_threads(self.gram.threads, len(rows) * width, len(slots) * width))


class LeastRecent:
    """A least-recently-used cache: which of `count` rows are kept in which of `slots` slots."""

    def __init__(self, count: int, slots: int) -> None:
        self.slot = np.full(count, -1, dtype=np.intp)
        self.owner = np.full(slots, -1, dtype=np.intp)
        self.used = np.zeros(slots, dtype=np.int64)
        self.clock = self.filled = 0

    def __len__(self) -> int:
        return len(self.owner)

    def make_room(self, positions: Array, missing: Array) -> Array:
        """Free slots of the cache for the rows `missing`, and return them; the rows unused for longest are dropped.

        The rows at `positions` are in use now.
        """
        self.clock += 1
        known = self.slot[positions]
        self.used[known[known >= 0]] = self.clock
        if self.filled + len(missing) <= len(self):
            room = np.arange(self.filled, self.filled + len(missing))
            self.filled += len(missing)
        else:
            # There are few distinct times: counting finds the last whose rows must go in a fifth of the time of a sort.
            last = np.searchsorted(np.cumsum(np.bincount(self.used)), len(missing))
            older, as_old = np.flatnonzero(self.used < last), np.flatnonzero(self.used == last)
            room = np.concatenate([older, as_old[: len(missing) - len(older)]])
            # Slots that were never used have the lowest time, so none is left.
            self.filled = len(self)
        gone = self.owner[room]
        self.slot[gone[gone >= 0]] = -1
        self.owner[room], self.slot[missing], self.used[room] = missing, room, self.clock
        return room
