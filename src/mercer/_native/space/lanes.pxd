# One point against a panel of points, or many; lanes.h says how. lanes.py is the uncompiled twin.

from libc.stdint cimport int32_t

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>
    #if defined(_MSC_VER)
        #define restrict __restrict
    #endif
    #include "lanes.h"
    """
    void mercer_square_lanes(const double *panel, const double *point, Py_ssize_t d, Py_ssize_t lanes,
                             double *out) noexcept nogil
    int mercer_lower_lanes(double *keys, const double *values, Py_ssize_t lanes, double bound) noexcept nogil
    int mercer_cheaper_lanes(const double *values, const double *sizes, Py_ssize_t lanes, double size,
                             double bound) noexcept nogil
    void mercer_find_nearest(const double *panel, const double *points, Py_ssize_t k, Py_ssize_t d, Py_ssize_t lanes,
                             int32_t *nearest, double *least, double *second) noexcept nogil


cdef inline void square(const double[:, :, ::1] panels, Py_ssize_t panel, const double[::1] point,
                        double[::1] out) noexcept nogil:
    """Write the squared distance of `point` to each lane of a panel."""
    mercer_square_lanes(&panels[panel, 0, 0], &point[0], panels.shape[1], panels.shape[2], &out[0])


cdef inline int lower(double[::1] keys, Py_ssize_t start, const double[::1] values, double bound) noexcept nogil:
    """Lower the keys from `start` on to `values`; whether one is below `bound` then."""
    return mercer_lower_lanes(&keys[start], &values[0], values.shape[0], bound)


cdef inline int cheaper(const double[::1] values, const double[::1] sizes, Py_ssize_t start, double size,
                        double bound) noexcept nogil:
    """Whether a value times the share of its size, from `start` on, and of `size` may be below `bound`."""
    return mercer_cheaper_lanes(&values[0], &sizes[start], values.shape[0], size, bound)


cdef inline void find_nearest(const double[:, ::1] panel, const double[:, ::1] points, int32_t[::1] nearest,
                              double[::1] least, double[::1] second) noexcept nogil:
    """Write the nearest of `points` to each lane, among equals the lowest, and the two least squared distances."""
    mercer_find_nearest(&panel[0, 0], &points[0, 0], points.shape[0], points.shape[1], panel.shape[1], &nearest[0],
                        &least[0], &second[0])
