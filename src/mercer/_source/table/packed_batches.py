"""What tables of Arrow and Parquet take once they are unpacked, told from what their files say before they are read.

A file of Arrow may hold one batch of any length in a kilobyte: packed zeros, columns of nothing, runs, texts that many
rows share. Its messages say how long each buffer will be. Parquet is read a few rows at a time, so that the longest
text that rows can share fits as often as it may occur.
"""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._source.file.unpacking import find_limit
from mercer._source.table.bounds import check_bytes
from mercer._source.table.format import Place
from mercer.errors import DataError

# Bytes that a value takes in a frame, and one inside of a list, an object of Python.
_VALUE = 8
_NESTED_VALUE = 64
# Kinds of messages in a file of Arrow: a dictionary, and a batch of rows.
_DICTIONARY = 2
_BATCH = 3
# Bytes that a block of the footer has, and those of an entry of a list of buffers and of nodes.
_BLOCK = 24
_ENTRY = 16
# The mark at the end of a file of Arrow, after the length of its footer.
_MARK = b"ARROW1"
# A batch may take this part of what a table may: the table and copies of the batch are in memory too.
_PARTS = 4
# The kind of a page that holds texts which rows share, and the bytes in which the head of a page tells its length.
_SHARED_PAGE = 2
_PAGE_HEAD = 32


class _Fields:
    """The fields of a table in the encoding of FlatBuffers; what lies outside of the bytes raises struct.error."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self._place = data, place
        self._list = place - self._read("<i", place)

    @classmethod
    def open(cls, data: bytes) -> "_Fields":
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def _read(self, form: str, place: int) -> int:
        if place < 0:
            raise struct.error("a place before the first byte")
        number: int = struct.unpack_from(form, self.data, place)[0]
        return number

    def _find(self, field: int) -> int | None:
        """Return where a field is stored; None where it is not."""
        entry = 4 + 2 * field
        if entry >= self._read("<H", self._list):
            return None
        offset = self._read("<H", self._list + entry)
        return self._place + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """Return a number, 0 if it is not stored."""
        place = self._find(field)
        return 0 if place is None else self._read(form, place)

    def table(self, field: int) -> "_Fields | None":
        """Return a table inside of this one."""
        place = self._find(field)
        return None if place is None else _Fields(self.data, place + self._read("<I", place))

    def entries(self, field: int, size: int) -> bytes:
        """Return the entries of a list, of `size` bytes each."""
        place = self._find(field)
        if place is None:
            return b""
        place += self._read("<I", place)
        end = place + 4 + size * self._read("<I", place)
        if end > len(self.data):
            raise struct.error("a list that ends after the last byte")
        return self.data[place + 4 : end]


def _measure_message(message: Any) -> int:
    """Return the bytes that a batch or a dictionary takes in memory; 0 for other messages."""
    head = _Fields.open(message.metadata.to_pybytes())
    kind, content = head.number(1, "<B"), head.table(2)
    if kind == _DICTIONARY and content is not None:
        content = content.table(1)
    elif kind != _BATCH:
        return 0
    if content is None:
        return 0
    nodes = np.frombuffer(content.entries(1, _ENTRY), "<i8")[::2]
    buffers = np.frombuffer(content.entries(2, _ENTRY), "<i8").reshape(-1, 2)
    values = _VALUE * int(nodes.astype(object).sum()) if len(nodes) else 0
    if content.table(3) is None:
        return values + int(buffers[:, 1].astype(object).sum())
    # A packed buffer begins with its length when unpacked; -1 says that it is not packed.
    body, total = message.body, values
    for offset, length in buffers.tolist():
        unpacked = struct.unpack_from("<q", body, offset)[0] if length >= _VALUE and offset >= 0 else -1
        total += length if unpacked < 0 else unpacked
    return total


def _read_messages(place: Place, kind: str) -> Iterator[Any]:
    """Yield the messages of a file of Arrow: those that its footer lists, as often as it lists them, or of a stream."""
    import pyarrow

    file = pyarrow.BufferReader(place.content) if place.path is None else pyarrow.memory_map(str(place.path))
    with file:
        if kind == "stream":
            yield from pyarrow.ipc.MessageReader.open_stream(file)
            return
        size = file.size()
        tail = file.read_at(4 + len(_MARK), max(0, size - 4 - len(_MARK)))
        length = struct.unpack_from("<i", tail)[0]
        if tail[4:] != _MARK or not 0 < length < size:
            raise ValueError("the file has no footer")
        footer = _Fields.open(file.read_at(length, size - 4 - len(_MARK) - length))
        for field in (2, 3):
            for offset, _, _ in struct.iter_unpack("<qqq", footer.entries(field, _BLOCK)):
                file.seek(offset)
                yield pyarrow.ipc.read_message(file)


def check_batches(place: Place, kind: str, whole: bool) -> None:
    """Raise if a batch of a file of Arrow takes too much memory when it is unpacked, or all of them for the `whole`."""
    total = 0
    for message in _read_messages(place, kind):
        n_bytes = _measure_message(message)
        # Dictionaries stay in memory while batches come and go.
        total += n_bytes if whole or message.type == "dictionary" else 0
        check_bytes(place, max(total, n_bytes), "its rows" if whole else "the rows of one batch")


def check_shared(place: Place, table: Any) -> None:
    """Raise if the values of a table take too much memory once none is shared: those of runs, views or lists."""
    from pyarrow import types

    total = 0
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if not (types.is_dictionary(kind) or types.is_run_end_encoded(kind) or types.is_nested(kind) or _is_view(kind)):
            continue
        if "list_view" in str(kind):
            raise DataError(f"{place.name}: column {name} holds views of lists ({kind}). Write lists.")
        total += sum(_measure_values(chunk) for chunk in column.chunks)
        check_bytes(place, total, f"{len(table)} values of column {name}")


def _is_view(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string_view(kind) or types.is_binary_view(kind)


def _measure_values(array: Any) -> int:
    """Return the bytes that the values of an array take as texts or objects of their own."""
    from pyarrow import types

    kind, count = array.type, len(array)
    if types.is_dictionary(kind):
        sizes = _list_sizes(array.dictionary)
        codes = array.indices.drop_null().to_numpy(zero_copy_only=False)
        # As floats, which do not overflow.
        return _VALUE * count + int(np.bincount(codes, minlength=len(sizes)) @ sizes.astype(float))
    if types.is_run_end_encoded(kind):
        ends = np.minimum(array.run_ends.to_numpy().astype(float) - array.offset, count)
        runs = np.diff(np.maximum(ends, 0.0), prepend=0.0)
        return _VALUE * count + int(runs @ _list_sizes(array.values).astype(float)[: len(runs)])
    if _is_view(kind):
        return _VALUE * count + int(_list_sizes(array).sum(dtype=float))
    if types.is_struct(kind):
        return _NESTED_VALUE * count + sum(_measure_values(array.field(place)) for place in range(kind.num_fields))
    if types.is_nested(kind):
        parts = [array.values] if hasattr(array, "values") else []
        return _NESTED_VALUE * count + sum(_measure_values(part) for part in parts)
    return _NESTED_VALUE * count


def _list_sizes(values: Any) -> Any:
    """Return the bytes of each text; of other values the same number for all."""
    from pyarrow import compute, types

    kind = values.type
    if _is_view(kind):
        # An entry of a view has 16 bytes and begins with the length of its text.
        views = np.frombuffer(values.buffers()[1], "<i4")[::4]
        return np.maximum(views[values.offset : values.offset + len(values)], 0)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return compute.fill_null(compute.binary_length(values), 0).to_numpy(zero_copy_only=False)
    return np.full(len(values), _NESTED_VALUE if types.is_nested(kind) else _VALUE)


def choose_batch_rows(place: Place, file: Any, most: int) -> int:
    """Return how many rows of a Parquet file to decode at a time, at most `most`.

    Rows may share a text that is stored once, in the page of a dictionary. The number of rows is that which fits if all
    of them have the longest text. Texts that are stored as changes of the text before may be as long as the column.
    """
    from pyarrow import parquet

    limit = find_limit(place.size, place.max_unpacked) // _PARTS
    described, schema = file.metadata, file.schema
    nested = [k for k in range(len(schema)) if schema.column(k).max_repetition_level > 0]
    # Columns whose texts may be long, by their paths: each with the group of rows and the page that says so.
    pages: list[tuple[int, str, int]] = []
    with place.open() as content:
        for group in range(described.num_row_groups):
            chunks = described.row_group(group)
            values = sum(chunks.column(k).num_values for k in nested)
            check_bytes(place, _NESTED_VALUE * values, f"{values} values in lists")
            for k in range(len(schema)):
                if schema.column(k).physical_type.endswith("BYTE_ARRAY"):
                    pages.append((group, schema.column(k).path, _find_page(content, chunks.column(k))))
    longest = _sum_longest(pages)
    if longest * most > limit:
        # The page is as long as all of its texts: look at them.
        with parquet.ParquetFile(place.origin, read_dictionary=[path for _, path, size in pages if size]) as shared:
            pages = [(group, path, _look_up(shared, group, path, size)) for group, path, size in pages if size]
        longest = _sum_longest(pages)
    return max(1, min(most, limit // max(1, longest)))


def _sum_longest(pages: list[tuple[int, str, int]]) -> int:
    """Return the most bytes that the texts of one row can have."""
    sums: dict[int, int] = {}
    for group, _, size in pages:
        sums[group] = sums.get(group, 0) + size
    return max(sums.values(), default=0)


def _look_up(file: Any, group: int, path: str, size: int) -> int:
    """Return the length of the longest text of a dictionary; `size` where it is not known."""
    from pyarrow import types

    if "DELTA_BYTE_ARRAY" in _list_encodings(file, group, path):
        return size
    batch = next(file.iter_batches(1, row_groups=[group], columns=[path]), None)
    if batch is None or batch.num_columns != 1 or not types.is_dictionary(batch.schema.types[0]):
        return size
    return min(size, int(_list_sizes(batch.column(0).dictionary).max(initial=0)))


def _list_encodings(file: Any, group: int, path: str) -> tuple[str, ...]:
    chunks = file.metadata.row_group(group)
    found = next(chunks.column(k) for k in range(chunks.num_columns) if chunks.column(k).path_in_schema == path)
    encodings: tuple[str, ...] = found.encodings
    return encodings


def _find_page(content: Any, chunk: Any) -> int:
    """Return how many bytes a text that rows share can have in a column of a row group."""
    if "DELTA_BYTE_ARRAY" in chunk.encodings:
        return int(chunk.total_uncompressed_size)
    content.seek(min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset))
    kind, size = _read_page_head(content.read(_PAGE_HEAD))
    return size if kind == _SHARED_PAGE else 0


def _read_page_head(head: bytes) -> tuple[int, int]:
    """Return the kind of a page and its length when unpacked: its first two fields, in Thrift's compact encoding."""
    numbers, place = [], 0
    for _ in range(2):
        if head[place] != 0x15:  # the next field, a number of 32 bits
            raise ValueError("a page has no head")
        value, shift, place = 0, 0, place + 1
        while True:
            value |= (head[place] & 0x7F) << shift
            shift, place = shift + 7, place + 1
            if head[place - 1] < 0x80:
                break
        numbers.append((value >> 1) ^ -(value & 1))
    return numbers[0], numbers[1]
