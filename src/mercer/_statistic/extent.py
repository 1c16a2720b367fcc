"""Find the range of each column: the smallest box around the rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.sums import columns
from mercer._plain import plain
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._statistic.statistic import Statistic
from mercer._stored import Stored, alike, floats, integers
from mercer._types import Array

_EMPTY = np.empty(0)


@plain
@dataclass(frozen=True)
class ExtentSums:
    """The least and the greatest value of each column, in float64; inf and -inf where there are no known values."""

    low: Array
    high: Array
    n_rows: int = 0

    _stored: ClassVar[dict[str, Stored]] = {**alike(floats("columns"), "low", "high"), "n_rows": integers(low=0)}

    def __add__(self, other: "ExtentSums") -> "ExtentSums":
        xp = namespace_of(self.low)
        low, high = xp.minimum(self.low, other.low), xp.maximum(self.high, other.high)
        return ExtentSums(low, high, self.n_rows + other.n_rows)

    @property
    def known(self) -> tuple[Array, Array]:
        """The ends of each column, NaN for one without known values; zeros have no sign."""
        # -0.0 + 0.0 is 0.0: which of equal zeros comes first must not show.
        unknown = self.low > self.high
        return np.where(unknown, np.nan, self.low + 0.0), np.where(unknown, np.nan, self.high + 0.0)

    @property
    def is_infinite(self) -> bool:
        """Whether a value is infinite."""
        return bool((np.isinf(self.low) | np.isinf(self.high))[self.low <= self.high].any())


@dataclass(frozen=True)
class Extent(Statistic):
    """The smallest box around the rows of positive weight; missing entries (NaN) are left out."""

    def of(self, block: Block) -> ExtentSums:
        xp, X = block.xp, block.X
        if block.weight is not None:
            # A row of weight zero is no row: it does not widen the box.
            heavy = xp.nonzero(block.weight > 0)[0]
            X = X[heavy] if block.is_sparse else xp.take(X, heavy, axis=0)
        if X.shape[0] == 0:
            # The neutral element of the merge by minimum and maximum.
            low = xp.full((X.shape[1],), np.inf, dtype=block.wide, device=block.device)
            return ExtentSums(low, -low, block.n)
        low, high = (find(block, X, xp) for find in (_find_least, _find_greatest))
        return ExtentSums(xp.astype(low, block.wide), xp.astype(high, block.wide), block.n)

    def native_run(self, block: Block, unit: int) -> ExtentSums:
        """Find the extent of all rows in one walk; least and greatest values do not depend on the order."""
        high = np.full(block.X.shape[1], -np.inf)
        low = -high
        columns.column_extent(block.X, _EMPTY if block.weight is None else block.weight, low, high)
        return ExtentSums(low, high, block.n)


def _find_least(block: Block, X: Any, xp: Any) -> Array:
    """Return the least known value of each column; inf where there is none."""
    if block.is_sparse:
        low = X.nanmin(axis=0).toarray().ravel()
        return np.where(np.isnan(low), np.inf, low)
    return xp.min(xp.where(xp.isnan(X), xp.full_like(X, np.inf), X), axis=0)


def _find_greatest(block: Block, X: Any, xp: Any) -> Array:
    """Return the greatest known value of each column; -inf where there is none."""
    if block.is_sparse:
        high = X.nanmax(axis=0).toarray().ravel()
        return np.where(np.isnan(high), -np.inf, high)
    return xp.max(xp.where(xp.isnan(X), xp.full_like(X, -np.inf), X), axis=0)
