"""A .npy file read by position, never mapped.

A mapped file that another program makes shorter kills its readers with a bus error; a positioned read returns fewer
bytes, which can be reported. The pages read belong to the system's cache and not to the process.
"""

import math
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from mercer._types import Array
from mercer.errors import DataError

# The reader of the header for each version of the format; NumPy writes later versions for structured types only.
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class NpyFile:
    """The array in a .npy file; any number of threads may read it. Pickled by its path.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        As stored: no byte is turned.
    name : str
        The path as the user gave it.
    """

    def __init__(self, path: str | os.PathLike[str], subject: str) -> None:
        self.name = os.fspath(path)
        self.path = os.path.abspath(self.name)
        self.subject = subject
        self._open()

    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool

    def _open(self) -> None:
        """Open the file, and read its header and its size; raise if it holds no plain array or is not complete."""
        try:
            self.file = open(self.path, "rb", buffering=0)  # noqa: SIM115 (closed with this object)
        except OSError as error:
            self._refuse(f"cannot be opened ({error.strerror}); check its name and its permissions")
        self.close = weakref.finalize(self, self.file.close)
        self.lock = threading.Lock()
        try:
            header = _HEADERS.get(np.lib.format.read_magic(self.file))
            if header is None:
                self._refuse_values("structured values")
            self.shape, self.fortran, self.dtype = header(self.file)
        except ValueError as error:
            self._refuse(f"is not a complete .npy file ({error}); write it with numpy.save")
        # Objects would have to be unpickled, which could execute code.
        if self.dtype.names is not None or self.dtype.hasobject or self.dtype.itemsize == 0:
            self._refuse_values("Python objects" if self.dtype.hasobject else "structured values")
        self.offset = self.file.tell()
        status = os.fstat(self.file.fileno())
        self.size, self.changed = status.st_size, status.st_mtime_ns
        self._check_size(self.size, "its last row")

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def read(self, start: int, stop: int, where: str = "") -> Array:
        """Read the rows from `start` to `stop`, C-ordered, as stored; `where` names them in errors."""
        where = where or f"rows {start} to {stop - 1}"
        if not self.fortran or len(self.shape) == 1:
            raw = np.empty((stop - start) * self.row_bytes, dtype=np.uint8)
            self._fill(raw, self.offset + start * self.row_bytes, where)
            return raw.view(self.dtype).reshape(stop - start, *self.shape[1:])
        size = self.dtype.itemsize
        columns = math.prod(self.shape[1:])
        raw = np.empty((columns, (stop - start) * size), dtype=np.uint8)
        # Columns lie one after another in Fortran order: each is read by itself.
        for number in range(columns):
            self._fill(raw[number], self.offset + (number * self.shape[0] + start) * size, where)
        return np.ascontiguousarray(raw.view(self.dtype).T)

    def gather(self, rows: Array) -> Array:
        """Read rows by index, in the order asked; rows that follow one another in the file are read at once."""
        # Sorted rows are read in the order of the file; `places` restores the order asked for.
        wanted, places = np.unique(rows, return_inverse=True)
        values = np.empty((len(wanted), *self.shape[1:]), dtype=self.dtype)
        for first, last in _runs(wanted):
            values[first:last] = self.read(int(wanted[first]), int(wanted[last - 1]) + 1)
        return values[places.reshape(-1)]

    def will_need(self, start: int, stop: int) -> None:
        """Ask the system to read these rows ahead, so that the disk works while the processor does."""
        if hasattr(os, "posix_fadvise") and not self.fortran:
            begin = self.offset + start * self.row_bytes
            os.posix_fadvise(self.file.fileno(), begin, (stop - start) * self.row_bytes, os.POSIX_FADV_WILLNEED)

    def _fill(self, raw: np.ndarray, offset: int, where: str) -> None:
        """Read bytes of the file from `offset` on until `raw` is full."""
        view, done = raw.data, 0
        while done < len(view):
            count = self._read_some(view[done:], offset + done)
            # A read of zero bytes is the end of the file, which the header says comes later.
            if count == 0:
                self._check_size(offset + done, where)
                self._refuse(f"ended before {where}; it was changed while it was read. Fit again when it is complete")
            done += count

    def _read_some(self, view: memoryview, offset: int) -> int:
        """Read at most ``len(view)`` bytes from `offset` on, and return how many there were."""
        try:
            if hasattr(os, "preadv"):
                return os.preadv(self.file.fileno(), [view], offset)
            with self.lock:
                self.file.seek(offset)
                return self.file.readinto(view) or 0
        except OSError as error:
            self._refuse(f"cannot be read ({error.strerror})")

    def _check_size(self, size: int, where: str) -> None:
        """Raise if a file of `size` bytes is shorter than its header promises."""
        needed = self.offset + math.prod(self.shape) * self.dtype.itemsize
        if size < needed:
            self._refuse(
                f"ended before {where}: {size} bytes are there and its header promises {needed}. It was cut short, or "
                f"shrank while it was read; write it again"
            )

    def _refuse_values(self, kind: str) -> NoReturn:
        """Raise for a file whose values are not numbers or text."""
        self._refuse(f"must hold numbers or text; got {kind}, which are not read. Save a plain array")

    def _refuse(self, sentence: str) -> NoReturn:
        """Raise a DataError that names the reader and the file."""
        raise DataError(f"{self.subject}: the file {self.name} {sentence}.")

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "path": self.path, "subject": self.subject}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()


def _runs(numbers: Array) -> Iterator[tuple[int, int]]:
    """Return the bounds of each run of consecutive indices in rising `numbers`."""
    ends = np.flatnonzero(np.diff(numbers) != 1) + 1
    return zip([0, *ends.tolist()], [*ends.tolist(), len(numbers)], strict=True)
