# The search for the pair of a step of descent; pairs.h says how. pairs.py is the uncompiled twin.

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #if defined(__AVX512F__)
        #define PAIR_BYTES 64
        #define PAIR_FIRST {0, 1, 2, 3, 4, 5, 6, 7}
    #elif defined(__AVX2__)
        #define PAIR_BYTES 32
        #define PAIR_FIRST {0, 1, 2, 3}
    #else
        #define PAIR_BYTES 16
        #define PAIR_FIRST {0, 1}
    #endif

    #if defined(__GNUC__)
        #define PAIR_LANES (PAIR_BYTES / 8)
        typedef double mercer_pair_values __attribute__((vector_size(PAIR_BYTES)));
        typedef int64_t mercer_pair_places __attribute__((vector_size(PAIR_BYTES)));
        typedef float mercer_float_pair_row __attribute__((vector_size(PAIR_BYTES / 2)));
        typedef double mercer_double_pair_row __attribute__((vector_size(PAIR_BYTES)));
        #define PAIR_NARROWED(values) __builtin_convertvector(values, mercer_float_pair_row)
        #if defined(__AVX512F__)
            /* Compilers widen half a register at a time. */
            #include <immintrin.h>
            #define PAIR_WIDENED(row) ((mercer_pair_values)_mm512_cvtps_pd((__m256)(row)))
        #else
            #define PAIR_WIDENED(row) __builtin_convertvector(row, mercer_pair_values)
        #endif
    #else
        #define PAIR_LANES 1
        typedef double mercer_pair_values;
        typedef int64_t mercer_pair_places;
    #endif
    #define PAIR_EITHER(condition, yes, no) (((condition) & (yes)) | (~(condition) & (no)))

    /* The greatest curvature that is told from others: what a float holds. */
    #define PAIR_STEEPEST 1e38

    #define REAL double
    #define NAME(name) mercer_double_pair_##name
    #define OF_ROW(row) (row)
    #include "pairs.h"
    #undef OF_ROW
    #undef REAL
    #undef NAME

    #define REAL float
    #define NAME(name) mercer_float_pair_##name
    #define OF_ROW(row) PAIR_WIDENED(row)
    #include "pairs.h"
    #undef OF_ROW
    #undef REAL
    #undef NAME
    """
    Py_ssize_t mercer_double_pair_update(const double *up, const double *down, double size, double *slope,
                                         const double *rise, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    Py_ssize_t mercer_float_pair_update(const float *up, const float *down, double size, double *slope,
                                        const double *rise, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    Py_ssize_t mercer_double_pair_partner(const double *row, const double *diagonal, const double *slope,
                                          const double *fall, double own, double least, double flat, Py_ssize_t first,
                                          Py_ssize_t last, double *best) noexcept nogil
    Py_ssize_t mercer_float_pair_partner(const float *row, const double *diagonal, const double *slope,
                                         const double *fall, double own, double least, double flat, Py_ssize_t first,
                                         Py_ssize_t last, double *best) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t update(const real[::1] up, const real[::1] down, double size, double[::1] slope,
                              const double[::1] rise, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Add size (up - down) to slopes from `first` to `last`; return where slope + rise is least there, -1 if nowhere."""
    if real is float:
        return mercer_float_pair_update(&up[0], &down[0], size, &slope[0], &rise[0], first, last)
    else:
        return mercer_double_pair_update(&up[0], &down[0], size, &slope[0], &rise[0], first, last)


cdef inline Py_ssize_t partner(const real[::1] row, const double[::1] diagonal, const double[::1] slope,
                               const double[::1] fall, double own, double least, double flat, Py_ssize_t first,
                               Py_ssize_t last, double[::1] best) noexcept nogil:
    """Return the partner of greatest promise, above best[0], of a coefficient of diagonal `own` and cost `least`, or -1;
    raise best[0] to its promise and best[1] to the largest gap."""
    if real is float:
        return mercer_float_pair_partner(&row[0], &diagonal[0], &slope[0], &fall[0], own, least, flat, first, last,
                                         &best[0])
    else:
        return mercer_double_pair_partner(&row[0], &diagonal[0], &slope[0], &fall[0], own, least, flat, first, last,
                                          &best[0])
