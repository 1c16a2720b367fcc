"""Rows of a database, from any cursor that follows Python's DB-API: batches with the types of their first rows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from mercer.errors import DataError

# Rows that are asked for at a time; the first of them decide the types of the columns.
_ROWS = 65_536


class CursorBatches:
    """The answer of a database in record batches.

    Parameters
    ----------
    begin : callable
        Returns a cursor with the whole answer; a cursor that was given by itself can be read once.
    restartable : bool
    name : str
        For errors.
    """

    # Columns of texts that are numbers or dates: a database has types.
    kinds: ClassVar[dict[str, str]] = {}
    n_rows = None

    def __init__(self, begin: Callable[[], Any], restartable: bool, name: str, subject: str) -> None:
        self.begin, self.restartable, self.name, self.subject = begin, restartable, name, subject
        self.files: list[str] = []
        # Connections of most databases serve the thread that made them.
        self.one_thread = True
        cursor = begin()
        if cursor.description is None:
            raise DataError(f"{subject}: the cursor holds no rows; execute a SELECT first.")
        self.names = [str(column[0]) for column in cursor.description]
        self._first = cursor.fetchmany(_ROWS)
        self._cursor = cursor
        if not self._first and not restartable:
            raise DataError(
                f"{subject}: {name} has no rows left: it was read before, or its query has none. Rows that are needed "
                f"in several passes are given as a pair of the connection and the text of the query."
            )
        self.schema = self._learn()

    def _learn(self) -> Any:
        """Return the Arrow schema of the first rows; whole numbers may be followed by others, and become floats."""
        import pyarrow
        from pyarrow import types

        fields = []
        for place, name in enumerate(self.names):
            column = self._make_array([row[place] for row in self._first], None, name, 0)
            kind = column.type
            if types.is_integer(kind) or types.is_null(kind) or types.is_decimal(kind):
                kind = pyarrow.float64()
            fields.append(pyarrow.field(name, kind))
        return pyarrow.schema(fields)

    def _make_array(self, values: list[Any], kind: Any, name: str, start: int) -> Any:
        """Return values as an Arrow array of a type; an error names the first row of another one."""
        import pyarrow
        from pyarrow import types

        if kind is not None and types.is_floating(kind):
            # Decimals and whole numbers beside floats.
            values = [value if value is None or isinstance(value, str | bytes) else float(value) for value in values]
        try:
            return pyarrow.array(values, kind, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
            row, value = self._find_odd(values, kind)
        wanted = "values of one type" if kind is None else f"{kind}, as in the first rows"
        raise DataError(
            f"{self.subject}: column {name!r} of {self.name} must hold {wanted}; row {start + row} holds "
            f"{str(value)[:40]!r}, a {type(value).__name__}. Correct it, or cast the column in the query."
        )

    def _find_odd(self, values: list[Any], kind: Any) -> tuple[int, Any]:
        """Return the first row whose value does not go with the type, or with the values before it."""
        import pyarrow

        for row, value in enumerate(values):
            try:
                pyarrow.array([value] if kind is not None else values[: row + 1], kind)
            except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
                return row, value
        return 0, values[0]

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        """Begin a new pass: yield the name of the database and a record batch of the columns `names`."""
        import pyarrow

        if self._cursor is None:
            self._cursor = self.begin()
            self._first = self._cursor.fetchmany(_ROWS)
        cursor, rows, self._cursor, start = self._cursor, self._first, None, 0
        self._first = []
        places = [self.names.index(name) for name in names]
        fields = [self.schema.field(name) for name in names]
        while rows:
            columns = [
                self._make_array([row[place] for row in rows], field.type, field.name, start)
                for place, field in zip(places, fields, strict=True)
            ]
            yield "", pyarrow.RecordBatch.from_arrays(columns, schema=pyarrow.schema(fields))
            start += len(rows)
            rows = cursor.fetchmany(_ROWS)


def open_query(X: Any, subject: str) -> CursorBatches:
    """Open a cursor, which can be read once, or a pair of a connection and a query, which is asked in each pass."""
    if not isinstance(X, tuple):
        return CursorBatches(lambda: X, False, "the cursor", subject)
    connection, query = X

    def ask() -> Any:
        cursor = connection.cursor()
        cursor.execute(query)
        return cursor

    return CursorBatches(ask, True, f"the query {query[:60]!r}", subject)


def is_database(path: Path) -> bool:
    """Return whether a path is that of an SQLite file, or of one of its tables: ``cars.db::sold``."""
    file = Path(_split(path)[0])
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(16) == b"SQLite format 3\x00"


def _split(path: Path) -> tuple[str, str]:
    """Return the file of a path and the table in it."""
    text = str(path)
    file, mark, table = text.rpartition("::")
    return (file, table) if mark and not path.exists() else (text, "")


def open_database(path: Path, subject: str) -> CursorBatches:
    """Open a table of an SQLite file, which is only read; without a name the file must have one table."""
    import sqlite3

    file, table = _split(path)

    def ask(query: str) -> Any:
        # A pass may be read by a thread of its own, one at a time.
        address = f"{Path(file).absolute().as_uri()}?mode=ro"
        return sqlite3.connect(address, uri=True, check_same_thread=False).execute(query)

    try:
        listed = ask("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    except sqlite3.DatabaseError as error:
        raise DataError(f"{subject}: {file} cannot be read as an SQLite file ({error}). Check the file.") from error
    known = [name for (name,) in listed if not name.startswith("sqlite_")]
    if (table and table not in known) or (not table and len(known) != 1):
        raise DataError(
            f"{subject}: {file} must have {f'a table {table!r}' if table else 'one table'}; its tables are "
            f"{', '.join(known) or 'none'}. Give the path as {file}::TABLE."
        )
    name = table or known[0]
    quoted = name.replace('"', '""')
    batches = CursorBatches(lambda: ask(f'SELECT * FROM "{quoted}"'), True, f"the table {name} of {file}", subject)
    batches.one_thread = False
    batches.files = [file]
    return batches
