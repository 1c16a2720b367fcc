"""Tables, and remarks about them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Notice:
    """A remark about the data or the study, and what to do about it."""

    level: str  # "note", "warning" or "danger"
    subject: str  # a column, a candidate, or "the table"
    text: str
    cure: str = ""
    told: bool = False  # whether the command line prints it although it is a note; it prints all others

    @property
    def advice(self) -> str:
        """The cure as a sentence; empty if there is none."""
        return f"{self.cure[:1].upper()}{self.cure[1:].rstrip('.')}." if self.cure else ""


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


def quote(*names: Any, most: int = 8) -> str:
    """Return names in backticks, separated by commas; at most `most` of them."""
    quoted = ", ".join(f"`{str(name)[:60]}`" for name in names[:most])
    return quoted if len(names) <= most else f"{quoted} and {len(names) - most} more"
