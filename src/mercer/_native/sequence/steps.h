/* One step of a chain: a vector of states times a matrix, and what goes with it.

   The number of lanes is the number of states rounded up to a multiple of LANES; lanes beyond the states hold zeros (or
   minus infinity in log space). Every lane is summed over the states in one fixed order, so that the bits do not depend
   on the width of the registers: two sums, over even and odd states, shorten the chain of dependent additions. */

#if defined(__GNUC__) && defined(__SSE2__)
    #include <immintrin.h>
#endif

#define LANES 8

#if defined(__GNUC__)
    typedef double mercer_eight __attribute__((vector_size(64)));
#else
    typedef struct { double at[LANES]; } mercer_eight;
#endif

#if defined(__GNUC__)
static inline mercer_eight mercer_load(const double *x)
{
    mercer_eight v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void mercer_store(double *x, mercer_eight v)
{
    memcpy(x, &v, sizeof v);
}

static inline double mercer_fold(mercer_eight v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
#endif

/* out = x^T matrix, where matrix has `states` rows of `lanes` entries. */
static inline void mercer_advance(const double *x, const double *matrix, Py_ssize_t states, Py_ssize_t lanes, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES) {
        const double *column = matrix + lane;
        Py_ssize_t state = 0;
#if defined(__GNUC__)
        mercer_eight even = {0}, odd = {0};
        for (; state + 1 < states; state += 2) {
            even += x[state] * mercer_load(column + state * lanes);
            odd += x[state + 1] * mercer_load(column + (state + 1) * lanes);
        }
        if (state < states) even += x[state] * mercer_load(column + state * lanes);
        mercer_store(out + lane, even + odd);
#else
        double even[LANES] = {0}, odd[LANES] = {0};
        for (; state + 1 < states; state += 2)
            for (int l = 0; l < LANES; l++) {
                even[l] += x[state] * column[state * lanes + l];
                odd[l] += x[state + 1] * column[(state + 1) * lanes + l];
            }
        if (state < states)
            for (int l = 0; l < LANES; l++) even[l] += x[state] * column[state * lanes + l];
        for (int l = 0; l < LANES; l++) out[lane + l] = even[l] + odd[l];
#endif
    }
}

/* out = x y / (sum of x y), entry by entry; return the sum. Where it is zero, `out` is not finite. */
static inline double mercer_condition(const double *x, const double *y, Py_ssize_t lanes, double *out)
{
#if defined(__GNUC__)
    mercer_eight sum = {0};
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES) {
        mercer_eight product = mercer_load(x + lane) * mercer_load(y + lane);
        mercer_store(out + lane, product);
        sum += product;
    }
    double total = mercer_fold(sum), factor = 1.0 / total;
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES) mercer_store(out + lane, mercer_load(out + lane) * factor);
#else
    double sum[LANES] = {0};
    for (Py_ssize_t lane = 0; lane < lanes; lane++) {
        out[lane] = x[lane] * y[lane];
        sum[lane % LANES] += out[lane];
    }
    double total = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
    double factor = 1.0 / total;
    for (Py_ssize_t lane = 0; lane < lanes; lane++) out[lane] *= factor;
#endif
    return total;
}

/* Two registers of states at once: with at most 16 states everything but the vector x stays in registers. */
#if defined(__GNUC__)
static inline double mercer_step_sixteen(const double *x, const double *matrix, const double *factor, Py_ssize_t states,
                                         double *between, double *out)
{
    mercer_eight even[2] = {{0}, {0}}, odd[2] = {{0}, {0}};
    Py_ssize_t state = 0;
    for (; state + 1 < states; state += 2) {
        const double *row = matrix + 16 * state;
        even[0] += x[state] * mercer_load(row);
        even[1] += x[state] * mercer_load(row + 8);
        odd[0] += x[state + 1] * mercer_load(row + 16);
        odd[1] += x[state + 1] * mercer_load(row + 24);
    }
    if (state < states) {
        even[0] += x[state] * mercer_load(matrix + 16 * state);
        even[1] += x[state] * mercer_load(matrix + 16 * state + 8);
    }
    even[0] += odd[0];
    even[1] += odd[1];
    mercer_store(between, even[0]);
    mercer_store(between + 8, even[1]);
    even[0] *= mercer_load(factor);
    even[1] *= mercer_load(factor + 8);
    double total = mercer_fold(even[0] + even[1]), scale = 1.0 / total;
    mercer_store(out, even[0] * scale);
    mercer_store(out + 8, even[1] * scale);
    return total;
}

static inline double mercer_step_eight(const double *x, const double *matrix, const double *factor, Py_ssize_t states,
                                       double *between, double *out)
{
    mercer_eight even = {0}, odd = {0};
    Py_ssize_t state = 0;
    for (; state + 1 < states; state += 2) {
        even += x[state] * mercer_load(matrix + 8 * state);
        odd += x[state + 1] * mercer_load(matrix + 8 * state + 8);
    }
    if (state < states) even += x[state] * mercer_load(matrix + 8 * state);
    even += odd;
    mercer_store(between, even);
    even *= mercer_load(factor);
    double total = mercer_fold(even), scale = 1.0 / total;
    mercer_store(out, even * scale);
    return total;
}
#endif

/* between = x^T matrix; out = between factor / (their sum), which is returned. */
static inline double mercer_step(const double *x, const double *matrix, const double *factor, Py_ssize_t states,
                                 Py_ssize_t lanes, double *between, double *out)
{
#if defined(__GNUC__)
    if (lanes == 8) return mercer_step_eight(x, matrix, factor, states, between, out);
    if (lanes == 16) return mercer_step_sixteen(x, matrix, factor, states, between, out);
#endif
    mercer_advance(x, matrix, states, lanes, between);
    return mercer_condition(between, factor, lanes, out);
}

/* out = x / y, and zero where y is below `least`: such states cannot be reached. */
static inline void mercer_divide(const double *x, const double *y, Py_ssize_t lanes, double least, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane++) {
        double divisor = y[lane];
        double ratio = x[lane] / (divisor < least ? 1.0 : divisor);
        out[lane] = divisor < least ? 0.0 : ratio;
    }
}

/* The larger of each pair of lanes, and the largest lane of a row. */
#if defined(__GNUC__) && (defined(__AVX512F__) || defined(__SSE2__))
static inline mercer_eight mercer_larger(mercer_eight x, mercer_eight y)
{
#if defined(__AVX512F__)
    return (mercer_eight)_mm512_max_pd((__m512d)x, (__m512d)y);
#elif defined(__AVX__)
    __m256d a[2], b[2];
    memcpy(a, &x, sizeof a);
    memcpy(b, &y, sizeof b);
    for (int i = 0; i < 2; i++) a[i] = _mm256_max_pd(a[i], b[i]);
    memcpy(&x, a, sizeof a);
    return x;
#else
    __m128d a[4], b[4];
    memcpy(a, &x, sizeof a);
    memcpy(b, &y, sizeof b);
    for (int i = 0; i < 4; i++) a[i] = _mm_max_pd(a[i], b[i]);
    memcpy(&x, a, sizeof a);
    return x;
#endif
}
#elif defined(__GNUC__)
static inline mercer_eight mercer_larger(mercer_eight x, mercer_eight y)
{
    for (int l = 0; l < LANES; l++) x[l] = x[l] > y[l] ? x[l] : y[l];
    return x;
}
#endif

static inline double mercer_top(const double *x, Py_ssize_t lanes)
{
    double top = x[0];
#if defined(__GNUC__)
    mercer_eight most = mercer_load(x);
    for (Py_ssize_t lane = LANES; lane < lanes; lane += LANES) most = mercer_larger(mercer_load(x + lane), most);
    for (int l = 0; l < LANES; l++) top = most[l] > top ? most[l] : top;
#else
    for (Py_ssize_t lane = 1; lane < lanes; lane++) top = x[lane] > top ? x[lane] : top;
#endif
    return top;
}

/* x += value in every lane. */
static inline void mercer_shift(double *x, double value, Py_ssize_t lanes)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES)
        for (int l = 0; l < LANES; l++) x[lane + l] += value;
}

/* out = add + largest over states of x[state] + matrix[state]. */
static inline void mercer_best(const double *x, const double *matrix, const double *add, Py_ssize_t states,
                               Py_ssize_t lanes, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES) {
        const double *column = matrix + lane;
#if defined(__GNUC__)
        mercer_eight most = x[0] + mercer_load(column);
        for (Py_ssize_t state = 1; state < states; state++)
            most = mercer_larger(x[state] + mercer_load(column + state * lanes), most);
        mercer_store(out + lane, most + mercer_load(add + lane));
#else
        for (int l = 0; l < LANES; l++) {
            double most = x[0] + column[l];
            for (Py_ssize_t state = 1; state < states; state++) {
                double score = x[state] + column[state * lanes + l];
                most = score > most ? score : most;
            }
            out[lane + l] = most + add[lane + l];
        }
#endif
    }
}
