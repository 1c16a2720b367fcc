"""Find the format of a file from its first bytes: names can be wrong, and standard input has none."""

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mercer._config import read_bytes
from mercer._source.file.unpacking import check_archive
from mercer.errors import DataError, MercerError

# What the user can do about a limit.
UNPACK = "Give --max-unpacked SIZE, such as 20GB,"
FORMATS = "CSV, TSV, Parquet, Arrow, Excel, JSON lines or SQLite"
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "stream",
    b"SQLite format 3\x00": "sqlite",
    b"\x1f\x8b": "gzip",
}
# First bytes of files that people give by mistake.
_STRANGERS = {
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "a file of old Excel or Word",
    b"7z\xbc\xaf": "a 7z archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"\x7fELF": "a program",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"\x80\x04\x95": "a pickle",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML document",
}
# Addresses of other machines, which people give like paths.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)

# Share of zeros in a byte of each letter from which a text without a mark is UTF-16 or UTF-32.
_WIDE = 0.7


@dataclass(frozen=True)
class Place:
    """Where a table is: a path, or bytes from standard input; and which part of the file it is."""

    name: str
    path: Path | None
    content: bytes = b""
    part: str | None = None
    max_unpacked: int | None = None  # the most bytes that the file may unpack to; None means by its size

    def open(self) -> io.BufferedIOBase:
        """Open the bytes, from the start."""
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")

    @property
    def size(self) -> int:
        """The number of bytes, packed as they are."""
        return len(self.content) if self.path is None else self.path.stat().st_size

    @property
    def origin(self) -> str | io.BytesIO:
        """A path, which pyarrow can map into memory, or a buffer."""
        return io.BytesIO(self.content) if self.path is None else str(self.path)


@contextmanager
def report_damage(place: Place) -> Iterator[None]:
    """Turn any exception of a reader into the error that the file is damaged: each format has its own exceptions."""
    try:
        yield
    # These are no damage: a rule of ours, too little memory, or a package that is not installed.
    except (MercerError, MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise DataError(f"{place.name}: the file is damaged ({reason}). Write it again.") from None


def find_place(source: str | Path, max_unpacked: Any = None) -> Place:
    """Return where `source` points; ``-`` is standard input, and ``file::part`` a table in a file of several.

    `max_unpacked`, a number of bytes or a text such as ``"20 GB"``, limits what a packed file may unpack to.
    """
    return replace(_find_place(source), max_unpacked=read_bytes("run", "max_unpacked", max_unpacked))


def _find_place(source: str | Path) -> Place:
    text = str(source)
    if text == "-":
        return Place("standard input", None, sys.stdin.buffer.read())
    part = None
    if "::" in text and not Path(text).exists():
        text, _, part = text.rpartition("::")
    path = Path(text).expanduser()
    if not path.exists():
        if _ADDRESS.match(text):
            raise DataError(
                f"{text}: a table must be a file; mercer downloads nothing. Save it first, or give - and pipe it in."
            )
        raise DataError(
            f"{text}: there is no such file. Give the path of a table ({FORMATS}), or - for standard input."
        )
    try:
        if path.is_fifo():
            # A pipe can be read only once.
            return Place(path.name, None, path.read_bytes(), part)
        if path.is_file():
            path.open("rb").close()
    except OSError as error:
        raise DataError(
            f"{text}: the file cannot be read ({error.strerror}). Change its permissions, or copy it."
        ) from None
    return Place(path.name, path, part=part)


def find_format(place: Place) -> str:
    """Return "delimited", "gzip", "json", "parquet", "folder", "arrow", "stream", "excel" or "sqlite"."""
    if place.path is not None and place.path.is_dir():
        return "folder"
    with place.open() as file:
        head = file.read(4096)
    if not head.strip():
        raise DataError(f"{place.name}: the file is empty. Give a table with a line of column names and rows below it.")
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if head.startswith(b"PK\x03\x04"):
        return _find_zip_format(place)
    for magic, kind in _STRANGERS.items():
        if head.lstrip()[: len(magic)].lower() == magic.lower():
            raise _refuse(place, kind)
    # UTF-16 and UTF-32 have zero bytes in plain text, so they are looked for before zeros count as binary.
    if find_wide_encoding(head) is not None:
        return "delimited"
    if b"\x00" in head:
        raise _refuse(place, "neither text nor a known format")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if start.startswith((b'{"', b"[{", b"{ ", b"{}", b"[ {", b"[\n")) else "delimited"


def find_wide_encoding(head: bytes) -> str | None:
    """Return the name of UTF-16 or UTF-32 if the first bytes of a file are in it, with a mark or without; else None."""
    # The mark of UTF-32 begins with that of UTF-16, so it is tried first.
    for marks, name in (((b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "utf-32"), ((b"\xff\xfe", b"\xfe\xff"), "utf-16")):
        if head.startswith(marks):
            return name
    # Without a mark: of most letters all bytes but one are zero, and that one is in the same place of each.
    for width, name in ((4, "utf-32"), (2, "utf-16")):
        whole = head[: len(head) // width * width]
        zeros = [whole[place::width].count(0) * width / max(1, len(whole)) for place in range(width)]
        for order, text in (("le", 0), ("be", width - 1)):
            others = zeros[:text] + zeros[text + 1 :]
            # A tab is the lowest character of a text.
            if len(whole) >= 2 * width and min(whole[text::width]) >= 9 and min(others) >= _WIDE:
                return f"{name}-{order}"
    return None


def _find_zip_format(place: Place) -> str:
    """Return "excel" for a workbook; other archives are refused."""
    with place.open() as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError):
            raise _refuse(place, "a damaged archive") from None
        if "xl/workbook.xml" in archive.namelist():
            check_archive(place.name, archive, place.size, place.max_unpacked, UNPACK)
            return "excel"
    raise _refuse(place, "a zip archive")


def _refuse(place: Place, kind: str) -> DataError:
    """Return the error that the file is not a table."""
    message = f"{place.name}: this is not a table but {kind}. Give a table as {FORMATS}."
    return DataError(message)
