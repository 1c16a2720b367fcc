"""Arguments that several commands share, and how their values are written."""

import argparse
import re
from typing import Any

from mercer.errors import DataError

__all__ = ["add_table_arguments", "duration", "listed", "reading_options"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d)?")
_SECONDS = {"s": 1, "sec": 1, None: 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """How a table is read, where it cannot be guessed."""
    reading = parser.add_argument_group("reading the table")
    reading.add_argument("--delimiter", metavar="CHARACTER", help="between columns of text (guessed)")
    reading.add_argument("--encoding", metavar="NAME", help="of text (guessed)")
    reading.add_argument("--sheet", metavar="NAME", help="of an Excel file (the first)")
    reading.add_argument("--query", metavar="TABLE", help="of an SQLite file (the only one)")


def reading_options(options: Any) -> dict[str, Any]:
    """The options of `add_table_arguments` by name."""
    return {name: getattr(options, name) for name in ("delimiter", "encoding", "sheet", "query")}


def listed(values: list[str] | None, mark: str = ",") -> list[str]:
    """Names given in one option with marks between, or in several options."""
    return [name.strip() for value in values or () for name in value.split(mark) if name.strip()]


def duration(text: str) -> float | None:
    """Seconds of a duration such as ``60s``, ``5m`` or ``1.5h``; None if this is none."""
    found = _DURATION.fullmatch(str(text).strip())
    if found is None:
        return None
    seconds = float(found.group(1)) * _SECONDS[found.group(2)]
    if seconds <= 0:
        message = f"--time must be longer than 0; got {text!r}. Write 60s or 5m."
        raise DataError(message)
    return seconds
