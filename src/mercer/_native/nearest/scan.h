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

/* Squared distances from x to four rows, each summed in the order of columns. Where the compiler has vectors, squares of
   four columns are transposed, so that one addition serves four rows and no sum is reordered. */
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
typedef double mercer_four __attribute__((vector_size(32)));
typedef float mercer_four_single __attribute__((vector_size(16)));

static inline mercer_four mercer_load_double(const double *place)
{
    mercer_four values;
    memcpy(&values, place, sizeof values);
    return values;
}

static inline mercer_four mercer_load_float(const float *place)
{
    mercer_four_single values;
    memcpy(&values, place, sizeof values);
    return __builtin_convertvector(values, mercer_four);
}

#define MEASURE_STRETCH(REAL)                                                                                      \
    mercer_four total = {0.0, 0.0, 0.0, 0.0};                                                                      \
    for (; j + 4 <= d; j += 4) {                                                                                   \
        const mercer_four value = mercer_load_double(x + j);                                                       \
        mercer_four p = mercer_load_##REAL(a + j) - value, q = mercer_load_##REAL(b + j) - value;                  \
        mercer_four r = mercer_load_##REAL(c + j) - value, s = mercer_load_##REAL(e + j) - value;                  \
        p *= p, q *= q, r *= r, s *= s;                                                                            \
        const mercer_four even = __builtin_shufflevector(p, q, 0, 4, 2, 6);                                        \
        const mercer_four odd = __builtin_shufflevector(p, q, 1, 5, 3, 7);                                         \
        const mercer_four other_even = __builtin_shufflevector(r, s, 0, 4, 2, 6);                                  \
        const mercer_four other_odd = __builtin_shufflevector(r, s, 1, 5, 3, 7);                                   \
        total += __builtin_shufflevector(even, other_even, 0, 1, 4, 5);                                            \
        total += __builtin_shufflevector(odd, other_odd, 0, 1, 4, 5);                                              \
        total += __builtin_shufflevector(even, other_even, 2, 3, 6, 7);                                            \
        total += __builtin_shufflevector(odd, other_odd, 2, 3, 6, 7);                                              \
    }                                                                                                              \
    memcpy(totals, &total, sizeof total);
#else
#define MEASURE_STRETCH(REAL)
#endif

#define DEFINE_MEASURE_FOUR(REAL)                                                                                  \
static inline void mercer_measure_four_##REAL(const REAL *a, const REAL *b, const REAL *c, const REAL *e,          \
                                              const double *x, Py_ssize_t d, double *totals)                       \
{                                                                                                                  \
    Py_ssize_t j = 0;                                                                                              \
    totals[0] = totals[1] = totals[2] = totals[3] = 0.0;                                                           \
    MEASURE_STRETCH(REAL)                                                                                          \
    for (; j < d; j++) {                                                                                           \
        const double p = a[j] - x[j], q = b[j] - x[j], r = c[j] - x[j], s = e[j] - x[j];                           \
        totals[0] += p * p;                                                                                        \
        totals[1] += q * q;                                                                                        \
        totals[2] += r * r;                                                                                        \
        totals[3] += s * s;                                                                                        \
    }                                                                                                              \
}
DEFINE_MEASURE_FOUR(double)
DEFINE_MEASURE_FOUR(float)
