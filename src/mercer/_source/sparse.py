"""SciPy CSR rows in memory; blocks are cut without copying values, and nothing is made dense unasked."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._source.block import Block, DenseBlock, SparseBlock, rows_per_sparse_block
from mercer._source.source import Source
from mercer._types import Array


class SparseSource(Source):
    """Rows of a CSR array or matrix."""

    is_sparse = True
    n_rows = 0

    def __init__(self, X: Any, y: Array = None, weight: Array = None, threads: int = 1) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.threads = threads
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        self.block_rows = rows_per_sparse_block(self.n_rows, X.nnz, self.n_features)
        self.target_shape = None if y is None else tuple(y.shape[1:])
        self.has_weight = weight is not None

    def block(self, number: int) -> SparseBlock:
        start, stop = self.bounds(number)
        first, last = self.X.indptr[start], self.X.indptr[stop]
        rows = csr_array((stop - start, self.n_features), dtype=self.X.dtype)
        # Given to the constructor, places of 64 bits would be copied to 32.
        rows.data, rows.indices = self.X.data[first:last], self.X.indices[first:last]
        rows.indptr = self.X.indptr[start : stop + 1] - first
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return SparseBlock(rows, start, y, weight)

    def relabel(self, labelling: Any) -> "SparseSource":
        whole = labelling.on(SparseBlock(self.X, 0, self.y, self.weight))
        other = SparseSource(self.X, whole.y, whole.weight, self.threads)
        other.readings = self.readings
        return other

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        with self._report("parts", stop - start):
            return function(DenseBlock(self.X[start:stop].toarray(), start, y, weight))

    def part(self, rows: Array) -> "SparseSource":
        other = SparseSource(self.X[np.asarray(rows)], threads=self.threads)
        other.readings = self.readings
        return other

    def take(self, indices: Array) -> Array:
        return self.X[np.asarray(indices)].toarray()

    def whole(self) -> Any:
        return self.X
