/* Registers of doubles, as wide as this CPU level has them. Eight lanes make a block, of one, two or four registers;
   every lane is worked on alone, so that the bits do not depend on the width. */

#ifndef MERCER_PACKS_H
#define MERCER_PACKS_H

#include <string.h>
#if defined(__GNUC__) && defined(__SSE2__)
    #include <immintrin.h>
#endif

#if defined(__AVX512F__)
    #define PACK_BYTES 64
#elif defined(__AVX__)
    #define PACK_BYTES 32
#else
    #define PACK_BYTES 16
#endif

#if defined(__GNUC__)
typedef double mercer_pack __attribute__((vector_size(PACK_BYTES)));
    #define PACK (PACK_BYTES / 8)
    #define EACH_PACK _Pragma("GCC unroll 8") for
    #define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
typedef double mercer_pack;
    #define PACK 1
    #define EACH_PACK for
    #define ALWAYS_INLINE static inline
#endif
/* Lanes of a block, and the registers that they take. */
#define LANES 8
#define PACKS (LANES / PACK)

ALWAYS_INLINE mercer_pack mercer_load(const double *x)
{
    mercer_pack v;
    memcpy(&v, x, sizeof v);
    return v;
}

ALWAYS_INLINE void mercer_store(double *x, mercer_pack v)
{
    memcpy(x, &v, sizeof v);
}

ALWAYS_INLINE mercer_pack mercer_zero(void)
{
    mercer_pack v;
    memset(&v, 0, sizeof v);
    return v;
}

/* The sum of a block in one order at every level: ((v0 + v4) + (v2 + v6)) + ((v1 + v5) + (v3 + v7)). */
ALWAYS_INLINE double mercer_fold(const mercer_pack *block)
{
#if defined(__GNUC__) && defined(__AVX__)
    #if defined(__AVX512F__)
    __m256d four = _mm512_castpd512_pd256((__m512d)block[0]) + _mm512_extractf64x4_pd((__m512d)block[0], 1);
    #else
    __m256d four = (__m256d)(block[0] + block[1]);
    #endif
    __m128d two = _mm256_castpd256_pd128(four) + _mm256_extractf128_pd(four, 1);
    return two[0] + two[1];
#else
    double v[LANES];
    EACH_PACK (int r = 0; r < PACKS; r++) mercer_store(v + r * PACK, block[r]);
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}

/* The larger of each pair of lanes. */
ALWAYS_INLINE mercer_pack mercer_larger(mercer_pack x, mercer_pack y)
{
#if defined(__GNUC__) && defined(__AVX512F__)
    return (mercer_pack)_mm512_max_pd((__m512d)x, (__m512d)y);
#elif defined(__GNUC__) && defined(__AVX__)
    return (mercer_pack)_mm256_max_pd((__m256d)x, (__m256d)y);
#elif defined(__GNUC__) && defined(__SSE2__)
    return (mercer_pack)_mm_max_pd((__m128d)x, (__m128d)y);
#elif defined(__GNUC__)
    for (int l = 0; l < PACK; l++) x[l] = x[l] > y[l] ? x[l] : y[l];
    return x;
#else
    return x > y ? x : y;
#endif
}

#endif
