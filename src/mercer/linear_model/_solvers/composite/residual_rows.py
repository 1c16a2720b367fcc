"""Rows by their residuals: how many are near the plane of a linear model, which they are, and on which side others lie.

What quantile regression asks of the data once it knows roughly where its plane is: only rows near it can decide where
it is exactly; of the others the side is all that counts.
"""

from dataclasses import dataclass

from mercer._objective import PiecewiseLoss
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._statistic.statistic import Statistic
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class NearCounts(Statistic):
    """For each of some sizes, the number of rows of positive weight with at most that residual."""

    parameters: Array
    sizes: Array

    def of(self, block: Block) -> Array:
        xp = block.xp
        near = xp.abs(_residuals(block, self.parameters))[:, None] <= self.sizes[None, :]
        if block.weight is not None:
            near = near & (block.weight > 0)[:, None]
        return xp.sum(xp.astype(near, xp.int64), axis=0)


@dataclass(frozen=True, eq=False)
class RowSums:
    """Some rows with their targets, weights and numbers, and what the others sum up to: the gradient of their losses by
    coefficients and, last, by the intercept, and the sum of slope times target.
    """

    X: Array
    y: Array
    weight: Array
    numbers: Array
    gradient: Array
    products: Array

    def __add__(self, other: "RowSums") -> "RowSums":
        xp = namespace_of(self.y)
        parts = ("X", "y", "weight", "numbers")
        rows = {part: xp.concat([getattr(self, part), getattr(other, part)]) for part in parts}
        return RowSums(**rows, gradient=self.gradient + other.gradient, products=self.products + other.products)


@dataclass(frozen=True, eq=False)
class NearRows(Statistic):
    """Rows whose residual is at most `size` or whose index is given; of the rest, sums by the side they are on."""

    loss: PiecewiseLoss
    parameters: Array
    size: float
    numbers: Array

    def of(self, block: Block) -> RowSums:
        xp = block.xp
        residual = _residuals(block, self.parameters)
        weight = xp.ones_like(residual) if block.weight is None else xp.astype(block.weight, residual.dtype)
        free = _is_free(block, residual, self.size, self.numbers) & (weight > 0)
        low, high = self.loss.limits
        # Far from the plane the loss is a line: its slope depends on the side only.
        # The residual y - score above zero means a score that is too low.
        slope = xp.where(residual > 0, xp.full_like(residual, low), xp.full_like(residual, high))
        heavy = xp.where(free, xp.zeros_like(slope), weight * slope)
        chosen = xp.nonzero(free)[0]
        rows = block.X[chosen].toarray() if block.is_sparse else xp.take(block.X, chosen, axis=0)
        y = xp.astype(block.y, residual.dtype)
        return RowSums(
            xp.astype(rows, residual.dtype),
            xp.take(y, chosen),
            xp.take(weight, chosen),
            xp.astype(chosen, xp.int64) + block.start,
            # What far rows add to the gradient is a constant of the programme.
            xp.concat([block.transpose_matmul(heavy), xp.reshape(xp.sum(heavy), (1,))]),
            xp.sum(heavy * y),
        )


@dataclass(frozen=True, eq=False)
class SideSums:
    """The weighted sum of the losses, and the indices of rows that have changed sides."""

    loss: float
    numbers: Array

    def __add__(self, other: "SideSums") -> "SideSums":
        return SideSums(self.loss + other.loss, namespace_of(self.numbers).concat([self.numbers, other.numbers]))


@dataclass(frozen=True, eq=False)
class SideChanges(Statistic):
    """The loss at other parameters, and which rows, neither near nor named, are now on the other side of the plane."""

    loss: PiecewiseLoss
    reference: Array
    size: float
    numbers: Array
    parameters: Array

    def of(self, block: Block) -> SideSums:
        xp = block.xp
        before, residual = (_residuals(block, parameters) for parameters in (self.reference, self.parameters))
        value = self.loss.value((xp.astype(block.y, residual.dtype) - residual)[:, None], block.y, xp, checked=True)
        # A row far off that changes sides contradicts the fixed slope it was summed with: it must become a row of the
        # program.
        changed = (before > 0) & (residual < 0) | (before <= 0) & (residual > 0)
        changed = changed & ~_is_free(block, before, self.size, self.numbers)
        if block.weight is not None:
            changed = changed & (block.weight > 0)
        numbers = xp.astype(xp.nonzero(changed)[0], xp.int64) + block.start
        return SideSums(float(xp.sum(block.weigh(value))), numbers)


def _residuals(block: Block, parameters: Array) -> Array:
    scores = block.matmul(parameters[0, :-1]) + parameters[0, -1]
    return block.xp.astype(block.y, scores.dtype) - scores


def _is_free(block: Block, residual: Array, size: float, numbers: Array) -> Array:
    """Return whether rows are near, or their index is in `numbers`, which is sorted."""
    xp = block.xp
    near = xp.abs(residual) <= size
    if numbers.shape[0] == 0:
        return near
    own = xp.arange(block.start, block.start + block.n, dtype=xp.int64, device=block.device)
    # Binary search in the sorted indices; clipped, since those beyond the last have no entry to compare.
    places = xp.clip(xp.searchsorted(numbers, own), 0, numbers.shape[0] - 1)
    return near | (xp.take(numbers, places) == own)
