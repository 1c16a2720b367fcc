# Inline helpers of every native module: elementary functions and sums over rows.
#
# In a native module:
#     if cython.compiled:
#         from cython.cimports.mercer._native import inline
#     else:
#         from mercer._native import inline
# inline.py is the uncompiled twin, with the same arithmetic.

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #define REAL double
    #define WORD uint64_t
    #define NAME(name) mercer_double_##name
    #define MANTISSA 52
    #define BIAS 1023
    #define ROUNDER 6755399441055744.0
    #define ULP_ONE 4503599627370496.0
    #define WORD_OF_ULP_ONE 0x4330000000000000u
    #define WORD_OF_ONE 0x3ff0000000000000u
    #define WORD_OF_ROOT_HALF 0x3fe6a09e667f3bcdu
    #define MANTISSA_MASK 0x000fffffffffffffu
    #define SIGN_BIT 0x8000000000000000u
    #define LOG2_E 1.4426950408889634
    #define LN2_HIGH 0.6931471803691238
    #define LN2_LOW 1.9082149292705877e-10
    #define EXP_HIGHEST 710.0
    #define EXP_LOWEST -746.0
    #define EXPM1_LOWEST -40.0
    #define LARGEST 1.7976931348623157e308
    #define SMALLEST_NORMAL 2.2250738585072014e-308
    #define LIFT 18014398509481984.0
    #define LIFT_EXPONENT 54.0
    #define EXP_TAIL(r, z) (                                                                                       \
        (0.5 + z * (0.04166666666666667 + z * (0.0013888888888883748 + z * (2.4801587325547743e-05                 \
             + z * (2.75572736431103e-07 + z * 2.0914686968086876e-09)))))                                         \
        + r * (0.1666666666666667 + z * (0.008333333333326136 + z * (0.00019841269874820627                        \
             + z * (2.7557255400206422e-06 + z * 2.5105217004720745e-08)))))
    #define LOG_TAIL(z) (                                                                                          \
        0.666666666666667 + z * (0.39999999999899505 + z * (0.28571428625975487 + z * (0.2222221113479508          \
            + z * (0.18182889125261723 + z * (0.15331721600556042 + z * 0.14616449685043406))))))
    #include "elementary.h"
    #include "sums.h"
    #include "forget.h"

    #define REAL float
    #define WORD uint32_t
    #define NAME(name) mercer_float_##name
    #define MANTISSA 23
    #define BIAS 127
    #define ROUNDER 12582912.0f
    #define ULP_ONE 8388608.0f
    #define WORD_OF_ULP_ONE 0x4b000000u
    #define WORD_OF_ONE 0x3f800000u
    #define WORD_OF_ROOT_HALF 0x3f3504f3u
    #define MANTISSA_MASK 0x007fffffu
    #define SIGN_BIT 0x80000000u
    #define LOG2_E 1.4426950216293335f
    #define LN2_HIGH 0.693145751953125f
    #define LN2_LOW 1.428606765330187e-06f
    #define EXP_HIGHEST 89.0f
    #define EXP_LOWEST -104.0f
    #define EXPM1_LOWEST -20.0f
    #define LARGEST 3.4028234663852886e38f
    #define SMALLEST_NORMAL 1.1754943508222875e-38f
    #define LIFT 33554432.0f
    #define LIFT_EXPONENT 25.0f
    #define EXP_TAIL(r, z) (                                                                                       \
        (0.5f + z * (0.041666556149721146f + z * 0.0013926184037700295f))                                          \
        + r * (0.16666576266288757f + z * 0.008363178931176662f))
    #define LOG_TAIL(z) (                                                                                          \
        0.6666666865348816f + z * (0.4000012278556824f + z * (0.2855082154273987f + z * 0.2333046793937683f)))
    #include "elementary.h"
    #include "sums.h"
    #include "forget.h"

    /* A hint that some memory will be read soon; without compiler support, nothing. */
    #if defined(__GNUC__) || defined(__clang__)
    #define mercer_prefetch(place) __builtin_prefetch(place)
    #else
    #define mercer_prefetch(place) ((void)(place))
    #endif
    """
    void mercer_prefetch(const void *place) noexcept nogil
    double mercer_double_exp(double x) noexcept nogil
    double mercer_double_expm1(double x) noexcept nogil
    double mercer_double_log(double x) noexcept nogil
    double mercer_double_log1p(double x) noexcept nogil
    double mercer_double_tanh(double x) noexcept nogil
    double mercer_double_expit(double x) noexcept nogil
    double mercer_double_log1pexp(double x) noexcept nogil
    double mercer_double_sum(const double *x, Py_ssize_t n) noexcept nogil
    double mercer_double_dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil
    double mercer_double_squared_distance(const double *x, const double *y, Py_ssize_t n) noexcept nogil
    double mercer_double_logsumexp(const double *x, Py_ssize_t n) noexcept nogil
    float mercer_float_exp(float x) noexcept nogil
    float mercer_float_expm1(float x) noexcept nogil
    float mercer_float_log(float x) noexcept nogil
    float mercer_float_log1p(float x) noexcept nogil
    float mercer_float_tanh(float x) noexcept nogil
    float mercer_float_expit(float x) noexcept nogil
    float mercer_float_log1pexp(float x) noexcept nogil
    double mercer_float_sum(const float *x, Py_ssize_t n) noexcept nogil
    double mercer_float_dot(const float *x, const float *y, Py_ssize_t n) noexcept nogil
    double mercer_float_squared_distance(const float *x, const float *y, Py_ssize_t n) noexcept nogil
    double mercer_float_logsumexp(const float *x, Py_ssize_t n) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline real exp(real x) noexcept nogil:
    return mercer_float_exp(x) if real is float else mercer_double_exp(x)


cdef inline real expm1(real x) noexcept nogil:
    return mercer_float_expm1(x) if real is float else mercer_double_expm1(x)


cdef inline real log(real x) noexcept nogil:
    return mercer_float_log(x) if real is float else mercer_double_log(x)


cdef inline real log1p(real x) noexcept nogil:
    return mercer_float_log1p(x) if real is float else mercer_double_log1p(x)


cdef inline real tanh(real x) noexcept nogil:
    return mercer_float_tanh(x) if real is float else mercer_double_tanh(x)


cdef inline real expit(real x) noexcept nogil:
    return mercer_float_expit(x) if real is float else mercer_double_expit(x)


cdef inline real log1pexp(real x) noexcept nogil:
    return mercer_float_log1pexp(x) if real is float else mercer_double_log1pexp(x)


cdef inline double sum(const real[::1] x) noexcept nogil:
    if x.shape[0] == 0:
        return 0.0
    if real is float:
        return mercer_float_sum(&x[0], x.shape[0])
    else:
        return mercer_double_sum(&x[0], x.shape[0])


cdef inline double dot(const real[::1] x, const real[::1] y) noexcept nogil:
    if x.shape[0] == 0:
        return 0.0
    if real is float:
        return mercer_float_dot(&x[0], &y[0], x.shape[0])
    else:
        return mercer_double_dot(&x[0], &y[0], x.shape[0])


cdef inline double distance_squared(const real[::1] x, const real[::1] y) noexcept nogil:
    if x.shape[0] == 0:
        return 0.0
    if real is float:
        return mercer_float_squared_distance(&x[0], &y[0], x.shape[0])
    else:
        return mercer_double_squared_distance(&x[0], &y[0], x.shape[0])


cdef inline double logsumexp(const real[::1] x) noexcept nogil:
    if x.shape[0] == 0:
        return mercer_double_log(0.0)
    if real is float:
        return mercer_float_logsumexp(&x[0], x.shape[0])
    else:
        return mercer_double_logsumexp(&x[0], x.shape[0])


cdef inline void prefetch(const real[::1] x, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t j = first
    while j < last:
        mercer_prefetch(&x[j])
        # To the next cache line of 64 bytes.
        j += 16 if real is float else 8
