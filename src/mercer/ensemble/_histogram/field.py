"""The rows of a boosting fit: their bins, their order by leaf, and sums over them on all threads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._source.threads import run_numbered
from mercer.ensemble._histogram.bins import BinMap

__all__ = ["Field"]

Array = Any
# Rows in a block at most: their bins, words and the histogram share the second-level cache. Half as many where there
# would be too few blocks for many threads; that costs one thread 3 %, a quarter 6 %, an eighth 20 % (500 000 x 30).
_UNIT, _LEAST_UNIT, _BLOCKS = 8192, 2048, 96
# Cells of a block at most: more would keep Ctrl-C waiting.
_CELLS = 2**22
# Cells in one piece of work: about a millisecond, so that handing it out costs little and Ctrl-C is seen; fewer where
# that makes two pieces for each thread.
_PIECE, _LEAST_PIECE = 2**20, 2**17
_NO_COUNTS = np.empty(0, dtype=np.int64)


class Field:
    """Rows known by their bins.

    Parameters
    ----------
    codes : (n, d), uint8
        The bin of each value.
    bins : BinMap
    counts : (n,) or None
        How many rows each stands for; None for one each.
    threads : int

    Attributes
    ----------
    unit, n_blocks : int
        Rows in a block, and how many blocks there are; neither depends on the threads.
    repeats : bool
        Whether a row stands for several.
    order : (n,)
        The places of the rows in their blocks, by node.
    spans : (blocks, nodes, 2)
        Where a node's rows begin and end in a block.
    """

    def __init__(self, codes: Array, bins: BinMap, counts: Array | None, threads: int) -> None:
        self.codes, self.bins, self.threads = codes, bins, threads
        self.n, self.d = codes.shape
        self.unit = _UNIT
        while self.unit > _LEAST_UNIT and self.unit * _BLOCKS > self.n:
            self.unit //= 2
        while self.unit > 64 and self.unit * self.d > _CELLS:
            self.unit //= 2
        self.n_blocks = -(-self.n // self.unit)
        # A split asks for one column of all its rows, a histogram for all columns of some: each has its own order.
        self.columns = np.empty((self.d, self.n), np.uint8)
        self.blocks(self.n * self.d, self._turn)
        self.counts = _NO_COUNTS if counts is None else counts
        self.repeats = counts is not None and bool(np.any(counts > 1))
        self.total_count = self.n if counts is None else int(counts.sum())
        self.shift = max(1, self.total_count.bit_length())
        self.order = np.empty(self.n, dtype=np.uint16)
        self.spans = np.zeros((self.n_blocks, 64, 2), dtype=np.int32)

    def _turn(self, first: int, last: int) -> None:
        for block in range(first, last):
            part = slice(block * self.unit, (block + 1) * self.unit)
            self.columns[:, part] = self.codes[part].T

    def blocks(self, work: int, call: Callable[[int, int], None]) -> None:
        """Call ``call(first, last)`` for runs of blocks that cover all, on all threads; `work` is their cost."""
        shared = min(2 * self.threads, work // _LEAST_PIECE) if self.threads > 1 else 1
        pieces = min(self.n_blocks, max(work // _PIECE, shared, 1))
        if pieces == 1:
            call(0, self.n_blocks)
            return
        cuts = np.linspace(0, self.n_blocks, pieces + 1).astype(int).tolist()
        run_numbered(lambda number: call(cuts[number], cuts[number + 1]), pieces, self.threads)

    def rows_of(self, node: int) -> Array:
        """The rows of a node, by number."""
        unit = self.unit
        return np.concatenate(
            [
                block * unit + self.order[block * unit + begin : block * unit + stop].astype(np.int64)
                for block, (begin, stop) in enumerate(self.spans[:, node].tolist())
            ]
        )

    def sums(self, run: Any, scores: Array, y: Array, weight: Array, gradients: Array) -> Array:
        """Write the gradients at some scores; the sums (blocks, 1 + 2 k) of each block."""
        totals = np.empty((self.n_blocks, 1 + 2 * scores.shape[1]))

        def call(first: int, last: int) -> None:
            run(scores, y, weight, self.unit, first, last, gradients, totals)

        self.blocks(16 * self.n * scores.shape[1], call)
        return totals
