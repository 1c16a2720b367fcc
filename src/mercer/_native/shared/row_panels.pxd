# Products of the rows of two matrices in packed panels, where the CPU level gains by them; row_panels.h says how.
# Elsewhere `gains` is false, and the caller does better to ask its BLAS. row_panels.py is the uncompiled twin.

cdef extern from *:
    """
    #include <string.h>
    #include "row_panels.h"
    """
    const bint MERCER_ROW_PANELS
    const Py_ssize_t ROW_SCRATCH
    void mercer_add_row_products(
        const double *A, Py_ssize_t m, Py_ssize_t a_stride, const double *B, Py_ssize_t n, Py_ssize_t b_stride,
        Py_ssize_t depth, double sign, bint lower, double *out, Py_ssize_t stride, double *scratch,
    ) noexcept nogil


cdef inline bint gains() noexcept nogil:
    """Say whether products in panels are compiled for this CPU level."""
    return MERCER_ROW_PANELS


cdef inline Py_ssize_t count_scratch() noexcept nogil:
    """Return the length of the scratch array that products need."""
    return ROW_SCRATCH


cdef inline void add_products(
    const double[:, :] A, const double[:, :] B, double sign, bint lower, double[:, :] out, double[::1] scratch
) noexcept nogil:
    """Add sign A B^T to `out`, all of it or, where A is B, at and below the diagonal; values of a row lie side by side."""
    if A.shape[0] == 0 or B.shape[0] == 0 or A.shape[1] == 0:
        return
    mercer_add_row_products(
        &A[0, 0], A.shape[0], A.strides[0] // <Py_ssize_t> sizeof(double),
        &B[0, 0], B.shape[0], B.strides[0] // <Py_ssize_t> sizeof(double),
        A.shape[1], sign, lower, &out[0, 0], out.strides[0] // <Py_ssize_t> sizeof(double), NULL if scratch.shape[0] == 0 else &scratch[0],
    )
