"""Columns as ranks: splits depend on the order of values alone."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from mercer._native.tree import tree_order
from mercer._solver.request import run_large
from mercer._solver.tree import _crossovers
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows

# A coarse code is one byte, and one of its 256 values stands for missing values.
_MOST_COARSE = 255
# Rows transposed at a time: a block of 2048 codes of each column stays in the cache.
_ROWS = 2048
# What stands for coarse codes, their edges and the kinds of columns where there are none.
_NO_CODES = np.zeros((0, 0), np.uint8)
_NO_EDGES = np.zeros((0, 0), np.int32)
_NO_KINDS = np.zeros(0, np.uint8)


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows as codes, column by column.

    Attributes
    ----------
    codes : (d, n) array of uint8, uint16 or int32, or of floats
        The rank of each value among the distinct values of its column, or the value itself: random cuts need no ranks.
    table, offsets : (total,), (d + 1,)
        The distinct values of all columns, one column after the other, and where each begins.
    missing : (2, d) int32
        The rank and the coarse code of missing values; -1 where a column has none. Where codes are values, zero stands
        for NaN.
    coarse : (d, n) uint8, or (0, 0)
        Ranks in at most 255 steps of about equally many rows.
    edges : (d, 256) int32
        The last rank of each step.
    kinds : (d,) uint8, or empty
        One for columns of categories, whose ranks have no order; empty if there are none.
    matrix : (n, d), or (0, 0)
        The codes by rows, for nodes of few rows: these lie far apart, but codes of one row share lines of the cache.
    coarse_matrix : (n, d or more), or (0, 0)
        The coarse codes by rows. Without `coarse` they serve a search that finds the best of all cuts through steps.
    drawn : (trees, d) or None
        Columns of the matrix for each of several trees; these d are the only ones that it may split.
    """

    codes: Array
    table: Array
    offsets: Array
    missing: Array
    coarse: Array
    edges: Array
    kinds: Array
    matrix: Array
    coarse_matrix: Array
    drawn: Array | None = None

    @property
    def are_values(self) -> bool:
        """Whether the codes are the values themselves."""
        return self.codes.dtype.kind == "f"

    @property
    def have_steps(self) -> bool:
        """Whether the best of all cuts can be found through steps; see ``step_scan``."""
        return self.coarse_matrix.size > 0 and self.coarse.size == 0

    @property
    def n_features(self) -> int:
        return len(self.codes)

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]

    @property
    def n_codes(self) -> Array:
        """The number of codes of each column, including that of missing values."""
        return np.diff(self.offsets) + (self.missing[0] >= 0)

    def thresholds(self, features: Array, lower: Array, upper: Array) -> Array:
        """Return the middle between the values of two ranks of each feature; infinity where there is no upper rank."""
        starts = self.offsets.take(features)
        open_above = upper >= self.offsets.take(features + 1) - starts
        low = self.table.take(starts + lower)
        high = self.table.take(starts + np.where(open_above, lower, upper))
        middle = low / 2 + high / 2
        # Between neighbouring floats the middle may round up, and the upper value must stay on its side.
        middle = np.where(middle >= high, low, middle)
        return np.where(open_above, np.inf, middle)


def keep_columns(X: Array, subject: str) -> Columns:
    """Return the values of a dense matrix, column by column; NaN is missing."""
    n, d = X.shape
    require_memory(subject, n * d * X.itemsize, f"the columns of {n} x {d} values", "fit fewer rows")
    nothing = _NO_CODES, _NO_EDGES, _NO_KINDS
    columns = run_large(lambda: np.ascontiguousarray(X.T), X.size)
    missing = np.empty((2, d), np.int32)
    missing.fill(-1)
    # One product of all values tells of most tables that no value is missing.
    if not math.isfinite(run_large(lambda: np.vdot(columns, columns), X.size)):
        # A sum is not finite if a value is NaN, or by overflow. A column marked by overflow takes the slower search.
        missing[:] = np.where(np.isfinite(run_large(lambda: _sum_columns(columns), X.size)), -1, 0)
    table = np.zeros(1), np.zeros(d + 1, np.int64), missing
    return Columns(columns, *table, *nothing, X, nothing[0])


def hold_matrix(X: Array, drawn: Array | None = None) -> Columns:
    """Return the values of a dense matrix as they are, by rows alone, and the columns `drawn`; NaN is missing."""
    d = X.shape[1] if drawn is None else drawn.shape[1]
    # Random cuts look at the rows of a node only: no column need be told whether it has missing values.
    empty = np.zeros(1), np.zeros(d + 1, np.int64), np.full((2, d), -1, np.int32)
    return Columns(np.empty((d, 0), X.dtype), *empty, _NO_CODES, _NO_EDGES, _NO_KINDS, X, _NO_CODES, drawn)


def _sum_columns(columns: Array) -> Array:
    """Return the sum of each column, (d,), without a warning where it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return columns.sum(axis=1)


def encode_columns(
    X: Array,
    threads: int,
    subject: str,
    coarse: bool = False,
    kinds: Array | None = None,
    weight: Array | None = None,
    steps: bool = False,
) -> Columns:
    """Rank the values of every column of a matrix, dense or sparse by columns; NaN is missing.

    With `coarse` the ranks are also joined to at most 255 steps that hold about equally many rows, or about equal sums
    of `weight`, which must be integers. With `steps` only the steps by rows are added, if there are more ranks than
    steps and no value is missing.
    """
    n, d = X.shape
    # Four bytes per rank, and with `coarse` the codes by rows and the coarse codes; then the scratch of each thread.
    require_memory(
        subject,
        n * d * (4 + 6 * coarse + 2 * steps) + (24 + 100 * (coarse or steps)) * n * threads,
        f"the ranks of {n} x {d} values",
        "fit fewer rows",
    )
    few = n * d < _crossovers.SEPARATE_COLUMNS and (type(X) is np.ndarray or not is_sparse_matrix(X))
    codes, table, offsets, ranks, most = _encode_few(X) if few else _encode_many(X, threads)
    # The smallest type that holds all codes: the search for splits is bound by memory.
    small = np.uint8 if most <= 2**8 else np.uint16 if most <= 2**16 else np.int32
    missing = np.empty((2, d), np.int32)
    missing[0], missing[1] = ranks, -1
    coarse_codes, edges = _NO_CODES, _NO_EDGES
    coarse_matrix = coarse_codes
    if (coarse or (steps and (ranks < 0).all())) and small is not np.uint8:
        coarse_codes, edges, coarse_missing = _coarsen(codes, np.diff(offsets), threads, weight)
        missing[1] = np.where(ranks >= 0, coarse_missing, -1)
        # Padded to a multiple of 16 bytes, so that the coarse codes of a row touch as few cache lines as possible.
        coarse_matrix = _transpose_codes(coarse_codes, -(-len(coarse_codes) // 16) * 16, threads)
        coarse_codes = coarse_codes if coarse else _NO_CODES
    codes = codes if small is np.int32 else run_large(partial(codes.astype, small), codes.size)
    kinds = _NO_KINDS if kinds is None or not kinds.any() else kinds.astype(np.uint8)
    matrix = _transpose_codes(codes, d, threads) if coarse else np.zeros((0, 0), codes.dtype)
    return Columns(codes, table, offsets, missing, coarse_codes, edges, kinds, matrix, coarse_matrix)


def _encode_many(X: Rows, threads: int) -> tuple[Array, Array, Array, Array, int]:
    """Return ranks (d, n), the distinct values of all columns and a zero, where each begins, and the ranks of NaN.

    The last number is that of the ranks of the column which has most, that of NaN among them.
    """
    n, d = X.shape
    codes, has_missing = np.empty((d, n), np.int32), np.zeros(d, np.bool_)
    values: list[Array] = [None] * d

    def encode(j: int) -> None:
        # Sorting a value takes as long as ten other operations.
        values[j] = run_large(lambda: _encode_one(X, j, codes[j]), 10 * n)
        has_missing[j] = codes[j].max() == len(values[j])

    run_numbered(encode, d, threads)
    lengths = np.array([len(distinct) for distinct in values])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # One more value, so that the index one past the last is valid. The code of missing values is one above the largest
    # rank; -1 stands for none.
    ranks = np.where(has_missing, lengths, -1)
    return codes, np.concatenate([*values, [0.0]]), offsets, ranks, int((lengths + has_missing).max())


def _encode_one(X: Rows, j: int, codes: Array) -> Array:
    """Write the ranks of column `j`, and return its distinct values."""
    return _encode_sparse(X, j, codes) if is_sparse_matrix(X) else _encode_column(X[:, j], codes)


def _encode_few(X: Array) -> tuple[Array, Array, Array, Array, int]:
    """Return what :func:`_encode_many` does, all columns in one call each: few values take less than the calls."""
    columns = np.ascontiguousarray(X.T)
    d = len(columns)
    # NaN sorts last.
    order = columns.argsort(axis=1)
    codes, table = np.empty(columns.shape, np.int32), np.empty(columns.size + 1)
    offsets, missing = np.empty(d + 1, np.int64), np.empty(d, np.int32)
    most = tree_order.rank_columns(columns, order, codes, table, offsets, missing)
    return codes, table[: offsets[-1] + 1], offsets, missing, most


def _transpose_codes(codes: Array, width: int, threads: int) -> Array:
    """Return the codes by rows, transposed in blocks that stay in the cache; padded with zeros to `width` columns."""
    d, n = codes.shape
    matrix = np.zeros((n, width), codes.dtype)

    def work(number: int) -> None:
        part = slice(number * _ROWS, (number + 1) * _ROWS)
        matrix[part, :d] = codes[:, part].T

    run_numbered(work, -(-n // _ROWS), threads)
    return matrix


def _encode_column(column: Array, codes: Array) -> Array:
    """Write the ranks of a column to `codes`, and return its distinct values; NaN has the rank after the last."""
    column = np.ascontiguousarray(column)
    # NaN sorts last.
    order = column.argsort()
    values, offsets, missing = np.empty(len(column) + 1), np.empty(2, np.int64), np.empty(1, np.int32)
    tree_order.rank_columns(column[None], order[None], codes[None], values, offsets, missing)
    return values[: offsets[1]].copy()


def _encode_sparse(X: Rows, j: int, codes: Array) -> Array:
    """Write the ranks of column `j` as :func:`_encode_column` does; values that are not stored are zeros."""
    rows = X.indices[X.indptr[j] : X.indptr[j + 1]]
    given = X.data[X.indptr[j] : X.indptr[j + 1]]
    # No zeros are left out: the column is dense.
    if len(rows) == len(codes):
        column = np.empty(len(codes), X.dtype)
        column[rows] = given
        return _encode_column(column, codes)
    # One zero, appended to the stored values, stands for all that are not stored.
    own = np.empty(len(rows) + 1, np.int32)
    distinct = _encode_column(np.append(given, X.dtype.type(0)), own)
    # Rows that are not stored have the code of zero.
    codes[:] = own[-1]
    codes[rows] = own[:-1]
    return distinct


def _coarsen(codes: Array, lengths: Array, threads: int, weight: Array | None) -> tuple[Array, Array, Array]:
    """Join ranks to at most 255 steps: a step ends once it holds its share of the rows, or of their weight.

    Return the step of each row, the last rank of each step, and the code of missing values in each column.
    """
    d, n = codes.shape
    coarse, edges, missing = np.empty((d, n), np.uint8), np.zeros((d, 256), np.int32), np.empty(d, np.int32)

    def work(j: int) -> None:
        length = lengths[j]
        # Rows, or their weight, by rank.
        steps = _find_steps(np.bincount(codes[j], weight, minlength=length + 1)[:length])
        n_steps = int(steps[-1]) + 1 if length else 0
        missing[j] = n_steps
        # Missing values get the step after the last.
        lookup = np.append(steps, n_steps).astype(np.uint8)
        coarse[j] = lookup[codes[j]]
        edges[j] = length - 1
        edges[j, : max(n_steps - 1, 0)] = np.flatnonzero(np.diff(steps))

    run_numbered(work, d, threads)
    return coarse, edges, missing


def _find_steps(counts: Array) -> Array:
    """Return the step of each rank, from the rows or the weight `counts` of each rank.

    A rank with a share F of the total before it is in step floor(255 F).
    """
    present = counts > 0
    if np.count_nonzero(present) <= _MOST_COARSE:
        # Values of rows without weight have no step of their own, as if the rows were not there.
        return np.maximum(np.cumsum(present) - 1, 0)
    before = np.cumsum(counts) - counts
    steps = np.minimum(before * _MOST_COARSE // counts.sum(), _MOST_COARSE - 1)
    # Steps rise with the ranks, but a rank with a large share leaves gaps: number them without gaps.
    return np.cumsum(np.diff(steps, prepend=steps[:1]) > 0)
