/* Rounded rows against rounded queries: which pairs may be near, by sums of products of bytes.

   A panel holds 64 rows, four columns of a row side by side in one word: step s of a panel is columns 4 s to 4 s + 3 of
   all its rows, each value plus 128 so that it is not negative. `starts` holds a number per row. The value of query x
   and row y is starts[y] + sum (y_j + 128) x_j, in int32, exactly; a value of at least the query's limit becomes a bit.

   With the instruction vpdpbusd (AVX-512 VNNI), 64 products take one operation, four times as many as in float32. It is
   not part of any CPU level, so that the CPU is asked at run time. */

#include <stdint.h>
#include <string.h>

#define BYTE_PANEL 64
#define BYTE_GROUP 6

#if defined(__GNUC__) && defined(__AVX512BW__)
    #include <immintrin.h>
    #define MERCER_HAS_BYTE_PRODUCTS 1
#else
    #define MERCER_HAS_BYTE_PRODUCTS 0
#endif

/* Whether this CPU multiplies bytes faster than float32 numbers, and this module was compiled to use that. */
static inline int mercer_bytes_are_fast(void)
{
#if MERCER_HAS_BYTE_PRODUCTS
    return __builtin_cpu_supports("avx512vnni") != 0;
#else
    return 0;
#endif
}

#if MERCER_HAS_BYTE_PRODUCTS
/* Adds products of four bytes in each of 16 lanes. With the intrinsic, GCC 12 writes all sums to memory in every step. */
#define BYTE_PRODUCTS(sum, line, values) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(line), "v"(values))
#define BYTE_SUMS(q) __m512i sum##q##0 = start0, sum##q##1 = start1, sum##q##2 = start2, sum##q##3 = start3
#define BYTE_ADD(q)                                                                       \
    memcpy(&word, place + 4 * q, sizeof word);                                            \
    values = _mm512_set1_epi32(word);                                                     \
    BYTE_PRODUCTS(sum##q##0, line0, values);                                              \
    BYTE_PRODUCTS(sum##q##1, line1, values);                                              \
    BYTE_PRODUCTS(sum##q##2, line2, values);                                              \
    BYTE_PRODUCTS(sum##q##3, line3, values)
#define BYTE_HITS(q)                                                                      \
    limit = _mm512_set1_epi32(limits[q]);                                                 \
    low = _mm512_kunpackw(_mm512_cmpge_epi32_mask(sum##q##1, limit),                      \
                          _mm512_cmpge_epi32_mask(sum##q##0, limit));                     \
    high = _mm512_kunpackw(_mm512_cmpge_epi32_mask(sum##q##3, limit),                     \
                           _mm512_cmpge_epi32_mask(sum##q##2, limit));                    \
    hits[q] = (uint64_t)_mm512_kunpackd(high, low);                                       \
    any |= hits[q]

/* Sums of a group stay in 24 registers; the four lines of a step are read once for its six queries. */
__attribute__((target("avx512f,avx512bw,avx512vnni")))
static int mercer_scan_bytes_fast(const uint8_t *panel, const int32_t *starts, const int8_t *queries, Py_ssize_t steps,
                                  const int32_t *limits, uint64_t *hits)
{
    const __m512i start0 = _mm512_loadu_si512(starts), start1 = _mm512_loadu_si512(starts + 16);
    const __m512i start2 = _mm512_loadu_si512(starts + 32), start3 = _mm512_loadu_si512(starts + 48);
    BYTE_SUMS(0); BYTE_SUMS(1); BYTE_SUMS(2); BYTE_SUMS(3); BYTE_SUMS(4); BYTE_SUMS(5);
    for (Py_ssize_t step = 0; step < steps; step++) {
        const uint8_t *lines = panel + step * BYTE_PANEL * 4;
        const int8_t *place = queries + step * BYTE_GROUP * 4;
        const __m512i line0 = _mm512_loadu_si512(lines), line1 = _mm512_loadu_si512(lines + 64);
        const __m512i line2 = _mm512_loadu_si512(lines + 128), line3 = _mm512_loadu_si512(lines + 192);
        __m512i values;
        int32_t word;
        BYTE_ADD(0); BYTE_ADD(1); BYTE_ADD(2); BYTE_ADD(3); BYTE_ADD(4); BYTE_ADD(5);
    }
    __m512i limit;
    __mmask32 low, high;
    uint64_t any = 0;
    BYTE_HITS(0); BYTE_HITS(1); BYTE_HITS(2); BYTE_HITS(3); BYTE_HITS(4); BYTE_HITS(5);
    return any != 0;
}
#endif

/* The same by plain operations, for tests of other CPUs. */
static int mercer_scan_bytes_plain(const uint8_t *panel, const int32_t *starts, const int8_t *queries, Py_ssize_t steps,
                                   const int32_t *limits, uint64_t *hits)
{
    uint64_t any = 0;
    for (int q = 0; q < BYTE_GROUP; q++) {
        hits[q] = 0;
        for (int lane = 0; lane < BYTE_PANEL; lane++) {
            int32_t sum = starts[lane];
            for (Py_ssize_t step = 0; step < steps; step++)
                for (int j = 0; j < 4; j++)
                    sum += (int32_t)panel[(step * BYTE_PANEL + lane) * 4 + j] * queries[(step * BYTE_GROUP + q) * 4 + j];
            hits[q] |= (uint64_t)(sum >= limits[q]) << lane;
        }
        any |= hits[q];
    }
    return any != 0;
}

/* Sets bit j of hits[q] where the value of query q of a group and row j of the panel reaches limits[q]; returns whether
   any bit is set. `queries` is (steps, BYTE_GROUP, 4). */
static inline int mercer_scan_bytes(const uint8_t *panel, const int32_t *starts, const int8_t *queries, Py_ssize_t steps,
                                    const int32_t *limits, uint64_t *hits, int fast)
{
#if MERCER_HAS_BYTE_PRODUCTS
    if (fast) return mercer_scan_bytes_fast(panel, starts, queries, steps, limits, hits);
#endif
    return mercer_scan_bytes_plain(panel, starts, queries, steps, limits, hits);
}

/* Asks for memory that is read soon. */
static inline void mercer_prefetch(const char *place, Py_ssize_t size)
{
#if defined(__GNUC__)
    for (Py_ssize_t line = 0; line < size; line += 64) __builtin_prefetch(place + line);
    __builtin_prefetch(place + size - 1);
#else
    (void)place;
    (void)size;
#endif
}
