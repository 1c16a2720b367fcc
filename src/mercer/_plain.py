"""The closed list of small record types that model files and checkpoints may hold.

A solver's state, a certificate and the like are frozen dataclasses of plain data. Marking one with :func:`plain` lets
the model-file codec write its fields and rebuild it; nothing outside this list is ever built from a file.
"""

from typing import TypeVar

Record = TypeVar("Record", bound=type)
PLAIN: dict[str, type] = {}


def plain(record: Record) -> Record:
    """Register a frozen dataclass under its class name, which must be unique in mercer."""
    name = record.__name__
    known = PLAIN.setdefault(name, record)
    if known.__module__ != record.__module__:
        raise ValueError(f"plain: record names are unique; {name} is already {known.__module__}.{name}.")
    return record
