# A group of queries against a panel of rows, as scan.h says, and exact distances. scan.py is the uncompiled twin.

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include "scan.h"
    """
    void mercer_scan_panel(const float *panel, const float *queries, Py_ssize_t d, const float *limits,
                           uint64_t *hits) noexcept nogil
    int lowest_bit(uint64_t bits) noexcept nogil
    void mercer_measure_four_float(const float *a, const float *b, const float *c, const float *e, const double *x,
                                   Py_ssize_t d, double *totals) noexcept nogil
    void mercer_measure_four_double(const double *a, const double *b, const double *c, const double *e, const double *x,
                                    Py_ssize_t d, double *totals) noexcept nogil



ctypedef fused real:
    float
    double


cdef inline void measure_four(const real[:, ::1] X, const double[:, ::1] queries, Py_ssize_t query,
                              const Py_ssize_t[::1] rows, double[::1] squares) noexcept nogil:
    """Write the squared distances from a query to four rows, summed in the order of columns."""
    if real is float:
        mercer_measure_four_float(&X[rows[0], 0], &X[rows[1], 0], &X[rows[2], 0], &X[rows[3], 0], &queries[query, 0],
                                  X.shape[1], &squares[0])
    else:
        mercer_measure_four_double(&X[rows[0], 0], &X[rows[1], 0], &X[rows[2], 0], &X[rows[3], 0], &queries[query, 0],
                                   X.shape[1], &squares[0])


cdef inline void scan_panel(const float[:, :, ::1] panels, Py_ssize_t panel, const float[:, :, ::1] packed,
                            Py_ssize_t group, const float[::1] limits, unsigned long long[::1] hits) noexcept nogil:
    """Set bit j of hits[q] where row j of a panel scores below the limit of query q of a group."""
    mercer_scan_panel(&panels[panel, 0, 0], &packed[group, 0, 0], packed.shape[1], &limits[6 * group],
                      <uint64_t*> &hits[0])
