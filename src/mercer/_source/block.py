"""Blocks: a few thousand consecutive rows with the little linear algebra that statistics are written in.

A statistic never asks whether rows are dense or sparse, or for their device or library: it calls a block's methods,
which each kind of block implements for its storage. Beside them stand the conversion of labels to the ones that a loss
takes, and the check of blocks that are read for the first time.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._native.sums import stored_products
from mercer._source.groups import Groups
from mercer._types import Array, Rows
from mercer.errors import DataError

# Columns of a dense factor that the compiled products of sparse rows need: they work on four at a time.
_LEAST_COLUMNS = 4
# With fewer blocks than this, they get equal shares of the rows: a short last block would leave a thread idle.
_FEW_BLOCKS = 8


@lru_cache(maxsize=256)
def rows_per_block(n_features: int) -> int:
    """Return the fixed number of rows in a block: a power of two that depends only on `n_features`.

    About 2**17 values keep a block in the second-level cache, and its work well above the cost of passing it to a
    thread. Statistics with d x d results need about 8 d rows per block, so that adding the results is cheap compared
    with computing them, within 2**21 values (16 MiB).
    """
    width = max(1, n_features)
    rows = max(2**17 // width, min(8 * width, 2**21 // width))
    return 2 ** (min(max(rows, 256), 16384).bit_length() - 1)


def rows_per_sparse_block(n_rows: int, n_stored: int, n_features: int) -> int:
    """Return the number of rows in a sparse block: a power of two, or an equal share where there are few blocks.

    A block has about 2**17 stored values, or up to 32 times as many where there are many columns, so that adding sums
    by column is cheap compared with computing them. For 4 million values in 50 000 columns and 20 classes, sums by
    class take 29 ms in blocks of 3.2 million values on two threads, and 59 ms in blocks of 0.8 million, whose sums are
    as large as the blocks.
    """
    stored = min(max(2**17, 64 * n_features), 2**22)
    # The rows that hold this number of stored values, if values are spread evenly.
    rows = stored * max(1, n_rows) // max(1, n_stored)
    # The bit length rounds down to a power of two, between 2^10 and 2^16.
    rows = 2 ** (min(max(rows, 1024), 65536).bit_length() - 1)
    n_blocks = -(-n_rows // rows)
    # An even number of shares: of five, one of two threads would take three.
    n_blocks += n_blocks % 2
    return -(-n_rows // n_blocks) if rows < n_rows and n_blocks < _FEW_BLOCKS else rows


class Block(ABC):
    """Rows ``start`` to ``start + n`` of a source, with their targets and weights.

    ``wide`` is the type that sums are taken in: float64 wherever the device has it.
    """

    __slots__ = ("X", "start", "weight", "wide", "xp", "y")
    is_sparse = False
    # The most values in an array that is computed from one tile of rows: 256 MiB of float32.
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
        """The device of the rows, for new arrays; None for NumPy."""
        return None

    def total_weight(self) -> float:
        """Sum of the weights; the number of rows when there are none."""
        return float(self.n) if self.weight is None else float(self.xp.sum(self.weight))

    def weigh(self, values: Array) -> Array:
        """Multiply `values` (n,) or (n, k) by the weights of the rows."""
        if self.weight is None:
            return values
        return values * (self.weight if values.ndim == 1 else self.weight[:, None])

    @abstractmethod
    def sum_squares(self) -> Array:
        """Return the sum of squares of each row, float64."""

    @abstractmethod
    def column_sums(self) -> Array:
        """Return the weighted sum of each column, float64."""

    # Whether rough_sums have errors beyond rounding, so that what was centred by them has to be corrected afterwards.
    sums_are_rough = False

    def rough_sums(self) -> Array:
        """Return column sums that are accurate enough to centre rows; exact ones where they cost no more."""
        return self.column_sums()

    @abstractmethod
    def centre(self, shift: Array) -> Array:
        """Return the rows minus `shift`, dense, in float64."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the rows as a dense array."""

    # Whether `sum_centred` has a program for the rows; else the caller centres and multiplies.
    has_centred_sums = False

    def sum_centred(self, targets: Array = None) -> Any:
        """Return sums of squares of rows of unit weight about a shift near their mean, in one pass over them.

        `targets` (n,) are in the wide type.
        """
        raise NotImplementedError

    def matmul(self, right: Array) -> Array:
        """Return ``X @ right``, dense."""
        return self.X @ right

    def transpose_matmul(self, right: Array) -> Array:
        """Return ``X.T @ right``, dense."""
        return self.X.T @ right

    # The methods below are for dense rows; statistics search sparse ones by compiled code.

    def gaps(self, point: Array) -> Array:
        """Return the squared distance of each row to `point` (d,), or to its own row of `point` (n, d), in the wide
        type.

        The difference of two values is rounded once, so the rows' own type is as accurate for it as a wider one.
        """
        step = self.X - point
        return self.xp.sum(step * step, axis=1, dtype=self.wide)

    def least(self, directions: Array, offset: Array, shift: Array) -> Array:
        """Return for each row x the index j with the least offset_j - (x - shift) . directions_j; of equals, the
        lowest.

        Rows are processed in tiles, which bounds the number of scores held at a time.
        """
        xp, labels = self.xp, []
        for tile in self.tiles(directions.shape[0]):
            scores = offset - xp.matmul(self.X[tile, :] - shift, directions.T)
            labels.append(xp.argmin(scores, axis=1))
        return xp.concat(labels)

    def nearest(self, centres: Array, directions: Array, offset: Array, shift: Array) -> tuple[Array, Array]:
        """Return the indices that :meth:`least` finds and the squared distances to those `centres`, in wide type."""
        labels = self.least(directions, offset, shift)
        return labels, self.gaps(self.xp.take(centres, labels, axis=0))

    def tiles(self, width: int) -> Iterator[slice]:
        """Return slices that cut the rows into tiles, each small enough for `width` values per row."""
        rows = max(1, self.tile_size // max(1, width))
        return (slice(start, min(start + rows, self.n)) for start in range(0, self.n, rows))

    def parts(self, unit: int) -> Iterator["Block"]:
        """Yield the block in parts of `unit` rows; the last may be shorter."""
        for start in range(0, self.n, unit):
            stop = min(start + unit, self.n)
            y = None if self.y is None else self.y[start:stop, ...]
            weight = None if self.weight is None else self.weight[start:stop]
            yield type(self)(self.X[start:stop, :], self.start + start, y, weight, self.xp, self.wide)

    def group(self, labels: Array, k: int) -> Groups:
        """Return the rows grouped by label, for sums by label; `labels` are integers below `k`."""
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

    def sum_squares(self) -> Array:
        if self.xp is np:
            return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        return self.xp.sum(self.X * self.X, axis=1, dtype=self.wide)

    def column_sums(self) -> Array:
        if self.weight is not None:
            return self.weight @ self.xp.astype(self.X, self.weight.dtype, copy=False)
        return self.xp.sum(self.X, axis=0, dtype=self.wide)

    def centre(self, shift: Array) -> Array:
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

    def sum_squares(self) -> Array:
        rows = self.X
        if rows.format == "csr" and rows.has_canonical_format:
            # Each place is stored once: its square is that of the stored value, and no columns are compared.
            squares = type(rows)((rows.data * rows.data, rows.indices, rows.indptr), shape=rows.shape)
        else:
            squares = rows.multiply(rows)
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()

    def column_sums(self) -> Array:
        weight = np.ones(self.n) if self.weight is None else self.weight
        return np.asarray(self.X.T @ weight, dtype=np.float64)

    def centre(self, shift: Array) -> Array:
        return self.X.toarray().astype(np.float64, copy=False) - shift

    def dense(self) -> Array:
        return self.X.toarray()

    def matmul(self, right: Array) -> Array:
        if not _has_products(right):
            return self.X @ right
        out = np.empty((self.n, right.shape[1]))
        stored_products.multiply_rows(*self.arrays, np.ascontiguousarray(right), out)
        return out

    def transpose_matmul(self, right: Array) -> Array:
        if not _has_products(right):
            return self.X.T @ right
        out = np.zeros((self.X.shape[1], right.shape[1]))
        stored_products.add_transposed_product(*self.arrays, np.ascontiguousarray(right), out)
        return out

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Return places of rows, columns of entries and entries, as compiled functions take them."""
        places, columns, values = self.X.indptr, self.X.indices, self.X.data
        # SciPy gives both the same type, but arrays that a user has set need not have it.
        places = places.astype(columns.dtype, copy=False)
        return places, columns, values if values.dtype.char in "fd" else values.astype(np.float64)


def _has_products(right: Array) -> bool:
    """Return whether there are compiled products of sparse rows with `right`, of the same bits as SciPy's."""
    return right.ndim == 2 and right.shape[1] >= _LEAST_COLUMNS and right.dtype == np.float64


@dataclass(frozen=True, eq=False)
class Labelling:
    """Replaces labels by the indices of their classes and multiplies weights by the weights of the classes.

    Parameters
    ----------
    classes : array of shape (k,)
        In rising order, of the library that the labels are of.
    by_class : array of shape (k,) or None
        A factor of each row's weight.
    """

    classes: Array
    by_class: Array = None

    def on(self, block: Block) -> Block:
        """Return the block with class indices for labels: floats 0 and 1 for two classes, integers for more."""
        xp = block.xp
        binary = self.classes.shape[0] == 2
        # Two classes need no search: the second is the one that counts as 1.
        labels = block.y == self.classes[1] if binary else xp.searchsorted(self.classes, block.y)
        weight = block.weight
        if self.by_class is not None:
            # The weight of a row is its own times that of its class.
            factor = xp.take(self.by_class, xp.astype(labels, xp.int64))
            weight = factor if weight is None else factor * weight
        y = xp.astype(labels, block.wide if binary else xp.int64, copy=False)
        return type(block)(block.X, block.start, y, weight, xp, block.wide)


def check_block(block: Block, source: Any) -> Block:
    """Return `block` if all its values are finite; raise an error that names the row, the column and the file.

    A sum is finite unless a value is not (or the sum overflows): one read, while the block is in cache.
    """
    values = block.X.data if block.is_sparse else block.X
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum may overflow although all values are finite: then they are looked at one by one.
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return block
    what = "NaN" if np.isnan(values).any() else f"infinity or a value too large for dtype({str(values.dtype)!r})"
    row, column = _first_bad(block)
    names = source.feature_names
    where = column if names is None else repr(names[column])
    raise DataError(
        f"{source.subject}: Input X contains {what}; it is in column {where}, {source.locate(block.start + row)}. "
        f"Drop or fill it."
    )


def _first_bad(block: Block) -> tuple[int, int]:
    """Return the row and the column of the first value that is not finite."""
    if block.is_sparse:
        entries = block.X.tocoo()
        worst = np.flatnonzero(~np.isfinite(entries.data))[0]
        return int(entries.row[worst]), int(entries.col[worst])
    row, column = np.argwhere(~np.isfinite(block.X))[0]
    return int(row), int(column)
