# One step of a chain of states; steps.h says how. steps.py is the uncompiled twin.

cdef extern from *:
    """
    #include "steps.h"
    """
    void mercer_advance(const double *x, const double *matrix, Py_ssize_t states, Py_ssize_t lanes, double *out) noexcept nogil
    double mercer_condition(const double *x, const double *y, Py_ssize_t lanes, double *out) noexcept nogil
    void mercer_divide(const double *x, const double *y, Py_ssize_t lanes, double least, double *out) noexcept nogil
    double mercer_top(const double *x, Py_ssize_t lanes) noexcept nogil
    void mercer_shift(double *x, double value, Py_ssize_t lanes) noexcept nogil
    void mercer_best(const double *x, const double *matrix, const double *add, Py_ssize_t states, Py_ssize_t lanes,
                     double *out) noexcept nogil
    double mercer_step(const double *x, const double *matrix, const double *factor, Py_ssize_t states, Py_ssize_t lanes,
                       double *between, double *out) noexcept nogil


cdef inline void advance(const double[::1] x, const double[:, ::1] matrix, double[::1] out) noexcept nogil:
    """Write x^T matrix to `out`."""
    mercer_advance(&x[0], &matrix[0, 0], matrix.shape[0], matrix.shape[1], &out[0])


cdef inline double condition(const double[::1] x, const double[::1] y, double[::1] out) noexcept nogil:
    """Write x y, divided by its sum, to `out`; return the sum."""
    return mercer_condition(&x[0], &y[0], out.shape[0], &out[0])


cdef inline void divide(const double[::1] x, const double[::1] y, double least, double[::1] out) noexcept nogil:
    """Write x / y to `out`, and zero where y is below `least`."""
    mercer_divide(&x[0], &y[0], out.shape[0], least, &out[0])


cdef inline double top(const double[::1] x) noexcept nogil:
    """Return the largest entry."""
    return mercer_top(&x[0], x.shape[0])


cdef inline void shift(double[::1] x, double value) noexcept nogil:
    """Add `value` to every entry."""
    mercer_shift(&x[0], value, x.shape[0])


cdef inline void best(const double[::1] x, const double[:, ::1] matrix, const double[::1] add, double[::1] out) noexcept nogil:
    """Write the largest x[state] + matrix[state] of each lane, plus `add`, to `out`."""
    mercer_best(&x[0], &matrix[0, 0], &add[0], matrix.shape[0], matrix.shape[1], &out[0])


cdef inline double step(const double[::1] x, const double[:, ::1] matrix, const double[::1] factor, double[::1] between,
                        double[::1] out) noexcept nogil:
    """Write x^T matrix to `between`, and its product with `factor`, divided by its sum, to `out`; return the sum."""
    return mercer_step(&x[0], &matrix[0, 0], &factor[0], matrix.shape[0], matrix.shape[1], &between[0], &out[0])
