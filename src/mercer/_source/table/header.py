"""Find the line of column names, skip titles and comments above it, and give every column a name of its own."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mercer._source.table.table import MOST_COLUMNS, Notice, quote
from mercer.errors import DataError

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# Titles and comments above the names; a file with more lines of other widths is hardly a table.
_MOST_TITLES = 30
# A line with at most this share of the fields filled in is a title, if its first field is filled in.
_TITLE_SHARE = 1 / 3
_COMMENTS = ("#", "%", "//")


@dataclass(frozen=True)
class Header:
    """Where the column names are: the index of their record, and the names as written, one for each field of a row."""

    place: int
    names: list[str]
    narrow: bool = False  # whether the record has one name less than the rows have fields


def find_header(records: Sequence[Sequence[str]]) -> Header:
    """Return the record that holds the column names: the first one that is no comment, no title and not empty.

    R's ``write.table`` writes no name for the row names in front, and other programs end every row with a delimiter:
    the rows then have one field more than there are names.
    """
    head = records[: _MOST_TITLES + 200]
    kept = [record for record in head if not _is_comment(record)]
    # The most frequent number of fields is the width of the table; titles have fewer.
    width = Counter(len(record) for record in kept).most_common(1)[0][0] if kept else 0
    rest = enumerate(head[: _MOST_TITLES + 1])
    place = next((k for k, record in rest if not _is_comment(record) and not _is_title(record, width)), 0)
    place = _skip_headings(head[: _MOST_TITLES + 1], place, width)
    if place > 0 and width > 1 and _names_rows_below(head[place - 1], head[place], width):
        names = [str(name).strip() for name in head[place - 1]]
        names[0] = names[0].lstrip("#% ")
        if len(names) == width:
            return Header(place - 1, names)
        # The field without a name is the first one, or the last one if the rows end with a delimiter.
        return Header(place - 1, ["", *names] if str(head[place][-1]).strip() else [*names, ""], narrow=True)
    return Header(place, [str(name).strip() for name in head[place]])


def _is_comment(record: Sequence[str]) -> bool:
    """Return whether a record is empty or begins like a comment."""
    return not any(record) or str(record[0]).lstrip().startswith(_COMMENTS)


def _is_title(record: Sequence[str], width: int) -> bool:
    """Return whether a record is a title: it is narrower than the table, or nearly all its fields are empty."""
    if len(record) < width:
        return True
    filled = sum(1 for field in record if str(field).strip())
    return width > 1 and bool(str(record[0]).strip()) and filled <= max(1, int(_TITLE_SHARE * width))


def _skip_headings(head: Sequence[Sequence[str]], place: int, width: int) -> int:
    """Return the record of names below headings with gaps, such as one for every three columns; else `place`.

    Above the names no record is full and none holds a number; the names are texts in every field.
    """
    if width < 2 or all(str(field).strip() for field in head[place][1:]):
        return place
    for below in range(place, len(head) - 1):
        fields = [str(field).strip() for field in head[below]]
        if any(NUMBER.fullmatch(field) for field in fields):
            break
        if len(fields) == width and all(fields):
            first = [str(field).strip() for field in head[below + 1]]
            return below if any(NUMBER.fullmatch(field) for field in first) else place
    return place


def _names_rows_below(above: Sequence[str], first: Sequence[str], width: int) -> bool:
    """Return whether `above`, which looks like a comment or a title, names the columns: `first` is a row then.

    It has a text in every field, and `first` holds a number.
    """
    if not all(str(field).strip() for field in above) or any(NUMBER.fullmatch(str(field)) for field in above):
        return False
    fits = len(above) == width or (len(above) == width - 1 and len(above) > 1 and not _is_comment(above))
    return fits and any(NUMBER.fullmatch(str(field)) for field in first)


def holds_values(header: Header, records: Sequence[Sequence[str]]) -> bool:
    """Return whether the first record is a row like the others, so that the table has no column names.

    All its fields are numbers, or it has a number in every column of numbers and a text that occurs again below in
    every other column: years may be names, so that numbers alone do not tell. Programs that have no names write the
    places of the columns, 0, 1, 2...
    """
    if len(header.names) > 2 and header.names == [str(place) for place in range(len(header.names))]:
        return False
    if all(NUMBER.fullmatch(name) for name in header.names):
        return True
    rows = [record for record in records[header.place + 1 : header.place + 200] if len(record) == len(header.names)]
    if len(rows) < 3 or not any(NUMBER.fullmatch(name) for name in header.names):
        return False
    for name, values in zip(header.names, zip(*rows, strict=True), strict=True):
        numeric = all(NUMBER.fullmatch(value) or not value.strip() for value in values)
        if not (NUMBER.fullmatch(name) if numeric else name in {value.strip() for value in values}):
            return False
    return True


def find_codes(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the columns of digits that are codes, with an example: they begin with zeros, or have 19 digits or more.

    As a number, 01234 would lose its zero and a number of 19 digits its last ones.
    """
    codes = {}
    full = [row for row in rows if len(row) == len(names)]
    for place, name in enumerate(names):
        values = [value for row in full if (value := row[place].strip())]
        if values and all(value.isdigit() for value in values):
            code = next((value for value in values if (len(value) > 1 and value[0] == "0") or len(value) > 18), None)
            if code is not None:
                codes[name] = code
    return codes


def name_columns(table: str, given: Iterable[str]) -> list[str]:
    """Return a name for every column: its own, ``column_3`` if it has none, ``price_2`` if another has the same.

    Raises
    ------
    DataError
        If there are too many columns.
    """
    written = [str(name).strip() for name in given]
    if len(written) > MOST_COLUMNS:
        raise DataError(
            f"{table}: a table may have at most {MOST_COLUMNS} columns; got {len(written)}. "
            f"Name those to read with --columns."
        )
    taken = set(written)
    names: list[str] = []
    used: set[str] = set()
    for place, name in enumerate(written, start=1):
        unique = name or f"column_{place}"
        # A made-up name must not be that of a later column.
        if unique in used or (not name and unique in taken):
            number = 2
            while f"{unique}_{number}" in taken or f"{unique}_{number}" in used:
                number += 1
            unique = f"{unique}_{number}"
        names.append(unique)
        used.add(unique)
    return names


def describe_names(given: Sequence[str], names: Sequence[str]) -> list[Notice]:
    """Return a notice about columns that had no name, and one about names that several columns had."""
    notices = []
    unnamed = [name for old, name in zip(given, names, strict=True) if not str(old).strip()]
    if unnamed:
        subject = "A column has" if len(unnamed) == 1 else f"{len(unnamed)} columns have"
        pronoun = "It is" if len(unnamed) == 1 else "They are"
        text = f"{subject} no name. {pronoun} called {quote(*unnamed, most=5)}."
        notices.append(Notice("note", "the table", text, "write the names into the table"))
    repeated = [name for old, name in zip(given, names, strict=True) if str(old).strip() and str(old).strip() != name]
    if repeated:
        subject = "A column has" if len(repeated) == 1 else f"{len(repeated)} columns have"
        pronoun = "It is" if len(repeated) == 1 else "They are"
        text = f"{subject} the name of an earlier column. {pronoun} called {quote(*repeated, most=5)}."
        notices.append(Notice("warning", "the table", text, "write different names into the table"))
    return notices


_FIELD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
# Share of the lines that must have the same number of fields, and share of numbers in at least one column.
_REGULAR = 0.9
_NUMERIC = 0.9


def split_blanks(text: str) -> list[list[str]]:
    """Return the fields of each line that is not empty; a quoted field may hold blanks."""
    return [
        [match.group(2) if match.group(1) is None else match.group(1) for match in _FIELD.finditer(line)]
        for line in text.splitlines()
        if line.strip()
    ]


def looks_blank_separated(records: list[list[str]]) -> bool:
    """Return whether the lines have equally many fields, two or more, and one column holds numbers.

    Sentences may have equally many words too, but no column of numbers.
    """
    if len(records) < 3:
        return False
    header = find_header(records)
    width = len(header.names)
    rows = [record for record in records[header.place + 1 :] if len(record) == width]
    # Most lines must have the width of the header; a few may be broken.
    if width < 2 or len(rows) < max(2, _REGULAR * len(records[header.place + 1 :])):
        return False
    return any(
        sum(NUMBER.fullmatch(row[column]) is not None for row in rows) >= _NUMERIC * len(rows)
        for column in range(width)
    )


def join_by_tabs(text: str) -> bytes:
    """Return the text with one tab between two fields, in UTF-8."""
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="\n").writerows(split_blanks(text))
    return written.getvalue().encode()
