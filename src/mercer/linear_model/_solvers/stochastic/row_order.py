"""Random orders of rows, drawn so that memory can keep up.

Rows in any order at all cost a trip to memory each, at a third of the speed of rows in sequence. So where there are
many, short runs of neighbours are drawn in random order, and windows of 64 runs are mixed. While one window, which fits
the second-level cache, is visited, the next is fetched run by run. Measured on 500 000 x 50 float64: 75 ns a row
instead of 160 ns, against 44 ns in sequence.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["RowOrder", "draw_order", "keep_order"]

Array = Any
# Up to so many numbers (16 MiB) rows are in the third-level cache, and any order is as good.
_CACHED = 2**21
# Numbers in a run (8 KiB) and in a window (512 KiB).
_RUN, _WINDOW = 2**10, 2**16
# How many visits ahead a row is asked for where there are no windows.
_DISTANCE = 32


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Rows in the order of visits; in the order they are fetched in; and by how many visits fetching is ahead."""

    visits: Array
    fetches: Array
    distance: int


def keep_order(rows: Array) -> RowOrder:
    """The rows as they come."""
    rows = np.ascontiguousarray(rows, dtype=np.intp)
    return RowOrder(rows, rows, _DISTANCE)


def draw_order(rows: Array, n_stored: float, random: np.random.Generator) -> RowOrder:
    """A random order of some rows with `n_stored` numbers each."""
    if len(rows) * n_stored <= _CACHED or n_stored >= _RUN:
        return keep_order(random.permutation(rows))
    run, window = -int(-_RUN // n_stored), int(_WINDOW // n_stored)
    n_runs = -(-len(rows) // run)
    places = (random.permutation(n_runs)[:, None] * run + np.arange(run)).reshape(-1)
    fetches = np.ascontiguousarray(rows[places[places < len(rows)]], dtype=np.intp)
    whole = len(fetches) // window * window
    # Which runs meet in a window is random, so one way of mixing serves all windows.
    mixed = fetches[:whole].reshape(-1, window)[:, random.permutation(window)].reshape(-1)
    return RowOrder(np.concatenate([mixed, random.permutation(fetches[whole:])]), fetches, window)
