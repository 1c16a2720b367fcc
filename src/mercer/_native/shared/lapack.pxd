# Pieces of Cholesky factors and triangular solutions within one large matrix, by the BLAS and LAPACK that SciPy ships.
#
# Matrices are C-ordered; BLAS counts along columns and sees them transposed, so that a lower triangle is an upper one to
# it. The caller limits the BLAS to one thread, as for every product in native code. lapack.py is the uncompiled twin.

from scipy.linalg.cython_blas cimport dgemm, dsyrk, dtrsm, sgemm, ssyrk, strsm
from scipy.linalg.cython_lapack cimport dpotrf, spotrf

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t factor_corner(real[:, ::1] A, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Put the lower factor of the block on the diagonal in its place; return 0, or the order of a minor that fails."""
    cdef int n = <int> (stop - start), leading = <int> A.shape[1], failed = 0
    if n > 0:
        if real is float:
            spotrf(b"U", &n, &A[start, start], &leading, &failed)
        else:
            dpotrf(b"U", &n, &A[start, start], &leading, &failed)
    return failed


cdef inline void divide_rows(
    real[:, ::1] A, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t row, Py_ssize_t row_stop
) noexcept nogil:
    """Overwrite the rows P, below a lower triangle L from `start` to `stop`, by P L^-T."""
    cdef int m = <int> (stop - start), n = <int> (row_stop - row), leading = <int> A.shape[1]
    cdef real one = 1
    if m <= 0 or n <= 0:
        return
    if real is float:
        strsm(b"L", b"U", b"T", b"N", &m, &n, &one, &A[start, start], &leading, &A[row, start], &leading)
    else:
        dtrsm(b"L", b"U", b"T", b"N", &m, &n, &one, &A[start, start], &leading, &A[row, start], &leading)


cdef inline void subtract_products(
    real[:, ::1] A, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t row, Py_ssize_t row_stop,
    Py_ssize_t column, Py_ssize_t column_stop,
) noexcept nogil:
    """Take the products of two sets of rows of the panel from `start` to `stop` from their block.

    Of a block on the diagonal the lower triangle alone.
    """
    cdef int m = <int> (column_stop - column), n = <int> (row_stop - row), k = <int> (stop - start)
    cdef int leading = <int> A.shape[1]
    cdef real one = 1, less = -1
    if m <= 0 or n <= 0 or k <= 0:
        return
    if row == column:
        if real is float:
            ssyrk(b"U", b"T", &n, &k, &less, &A[row, start], &leading, &one, &A[row, row], &leading)
        else:
            dsyrk(b"U", b"T", &n, &k, &less, &A[row, start], &leading, &one, &A[row, row], &leading)
    elif real is float:
        sgemm(b"T", b"N", &m, &n, &k, &less, &A[column, start], &leading, &A[row, start], &leading,
              &one, &A[row, column], &leading)
    else:
        dgemm(b"T", b"N", &m, &n, &k, &less, &A[column, start], &leading, &A[row, start], &leading,
              &one, &A[row, column], &leading)


cdef inline void eliminate(
    real[:, ::1] L, real[:, ::1] V, Py_ssize_t known, Py_ssize_t row, Py_ssize_t row_stop,
    Py_ssize_t column, Py_ssize_t column_stop,
) noexcept nogil:
    """Solve some rows of L V = B: V holds the solution from row `known` to `row`, and B from there on."""
    cdef int w = <int> (column_stop - column), m = <int> (row_stop - row), k = <int> (row - known)
    cdef int leading = <int> L.shape[1], width = <int> V.shape[1]
    cdef real one = 1, less = -1
    if w <= 0 or m <= 0:
        return
    if real is float:
        if k > 0:
            sgemm(b"N", b"N", &w, &m, &k, &less, &V[known, column], &width, &L[row, known], &leading,
                  &one, &V[row, column], &width)
        strsm(b"R", b"U", b"N", b"N", &w, &m, &one, &L[row, row], &leading, &V[row, column], &width)
    else:
        if k > 0:
            dgemm(b"N", b"N", &w, &m, &k, &less, &V[known, column], &width, &L[row, known], &leading,
                  &one, &V[row, column], &width)
        dtrsm(b"R", b"U", b"N", b"N", &w, &m, &one, &L[row, row], &leading, &V[row, column], &width)
