# Transposition of 4 x 4 values; turns.h says how. turns.py is the uncompiled twin.

cdef extern from *:
    """
    #include <string.h>
    #define REAL double
    #define NAME(name) mercer_double_##name
    #include "turns.h"
    #undef REAL
    #undef NAME
    #define REAL float
    #define NAME(name) mercer_float_##name
    #include "turns.h"
    #undef REAL
    #undef NAME
    """
    void mercer_double_turn(const double *rows, Py_ssize_t stride, double *out, Py_ssize_t step) noexcept nogil
    void mercer_float_turn(const float *rows, Py_ssize_t stride, float *out, Py_ssize_t step) noexcept nogil


ctypedef fused real:
    float
    double


cdef inline void turn(
    const real[:, ::1] columns, Py_ssize_t j, Py_ssize_t at, real[:, ::1] rows, Py_ssize_t i
) noexcept nogil:
    """Write four values from `at` on of four columns from `j` on to four rows from `i` on."""
    if real is double:
        mercer_double_turn(&columns[j, at], columns.shape[1], &rows[i, j], rows.shape[1])
    else:
        mercer_float_turn(&columns[j, at], columns.shape[1], &rows[i, j], rows.shape[1])
