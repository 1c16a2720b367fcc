# Dot products in registers, and Gaussians of floats; row_dots.h and gaussian.h say how. row_dots.py is the uncompiled
# twin.

from libc.math cimport sqrt, sqrtf

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #if defined(__AVX512F__)
        #define DOT_BYTES 64
        #define DOT_ROWS 8
    #elif defined(__AVX2__)
        #define DOT_BYTES 32
        #define DOT_ROWS 4
    #else
        #define DOT_BYTES 16
        #define DOT_ROWS 4
    #endif

    /* Only these functions may fuse: the elementary ones have the same bits at every CPU level. */
    #if defined(__clang__)
        #define DOT_FUSED __attribute__((noinline))
        #define DOT_PRAGMA _Pragma("clang fp contract(fast)")
    #elif defined(__GNUC__)
        #define DOT_FUSED __attribute__((noinline, optimize("O3", "fp-contract=fast")))
        #define DOT_PRAGMA
    #else
        #define DOT_FUSED
        #define DOT_PRAGMA
    #endif
    #if defined(__GNUC__)
        #define EACH_DOT _Pragma("GCC unroll 8") for
    #else
        #define EACH_DOT for
    #endif

    #define REAL double
    #define NAME(name) mercer_double_##name
    #include "row_dots.h"
    #undef REAL
    #undef NAME

    #define REAL float
    #define NAME(name) mercer_float_##name
    #include "row_dots.h"
    #undef REAL
    #undef NAME
    #include "gaussian.h"
    """
    void mercer_double_row_dots(const double *left, Py_ssize_t d, const double *panels, Py_ssize_t count, double *out,
                                Py_ssize_t stride) noexcept nogil
    void mercer_float_row_dots(const float *left, Py_ssize_t d, const float *panels, Py_ssize_t count, float *out,
                               Py_ssize_t stride) noexcept nogil
    void mercer_float_gaussian(float square, const float *others, const float *dots, float rate, float factor,
                               Py_ssize_t count, float *out) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline void multiply(const real[:, ::1] left, Py_ssize_t first, const real[:, :, ::1] panels, Py_ssize_t begin,
                          Py_ssize_t end, real[:, ::1] out) noexcept nogil:
    """Write the dot products of eight rows, from row `first` on, with the panels `begin` to `end` to the same rows of `out`."""
    if real is float:
        mercer_float_row_dots(&left[first, 0], left.shape[1], &panels[begin, 0, 0], end - begin, &out[first, 0],
                              out.shape[1])
    else:
        mercer_double_row_dots(&left[first, 0], left.shape[1], &panels[begin, 0, 0], end - begin, &out[first, 0],
                               out.shape[1])


cdef inline real root(real x) noexcept nogil:
    if real is float:
        return sqrtf(x)
    else:
        return sqrt(x)


cdef inline void gaussian(float square, const float[::1] others, const float[::1] dots, double rate, double factor,
                          float[::1] out) noexcept nogil:
    """Write factor 2^(rate s) for each squared distance s; `dots` is read up to the end of a panel."""
    mercer_float_gaussian(square, &others[0], &dots[0], rate, factor, out.shape[0], &out[0])
