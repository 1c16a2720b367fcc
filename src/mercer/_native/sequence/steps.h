/* One step of a chain: a vector of states times a matrix, and what goes with it.

   The number of lanes is the number of states rounded up to a multiple of eight; lanes beyond the states hold zeros (or
   minus infinity in log space). Every lane is summed over the states in one fixed order: two sums, over even and odd
   states, shorten the chain of dependent additions. */

#include "packs.h"

/* out = x^T matrix for `packs` registers of lanes, where rows of the matrix are `lanes` apart. */
ALWAYS_INLINE void mercer_columns(const double *x, const double *matrix, Py_ssize_t states, Py_ssize_t lanes,
                                  const int packs, mercer_pack *out)
{
    mercer_pack even[8], odd[8];
    Py_ssize_t state = 0;
    EACH_PACK (int r = 0; r < packs; r++) even[r] = odd[r] = mercer_zero();
    for (; state + 1 < states; state += 2) {
        const double *row = matrix + state * lanes;
        EACH_PACK (int r = 0; r < packs; r++) {
            even[r] += x[state] * mercer_load(row + r * PACK);
            odd[r] += x[state + 1] * mercer_load(row + lanes + r * PACK);
        }
    }
    if (state < states) {
        const double *row = matrix + state * lanes;
        EACH_PACK (int r = 0; r < packs; r++) even[r] += x[state] * mercer_load(row + r * PACK);
    }
    EACH_PACK (int r = 0; r < packs; r++) out[r] = even[r] + odd[r];
}

/* out = x^T matrix, where matrix has `states` rows of `lanes` entries. */
static inline void mercer_advance(const double *x, const double *matrix, Py_ssize_t states, Py_ssize_t lanes, double *out)
{
    mercer_pack block[PACKS];
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES) {
        mercer_columns(x, matrix + lane, states, lanes, PACKS, block);
        EACH_PACK (int r = 0; r < PACKS; r++) mercer_store(out + lane + r * PACK, block[r]);
    }
}

/* out = x y / (sum of x y), entry by entry; return the sum. Where it is zero, `out` is not finite. */
static inline double mercer_condition(const double *x, const double *y, Py_ssize_t lanes, double *out)
{
    mercer_pack sum[PACKS];
    EACH_PACK (int r = 0; r < PACKS; r++) sum[r] = mercer_zero();
    for (Py_ssize_t lane = 0; lane < lanes; lane += LANES)
        EACH_PACK (int r = 0; r < PACKS; r++) {
            mercer_pack product = mercer_load(x + lane + r * PACK) * mercer_load(y + lane + r * PACK);
            mercer_store(out + lane + r * PACK, product);
            sum[r] += product;
        }
    double total = mercer_fold(sum), factor = 1.0 / total;
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) mercer_store(out + lane, mercer_load(out + lane) * factor);
    return total;
}

/* A step with at most 16 states: everything but the vector x stays in registers. */
ALWAYS_INLINE double mercer_short_step(const double *x, const double *matrix, const double *factor, Py_ssize_t states,
                                       const int blocks, double *between, double *out)
{
    mercer_pack line[16 / PACK], sum[PACKS];
    const int packs = blocks * PACKS;
    /* Sixteen lanes are eight registers of two doubles; more accumulators than that would not fit at once. */
    EACH_PACK (int b = 0; b < blocks; b++)
        if (PACK < 4) mercer_columns(x, matrix + b * LANES, states, blocks * LANES, PACKS, line + b * PACKS);
    if (PACK >= 4) mercer_columns(x, matrix, states, blocks * LANES, packs, line);
    EACH_PACK (int r = 0; r < packs; r++) {
        mercer_store(between + r * PACK, line[r]);
        line[r] *= mercer_load(factor + r * PACK);
    }
    EACH_PACK (int r = 0; r < PACKS; r++) sum[r] = blocks == 2 ? line[r] + line[r + PACKS * (blocks - 1)] : line[r];
    double total = mercer_fold(sum), scale = 1.0 / total;
    EACH_PACK (int r = 0; r < packs; r++) mercer_store(out + r * PACK, line[r] * scale);
    return total;
}

/* between = x^T matrix; out = between factor / (their sum), which is returned. */
static inline double mercer_step(const double *x, const double *matrix, const double *factor, Py_ssize_t states,
                                 Py_ssize_t lanes, double *between, double *out)
{
    if (lanes == 8) return mercer_short_step(x, matrix, factor, states, 1, between, out);
    if (lanes == 16) return mercer_short_step(x, matrix, factor, states, 2, between, out);
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

static inline double mercer_top(const double *x, Py_ssize_t lanes)
{
    double values[LANES], top;
    mercer_pack most = mercer_load(x);
    for (Py_ssize_t lane = PACK; lane < lanes; lane += PACK) most = mercer_larger(mercer_load(x + lane), most);
    mercer_store(values, most);
    top = values[0];
    for (int l = 1; l < PACK; l++) top = values[l] > top ? values[l] : top;
    return top;
}

/* x += value in every lane. */
static inline void mercer_shift(double *x, double value, Py_ssize_t lanes)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) mercer_store(x + lane, mercer_load(x + lane) + value);
}

/* out = add + largest over states of x[state] + matrix[state]. */
static inline void mercer_best(const double *x, const double *matrix, const double *add, Py_ssize_t states,
                               Py_ssize_t lanes, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) {
        const double *column = matrix + lane;
        mercer_pack most = x[0] + mercer_load(column);
        for (Py_ssize_t state = 1; state < states; state++)
            most = mercer_larger(x[state] + mercer_load(column + state * lanes), most);
        mercer_store(out + lane, most + mercer_load(add + lane));
    }
}
