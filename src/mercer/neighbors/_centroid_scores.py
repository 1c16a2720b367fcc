"""Scores of rows for class centres: minus a squared distance plus an offset, so that the nearest scores highest."""

from dataclasses import dataclass

import numpy as np

from mercer._native.sums import class_scores
from mercer._source import Block
from mercer._source.namespace import multiply_within_rows
from mercer._types import Array

# The most centres for which all gaps take less time than a matrix product and the norms.
_NARROW = 8


@dataclass(frozen=True, eq=False)
class SquaredScores:
    """offset_k - |(x - c_k) * scale|^2 for each row and class."""

    centres: Array
    scale: Array
    offsets: Array

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        if block.is_sparse:
            return self._of_sparse(block)
        if block.is_native and self.centres.shape[0] <= _NARROW:
            scales = np.tile(np.asarray(self.scale, np.float64), (len(self.centres), 1))
            scores = np.empty((block.n, len(self.centres)))
            centres, offsets = (np.ascontiguousarray(part, np.float64) for part in (self.centres, self.offsets))
            class_scores.score_gaps(block.X, centres, scales, offsets, scores)
            return scores
        # |x - c|^2 = |x|^2 - 2 x . c + |c|^2 about the mean of the centres: one matrix product, and fewer digits
        # cancel.
        middle = xp.mean(self.centres, axis=0)
        rows, centres = block.centre(middle) * self.scale, (self.centres - middle) * self.scale
        own, lengths = (multiply_within_rows(part, part, xp) for part in (rows, centres))
        return (self.offsets - lengths) - own[:, None] + 2.0 * (rows @ centres.T)

    def _of_sparse(self, block: Block) -> Array:
        """Return the scores of sparse rows: |x|^2 - 2 x . c + |c|^2 needs stored values only."""
        squares = self.scale * self.scale
        own = block.X.multiply(block.X) @ squares
        lengths = np.sum(self.centres**2 * squares, axis=1)
        return self.offsets - (own[:, None] - 2.0 * (block.X @ (self.centres * squares).T) + lengths)


@dataclass(frozen=True, eq=False)
class AbsoluteScores:
    """offset_k - (sum_j |x_j - c_kj| scale_j)^2 for each row and class."""

    centres: Array
    scale: Array
    offsets: Array

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        if block.is_sparse:
            return self._of_sparse(block)
        columns = []
        for k in range(self.centres.shape[0]):
            # The score is an offset for the prior less the squared Manhattan distance, in scaled columns.
            gaps = xp.sum(xp.abs(block.centre(self.centres[k, :])) * self.scale, axis=1)
            columns.append(self.offsets[k] - gaps * gaps)
        return xp.stack(columns, axis=1)

    def _of_sparse(self, block: Block) -> Array:
        """Return the scores of sparse rows: all-zero rows are sum |c| away, and stored values correct that."""
        X, n = block.X, block.n
        rows, columns = np.repeat(np.arange(n), np.diff(X.indptr)), []
        for k, centre in enumerate(self.centres):
            away = np.abs(centre) * self.scale
            gaps = np.abs(X.data - centre[X.indices]) * self.scale[X.indices] - away[X.indices]
            total = np.bincount(rows, gaps, n) + away.sum()
            columns.append(self.offsets[k] - total * total)
        return np.stack(columns, axis=1)
