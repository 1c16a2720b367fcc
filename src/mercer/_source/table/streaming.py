"""Read a table of any size block by block.

Delimited text is read with known types of the columns, so that blocks do not guess different ones. From the first value
that does not have its type on, the column is read as text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer._source.arrow_values import make_arrow, make_arrow_table, read_arrow
from mercer._source.table.column_type import type_columns
from mercer._source.table.delimited import read_batches
from mercer._source.table.dialect import MISSING, Dialect, find_dialect
from mercer._source.table.format import Place, find_format, find_place, report_damage
from mercer._source.table.header import name_columns
from mercer._source.table.other_formats import (
    is_json_list,
    list_parquet_files,
    read_json_blocks,
    read_other,
    read_sqlite_blocks,
    validate_table,
)
from mercer._source.table.packed_batches import check_batches, choose_batch_rows
from mercer._source.table.reading import make_frame
from mercer._source.table.table import Notice, quote
from mercer.errors import DataError

# The format in which dates are converted here; pandas reads all others.
_ISO_DATE = "%Y-%m-%d"
_ISO_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
# Years outside which a date is taken for a mistake, which pandas' way of reading reports.
_YEARS = np.array(["1500-01-01", "2501-01-01"], dtype="datetime64[s]")


def convert_arrow(table: Any, kinds: dict[str, str], missing: list[str]) -> Any:
    """Return the table with the plain columns that :func:`type_columns` makes for known `kinds`.

    None if a column needs more than that: a notice, a written number, or a date in another format.
    """
    marks = [*MISSING, *missing]
    columns = {
        name: _convert(_join(column), kinds.get(name), marks) for name, column in zip(table.column_names, table.columns)
    }
    return None if any(column is None for column in columns.values()) else make_arrow_table(columns)


def _join(column: Any) -> Any:
    """Return the chunks of a column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _convert(column: Any, kind: str | None, marks: list[str]) -> Any:
    """Return one column with a plain type, or None."""
    import pyarrow

    if pyarrow.types.is_floating(column.type) and kind in ("number", "numeral"):
        return _convert_numbers(column, marks)
    if pyarrow.types.is_boolean(column.type) and kind == "truth":
        # With gaps, booleans become texts.
        return None if column.null_count else column
    if column.type == pyarrow.timestamp("s") and kind == "date":
        return _keep_near(read_arrow(column))
    if not pyarrow.types.is_string(column.type):
        return None
    if kind in ("category", "text"):
        return _drop_marks(column, marks)
    return _convert_dates(_drop_marks(column, marks)) if kind == f"date {_ISO_DATE}" else None


def _convert_numbers(column: Any, marks: list[str]) -> Any:
    """Return numbers with NaN for missing values, infinities and numbers that mark a missing value."""
    values = read_arrow(column)
    assert values is not None  # they are floats
    missing = ~np.isfinite(values)
    for mark in marks:
        try:
            missing |= values == float(mark)
        except ValueError:  # a text such as "NA"
            continue
    return make_arrow(np.where(missing, np.nan, values))


def _drop_marks(column: Any, marks: list[str]) -> Any:
    """Return texts without surrounding blanks, and null for spellings of a missing value."""
    import pyarrow
    from pyarrow import compute

    texts = compute.utf8_trim_whitespace(column)
    known = compute.invert(compute.is_in(texts, value_set=make_arrow(np.array(marks))))
    return compute.if_else(known, texts, pyarrow.NULL)


def _convert_dates(texts: Any) -> Any:
    """Return texts such as 2024-02-29 as dates; None if one is no such text, or no date."""
    from pyarrow import compute

    written = compute.match_substring_regex(texts, _ISO_PATTERN)
    if not compute.all(written, min_count=0).as_py():
        return None
    try:
        dates = np.array([text or "NaT" for text in texts.to_pylist()], dtype="datetime64[s]")
    except ValueError:  # the 31st of February
        return None
    return _keep_near(dates)


def _keep_near(dates: Any) -> Any:
    """Return dates as an Arrow array; None if one of them is taken for a mistake."""
    known = dates[~np.isnat(dates)]
    return make_arrow(dates) if ((known >= _YEARS[0]) & (known < _YEARS[1])).all() else None


@dataclass
class Stream:
    """A table that is read block by block; each iteration reads it again."""

    place: Place
    kind: str
    names: list[str]
    kinds: dict[str, str] = field(default_factory=dict)
    columns: list[str] | None = None
    rows: int = 65_536
    dialect: Dialect | None = None
    sheet: str | None = None
    query: str | None = None
    frame: Any = None  # the rows, if they are in memory
    typing: dict[str, Any] = field(default_factory=dict)  # options of the conversion to plain types
    renamed: bool = False  # whether the file has other names than `names`
    arrow: bool = False  # whether to yield Arrow tables instead of frames where a text needs no more than its kinds
    notices: list[Notice] = field(default_factory=list)  # at most one per column, about the rows read so far

    @classmethod
    def open(
        cls,
        source: Any,
        *,
        sheet: str | None = None,
        query: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        missing: Sequence[str] = (),
        decimal: str | None = None,
        day_first: bool = False,
        max_unpacked: Any = None,
        rows: int = 65_536,
    ) -> "Stream":
        """Open a table and read its column names."""
        mark = None if decimal is None else {"comma": ",", "point": "."}.get(decimal, decimal)
        typing = {"missing": list(missing), "decimal": mark, "day_first": day_first}
        if not isinstance(source, str | Path):
            frame, _ = make_frame(source, "frame")
            return cls(Place("frame", None), "frame", list(frame.columns), rows=rows, frame=frame, typing=typing)
        place = find_place(source, max_unpacked)
        kind = find_format(place)
        if kind in ("delimited", "gzip"):
            with report_damage(place):
                dialect = find_dialect(place, delimiter, encoding, kind == "gzip", mark)
            return cls(place, kind, dialect.names, rows=rows, dialect=dialect, typing=typing)
        if kind in ("parquet", "folder", "arrow", "stream", "sqlite") or (kind == "json" and not is_json_list(place)):
            stream = cls(place, kind, [], rows=rows, sheet=sheet, query=query, typing=typing)
            with report_damage(place):
                stream.names = stream._find_names()
        else:
            # Excel files are small, and a JSON list cannot be read in parts: they are read whole.
            frame, _ = make_frame(read_other(kind, place, sheet, query)[0], place.name)
            stream = cls(place, "frame", list(frame.columns), rows=rows, frame=frame, typing=typing)
        written, stream.names = stream.names, name_columns(place.name, stream.names)
        # Names that the file does not hold cannot be asked for: all columns are read, renamed, and then chosen.
        stream.renamed = written != stream.names
        return stream

    def _find_names(self) -> list[str]:
        import pyarrow
        from pyarrow import parquet

        if self.kind == "sqlite":
            return list(next(read_sqlite_blocks(self.place, self.query or self.place.part, 1)).columns)
        if self.kind == "json":
            return next(read_json_blocks(self.place, None)).column_names
        if self.kind in ("parquet", "folder"):
            first = list_parquet_files(self.place)[0] if self.kind == "folder" else self.place.origin
            return parquet.ParquetFile(first).schema_arrow.names
        with self.place.open() as file:
            opened = pyarrow.ipc.open_file(file) if self.kind == "arrow" else pyarrow.ipc.open_stream(file)
            return opened.schema.names

    def select(self, kinds: dict[str, str], others: list[str]) -> "Stream":
        """Return the stream with the columns of known `kinds`, and `others` as they are."""
        wanted = [*kinds, *(name for name in others if name not in kinds)]
        typing = self.typing | {"copied": [name for name in others if name not in kinds]}
        return replace(self, kinds=kinds, columns=wanted, notices=[], typing=typing)

    def __iter__(self) -> Iterator[Any]:
        """Yield frames of plain columns; with `arrow`, Arrow tables of the same columns where that is possible."""
        frames = self._read_frames()
        while True:
            with report_damage(self.place):
                frame = next(frames, None)
            if frame is None:
                return
            if self.arrow and self.dialect is not None and not self.typing["copied"]:
                table = convert_arrow(frame, self.kinds, self.typing["missing"])
                if table is not None:
                    yield table
                    continue
            plain, typing = type_columns(
                make_frame(frame, self.place.name, self.columns)[0], self._typing, **self.typing
            )
            for name, kind in self.kinds.items():
                # SQLite has no booleans: it stores 0 and 1.
                if kind == "truth" and plain[name].dtype.kind in "if" and not plain[name].isna().any():
                    plain[name] = plain[name].astype(bool)
            subjects = {known.subject for known in self.notices}
            self.notices += [notice for notice in typing.notices if notice.subject not in subjects]
            yield plain

    def read_as_given(self) -> Iterator[Any]:
        """Yield frames or Arrow tables as the format gives them; columns of delimited text are texts."""
        with report_damage(self.place):
            yield from self._read_frames()

    @property
    def _typing(self) -> dict[str, str]:
        """The kinds for :func:`type_columns`; categories that are integers or booleans keep their type."""
        return {name: "category" if kind in ("numeral", "truth") else kind for name, kind in self.kinds.items()}

    def _read_frames(self) -> Iterator[Any]:
        """Yield frames as the format gives them."""
        if self.frame is not None:
            for start in range(0, len(self.frame), self.rows):
                yield self.frame.iloc[start : start + self.rows]
        elif self.dialect is not None:
            yield from self._read_delimited()
        elif self.kind == "sqlite":
            yield from read_sqlite_blocks(self.place, self.query or self.place.part, self.rows)
        elif self.kind == "json":
            yield from read_json_blocks(self.place, None if self.renamed else self.columns)
        else:
            yield from self._read_arrow()

    def _read_arrow(self) -> Iterator[Any]:
        """Yield tables of a Parquet or Arrow file."""
        import pyarrow
        from pyarrow import parquet

        if self.kind in ("parquet", "folder"):
            files = list_parquet_files(self.place) if self.kind == "folder" else [self.place.origin]
            for file_path in files:
                file = parquet.ParquetFile(file_path)
                one = replace(self.place, path=Path(str(file_path))) if self.kind == "folder" else self.place
                rows = choose_batch_rows(one, file, self.rows)
                for batch in file.iter_batches(rows, columns=None if self.renamed else self.columns):
                    yield validate_table(one, pyarrow.table(batch))
            return
        check_batches(self.place, self.kind, whole=False)
        with self.place.open() as file:
            if self.kind == "arrow":
                opened = pyarrow.ipc.open_file(file)
                batches = (opened.get_batch(place) for place in range(opened.num_record_batches))
            else:
                batches = iter(pyarrow.ipc.open_stream(file))
            for batch in batches:
                table = validate_table(self.place, pyarrow.table(batch))
                for start in range(0, len(table), self.rows):
                    yield table.slice(start, self.rows)

    def _read_delimited(self) -> Iterator[Any]:
        """Yield tables of delimited text; after a value of a wrong type, that column is read as text."""
        import pyarrow

        assert self.dialect is not None
        for batch in read_batches(self.place, self.dialect, self._list_arrow_types(), self.columns):
            if batch.num_rows:
                yield pyarrow.Table.from_batches([batch])

    def _list_arrow_types(self) -> dict[str, Any]:
        import pyarrow

        known = {
            "number": pyarrow.float64(),
            "numeral": pyarrow.float64(),
            "truth": pyarrow.bool_(),
            "date": pyarrow.timestamp("s"),
        }
        wanted = self.columns or self.names
        return {name: known.get(self.kinds.get(name, ""), pyarrow.string()) for name in wanted}


def read_blocks(
    source: Any, rows: int = 65_536, *, kinds: dict[str, str] | None = None, **options: Any
) -> Iterator[Any]:
    """Yield frames with a limited number of rows from a table of any size and format.

    Parameters
    ----------
    source : str, path or frame
        As :func:`mercer._source.table.read_table` takes it.
    rows : int
        Approximate number of rows of a frame; delimited text comes in blocks of a few megabytes.
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
            raise DataError(
                f"{stream.place.name}: there is no column {quote(*lacking)}; the columns are {quote(*stream.names)}."
            )
        stream = stream.select(kinds, [])
    yield from stream
