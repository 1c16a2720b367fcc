"""Rows of a kernel matrix: computed in tiles by products, and kept in a bounded table.

Tiles have fixed shapes, padded where rows are few, so that a value does not depend on what it was computed with;
columns are computed on all threads. The solvers ask for kernel values through :class:`Gram` only.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.dual import pair_descent as native
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.kernels import Kernel
from mercer.svm._dual.program import DualProgram

# Rows and columns of a tile of a square.
_SQUARE = 256
# Rows whose values are added to sums at a time.
_ROWS = 256
# Nanoseconds to compute a value and to read one that is kept, and those of work that are worth calling a thread for.
_MADE = 2.0
_READ = 0.25
_WORTH = 5e5
# Rows computed at a time, and added while a core has them in its own cache: 64 KB of a tile of 512 columns.
GROUP = 32
# Places of rows that are used once: the last few of a group may wait for the next, as rows are added four at a time.
_PASSING = 2 * GROUP
# Columns: rows begin at an odd multiple of it, so that they do not share their places in caches.
_ACROSS = 32
# Bytes of new memory that are written at a time before Ctrl-C is looked for: 8 pages of 2 MiB, at up to 4 ms each.
_NEW = 2**24
# Values between two that are written: none of the smallest pages, of 4 KiB, is left out.
_PAGE = 512


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
    """The values of a kernel between the rows `X`: all that a solver may ask about them.

    Rows are named by their index; `dtype` is float32 or float64. :class:`~mercer.svm._dual.device_gram.DeviceGram`
    computes the values of rows on a device.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix
    threads : int
        Worker threads of the host.
    given : bool, default=False
        Whether `X` holds the kernel values themselves, which are used as they are.
    """

    # Whether kernel values are made anew whenever they are needed, and sets of rows stay where they are.
    on_device = False

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

    def count_set(self, dtype: Any, groups: int) -> int:
        """Return the least number of coefficients in a working set of a large program."""
        # Their square has 6.5 MB in float32.
        return 1280

    def descend(self, program: DualProgram, rows: Array, dtype: Any, *rest: Any) -> int | None:
        """Take pair steps where the rows are, if that is not the host; the arguments are those of a descent there."""
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


class Sweep:
    """Where the kernel rows of some positions are: the missing ones are computed into `room`; then all are in `slots`.

    ``groups`` (k, 2) has the number of rows computed, and of rows added, when each group is done. The latter are
    multiples of four but for the last, as rows are added four at a time: sums do not depend on which rows were kept.
    """

    def __init__(self, missing: Array, slots: Array) -> None:
        self.missing, self.room, self.slots = missing, slots[missing], slots
        made = np.arange(GROUP, len(missing) + GROUP, GROUP)
        added = np.full(len(made), len(slots))
        added[:-1] = missing[made[:-1]] // 4 * 4
        made[-1:] = len(missing)
        self.groups = np.stack([made, added], axis=1) if len(made) else np.array([[0, len(slots)]])


class SweptRows:
    """A table of kernel rows over some columns, as many as `room` bytes hold, plus those that are used once."""

    def __init__(self, columns: int, room: int, dtype: Any) -> None:
        stride = (-(-columns // _ACROSS) | 1) * _ACROSS
        capacity = room // (stride * np.dtype(dtype).itemsize)
        self.kept = LeastRecent(columns, max(0, min(capacity - _PASSING, columns)))
        self.values = np.empty((len(self.kept) + _PASSING, stride), dtype=dtype)
        # Rows from here on have never been written.
        self._fresh = 0

    def sweep(self, positions: Array) -> Sweep:
        """Find slots for the rows at `positions` among the columns, in rising order."""
        missing = np.flatnonzero(self.kept.slot[positions] < 0)
        count = min(len(missing), len(self.kept) - (len(positions) - len(missing)))
        self.kept.make_room(positions, positions[missing[:count]])
        slots, passing = self.kept.slot[positions], missing[count:]
        self._touch(slots)
        slots[passing] = len(self.kept) + np.arange(len(passing)) % _PASSING
        return Sweep(missing, slots)

    def _touch(self, slots: Array) -> None:
        """Write into the memory of slots that are used for the first time, some of it at a time.

        The system gives memory when it is first written, in pages of 2 MiB that hold many rows: the first tile of a
        sweep would wait for all pages in one native call, 0.4 s for 170 MB on a virtual machine.
        """
        stop, rows = int(slots.max(initial=-1)) + 1, max(1, _NEW // self.values[:1].nbytes)
        while self._fresh < stop:
            last = min(self._fresh + rows, stop)
            self.values[self._fresh : last, ::_PAGE] = 0.0
            self._fresh = last

    def pass_by(self, count: int) -> Sweep:
        """Find slots for `count` rows that are used once."""
        return Sweep(np.arange(count), len(self.kept) + np.arange(count) % _PASSING)
