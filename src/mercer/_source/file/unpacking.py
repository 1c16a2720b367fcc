"""Limits on what archives unpack to: a file of some megabytes can hold terabytes of zeros."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

from mercer._config import get_config
from mercer.errors import DataError

# Bytes that any archive may unpack to where no limit is set.
_ALWAYS = 2**30
# Bytes for each packed byte: tables as text are packed to a fifth up to a fiftieth, bombs to a thousandth.
_RATIO = 100
# Once a file has given this many bytes, and the second number for each packed one, all of it is unpacked at once to
# count it: otherwise a gigabyte is read as a table, which takes a minute and more, before its size is noticed.
_SUSPICIOUS = 2**26
_SUSPICIOUS_RATIO = 50
_CHUNK = 2**20


def find_limit(packed: int, limit: int | None = None) -> int:
    """Return the most bytes that an archive of `packed` bytes may unpack to: as given, configured, or by its size."""
    limit = get_config()["max_unpacked"] if limit is None else limit
    return max(_ALWAYS, _RATIO * packed) if limit is None else limit


def check_archive(name: str, archive: zipfile.ZipFile, packed: int, limit: int | None, cure: str) -> None:
    """Raise if the members of a zip archive declare more bytes than allowed; more than declared is never read."""
    total = sum(member.file_size for member in archive.infolist())
    most = find_limit(packed, limit)
    if total > most:
        raise _refuse(name, f"{total / 1e9:.3g} GB", packed, most, cure)


def _refuse(name: str, got: str, packed: int, most: int, cure: str) -> DataError:
    message = (
        f"{name}: the file unpacks from {packed / 1e6:.3g} MB to {got}; {most / 1e9:.3g} GB are allowed. {cure} if you "
        f"trust the file."
    )
    return DataError(message)


class BoundedReader(io.RawIOBase):
    """Reads an unpacking file, and raises DataError once it has given more bytes than allowed.

    `position` returns the packed bytes that have been read, and `reopen` opens the file once more.
    """

    def __init__(
        self,
        file: Any,
        name: str,
        packed: int,
        limit: int | None,
        cure: str,
        position: Callable[[], int] | None = None,
        reopen: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self._file, self._name, self._packed, self._cure = file, name, packed, cure
        self._most = find_limit(packed, limit)
        self._position, self._reopen = position, reopen
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._file.read(len(buffer))
        self._given += len(chunk)
        self._check(self._given)
        reopen, position = self._reopen, self._position
        if reopen and position and self._given > max(_SUSPICIOUS, _SUSPICIOUS_RATIO * position()):
            self._reopen = None
            self._count_all(reopen)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _count_all(self, reopen: Callable[[], Any]) -> None:
        """Unpack the whole file without keeping it."""
        total = 0
        with reopen() as file:
            while chunk := file.read(_CHUNK):
                total += len(chunk)
                self._check(total)

    def _check(self, given: int) -> None:
        if given > self._most:
            raise _refuse(self._name, "more", self._packed, self._most, self._cure)

    def close(self) -> None:
        self._file.close()
        super().close()
