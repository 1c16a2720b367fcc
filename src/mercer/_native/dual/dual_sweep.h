/* Passes over all coefficients of a dual program, in eight lanes; see dual_rounds.py. A least or a greatest value has the
   same bits in any order. */

/* Runs a body for each k from `first` to `last`, and its lane: eight at a time fill a vector register. */
#define EACH_LANE(first, last, ...)                                                                                     \
    {                                                                                                                   \
        Py_ssize_t start = first;                                                                                       \
        for (; start + 8 <= last; start += 8)                                                                           \
            for (int lane = 0; lane < 8; lane++) {                                                                      \
                const Py_ssize_t k = start + lane;                                                                      \
                __VA_ARGS__                                                                                             \
            }                                                                                                           \
        for (int lane = 0; start + lane < last; lane++) {                                                               \
            const Py_ssize_t k = start + lane;                                                                          \
            __VA_ARGS__                                                                                                 \
        }                                                                                                               \
    }

/* Writes what is added to slopes when their coefficients rise and fall, from `first` to `last`, and to `ends` the least
   that raising one costs and the most that lowering one gains. */
static inline void mercer_mark_sweep(const double *b, const double *lower, const double *upper, double kink,
                                     const double *slope, Py_ssize_t first, Py_ssize_t last, double *rise, double *fall,
                                     double *ends)
{
    double least[8], most[8];
    for (int lane = 0; lane < 8; lane++) {
        least[lane] = INFINITY;
        most[lane] = -INFINITY;
    }
    EACH_LANE(first, last, {
        const double up = b[k] >= upper[k] ? INFINITY : (b[k] >= 0.0 ? kink : -kink);
        const double down = b[k] <= lower[k] ? -INFINITY : (b[k] > 0.0 ? kink : -kink);
        rise[k] = up;
        fall[k] = down;
        least[lane] = slope[k] + up < least[lane] ? slope[k] + up : least[lane];
        most[lane] = slope[k] + down > most[lane] ? slope[k] + down : most[lane];
    })
    ends[0] = INFINITY;
    ends[1] = -INFINITY;
    for (int lane = 0; lane < 8; lane++) {
        ends[0] = least[lane] < ends[0] ? least[lane] : ends[0];
        ends[1] = most[lane] > ends[1] ? most[lane] : ends[1];
    }
}

/* The sum of eight lanes, in pairs. */
static inline double mercer_lane_sum(const double *lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* Writes, for the coefficients from `first` to `last`, the greatest gain of lowering one, the least cost of raising one,
   the sum of the costs that equal the gain, as those of free coefficients do, and their number. */
static inline void mercer_measure_sweep(const double *b, const double *slope, const double *lower, const double *upper,
                                        double kink, Py_ssize_t first, Py_ssize_t last, double *found)
{
    double most[8], least[8], total[8], count[8];
    for (int lane = 0; lane < 8; lane++) {
        most[lane] = -INFINITY;
        least[lane] = INFINITY;
        total[lane] = count[lane] = 0.0;
    }
    EACH_LANE(first, last, {
        const double gain = b[k] > lower[k] ? slope[k] + (b[k] > 0.0 ? kink : -kink) : -INFINITY;
        const double cost = b[k] < upper[k] ? slope[k] + (b[k] >= 0.0 ? kink : -kink) : INFINITY;
        const double both = gain == cost ? 1.0 : 0.0;
        most[lane] = gain > most[lane] ? gain : most[lane];
        least[lane] = cost < least[lane] ? cost : least[lane];
        total[lane] += gain == cost ? cost : 0.0;
        count[lane] += both;
    })
    found[0] = -INFINITY;
    found[1] = INFINITY;
    for (int lane = 0; lane < 8; lane++) {
        found[0] = most[lane] > found[0] ? most[lane] : found[0];
        found[1] = least[lane] < found[1] ? least[lane] : found[1];
    }
    found[2] = mercer_lane_sum(total);
    found[3] = mercer_lane_sum(count);
}

/* The sum of b (slope - c) + kink |b| less the least of v (slope - c) + kink |v| over each row's box. Infinity
   times zero is not a number, and counts as zero. */
static inline double mercer_gap_sweep(const double *b, const double *slope, const double *lower, const double *upper,
                                      double kink, double offset, Py_ssize_t first, Py_ssize_t last)
{
    double total[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    EACH_LANE(first, last, {
        const double excess = slope[k] - offset;
        const double low = lower[k] * (excess + (lower[k] > 0.0 ? kink : -kink));
        const double high = upper[k] * (excess + (upper[k] > 0.0 ? kink : -kink));
        const double ends = high < low ? high : low;
        const double inner = (lower[k] < 0.0) & (upper[k] > 0.0) ? 0.0 : ends;
        const double within = ends < inner ? ends : inner;
        const double least = (low == low) & (high == high) ? within : 0.0;
        total[lane] += (b[k] * excess + kink * fabs(b[k])) - least;
    })
    return mercer_lane_sum(total);
}

/* The sum of b (slope + linear) / 2 + kink |b|. */
static inline double mercer_value_sweep(const double *b, const double *slope, const double *linear, double kink,
                                        Py_ssize_t count)
{
    double total[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    EACH_LANE(0, count, {
        total[lane] += 0.5 * b[k] * (slope[k] + linear[k]) + kink * fabs(b[k]);
    })
    return mercer_lane_sum(total);
}
