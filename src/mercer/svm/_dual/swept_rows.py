"""Kernel rows that worker threads compute on their sweeps: those with room in a table stay, others are used once."""

from typing import Any

import numpy as np

from mercer._types import Array
from mercer.svm._dual.gram_rows import LeastRecent

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
