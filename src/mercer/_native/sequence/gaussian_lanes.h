/* Gaussian densities and moments of a tile of rows, a lane per state.

   Each lane has its own sums, added row by row, so that the bits do not depend on the width of the registers. */

#include "packs.h"

/* out[row] = offset - half the sum over columns of ((x - mean) factor)^2; a missing entry adds its row of `gaps`. */
static inline void mercer_score_columns(const double *X, Py_ssize_t rows, Py_ssize_t d, const double *means,
                                        const double *factors, const double *offsets, Py_ssize_t lanes, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) {
        mercer_pack offset = mercer_load(offsets + lane);
        for (Py_ssize_t row = 0; row < rows; row++) {
            mercer_pack sum = mercer_zero(), base = offset;
            for (Py_ssize_t j = 0; j < d; j++) {
                double value = X[row * d + j];
                if (value != value) {
                    base += mercer_load(offsets + (j + 1) * lanes + lane);
                    continue;
                }
                mercer_pack step = (value - mercer_load(means + j * lanes + lane))
                                    * mercer_load(factors + j * lanes + lane);
                sum += step * step;
            }
            mercer_store(out + row * lanes + lane, base - 0.5 * sum);
        }
    }
}

/* The same for triangular factors, whose rows follow each other in `factors`; no entry is missing. */
static inline void mercer_score_triangles(const double *X, Py_ssize_t rows, Py_ssize_t d, const double *means,
                                          const double *factors, const double *offsets, Py_ssize_t lanes,
                                          double *steps, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) {
        mercer_pack offset = mercer_load(offsets + lane);
        for (Py_ssize_t row = 0; row < rows; row++) {
            mercer_pack sum = mercer_zero();
            const double *factor = factors + lane;
            for (Py_ssize_t j = 0; j < d; j++)
                mercer_store(steps + j * PACK, X[row * d + j] - mercer_load(means + j * lanes + lane));
            for (Py_ssize_t j = 0; j < d; j++) {
                mercer_pack along = mercer_load(steps) * mercer_load(factor);
                factor += lanes;
                for (Py_ssize_t i = 1; i <= j; i++, factor += lanes)
                    along += mercer_load(steps + i * PACK) * mercer_load(factor);
                sum += along * along;
            }
            mercer_store(out + row * lanes + lane, offset - 0.5 * sum);
        }
    }
}

/* mass += share, first += share (x - mean), second += share (x - mean)^2 over the rows of one column. */
static inline void mercer_sum_column(const double *x, Py_ssize_t stride, Py_ssize_t rows, const double *shares,
                                     Py_ssize_t lanes, const double *mean, double *mass, double *first, double *second)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) {
        mercer_pack middle = mercer_load(mean + lane), heavy = mercer_load(mass + lane);
        mercer_pack one = mercer_load(first + lane), two = mercer_load(second + lane);
        for (Py_ssize_t row = 0; row < rows; row++) {
            double value = x[row * stride];
            if (value != value) continue;
            mercer_pack share = mercer_load(shares + row * lanes + lane), step = value - middle;
            heavy += share;
            share *= step;
            one += share;
            two += share * step;
        }
        mercer_store(mass + lane, heavy);
        mercer_store(first + lane, one);
        mercer_store(second + lane, two);
    }
}

/* second += share (x - its mean) (y - its mean) over the rows of two columns; no entry is missing. */
static inline void mercer_sum_pair(const double *x, const double *y, Py_ssize_t stride, Py_ssize_t rows,
                                   const double *shares, Py_ssize_t lanes, const double *mean_x, const double *mean_y,
                                   double *second)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += PACK) {
        mercer_pack middle_x = mercer_load(mean_x + lane), middle_y = mercer_load(mean_y + lane);
        mercer_pack two = mercer_load(second + lane);
        for (Py_ssize_t row = 0; row < rows; row++)
            two += mercer_load(shares + row * lanes + lane) * (x[row * stride] - middle_x)
                   * (y[row * stride] - middle_y);
        mercer_store(second + lane, two);
    }
}
