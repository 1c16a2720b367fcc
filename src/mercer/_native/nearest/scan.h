/* Scores of a group of queries against a panel of rows, compared with a limit per query: the inner loop of the search for
   nearest rows by all distances.

   The score of query x and row y is |y|^2 / 2 - x . y, in float32: half of |x - y|^2, less |x|^2 / 2. A panel holds column
   j of its rows in one line, and half of their squared norms in the line after the last column. Registers hold the scores
   of some lanes for all queries of the group, so that no score is ever written to memory: a lane below the limit becomes
   a bit. Products may be fused with sums, so scores differ between CPU levels; limits allow for their rounding. */

#include <stdint.h>
#include <string.h>

#define PANEL 64
#define GROUP 6

#if defined(__AVX512F__)
    #include <immintrin.h>
    typedef __m512 mercer_scan_line;
    #define WIDE 16
    #define PARTS 4
    #define MULTIPLY_ADD(a, b, c) _mm512_fmadd_ps(a, b, c)
    #define LOAD(place) _mm512_loadu_ps(place)
    #define SPREAD(value) _mm512_set1_ps(value)
    #define BELOW(line, limit) ((uint64_t)_mm512_cmp_ps_mask(line, limit, _CMP_LT_OQ))
#elif defined(__AVX2__) && defined(__FMA__)
    #include <immintrin.h>
    typedef __m256 mercer_scan_line;
    #define WIDE 8
    #define PARTS 2
    #define MULTIPLY_ADD(a, b, c) _mm256_fmadd_ps(a, b, c)
    #define LOAD(place) _mm256_loadu_ps(place)
    #define SPREAD(value) _mm256_set1_ps(value)
    #define BELOW(line, limit) ((uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(line, limit, _CMP_LT_OQ)))
#elif defined(__SSE2__)
    #include <emmintrin.h>
    typedef __m128 mercer_scan_line;
    #define WIDE 4
    #define PARTS 2
    #define MULTIPLY_ADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
    #define LOAD(place) _mm_loadu_ps(place)
    #define SPREAD(value) _mm_set1_ps(value)
    #define BELOW(line, limit) ((uint64_t)(unsigned)_mm_movemask_ps(_mm_cmplt_ps(line, limit)))
#elif defined(__GNUC__)
    typedef float mercer_scan_line __attribute__((vector_size(16)));
    #define WIDE 4
    #define PARTS 2
    #define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
    static inline mercer_scan_line LOAD(const float *place)
    {
        mercer_scan_line line;
        memcpy(&line, place, sizeof line);
        return line;
    }
    static inline mercer_scan_line SPREAD(float value)
    {
        const mercer_scan_line line = {value, value, value, value};
        return line;
    }
    static inline uint64_t BELOW(mercer_scan_line line, mercer_scan_line limit)
    {
        uint64_t bits = 0;
        for (int j = 0; j < WIDE; j++) bits |= (uint64_t)(line[j] < limit[j]) << j;
        return bits;
    }
#else
    typedef float mercer_scan_line;
    #define WIDE 1
    #define PARTS 4
    #define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
    #define LOAD(place) (*(place))
    #define SPREAD(value) (value)
    #define BELOW(line, limit) ((uint64_t)((line) < (limit)))
#endif

#if defined(__GNUC__)
    #define UNROLL _Pragma("GCC unroll 8")
    #define lowest_bit(bits) __builtin_ctzll(bits)
#else
    #define UNROLL
    static inline int lowest_bit(uint64_t bits)
    {
        int place = 0;
        while (!(bits & 1)) { bits >>= 1; place++; }
        return place;
    }
#endif

/* Sets bit j of hits[q] where row j of the panel scores below limits[q]; `queries` is (d, GROUP), negated. */
static inline void mercer_scan_panel(const float *panel, const float *queries, Py_ssize_t d, const float *limits,
                                     uint64_t *hits)
{
    for (int q = 0; q < GROUP; q++) hits[q] = 0;
    for (int first = 0; first < PANEL; first += PARTS * WIDE) {
        mercer_scan_line sums[GROUP][PARTS];
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            const mercer_scan_line halves = LOAD(panel + d * PANEL + first + part * WIDE);
            UNROLL
            for (int q = 0; q < GROUP; q++) sums[q][part] = halves;
        }
        for (Py_ssize_t j = 0; j < d; j++) {
            mercer_scan_line lines[PARTS];
            UNROLL
            for (int part = 0; part < PARTS; part++) lines[part] = LOAD(panel + j * PANEL + first + part * WIDE);
            UNROLL
            for (int q = 0; q < GROUP; q++) {
                const mercer_scan_line value = SPREAD(queries[j * GROUP + q]);
                UNROLL
                for (int part = 0; part < PARTS; part++) sums[q][part] = MULTIPLY_ADD(lines[part], value, sums[q][part]);
            }
        }
        UNROLL
        for (int q = 0; q < GROUP; q++) {
            const mercer_scan_line limit = SPREAD(limits[q]);
            UNROLL
            for (int part = 0; part < PARTS; part++) hits[q] |= BELOW(sums[q][part], limit) << (first + part * WIDE);
        }
    }
}
