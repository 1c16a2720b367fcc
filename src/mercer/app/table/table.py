"""A table in memory: a pandas frame of plain columns, and notices about what was guessed."""

from dataclasses import dataclass, field
from typing import Any

from mercer.app.study.record import Notice
from mercer.errors import DataError

__all__ = ["MOST_COLUMNS", "Table", "check_names", "quote"]

# A file with more columns was probably read with the wrong delimiter, or has rows and columns exchanged.
MOST_COLUMNS = 20_000


@dataclass(frozen=True)
class Table:
    """Rows and columns, read and typed.

    Columns hold float64, int64, bool, datetime64 or text; missing values are NaN, NaT or None. The index of the frame
    counts the rows of the file from 0. `forms` are the formats of date columns that were texts.
    """

    name: str
    frame: Any
    digest: str
    notices: list[Notice] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)


def check_names(table: str, names: list[str]) -> None:
    """Raise if a column has no name or the name of another column, or if there are too many columns."""
    if len(names) > MOST_COLUMNS:
        message = (
            f"{table}: a table may have at most {MOST_COLUMNS} columns; got {len(names)}. "
            f"Name those to read with --columns."
        )
        raise DataError(message)
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if not name:
            message = f"{table}: every column needs a name; column {place} has none. Name it, or remove the column."
            raise DataError(message)
        if name in places:
            message = (
                f"{table}: column names must be unique; {quote(name)} names columns {places[name]} and {place}. "
                f"Rename one."
            )
            raise DataError(message)
        places[name] = place


def quote(*names: Any, most: int = 8) -> str:
    """Return names in backticks, separated by commas; at most `most` of them."""
    quoted = ", ".join(f"`{str(name)[:60]}`" for name in names[:most])
    return quoted if len(names) <= most else f"{quoted} and {len(names) - most} more"
