# Pieces of Cholesky factors and triangular solutions within one large matrix, and eigenvectors of a symmetric one, by the
# BLAS and LAPACK that SciPy ships.
#
# Matrices are C-ordered; BLAS counts along columns and sees them transposed, so that a lower triangle is an upper one to
# it. The caller limits the BLAS to one thread, as for every product in native code. lapack.py is the uncompiled twin.

from scipy.linalg.cython_blas cimport dgemm, dsyrk, dtrsm, sgemm, ssyrk, strsm
from scipy.linalg.cython_lapack cimport dpotrf, dpotri, dpotrs, dsyevd, dsyevr, spotrf, ssyevd, ssyevr

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


cdef inline void solve_factored(double[:, ::1] L, double[:, ::1] B) noexcept nogil:
    """Overwrite each row b of B by (L L^T)^-1 b, with L in a lower triangle."""
    cdef int n = <int> L.shape[0], k = <int> B.shape[0], failed = 0
    if n > 0 and k > 0:
        dpotrs(b"U", &n, &k, &L[0, 0], &n, &B[0, 0], &n, &failed)


cdef inline void solve_lower(double[:, ::1] L, double[:, ::1] B) noexcept nogil:
    """Overwrite each row b of B by L^-1 b, with L in a lower triangle."""
    cdef int n = <int> L.shape[0], k = <int> B.shape[0]
    cdef double one = 1
    if n > 0 and k > 0:
        dtrsm(b"L", b"U", b"T", b"N", &n, &k, &one, &L[0, 0], &n, &B[0, 0], &n)


cdef inline void invert_factored(double[:, ::1] L) noexcept nogil:
    """Overwrite the lower triangle L by that of (L L^T)^-1."""
    cdef int n = <int> L.shape[0], failed = 0
    if n > 0:
        dpotri(b"U", &n, &L[0, 0], &n, &failed)


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


cdef inline Py_ssize_t decompose_some(
    real[:, ::1] A, Py_ssize_t first, Py_ssize_t last, real[::1] values, real[:, ::1] vectors,
    int[::1] support, real[::1] work, int[::1] counters,
) noexcept nogil:
    """Write eigenvalues `first` to `last` in rising order and their vectors as rows; A is overwritten.

    By relatively robust representations. LAPACK reads the upper triangle of the C-ordered A, its own lower one. Returns
    0, or LAPACK's number of the failure.
    """
    cdef int n = <int> A.shape[0], low = <int> first + 1, high = <int> last + 1, found = 0, failed = 0
    cdef int width = <int> work.shape[0], n_counters = <int> counters.shape[0]
    cdef real zero = 0, one = 1
    # SciPy asks for the range "A" where all are wanted.
    cdef char wanted = b"A" if high - low + 1 == n else b"I"
    if real is float:
        ssyevr(b"V", &wanted, b"L", &n, &A[0, 0], &n, &zero, &one, &low, &high, &zero, &found, &values[0],
               &vectors[0, 0], &n, &support[0], &work[0], &width, &counters[0], &n_counters, &failed)
    else:
        dsyevr(b"V", &wanted, b"L", &n, &A[0, 0], &n, &zero, &one, &low, &high, &zero, &found, &values[0],
               &vectors[0, 0], &n, &support[0], &work[0], &width, &counters[0], &n_counters, &failed)
    return failed


cdef inline Py_ssize_t decompose_whole(
    real[:, ::1] A, real[::1] values, real[::1] work, int[::1] counters
) noexcept nogil:
    """Write all eigenvalues in rising order, and the vectors as rows over A, by divide and conquer.

    Returns 0, or LAPACK's number of the failure.
    """
    cdef int n = <int> A.shape[0], failed = 0
    cdef int width = <int> work.shape[0], n_counters = <int> counters.shape[0]
    if real is float:
        ssyevd(b"V", b"L", &n, &A[0, 0], &n, &values[0], &work[0], &width, &counters[0], &n_counters, &failed)
    else:
        dsyevd(b"V", b"L", &n, &A[0, 0], &n, &values[0], &work[0], &width, &counters[0], &n_counters, &failed)
    return failed
