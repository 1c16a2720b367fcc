# Products of panels of matrices in flat arrays, by the BLAS that SciPy ships, in one thread; part_products.py is the uncompiled twin.
#
# A panel is a flat array, where it begins, and the number of values from one of its rows to the next.

from scipy.linalg.cython_blas cimport dgemm, sgemm

ctypedef fused real:
    float
    double


# BLAS counts along columns: it sees every matrix transposed, and is asked for the transposed product.
cdef inline void _multiply(char* left, char* right, int n, int m, int k, const real* B, int b_step, const real* A, int a_step,
                           real* out, int out_step, real alpha, real beta) noexcept nogil:
    if real is float:
        sgemm(left, right, &n, &m, &k, &alpha, <float*> B, &b_step, <float*> A, &a_step, &beta, out, &out_step)
    else:
        dgemm(left, right, &n, &m, &k, &alpha, <double*> B, &b_step, <double*> A, &a_step, &beta, out, &out_step)


cdef inline void multiply_columns(const real[::1] A, Py_ssize_t a, const real[::1] B, Py_ssize_t b, real[::1] out,
                                  Py_ssize_t at, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, Py_ssize_t step) noexcept nogil:
    """Write A B, (m, k) times (k, n), for columns of B and of the result; their rows are `step` values apart."""
    _multiply(b"N", b"N", <int> n, <int> m, <int> k, &B[b], <int> step, &A[a], <int> k, &out[at], <int> step, 1, 0)


cdef inline void multiply_transposed(const real[::1] A, Py_ssize_t a, const real[::1] B, Py_ssize_t b, real[::1] out,
                                     Py_ssize_t at, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    """Write A B^T, (m, k) times the transpose of (n, k)."""
    _multiply(b"T", b"N", <int> n, <int> m, <int> k, &B[b], <int> k, &A[a], <int> k, &out[at], <int> n, 1, 0)


cdef inline void add_product(const real[::1] A, Py_ssize_t a, Py_ssize_t wide, const real[::1] B, real[::1] out, Py_ssize_t at,
                             Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, double rate, double keep) noexcept nogil:
    """Write keep times what is there plus rate A^T B, (k, m)^T times (k, n); rows of A are `wide` values apart."""
    _multiply(b"N", b"T", <int> n, <int> m, <int> k, &B[0], <int> n, &A[a], <int> wide, &out[at], <int> n,
              <real> rate, <real> keep)
