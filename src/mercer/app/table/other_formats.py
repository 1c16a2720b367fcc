"""Tables that carry their own types: Parquet, Arrow, JSON, Excel, SQLite."""

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from mercer.app.study.record import Notice
from mercer.app.table.format import Place, damage
from mercer.app.table.table import named
from mercer.errors import DataError

__all__ = ["is_json_list", "json_blocks", "parquet_files", "read_other", "sqlite_blocks", "validated"]


def read_other(kind: str, place: Place, sheet: str | None, query: str | None) -> tuple[Any, list[Notice]]:
    """The table as Arrow or pandas gives it, and what had to be guessed."""
    readers = {"parquet": _parquet, "arrow": _arrow, "stream": _stream, "folder": _folder, "json": _json}
    with damage(place):
        if kind == "excel":
            return _excel(place, sheet or place.part)
        if kind == "sqlite":
            return _sqlite(place, query or place.part)
        return validated(readers[kind](place)), []


def validated(table: Any) -> Any:
    """The Arrow table, whose offsets and texts were looked at: those of a damaged file may point anywhere."""
    table.validate(full=True)
    return table


def _parquet(place: Place) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(place.origin).read()


def _arrow(place: Place) -> Any:
    from pyarrow import feather

    return feather.read_table(place.origin)


def _stream(place: Place) -> Any:
    import pyarrow

    with place.open() as file:
        return pyarrow.ipc.open_stream(file).read_all()


def parquet_files(place: Place) -> list[Path]:
    """The Parquet files of a folder, in the order of their names."""
    assert place.path is not None
    files = sorted(place.path.rglob("*.parquet"))
    if not files:
        message = f"{place.name}: the folder holds no Parquet files. Give a file, or a folder of *.parquet."
        raise DataError(message)
    return files


def _folder(place: Place) -> Any:
    import pyarrow
    from pyarrow import parquet

    tables = [parquet.ParquetFile(one).read() for one in parquet_files(place)]
    other = next((number for number, one in enumerate(tables) if one.column_names != tables[0].column_names), None)
    if other is not None:
        names = named(*(parquet_files(place)[number].name for number in (0, other)))
        message = f"{place.name}: all files of a folder must have the same columns; {names} differ. Remove one."
        raise DataError(message)
    return pyarrow.concat_tables(tables, promote_options="permissive")


def _json(place: Place) -> Any:
    import pyarrow

    with place.open() as file:
        if not is_json_list(place):
            return _parsed(file)
        rows = json.load(file)
    if not all(isinstance(row, dict) for row in rows):
        message = f"{place.name}: a JSON list must hold one object a row. Write JSON lines."
        raise DataError(message)
    return pyarrow.Table.from_pylist(rows)


def is_json_list(place: Place) -> bool:
    """Whether a JSON file is one list instead of an object a line."""
    with place.open() as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _parsed(file: Any) -> Any:
    from pyarrow import json as arrow_json

    reading = arrow_json.ReadOptions(block_size=2**24)
    return arrow_json.read_json(file, reading, arrow_json.ParseOptions(newlines_in_values=True)).flatten()


def json_blocks(place: Place, columns: list[str] | None, size: int = 2**22) -> Iterator[Any]:
    """Arrow tables of some lines each, each with the columns asked for; what no line of a block has is missing."""
    import pyarrow

    with place.open() as file:
        while lines := file.readlines(size):
            table = _parsed(io.BytesIO(b"".join(lines)))
            for name in columns or ():
                if name not in table.column_names:
                    table = table.append_column(name, pyarrow.nulls(len(table)))
            yield table


def _excel(place: Place, sheet: str | None) -> tuple[Any, list[Notice]]:
    import pandas

    try:
        book = pandas.ExcelFile(place.origin, engine="openpyxl")
    except ImportError:
        message = f"{place.name}: Excel files need openpyxl; install it with: pip install 'mercer[app]'."
        raise DataError(message) from None
    with book:
        names = [str(name) for name in book.sheet_names]
        if sheet is not None and sheet not in names:
            message = f"{place.name}: there is no sheet {named(sheet)}; there are {named(*names)}. Give --sheet NAME."
            raise DataError(message)
        frame = pandas.read_excel(book, sheet_name=sheet or names[0], header=None)
    notices = []
    if sheet is None and len(names) > 1:
        said = f"The first sheet, {named(names[0])}, was read; there are {named(*names)}."
        notices.append(Notice("note", "the table", said, "give --sheet NAME for another"))
    return _with_header(place, frame), notices


def _with_header(place: Place, frame: Any) -> Any:
    """The frame with its first row as names; pandas itself would rename duplicates without a word."""
    if len(frame) == 0:
        message = f"{place.name}: the sheet is empty. Give --sheet NAME for another."
        raise DataError(message)
    names = ["" if name != name or name is None else str(name).strip() for name in frame.iloc[0]]
    frame = frame.iloc[1:].reset_index(drop=True).infer_objects()
    frame.columns = names
    return frame


def _connected(place: Place) -> Any:
    if place.path is None:
        message = "standard input: an SQLite database cannot be piped. Give the path of the file."
        raise DataError(message)
    return closing(sqlite3.connect(f"{place.path.resolve().as_uri()}?mode=ro", uri=True))


def _chosen_table(place: Place, connection: Any, query: str | None) -> str:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    names = sorted(name for (name,) in found if not name.startswith("sqlite_"))
    if query in names:
        return query
    if query is None and len(names) == 1:
        return names[0]
    if not names:
        message = f"{place.name}: the database holds no table. Give another file."
        raise DataError(message)
    problem = "the database holds several tables" if query is None else f"there is no table {named(query)}"
    message = f"{place.name}: {problem}: {named(*names)}. Give {place.name}::TABLE."
    raise DataError(message)


def _sqlite(place: Place, query: str | None) -> tuple[Any, list[Notice]]:
    import pandas

    blocks = list(sqlite_blocks(place, query, 2**17))
    return pandas.concat(blocks, ignore_index=True), []


def sqlite_blocks(place: Place, query: str | None, rows: int) -> Iterator[Any]:
    """Frames of so many rows each; at least one, which may be empty."""
    import pandas

    with _connected(place) as connection:
        name = _chosen_table(place, connection, query)
        quoted = name.replace('"', '""')
        cursor = connection.execute(f'SELECT * FROM "{quoted}"')
        names = [one[0] for one in cursor.description]
        first = True
        while (found := cursor.fetchmany(rows)) or first:
            first = False
            yield pandas.DataFrame(found, columns=names)
