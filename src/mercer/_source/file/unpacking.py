"""Limits on what archives unpack to: a file of some megabytes can hold terabytes of zeros."""

import io
import zipfile
from typing import Any

from mercer._config import get_config
from mercer.errors import DataError

# Bytes that any archive may unpack to where no limit is set.
_ALWAYS = 2**30
# Bytes for each packed byte: tables as text are packed to a fifth up to a fiftieth, bombs to a thousandth.
_RATIO = 100


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
    """Reads an unpacking file, and raises DataError once it has given more bytes than allowed."""

    def __init__(self, file: Any, name: str, packed: int, limit: int | None, cure: str) -> None:
        super().__init__()
        self._file, self._name, self._packed, self._cure = file, name, packed, cure
        self._most = find_limit(packed, limit)
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._file.read(len(buffer))
        self._given += len(chunk)
        if self._given > self._most:
            raise _refuse(self._name, "more", self._packed, self._most, self._cure)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._file.close()
        super().close()
