"""Weight, mean and scatter of the rows of each class, in one pass that need not know the classes beforehand.

Sums carry the labels they are of, and two sums with other labels merge by them; so a stream that can be read only once
will do, and a batch may lack a class. Each block is centred on its own class means and merged by the pairwise update of
Chan, Golub and LeVeque (1983): columns far from zero, and classes far from one another, keep their digits.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.sums import class_sums
from mercer._plain import plain
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._source.source import SumTree
from mercer._statistic.statistic import Statistic
from mercer._types import Array

_EMPTY = np.empty(0)
# Integer labels within so wide a range are numbered by a table; others are sorted.
_TABLE = 2**16


def number_labels(y: Array, xp: Any = np) -> tuple[Array, Array]:
    """Return the distinct labels in rising order, and the index of each row's label among them."""
    if xp is not np:
        classes, numbers = xp.unique_inverse(y)
        # The standard leaves the order of unique values to the library.
        order = xp.argsort(classes)
        return xp.take(classes, order), xp.take(xp.argsort(order), xp.reshape(numbers, (-1,)))
    if y.dtype.kind in "iu" and len(y) and int(y.max()) - int(y.min()) < _TABLE:
        # Differences of short signed integers overflow in their own type; those of long unsigned ones only in another.
        low = y.min()
        places = (y - low).astype(np.intp) if y.dtype.kind == "u" else y.astype(np.intp) - int(low)
        present = np.bincount(places) > 0
        classes = np.array([int(low) + int(place) for place in np.flatnonzero(present)], dtype=y.dtype)
        return classes, (np.cumsum(present) - 1)[places]
    classes, numbers = np.unique(y, return_inverse=True)
    return classes, numbers.reshape(-1).astype(np.intp, copy=False)


def merge_labels(first: Array, second: Array) -> Array:
    """Return all labels of two sums, in rising order; the first object itself where they are the same."""
    xp = namespace_of(first)
    if first is second or (first.shape == second.shape and bool(xp.all(first == second))):
        return first
    return xp.sort(xp.unique_values(xp.concat([first, second])))


def expand_to_classes(values: Array, own: Array, classes: Array) -> Array:
    """Expand an array with an entry for each `own` label to one with an entry for each of `classes`: new ones are 0."""
    # Labels are among the classes: as many of them are the same ones.
    if own.shape == classes.shape or values is None:
        return values
    xp = namespace_of(values)
    places = np.asarray(xp.searchsorted(classes, own)) if xp is np else xp.searchsorted(classes, own)
    wide = xp.zeros((classes.shape[0], *values.shape[1:]), dtype=values.dtype, device=_device(values, xp))
    for number in range(own.shape[0]):
        wide[int(places[number]), ...] = values[number, ...]
    return wide


def flat_columns(variances: Array, means: Array) -> Array:
    """Return which columns are constant: their variance is at most what rounding of their mean can cause."""
    return variances <= (16.0 * np.finfo(np.float64).eps * np.abs(means)) ** 2


def _device(values: Array, xp: Any) -> Any:
    return None if xp is np else values.device


@plain
@dataclass(frozen=True, eq=False)
class ClassMomentSums:
    """For each of k classes: weight, rows of positive weight, mean, and centred second moments.

    ``scatter`` is (k, d) where `kind` is "diagonal", (k, d, d) where it is "own" and, summed over classes, (d, d) where
    it is "pooled".
    """

    classes: Array
    weights: Array
    counts: Array
    means: Array
    scatter: Array
    kind: str

    def __add__(self, other: "ClassMomentSums") -> "ClassMomentSums":
        classes = merge_labels(self.classes, other.classes)
        # Both sides over the union of labels: a class that one lacks has weight zero there.
        first, second = self.over(classes), other.over(classes)
        xp = namespace_of(first.means)
        weights = first.weights + second.weights
        # Chan's update: m = m1 + (w2 / w) (m2 - m1), S = S1 + S2 + (w1 w2 / w) (m2 - m1)(m2 - m1)^T.
        share = second.weights / xp.where(weights > 0, weights, xp.ones_like(weights))
        step = second.means - first.means
        between = _products(step, first.weights * share, self.kind)
        return ClassMomentSums(
            classes,
            weights,
            first.counts + second.counts,
            first.means + share[:, None] * step,
            first.scatter + second.scatter + between,
            self.kind,
        )

    def over(self, classes: Array) -> "ClassMomentSums":
        """Return the sums for all `classes`; those without rows have weight zero."""
        if classes is self.classes:
            return self
        parts = {
            name: expand_to_classes(getattr(self, name), self.classes, classes)
            for name in ("weights", "counts", "means")
        }
        scatter = self.scatter if self.kind == "pooled" else expand_to_classes(self.scatter, self.classes, classes)
        return ClassMomentSums(classes, **parts, scatter=scatter, kind=self.kind)

    def present(self) -> "ClassMomentSums":
        """Return the sums without classes of weight zero: a row of weight zero is no row."""
        kept = self.weights > 0
        if kept.all():
            return self
        scatter = self.scatter if self.kind == "pooled" else self.scatter[kept]
        return replace(
            self,
            classes=self.classes[kept],
            weights=self.weights[kept],
            counts=self.counts[kept],
            means=self.means[kept],
            scatter=scatter,
        )

    def plainly(self) -> "ClassMomentSums":
        return self

    @property
    def weight(self) -> float:
        """Of all rows."""
        return float(self.weights.sum())

    @property
    def mean(self) -> Array:
        """Of all rows."""
        # About one class with rows, so that equal means give exactly that mean.
        point = self.means[int(np.argmax(self.weights > 0))]
        return point + self.weights @ (self.means - point) / self.weight

    def within(self) -> Array:
        """Return the scatter of rows about the means of their classes: (d, d), or (d,) if the kind is "diagonal"."""
        return self.scatter if self.kind == "pooled" else self.scatter.sum(axis=0)

    def between(self) -> Array:
        """Return the scatter of class means about the mean of all rows, each class weighted by its rows."""
        step = self.means - self.mean
        return _products(step, self.weights, "diagonal" if self.kind == "diagonal" else "own").sum(axis=0)


def _products(step: Array, factor: Array, kind: str) -> Array:
    """Return factor_k step_k step_k^T, in the shape of a scatter."""
    heavy = factor[:, None] * step
    if kind == "diagonal":
        return heavy * step
    return heavy.T @ step if kind == "pooled" else heavy[:, :, None] * step[:, None, :]


@dataclass(frozen=True, eq=False)
class PackedClassMoments:
    """Sums of NumPy rows as native code computes them: only the upper triangles of the scatters are set, padded."""

    classes: Array
    weights: Array
    counts: Array
    means: Array
    packed: Array
    kind: str

    def __add__(self, other: "PackedClassMoments") -> "PackedClassMoments":
        classes = merge_labels(self.classes, other.classes)
        first, second = self._over(classes), other._over(classes)
        means, steps = first.means.copy(), second.means.copy()
        class_sums.merge(first.packed, second.packed, means, steps, first.weights, second.weights)
        weights, counts = first.weights + second.weights, first.counts + second.counts
        return PackedClassMoments(classes, weights, counts, means, first.packed, self.kind)

    def _over(self, classes: Array) -> "PackedClassMoments":
        if classes is self.classes:
            return self
        weights, counts, means = (
            expand_to_classes(part, self.classes, classes) for part in (self.weights, self.counts, self.means)
        )
        packed = self.packed if self.kind == "pooled" else expand_to_classes(self.packed, self.classes, classes)
        return PackedClassMoments(classes, weights, counts, means, packed, self.kind)

    def plainly(self) -> ClassMomentSums:
        """Return the sums with whole matrices instead of packed triangles."""
        d = self.means.shape[1]
        upper = np.triu(self.packed[:, :d, :d])
        scatter = upper + np.triu(upper, 1).transpose(0, 2, 1)
        whole = scatter[0] if self.kind == "pooled" else scatter
        return ClassMomentSums(self.classes, self.weights, self.counts, self.means, whole, self.kind)


@dataclass(frozen=True)
class ClassMoments(Statistic):
    """Moments of the rows of each label.

    Parameters
    ----------
    kind : {"diagonal", "pooled", "own"}
        Which second moments: squares of each column, products of columns summed over classes, or of each class.
    """

    kind: str

    def of(self, block: Block) -> ClassMomentSums:
        xp = block.xp
        classes, numbers = number_labels(block.y, xp)
        groups = block.group(numbers, classes.shape[0])
        heavy = xp.ones(block.n, dtype=block.wide, device=block.device) if block.weight is None else block.weight
        weights = groups.sums(heavy, block.wide)
        counts = groups.sums(xp.astype(heavy > 0, block.wide), block.wide)
        scale = 1.0 / xp.where(weights > 0, weights, xp.ones_like(weights))
        if block.is_sparse:
            return _of_sparse(block, classes, numbers, weights, counts, scale)
        # Sums about one of the rows lose no digits to their distance from zero, and a constant column none at all.
        point = xp.astype(block.X[0, :], block.wide)
        rows = block.centre(point)
        step = groups.sums(block.weigh(rows), block.wide) * scale[:, None]
        rows = rows - xp.take(step, numbers, axis=0)
        rows = rows if block.weight is None else rows * xp.sqrt(block.weight)[:, None]
        # A class without weight has mean zero in every sum, so that sums do not depend on where it was met.
        means = xp.where((weights > 0)[:, None], point + step, xp.zeros_like(step))
        return ClassMomentSums(classes, weights, counts, means, self._scatter(rows, groups, block), self.kind)

    def _scatter(self, rows: Array, groups: Any, block: Block) -> Array:
        if self.kind == "pooled":
            return rows.T @ rows
        if self.kind == "diagonal":
            return groups.sums(rows * rows, block.wide)
        xp = block.xp
        rows, ends = xp.take(rows, groups.order, axis=0), [int(begin) for begin in groups.starts]
        parts = [rows[start:stop, :] for start, stop in itertools.pairwise(ends)]
        return xp.stack([part.T @ part for part in parts])

    def native_run(self, block: Block, unit: int) -> ClassMomentSums | PackedClassMoments:
        """Compute :meth:`of` in native code: labels are numbered once, and rows centred as they are multiplied."""
        classes, numbers = number_labels(block.y)
        run = type(block)(block.X, block.start, numbers, block.weight)
        tree = SumTree()
        for part in run.parts(unit):
            tree.add(self._native_part(part, classes))
        return tree.total()

    def _native_part(self, block: Block, classes: Array) -> ClassMomentSums | PackedClassMoments:
        k, d = len(classes), block.X.shape[1]
        weight = _EMPTY if block.weight is None else block.weight
        counts = np.bincount(block.y if block.weight is None else block.y[weight > 0], minlength=k).astype(np.float64)
        weights = counts if block.weight is None else np.bincount(block.y, weight, k)
        # Sums are taken about the first row: near the data, so that columns far from zero keep their digits.
        means, point = np.zeros((k, d)), block.X[0].astype(np.float64)
        class_sums.add_rows(block.X, block.y, weight, point, means)
        means = np.where(weights > 0, means.T / np.where(weights > 0, weights, 1.0) + point[:, None], 0.0).T.copy()
        if self.kind == "diagonal":
            squares = np.zeros((k, d))
            class_sums.add_squares(block.X, block.y, weight, means, squares)
            return ClassMomentSums(classes, weights, counts, means, squares, self.kind)
        # One pooled scatter has a single run of rows, each less the mean of its own class.
        if self.kind == "pooled":
            order, starts = np.arange(block.n), np.array([0, block.n])
        else:
            # Rows are visited class by class, so that each scatter matrix is filled in one run.
            order = np.argsort(block.y, kind="stable")
            starts = np.concatenate([[0], np.cumsum(np.bincount(block.y, minlength=k))])
        width = class_sums.pad_width(d)
        packed = np.zeros((len(starts) - 1, width, width))
        scratch = np.empty(class_sums.count_packed(d))
        class_sums.add_products(block.X, order, starts, block.y, np.sqrt(weight), means, scratch, packed)
        return PackedClassMoments(classes, weights, counts, means, packed, self.kind)


def _of_sparse(
    block: Block, classes: Array, numbers: Array, weights: Array, counts: Array, scale: Array
) -> ClassMomentSums:
    """Compute means and squares of sparse rows from their stored values alone."""
    k, d = len(classes), block.X.shape[1]
    stored = block.X.astype(np.float64, copy=False)
    lengths = np.diff(stored.indptr)
    heavy = np.repeat(np.ones(block.n) if block.weight is None else block.weight, lengths)
    places = np.repeat(numbers, lengths) * d + stored.indices
    means = np.bincount(places, heavy * stored.data, k * d).reshape(k, d) * scale[:, None]
    gaps = heavy * (stored.data - means.ravel()[places]) ** 2
    counted = np.bincount(places, heavy, k * d).reshape(k, d)
    # Each value that is not stored is a zero, as far from its class mean as that is from zero.
    rest = np.maximum(weights[:, None] - counted, 0.0) * means**2
    return ClassMomentSums(
        classes, weights, counts, means, np.bincount(places, gaps, k * d).reshape(k, d) + rest, "diagonal"
    )
