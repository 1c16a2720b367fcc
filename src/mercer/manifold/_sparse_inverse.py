"""The inverse of a sparse symmetric matrix as an operator, by a factorisation during which Ctrl-C is noticed.

SciPy's SuperLU gives the interpreter's lock back while it factors a matrix, but not while it orders the columns: that
takes more than half of the time where rows have many columns. So large matrices are ordered here, by native code.
"""

from functools import partial

import numpy as np
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrf
from scipy.sparse import coo_array, eye_array
from scipy.sparse.linalg import LinearOperator, splu

from mercer._native.graph import elimination_order
from mercer._source.calls import check_dropped
from mercer._types import Array, Rows

# Entries of a matrix that SuperLU orders in some 40 ms: shorter than Ctrl-C may wait.
_SMALL = 200_000
# Entries of lists that one native call of the ordering reads: some milliseconds.
_PIECE = 2**20
# A pivot is taken from the diagonal if it is at least this share of the largest entry of its column.
_PIVOT = 0.01
# Rows of a sparse matrix that may be factored as a dense one: it takes 35 ms, shorter than Ctrl-C may wait.
_DENSE_ROWS = 1500
# Share of entries from which that pays: at a twentieth SuperLU fills 0.6 of the triangle of 1000 rows, in 96 ms.
_DENSE_SHARE = 0.05


def invert_sparse(matrix: Rows, shift: float = 0.0) -> LinearOperator:
    """Return the product with (M - shift I)^-1 for a sparse symmetric M, by a factorisation.

    SuperLU orders columns for matrices without symmetry unless told otherwise. A minimum degree of M + M^T, with pivots
    from the diagonal where these are not a hundred times below the largest entry, halves the fill and takes a third of
    the time. A matrix of few rows with many entries fills up anyway: Cholesky's dense factor of 1000 rows, a seventh of
    whose entries are not zero, takes 11 ms where SuperLU takes 137 ms.
    """
    n = matrix.shape[0]
    shifted = (matrix - shift * eye_array(n)).tocsc() if shift else matrix.tocsc()
    if n <= _DENSE_ROWS and matrix.nnz >= _DENSE_SHARE * n * n:
        factor, failed = dpotrf(shifted.toarray(order="F"), lower=1, overwrite_a=1)
        if not failed:
            return LinearOperator((n, n), matvec=partial(_solve_factored, factor), dtype=np.float64)
    settings = {"diag_pivot_thresh": _PIVOT, "options": {"SymmetricMode": True}}
    if shifted.nnz <= _SMALL:
        factors = splu(shifted, "MMD_AT_PLUS_A", **settings)
        return LinearOperator((n, n), matvec=factors.solve, dtype=np.float64)
    order = order_unknowns(shifted)
    entries, place = shifted.tocoo(), np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    moved = coo_array((entries.data, (place[entries.row], place[entries.col])), shape=(n, n)).tocsc()
    factors = splu(moved, "NATURAL", **settings)

    def solve(right: Array) -> Array:
        solution = np.empty(n)
        solution[order] = factors.solve(right[order])
        return solution

    return LinearOperator((n, n), matvec=solve, dtype=np.float64)


def _solve_factored(factor: Array, right: Array) -> Array:
    """Return the solution of L L^T x = `right`, by two triangular solves."""
    return dtrsv(factor, dtrsv(factor, right.ravel(), lower=1), lower=1, trans=1)


def order_unknowns(matrix: Rows, piece: int = _PIECE) -> Array:
    """Return an order in which few zeros of a symmetric matrix fill in, by approximate minimum degree.

    Parameters
    ----------
    matrix : sparse array of shape (n, n)
        Only the places of its entries matter; where only one of two mirrored entries is stored, both count.
    piece : int, default=2^20
        Entries that one native call reads.
    """
    n = matrix.shape[0]
    entries = matrix.tocoo()
    beside = entries.row != entries.col
    rows, columns = entries.row[beside], entries.col[beside]
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    # Conversion adds up entries of one place, so that each neighbour is listed once.
    graph = coo_array((np.ones(len(both[0]), np.int8), both), shape=(n, n)).tocsr()
    order = np.empty(n, np.int32)
    state = _start_elimination(graph.indptr, graph.indices, order)
    while not elimination_order.eliminate(state, piece):
        check_dropped()
    return order


def _start_elimination(starts: Array, neighbours: Array, order: Array) -> elimination_order.Elimination:
    """Return the state before the first elimination; `neighbours` lists those of each unknown from ``starts`` on."""
    n, m = len(starts) - 1, len(neighbours)
    lengths = np.diff(starts)
    places = np.empty(3 * m + 2 * n, np.int32)
    places[:m] = neighbours
    table = np.zeros((17, n), np.int32)
    # Rows as the native module lists them: where the list begins, its length, the weight, the degree.
    table[0], table[1], table[4], table[5] = starts[:-1], lengths, 1, lengths
    # Chains end with -1, and each unknown is the last of its own.
    table[6:9], table[12], table[13], table[15] = -1, -1, np.arange(n), -1
    return elimination_order.Elimination(places, table, order, m)
