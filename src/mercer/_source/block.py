"""Blocks: a few thousand consecutive rows with the little linear algebra that statistics are written in.

A statistic never asks whether rows are dense or sparse, on which device or of which library: it uses a block's verbs,
and each kind of block spells them for its storage.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._source.groups import Groups
from mercer._types import Array, Rows

__all__ = ["Block", "DenseBlock", "SparseBlock", "rows_per_block", "rows_per_sparse_block"]

_FEW_BLOCKS = 8


def rows_per_block(n_features: int) -> int:
    """The fixed number of rows in a block: a power of two that depends on the number of columns alone.

    About 2**17 numbers keep a block in the second-level cache and a block's work well above the cost of handing it
    out. Statistics with d x d results need some 8 d rows so that adding them up stays cheap beside making them, within
    2**21 numbers (16 MiB).
    """
    width = max(1, n_features)
    rows = max(2**17 // width, min(8 * width, 2**21 // width))
    return 2 ** (min(max(rows, 256), 16384).bit_length() - 1)


def rows_per_sparse_block(n_rows: int, n_stored: int, n_features: int) -> int:
    """Rows in a sparse block: a power of two with about 2**17 stored values in a block, or even shares of few blocks.

    Up to 32 times as many where there are many columns, so that adding up sums by column stays cheap beside making
    them: of 4 million values in 50 000 columns and 20 classes, sums by class take 29 ms in blocks of 3.2 million on two
    threads, and 59 ms in blocks of 0.8 million, whose sums are as large as they are.
    """
    stored = min(max(2**17, 64 * n_features), 2**22)
    rows = stored * max(1, n_rows) // max(1, n_stored)
    rows = 2 ** (min(max(rows, 1024), 65536).bit_length() - 1)
    n_blocks = -(-n_rows // rows)
    # Of few blocks a short last one would leave a thread waiting.
    return -(-n_rows // n_blocks) if 1 < n_blocks < _FEW_BLOCKS else rows


class Block(ABC):
    """Rows ``start`` to ``start + n`` of a source, with their targets and weights.

    ``wide`` is the type that sums are taken in: float64 wherever the device has it.
    """

    __slots__ = ("X", "start", "weight", "wide", "xp", "y")
    is_sparse = False
    # What is made of a tile of rows has at most so many numbers: 256 MiB of float32.
    tile_size = 2**26

    def __init__(
        self, X: Rows, start: int, y: Array = None, weight: Array = None, xp: Any = np, wide: Any = None
    ) -> None:
        self.X: Rows = X
        self.start = start
        self.y = y
        self.weight = weight
        self.xp = xp
        self.wide = xp.float64 if wide is None else wide

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def is_native(self) -> bool:
        """Whether compiled code can read the rows: dense NumPy, C order, float32 or float64."""
        return False

    @property
    def device(self) -> Any:
        """Where new arrays beside the rows belong; None for NumPy."""
        return None

    def total_weight(self) -> float:
        """Sum of the weights; the number of rows when there are none."""
        return float(self.n) if self.weight is None else float(self.xp.sum(self.weight))

    def weighted(self, values: Array) -> Array:
        """`values` (one row each) times the weights."""
        if self.weight is None:
            return values
        return values * (self.weight if values.ndim == 1 else self.weight[:, None])

    @abstractmethod
    def squared_norms(self) -> Array:
        """Sum of squares of each row, float64."""

    @abstractmethod
    def column_sums(self) -> Array:
        """Weighted sum of each column, float64."""

    # Whether rough_sums are not exact to rounding, and what is centred by them has to be settled afterwards.
    sums_are_rough = False

    def rough_sums(self) -> Array:
        """Column sums that are near enough to centre rows by; where they cost no more, exact ones."""
        return self.column_sums()

    @abstractmethod
    def centred(self, shift: Array) -> Array:
        """The rows minus `shift`, dense, in float64."""

    @abstractmethod
    def dense(self) -> Array:
        """The rows as a dense array."""

    def matmul(self, right: Array) -> Array:
        """``X @ right``, dense."""
        return self.X @ right

    def transpose_matmul(self, right: Array) -> Array:
        """``X.T @ right``, dense."""
        return self.X.T @ right

    # The verbs below are for dense rows; statistics search sparse ones by compiled code.

    def gaps(self, point: Array) -> Array:
        """The squared distance of each row to a point, or to the point in its own row; wide.

        A difference of two numbers is rounded once, so that it is as good in the rows' own type as in a wider one.
        """
        step = self.X - point
        return self.xp.sum(step * step, axis=1, dtype=self.wide)

    def least(self, directions: Array, offset: Array, shift: Array) -> Array:
        """For each row x the j of least offset_j - (x - shift) . directions_j, among equals the lowest.

        In tiles of rows, so that no more than a fixed number of scores is held at a time.
        """
        xp, found = self.xp, []
        for tile in self.tiles(directions.shape[0]):
            scores = offset - xp.matmul(self.X[tile, :] - shift, directions.T)
            found.append(xp.argmin(scores, axis=1))
        return xp.concat(found)

    def nearest(self, centres: Array, directions: Array, offset: Array, shift: Array) -> tuple[Array, Array]:
        """What :meth:`least` finds, and the squared distance of each row to the centre of that number; wide."""
        labels = self.least(directions, offset, shift)
        return labels, self.gaps(self.xp.take(centres, labels, axis=0))

    def tiles(self, width: int) -> Iterator[slice]:
        """The rows in tiles, each small enough for `width` numbers a row."""
        rows = max(1, self.tile_size // max(1, width))
        return (slice(start, min(start + rows, self.n)) for start in range(0, self.n, rows))

    def parts(self, unit: int) -> Iterator["Block"]:
        """Yield the block in parts of `unit` rows; the last may be shorter."""
        for start in range(0, self.n, unit):
            stop = min(start + unit, self.n)
            y = None if self.y is None else self.y[start:stop, ...]
            weight = None if self.weight is None else self.weight[start:stop]
            yield type(self)(self.X[start:stop, :], self.start + start, y, weight, self.xp, self.wide)

    def grouped(self, labels: Array, k: int) -> Groups:
        """The rows by label: what sums them."""
        return Groups(labels, k, self.xp, self.device)


class DenseBlock(Block):
    """Rows of a dense array of any array-API library."""

    __slots__ = ()

    @property
    def is_native(self) -> bool:
        return self.xp is np

    @property
    def device(self) -> Any:
        return None if self.xp is np else self.X.device

    def squared_norms(self) -> Array:
        if self.xp is np:
            return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        return self.xp.sum(self.X * self.X, axis=1, dtype=self.wide)

    def column_sums(self) -> Array:
        if self.weight is not None:
            return self.weight @ self.xp.astype(self.X, self.weight.dtype, copy=False)
        return self.xp.sum(self.X, axis=0, dtype=self.wide)

    def centred(self, shift: Array) -> Array:
        return self.xp.astype(self.X, self.wide, copy=False) - shift

    def dense(self) -> Array:
        return self.X

    # As functions, not as operators: torch's operator does not multiply float32 by float64, the standard's does.
    def matmul(self, right: Array) -> Array:
        return self.xp.matmul(self.X, right)

    def transpose_matmul(self, right: Array) -> Array:
        return self.xp.matmul(self.X.T, right)


class SparseBlock(Block):
    """Rows of a SciPy CSR array."""

    __slots__ = ()
    is_sparse = True

    def squared_norms(self) -> Array:
        return np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=np.float64).ravel()

    def column_sums(self) -> Array:
        weight = np.ones(self.n) if self.weight is None else self.weight
        return np.asarray(self.X.T @ weight, dtype=np.float64)

    def centred(self, shift: Array) -> Array:
        return self.X.toarray().astype(np.float64, copy=False) - shift

    def dense(self) -> Array:
        return self.X.toarray()
