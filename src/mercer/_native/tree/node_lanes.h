/* The inner loops of searches for splits that compare, sort or add several numbers at a time. node_lanes.pxd has their
   signatures over arrays, node_lanes.py the same in NumPy. A quad holds four numbers of a row: 1, weight, amount, target. */
#ifndef MERCER_NODE_LANES_H
#define MERCER_NODE_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Keys that are sorted by insertion alone. */
#define SMALL_RUN 24
/* Buckets of a digit of 11 bits: their counts, 8 KiB, stay in the first-level cache. */
#define MOST_BUCKETS 2048

static inline void mercer_insert_keys(long long *keys, Py_ssize_t n)
{
    for (Py_ssize_t i = 1; i < n; i++) {
        const long long key = keys[i];
        Py_ssize_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* One stable pass over the digit of `bits` bits above `shift`; returns the size of the fullest bucket. */
static inline int32_t mercer_digit_pass(const long long *from, long long *to, Py_ssize_t n, long long least,
                                        int shift, int bits)
{
    int32_t starts[MOST_BUCKETS + 1];
    const long long mask = ((long long)1 << bits) - 1;
    int32_t fullest = 0;
    memset(starts, 0, sizeof(int32_t) * (mask + 2));
    for (Py_ssize_t i = 0; i < n; i++) starts[((((from[i] >> 32) - least) >> shift) & mask) + 1]++;
    for (long long b = 0; b <= mask; b++) {
        fullest = starts[b + 1] > fullest ? starts[b + 1] : fullest;
        starts[b + 1] += starts[b];
    }
    for (Py_ssize_t i = 0; i < n; i++) to[starts[(((from[i] >> 32) - least) >> shift) & mask]++] = from[i];
    return fullest;
}

/* Sort n keys. Few keys: one pass over the leading bits leaves short runs of unsorted keys, which insertion sorts
   unless a bucket holds more than 32. Many keys: a stable pass for each digit of at most 11 bits, the lowest first;
   keys come with rising i, so that equal codes stay in the order of their rows. */
static inline void mercer_order_keys(long long *keys, long long *spare, Py_ssize_t n, long long least,
                                     long long greatest)
{
    int width = 0, passes, bits, done = 0;
    if (n <= SMALL_RUN) { mercer_insert_keys(keys, n); return; }
    /* Bits that tell codes apart. With none all codes are equal, and keys come in the order of the rows. */
    while ((greatest - least) >> width) width++;
    if (width == 0) return;
    if (n < 2048) {
        bits = n < 256 ? 6 : 9;
        if (width > bits) {
            if (mercer_digit_pass(keys, spare, n, least, width - bits, bits) <= 32) {
                mercer_insert_keys(spare, n);
                memcpy(keys, spare, sizeof(long long) * n);
                return;
            }
        }
    }
    passes = (width + 10) / 11;
    bits = (width + passes - 1) / passes;
    for (int pass = 0; pass < passes; pass++) {
        if (done) mercer_digit_pass(spare, keys, n, least, pass * bits, bits);
        else mercer_digit_pass(keys, spare, n, least, pass * bits, bits);
        done = !done;
    }
    if (done) memcpy(keys, spare, sizeof(long long) * n);
}

/* Sum the quads of the rows by code: a cell and a quad are four numbers, which one wide addition joins. */
static inline void mercer_fill_cells(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                     const double *quads, double *cells)
{
    memset(cells, 0, 1024 * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) {
        double *cell = cells + 4 * (Py_ssize_t)codes[stride * (Py_ssize_t)rows[i]];
        const double *quad = quads + 4 * i;
        const double a = cell[0] + quad[0], b = cell[1] + quad[1], c = cell[2] + quad[2], d = cell[3] + quad[3];
        cell[0] = a; cell[1] = b; cell[2] = c; cell[3] = d;
    }
}

/* Sort a few rows by their codes: the rank of a row is the number of codes below its own, and sixteen codes are
   compared at a time. `codes` has room for 15 more, which are set to the greatest integer, above every code. Rows
   of equal codes take the next free ranks. `pairs` receives weight and amount of each row by rank. */
static inline void mercer_order_few(int32_t *codes, const double *quads, Py_ssize_t n, int32_t *ordered,
                                    double *pairs)
{
    const Py_ssize_t padded = (n + 15) & ~(Py_ssize_t)15;
    for (Py_ssize_t i = n; i < padded; i++) codes[i] = INT32_MAX;
    for (Py_ssize_t i = 0; i < n; i++) ordered[i] = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const int32_t own = codes[i];
        int32_t rank = 0;
        for (Py_ssize_t j = 0; j < padded; j += 16)
            for (Py_ssize_t k = 0; k < 16; k++) rank += codes[j + k] < own;
        while (ordered[rank] >= 0) rank++;
        ordered[rank] = own;
        pairs[2 * rank] = quads[4 * i + 1];
        pairs[2 * rank + 1] = quads[4 * i + 2];
    }
}

/* Eight running minima and maxima, so that eight values are compared at a time; NaN is neither less nor greater. */
static inline Py_ssize_t mercer_find_range(const double *values, Py_ssize_t n, double *ends)
{
    double low[8], high[8];
    Py_ssize_t unknown = 0, i = 0;
    /* Few values, as most nodes have, fill one lane alone. */
    const int lanes = n < 8 ? 1 : 8;
    for (int k = 0; k < lanes; k++) { low[k] = HUGE_VAL; high[k] = -HUGE_VAL; }
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) {
            const double value = values[i + k];
            low[k] = value < low[k] ? value : low[k];
            high[k] = value > high[k] ? value : high[k];
            unknown += value != value;
        }
    for (; i < n; i++) {
        const double value = values[i];
        low[0] = value < low[0] ? value : low[0];
        high[0] = value > high[0] ? value : high[0];
        unknown += value != value;
    }
    for (int k = 1; k < lanes; k++) {
        low[0] = low[k] < low[0] ? low[k] : low[0];
        high[0] = high[k] > high[0] ? high[k] : high[0];
    }
    ends[0] = low[0];
    ends[1] = high[0];
    return unknown;
}

/* Sums are exact, hence the same in any order: four partial sums do not wait for each other. A product with 0 or 1
   costs less than a branch that cannot be predicted. */
static inline void mercer_sum_quads(const double *values, Py_ssize_t n, double threshold, const double *quads,
                                   double *sums)
{
    double parts[4][4] = {{0.0}};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++) {
            const double go = values[i + j] <= threshold ? 1.0 : 0.0;
            for (int k = 0; k < 4; k++) parts[j][k] += go * quads[4 * (i + j) + k];
        }
    for (; i < n; i++) {
        const double go = values[i] <= threshold ? 1.0 : 0.0;
        for (int k = 0; k < 4; k++) parts[0][k] += go * quads[4 * i + k];
    }
    for (int k = 0; k < 4; k++) sums[k] = (parts[0][k] + parts[1][k]) + (parts[2][k] + parts[3][k]);
}

/* Add weight and amount of each row to the cells of its steps in m columns. A row's codes are next to each other,
   and the cells of eight columns, 32 KiB, stay in the first-level cache. */
static inline void mercer_fill_group(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                     const double *quads, int shift, double *cells, const int m)
{
    const Py_ssize_t width = 512 >> shift;
    for (Py_ssize_t i = 0; i < n; i++) {
        const unsigned char *own = codes + stride * (Py_ssize_t)rows[i];
        const double weight = quads[4 * i + 1], amount = quads[4 * i + 2];
        for (int k = 0; k < m; k++) {
            double *cell = cells + k * width + 2 * (own[k] >> shift);
            const double a = cell[0] + weight, b = cell[1] + amount;
            cell[0] = a; cell[1] = b;
        }
    }
}

static inline void mercer_fill_steps(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                     const double *quads, int shift, double *cells, Py_ssize_t d)
{
    const Py_ssize_t width = 512 >> shift;
    Py_ssize_t k = 0;
    memset(cells, 0, sizeof(double) * d * width);
    for (; k + 8 <= d; k += 8) mercer_fill_group(codes + k, stride, rows, n, quads, shift, cells + k * width, 8);
    for (; k + 2 <= d; k += 2) mercer_fill_group(codes + k, stride, rows, n, quads, shift, cells + k * width, 2);
    if (k < d) mercer_fill_group(codes + k, stride, rows, n, quads, shift, cells + k * width, 1);
}

/* Write the weight and the sum before each step, and after the last. */
static inline void mercer_add_up(const double *cells, Py_ssize_t steps, double *weights, double *sums)
{
    double weight = 0.0, sum = 0.0;
    for (Py_ssize_t b = 0; b < steps; b++) {
        weights[b] = weight; sums[b] = sum;
        weight += cells[2 * b]; sum += cells[2 * b + 1];
    }
    weights[steps] = weight; sums[steps] = sum;
}

/* Return whether a cut between steps may be worth more than `bound`; see may_be_better in split_scan.py. */
static inline int mercer_has_better(const double *weights, const double *sums, Py_ssize_t steps, double bound)
{
    const double whole = weights[steps], total = sums[steps];
    int found = 0;
    for (Py_ssize_t b = 1; b < steps; b++) {
        const double w = weights[b], s = sums[b], v = whole - w, r = total - s;
        found |= s * s * v + r * r * w > bound * (w * v);
    }
    return found;
}

/* Mark the steps with rows inside which a cut may be worth `bound` or more; return whether there are any. */
static inline int mercer_mark_steps(const double *weights, const double *sums, Py_ssize_t steps, double bound,
                                    double low, double high, unsigned char *marks)
{
    const double whole = weights[steps], total = sums[steps], share = 1.0 / (high - low);
    int found = 0;
    for (Py_ssize_t b = 0; b < steps; b++) {
        const double weight = weights[b + 1] - weights[b], sum = sums[b + 1] - sums[b];
        const double p = (sum - low * weight) * share, q = weight - p;
        const double w = weights[b] + p, s = sums[b] + high * p, v = whole - w, r = total - s;
        const double x = weights[b] + q, t = sums[b] + low * q, y = whole - x, u = total - t;
        const int mark = ((s * s * v + r * r * w >= bound * (w * v)) | (t * t * y + u * u * x >= bound * (x * y)))
                         & (weight > 0.0);
        marks[b] = (unsigned char)mark;
        found |= mark;
    }
    return found;
}

/* Write the places of the rows in marked steps; return their number. */
static inline Py_ssize_t mercer_take_marked(const unsigned char *codes, Py_ssize_t stride, const int *rows,
                                            Py_ssize_t n, int shift, const unsigned char *marks, long long *places)
{
    Py_ssize_t taken = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (marks[codes[stride * (Py_ssize_t)rows[i]] >> shift]) places[taken++] = i;
    return taken;
}

#endif
