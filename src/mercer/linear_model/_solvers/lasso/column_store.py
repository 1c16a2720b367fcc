"""Columns of rows in memory, taken one by one: what coordinate descent on wide rows works with.

A store holds the columns taken so far, in the order they came, and answers for all others by a pass over the rows. Its
columns are those of X~ = W^(1/2) (X - 1 mean^T), and its vectors, one number a row, live in the same space.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from mercer._native.linear import descent
from mercer._native.sums import columns as native
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._statistic import Statistic
from mercer._statistic.statistic import fold_sums
from mercer._types import Array

# Columns multiplied at once, by one thread: fixed, so that threads do not change a bit.
_STRIP = 128


@dataclass(frozen=True, eq=False)
class WeightedProduct(Statistic):
    """X^T v for a value v_i per row, or for each of several columns of values; weights are not used."""

    vector: Array

    def of(self, block: Block) -> Array:
        return block.transpose_matmul(self.vector[block.start : block.start + block.n])

    def native_run(self, block: Block, unit: int) -> Array:
        if block.n > unit:
            return self._by_parts(block, unit, self.native)
        if self.vector.ndim == 2:
            return self.of(block)
        out = np.zeros(block.X.shape[1])
        native.add_products(block.X, self.vector[block.start : block.start + block.n], out)
        return out


@dataclass(frozen=True, eq=False)
class OnThreads:
    """A request: call ``function(index)`` for each of `n_items` indices, on all threads."""

    function: Any
    n_items: int

    def answer(self, source: Source) -> None:
        run_numbered(self.function, self.n_items, source.threads)


class ColumnStore:
    """Columns taken so far, and how to take more."""

    # The columns taken: rows of an array, or a sparse matrix.
    table: Any

    def __init__(self, rows: Any, mean: Array, weight: Array | None) -> None:
        self.rows = rows
        self.mean = mean
        self.weight = weight
        self.root = None if weight is None else np.sqrt(weight)
        self.size = 0

    def weigh(self, vector: Array) -> Array:
        """Multiply a vector by the roots of the weights."""
        return vector if self.root is None else self.root * vector

    def bytes_for(self, size: int) -> int:
        """Return the memory that `size` columns take."""
        raise NotImplementedError  # each store below defines its own

    def take(self, indices: Array) -> Generator[Any, Any, None]:
        """Append columns of the rows."""
        raise NotImplementedError  # each store below defines its own

    def all_products(self, vector: Array) -> Generator[Any, Any, Array]:
        """Compute X~^T v for every column of the rows, in one pass."""
        raise NotImplementedError  # each store below defines its own

    def products_of_all(self, vectors: Array) -> Generator[Any, Any, Array]:
        """Compute the products of each of several vectors, (k, n), with every column of the rows, (k, d)."""
        results = []
        for vector in vectors:
            results.append((yield from self.all_products(vector)))
        return np.stack(results)

    def some_products(self, indices: Array, vector: Array) -> Generator[Any, Any, Array]:
        """Compute X~^T v for some columns of the rows."""
        raise NotImplementedError  # each store below defines its own

    def products(self, vector: Array) -> Array:
        """Return X~^T v for the columns taken."""
        raise NotImplementedError  # each store below defines its own

    def combine(self, w: Array) -> Array:
        """Return X~ w for the columns taken."""
        raise NotImplementedError  # each store below defines its own

    def gram_strip(self, first: int, strip: slice) -> Array:
        """Return the inner products of the columns from index `first` on with those of a strip."""
        raise NotImplementedError  # each store below defines its own

    def descend(self, order: Array, squares: Array, penalty: Any, w: Array, residual: Array) -> tuple[float, Array]:
        """Visit coordinates once; return the largest move and the residual after it."""
        raise NotImplementedError  # each store below defines its own

    def extend_gram(self, G: Array, first: int) -> Generator[Any, Any, None]:
        """Fill the rows and columns of `G` from index `first` on."""

        def fill(number: int) -> None:
            strip = slice(number * _STRIP, min((number + 1) * _STRIP, self.size))
            G[first : self.size, strip] = self.gram_strip(first, strip)

        yield OnThreads(fill, -(-self.size // _STRIP))
        G[:first, first : self.size] = G[first : self.size, :first].T
        # One triangle is copied onto the other: BLAS may round the two differently.
        corner = G[first : self.size, first : self.size]
        upper = np.triu_indices(len(corner), 1)
        corner[upper] = corner.T[upper]


class DenseColumns(ColumnStore):
    """Columns of dense rows, one contiguous row each, centred and weighted."""

    def __init__(self, rows: Any, mean: Array, weight: Array | None) -> None:
        super().__init__(rows, mean, weight)
        self.table = np.empty((0, rows.shape[0]))

    def bytes_for(self, size: int) -> int:
        return 8 * size * self.table.shape[1]

    def take(self, indices: Array) -> Generator[Any, Any, None]:
        first, self.size = self.size, self.size + len(indices)
        if self.size > len(self.table):
            # Growth by half keeps the copies of all extensions together linear in the final size.
            wider = np.empty((max(self.size, 3 * len(self.table) // 2), self.table.shape[1]))
            wider[:first] = self.table[:first]
            self.table = wider
        new = self.table[first : self.size]
        yield OnThreads(partial(self._copy, indices, new), -(-new.shape[1] // 256))

    def _copy(self, indices: Array, new: Array, number: int) -> None:
        rows = slice(256 * number, 256 * (number + 1))
        part = self.rows[rows, indices].T - self.mean[indices, None]
        new[:, rows] = part if self.root is None else part * self.root[rows]

    def all_products(self, vector: Array) -> Generator[Any, Any, Array]:
        heavy = self.weigh(vector)
        product = yield WeightedProduct(heavy)
        # (X - 1 mean^T)^T v = X^T v - mean sum(v): nothing is centred.
        return product - self.mean * heavy.sum()

    def products_of_all(self, vectors: Array) -> Generator[Any, Any, Array]:
        heavy = np.ascontiguousarray(self.weigh(vectors).T)
        product = yield WeightedProduct(heavy)
        return np.ascontiguousarray(product.T) - heavy.sum(axis=0)[:, None] * self.mean

    def some_products(self, indices: Array, vector: Array) -> Generator[Any, Any, Array]:
        heavy = self.weigh(vector)
        partial_sums = np.empty((-(-len(heavy) // 256), len(indices)))

        def fill(number: int) -> None:
            rows = slice(256 * number, 256 * (number + 1))
            partial_sums[number] = heavy[rows] @ self.rows[rows, indices]

        yield OnThreads(fill, len(partial_sums))
        return fold_sums(partial_sums) - self.mean[indices] * heavy.sum()

    def products(self, vector: Array) -> Array:
        return self.table[: self.size] @ vector

    def combine(self, w: Array) -> Array:
        used = np.flatnonzero(w)
        # Selecting columns copies them, which pays only if most coefficients are zero.
        if 2 * len(used) > len(w):
            return w @ self.table[: self.size]
        return w[used] @ self.table[used]

    def gram_strip(self, first: int, strip: slice) -> Array:
        return self.table[first : self.size] @ self.table[strip].T

    def descend(self, order: Array, squares: Array, penalty: Any, w: Array, residual: Array) -> tuple[float, Array]:
        moved = descent.column_descent(
            self.table[: self.size], squares, penalty.l1, penalty.l2, penalty.positive, order, w, residual
        )
        return moved, residual


class SparseColumns(ColumnStore):
    """Columns of a CSC copy of sparse rows; means are subtracted algebraically, so that nothing is made dense."""

    def __init__(self, rows: Any, mean: Array, weight: Array | None) -> None:
        super().__init__(rows, mean, weight)
        self.weights = np.ones(rows.shape[0]) if weight is None else weight
        self.total = float(self.weights.sum())
        self.chosen = np.empty(0, dtype=np.intp)
        self.table = self.rows[:, :0]

    def bytes_for(self, size: int) -> int:
        return 12 * self.rows.nnz * size // max(1, self.rows.shape[1])

    def take(self, indices: Array) -> Generator[Any, Any, None]:
        self.chosen = np.concatenate([self.chosen, indices])
        self.size = len(self.chosen)
        self.table = csc_array(self.rows[:, self.chosen])
        return
        yield

    def all_products(self, vector: Array) -> Generator[Any, Any, Array]:
        heavy, X = self.weigh(vector), self.rows
        product = np.empty(X.shape[1])
        columns = max(1, X.shape[1] // 64)

        def fill(number: int) -> None:
            first, stop = number * columns, min((number + 1) * columns, X.shape[1])
            native.sparse_products(X.data, X.indices, X.indptr, heavy, first, stop, product)

        yield OnThreads(fill, -(-X.shape[1] // columns))
        return product - self.mean * heavy.sum()

    def some_products(self, indices: Array, vector: Array) -> Generator[Any, Any, Array]:
        return self._products(self.rows[:, indices], indices, vector)
        yield

    def products(self, vector: Array) -> Array:
        return self._products(self.table, self.chosen, vector)

    def _products(self, table: Any, chosen: Array, vector: Array) -> Array:
        heavy, product = self.weigh(vector), np.empty(len(chosen))
        native.sparse_products(table.data, table.indices, table.indptr, heavy, 0, len(chosen), product)
        return product - self.mean[chosen] * heavy.sum()

    def combine(self, w: Array) -> Array:
        return self.weigh(self._combine(w))

    def _combine(self, w: Array) -> Array:
        return self.table @ w - self.mean[self.chosen] @ w

    def gram_strip(self, first: int, strip: slice) -> Array:
        heavy = self.table[:, strip] if self.weight is None else self.table[:, strip].multiply(self.weight[:, None])
        product = (self.table[:, first:].T @ heavy).toarray()
        return product - self.total * np.outer(self.mean[self.chosen[first:]], self.mean[self.chosen[strip]])

    def descend(self, order: Array, squares: Array, penalty: Any, w: Array, residual: Array) -> tuple[float, Array]:
        before, shift, table = w.copy(), np.zeros(1), self.table
        # Rows of weight zero are not divided: their entry is multiplied by that weight later.
        u = residual.copy()
        if self.root is not None:
            np.divide(residual, self.root, where=self.root > 0, out=u)
        mean = self.mean[self.chosen]
        stored = table.data, table.indices, table.indptr, mean, self.weights, self.total
        moved = descent.sparse_descent(*stored, squares, penalty, order, w, u, shift)
        # From the moves of this sweep alone, in the units of the residual: what native code kept in `u` is without
        # weights.
        return moved, residual - self.combine(w - before)


@dataclass(frozen=True, eq=False)
class OpenColumns:
    """A request: stores of the columns of rows in memory, for each of some means and weights."""

    means: Sequence[Array]
    weights: Sequence[Array | None]

    def answer(self, source: Source) -> list[ColumnStore]:
        rows = source.whole()
        kind: type[ColumnStore] = DenseColumns
        if is_sparse_matrix(rows):
            require_memory("coordinate descent", 16 * rows.nnz, "a copy of the rows by columns", "select columns")
            rows, kind = rows.tocsc(), SparseColumns
        return [kind(rows, mean, weight) for mean, weight in zip(self.means, self.weights, strict=True)]
