"""The zip archive around a model file: written so that arrays can be mapped, read as if an enemy had written it.

Members are stored, never compressed, so no member can be larger than the file. The reader takes every size and offset
from the central directory, checks it against the size of the file, and refuses whatever it has no use for.
"""

import struct
import zipfile
from typing import BinaryIO, NamedTuple

from mercer.errors import ModelFileError

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
MAX_MEMBERS = 65_000  # below 65 535, where zip needs another kind of count

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")
_ZIP64_LOCAL_FIELD = 20
_ALIGNMENT_FIELD = 0xD935  # the id that Android's zipalign uses for the same purpose
_UNSET = 0xFFFFFFFF
_MAX_DIRECTORY = MAX_MEMBERS * 256


class Member(NamedTuple):
    """Where the bytes of one member lie in the file."""

    offset: int
    size: int


def begin_member(archive: zipfile.ZipFile, file: BinaryIO, name: str) -> zipfile.ZipInfo:
    """Describe the next member, padded so that its data starts at a multiple of `ALIGNMENT`."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # no clock: equal models make equal files
    info.create_system = 3
    before = file.tell() + _LOCAL.size + len(name) + _ZIP64_LOCAL_FIELD + 6
    padding = -before % ALIGNMENT
    info.extra = struct.pack("<HHH", _ALIGNMENT_FIELD, 2 + padding, ALIGNMENT) + bytes(padding)
    return info


def read_members(file: BinaryIO, length: int) -> dict[str, Member]:
    """Find every member of a zip file of stored members, by name; the file has `length` bytes."""
    count, size, start = _read_end(file, length)
    # The directory's own numbers are checked before anything is read, so a forged size cannot ask for memory.
    if count > MAX_MEMBERS or size > _MAX_DIRECTORY or start + size > length:
        raise ModelFileError(
            f"its directory must lie in the file and list at most {MAX_MEMBERS} members; the file is damaged."
        )
    directory = _read(file, start, size)
    members: dict[str, Member] = {}
    spans = []
    position = 0
    for _ in range(count):
        name, header, data_size, position = _read_entry(directory, position)
        if name in members:
            raise ModelFileError(f"member names must be unique; {name!r} comes twice.")
        offset = _data_offset(file, header, name.encode("ascii"), start)
        members[name] = Member(offset, data_size)
        # Members that overlap would let a small file stand for large arrays; the spans are compared at the end.
        spans.append((header, offset + data_size))
    _check_spans(spans, start)
    return members


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise ModelFileError("it ends too early; the file is truncated.")
    return data


def _read_end(file: BinaryIO, length: int) -> tuple[int, int, int]:
    """Read the number of members, the size of the directory and its offset from the end of the file."""
    if length < _END.size:
        raise ModelFileError(f"a model file is a zip archive; this file has {length} bytes, too few for one.")
    mark, disk, first_disk, here, count, size, start, comment = _END.unpack(_read(file, length - _END.size, _END.size))
    # Archives of several disks, or with a comment after the directory, are not what the writer makes.
    if mark != b"PK\x05\x06" or comment or disk or first_disk or here != count:
        raise ModelFileError("a model file is a zip archive without comment; this file does not end like one.")
    # Fields with all bits set refer to the zip64 directory, whose fields are 64 bits wide.
    if _UNSET not in (size, start):
        return count, size, start
    if length < _END.size + _END64_LOCATOR.size + _END64.size:
        raise ModelFileError("its large-file directory is missing; the file is truncated.")
    mark, _, where, _ = _END64_LOCATOR.unpack(
        _read(file, length - _END.size - _END64_LOCATOR.size, _END64_LOCATOR.size)
    )
    if mark != b"PK\x06\x07" or where > length - _END64.size:
        raise ModelFileError("its large-file directory cannot be found; the file is damaged.")
    mark, *_, count, size, start = _END64.unpack(_read(file, where, _END64.size))
    if mark != b"PK\x06\x06":
        raise ModelFileError("its large-file directory cannot be read; the file is damaged.")
    return count, size, start


def _read_entry(directory: bytes, position: int) -> tuple[str, int, int, int]:
    """Read one entry: the member's name, the offset of its local header, its size, and where the next entry starts."""
    if position + _ENTRY.size > len(directory):
        raise ModelFileError("its directory ends too early; the file is damaged.")
    fields = _ENTRY.unpack_from(directory, position)
    # Places in the central directory's record: 5 flags, 6 method, 10 compressed size, 11 size, 18 offset of the header.
    mark, flags, method, stored, size = (fields[0], fields[5], fields[6], fields[10], fields[11])
    name_length, extra_length, comment_length, disk = fields[12:16]
    header = fields[18]
    name_end = position + _ENTRY.size + name_length
    name = directory[position + _ENTRY.size : name_end]
    if mark != b"PK\x01\x02" or not name.isascii() or disk not in (0, 0xFFFF):
        raise ModelFileError("its directory cannot be read; the file is damaged.")
    # Bit 0 of the flags marks an encrypted member.
    if method != zipfile.ZIP_STORED or flags & 1:
        raise ModelFileError(
            f"members must be stored, neither compressed nor encrypted; {name.decode('ascii')[:40]!r} is not."
        )
    extra = directory[name_end : name_end + extra_length]
    size, stored, header = _large_numbers(extra, (size, stored, header))
    if size != stored:
        raise ModelFileError(
            f"a stored member has one size; {name.decode('ascii')[:40]!r} declares {stored} and {size} bytes."
        )
    return name.decode("ascii"), header, size, name_end + extra_length + comment_length


def _large_numbers(extra: bytes, numbers: tuple[int, int, int]) -> tuple[int, int, int]:
    """Replace the numbers that did not fit 32 bits by those of the zip64 field."""
    if _UNSET not in numbers:
        return numbers
    position = 0
    # The extra part is a list of (kind, size, data), each number of 16 bits; kind 1 is the zip64 field.
    while position + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, position)
        # The field holds 64-bit numbers only for those that are unset, in the order size, stored size, offset.
        if kind == 1 and size >= 8 * numbers.count(_UNSET) and position + 4 + size <= len(extra):
            large = iter(struct.unpack_from(f"<{size // 8}Q", extra, position + 4))
            first, second, third = (next(large) if number == _UNSET else number for number in numbers)
            return first, second, third
        position += 4 + size
    raise ModelFileError("a large member's size is missing; the file is damaged.")


def _data_offset(file: BinaryIO, header: int, name: bytes, limit: int) -> int:
    """Return where a member's data starts, from its local header, which must agree on the name."""
    if header + _LOCAL.size + len(name) > limit:
        raise ModelFileError("a member must lie before the directory; the file is damaged.")
    record = _read(file, header, _LOCAL.size + len(name))
    fields = _LOCAL.unpack_from(record)
    # Field 10 of the local header is the length of the name, field 11 that of the extra part that follows it.
    if fields[0] != b"PK\x03\x04" or record[_LOCAL.size :] != name or fields[10] != len(name):
        raise ModelFileError(
            f"the two records of member {name.decode('ascii')[:40]!r} must agree; the file is damaged."
        )
    return header + _LOCAL.size + len(name) + int(fields[11])


def _check_spans(spans: list[tuple[int, int]], limit: int) -> None:
    """Check that no members overlap: else a small file could stand for any amount of data."""
    end = 0
    for first, last in sorted(spans):
        if first < end or last > limit:
            raise ModelFileError("members must lie one after the other, before the directory; the file is damaged.")
        end = last
