"""Limits on what a table takes in memory: a small file can describe a table of any size.

A file may take as much memory as a packed file may unpack to: 1 GiB, or a hundred times its size, or what
``max_unpacked`` allows. Cells are counted before they are stored.
"""

import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from mercer._source.file.unpacking import find_limit
from mercer._source.table.dialect import Dialect, open_bytes
from mercer._source.table.format import UNPACK, Place
from mercer.errors import DataError

# Bytes that a cell takes while it is read: a number in Arrow beside its text, an object of Python in a list of rows.
_TEXT_CELL = 16
_SHEET_CELL = 128
_SHEET_ROW = 160
# Bytes that an element of a workbook's shared texts takes, and one of its other parts, such as a format of cells.
_TEXT_ELEMENT = 64
_OTHER_ELEMENT = 640
_QUERY_CELL = 64
_CHUNK = 2**20
# Rows of a database between two looks at what they take: with the longest values a row has some megabytes.
_ROWS_BETWEEN = 16
# The tag of a cell in the XML of a sheet, with its place such as r="AB12", which it may lack, and whether it is empty.
_CELL = re.compile(rb"""<(?:\w+:)?c(?:\s[^>]*?\br=["']([A-Z]{1,3})(\d{1,7})["'][^>]*?|\s[^>]*?|)(/|></(?:\w+:)?c)?>""")
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
# The most bytes of a tag that goes on in the next chunk, and of the parts of a workbook that list its sheets.
_LONGEST = 4096
_MOST_LIST = 2**24
# Instructions of SQLite's machine between two looks at the count, and the number that any view may take: some seconds.
# A view over a large table may take more, by the bytes of the file.
_LOOK = 100_000
_LEAST_WORK = 3 * 10**8
_WORK_PER_BYTE = 1_000


def check_bytes(place: Place, n_bytes: int, what: str) -> None:
    """Raise if a table takes more memory than its file may take."""
    most = find_limit(place.size, place.max_unpacked)
    if n_bytes > most:
        raise DataError(
            f"{place.name}: {what} take at least {n_bytes / 1e9:.3g} GB in memory, from a file of "
            f"{place.size / 1e6:.3g} MB; {most / 1e9:.3g} GB are allowed. {UNPACK} if you trust the file."
        )


def check_packed_text(place: Place, dialect: Dialect) -> None:
    """Raise if packed text would take too much memory as a table; it is unpacked, but not kept."""
    n_bytes, n_lines = 0, 1
    with open_bytes(place, dialect.compressed) as file:
        while chunk := file.read(_CHUNK):
            n_bytes += len(chunk)
            n_lines += chunk.count(b"\n")
            n_cells = n_lines * len(dialect.names)
            check_bytes(place, n_bytes + _TEXT_CELL * n_cells, f"the {n_cells} cells or more")


def check_sheets(place: Place, sheet: str | None) -> None:
    """Raise if a workbook has too many cells, or the sheet to read does with the gaps up to its last cell.

    Empty cells count as none: programs write them to keep a colour down to the last row. The other parts are read
    whole, whatever the sheet is: their elements are counted.
    """
    with place.open() as file, zipfile.ZipFile(file) as archive:
        chosen = _find_sheet(archive, sheet)
        for name in archive.namelist():
            with archive.open(name) as content:
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    _count_cells(place, content, name == chosen)
                else:
                    _count_elements(place, content, name)


def _count_elements(place: Place, content: Any, name: str) -> None:
    """Raise if a part of a workbook has too many elements."""
    n_bytes = _TEXT_ELEMENT if name.lower().endswith("sharedstrings.xml") else _OTHER_ELEMENT
    n_elements, last = 0, b""
    while chunk := content.read(_CHUNK):
        # An element ends with a mark of its own or with an end tag, which are told apart by the sign before or after.
        n_elements += chunk.count(b"<") - (last + chunk).count(b"</") - (last + chunk).count(b"<?")
        last = chunk[-1:]
        check_bytes(place, n_bytes * n_elements, f"the {n_elements} elements of {name}")


def _find_sheet(archive: zipfile.ZipFile, sheet: str | None) -> str | None:
    """Return the member that holds a sheet, the first one if none is named; None if it cannot be found."""
    lists = []
    for name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels"):
        with archive.open(name) as content:
            lists.append(ElementTree.fromstring(content.read(_MOST_LIST)))
    sheets = [item for item in lists[0].iter() if item.tag.endswith("}sheet")]
    asked = next((item for item in sheets if sheet in (None, item.get("name"))), None)
    keys = [] if asked is None else [value for key, value in asked.items() if key.endswith("}id")]
    target = next((item.get("Target") for item in lists[1] if item.get("Id") in keys), None)
    return None if target is None else target.lstrip("/") if target.startswith("/xl") else f"xl/{target}"


def _count_cells(place: Place, content: Any, chosen: bool) -> None:
    """Raise if a sheet has too many cells; for the `chosen` one those in gaps count too."""
    last_row = last_column = n_cells = n_rows = 0
    rest = b""
    while chunk := content.read(_CHUNK):
        text = rest + chunk
        n_rows += len(_ROW.findall(text, 0, max(text.rfind(b"<"), len(text) - _LONGEST)))
        # A tag at the end may go on in the next chunk.
        begin = max(text.rfind(b"<"), len(text) - _LONGEST)
        for column, row, empty in _CELL.findall(text, 0, begin):
            n_cells += 1
            if row and not empty:
                last_row, last_column = max(last_row, int(row)), max(last_column, _find_column(column))
        rest = text[begin:]
        count = max(n_cells, last_row * last_column if chosen else 0)
        what = f"the {n_cells} cells of a sheet that ends at row {last_row}, column {last_column}"
        check_bytes(place, _SHEET_CELL * count, what)
        check_bytes(place, _SHEET_ROW * n_rows, f"the {n_rows} rows of a sheet")


def _find_column(letters: bytes) -> int:
    """Return the number of a column: 1 for A, 28 for AB."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


class QuerySize:
    """Counts what the rows that a database gives take in memory; texts that it computes by their length.

    Those that it stores are no longer than the file, and need no look at each value.
    """

    def __init__(self, place: Place, computed: bool) -> None:
        self._place, self._computed = place, computed
        self._n_rows = self._n_bytes = 0

    def fetch(self, cursor: sqlite3.Cursor, n_rows: int) -> list[tuple[Any, ...]]:
        """Return the next rows; raise once all take too much memory."""
        if not self._computed:
            stored = cursor.fetchmany(n_rows)
            if stored:
                self._n_rows += len(stored)
                self._n_bytes += _QUERY_CELL * len(stored[0]) * len(stored)
                self._check(len(stored[0]))
            return stored
        fetched = []
        for row in islice(cursor, n_rows):
            fetched.append(row)
            self._n_rows += 1
            self._n_bytes += _QUERY_CELL * len(row)
            self._n_bytes += sum(len(value) for value in row if isinstance(value, str | bytes))
            if self._n_rows % _ROWS_BETWEEN == 0:
                self._check(len(row))
        if fetched:
            self._check(len(fetched[0]))
        return fetched

    def _check(self, n_columns: int) -> None:
        check_bytes(self._place, self._n_bytes, f"{self._n_rows} rows of {n_columns} columns and more to come")


@contextmanager
def limit_work(place: Place, connection: sqlite3.Connection) -> Iterator[None]:
    """Stop a view that takes more steps than its file explains, and let Ctrl-C stop it."""
    most = max(_LEAST_WORK, _WORK_PER_BYTE * place.size)
    done, stopped = 0, False

    def count() -> int:
        nonlocal done, stopped
        # Any return value but 0 ends the query. An interrupt comes as an exception, which ends it too.
        done += _LOOK
        stopped = done > most
        return int(stopped)

    connection.set_progress_handler(count, _LOOK)
    try:
        yield
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        if not stopped:
            raise KeyboardInterrupt from None
        raise DataError(
            f"{place.name}: the view takes more than {most} steps of SQLite, which may go on without end. Write its "
            f"rows to a table, or give a view that ends sooner."
        ) from None
