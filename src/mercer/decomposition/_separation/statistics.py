"""One pass over the rows: the sums of contrasts, scores and slopes of all components, and products with the sources."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.separation import score_sums
from mercer._source import Block
from mercer._statistic import Statistic, Sums
from mercer._statistic.statistic import fold_sums
from mercer._types import Array
from mercer.decomposition._separation.scores import KINDS, Score

# Values of one array of a tile: 32768 float64 are 256 KiB. The second-level cache holds three of them: the rows, the
# components and the scores.
_TILE_VALUES = 2**15
# Rows of a tile at least, so that the matrix products are worth their call, and at most.
_FEWEST_ROWS = 64
_MOST_ROWS = 1024
_EMPTY = np.empty(0)


@dataclass(frozen=True)
class ScoreTotals(Sums):
    """Total weight, sums of G, g' and g of each scored component, (p,), and of g(y_i) y_j, (p, q)."""

    weight: float
    value: Array
    slope: Array
    first: Array
    products: Array


@dataclass(frozen=True, eq=False)
class ScoreSums(Statistic):
    """Sums of the contrast of the components ``matrix (x - mean) + offset``; the first `n_scored` are scored.

    Products are taken with all q components. Where the first p are candidates and the others are the white rows u, the
    products hold sum g(y_i) u_j, which a fixed-point step needs.
    """

    matrix: Array
    mean: Array
    offset: Array
    score: Score
    n_scored: int

    def of(self, block: Block) -> ScoreTotals:
        xp = block.xp
        Y = xp.matmul(block.centre(self.mean), self.matrix.T) + self.offset
        value, score, slope = self.score.of(Y[:, : self.n_scored], xp)
        score = block.weigh(score)
        return ScoreTotals(
            block.total_weight(),
            xp.sum(block.weigh(value), axis=0),
            xp.sum(block.weigh(slope), axis=0),
            xp.sum(score, axis=0),
            # sum over rows of g(y_i) y_j, weighted.
            xp.matmul(score.T, Y),
        )

    def on(self, block: Block) -> ScoreTotals:
        return super().on(block) if self.score.has_native else self.of(block)

    def on_run(self, block: Block, unit: int) -> Any:
        return super().on_run(block, unit) if self.score.has_native else self._by_parts(block, unit)

    def native_run(self, block: Block, unit: int) -> ScoreTotals:
        p, (q, d) = self.n_scored, self.matrix.shape
        n_blocks = -(-block.n // unit)
        # The rows of a tile depend on the widths alone, so that each block is cut alike wherever it comes from.
        rows = max(_FEWEST_ROWS, min(_MOST_ROWS, _TILE_VALUES // max(q, d)))
        rows = min(2 ** (rows.bit_length() - 1), max(1, block.n))
        products, sums = np.zeros((n_blocks, p, q)), np.zeros((n_blocks, p, 3))
        tile, Y, scores, scratch = np.empty((rows, d)), np.empty((q, rows)), np.empty((p, rows)), np.empty((2, rows))
        weight = _EMPTY if block.weight is None else block.weight
        layout = (np.ascontiguousarray(self.matrix), self.mean, self.offset)
        kind, alpha = KINDS[self.score.kind], self.score.alpha
        score_sums.score_run(block.X, unit, weight, layout, kind, alpha, tile, Y, scores, scratch, products, sums)
        totals = sums[0] if n_blocks == 1 else fold_sums(sums)
        # Weights add up along the tree of blocks too, so that their sum does not depend on the length of runs.
        total = float(block.n)
        if block.weight is not None:
            total = float(fold_sums(np.array([part.total_weight() for part in block.parts(unit)])))
        value, slope, first = totals.T.copy()
        return ScoreTotals(total, value, slope, first, products[0] if n_blocks == 1 else fold_sums(products).copy())
