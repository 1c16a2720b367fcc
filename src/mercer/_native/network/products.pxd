# Matrix products of parts of flat arrays, by the BLAS that SciPy ships, in one thread; products.py is the uncompiled twin.
#
# A matrix is a flat array, where it begins, and the number of values from one of its rows to the next.

from libc.math cimport sqrt, sqrtf
from scipy.linalg.cython_blas cimport dgemm, sgemm

ctypedef fused real:
    float
    double


cdef inline real root(real x) noexcept nogil:
    """Return the square root."""
    return sqrtf(x) if real is float else sqrt(x)


cdef inline void _multiply(char* left, char* right, int n, int m, int k, const real* B, int b_step, const real* A, int a_step,
                           real* out, int out_step) noexcept nogil:
    cdef real one = 1, zero = 0
    if real is float:
        sgemm(left, right, &n, &m, &k, &one, <float*> B, &b_step, <float*> A, &a_step, &zero, out, &out_step)
    else:
        dgemm(left, right, &n, &m, &k, &one, <double*> B, &b_step, <double*> A, &a_step, &zero, out, &out_step)


# BLAS counts along columns: it sees every matrix transposed, and is asked for the transposed product.

cdef inline void multiply(const real[::1] A, Py_ssize_t a, const real[::1] B, Py_ssize_t b, real[::1] out, Py_ssize_t at,
                          Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    """Write A B, (m, k) times (k, n)."""
    _multiply(b"N", b"N", <int> n, <int> m, <int> k, &B[b], <int> n, &A[a], <int> k, &out[at], <int> n)


cdef inline void multiply_transposed(const real[::1] A, Py_ssize_t a, const real[::1] B, Py_ssize_t b, real[::1] out,
                                     Py_ssize_t at, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    """Write A B^T, (m, k) times the transpose of (n, k)."""
    _multiply(b"T", b"N", <int> n, <int> m, <int> k, &B[b], <int> k, &A[a], <int> k, &out[at], <int> n)


cdef inline void transpose_multiply(const real[::1] A, Py_ssize_t a, Py_ssize_t wide, const real[::1] B, Py_ssize_t b,
                                    real[::1] out, Py_ssize_t at, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    """Write A^T B, the transpose of (k, m) times (k, n); the rows of A are `wide` values apart."""
    _multiply(b"N", b"T", <int> n, <int> m, <int> k, &B[b], <int> n, &A[a], <int> wide, &out[at], <int> n)
