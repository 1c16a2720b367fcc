"""Read a path, standard input or a frame into a :class:`Table`."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mercer._source.table.bounds import check_packed_text
from mercer._source.table.column_type import type_columns
from mercer._source.table.delimited import read_delimited
from mercer._source.table.dialect import find_dialect, keep_codes
from mercer._source.table.format import Place, find_format, find_place, report_damage
from mercer._source.table.header import describe_names, name_columns
from mercer._source.table.other_formats import list_parquet_files, read_other
from mercer._source.table.table import Notice, Table, quote
from mercer.errors import DataError


def read_table(
    source: Any,
    *,
    sheet: str | None = None,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    kinds: dict[str, str] | None = None,
    missing: Sequence[str] = (),
    decimal: str | None = None,
    day_first: bool = False,
    max_unpacked: Any = None,
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
        How delimited text is written; None guesses it.
    columns : list of str or None
        The columns to read; None means all.
    kinds : dict or None
        The known kinds of columns: a ``"number"`` is read as a number, a ``"category"`` as it is written.
    missing : list of str
        Values that count as missing, beside the usual ones.
    decimal : {"point", "comma"} or None
        The decimal mark of numbers; None guesses it.
    day_first : bool
        Whether 3/4/2020 is the third of April.
    max_unpacked : int, str or None
        The most bytes that a packed file (gzip, Excel) may unpack to, such as ``"20 GB"``; None means 1 GiB, or a
        hundred times its size.

    Returns
    -------
    Table
        The rows, and notices about what was guessed.

    Raises
    ------
    DataError
        If this is not a table; the message says what to do.
    """
    mark = None if decimal is None else {"comma": ",", "point": "."}.get(decimal, decimal)
    typing = {"missing": list(missing), "decimal": mark, "day_first": day_first}
    if not isinstance(source, str | Path):
        return _read_frame(source, columns, kinds, typing)
    place = find_place(source, max_unpacked)
    kind = find_format(place)
    # The digest reads the file once more, on a thread beside the parser.
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(_digest_file, place)
        if kind in ("delimited", "gzip"):
            with report_damage(place):
                dialect = find_dialect(place, delimiter, encoding, kind == "gzip", mark)
                _check_wanted(place.name, dialect.names, columns)
                dialect = keep_codes(dialect, kinds or {})
                if dialect.compressed:
                    check_packed_text(place, dialect)
                kinds = dict.fromkeys(dialect.codes, "category") | (kinds or {})
                content, notices = read_delimited(place, dialect, list(columns) if columns else None)
        else:
            content, notices = read_other(kind, place, sheet, query)
        frame, remarks = make_frame(content, place.name, columns)
        return _make_table(place.name, frame, kinds, [*notices, *remarks], digest.result(), typing)


def _read_frame(
    source: Any, columns: Sequence[str] | None, kinds: dict[str, str] | None, typing: dict[str, Any]
) -> Table:
    """Return a frame of the user as a table."""
    import pandas

    frame, notices = make_frame(source, "frame", columns)
    digest = hashlib.sha256(" ".join(frame.columns).encode())
    for name in frame.columns:
        digest.update(
            # Values are hashed as texts, which do not depend on how a library stores them.
            pandas.util.hash_pandas_object(frame[name].astype(object).map(str), index=False).to_numpy().tobytes()
        )
    return _make_table("frame", frame, kinds, notices, digest.hexdigest(), typing)


def _make_table(
    name: str, frame: Any, kinds: dict[str, str] | None, notices: list[Notice], digest: str, options: dict[str, Any]
) -> Table:
    if len(frame) == 0:
        raise DataError(f"{name}: the table has column names but no rows. Give a table with rows.")
    plain, typing = type_columns(frame, kinds, **options)
    return Table(name, plain, digest, [*notices, *typing.notices], typing.forms)


def make_frame(given: Any, name: str, columns: Sequence[str] | None = None) -> tuple[Any, list[Notice]]:
    """Return what a reader or a user gave as a pandas frame with unique names and an index from 0, and notices."""
    import pandas

    if isinstance(given, pandas.DataFrame):
        written = [str(column).strip() for column in given.columns]
    elif hasattr(given, "__arrow_c_stream__"):
        import pyarrow

        given = pyarrow.table(given)
        written = [column.strip() for column in given.column_names]
    else:
        raise DataError(
            f"{name}: a table must be a path or a frame of pandas, polars or Arrow; got {type(given).__name__}."
        )
    names = name_columns(name, written)
    _check_wanted(name, names, columns)
    if not isinstance(given, pandas.DataFrame):
        given = _simplify_arrow(given.rename_columns(names)).to_pandas(
            ignore_metadata=True, strings_to_categorical=False
        )
    given = given.set_axis(names, axis=1).reset_index(drop=True)
    return given if columns is None else given[list(columns)], describe_names(written, names)


def _simplify_arrow(table: Any) -> Any:
    """Return the table with dictionaries, dates and decimals as pandas has them, lists and records as text."""
    import pyarrow
    from pyarrow import compute, types

    for place, field in enumerate(table.schema):
        kind = field.type
        if types.is_dictionary(kind):
            changed = compute.cast(table.column(place), kind.value_type)
        elif types.is_run_end_encoded(kind):
            changed = compute.run_end_decode(table.column(place))
        # Seconds reach any date of the calendar; nanoseconds end in the year 2262.
        elif types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None and kind.unit != "s"):
            changed = compute.cast(table.column(place), pyarrow.timestamp("s"), safe=False)
        elif types.is_decimal(kind):
            changed = compute.cast(table.column(place), pyarrow.float64())
        elif types.is_time(kind):
            changed = compute.cast(table.column(place), pyarrow.string())
        elif types.is_nested(kind) or types.is_binary(kind):
            texts = [None if value is None else str(value) for value in table.column(place).to_pylist()]
            changed = pyarrow.array(texts, pyarrow.string())
        else:
            continue
        table = table.set_column(place, field.name, changed)
    return table


def _check_wanted(name: str, names: list[str], columns: Sequence[str] | None) -> None:
    """Raise if the table has not all `columns`."""
    lacking = [column for column in columns or () if column not in names]
    if lacking:
        raise DataError(
            f"{name}: there is no column {quote(*lacking)}; the columns are {quote(*names)}. Correct --columns."
        )


def _digest_file(place: Place) -> str:
    """Return the SHA-256 digest of the bytes."""
    if place.path is None:
        return hashlib.sha256(place.content).hexdigest()
    files = list_parquet_files(place) if place.path.is_dir() else [place.path]
    digest = hashlib.sha256()
    for file_path in files:
        with file_path.open("rb") as file:
            while chunk := file.read(2**20):
                digest.update(chunk)
    return digest.hexdigest()
