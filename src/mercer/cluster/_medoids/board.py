"""The state in which medoids are swapped: the two medoids nearest to each row, and the change by each swap."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._native.space import medoids as native
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.cluster._distances import RowDistances

# Distances in one work item: a quarter of a millisecond of search.
_ITEM = 2**18
# Most rows in a work item.
_MOST_ROWS = 64
# Work items of a round, which run in parallel; their distances are kept until the round's swaps are made.
_ITEMS = 8
# A change smaller than this, relative to the total, may be rounding.
_ROUNDING = 1e-12


class Board:
    """Rows, their weights, and the two medoids nearest to each row."""

    def __init__(self, distances: RowDistances, weight: Array | None, threads: int, subject: str = "KMedoids") -> None:
        self.distances = distances
        self.n = distances.n
        self.weight = np.empty(0) if weight is None else weight
        # Rows of weight zero get a label but cannot be medoids.
        self.candidates = np.arange(self.n) if weight is None else np.flatnonzero(weight > 0)
        self.threads = threads
        self.subject = subject
        self.total = np.inf
        self.memory: Array | None = None

    def shares(self) -> Array:
        """Return each candidate's share of the total weight."""
        weight = self.weight[self.candidates] if len(self.weight) else np.ones(self.n)
        return weight / weight.sum()

    def place(self, medoids: Array) -> None:
        """Start from `medoids`, indices of k rows: measure their distances and each row's two nearest."""
        k = len(medoids)
        size = 8.0 * self.n * (k + 3 + _ITEMS * self._item_rows())
        require_memory(
            self.subject, size, f"the distances of {self.n} rows to {k} medoids", "lower n_clusters or use fewer rows"
        )
        self.medoids = np.array(medoids, dtype=np.intp)
        # `lines` takes rows in rising order, so that consecutive rows of a matrix need no copy.
        order = np.argsort(self.medoids, kind="stable")
        self.table = np.empty((k, self.n))
        for start in range(0, k, _MOST_ROWS):
            part = order[start : start + _MOST_ROWS]
            self.table[part] = self.distances.lines(self.medoids[part])
        self.nearest, self.second = np.empty(self.n, dtype=np.int32), np.empty(self.n, dtype=np.int32)
        self.near, self.next, self.loss = np.empty(self.n), np.empty(self.n), np.empty(k)
        self.total = native.find_two(
            self.table, self.weight, self.nearest, self.second, self.near, self.next, self.loss
        )

    @property
    def rounding(self) -> float:
        """The least change of the total that counts as an improvement."""
        return _ROUNDING * self.total

    def _item_rows(self) -> int:
        return max(2, min(_MOST_ROWS, _ITEM // max(1, self.n)))

    @property
    def round_rows(self) -> int:
        """The number of candidates of one round; it depends on the number of rows only, not on threads."""
        return _ITEMS * self._item_rows()

    def look(self, rows: Array, function: Callable[[Array, slice], Any]) -> list[Any]:
        """Call ``function(lines, part)`` with the distances of parts of `rows` to all rows; return its results.

        The lines of the last round are valid until the next call; those of earlier rounds are overwritten.
        """
        step = self._item_rows()
        results: list[Any] = []
        # Allocating memory for every item would cost more than writing to it.
        if self.memory is None and self.distances.takes_memory:
            self.memory = np.empty((_ITEMS, step, self.n))
        for first in range(0, len(rows), self.round_rows):
            starts = range(first, min(first + self.round_rows, len(rows)), step)
            parts = [slice(start, min(start + step, len(rows))) for start in starts]

            def see(item: int, parts: list[slice] = parts) -> Any:
                memory = None if self.memory is None else self.memory[item]
                return function(self.distances.lines(rows[parts[item]], memory), parts[item])

            run_numbered(see, len(parts), self.threads, results.append)
        return results

    def try_swaps(self, rows: Array) -> tuple[Array, Array, list[Array]]:
        """Return, per candidate, the change of the total by its best swap, the medoid replaced, and the distances."""
        change, which = np.empty(len(rows)), np.empty(len(rows), dtype=np.int32)

        def judge(lines: Array, part: slice) -> Array:
            self._judge(lines, change[part], which[part])
            return lines

        lines = self.look(rows, judge)
        # A row that is a medoid already cannot take the place of another.
        return np.where(np.isin(rows, self.medoids), np.inf, change), which, lines

    def _judge(self, lines: Array, change: Array, which: Array) -> None:
        native.try_swaps(
            lines, self.weight, self.nearest, self.near, self.next, self.loss, np.empty(len(self.loss)), change, which
        )

    def swap(self, row: int, medoid: int, line: Array) -> None:
        """Replace the medoid with index `medoid` by `row`, whose distances to all rows are `line`."""
        self.medoids[medoid] = row
        self.total = native.replace(
            self.table, medoid, line, self.weight, self.nearest, self.second, self.near, self.next, self.loss
        )

    def swap_eagerly(self, rows: Array) -> tuple[int, float]:
        """Make every swap of a round that still helps in its turn; return the last one made and the best change.

        Candidates are judged in parallel; after a swap, those that helped before it are judged again.
        """
        change, which, lines = self.try_swaps(rows)
        last, step, swapped = -1, self._item_rows(), False
        for i in np.flatnonzero(change < -self.rounding):
            line = lines[i // step][i % step : i % step + 1]
            # After a swap earlier judgements are out of date.
            if swapped:
                self._judge(line, change[i : i + 1], which[i : i + 1])
            if change[i] < -self.rounding:
                self.swap(int(rows[i]), int(which[i]), line[0])
                last, swapped = int(i), True
        return last, float(np.min(change, initial=np.inf))

    def sums(self, rows: Array) -> Array:
        """Return the weighted sum of distances from each of `rows` to all rows."""
        weight = self.weight if len(self.weight) else np.ones(self.n)
        return np.concatenate(self.look(rows, lambda lines, part: lines @ weight))

    def gains(self, rows: Array, near: Array) -> Array:
        """Return the change of the total by each of `rows` as one more medoid; `near` are the distances so far."""
        change = np.empty(len(rows))
        self.look(rows, lambda lines, part: native.measure_gains(lines, self.weight, near, change[part]))
        return change
