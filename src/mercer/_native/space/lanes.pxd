# One point against a panel of points; lanes.h says how. lanes.py is the uncompiled twin.

cdef extern from *:
    """
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
