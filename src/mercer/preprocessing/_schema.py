"""What a table holds: name, kind, range, categories and gaps of each column, and how other rows differ from that."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._notebook import render_table
from mercer._plain import plain
from mercer._types import Array
from mercer.preprocessing._columns import Columns

# Categories that a schema shows by name.
_SHOWN = 30
# Categories of a column that are known again: 128 KiB of hashes. A column with more is a text or a key.
_MOST_KNOWN = 2**14
# Characters of a value in a sentence or a table.
_LONG = 40


@plain
@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """What one column of a table holds.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "text", "ignored"}
        What it is used as.
    stored : {"number", "category", "date"}
        What the values are, by their type: texts and booleans are categories.
    n_rows, n_missing : int
    low, high : float
        The range of numbers; of dates in days since the start of 1970; NaN for other kinds.
    categories : ndarray of str
        The most frequent categories, at most 30.
    n_categories : int
        Their number, as far as they were counted.
    known : ndarray of uint64 or None
        Sorted hashes of all categories; None where there are more than 16384.
    """

    name: str
    kind: str
    stored: str
    n_rows: int
    n_missing: int
    low: float
    high: float
    categories: Array
    n_categories: int
    known: Any

    @property
    def missing_share(self) -> float:
        """The share of rows without a value."""
        return self.n_missing / max(1, self.n_rows)

    def describe(self) -> str:
        """Return the range or the categories in words."""
        if self.kind == "category":
            names = ", ".join(str(name)[:_LONG] for name in self.categories[:5])
            more = self.n_categories - 5
            return f"{names} and {more} more" if more > 0 else names
        if self.kind not in ("number", "date") or np.isnan(self.low):
            return ""
        ends = (self.low, self.high)
        if self.kind == "date":
            first, last = (str(np.datetime64(int(np.floor(end)), "D")) for end in ends)
            return f"{first} to {last}"
        return f"{ends[0]:.6g} to {ends[1]:.6g}"


@plain
@dataclass(frozen=True, eq=False)
class TableSchema:
    """The columns of a table: what each holds, and how many rows lack it.

    ``schema["age"]`` is one column. :func:`read_schema` reads the schema of a table in any place, and a fitted
    :class:`TableEncoder` keeps that of its training rows, which it holds new rows to.

    Attributes
    ----------
    columns : tuple of ColumnSchema
    n_rows : int

    Examples
    --------
    >>> import pandas
    >>> from mercer.preprocessing import read_schema
    >>> cars = pandas.DataFrame({"maker": ["Audi", "BMW", None, "Audi"], "age": [3.0, None, 7.0, 5.0]})
    >>> print(read_schema(cars))
    4 rows, 2 columns
    column  kind      missing  values
    maker   category  25 %     Audi, BMW
    age     number    25 %     3 to 7
    """

    columns: tuple[ColumnSchema, ...]
    n_rows: int

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def __getitem__(self, name: str) -> ColumnSchema:
        found = [column for column in self.columns if column.name == name]
        if not found:
            raise KeyError(f"the schema has no column {name!r}; its columns are {', '.join(self.names)}")
        return found[0]

    def __iter__(self) -> Iterator[ColumnSchema]:
        return iter(self.columns)

    def _list_lines(self) -> list[list[str]]:
        shares = [f"{100 * column.missing_share:.3g} %" for column in self.columns]
        return [
            [column.name[:_LONG], column.kind, share, column.describe()]
            for column, share in zip(self.columns, shares, strict=True)
        ]

    def __str__(self) -> str:
        lines = [["column", "kind", "missing", "values"], *self._list_lines()]
        widths = [max(len(line[place]) for line in lines) for place in range(3)]
        texts = ["  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[3]]) for line in lines]
        count = [f"{self.n_rows} row{'s' * (self.n_rows != 1)}", f"{len(lines) - 1} column{'s' * (len(lines) != 2)}"]
        return "\n".join([", ".join(count), *(text.rstrip() for text in texts)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return render_table(f"{self.n_rows} rows", self._list_lines(), ("kind", "missing", "values"))


def hash_names(names: Any) -> Array:
    """Return a hash of each name, the same in every process."""
    digests = (hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def list_stored_kinds(columns: Columns, kinds: Iterable[str]) -> list[str]:
    """Return what the values of each column are, by their type; texts may be lists of words, which have no type."""
    words = ("text", "ignored")
    return ["category" if kind in words else columns.kind(index) for index, kind in enumerate(kinds)]


def make_schema(
    names: list[str], kinds: list[str], stored: list[str], summaries: list[Any], n_rows: int
) -> TableSchema:
    """Return the schema of columns that were summarised."""
    columns = []
    for name, kind, type_, summary in zip(names, kinds, stored, summaries, strict=True):
        plain_kind = kind.split()[0]
        shown: list[str] = []
        missing, low, high, count, known = 0, np.nan, np.nan, 0, None
        if plain_kind in ("number", "date"):
            missing = summary.n_missing
            low, high = summary.range() if summary.n_known else (np.nan, np.nan)
        elif plain_kind == "category":
            missing, count = summary.n_missing, len(summary.counts)
            # Ties are broken by name, so that the order of the rows does not matter.
            shown = sorted(summary.counts, key=lambda name: (-summary.counts[name], name))[:_SHOWN]
            if count <= _MOST_KNOWN and not summary.error:
                known = np.sort(hash_names(summary.counts))
        categories = np.array(shown, dtype=object)
        columns.append(
            ColumnSchema(
                name, plain_kind, type_, int(n_rows), int(missing), float(low), float(high), categories, count, known
            )
        )
    return TableSchema(tuple(columns), int(n_rows))


@dataclass(frozen=True)
class Difference:
    """How the rows of a block differ from a schema in one column.

    ``what`` is ``"kind"`` or ``"categories"``, ``values`` are some that differ, and ``row`` is the first row of the
    block that holds one.
    """

    column: str
    what: str
    values: tuple[str, ...]
    row: int
    schema: ColumnSchema

    def __str__(self) -> str:
        shown = ", ".join(repr(value[:_LONG]) for value in self.values[:3])
        if self.what == "kind":
            words = {"number": "numbers", "category": "texts", "date": "dates"}
            return (
                f"column {self.column!r} held {words[self.schema.stored]} in the training rows, and holds {shown} now"
            )
        more = len(self.values) - 3
        beyond = f" and {more} more" if more > 0 else ""
        what = "a category" if len(self.values) == 1 else "categories"
        return f"column {self.column!r} has {what} that no training row had: {shown}{beyond}"


def find_differences(schema: TableSchema, columns: Columns, codings: list[Any]) -> Iterator[Difference]:
    """Yield how the columns of a block differ from those of a schema, which are in the same order."""
    for index, (column, coding) in enumerate(zip(schema.columns, codings, strict=True)):
        # A form reads texts as numbers or dates.
        if coding is None or getattr(coding, "form", None):
            continue
        if column.kind == "category":
            found = _find_new_categories(column, columns, index)
        else:
            found = _find_other_kind(column, columns, index)
        if found is not None:
            yield found


def _find_other_kind(column: ColumnSchema, columns: Columns, index: int) -> Difference | None:
    """Return the difference if a column of numbers or dates holds values of another type."""
    if column.kind not in ("number", "date"):
        return None
    now = columns.kind(index)
    # Texts that are dates are read as such, and others are refused with the value.
    if now == column.stored or (column.kind == "date" and now == "category"):
        return None
    return _describe_first(column, columns, index, "kind")


def _describe_first(column: ColumnSchema, columns: Columns, index: int, what: str) -> Difference | None:
    """Return a difference with the first known value of a column; None where all values are missing."""
    values, codes = columns.factorise(index)
    known = np.flatnonzero(codes >= 0)
    if not len(known):
        return None
    return Difference(column.name, what, (str(values[codes[known[0]]]),), int(known[0]), column)


def _find_new_categories(column: ColumnSchema, columns: Columns, index: int) -> Difference | None:
    """Return the difference if a column of categories holds values that no training row had."""
    if column.known is None:
        return None
    values, codes = columns.factorise(index)
    frequent = set(column.categories.tolist())
    doubtful = [place for place, value in enumerate(values) if value not in frequent]
    if not doubtful:
        return None
    new = np.array(doubtful)[~np.isin(hash_names(values[place] for place in doubtful), column.known)]
    rows = np.flatnonzero(np.isin(codes, new))
    if not len(rows):
        return None
    # In the order of their first rows.
    seen = dict.fromkeys(codes[rows].tolist())
    named = tuple(str(values[place]) for place in seen)
    other = columns.kind(index) != column.stored and len(seen) == len(values)
    return Difference(column.name, "kind" if other else "categories", named, int(rows[0]), column)
