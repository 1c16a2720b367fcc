"""Read tables that store their own types: Parquet, Arrow, JSON, Excel, SQLite."""

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer._source.table.bounds import QuerySize, check_bytes, check_sheets, limit_work
from mercer._source.table.format import Place, report_damage
from mercer._source.table.header import find_header
from mercer._source.table.packed_batches import check_batches, check_shared, choose_batch_rows
from mercer._source.table.table import Notice, quote
from mercer.errors import DataError

# The deepest nesting of JSON that is parsed, the bytes that are checked at a time, and the brackets as signed bytes.
_DEEPEST = 100
_CHUNK = 2**24
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SIGNS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
# Bytes of a value that a database computes; one that is stored may be as long as the file.
_LONGEST_VALUE = 2**24
# Rows of a Parquet file that are decoded at a time.
_BATCH_ROWS = 65_536
# Rows of a sheet among which the column names are looked for.
_HEAD = 250


def read_other(kind: str, place: Place, sheet: str | None, query: str | None) -> tuple[Any, list[Notice]]:
    """Return the table as Arrow or pandas gives it, and notices about what was guessed."""
    readers = {
        "parquet": _read_parquet,
        "arrow": _read_arrow,
        "stream": _read_stream,
        "folder": _read_folder,
        "json": _read_json,
    }
    with report_damage(place):
        if kind == "excel":
            return _read_excel(place, sheet or place.part)
        if kind == "sqlite":
            return _read_sqlite(place, query or place.part)
        return validate_table(place, readers[kind](place)), []


def validate_table(place: Place, table: Any) -> Any:
    """Return the Arrow table after checking its offsets, texts and size: those of a damaged file may point anywhere."""
    table.validate(full=True)
    check_shared(place, table)
    return table


def _read_parquet(place: Place) -> Any:
    import pyarrow
    from pyarrow import parquet

    kept, n_bytes = [], 0
    with parquet.ParquetFile(place.origin) as file:
        for batch in file.iter_batches(choose_batch_rows(place, file, _BATCH_ROWS)):
            kept.append(batch)
            # Before the next batch is read.
            n_bytes += batch.nbytes
            check_bytes(place, n_bytes, f"{sum(len(one) for one in kept)} rows or more")
        return pyarrow.Table.from_batches(kept, file.schema_arrow)


def _read_arrow(place: Place) -> Any:
    from pyarrow import feather

    check_batches(place, "arrow", whole=True)
    return feather.read_table(place.origin)


def _read_stream(place: Place) -> Any:
    import pyarrow

    check_batches(place, "stream", whole=True)
    with place.open() as file:
        return pyarrow.ipc.open_stream(file).read_all()


def list_parquet_files(place: Place) -> list[Path]:
    """List the Parquet files of a folder, by name."""
    assert place.path is not None
    files = sorted(place.path.rglob("*.parquet"))
    if not files:
        raise DataError(f"{place.name}: the folder holds no Parquet files. Give a file, or a folder of *.parquet.")
    return files


def _read_folder(place: Place) -> Any:
    """Read all Parquet files of a folder as one table."""
    import pyarrow

    # The limit is that of each file by its own size.
    tables = [_read_parquet(replace(place, path=file)) for file in list_parquet_files(place)]
    # The order of the columns must agree too, as the names are compared as lists.
    other = next((index for index, part in enumerate(tables) if part.column_names != tables[0].column_names), None)
    if other is not None:
        names = quote(*(list_parquet_files(place)[index].name for index in (0, other)))
        raise DataError(f"{place.name}: all files of a folder must have the same columns; {names} differ. Remove one.")
    return pyarrow.concat_tables(tables, promote_options="permissive")


def _read_json(place: Place) -> Any:
    """Read JSON lines or a JSON list."""
    import pyarrow

    with place.open() as file:
        # Deep nesting would exhaust the stack of the parser, so the depth is measured first.
        _check_depth(place, file)
        file.seek(0)
        if not is_json_list(place):
            return _parse_json(file)
        rows = json.load(file)
    if not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{place.name}: a JSON list must hold one object per row. Write JSON lines.")
    return pyarrow.Table.from_pylist(rows)


def _check_depth(place: Place, file: Any) -> None:
    """Raise if brackets are nested deeply: the parser calls itself for each, and a full stack ends the process."""
    depth = 0
    while chunk := file.read(_CHUNK):
        # Brackets inside texts count too: texts with a hundred unmatched ones are hardly a table either.
        steps = np.frombuffer(chunk.translate(_SIGNS, _NO_BRACKETS), np.int8)
        levels = depth + np.cumsum(steps, dtype=np.int64)
        if levels.size and levels.max() > _DEEPEST:
            raise DataError(
                f"{place.name}: the JSON nests lists and objects more than {_DEEPEST} deep. Write one flat object for "
                f"each row."
            )
        depth = int(levels[-1]) if levels.size else depth


def is_json_list(place: Place) -> bool:
    """Return whether a JSON file is one list instead of one object per line."""
    with place.open() as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _parse_json(file: Any) -> Any:
    """Parse JSON lines; fields of nested objects become columns."""
    from pyarrow import json as arrow_json

    reading = arrow_json.ReadOptions(block_size=2**24)
    return arrow_json.read_json(file, reading, arrow_json.ParseOptions(newlines_in_values=True)).flatten()


def read_json_blocks(place: Place, columns: list[str] | None, size: int = 2**22) -> Iterator[Any]:
    """Yield Arrow tables of some lines each; a column that no line of a block has is missing there."""
    import pyarrow

    with place.open() as file:
        # readlines ends at the end of a line after `size` bytes, so no object is cut.
        while lines := file.readlines(size):
            content = io.BytesIO(b"".join(lines))
            _check_depth(place, content)
            content.seek(0)
            table = _parse_json(content)
            for name in columns or ():
                if name not in table.column_names:
                    table = table.append_column(name, pyarrow.nulls(len(table)))
            yield table


def _read_excel(place: Place, sheet: str | None) -> tuple[Any, list[Notice]]:
    import pandas

    # Opening the workbook reads the sheets for their dimensions, so that they are bounded before.
    check_sheets(place, sheet)
    try:
        book = pandas.ExcelFile(place.origin, engine="openpyxl")
    except ImportError:
        raise DataError(
            f"{place.name}: Excel files need openpyxl. Install it with: pip install 'mercer[app]'."
        ) from None
    with book:
        names = [str(name) for name in book.sheet_names]
        if sheet is not None and sheet not in names:
            raise DataError(
                f"{place.name}: there is no sheet {quote(sheet)}; the sheets are {quote(*names)}. Give --sheet NAME."
            )
        # The header is found by our own rule, as for delimited text, hence none is left to pandas.
        frame = pandas.read_excel(book, sheet_name=sheet or names[0], header=None)
    notices = []
    if sheet is None and len(names) > 1:
        text = f"The first sheet, {quote(names[0])}, was read; the sheets are {quote(*names)}."
        notices.append(Notice("note", "the table", text, "give --sheet NAME for another"))
    frame, remarks = _set_header(place, frame)
    return frame, [*notices, *remarks]


def _set_header(place: Place, frame: Any) -> tuple[Any, list[Notice]]:
    """Return the rows below the column names, and notices about titles above them and empty columns beside them."""
    if len(frame) == 0:
        raise DataError(f"{place.name}: the sheet is empty. Give --sheet NAME for another.")
    cells = frame.iloc[:_HEAD].astype(object).where(frame.iloc[:_HEAD].notna(), "")
    # Columns without any cell are margins of the sheet.
    used = frame.notna().any().to_numpy()
    records = [[str(cell).strip() for cell in row[used]] for row in cells.to_numpy()]
    header = find_header(records)
    frame = frame.loc[:, used].iloc[header.place + 1 :].dropna(how="all").reset_index(drop=True).infer_objects()
    frame.columns = header.names
    if header.place == 0:
        return frame, []
    lines = "row was" if header.place == 1 else f"{header.place} rows were"
    first = next((" ".join(filter(None, record)) for record in records if any(record)), "")
    text = f"The first {lines} skipped as a title ({quote(first)})."
    return frame, [Notice("note", "the table", text, "remove the rows if that is wrong")]


def _connect(place: Place) -> Any:
    """Open an SQLite database for reading."""
    if place.path is None:
        raise DataError("standard input: an SQLite database cannot be piped. Give the path of the file.")
    connection = sqlite3.connect(f"{place.path.resolve().as_uri()}?mode=ro", uri=True)
    # A view or a column that is computed may make values of any length.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(_LONGEST_VALUE, min(place.size, 2**30)))
    return closing(connection)


def _choose_table(place: Place, connection: Any, query: str | None) -> tuple[str, bool]:
    """Return the table to read, the one asked for or the only one, and whether it is a view."""
    found = connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    kinds = {name: kind for name, kind in found if not name.startswith("sqlite_")}
    names = sorted(kinds)
    if query is not None and query in names:
        return query, kinds[query] == "view"
    if query is None and len(names) == 1:
        if kinds[names[0]] == "table":
            return names[0], False
        # A view is a program of the file: it may give rows without end, so nobody runs it without having named it.
        raise DataError(
            f"{place.name}: the database holds no table but the view {quote(*names)}. Give {place.name}::VIEW."
        )
    if not names:
        raise DataError(f"{place.name}: the database holds no table. Give another file.")
    problem = "the database holds several tables" if query is None else f"there is no table {quote(query)}"
    raise DataError(f"{place.name}: {problem}: {quote(*names)}. Give {place.name}::TABLE.")


def _has_computed_columns(connection: Any, quoted: str) -> bool:
    """Return whether a table computes some of its columns when they are read, or is made up by a module."""
    columns = connection.execute(f'PRAGMA table_xinfo("{quoted}")').fetchall()
    # The last entry is 0 for what is stored, 1 for hidden columns of a module, 2 and 3 for generated ones.
    return any(column[-1] for column in columns)


def _read_sqlite(place: Place, query: str | None) -> tuple[Any, list[Notice]]:
    import pandas

    blocks = list(_read_blocks(place, query, 2**17, whole=True))
    return pandas.concat(blocks, ignore_index=True), []


def read_sqlite_blocks(place: Place, query: str | None, rows: int) -> Iterator[Any]:
    """Yield frames of `rows` rows each; at least one, which may be empty."""
    yield from _read_blocks(place, query, rows, whole=False)


def _read_blocks(place: Place, query: str | None, rows: int, whole: bool) -> Iterator[Any]:
    """Yield the frames; the limit of memory is that of each, or of the `whole` table."""
    import pandas

    with _connect(place) as connection:
        name, view = _choose_table(place, connection, query)
        # SQL doubles a quote inside of a quoted name.
        quoted = name.replace('"', '""')
        computed = view or _has_computed_columns(connection, quoted)
        size = QuerySize(place, computed)
        with limit_work(place, connection) if computed else nullcontext():
            cursor = connection.execute(f'SELECT * FROM "{quoted}"')
            names = [field[0] for field in cursor.description]
            first = True
            # An empty table yields one frame without rows, so that its columns are known.
            while (fetched := size.fetch(cursor, rows)) or first:
                first = False
                size = size if whole else QuerySize(place, computed)
                yield pandas.DataFrame(fetched, columns=names)
