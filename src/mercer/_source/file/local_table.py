"""Tables with an entry per row, kept by whichever process works on the rows.

On a cluster a table of all rows belongs nowhere, but a worker that meets the same block in every pass can keep what it
learnt of its rows. Such a table saves work and changes no result: an entry says how much it knows, and one that is lost
with its worker, or was not kept because memory was short, is computed again.
"""

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._source.block import Block
from mercer._types import Array

# The most bytes that a process keeps in all of its tables: k-means takes 20 bytes a row, so this holds 13 million rows.
_MOST_BYTES = 2**28

_lock = threading.Lock()
_tables: "OrderedDict[str, dict[tuple[int, int], Entry]]" = OrderedDict()
_bytes = 0


@dataclass(eq=False)
class Entry:
    """Columns of one block, and a stamp that says how much they know; 0 at first, then set by the statistic."""

    columns: tuple[Array, ...]
    stamp: int = 0

    @property
    def n_bytes(self) -> int:
        """The bytes of its columns."""
        return sum(column.nbytes for column in self.columns)


@dataclass(frozen=True, eq=False)
class LocalTable:
    """The name by which processes find a table of theirs, and what it begins with: (fill, type) of each column."""

    columns: tuple[tuple[float, Any], ...]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def entry(self, block: Block) -> Entry:
        """Return what this process keeps of a block, or a new entry if it keeps nothing."""
        with _lock:
            table = _tables.setdefault(self.token, {})
            _tables.move_to_end(self.token)
            # A pass may read a chunk in longer runs than a random draw does, so the length is part of the key.
            place = block.start, block.n
            entry = table.get(place)
            if entry is None:
                entry = Entry(tuple(np.full(block.n, fill, dtype) for fill, dtype in self.columns))
                if _has_room(entry.n_bytes, self.token):
                    table[place] = entry
        return entry


def _has_room(n_bytes: int, token: str) -> bool:
    """Reserve memory for an entry, dropping the least recently used tables; return False if there is none."""
    global _bytes
    # The dictionary is in the order of use; a table never drops itself to make room for its own entries.
    while _bytes + n_bytes > _MOST_BYTES and next(iter(_tables)) != token:
        _drop(next(iter(_tables)))
    if _bytes + n_bytes > _MOST_BYTES:
        return False
    _bytes += n_bytes
    return True


def _drop(token: str) -> None:
    """Drop a table and subtract its bytes; the caller holds the lock."""
    global _bytes
    _bytes -= sum(entry.n_bytes for entry in _tables.pop(token, {}).values())


def forget(token: str) -> None:
    """Drop a table of this process."""
    with _lock:
        _drop(token)


def count_kept_bytes() -> int:
    """Return the bytes that the tables of this process take."""
    with _lock:
        return _bytes
