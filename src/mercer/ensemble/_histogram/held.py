"""The rows that judge the rounds of boosting: their scores, moved by every tree, and their loss."""

from typing import Any

import numpy as np

from mercer._native.boosting import boosting_forest
from mercer._source.threads import run_numbered
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.tree import BoostedTree

__all__ = ["HeldOut", "add_tree"]

Array = Any
# Rows in a block: a few hundred microseconds of walking and of NumPy, so that handing it out costs little.
_UNIT = 4096


class HeldOut:
    """Rows known by their bins, with scores.

    Parameters
    ----------
    codes : (n, d)
    y : (n,)
    weight : (n,) or None
    scores : (n, k)
        Those of the trees so far; written to.
    width : int
        Bins of the widest column.
    threads : int
    """

    def __init__(self, codes: Array, y: Array, weight: Array | None, scores: Array, width: int, threads: int) -> None:
        self.codes, self.y, self.weight, self.scores = codes, y, weight, scores
        self.width, self.threads = width, threads
        self.n_blocks = -(-len(codes) // _UNIT)

    def judge(self, trees: list[BoostedTree], loss: BoostingLoss) -> float:
        """Add the values of a round's trees to the scores; the weighted mean loss, summed block by block."""
        sums = np.empty(self.n_blocks)
        tables = [tree.tables(self.width) for tree in trees]

        def work(block: int) -> None:
            part = slice(block * _UNIT, (block + 1) * _UNIT)
            scores = self.scores[part]
            for output, tree in enumerate(trees):
                add_tree(self.codes[part], tree, tables[output], scores, output)
            values = loss.value(scores, self.y[part])
            sums[block] = np.sum(values if self.weight is None else self.weight[part] * values)

        # One call of the threads for both: waking them takes as long as a tree on some thousand rows.
        run_numbered(work, self.n_blocks, self.threads)
        return float(np.sum(sums) / (len(self.y) if self.weight is None else np.sum(self.weight)))


def add_tree(codes: Array, tree: BoostedTree, tables: Array, scores: Array, output: int) -> None:
    """Add the values of a tree to a score of rows known by their bins."""
    rows = np.arange(len(codes))
    boosting_forest.add_bin_values(codes, rows, tree.feature, tree.left, tables, tree.value, scores, output)
