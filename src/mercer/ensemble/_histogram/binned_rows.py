"""The training rows of a boosting fit: their bins in both orders, their order by node, and passes over their blocks."""

from collections.abc import Callable

import numpy as np

from mercer._native.records import SPAN, make_records
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.ensemble._histogram.bins import BinMap
from mercer.ensemble._histogram.rows import RowSet

# Most rows in a block: their bins, gradients and the histogram share the second-level cache.
_MOST_ROWS = 8192
# Blocks are halved down to this size where there would be too few for many threads. On 500 000 x 30 values that costs
# one thread 3 % at half the rows, 6 % at a quarter, 20 % at an eighth.
_LEAST_ROWS = 2048
# Blocks that are enough for many threads.
_ENOUGH_BLOCKS = 96
# Most bins in a block: a longer block would delay Ctrl-C.
_MOST_CELLS = 2**22
# Bins in one work item: about a millisecond, so that handing it out costs little and Ctrl-C is noticed.
_ITEM = 2**20
# Bins in the smallest work item, where larger ones would not make two items for each thread.
_LEAST_ITEM = 2**17
_NO_COUNTS = np.empty(0, dtype=np.int64)


class BinnedRows:
    """Training rows as bins, in blocks of fixed size.

    Parameters
    ----------
    rows : RowSet
    bins : BinMap
    threads : int

    Attributes
    ----------
    codes, columns : (n, d) and (d, n), uint8
        The bin of each value, by row and by column.
    y, weight : (n,), and (n,) or None
    counts : (n,), or empty
        How many rows each row stands for; empty for one each.
    unit, n_blocks : int
        Rows in a block, and the number of blocks; neither depends on the threads.
    repeats : bool
        Whether a row stands for several.
    shift : int
        Bits that the number of rows takes in the words of a histogram.
    order : (n,)
        The positions of rows in their block, sorted by node.
    spans : (blocks, nodes), records
        Where the rows of a node begin and end in the order of a block.
    """

    def __init__(self, rows: RowSet, bins: BinMap, threads: int) -> None:
        self.codes, self.y, self.weight = rows.codes, rows.y, rows.weight
        self.bins, self.threads = bins, threads
        self.n, self.d = rows.codes.shape
        self.unit = _MOST_ROWS
        while self.unit > _LEAST_ROWS and self.unit * _ENOUGH_BLOCKS > self.n:
            self.unit //= 2
        while self.unit > 64 and self.unit * self.d > _MOST_CELLS:
            self.unit //= 2
        self.n_blocks = -(-self.n // self.unit)
        # A split reads one column of all its rows, a histogram all columns of some rows: each has its own order.
        self.columns = np.empty((self.d, self.n), np.uint8)
        self.run_blocks(self.n * self.d, self._transpose)
        counts = rows.count_repetitions()
        self.counts = _NO_COUNTS if counts is None else counts
        self.repeats = counts is not None and bool(np.any(counts > 1))
        total = self.n if counts is None else int(counts.sum())
        self.shift = max(1, total.bit_length())
        self.order = np.empty(self.n, dtype=np.uint16)
        self.spans = make_records((self.n_blocks, 64), SPAN)

    def _transpose(self, first: int, last: int) -> None:
        for block in range(first, last):
            part = slice(block * self.unit, (block + 1) * self.unit)
            self.columns[:, part] = self.codes[part].T

    def run_blocks(self, work: int, call: Callable[[int, int], None]) -> None:
        """Call ``call(first, last)`` on all threads for runs of blocks that cover all; `work` is the cost in bins."""
        shared = min(2 * self.threads, work // _LEAST_ITEM) if self.threads > 1 else 1
        n_items = min(self.n_blocks, max(work // _ITEM, shared, 1))
        if n_items == 1:
            call(0, self.n_blocks)
            return
        cuts = np.linspace(0, self.n_blocks, n_items + 1).astype(int).tolist()
        run_numbered(lambda item: call(cuts[item], cuts[item + 1]), n_items, self.threads)

    def find_rows(self, node: int) -> Array:
        """Return the indices of the rows of a node."""
        unit = self.unit
        return np.concatenate(
            [
                block * unit + self.order[block * unit + begin : block * unit + stop].astype(np.int64)
                for block, (begin, stop) in enumerate(self.spans[:, node].tolist())
            ]
        )

    def widen(self) -> None:
        """Make room for twice as many nodes."""
        wider = make_records((self.n_blocks, 2 * self.spans.shape[1]), SPAN)
        wider[:, : self.spans.shape[1]] = self.spans
        self.spans = wider
