/* Adds rows to a histogram of pairs of 64-bit words, the inner loop of boosted trees; draws, quantises and splits rows.

   Four columns are read before any is written: their bins differ, which the compiler cannot know. A pair is added as one
   16-byte vector. Measured at v4 on one core, 500 000 x 30: 0.70 ns a pair, beside 1.15 ns one column after the other and
   1.10 ns for pairs of doubles; a single word takes 0.62 ns. Rows of small leaves lie far apart: prefetching them twelve
   rows ahead takes 1.5 ns a pair where one row in sixteen is added, beside 5.3 ns without; prefetching the first twelve at
   once takes 0.80 ns where 25 rows of a block are added, beside 0.99 ns. */

#if defined(__GNUC__)
    typedef long long mercer_pair __attribute__((vector_size(16), aligned(8), may_alias));
    #define PREFETCH(place) __builtin_prefetch(place)
    #define READ(number) mercer_pair *place##number =                                                                  \
        (mercer_pair *)(histogram + 2 * ((Py_ssize_t)offsets[j + number] + row[j + number]));
    #define SUM(number) mercer_pair sum##number = *place##number + pair;
    #define WRITE(number) *place##number = sum##number;
    #define FIELDS mercer_pair pair = *(const mercer_pair *)(words + 2 * number)
    #define FOUR                                                                                                       \
        for (; j + 4 <= d; j += 4) {                                                                                   \
            READ(0) READ(1) READ(2) READ(3)                                                                            \
            SUM(0) SUM(1) SUM(2) SUM(3)                                                                                \
            WRITE(0) WRITE(1) WRITE(2) WRITE(3)                                                                        \
        }
    #define ONE *(mercer_pair *)(histogram + 2 * ((Py_ssize_t)offsets[j] + row[j])) += pair;
#else
    #define PREFETCH(place) ((void)(place))
    #define FIELDS long long first = words[2 * number], second = words[2 * number + 1]
    #define FOUR
    #define ONE                                                                                                        \
        histogram[2 * ((Py_ssize_t)offsets[j] + row[j])] += first;                                                     \
        histogram[2 * ((Py_ssize_t)offsets[j] + row[j]) + 1] += second;
#endif

#define AHEAD 12
#define ADD_ROWS(name, code)                                                                                           \
    static inline void name(const code *bins, Py_ssize_t d, const long long *words, const unsigned short *order,       \
                            Py_ssize_t count, const int *offsets, long long *histogram)                                \
    {                                                                                                                  \
        for (Py_ssize_t k = 0; k < AHEAD && k < count; k++) {                                                          \
            PREFETCH(bins + order[k] * d);                                                                             \
            PREFETCH(bins + order[k] * d + d - 1);                                                                     \
            PREFETCH(words + 2 * order[k]);                                                                            \
        }                                                                                                              \
        for (Py_ssize_t k = 0; k < count; k++) {                                                                       \
            if (k + AHEAD < count) {                                                                                   \
                Py_ssize_t later = order[k + AHEAD];                                                                   \
                PREFETCH(bins + later * d);                                                                            \
                PREFETCH(bins + later * d + d - 1);                                                                    \
                PREFETCH(words + 2 * later);                                                                           \
            }                                                                                                          \
            Py_ssize_t number = order[k], j = 0;                                                                       \
            const code *row = bins + number * d;                                                                       \
            FIELDS;                                                                                                    \
            FOUR                                                                                                       \
            for (; j < d; j++) {                                                                                       \
                ONE                                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

ADD_ROWS(mercer_add_rows, unsigned char)

/* Adds rows to the bins of the chosen columns only. */
static inline void mercer_add_some(const unsigned char *bins, Py_ssize_t d, const long long *words,
                                   const unsigned short *order, Py_ssize_t count, const int *offsets, const int *chosen,
                                   Py_ssize_t n_chosen, long long *histogram)
{
    for (Py_ssize_t k = 0; k < AHEAD && k < count; k++) {
        PREFETCH(bins + order[k] * d + chosen[0]);
        PREFETCH(words + 2 * order[k]);
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (k + AHEAD < count) {
            Py_ssize_t later = order[k + AHEAD];
            PREFETCH(bins + later * d + chosen[0]);
            PREFETCH(words + 2 * later);
        }
        Py_ssize_t number = order[k];
        const unsigned char *row = bins + number * d;
        FIELDS;
        for (Py_ssize_t c = 0; c < n_chosen; c++) {
            Py_ssize_t j = chosen[c];
            ONE
        }
    }
}

/* Rounds to the nearest whole number, halves away from zero: the same for a gradient and its opposite. */
static inline long long mercer_rounded(double value) { return (long long)(value + (value >= 0 ? 0.5 : -0.5)); }

/* Draws rows from row `start` on: each if the finaliser of splitmix64 of its index, as a fraction, is below `share`. */
static inline void mercer_draw_rows(unsigned long long seed, Py_ssize_t start, Py_ssize_t rows, double share,
                                    long long *drawn)
{
    for (Py_ssize_t k = 0; k < rows; k++) {
        unsigned long long x = seed + (unsigned long long)(start + k + 1) * 0x9E3779B97F4A7C15ull;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
        x ^= x >> 31;
        drawn[k] = (double)(long long)(x >> 11) * 0x1p-53 < share;
    }
}

/* Writes the words of rows and the places in `order` of those drawn; adds the words to `totals`; returns the number drawn.
   A row that stands for several has the rounded words of one times their number: weights are repetitions. */
static inline Py_ssize_t mercer_quantise(const double *gradients, const long long *counts, const long long *drawn,
                                         Py_ssize_t rows, double scale, double rest_scale, int shift, long long *words,
                                         unsigned short *order, long long *totals)
{
    /* Sums of unsigned words wrap around. Gradients that are not finite make words at the end of the range, whose sums
       would be undefined if they were signed. */
    unsigned long long first = 0, second = 0;
    Py_ssize_t kept = 0;
    if (counts == NULL && drawn == NULL) {
        for (Py_ssize_t k = 0; k < rows; k++) {
            words[2 * k] = mercer_rounded(gradients[2 * k] * scale);
            words[2 * k + 1] = (mercer_rounded(gradients[2 * k + 1] * rest_scale) << shift) + 1;
            first += (unsigned long long)words[2 * k];
            second += (unsigned long long)words[2 * k + 1];
            order[k] = (unsigned short)k;
        }
        kept = rows;
    }
    else
        /* Without a branch, which could not be predicted; a row that is not drawn has the words 0. */
        for (Py_ssize_t k = 0; k < rows; k++) {
            const long long copies = counts == NULL ? 1 : counts[k], taken = drawn == NULL ? copies : drawn[k];
            const double part = counts == NULL ? 1.0 : (double)copies;
            words[2 * k] = taken * mercer_rounded(gradients[2 * k] / part * scale);
            words[2 * k + 1] = ((taken * mercer_rounded(gradients[2 * k + 1] / part * rest_scale)) << shift) + taken;
            first += (unsigned long long)words[2 * k];
            second += (unsigned long long)words[2 * k + 1];
            order[kept] = (unsigned short)k;
            kept += taken != 0;
        }
    totals[0] += first;
    totals[1] += second;
    return kept;
}

/* Puts the rows that go left before those that go right, both in their order; returns how many go left. */
static inline Py_ssize_t mercer_part_rows(const unsigned char *column, const unsigned char *goes_left,
                                          unsigned short *order, Py_ssize_t count, unsigned short *spare)
{
    Py_ssize_t middle = 0, others = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        const unsigned short place = order[k];
        const Py_ssize_t left = goes_left[column[place]];
        order[middle] = place;
        spare[others] = place;
        middle += left;
        others += 1 - left;
    }
    memcpy(order + middle, spare, (size_t)others * sizeof *spare);
    return middle;
}
