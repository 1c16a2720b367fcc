"""Scores of rows for class centres: minus a squared distance plus an offset, so that the nearest scores highest."""

from dataclasses import dataclass

import numpy as np

from mercer._native.sums import class_scores
from mercer._source import Block, Source
from mercer._source.namespace import is_sparse_matrix, multiply_within_rows
from mercer._types import Array

# The most centres for which all gaps take less time than a matrix product and the norms.
_NARROW = 8
# Values copied and sorted at a time: 2 MiB.
_CHUNK = 2**18


def class_medians(source: Source, classes: Array) -> Array:
    """Return the median of each column over the rows of each class, (k, d), a few columns at a time."""
    X, medians = source.whole(), np.empty((len(classes), source.n_features))
    X = X.tocsc() if is_sparse_matrix(X) else X
    for k, label in enumerate(classes):
        rows = np.flatnonzero(source.y == label)
        weight = None if source.weight is None else source.weight[rows]
        # A few columns at a time, so that the copies stay small.
        step = max(1, _CHUNK // max(1, len(rows)))
        for start in range(0, source.n_features, step):
            part = X[:, start : start + step][rows] if is_sparse_matrix(X) else X[rows, start : start + step]
            values = part.toarray() if is_sparse_matrix(part) else part
            medians[k, start : start + step] = _median(values.astype(np.float64, copy=False), weight)
    return medians


def _median(values: Array, weight: Array) -> Array:
    """Return the weighted median, (d,); if a row ends the first half exactly, the mean of it and the next row."""
    if weight is None:
        return np.median(values, axis=0)
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    reached = np.cumsum(weight[order], axis=0)
    half = 0.5 * reached[-1]
    # Cumulated weights are rounded: a half reached up to 1e-12 counts as reached.
    low = np.argmax(reached >= half * (1.0 - 1e-12), axis=0)
    high = np.argmax(reached > half * (1.0 + 1e-12), axis=0)
    columns = np.arange(values.shape[1])
    return 0.5 * (ordered[low, columns] + ordered[high, columns])


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
