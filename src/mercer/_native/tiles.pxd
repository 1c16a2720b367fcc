# Nearest centres of a block of rows; tiles.h says how. tiles.py is the uncompiled twin.

from libc.stdint cimport int32_t

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    /* Rows and panels scored at once: their sums, one row of panels and one feature fill the registers there are. */
    #if defined(__AVX512F__)
        #define REGISTER_BYTES 64
        #define MOST_ROWS 6
        #define MOST_PANELS 4
    #elif defined(__AVX2__)
        #define REGISTER_BYTES 32
        #define MOST_ROWS 6
        #define MOST_PANELS 2
    #else
        #define REGISTER_BYTES 16
        #define MOST_ROWS 6
        #define MOST_PANELS 2
    #endif
    #define TILE 48

    #if defined(__GNUC__)
        #define ALWAYS_INLINE inline __attribute__((always_inline))
        #define NEVER_INLINE __attribute__((noinline))
        #define UNROLLED _Pragma("GCC unroll 8")
    #else
        #define ALWAYS_INLINE inline
        #define NEVER_INLINE
        #define UNROLLED
    #endif

    #define REAL double
    #define INDEX int64_t
    #define INDEX_MAX INT64_MAX
    #define NAME(name) mercer_double_##name
    #include "tiles.h"
    #undef REAL
    #undef INDEX
    #undef INDEX_MAX
    #undef NAME

    #define REAL float
    #define INDEX int32_t
    #define INDEX_MAX INT32_MAX
    #define NAME(name) mercer_float_##name
    #include "tiles.h"
    #undef REAL
    #undef INDEX
    #undef INDEX_MAX
    #undef NAME
    """
    Py_ssize_t mercer_double_packed_size(Py_ssize_t k, Py_ssize_t d) noexcept nogil
    void mercer_double_pack(const double *centres, const double *offset, Py_ssize_t k, Py_ssize_t d,
                            double *packed) noexcept nogil
    void mercer_double_nearest(const double *x, Py_ssize_t n, Py_ssize_t d, const double *packed, Py_ssize_t k,
                               int32_t *label, double *result) noexcept nogil
    Py_ssize_t mercer_float_packed_size(Py_ssize_t k, Py_ssize_t d) noexcept nogil
    void mercer_float_pack(const float *centres, const float *offset, Py_ssize_t k, Py_ssize_t d,
                           float *packed) noexcept nogil
    void mercer_float_nearest(const float *x, Py_ssize_t n, Py_ssize_t d, const float *packed, Py_ssize_t k,
                              int32_t *label, float *result) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t packed_size(Py_ssize_t k, Py_ssize_t d) noexcept nogil:
    """Length of the array that `pack` fills for k centres of d features, of either type."""
    return max(mercer_float_packed_size(k, d), mercer_double_packed_size(k, d))


cdef inline void pack(const real[:, ::1] centres, const real[::1] offset, real[::1] packed) noexcept nogil:
    """Lay out the centres, and what to subtract their products from, for `nearest`."""
    cdef const real *first = NULL
    if centres.shape[1] > 0:
        first = &centres[0, 0]
    if real is float:
        mercer_float_pack(first, &offset[0], centres.shape[0], centres.shape[1], &packed[0])
    else:
        mercer_double_pack(first, &offset[0], centres.shape[0], centres.shape[1], &packed[0])


cdef inline void nearest(
    const real[:, ::1] X, const real[::1] packed, Py_ssize_t k, int32_t[::1] label, real[::1] least
) noexcept nogil:
    """Write the least offset[j] - x . centres[j] over j, and its lowest j, for each row x of `X`."""
    cdef const real *first = NULL
    if X.shape[0] == 0:
        return
    if X.shape[1] > 0:
        first = &X[0, 0]
    if real is float:
        mercer_float_nearest(first, X.shape[0], X.shape[1], &packed[0], k, &label[0], &least[0])
    else:
        mercer_double_nearest(first, X.shape[0], X.shape[1], &packed[0], k, &label[0], &least[0])
