/* The passes over all coefficients of a dual program, in eight lanes; see dual_rounds.py. A least or a greatest value has
   the same bits in any order. */

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
    for (Py_ssize_t start = first; start < last; start += 8) {
        const int count = last - start < 8 ? (int)(last - start) : 8;
        if (count == 8)
            for (int lane = 0; lane < 8; lane++) {
                const Py_ssize_t k = start + lane;
                const double up = b[k] >= upper[k] ? INFINITY : (b[k] >= 0.0 ? kink : -kink);
                const double down = b[k] <= lower[k] ? -INFINITY : (b[k] > 0.0 ? kink : -kink);
                rise[k] = up;
                fall[k] = down;
                least[lane] = slope[k] + up < least[lane] ? slope[k] + up : least[lane];
                most[lane] = slope[k] + down > most[lane] ? slope[k] + down : most[lane];
            }
        else
            for (int lane = 0; lane < count; lane++) {
                const Py_ssize_t k = start + lane;
                rise[k] = b[k] >= upper[k] ? INFINITY : (b[k] >= 0.0 ? kink : -kink);
                fall[k] = b[k] <= lower[k] ? -INFINITY : (b[k] > 0.0 ? kink : -kink);
                least[lane] = slope[k] + rise[k] < least[lane] ? slope[k] + rise[k] : least[lane];
                most[lane] = slope[k] + fall[k] > most[lane] ? slope[k] + fall[k] : most[lane];
            }
    }
    ends[0] = INFINITY;
    ends[1] = -INFINITY;
    for (int lane = 0; lane < 8; lane++) {
        ends[0] = least[lane] < ends[0] ? least[lane] : ends[0];
        ends[1] = most[lane] > ends[1] ? most[lane] : ends[1];
    }
}
