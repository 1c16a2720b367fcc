"""A table in memory: a pandas frame of plain columns, and what reading it had to guess."""

from dataclasses import dataclass, field
from typing import Any

from mercer.app.study.record import Notice
from mercer.errors import DataError

__all__ = ["MOST_COLUMNS", "Table", "check_names", "named"]

# More columns than any table a person made; a wider file is one read with the wrong delimiter, or turned on its side.
MOST_COLUMNS = 20_000


@dataclass(frozen=True)
class Table:
    """Rows and columns, read and typed.

    Columns hold float64, int64, bool, datetime64 or text; what is missing is NaN, NaT or None. The index of the frame
    counts the rows of the file from 0. `forms` says of columns of dates how they were written, where they were texts.
    """

    name: str
    frame: Any
    digest: str
    notices: list[Notice] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)


def check_names(table: str, names: list[str]) -> None:
    """Raise if a column has no name or that of another, or if there are too many of them."""
    if len(names) > MOST_COLUMNS:
        message = (
            f"{table}: a table may have at most {MOST_COLUMNS} columns; got {len(names)}. "
            f"Name those to read with --columns."
        )
        raise DataError(message)
    places: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not name:
            message = f"{table}: every column needs a name; column {number} has none. Name it, or remove the column."
            raise DataError(message)
        if name in places:
            message = (
                f"{table}: column names must be unique; {named(name)} names columns {places[name]} and {number}. "
                f"Rename one."
            )
            raise DataError(message)
        places[name] = number


def named(*names: Any, most: int = 8) -> str:
    """Names in backquotes with commas between, the first few of them."""
    quoted = ", ".join(f"`{str(name)[:60]}`" for name in names[:most])
    return quoted if len(names) <= most else f"{quoted} and {len(names) - most} more"
