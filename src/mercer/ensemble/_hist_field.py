"""The rows of a boosting fit: their bins, their order by leaf, and sums over them on all threads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._native import boosting_forest, boosting_gradients, boosting_histogram
from mercer._source.threads import run_numbered
from mercer.ensemble._hist_bins import BinMap
from mercer.ensemble._hist_tree import BoostedTree

__all__ = ["Field"]

Array = Any
# Rows in a block: their bins, words and the histogram share the second-level cache.
_UNIT = 8192
# Pairs added in one piece of work: about a millisecond, so that handing it out costs little and Ctrl-C is seen.
_PIECE = 2**20
_NO_COUNTS = np.empty(0, dtype=np.int64)


class Field:
    """Rows known by their bins.

    Parameters
    ----------
    codes : (n, d)
        The bin of each value.
    bins : BinMap
    counts : (n,) or None
        How many rows each stands for; None for one each.
    threads : int

    Attributes
    ----------
    order : (n,)
        The places of the rows in their blocks, by node.
    begin, stop : (nodes, blocks)
        Where a node's rows are.
    """

    def __init__(self, codes: Array, bins: BinMap, counts: Array | None, threads: int) -> None:
        self.codes, self.bins, self.threads = codes, bins, threads
        self.n, self.d = codes.shape
        # A split asks for one column of all its rows, a histogram for all columns of some: each has its own order.
        self.columns = np.ascontiguousarray(codes.T)
        self.n_blocks = -(-self.n // _UNIT)
        self.counts = _NO_COUNTS if counts is None else counts
        self.total_count = self.n if counts is None else int(counts.sum())
        self.shift = max(1, self.total_count.bit_length())
        self.offsets = bins.offsets
        self.words = np.empty((self.n, 2), dtype=np.int64)
        self.order = np.empty(self.n, dtype=np.uint16)
        self.begin = np.zeros((64, self.n_blocks), dtype=np.int32)
        self.stop = np.zeros((64, self.n_blocks), dtype=np.int32)
        self._spare: list[Array] = []
        self._free: list[Array] = []

    def blocks(self, work: int, call: Callable[[int, int], None]) -> None:
        """Call ``call(first, last)`` for runs of blocks that cover all, on all threads; `work` is their cost."""
        pieces = min(self.n_blocks, max(1, work // _PIECE))
        if pieces == 1:
            call(0, self.n_blocks)
            return
        cuts = np.linspace(0, self.n_blocks, pieces + 1).astype(int).tolist()
        run_numbered(lambda number: call(cuts[number], cuts[number + 1]), pieces, self.threads)

    def histogram(self) -> Array:
        """An empty histogram."""
        return self._free.pop() if self._free else np.zeros(2 * int(self.offsets[-1]), dtype=np.int64)

    def release(self, histogram: Array) -> None:
        """Take back a histogram that nobody needs."""
        histogram[:] = 0
        self._free.append(histogram)

    def _summed(self, work: int, call: Callable[[int, int, Array, Array], None]) -> Array:
        """The sum of what runs of blocks add to a histogram: whole numbers, so that their order changes nothing."""
        used: list[Array] = []
        idle: list[Array] = []

        def piece(first: int, last: int) -> None:
            try:
                histogram = idle.pop()
            except IndexError:
                histogram = self.histogram()
                used.append(histogram)
            try:
                spare = self._spare.pop()
            except IndexError:
                spare = np.empty(_UNIT, dtype=np.uint16)
            call(first, last, spare, histogram)
            idle.append(histogram)
            self._spare.append(spare)

        self.blocks(work, piece)
        total = used.pop()
        for part in used:
            boosting_histogram.add_histogram(total, part)
            self._free.append(part)
        return total

    def start(self, gradients: Array, scale: float, rest_scale: float, drawn: Array | None = None) -> Array:
        """Put all rows, or those drawn, in the root and return its histogram.

        Parameters
        ----------
        gradients : (n, 2)
        scale, rest_scale : float
            Units of the words in a unit of gradient and of curvature.
        drawn : (n,) or None
            How often each row was drawn; the gradients of the others are zero.
        """
        counts = self.counts if drawn is None else drawn
        self.begin[0] = 0
        self.stop[0] = _UNIT
        self.stop[0, -1] = self.n - (self.n_blocks - 1) * _UNIT

        def call(first: int, last: int, spare: Array, histogram: Array) -> None:
            boosting_histogram.quantise_run(
                *(gradients, counts, scale, rest_scale, self.shift, self.codes, self.offsets, _UNIT, first, last),
                *(self.words, self.order, histogram),
            )

        histogram = self._summed(self.n * self.d, call)
        if drawn is not None:
            self._leave_out(drawn)
        return histogram

    def _leave_out(self, drawn: Array) -> None:
        """Keep in the root only the rows that were drawn."""
        for block in range(self.n_blocks):
            first = block * _UNIT
            places = np.flatnonzero(drawn[first : first + _UNIT])
            self.order[first : first + len(places)] = places
            self.stop[0, block] = len(places)

    def split(self, node: int, left: int, rows: int, feature: int, goes_left: Array, build: int) -> Array | None:
        """Part the rows of a node; the histogram of a child: `build` 0 for the left one, 1 for the right, -1 for none.

        `rows` are those of the node.
        """
        if left + 2 > len(self.begin):
            self.begin, self.stop = (np.concatenate([one, np.zeros_like(one)]) for one in (self.begin, self.stop))

        def call(first: int, last: int, spare: Array, histogram: Array) -> None:
            boosting_histogram.split_run(
                *(self.codes, self.words, self.order, self.begin, self.stop, node, left, self.columns[feature]),
                *(goes_left, self.offsets, _UNIT, first, last, build, spare, histogram),
            )

        if build < 0:
            # Nothing is added to it: any histogram will do for all threads.
            spare = self.histogram()
            self.blocks(2 * rows, lambda first, last: call(first, last, np.empty(_UNIT, np.uint16), spare))
            self._free.append(spare)
            return None
        return self._summed(rows * self.d // 2, call)

    def add_values(self, leaves: Array, values: Array, scores: Array, column: int) -> None:
        """Add to each row's score the value of the leaf it is in."""

        def call(first: int, last: int) -> None:
            boosting_gradients.add_leaf_values(
                self.order, self.begin, self.stop, leaves, values, _UNIT, first, last, scores, column
            )

        self.blocks(4 * self.n, call)

    def add_tree(self, tree: BoostedTree, scores: Array, column: int) -> None:
        """Add a tree's values to the scores of all rows, whether they are in its leaves or were not drawn."""
        tables = tree.tables(self.bins.width)

        def call(first: int, last: int) -> None:
            part = slice(first * _UNIT, last * _UNIT)
            boosting_forest.add_bin_values(
                self.codes[part], tree.feature, tree.left, tables, tree.value, scores[part], column
            )

        self.blocks(16 * self.n, call)

    def rows_of(self, node: int) -> Array:
        """The rows of a node, by number."""
        return np.concatenate(
            [
                block * _UNIT + self.order[block * _UNIT + begin : block * _UNIT + stop].astype(np.int64)
                for block, (begin, stop) in enumerate(zip(self.begin[node], self.stop[node], strict=True))
            ]
        )

    def sums(self, native: Any, scores: Array, y: Array, weight: Array, gradients: Array) -> Array:
        """Write the gradients at some scores; the sums (blocks, 1 + 2 k) of each block."""
        totals = np.empty((self.n_blocks, 1 + 2 * scores.shape[1]))
        self.blocks(
            16 * self.n * scores.shape[1],
            lambda first, last: native(scores, y, weight, _UNIT, first, last, gradients, totals),
        )
        return totals
