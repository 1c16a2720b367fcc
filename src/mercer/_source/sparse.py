"""SciPy CSR rows in memory; blocks are cut without copying values, and nothing is made dense unasked."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._source.block import SparseBlock, rows_per_sparse_block
from mercer._source.source import Source

__all__ = ["SparseSource"]

Array = Any


class SparseSource(Source):
    """Rows of a CSR array or matrix."""

    def __init__(self, X: Any, y: Array = None, weight: Array = None, threads: int = 1) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.threads = threads
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        self.block_rows = rows_per_sparse_block(self.n_rows, X.nnz)

    def block(self, number: int) -> SparseBlock:
        start, stop = self.bounds(number)
        first, last = self.X.indptr[start], self.X.indptr[stop]
        pointers = self.X.indptr[start : stop + 1] - first
        rows = csr_array(
            (self.X.data[first:last], self.X.indices[first:last], pointers), shape=(stop - start, self.n_features)
        )
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return SparseBlock(rows, start, y, weight)

    def take(self, indices: Array) -> Array:
        return self.X[np.asarray(indices)].toarray()

    def whole(self) -> Any:
        return self.X
