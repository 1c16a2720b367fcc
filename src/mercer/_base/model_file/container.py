"""A model file's two kinds of member: raw arrays, and the JSON header that describes them.

Everything is written once, in order (arrays, header, the header's checksum), to a temporary file that takes the place
of the target only when it is complete and on disk.
"""

import hashlib
import io
import json
import mmap
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from mercer._base.model_file.archive import ALIGNMENT, MAX_MEMBERS, Member, begin_member, read_members
from mercer._base.model_file.arrays import check_values, parse_dtype, spell_dtype
from mercer._base.model_file.signature import MAX_SIGNATURE, check_signature, sign
from mercer._written_file import open_aside
from mercer.errors import ModelFileError

FORMAT = "mercer-model"
MAX_HEADER = 2**25  # bytes; the worst header of this size takes 0.7 GB when parsed
MAX_NESTING = 500  # brackets; the codec allows 100 levels of values, each at most four brackets deep
MAX_DIMENSIONS = 32
_SMALL = 2**22  # bytes of a file that is read by one call of the system
_CHUNK = 2**22  # bytes hashed and written at a time, small enough to stay in the last-level cache
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # always matches at a quote: linear on any input
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SIGNS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
# Bytes of a header that may be cut into pieces, an object each: 8 MB of memory at most.
_SHORT = 2**18
_ARRAY_FIELDS = {"dtype", "shape", "order", "bytes", "sha256"}

Array = np.ndarray[Any, Any]


def write_container(path: Path, header: dict[str, Any], arrays: Sequence[Array], secret: bytes | None = None) -> None:
    """Write `header`, completed by the description of each array, and the arrays; sign it if a secret is given."""
    # The header, its checksum and, in signed files, its signature are members too.
    most = MAX_MEMBERS - (2 if secret is None else 3)
    if len(arrays) > most:
        raise ModelFileError(f"save: a model file holds at most {most} arrays; got {len(arrays)}. Stack some of them.")
    with open_aside(path) as file, _open_archive(file) as archive:
        entries = [_write_array(archive, file, _array_name(index), array) for index, array in enumerate(arrays)]
        # The reader refuses numbers with a fraction: floats are texts here, and a NaN would be a mistake of an encoder.
        text = json.dumps({**header, "arrays": entries}, separators=(",", ":"), allow_nan=False).encode("ascii")
        if len(text) > MAX_HEADER:
            raise ModelFileError(
                f"save: lists, dictionaries and object arrays may take {MAX_HEADER} bytes as JSON; got {len(text)}. "
                f"Use numeric or fixed-width text arrays for bulk data."
            )
        # The header comes after the arrays because it holds their checksums;
        # the signature of the header thus covers them.
        ends = {"header.json": text, "header.sha256": hashlib.sha256(text).hexdigest().encode()}
        for name, data in (ends if secret is None else {**ends, "header.hmac": sign(text, secret)}).items():
            with archive.open(begin_member(archive, file, name), "w", force_zip64=True) as member:
                member.write(data)


@contextmanager
def _open_archive(file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """Write an archive to a file, and end it if the block ends well.

    Zipfile cannot end an archive in which Ctrl-C left a member open: its ValueError would take the place of
    KeyboardInterrupt. The file is dropped then.
    """
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        yield archive
        archive.close()
    except BaseException:
        archive.fp = None  # without a file there is nothing to close, here or by the destructor
        raise


def _array_name(index: int) -> str:
    return f"arrays/{index:04d}.bin"


def _write_array(archive: zipfile.ZipFile, file: BinaryIO, name: str, array: Array) -> dict[str, Any]:
    """Write one array, hashing on the way, and describe it."""
    spelling = spell_dtype(array.dtype)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    stored = np.asarray(array, dtype=spelling, order=order)  # type: ignore[call-overload]
    data = memoryview(stored.reshape(-1, order=order).view(np.uint8))
    digest = hashlib.sha256()
    with archive.open(begin_member(archive, file, name), "w", force_zip64=True) as member:
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            digest.update(chunk)
            member.write(chunk)
    shape = list(array.shape)
    return {"dtype": spelling, "shape": shape, "order": order, "bytes": len(data), "sha256": digest.hexdigest()}


def read_container(path: Path, limits: "Limits") -> tuple[dict[str, Any], "ArrayReader"]:
    """Read the header, whose checksum and signature are verified, and prepare to read the arrays."""
    file = open(path, "rb")  # noqa: SIM115 - handed to the reader, or closed here
    try:
        size = os.fstat(file.fileno()).st_size
        if limits.max_bytes is not None and size > limits.max_bytes:
            raise ModelFileError(
                f"a file may have max_bytes = {limits.max_bytes} bytes; it has {size}. Raise max_bytes."
            )
        if size <= _SMALL and not limits.mapped:
            # One call of the system in place of two for each array: a small model may have hundreds of arrays.
            with file:
                file = io.BytesIO(file.read(size))  # type: ignore[assignment]
        members = read_members(file, size)
        header = _read_header(file, members, limits.secret)
    except BaseException:
        file.close()
        raise
    return header, ArrayReader(file, members, limits.mapped)


class Limits(NamedTuple):
    """What a reader demands of a file: whether its arrays are mapped, the key of its signature, and its size."""

    mapped: bool = False
    secret: bytes | None = None
    max_bytes: int | None = None


def _read_header(file: BinaryIO, members: dict[str, Member], secret: bytes | None) -> dict[str, Any]:
    missing = {"header.json", "header.sha256"} - members.keys()
    if missing:
        raise ModelFileError(f"a model file has a {min(missing)}; this zip archive has none.")
    # 64 is the number of hexadecimal digits of SHA-256.
    if members["header.json"].size > MAX_HEADER or members["header.sha256"].size != 64:
        raise ModelFileError(
            f"a header has at most {MAX_HEADER} bytes and its checksum 64; this file declares other sizes."
        )
    file.seek(members["header.json"].offset)
    text = file.read(members["header.json"].size)
    file.seek(members["header.sha256"].offset)
    if file.read(64) != hashlib.sha256(text).hexdigest().encode():
        raise ModelFileError("header.json does not match its checksum; the file is damaged. Copy it again.")
    # The signature is checked before the JSON is parsed: unsigned text does not reach the parser.
    if secret is not None:
        check_signature(text, read_signature(file, members), secret)
    header = _parse(text)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"header.json must be an object whose format is {FORMAT!r}; this one is not.")
    return header


def read_signature(file: BinaryIO, members: dict[str, Member]) -> bytes | None:
    """Return the signature of a file as it is written there, or None if there is none."""
    member = members.get("header.hmac")
    if member is None:
        return None
    file.seek(member.offset)
    return file.read(min(member.size, MAX_SIGNATURE + 1))


def _leave_out_texts(text: bytes) -> bytes:
    """Return JSON without its texts."""
    if len(text) > _SHORT or b"\\" in text:
        return _STRING.sub(b"", text)
    # Without escapes every second piece between quotes is a text; cutting takes a fifth of the expression's time.
    return b"".join(text.split(b'"')[::2])


def _parse(text: bytes) -> Any:
    """Parse JSON of ASCII text, integers of up to 53 bits, and unique keys; nothing else."""
    # Brackets count +1 and -1 outside of texts; the running sum is the depth, found without recursion.
    brackets = np.frombuffer(_leave_out_texts(text).translate(_SIGNS, _NO_BRACKETS), np.int8)
    if np.max(np.cumsum(brackets, dtype=np.int32), initial=0) > MAX_NESTING:
        raise ModelFileError(f"the header may nest {MAX_NESTING} brackets; this one nests more.")
    try:
        return json.loads(
            text.decode("ascii"),
            object_pairs_hook=_unique,
            parse_int=_small_integer,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"header.json must be plain JSON in ASCII; {str(error)[:200]}.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key comes twice in one object")
    return result


def _small_integer(digits: str) -> int:
    # Numbers of fifteen digits have less than 50 bits.
    if len(digits) <= 15:
        return int(digits)
    if len(digits) > 17 or abs(int(digits)) > 2**53:
        raise ValueError(f"the integer {digits[:20]} has more than 53 bits")
    return int(digits)


def _refuse_number(digits: str) -> Any:
    raise ValueError(f"the number {digits[:20]} is not an integer")


class ArrayReader:
    """Reads the arrays that a header describes, each checked against the file before memory is taken for it."""

    def __init__(self, file: BinaryIO, members: dict[str, Member], mapped: bool) -> None:
        self._file: Any = file  # opened unbuffered or buffered: both have readinto, which BinaryIO does not declare
        self._members = members
        self._mapped = mapped

    def read_all(self, entries: Any) -> list[Array]:
        """Read every array; the entries and the members must correspond one to one."""
        if not isinstance(entries, list):
            raise ModelFileError("the header must list the arrays; this one does not.")
        names = [_array_name(index) for index in range(len(entries))]
        # The symmetric difference also finds members that no entry of the header describes.
        strangers = (self._members.keys() - {"header.hmac"}) ^ {"header.json", "header.sha256", *names}
        if strangers:
            raise ModelFileError(
                f"members and header must list the same arrays; they differ in {min(strangers)[:40]!r}."
            )
        source = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if self._mapped else None
        return [self._read(self._members[name], entry, source) for name, entry in zip(names, entries, strict=True)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def _read(self, member: Member, entry: Any, source: mmap.mmap | None) -> Array:
        dtype, shape, order = _check_entry(entry, member.size)
        if source is None:
            array = np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
        elif member.offset % ALIGNMENT:
            raise ModelFileError(f"only arrays aligned to {ALIGNMENT} bytes can be mapped; load with mmap_mode=None.")
        else:
            array = np.ndarray(shape, dtype, source, member.offset, order=order)  # type: ignore[arg-type]
        flat = array.reshape(-1, order=order)
        if self._fill(member, memoryview(flat.view(np.uint8)), read=source is None) != entry["sha256"]:
            raise ModelFileError("an array does not match its checksum; the file is damaged. Copy it again.")
        check_values(flat)
        return array if dtype.isnative else np.asarray(array, dtype=dtype.newbyteorder("="))

    def _fill(self, member: Member, data: memoryview, read: bool) -> str:
        """Read the member into `data`, unless it is mapped there already, and return its checksum."""
        self._file.seek(member.offset)
        if len(data) <= _CHUNK:
            self._read_chunk(data, read)
            return hashlib.sha256(data).hexdigest()
        digest = hashlib.sha256()
        # Chunks let the checksum be computed while the bytes are still in the cache.
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            self._read_chunk(chunk, read)
            digest.update(chunk)
        return digest.hexdigest()

    def _read_chunk(self, chunk: memoryview, read: bool) -> None:
        """Read the next bytes of the file into `chunk`, unless it is mapped there already."""
        if read and self._file.readinto(chunk) != len(chunk):
            raise ModelFileError("an array ends too early; the file is truncated.")


def _check_entry(entry: Any, size: int) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    """Return the dtype, shape and order of a described array, which must need exactly the member's bytes."""
    if not isinstance(entry, dict) or entry.keys() != _ARRAY_FIELDS:
        raise ModelFileError(f"an array is described by {', '.join(sorted(_ARRAY_FIELDS))}; one entry is not.")
    shape, order = entry["shape"], entry["order"]
    dtype = parse_dtype(entry["dtype"])
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(map(_is_length, shape)):
        raise ModelFileError(
            f"a shape is a list of at most {MAX_DIMENSIONS} integers in [0, 2**48]; got {str(shape)[:80]}."
        )
    # Python's integers cannot overflow here, as a product of int64 would for a forged shape.
    needed = dtype.itemsize
    for length in shape:
        needed *= length
    if order not in ("C", "F") or type(entry["bytes"]) is not int or not needed == entry["bytes"] == size:
        raise ModelFileError(
            f"an array of {entry['dtype']} and shape {shape} needs {needed} bytes in order C or F; it has {size}."
        )
    return dtype, tuple(shape), order


def _is_length(length: Any) -> bool:
    return type(length) is int and 0 <= length <= 2**48
