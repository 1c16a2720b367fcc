"""Read delimited text with pyarrow: whole, or block by block with known types of the columns."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mercer._source.table.dialect import MISSING, Dialect, bound_bytes, guess_old_encoding, open_bytes
from mercer._source.table.format import Place
from mercer._source.table.header import join_by_tabs
from mercer._source.table.table import Notice, quote
from mercer.errors import DataError

# Bytes of a block, of a whole file and of one that is read block by block: those of 1 MB stay in a core's cache, and
# took 0.48 s of CPU time for a million rows of ten numbers where those of 4 MB took 0.63.
_BLOCK = 2**22
_STREAMED_BLOCK = 2**20
# A file is refused if more than this share of its lines have a wrong number of fields.
_MOST_RAGGED = 0.05
_COLUMN = re.compile(r"In CSV column #(\d+)")


def _make_options(dialect: Dialect, kinds: dict[str, Any], threads: bool = True) -> tuple[Any, Any, Any]:
    """Return pyarrow's options for reading, parsing and converting."""
    from pyarrow import csv as arrow_csv

    reading = arrow_csv.ReadOptions(
        column_names=dialect.names,
        skip_rows_after_names=0,
        skip_rows=dialect.skipped,
        # Columns separated by blanks are rewritten in memory, and that copy is UTF-8.
        encoding="utf-8" if dialect.blanks else dialect.encoding,
        block_size=_BLOCK,
        use_threads=threads,
    )
    parsing = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=dialect.long_values)
    converting = arrow_csv.ConvertOptions(
        null_values=MISSING, strings_can_be_null=True, decimal_point=dialect.decimal, column_types=kinds
    )
    return reading, parsing, converting


def read_delimited(place: Place, dialect: Dialect, columns: list[str] | None) -> tuple[Any, list[Notice]]:
    """Return the whole file as an Arrow table, and notices about skipped lines."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    skipped: list[Any] = []

    def skip(row: Any) -> str:
        skipped.append(row)
        return "skip"

    reading, parsing, converting = _make_options(dialect, dict.fromkeys(dialect.codes, pyarrow.string()))
    parsing.invalid_row_handler = skip
    if columns is not None:
        converting.include_columns = columns
    try:
        with _open_input(place, dialect) as stream:
            table = arrow_csv.read_csv(stream, reading, parsing, converting)
    except pyarrow.ArrowInvalid as error:
        return _read_again(place, dialect, columns, str(error))
    except UnicodeDecodeError as error:
        raise _refuse_encoding(place, dialect, error) from None
    # pyarrow returns bytes for a column that is not UTF-8.
    if any(pyarrow.types.is_binary(kind) for kind in table.schema.types):
        return _read_again(place, dialect, columns, "UTF8")
    notices = list(dialect.notices)
    if skipped:
        notices.append(_describe_ragged(place, table.num_rows, skipped))
    return table, notices


def _read_again(place: Place, dialect: Dialect, columns: list[str] | None, reason: str) -> tuple[Any, list[Notice]]:
    """Read a file again that pyarrow refused: it has late bytes that are not UTF-8, or quoted line ends."""
    if "UTF8" in reason and dialect.encoding == "utf-8":
        encoding, notices = guess_old_encoding(b"")
        return read_delimited(place, replace(dialect, encoding=encoding, notices=dialect.notices + notices), columns)
    if not dialect.long_values:
        return read_delimited(place, replace(dialect, long_values=True), columns)
    raise DataError(
        f"{place.name}: the file cannot be read as a table ({reason.splitlines()[0][:160]}). Correct that line."
    )


def _refuse_encoding(place: Place, dialect: Dialect, error: UnicodeDecodeError) -> DataError:
    """Return the error that the file has another encoding."""
    message = f"{place.name}: the file is not {dialect.encoding} ({error.reason}). Give --encoding."
    return DataError(message)


def _describe_ragged(place: Place, n_rows: int, skipped: list[Any]) -> Notice:
    """Return a notice about skipped lines; DataError if there are too many of them."""
    expected = skipped[0].expected_columns
    widths = Counter(row.actual_columns for row in skipped).most_common(1)[0][0]
    # A few broken lines are passed over; many mean that the delimiter was guessed wrong.
    if len(skipped) > max(10, _MOST_RAGGED * (n_rows + len(skipped))):
        raise DataError(
            f"{place.name}: {len(skipped)} of {n_rows + len(skipped)} lines do not have as many fields as the "
            f"first line ({expected}); most have {widths}. Give --delimiter, or quote values that hold the delimiter."
        )
    lines, verb = ("line does", "was") if len(skipped) == 1 else ("lines do", "were")
    text = (
        f"{len(skipped)} {lines} not have as many fields as the first line ({expected}) and {verb} skipped, such as "
        f"{quote(skipped[0].text)}."
    )
    return Notice("warning", "the table", text, "correct the file")


def _open_input(place: Place, dialect: Dialect) -> Any:
    import pyarrow

    if dialect.blanks:
        with open_bytes(place, dialect.compressed) as file:
            return pyarrow.BufferReader(join_by_tabs(file.read().decode(dialect.encoding).removeprefix("\ufeff")))
    if dialect.compressed:
        if place.path is None:
            return pyarrow.PythonFile(open_bytes(place, True))
        packed = pyarrow.OSFile(str(place.path))
        return pyarrow.PythonFile(bound_bytes(place, pyarrow.CompressedInputStream(packed, "gzip"), packed))
    return pyarrow.input_stream(place.origin)


def read_batches(
    place: Place,
    dialect: Dialect,
    types: dict[str, Any],
    columns: list[str] | None,
    *,
    mistyped: Callable[[str, str], Any] | None = None,
    threads: bool = True,
) -> Iterator[Any]:
    """Yield the file as Arrow record batches, a few megabytes at a time.

    Parameters
    ----------
    types : dict
        The Arrow types of columns; pyarrow guesses those of the others from the first block.
    columns : list of str or None
        The columns to read; None means all.
    mistyped : function or None
        Takes a column and pyarrow's message where a value does not have the column's type, and returns the type by
        which the column is read from there on; None reads it as text.
    """
    import pyarrow

    types, given = dict(types), 0
    while True:
        seen = 0
        try:
            for batch in _open_batches(place, dialect, types, columns, threads):
                # After a restart the first `given` rows are passed over, as they were handed on already.
                fresh = batch.slice(max(0, given - seen))
                seen += batch.num_rows
                if fresh.num_rows or not given:
                    given += fresh.num_rows
                    yield fresh
            return
        except UnicodeDecodeError as error:
            raise _refuse_encoding(place, dialect, error) from None
        except pyarrow.ArrowInvalid as error:
            reason, match = str(error), _COLUMN.search(str(error))
            name = dialect.names[int(match.group(1))] if match else None
            # A later block may hold the first byte that is no UTF-8.
            if "UTF8" in reason and dialect.encoding == "utf-8":
                dialect = replace(dialect, encoding=guess_old_encoding(b"")[0])
            elif name is not None and types.get(name) != pyarrow.string():
                types[name] = pyarrow.string() if mistyped is None else mistyped(name, reason)
            # An error that names no column may be a line end inside of quotes.
            elif not dialect.long_values:
                dialect = replace(dialect, long_values=True)
            else:
                raise _refuse_rest(place, reason) from None


def _refuse_rest(place: Place, reason: str) -> DataError:
    """Return the error that a line cannot be read."""
    first = reason.splitlines()[0][:160]
    return DataError(f"{place.name}: the rest of the file cannot be read ({first}). Correct that line.")


def _open_batches(
    place: Place, dialect: Dialect, kinds: dict[str, Any], columns: list[str] | None, threads: bool
) -> Iterator[Any]:
    """Yield the file as Arrow record batches of given types; raise if a line has another number of fields."""
    from pyarrow import csv as arrow_csv

    reading, parsing, converting = _make_options(dialect, kinds, threads)
    reading.block_size = _STREAMED_BLOCK
    wrong: list[Any] = []

    def stop(row: Any) -> str:
        wrong.append(row)
        return "skip"

    parsing.invalid_row_handler = stop
    if columns is not None:
        converting.include_columns = columns
    with _open_input(place, dialect) as stream:
        for batch in arrow_csv.open_csv(stream, reading, parsing, converting):
            if wrong:
                break
            yield batch
    if wrong:
        # If lines were skipped, predictions would no longer stand beside their rows.
        raise DataError(
            f"{place.name}: line {quote(wrong[0].text)} has {wrong[0].actual_columns} fields, the first line "
            f"{wrong[0].expected_columns}. Correct it."
        )
