"""Going through a table of any size, some rows at a time.

Delimited text is read with the types that the columns are known to have, so that no block guesses anew. Where a value
does not have its type, the column is read as text from there on, and its other values are kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mercer.app.study.record import Notice
from mercer.app.table.column_type import type_columns
from mercer.app.table.delimited import Dialect, find_dialect, old_encoding, open_batches
from mercer.app.table.format import Place, damage, find_format, find_place
from mercer.app.table.other_formats import (
    is_json_list,
    json_blocks,
    parquet_files,
    read_other,
    sqlite_blocks,
    validated,
)
from mercer.app.table.reading import as_frame
from mercer.app.table.table import check_names, named
from mercer.errors import DataError

__all__ = ["Stream", "blocks"]

_COLUMN = re.compile(r"In CSV column #(\d+)")


@dataclass
class Stream:
    """A table that is read some rows at a time; going through it again reads it again."""

    place: Place
    kind: str
    names: list[str]
    kinds: dict[str, str] = field(default_factory=dict)
    columns: list[str] | None = None
    rows: int = 65_536
    dialect: Dialect | None = None
    sheet: str | None = None
    query: str | None = None
    frame: Any = None  # rows that are in memory
    notices: list[Notice] = field(default_factory=list)  # one a column, of what was read so far

    @classmethod
    def open(
        cls,
        source: Any,
        *,
        sheet: str | None = None,
        query: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        rows: int = 65_536,
    ) -> "Stream":
        """Look at the start of a table."""
        if not isinstance(source, str | Path):
            frame = as_frame(source, "frame")
            return cls(Place("frame", None), "frame", list(frame.columns), rows=rows, frame=frame)
        place = find_place(source)
        kind = find_format(place)
        if kind in ("delimited", "gzip"):
            with damage(place):
                dialect = find_dialect(place, delimiter, encoding, kind == "gzip")
            return cls(place, kind, dialect.names, rows=rows, dialect=dialect)
        if kind in ("parquet", "folder", "arrow", "stream", "sqlite") or (kind == "json" and not is_json_list(place)):
            stream = cls(place, kind, [], rows=rows, sheet=sheet, query=query)
            with damage(place):
                stream.names = stream._find_names()
        else:
            # Excel files are small, and a JSON list ends with its last byte: they are read whole.
            frame = as_frame(read_other(kind, place, sheet, query)[0], place.name)
            stream = cls(place, "frame", list(frame.columns), rows=rows, frame=frame)
        check_names(place.name, stream.names)
        return stream

    def _find_names(self) -> list[str]:
        import pyarrow
        from pyarrow import parquet

        if self.kind == "sqlite":
            return list(next(sqlite_blocks(self.place, self.query or self.place.part, 1)).columns)
        if self.kind == "json":
            return next(json_blocks(self.place, None)).column_names
        if self.kind in ("parquet", "folder"):
            first = parquet_files(self.place)[0] if self.kind == "folder" else self.place.origin
            return parquet.ParquetFile(first).schema_arrow.names
        with self.place.open() as file:
            opened = pyarrow.ipc.open_file(file) if self.kind == "arrow" else pyarrow.ipc.open_stream(file)
            return opened.schema.names

    def select(self, kinds: dict[str, str], others: list[str]) -> "Stream":
        """The same table with columns of known kinds, and others as they are."""
        wanted = [*kinds, *(name for name in others if name not in kinds)]
        return replace(self, kinds=kinds, columns=wanted, notices=[])

    def __iter__(self) -> Iterator[Any]:
        """Frames of plain columns."""
        frames = self._raw_frames()
        while True:
            with damage(self.place):
                frame = next(frames, None)
            if frame is None:
                return
            plain, typing = type_columns(as_frame(frame, self.place.name, self.columns), self._typing)
            for name, kind in self.kinds.items():
                # SQLite has no truth values: it holds 0 and 1.
                if kind == "truth" and plain[name].dtype.kind in "if" and not plain[name].isna().any():
                    plain[name] = plain[name].astype(bool)
            told = {known.subject for known in self.notices}
            self.notices += [one for one in typing.notices if one.subject not in told]
            yield plain

    @property
    def _typing(self) -> dict[str, str]:
        """What :func:`type_columns` must know; whole numbers and truth values as categories keep their type."""
        return {name: "category" if kind in ("numeral", "truth") else kind for name, kind in self.kinds.items()}

    def _raw_frames(self) -> Iterator[Any]:
        if self.frame is not None:
            for start in range(0, len(self.frame), self.rows):
                yield self.frame.iloc[start : start + self.rows]
        elif self.dialect is not None:
            yield from self._delimited_frames()
        elif self.kind == "sqlite":
            yield from sqlite_blocks(self.place, self.query or self.place.part, self.rows)
        elif self.kind == "json":
            yield from json_blocks(self.place, self.columns)
        else:
            yield from self._arrow_frames()

    def _arrow_frames(self) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        if self.kind in ("parquet", "folder"):
            files = parquet_files(self.place) if self.kind == "folder" else [self.place.origin]
            for one in files:
                for batch in parquet.ParquetFile(one).iter_batches(self.rows, columns=self.columns):
                    yield validated(pyarrow.table(batch))
            return
        with self.place.open() as file:
            if self.kind == "arrow":
                opened = pyarrow.ipc.open_file(file)
                batches = (opened.get_batch(number) for number in range(opened.num_record_batches))
            else:
                batches = iter(pyarrow.ipc.open_stream(file))
            for batch in batches:
                table = validated(pyarrow.table(batch))
                for start in range(0, len(table), self.rows):
                    yield table.slice(start, self.rows)

    def _delimited_frames(self) -> Iterator[Any]:
        """Batches of the file; after a value of another type, those that were not yet given, read again as text."""
        import pyarrow

        dialect, types, given = self.dialect, self._arrow_types(), 0
        while True:
            seen = 0
            try:
                for batch in open_batches(self.place, dialect, types, self.columns):
                    table = pyarrow.table(batch)
                    fresh = table.slice(max(0, given - seen))
                    seen += len(table)
                    if len(fresh):
                        given += len(fresh)
                        yield fresh
                return
            except pyarrow.ArrowInvalid as error:
                dialect, types = self._changed(dialect, types, str(error))

    def _changed(self, dialect: Dialect, types: dict[str, Any], said: str) -> tuple[Dialect, dict[str, Any]]:
        """How to read on after what pyarrow said."""
        import pyarrow

        if "UTF8" in said and dialect.encoding == "utf-8":
            return replace(dialect, encoding=old_encoding(b"")[0]), types
        found = _COLUMN.search(said)
        name = dialect.names[int(found.group(1))] if found else None
        if name is not None and types.get(name) != pyarrow.string():
            return dialect, types | {name: pyarrow.string()}
        if not dialect.long_values:
            return replace(dialect, long_values=True), types
        message = f"{self.place.name}: the file cannot be read on ({said.splitlines()[0][:160]}). Correct that line."
        raise DataError(message)

    def _arrow_types(self) -> dict[str, Any]:
        import pyarrow

        known = {
            "number": pyarrow.float64(),
            "numeral": pyarrow.float64(),
            "truth": pyarrow.bool_(),
            "date": pyarrow.timestamp("s"),
        }
        wanted = self.columns or self.names
        return {name: known.get(self.kinds.get(name, ""), pyarrow.string()) for name in wanted}


def blocks(source: Any, rows: int = 65_536, *, kinds: dict[str, str] | None = None, **options: Any) -> Iterator[Any]:
    """Frames of at most some rows each of a table of any size and format.

    Parameters
    ----------
    source : str, path or frame
        As :func:`mercer.app.table.read_table` takes it.
    rows : int
        About how many rows a frame has; delimited text comes in pieces of some megabytes.
    kinds : dict or None
        The columns to read and their kinds; None reads all columns, delimited text as text.
    **options
        ``sheet``, ``query``, ``delimiter``, ``encoding``, as for ``read_table``.

    Yields
    ------
    DataFrame
        Rows, with columns of plain types.
    """
    stream = Stream.open(source, rows=rows, **options)
    if kinds is not None:
        lacking = [name for name in kinds if name not in stream.names]
        if lacking:
            message = f"{stream.place.name}: there is no column {named(*lacking)}; there are {named(*stream.names)}."
            raise DataError(message)
        stream = stream.select(kinds, [])
    yield from stream
