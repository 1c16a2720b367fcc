# Matrix products inside native code, by the BLAS that SciPy ships.
#
# The caller limits the BLAS to one thread, as for every product in native code: our threads run over blocks of rows, and
# one thread of its own could change the bits. blas.py is the uncompiled twin.

from scipy.linalg.cython_blas cimport dgemm, sgemm

ctypedef fused real:
    float
    double


cdef inline void multiply_transposed(const real[:, ::1] A, const real[:, ::1] B, real[:, ::1] out) noexcept nogil:
    """Write A B^T to the first columns of `out`, which may be wider than that."""
    cdef int m = <int> A.shape[0], n = <int> B.shape[0], k = <int> A.shape[1], leading = <int> out.shape[1]
    cdef int stride = k if k > 1 else 1
    cdef real one = 1, zero = 0
    if m == 0 or n == 0 or k == 0:
        for i in range(m):
            for j in range(n):
                out[i, j] = 0
        return
    # BLAS counts along columns: it sees A, B and `out` transposed, and is asked for B A^T.
    if real is float:
        sgemm(b"T", b"N", &n, &m, &k, &one, <float*> &B[0, 0], &stride, <float*> &A[0, 0], &stride,
              &zero, &out[0, 0], &leading)
    else:
        dgemm(b"T", b"N", &n, &m, &k, &one, <double*> &B[0, 0], &stride, <double*> &A[0, 0], &stride,
              &zero, &out[0, 0], &leading)


cdef inline void add_transposed_product(const double[:, ::1] A, const double[:, ::1] B, double[:, ::1] out) noexcept nogil:
    """Add A^T B to the first columns of `out`, which may be wider than that."""
    cdef int m = <int> A.shape[1], n = <int> B.shape[1], k = <int> A.shape[0], leading = <int> out.shape[1]
    cdef int width = m if m > 1 else 1, stride = n if n > 1 else 1
    cdef double one = 1
    if m == 0 or n == 0 or k == 0:
        return
    # BLAS counts along columns: it sees A, B and `out` transposed, and is asked for B^T A.
    dgemm(b"N", b"T", &n, &m, &k, &one, <double*> &B[0, 0], &stride, <double*> &A[0, 0], &width,
          &one, &out[0, 0], &leading)


cdef inline void multiply(const double[:, ::1] A, const double[:, ::1] B, Py_ssize_t columns, double[:, ::1] out) noexcept nogil:
    """Write the first columns of A B to those of `out`, which is as wide as B."""
    cdef int m = <int> A.shape[0], n = <int> columns, k = <int> A.shape[1], leading = <int> B.shape[1]
    cdef double one = 1, zero = 0
    if m == 0 or n == 0 or k == 0:
        return
    # BLAS counts along columns: it sees A, B and `out` transposed, and is asked for B^T A^T.
    dgemm(b"N", b"N", &n, &m, &k, &one, <double*> &B[0, 0], &leading, <double*> &A[0, 0], &k,
          &zero, &out[0, 0], &leading)


cdef inline void add_product_transposed(const double[:, ::1] A, const double[:, ::1] B, Py_ssize_t columns, double[:, ::1] out) noexcept nogil:
    """Add A B^T, over the first columns of both, which are equally wide, to `out`."""
    cdef int m = <int> A.shape[0], n = <int> B.shape[0], k = <int> columns, leading = <int> A.shape[1]
    cdef double one = 1
    if m == 0 or n == 0 or k == 0:
        return
    # BLAS counts along columns: it sees A, B and `out` transposed, and is asked for B A^T.
    dgemm(b"T", b"N", &n, &m, &k, &one, <double*> &B[0, 0], &leading, <double*> &A[0, 0], &leading,
          &one, &out[0, 0], &n)
