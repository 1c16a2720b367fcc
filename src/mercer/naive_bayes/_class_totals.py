"""Totals of columns over the rows of each class: what naive Bayes counts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.sums import class_sums
from mercer._plain import plain
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._source.source import SumTree
from mercer._statistic.by_class import expand_to_classes, merge_labels, number_labels
from mercer._statistic.statistic import Statistic, fold_sums
from mercer._types import Array

_EMPTY = np.empty(0)
# Values in a table of the sums of several blocks: 256 KiB, which a second-level cache holds.
_TABLE = 2**15


@plain
@dataclass(frozen=True, eq=False)
class ClassTotalSums:
    """For each of k classes its weight and an array of totals, (k, d) or (k, d, m); and the least value met.

    Totals by category grow with the largest category: shorter ones count zeros beyond their end.
    """

    classes: Array
    weights: Array
    totals: Array
    least: float

    def __add__(self, other: "ClassTotalSums") -> "ClassTotalSums":
        classes = merge_labels(self.classes, other.classes)
        first, second = self.over(classes), other.over(classes)
        mine, others = first.totals, second.totals
        # The third axis counts categories, and one part of the rows may have met more of them than the other.
        if mine.ndim == 3 and mine.shape[2] != others.shape[2]:
            most = max(mine.shape[2], others.shape[2])
            mine, others = _lengthen(mine, most), _lengthen(others, most)
        weights = first.weights + second.weights
        return ClassTotalSums(classes, weights, mine + others, min(self.least, other.least))

    def absorb(self, other: "ClassTotalSums") -> "ClassTotalSums":
        """Add `other` in place: tables of text are large, and new ones cost more than the additions."""
        if self.totals.shape != other.totals.shape or not np.array_equal(self.classes, other.classes):
            return self + other
        totals = self.totals
        totals += other.totals
        return replace(self, weights=self.weights + other.weights, least=min(self.least, other.least))

    def over(self, classes: Array) -> "ClassTotalSums":
        """Return these sums for all `classes`; classes without rows have weight zero."""
        if classes is self.classes:
            return self
        weights, totals = (expand_to_classes(array, self.classes, classes) for array in (self.weights, self.totals))
        return ClassTotalSums(classes, weights, totals, self.least)

    def present(self) -> "ClassTotalSums":
        """Return these sums without classes of weight zero: a row of weight zero counts as absent."""
        kept = self.weights > 0
        if kept.all():
            return self
        return replace(self, classes=self.classes[kept], weights=self.weights[kept], totals=self.totals[kept])

    def plainly(self) -> "ClassTotalSums":
        return self


def _lengthen(totals: Array, length: int) -> Array:
    """Return totals (k, d, m) with zeros for the categories from m up to `length`."""
    xp = namespace_of(totals)
    shape = (*totals.shape[:2], length - totals.shape[2])
    more = xp.zeros(shape, dtype=totals.dtype, device=None if xp is np else totals.device)
    return xp.concat([totals, more], axis=2)


@dataclass(frozen=True)
class ClassTotals(Statistic):
    """The sum of each column over the rows of each label, or the weight of its values above a threshold.

    Parameters
    ----------
    threshold : float or None
        Not negative, so that values which sparse rows do not store are below it.
    """

    threshold: float | None = None

    def of(self, block: Block) -> ClassTotalSums:
        xp = block.xp
        classes, numbers = number_labels(block.y, xp)
        if block.is_sparse:
            return self._of_sparse(block, classes, numbers)
        groups = block.group(numbers, classes.shape[0])
        heavy = xp.ones(block.n, dtype=block.wide, device=block.device) if block.weight is None else block.weight
        # With a threshold the values are zeros and ones.
        values = block.X if self.threshold is None else self.threshold < block.X
        totals = groups.sums(block.weigh(xp.astype(values, block.wide, copy=False)), block.wide)
        return ClassTotalSums(classes, groups.sums(heavy, block.wide), totals, self._least(block.X, xp))

    def _least(self, values: Array, xp: Any) -> float:
        """Return the smallest value, to refuse negative counts; with a threshold any value is allowed."""
        return float(xp.min(values)) if self.threshold is None and values.shape[0] else 0.0

    def native_run(self, block: Block, unit: int) -> ClassTotalSums:
        classes, numbers = number_labels(block.y)
        run = type(block)(block.X, block.start, numbers, block.weight)
        # As many blocks in one call as make a table that a cache holds; a power of two, so that the tree of sums over
        # blocks, and with it every bit, does not depend on the number of classes.
        most = max(1, _TABLE // max(1, len(classes) * block.X.shape[1]))
        tree = SumTree()
        for part in run.parts(unit * 2 ** (most.bit_length() - 1)):
            tree.add(self._native_part(part, classes, unit))
        return tree.total()

    def _native_part(self, block: Block, classes: Array, unit: int) -> ClassTotalSums:
        k, d = len(classes), block.X.shape[1]
        weight = _EMPTY if block.weight is None else block.weight
        # Each run of `unit` rows has sums of its own,
        # which are folded in a fixed order for the same bits on any machine.
        n_parts = -(-block.n // unit)
        weights, table = np.zeros((n_parts, k)), np.zeros((n_parts, k, d))
        if self.threshold is None:
            least = np.full(d, np.inf)
            class_sums.add_counts(block.X, block.y, weight, unit, least, weights, table)
            return ClassTotalSums(classes, fold_sums(weights), fold_sums(table), float(least.min()))
        class_sums.add_exceeding(block.X, block.y, weight, unit, self.threshold, weights, table)
        return ClassTotalSums(classes, fold_sums(weights), fold_sums(table), 0.0)

    def _of_sparse(self, block: Block, classes: Array, numbers: Array) -> ClassTotalSums:
        k, d = len(classes), block.X.shape[1]
        weights = np.bincount(numbers, block.weight, k).astype(np.float64)
        stored = block.X.data
        values = stored if self.threshold is None else (stored > self.threshold).astype(np.float64)
        weight = _EMPTY if block.weight is None else block.weight
        totals = np.zeros((k, d))
        class_sums.add_stored(values, block.X.indices, block.X.indptr, numbers, weight, totals)
        # Values that are not stored are zero.
        return ClassTotalSums(classes, weights, totals, min(0.0, self._least(stored, np)))


@dataclass(frozen=True)
class CategoryCounts(Statistic):
    """The weight of the rows of each label with each category of each column: (k, d, m).

    Categories are whole numbers from 0 to below `most`. Otherwise nothing is counted and ``least`` tells why: -1 for a
    negative value, -inf for one that is too large, -0.5 for a fraction.
    """

    most: int

    def of(self, block: Block) -> ClassTotalSums:
        xp = block.xp
        classes, numbers = number_labels(block.y, xp)
        k, d = classes.shape[0], block.X.shape[1]
        heavy = xp.ones(block.n, dtype=block.wide, device=block.device) if block.weight is None else block.weight
        weights = block.group(numbers, k).sums(heavy, block.wide)
        fault = self._fault(block.X, xp)
        if fault is not None:
            return ClassTotalSums(classes, weights, xp.zeros((k, d, 1), dtype=block.wide, device=block.device), fault)
        X = xp.astype(block.X, xp.int64)
        m = int(xp.max(X)) + 1
        columns = xp.arange(d, dtype=xp.int64, device=block.device)
        # Row i, column j and category X_ij count in cell (label_i d + j) m + X_ij of a flat table (k, d, m).
        places = xp.reshape((numbers[:, None] * d + columns[None, :]) * m + X, (-1,))
        spread_weight = xp.reshape(xp.broadcast_to(heavy[:, None], (block.n, d)), (-1,))
        if xp is np:
            totals = np.bincount(places, spread_weight, k * d * m)
        else:
            totals = block.group(places, k * d * m).sums(spread_weight, block.wide)
        return ClassTotalSums(classes, weights, xp.reshape(totals, (k, d, m)), 0.0)

    def _fault(self, X: Array, xp: Any) -> float | None:
        """Return the code of what keeps the values from being categories, or None; codes add up by their minimum."""
        low, high = float(xp.min(X)), float(xp.max(X))
        # The codes: -1 for negative values, minus infinity for a category too large to count, -0.5 for a fraction.
        if low < 0:
            return -1.0
        if high >= self.most:
            return -np.inf
        return None if bool(xp.all(xp.floor(X) == X)) else -0.5
