/* Dot products of eight rows with panels of others: a matrix product in registers.

   Included twice by radial.pxd, with REAL float and double. The others lie transposed in panels of DOT_WIDTH, feature by
   feature. Each product is summed in the order of the features, whatever rows and panels are beside it, so that a value
   does not depend on what it was made with, nor on which of the two rows is the one in a panel. A multiplication may be
   fused with the addition, as in any BLAS; nothing else here is rounded. */

#if defined(__GNUC__)
    #define DOT_LANES (DOT_BYTES / (int)sizeof(REAL))
    typedef REAL NAME(dot_lanes) __attribute__((vector_size(DOT_BYTES)));
#else
    #define DOT_LANES 1
    typedef REAL NAME(dot_lanes);
#endif
#define DOT_WIDTH (128 / (int)sizeof(REAL))

/* out[r][c] = left[r] . panel[:, c] for DOT_ROWS rows and two registers of columns; rows of `out` are `stride` apart. */
static DOT_FUSED void NAME(dot_block)(const REAL *left, Py_ssize_t d, const REAL *panel, REAL *out, Py_ssize_t stride)
{
    DOT_PRAGMA
    NAME(dot_lanes) sum[DOT_ROWS][2], line[2], zero = {0};
    EACH_DOT (int r = 0; r < DOT_ROWS; r++)
        EACH_DOT (int p = 0; p < 2; p++) sum[r][p] = zero;
    for (Py_ssize_t k = 0; k < d; k++) {
        EACH_DOT (int p = 0; p < 2; p++) memcpy(&line[p], panel + k * DOT_WIDTH + p * DOT_LANES, sizeof line[0]);
        EACH_DOT (int r = 0; r < DOT_ROWS; r++)
            EACH_DOT (int p = 0; p < 2; p++) sum[r][p] += left[r * d + k] * line[p];
    }
    EACH_DOT (int r = 0; r < DOT_ROWS; r++)
        EACH_DOT (int p = 0; p < 2; p++) memcpy(out + r * stride + p * DOT_LANES, &sum[r][p], sizeof line[0]);
}

/* Eight rows with `count` panels. */
static inline void NAME(row_dots)(const REAL *left, Py_ssize_t d, const REAL *panels, Py_ssize_t count, REAL *out,
                                  Py_ssize_t stride)
{
    for (Py_ssize_t panel = 0; panel < count; panel++)
        for (int c = 0; c < DOT_WIDTH; c += 2 * DOT_LANES)
            for (int r = 0; r < 8; r += DOT_ROWS)
                NAME(dot_block)(left + r * d, d, panels + panel * d * DOT_WIDTH + c,
                                out + r * stride + panel * DOT_WIDTH + c, stride);
}

#undef DOT_LANES
#undef DOT_WIDTH
