/* Sums over one row, in float64 whatever the row's type.

   Included twice by inline.pxd, with REAL float and REAL double. Eight running sums, added pairwise at the end: strict
   floating point forbids the compiler to reorder a plain sum, while eight independent ones fill the widest registers
   and give the same bits at every CPU level. The error bound falls from n to about n / 8 roundings besides. */

static inline double NAME(add_pairwise)(const double *part)
{
    const double a = part[0] + part[4], b = part[1] + part[5];
    const double c = part[2] + part[6], d = part[3] + part[7];
    return (a + c) + (b + d);
}

/* Adds TERM, an expression in i, over i = 0 .. n - 1. */
#define MERCER_SUM(TERM)                                              \
    double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};                        \
    const Py_ssize_t whole = n - n % 8;                               \
    for (Py_ssize_t start = 0; start < whole; start += 8)             \
        for (int lane = 0; lane < 8; lane++) {                        \
            const Py_ssize_t i = start + lane;                        \
            part[lane] += TERM;                                       \
        }                                                             \
    for (Py_ssize_t i = whole; i < n; i++) part[i - whole] += TERM;   \
    return NAME(add_pairwise)(part)

static inline double NAME(sum)(const REAL *x, Py_ssize_t n)
{
    MERCER_SUM((double)x[i]);
}

static inline double NAME(dot)(const REAL *x, const REAL *y, Py_ssize_t n)
{
    MERCER_SUM((double)x[i] * (double)y[i]);
}

static inline double NAME(squared_distance)(const REAL *x, const REAL *y, Py_ssize_t n)
{
    MERCER_SUM(((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]));
}

static inline REAL NAME(largest)(const REAL *x, Py_ssize_t n)
{
    REAL result = -(REAL)INFINITY;
    for (Py_ssize_t i = 0; i < n; i++) result = x[i] > result ? x[i] : result;
    return result;
}

static inline double NAME(sum_exp)(const REAL *x, REAL shift, Py_ssize_t n)
{
    MERCER_SUM((double)NAME(exp)(x[i] - shift));
}

/* log(sum of exp(x_i)); an infinite maximum is not subtracted, since infinity minus itself is not a number. */
static inline double NAME(logsumexp)(const REAL *x, Py_ssize_t n)
{
    const REAL most = NAME(largest)(x, n);
    const REAL shift = most - most == 0 ? most : 0;
    return (double)shift + mercer_double_log(NAME(sum_exp)(x, shift, n));
}

#undef MERCER_SUM
