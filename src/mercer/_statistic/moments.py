"""Weight, mean and scatter of rows (and of targets): all that least squares, ridge, PCA and Gaussians need.

Each block is centred on its own mean, and two results merge by the pairwise update of Chan, Golub and LeVeque (1983),
so one pass is as accurate as two: no sum of raw squares is ever formed, and a column with a large mean and a small
variance keeps its digits.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from mercer._native.sums import columns, scatter, stored_products
from mercer._plain import plain
from mercer._source import Block
from mercer._source.block import SparseBlock
from mercer._statistic.statistic import Statistic
from mercer._types import Array

_EMPTY = np.empty(0)


@plain
@dataclass(frozen=True)
class MomentSums:
    """Total weight, means, and centred second moments of X, of y, and between them.

    ``scatter`` is sum_i w_i (x_i - mean)(x_i - mean)^T; ``cross`` the same between X and y; ``y_scatter`` the sum of
    squares of each target column. Without targets the last three are None.
    """

    weight: float
    mean: Array
    scatter: Array
    y_mean: Array = None
    cross: Array = None
    y_scatter: Array = None

    def __add__(self, other: "MomentSums") -> "MomentSums":
        weight = self.weight + other.weight
        if weight == 0:
            return self
        # With step = mean_2 - mean_1: mean = mean_1 + (w_2 / w) step, and the scatter between the two means is
        # (w_1 w_2 / w) step step^T.
        share = other.weight / weight
        step = other.mean - self.mean
        product = self.weight * share
        scatter = _merge_scatters(self.scatter, other.scatter, product, step)
        mean = self.mean + share * step
        if self.y_mean is None:
            return MomentSums(weight, mean, scatter)
        y_step = other.y_mean - self.y_mean
        cross = self.cross + other.cross + product * (step[:, None] * y_step[None, :])
        y_scatter = self.y_scatter + other.y_scatter + product * y_step * y_step
        return MomentSums(weight, mean, scatter, self.y_mean + share * y_step, cross, y_scatter)

    def about_zero(self) -> "MomentSums":
        """Return the moments about zero, which ``Moments(centre=False)`` sums; nothing cancels in this direction."""
        scatter = self.scatter + self.weight * self.mean[:, None] * self.mean[None, :]
        if self.y_mean is None:
            return MomentSums(self.weight, np.zeros_like(self.mean), scatter)
        cross = self.cross + self.weight * self.mean[:, None] * self.y_mean[None, :]
        y_scatter = self.y_scatter + self.weight * self.y_mean * self.y_mean
        return MomentSums(self.weight, np.zeros_like(self.mean), scatter, np.zeros_like(self.y_mean), cross, y_scatter)


def _merge_scatters(first: Array, second: Array, product: float, step: Array) -> Array:
    """Add two scatters and the term between the two means."""
    if first.ndim == 1:
        return first + second + product * step * step
    return first + second + (product * step)[:, None] * step[None, :]


@dataclass(frozen=True, eq=False)
class PackedMoments:
    """Moments of NumPy rows as native code computes them: one mean and one scatter of the columns of X and y together.

    ``packed`` holds the upper triangle, padded to a wider matrix; it is unfolded when it is first used.
    """

    weight: float
    means: Array
    packed: Array
    n_features: int

    def __add__(self, other: "PackedMoments") -> "PackedMoments":
        mean = self.means.copy()
        scatter.merge_moments(self.packed, other.packed, mean, other.means.copy(), self.weight, other.weight)
        return PackedMoments(self.weight + other.weight, mean, self.packed, self.n_features)

    @property
    def mean(self) -> Array:
        return self.means[: self.n_features]

    @cached_property
    def scatter(self) -> Array:
        full = np.empty((self.n_features, self.n_features))
        scatter.unfold(self.packed, full)
        return full

    @property
    def _targets(self) -> slice:
        return slice(self.n_features, len(self.means))

    @property
    def y_mean(self) -> Array:
        return self.means[self._targets] if self._has_targets else None

    @property
    def cross(self) -> Array:
        return self.packed[: self.n_features, self._targets].copy() if self._has_targets else None

    @property
    def y_scatter(self) -> Array:
        return np.diagonal(self.packed)[self._targets].copy() if self._has_targets else None

    @property
    def _has_targets(self) -> bool:
        return len(self.means) > self.n_features


@dataclass(frozen=True)
class Moments(Statistic):
    """Weighted mean and scatter of the rows, and of the block's targets where it has any.

    Parameters
    ----------
    centre : bool
        Whether to take means off; without, the mean is reported as zero and scatter is the raw second moment.
    diagonal : bool
        Only the diagonal of the scatter, as a vector.
    """

    centre: bool = True
    diagonal: bool = False

    @property
    def sums_all_values(self) -> bool:  # type: ignore[override]
        return self.centre

    def of(self, block: Block) -> MomentSums:
        xp = block.xp
        one_target = block.y is None or block.y.ndim == 1 or block.y.shape[1] == 1
        if self.centre and not self.diagonal and one_target and block.has_centred_sums:
            return self._of_program(block)
        weight = block.total_weight()
        scale = 1.0 / weight if weight else 0.0
        zero = _zeros(block, block.X.shape[1])
        # Rough sums are near enough to centre by; what they lack is corrected below.
        mean = block.rough_sums() * scale if self.centre else zero
        if block.is_sparse:
            return self._of_sparse(block, weight, mean)
        rows = block.centre(mean)
        # Roots on both factors keep the product symmetric, which lets the BLAS form one triangle only.
        root = None if block.weight is None else xp.sqrt(block.weight)[:, None]
        rows = rows if root is None else rows * root
        scatter = xp.sum(rows * rows, axis=0) if self.diagonal else rows.T @ rows
        if self.centre and block.sums_are_rough:
            mean, scatter = self._correct_mean(block, mean, scatter, rows)
        if block.y is None:
            return MomentSums(weight, mean, scatter)
        y = targets(block)
        y_zero = _zeros(block, y.shape[1])
        y_mean = xp.sum(block.weigh(y), axis=0) * scale if self.centre else y_zero
        y_rows = y - y_mean if root is None else (y - y_mean) * root
        return MomentSums(weight, mean, scatter, y_mean, rows.T @ y_rows, xp.sum(y_rows * y_rows, axis=0))

    def _of_program(self, block: Block) -> MomentSums:
        """Compute the moments of rows of unit weight, and at most one target, in one pass."""
        y = None if block.y is None else targets(block)
        y_mean = None if y is None else block.xp.sum(y, axis=0) / block.n
        y_rows = None if y is None else y - y_mean
        found = block.sum_centred(None if y_rows is None else y_rows[:, 0])
        # The scatter about m + step is that about m minus n step step^T; step is small, so that nothing cancels.
        step = found.sums / block.n
        mean, scatter = found.shift + step, found.scatter - block.n * (step[:, None] * step[None, :])
        if y_rows is None:
            return MomentSums(block.total_weight(), mean, scatter)
        y_scatter = block.xp.sum(y_rows * y_rows, axis=0)
        return MomentSums(block.total_weight(), mean, scatter, y_mean, found.cross[:, None], y_scatter)

    def _correct_mean(self, block: Block, mean: Array, scatter: Array, rows: Array) -> tuple[Array, Array]:
        """Return the exact mean, and the scatter about it, from rows of unit weight that were centred near it."""
        # scatter about m + step = scatter about m - n step step^T; step is small, so that nothing cancels.
        step = rows.T @ block.xp.ones(block.n, dtype=block.wide, device=block.device) / block.n
        between = step * step if self.diagonal else step[:, None] * step[None, :]
        return mean + step, scatter - block.n * between

    def _of_sparse(self, block: Block, weight: float, mean: Array) -> MomentSums:
        """Compute the moments from the stored values alone: sparse rows are not made dense."""
        scatter = _sparse_scatter(block, weight, mean, self.diagonal)
        if block.y is None:
            return MomentSums(weight, mean, scatter)
        y = targets(block)
        y_mean = np.zeros(y.shape[1])
        if self.centre and weight:
            y_mean = np.sum(block.weigh(y), axis=0) / weight
        # Centred targets have weighted sum zero, so the mean of X drops out of the cross moment.
        y_rows = y - y_mean
        heavy = block.weigh(y_rows)
        return MomentSums(weight, mean, scatter, y_mean, block.transpose_matmul(heavy), np.sum(y_rows * heavy, axis=0))

    def native_run(self, block: Block, unit: int) -> MomentSums | PackedMoments:
        """Compute the moments in one pass: rows are centred as they are multiplied, and never copied whole."""
        if self.diagonal:
            plain = block.y is None or block.y.size == block.n
            return self._by_parts(block, unit, self._native_diagonal if plain else None)
        d = block.X.shape[1]
        Y = np.empty((block.n, 0)) if block.y is None else np.ascontiguousarray(targets(block))
        root = _EMPTY if block.weight is None else np.sqrt(block.weight)
        # The weight of each unit of rows, by which the means of units merge in order.
        few = block.n <= unit
        totals = np.array([block.total_weight()] if few else [part.total_weight() for part in block.parts(unit)])
        # Rows and targets side by side: one symmetric product holds X^T X, X^T Y and Y^T Y.
        width = d + Y.shape[1]
        padded = scatter.pad_width(width)
        means, sums = np.zeros((len(totals), width)), np.zeros((len(totals), padded, padded))
        weight = _EMPTY if block.weight is None else block.weight
        packed = np.empty(scatter.count_packed(width))
        scatter.moments_run(block.X, Y, unit, weight, root, self.centre, packed, totals, means, sums)
        return PackedMoments(float(totals[0]), means[0].copy(), sums[0].copy() if len(sums) > 1 else sums[0], d)

    def _native_diagonal(self, block: Block) -> MomentSums:
        """Compute the diagonal for at most one target: four times as fast as whole-array expressions."""
        weight = block.total_weight()
        y = np.zeros(block.n) if block.y is None else np.ascontiguousarray(targets(block)[:, 0])
        y_mean = np.sum(block.weigh(y)) / weight if self.centre and weight else 0.0
        y = y - y_mean
        mean, squares, cross = np.zeros((3, block.X.shape[1]))
        weights = _EMPTY if block.weight is None else block.weight
        columns.diagonal_moments(block.X, y, weights, weight, self.centre, mean, squares, cross)
        if block.y is None:
            return MomentSums(weight, mean, squares)
        y_squares = np.sum(block.weigh(y) * y)
        return MomentSums(weight, mean, squares, np.array([y_mean]), cross[:, None], np.array([y_squares]))


def targets(block: Block) -> Array:
    """Return the block's targets as columns in the wide type."""
    return block.xp.astype(block.y if block.y.ndim == 2 else block.y[:, None], block.wide, copy=False)


def _zeros(block: Block, count: int) -> Array:
    return block.xp.zeros(count, dtype=block.wide, device=block.device)


def _sparse_scatter(block: Block, weight: float, mean: Array, diagonal: bool) -> Array:
    """Compute the centred scatter of sparse rows from their stored values alone; the rows are not made dense."""
    weights = np.ones(block.n) if block.weight is None else block.weight
    if diagonal:
        # Stored values are centred one by one; each of the others is a zero, mean^2 away from the mean.
        squares, counted = np.zeros_like(mean), np.zeros_like(mean)
        stored_products.add_deviations(*cast(SparseBlock, block).arrays, weights, mean, squares, counted)
        return squares + np.maximum(weight - counted, 0.0) * mean**2
    stored = block.X.astype(np.float64, copy=False)
    heavy = stored if block.weight is None else stored * weights[:, None]
    # Raw second moments minus weight mean mean^T: digits cancel only where a mean is large beside the deviation,
    # which is rare in columns that are mostly zero.
    product = (stored.T @ heavy).toarray()
    return product - weight * (mean[:, None] * mean[None, :])
