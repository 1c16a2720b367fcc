"""Scores of kernel machines: sums over support vectors of coefficient times kernel value, less an offset."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer._source import Block
from mercer.kernels import Kernel, Prepared

__all__ = ["Group", "MatrixScores", "RowScores"]

Array = Any
# A tile of values: 256 rows with 1024 support vectors are 2 MB of float64, in the second-level cache.
_ROWS, _SUPPORT = 256, 1024


@dataclass(frozen=True, eq=False)
class Group:
    """Support vectors that the same machines know: which they are, their coefficients (s, k), and those machines."""

    place: slice
    coefficients: Array
    machines: Array


@dataclass(frozen=True, eq=False)
class RowScores:
    """The scores (n, p) of rows, from their kernel values with prepared support vectors."""

    kernel: Kernel
    support: Prepared
    groups: tuple[Group, ...]
    offsets: Array

    def __call__(self, block: Block) -> Array:
        return self.of(block.X)

    def of(self, X: Array) -> Array:
        """The scores of rows, a tile at a time."""
        dtype = np.result_type(X.dtype, self.offsets.dtype)
        out = np.empty((X.shape[0], len(self.offsets)), dtype=dtype)
        for first in range(0, X.shape[0], _ROWS):
            rows = self._stored_alike(X[first : first + _ROWS])
            out[first : first + _ROWS] = self._tile(self.kernel.prepare(rows, like=self.support))
        return out

    def _stored_alike(self, rows: Array) -> Array:
        """Rows stored as the support vectors are: sparse or dense."""
        if issparse(rows) == issparse(self.support.rows):
            return rows
        return rows.toarray() if issparse(rows) else csr_array(rows)

    def _tile(self, rows: Prepared) -> Array:
        scores = np.zeros((len(rows), len(self.offsets)))
        for group in self.groups:
            for first in range(group.place.start, group.place.stop, _SUPPORT):
                some = slice(first, min(first + _SUPPORT, group.place.stop))
                values = self.kernel.between(rows, self.support.take(some))
                own = group.coefficients[some.start - group.place.start : some.stop - group.place.start]
                scores[:, group.machines] += values @ own
        return scores - self.offsets


@dataclass(frozen=True, eq=False)
class MatrixScores:
    """The scores (n, p) from given kernel values with all rows of the fit, of which some are support vectors."""

    support: Array
    groups: tuple[Group, ...]
    offsets: Array

    def __call__(self, block: Block) -> Array:
        return self.of(block.X)

    def of(self, K: Array) -> Array:
        """The scores of rows of kernel values."""
        out = np.zeros((K.shape[0], len(self.offsets)), dtype=np.result_type(K.dtype, self.offsets.dtype))
        for first in range(0, K.shape[0], _ROWS):
            values = K[first : first + _ROWS][:, self.support]
            for group in self.groups:
                out[first : first + _ROWS, group.machines] += values[:, group.place] @ group.coefficients
        out -= self.offsets
        return out
