"""From a path, standard input or a frame to a :class:`Table`."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mercer.app.study.record import Notice
from mercer.app.table.column_type import type_columns
from mercer.app.table.delimited import find_dialect, read_delimited
from mercer.app.table.format import Place, damage, find_format, find_place
from mercer.app.table.other_formats import parquet_files, read_other
from mercer.app.table.table import Table, check_names, named
from mercer.errors import DataError

__all__ = ["as_frame", "read_table"]


def read_table(
    source: Any,
    *,
    sheet: str | None = None,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    kinds: dict[str, str] | None = None,
) -> Table:
    """Read a table of any format and give its columns plain types.

    Parameters
    ----------
    source : str, path or frame
        A file (CSV, TSV, gzip of these, Parquet, Arrow, Excel, JSON lines, SQLite), a folder of Parquet files, ``-``
        for standard input, ``file::part`` for one sheet or table of several; or a frame of pandas, polars or Arrow.
    sheet, query : str or None
        The sheet of an Excel file; the table of an SQLite file.
    delimiter, encoding : str or None
        How delimited text is written; None means to find out.
    columns : list of str or None
        The columns to read; None means all.
    kinds : dict or None
        The kinds of columns that are known: a ``"number"`` is read as one, a ``"category"`` as it is written.

    Returns
    -------
    Table
        The rows, and notices of what had to be guessed.

    Raises
    ------
    DataError
        If this is not a table, in a sentence that says what to do.
    """
    if not isinstance(source, str | Path):
        return _from_frame(source, columns, kinds)
    place = find_place(source)
    kind = find_format(place)
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(_file_digest, place)
        if kind in ("delimited", "gzip"):
            with damage(place):
                dialect = find_dialect(place, delimiter, encoding, kind == "gzip")
                _check_wanted(place.name, dialect.names, columns)
                found, notices = read_delimited(place, dialect, list(columns) if columns else None)
        else:
            found, notices = read_other(kind, place, sheet, query)
        frame = as_frame(found, place.name, columns)
        return _typed(place.name, frame, kinds, notices, digest.result())


def _from_frame(source: Any, columns: Sequence[str] | None, kinds: dict[str, str] | None) -> Table:
    import pandas

    frame = as_frame(source, "frame", columns)
    digest = hashlib.sha256(" ".join(frame.columns).encode())
    for name in frame.columns:
        digest.update(
            pandas.util.hash_pandas_object(frame[name].astype(object).map(str), index=False).to_numpy().tobytes()
        )
    return _typed("frame", frame, kinds, [], digest.hexdigest())


def _typed(name: str, frame: Any, kinds: dict[str, str] | None, notices: list[Notice], digest: str) -> Table:
    if len(frame) == 0:
        message = f"{name}: the table has column names but no rows. Give a table with rows."
        raise DataError(message)
    plain, typing = type_columns(frame, kinds)
    return Table(name, plain, digest, [*notices, *typing.notices], typing.forms)


def as_frame(found: Any, name: str, columns: Sequence[str] | None = None) -> Any:
    """A pandas frame of what a reader or a user gave, its names checked, its index counting from 0."""
    import pandas

    if isinstance(found, pandas.DataFrame):
        names = [str(one).strip() for one in found.columns]
    elif hasattr(found, "__arrow_c_stream__"):
        import pyarrow

        found = pyarrow.table(found)
        names = [one.strip() for one in found.column_names]
    else:
        message = f"{name}: a table must be a path or a frame of pandas, polars or Arrow; got {type(found).__name__}."
        raise DataError(message)
    check_names(name, names)
    _check_wanted(name, names, columns)
    if not isinstance(found, pandas.DataFrame):
        found = _plain_arrow(found.rename_columns(names)).to_pandas(ignore_metadata=True, strings_to_categorical=False)
    found = found.set_axis(names, axis=1).reset_index(drop=True)
    return found if columns is None else found[list(columns)]


def _plain_arrow(table: Any) -> Any:
    """The table with dictionaries, dates and decimals as pandas has them; lists and records as text."""
    import pyarrow
    from pyarrow import compute, types

    for number, one in enumerate(table.schema):
        kind = one.type
        if types.is_dictionary(kind):
            changed = compute.cast(table.column(number), kind.value_type)
        elif types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None and kind.unit != "s"):
            changed = compute.cast(table.column(number), pyarrow.timestamp("s"), safe=False)
        elif types.is_decimal(kind):
            changed = compute.cast(table.column(number), pyarrow.float64())
        elif types.is_time(kind):
            changed = compute.cast(table.column(number), pyarrow.string())
        elif types.is_nested(kind) or types.is_binary(kind):
            texts = [None if value is None else str(value) for value in table.column(number).to_pylist()]
            changed = pyarrow.array(texts, pyarrow.string())
        else:
            continue
        table = table.set_column(number, one.name, changed)
    return table


def _check_wanted(name: str, names: list[str], columns: Sequence[str] | None) -> None:
    lacking = [one for one in columns or () if one not in names]
    if lacking:
        message = f"{name}: there is no column {named(*lacking)}; the columns are {named(*names)}. Correct --columns."
        raise DataError(message)


def _file_digest(place: Place) -> str:
    if place.path is None:
        return hashlib.sha256(place.content).hexdigest()
    files = parquet_files(place) if place.path.is_dir() else [place.path]
    digest = hashlib.sha256()
    for one in files:
        with one.open("rb") as file:
            while chunk := file.read(2**20):
                digest.update(chunk)
    return digest.hexdigest()
