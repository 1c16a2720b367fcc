# The range of some values, and the sums of the rows up to a threshold. There is no uncompiled twin: random_scan.py uses
# NumPy.

cdef extern from *:
    """
    /* Eight running minima and maxima, so that eight values are compared at a time; NaN is neither less nor greater. */
    static inline Py_ssize_t mercer_find_range(const double *values, Py_ssize_t n, double *ends)
    {
        double low[8], high[8];
        Py_ssize_t unknown = 0, i = 0;
        for (int k = 0; k < 8; k++) { low[k] = HUGE_VAL; high[k] = -HUGE_VAL; }
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
        for (int k = 1; k < 8; k++) {
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
    """
    Py_ssize_t mercer_find_range(const double *values, Py_ssize_t n, double *ends) noexcept nogil
    void mercer_sum_quads(
        const double *values, Py_ssize_t n, double threshold, const double *quads, double *sums
    ) noexcept nogil


cdef inline Py_ssize_t find_range(const double[::1] values, Py_ssize_t n, double[::1] ends) noexcept nogil:
    """Write the least and the greatest of the first `n` values to `ends`; return the number of NaN among them."""
    return mercer_find_range(&values[0], n, &ends[0])


cdef inline void sum_quads(
    const double[::1] values, Py_ssize_t n, double threshold, const double[:, ::1] quads, Py_ssize_t first,
    double[::1] sums
) noexcept nogil:
    """Write to `sums` the sum of the quads from `first` on whose values, none missing, are at most `threshold`."""
    mercer_sum_quads(&values[0], n, threshold, &quads[first, 0], &sums[0])
