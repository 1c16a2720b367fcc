/* Gaussian densities and moments of a tile of rows, eight states to a register.

   Each lane has its own sums, added row by row, so that the bits do not depend on the width of the registers. */

#if defined(__GNUC__)
    typedef double mercer_octet __attribute__((vector_size(64)));

static inline mercer_octet mercer_octet_load(const double *x)
{
    mercer_octet v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void mercer_octet_store(double *x, mercer_octet v)
{
    memcpy(x, &v, sizeof v);
}
    #define OCTET_LANES 8
#else
    typedef double mercer_octet;
static inline mercer_octet mercer_octet_load(const double *x)
{
    return *x;
}

static inline void mercer_octet_store(double *x, mercer_octet v)
{
    *x = v;
}
    #define OCTET_LANES 1
#endif

/* out[row] = offset - half the sum over columns of ((x - mean) factor)^2; a missing entry adds its row of `gaps`. */
static inline void mercer_score_columns(const double *X, Py_ssize_t rows, Py_ssize_t d, const double *means,
                                        const double *factors, const double *offsets, Py_ssize_t lanes, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += OCTET_LANES) {
        mercer_octet offset = mercer_octet_load(offsets + lane);
        for (Py_ssize_t row = 0; row < rows; row++) {
            mercer_octet sum = mercer_octet_load(means + lane) * 0.0, base = offset;
            for (Py_ssize_t j = 0; j < d; j++) {
                double value = X[row * d + j];
                if (value != value) {
                    base += mercer_octet_load(offsets + (j + 1) * lanes + lane);
                    continue;
                }
                mercer_octet step = (value - mercer_octet_load(means + j * lanes + lane))
                                    * mercer_octet_load(factors + j * lanes + lane);
                sum += step * step;
            }
            mercer_octet_store(out + row * lanes + lane, base - 0.5 * sum);
        }
    }
}

/* The same for triangular factors, whose rows follow each other in `factors`; no entry is missing. */
static inline void mercer_score_triangles(const double *X, Py_ssize_t rows, Py_ssize_t d, const double *means,
                                          const double *factors, const double *offsets, Py_ssize_t lanes,
                                          double *steps, double *out)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += OCTET_LANES) {
        mercer_octet offset = mercer_octet_load(offsets + lane);
        for (Py_ssize_t row = 0; row < rows; row++) {
            mercer_octet sum = mercer_octet_load(means + lane) * 0.0;
            const double *factor = factors + lane;
            for (Py_ssize_t j = 0; j < d; j++)
                mercer_octet_store(steps + j * OCTET_LANES, X[row * d + j] - mercer_octet_load(means + j * lanes + lane));
            for (Py_ssize_t j = 0; j < d; j++) {
                mercer_octet along = mercer_octet_load(steps) * mercer_octet_load(factor);
                factor += lanes;
                for (Py_ssize_t i = 1; i <= j; i++, factor += lanes)
                    along += mercer_octet_load(steps + i * OCTET_LANES) * mercer_octet_load(factor);
                sum += along * along;
            }
            mercer_octet_store(out + row * lanes + lane, offset - 0.5 * sum);
        }
    }
}

/* mass += share, first += share (x - mean), second += share (x - mean)^2 over the rows of one column. */
static inline void mercer_sum_column(const double *x, Py_ssize_t stride, Py_ssize_t rows, const double *shares,
                                     Py_ssize_t lanes, const double *mean, double *mass, double *first, double *second)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += OCTET_LANES) {
        mercer_octet middle = mercer_octet_load(mean + lane), heavy = mercer_octet_load(mass + lane);
        mercer_octet one = mercer_octet_load(first + lane), two = mercer_octet_load(second + lane);
        for (Py_ssize_t row = 0; row < rows; row++) {
            double value = x[row * stride];
            if (value != value) continue;
            mercer_octet share = mercer_octet_load(shares + row * lanes + lane), step = value - middle;
            heavy += share;
            share *= step;
            one += share;
            two += share * step;
        }
        mercer_octet_store(mass + lane, heavy);
        mercer_octet_store(first + lane, one);
        mercer_octet_store(second + lane, two);
    }
}

/* second += share (x - its mean) (y - its mean) over the rows of two columns; no entry is missing. */
static inline void mercer_sum_pair(const double *x, const double *y, Py_ssize_t stride, Py_ssize_t rows,
                                   const double *shares, Py_ssize_t lanes, const double *mean_x, const double *mean_y,
                                   double *second)
{
    for (Py_ssize_t lane = 0; lane < lanes; lane += OCTET_LANES) {
        mercer_octet middle_x = mercer_octet_load(mean_x + lane), middle_y = mercer_octet_load(mean_y + lane);
        mercer_octet two = mercer_octet_load(second + lane);
        for (Py_ssize_t row = 0; row < rows; row++)
            two += mercer_octet_load(shares + row * lanes + lane) * (x[row * stride] - middle_x)
                   * (y[row * stride] - middle_y);
        mercer_octet_store(second + lane, two);
    }
}
