# Gaussian densities and moments of rows, a lane per state; gaussian_lanes.h says how. gaussian_lanes.py is the uncompiled twin.

cdef extern from *:
    """
    #include "gaussian_lanes.h"
    """
    void mercer_score_columns(const double *X, Py_ssize_t rows, Py_ssize_t d, const double *means, const double *factors,
                              const double *offsets, Py_ssize_t lanes, double *out) noexcept nogil
    void mercer_score_triangles(const double *X, Py_ssize_t rows, Py_ssize_t d, const double *means, const double *factors,
                                const double *offsets, Py_ssize_t lanes, double *steps, double *out) noexcept nogil
    void mercer_sum_column(const double *x, Py_ssize_t stride, Py_ssize_t rows, const double *shares, Py_ssize_t lanes,
                           const double *mean, double *mass, double *first, double *second) noexcept nogil
    void mercer_sum_pair(const double *x, const double *y, Py_ssize_t stride, Py_ssize_t rows, const double *shares,
                         Py_ssize_t lanes, const double *mean_x, const double *mean_y, double *second) noexcept nogil


cdef inline void score_columns(const double[:, ::1] X, const double[:, ::1] means, const double[:, ::1] factors,
                               const double[:, ::1] offsets, double[:, ::1] out) noexcept nogil:
    """Write the log densities of rows with independent columns to `out`."""
    mercer_score_columns(&X[0, 0], X.shape[0], X.shape[1], &means[0, 0], &factors[0, 0], &offsets[0, 0], out.shape[1],
                         &out[0, 0])


cdef inline void score_triangles(const double[:, ::1] X, const double[:, ::1] means, const double[:, ::1] factors,
                                 const double[:, ::1] offsets, double[:, ::1] scratch, double[:, ::1] out) noexcept nogil:
    """Write the log densities of rows to `out`; factors are lower triangles."""
    mercer_score_triangles(&X[0, 0], X.shape[0], X.shape[1], &means[0, 0], &factors[0, 0], &offsets[0, 0], out.shape[1],
                           &scratch[0, 0], &out[0, 0])


cdef inline void sum_column(const double[:, ::1] X, Py_ssize_t start, Py_ssize_t rows, Py_ssize_t j,
                            const double[:, ::1] shares, const double[::1] mean, double[::1] mass, double[::1] first,
                            double[::1] second) noexcept nogil:
    """Add the moments of column j over some rows."""
    mercer_sum_column(&X[start, j], X.shape[1], rows, &shares[start, 0], shares.shape[1], &mean[0], &mass[0], &first[0],
                      &second[0])


cdef inline void sum_pair(const double[:, ::1] X, Py_ssize_t start, Py_ssize_t rows, Py_ssize_t i, Py_ssize_t j,
                          const double[:, ::1] shares, const double[:, ::1] means, double[::1] second) noexcept nogil:
    """Add the product of columns i and j over some rows."""
    mercer_sum_pair(&X[start, i], &X[start, j], X.shape[1], rows, &shares[start, 0], shares.shape[1], &means[i, 0],
                    &means[j, 0], &second[0])
