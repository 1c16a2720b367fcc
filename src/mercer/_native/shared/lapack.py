"""The uncompiled twin of ``lapack.pxd``: equal to it up to the rounding of the BLAS."""

import numpy
from scipy.linalg import eigh, lapack, solve_triangular


def factor_corner(A, start, stop):
    """Put the lower factor of the block on the diagonal in its place; return 0, or the order of a minor that fails."""
    A = numpy.asarray(A)
    lower, failed = lapack.dpotrf(A[start:stop, start:stop].astype(numpy.float64), lower=1)
    numpy.copyto(A[start:stop, start:stop], lower.astype(A.dtype), where=numpy.tri(stop - start, dtype=bool))
    return int(failed)


def solve_factored(L, B):
    """Overwrite each row b of B by (L L^T)^-1 b, with L in a lower triangle."""
    solve_lower(L, B)
    B[:] = solve_triangular(numpy.asarray(L), numpy.asarray(B).T, lower=True, trans=1).T


def solve_lower(L, B):
    """Overwrite each row b of B by L^-1 b, with L in a lower triangle."""
    B[:] = solve_triangular(numpy.asarray(L), numpy.asarray(B).T, lower=True).T


def invert_factored(L):
    """Overwrite the lower triangle L by that of (L L^T)^-1."""
    whole = numpy.eye(len(L))
    solve_factored(L, whole)
    numpy.copyto(L, whole, where=numpy.tri(len(L), dtype=bool))


def divide_rows(A, start, stop, row, row_stop):
    """Overwrite the rows P, below a lower triangle L from `start` to `stop`, by P L^-T."""
    A = numpy.asarray(A)
    P = A[row:row_stop, start:stop]
    P[:] = solve_triangular(A[start:stop, start:stop], P.T, lower=True).T


def subtract_products(A, start, stop, row, row_stop, column, column_stop):
    """Take the products of two sets of rows of the panel from `start` to `stop` from their block."""
    A = numpy.asarray(A)
    product = A[row:row_stop, start:stop] @ A[column:column_stop, start:stop].T
    A[row:row_stop, column:column_stop] -= numpy.tril(product) if row == column else product


def eliminate(L, V, known, row, row_stop, column, column_stop):
    """Solve some rows of L V = B: V holds the solution from row `known` to `row`, and B from there on."""
    L, V = numpy.asarray(L), numpy.asarray(V)
    right = V[row:row_stop, column:column_stop] - L[row:row_stop, known:row] @ V[known:row, column:column_stop]
    V[row:row_stop, column:column_stop] = solve_triangular(L[row:row_stop, row:row_stop], right, lower=True)


def decompose_some(A, first, last, values, vectors, support, work, counters):
    """Write eigenvalues `first` to `last` in rising order and their vectors as rows."""
    some = {} if last - first + 1 == len(A) else {"subset_by_index": [first, last]}
    found, columns = eigh(numpy.asarray(A).T, check_finite=False, **some)
    numpy.asarray(values)[: len(found)], numpy.asarray(vectors)[:] = found, columns.T
    return 0


def decompose_whole(A, values, work, counters):
    """Write all eigenvalues in rising order, and the vectors as rows over A, by divide and conquer."""
    found, columns = eigh(numpy.asarray(A).T, driver="evd", check_finite=False)
    numpy.asarray(values)[:], numpy.asarray(A)[:] = found, columns.T
    return 0
