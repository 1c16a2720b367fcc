"""Weight, mean and scatter of each column, where entries may be missing.

A missing entry (NaN) is left out: the weight of its row does not count in its column. Each block is centred on its own
means and two results merge by the pairwise update of Chan, Golub and LeVeque (1983), column by column.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sums import columns
from mercer._plain import plain
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._statistic.statistic import Statistic
from mercer._types import Array

_EMPTY = np.empty(0)


@plain
@dataclass(frozen=True, eq=False)
class ColumnMomentSums:
    """Per column: the weight of the known entries, their mean, and their scatter around it.

    A column without entries has weight and mean zero. ``infinite`` counts infinite entries; if there are any, the other
    fields are meaningless.
    """

    weights: Array
    mean: Array
    scatter: Array
    infinite: float = 0.0

    def __add__(self, other: "ColumnMomentSums") -> "ColumnMomentSums":
        weights, mean, scatter = _merge_moments(
            (self.weights, self.mean, self.scatter), (other.weights, other.mean, other.scatter)
        )
        return ColumnMomentSums(weights, mean, scatter, self.infinite + other.infinite)


def _merge_moments(first: tuple[Array, ...], second: tuple[Array, ...]) -> tuple[Array, ...]:
    """Merge weights, means and scatters of two blocks, or of two tables with a row for each block."""
    xp = namespace_of(first[0])
    weights = first[0] + second[0]
    # Chan, Golub and LeVeque: with d = m2 - m1 and w = w1 + w2, the mean is m1 + (w2 / w) d and the scatter
    # S1 + S2 + (w1 w2 / w) d^2. No large sums of squares are subtracted.
    share = second[0] / xp.where(weights > 0, weights, xp.ones_like(weights))
    step = second[1] - first[1]
    return weights, first[1] + share * step, first[2] + second[2] + first[0] * share * step * step


@dataclass(frozen=True)
class ColumnMoments(Statistic):
    """Weight, mean and scatter of each column, over the entries that are not NaN."""

    def of(self, block: Block) -> ColumnMomentSums:
        if block.is_sparse:
            return _measure_stored(block)
        xp = block.xp
        rows = xp.astype(block.X, block.wide, copy=False)
        missing, zeros = xp.isnan(rows), xp.zeros_like(rows)
        if block.weight is not None:
            # A row of weight zero must not serve as pivot, nor spread infinity as 0 * inf.
            missing = missing | (block.weight == 0)[:, None]
        weights = xp.sum(block.weigh(xp.astype(~missing, block.wide)), axis=0)
        some = xp.where(weights > 0, weights, xp.ones_like(weights))
        # Subtract an entry of each column first: the mean of a constant column is then exact, and its scatter zero.
        pivot = xp.max(xp.where(missing, zeros - xp.inf, rows), axis=0)
        pivot = xp.where(weights > 0, pivot, xp.zeros_like(pivot))
        mean = pivot + xp.sum(block.weigh(xp.where(missing, zeros, rows - pivot)), axis=0) / some
        gaps = xp.where(missing, zeros, rows - mean)
        scatter = xp.sum(block.weigh(gaps * gaps), axis=0)
        return ColumnMomentSums(weights, mean, scatter, _count_infinite(block.X, mean, xp))

    def native_run(self, block: Any, unit: int) -> ColumnMomentSums:
        """Compute the moments of each block by compiled code, and merge the blocks level by level along their tree.

        A block with NaN or infinity has a mean that is not finite; it is computed by :meth:`of` instead.
        """
        parts = list(block.parts(unit))
        table = np.zeros((3, len(parts), block.X.shape[1]))
        infinite = 0.0
        for place, part in enumerate(parts):
            total = part.total_weight()
            weight = _EMPTY if part.weight is None else part.weight
            columns.column_moments(part.X, weight, total, *table[1:, place])
            table[0, place] = total
            # Compiled code expects finite entries; a mean that is not finite shows that some are missing or infinite.
            if not np.isfinite(table[1, place]).all():
                with np.errstate(over="ignore", invalid="ignore"):
                    sums = self.of(part)
                table[:, place] = sums.weights, sums.mean, sums.scatter
                infinite += sums.infinite
        # Merge pairs at distance 1, 2, 4, ...: the order of the fixed binary tree over blocks, all pairs at once.
        step = 1
        while step < len(parts):
            later = table[:, step :: 2 * step]
            earlier = table[:, :: 2 * step][:, : later.shape[1]]
            earlier[:] = _merge_moments(tuple(earlier), tuple(later))
            step *= 2
        weights, mean, scatter = table[:, 0].copy()
        return ColumnMomentSums(weights, mean, scatter, infinite)


def _count_infinite(values: Array, mean: Array, xp: Any) -> float:
    """Count infinite values; they are searched only if a mean is not finite."""
    if bool(xp.all(xp.isfinite(mean))):
        return 0.0
    return float(xp.sum(xp.astype(xp.isinf(values), xp.int64)))


def _measure_stored(block: Block) -> ColumnMomentSums:
    """Compute the moments of sparse rows from their stored values; all others are zero."""
    stored, places, width = block.X.data.astype(np.float64, copy=False), block.X.indices, block.X.shape[1]
    heavy = np.repeat(np.ones(block.n) if block.weight is None else block.weight, np.diff(block.X.indptr))
    full = np.bincount(places, minlength=width) == block.n
    there, absent = ~np.isnan(stored), np.zeros(width)
    if not there.all():
        absent = np.bincount(places[~there], heavy[~there], width)
        stored, places, heavy = stored[there], places[there], heavy[there]
    # Rounding of fractional weights may leave a tiny negative rest.
    weights = np.maximum(block.total_weight() - absent, 0.0)
    # The pivot of a column with implicit zeros is zero; that of a full column is one of its entries.
    pivot = np.zeros(width)
    pivot[places] = stored
    pivot = np.where(full, pivot, 0.0)
    zeros = np.where(full, 0.0, np.maximum(weights - np.bincount(places, heavy, width), 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.bincount(places, heavy * (stored - pivot[places]), width)
        mean = pivot + sums / np.where(weights > 0, weights, 1.0)
        scatter = np.bincount(places, heavy * (stored - mean[places]) ** 2, width) + zeros * mean**2
    return ColumnMomentSums(weights, mean, scatter, _count_infinite(stored, mean, np))
