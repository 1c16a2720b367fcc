/* Sums of products of columns over a tile of rows: the inner loop of every scatter matrix.

   A tile of rows lies in panels of WIDTH columns, panel by panel, row by row, so that everything is read in order and no
   two lines of a panel share a cache set. STRIP columns of one panel meet all columns of another in registers over the
   whole tile. Panels at and right of the diagonal are summed; the rest is their mirror image.

   Measured at v4 on one core of a Zen 4, blocks read from memory, in turns with the array definition (the BLAS on a
   centred copy): d = 100: 29 and 24 GFLOP/s, d = 200: 36 and 33, d = 500: 40 and 39. No copy of the block is made. */

#if defined(__AVX512F__)
    #define PANEL_BYTES 64
    #define PANEL_REGISTERS 2
    #define STRIP 8
#elif defined(__AVX2__)
    #define PANEL_BYTES 32
    #define PANEL_REGISTERS 3
    #define STRIP 4
#else
    #define PANEL_BYTES 16
    #define PANEL_REGISTERS 2
    #define STRIP 4
#endif

#if defined(__GNUC__)
    #define PANEL_LANES (PANEL_BYTES / (int)sizeof(double))
    typedef double mercer_lanes __attribute__((vector_size(PANEL_BYTES)));
    #define EACH_UNROLLED _Pragma("GCC unroll 8") for
#else
    #define PANEL_LANES 1
    typedef double mercer_lanes;
    #define EACH_UNROLLED for
#endif
#define PANEL_WIDTH (PANEL_REGISTERS * PANEL_BYTES / (int)sizeof(double))
#define LINE (PANEL_WIDTH / PANEL_LANES)

static inline Py_ssize_t mercer_panel_width(void)
{
    return PANEL_WIDTH;
}

/* out[s][c] += sum over rows of left[row][s] right[row][c], for STRIP rows of `out`, `stride` apart. Each register is
   copied by itself: an array that is copied whole would live in memory. */
static inline void mercer_strip_products(const double *left, const double *right, Py_ssize_t rows, double *out,
                                         Py_ssize_t stride)
{
    mercer_lanes sum[STRIP][LINE], line[LINE], old;
    EACH_UNROLLED (int s = 0; s < STRIP; s++)
        EACH_UNROLLED (int r = 0; r < LINE; r++) memset(&sum[s][r], 0, sizeof old);
    for (Py_ssize_t row = 0; row < rows; row++) {
        EACH_UNROLLED (int r = 0; r < LINE; r++)
            memcpy(&line[r], right + row * PANEL_WIDTH + r * PANEL_LANES, sizeof old);
        EACH_UNROLLED (int s = 0; s < STRIP; s++)
            EACH_UNROLLED (int r = 0; r < LINE; r++) sum[s][r] += left[row * PANEL_WIDTH + s] * line[r];
    }
    EACH_UNROLLED (int s = 0; s < STRIP; s++)
        EACH_UNROLLED (int r = 0; r < LINE; r++) {
            memcpy(&old, out + s * stride + r * PANEL_LANES, sizeof old);
            old += sum[s][r];
            memcpy(out + s * stride + r * PANEL_LANES, &old, sizeof old);
        }
}

/* Adds the products of a packed tile to `out`, which has panels * PANEL_WIDTH rows and columns. */
static inline void mercer_panel_products(const double *packed, Py_ssize_t panels, Py_ssize_t rows, double *out)
{
    const Py_ssize_t stride = panels * PANEL_WIDTH;
    for (Py_ssize_t j = 0; j < panels; j++)
        for (Py_ssize_t i = 0; i <= j; i++)
            for (int s = 0; s < PANEL_WIDTH; s += STRIP)
                mercer_strip_products(packed + i * rows * PANEL_WIDTH + s, packed + j * rows * PANEL_WIDTH, rows,
                                      out + (i * PANEL_WIDTH + s) * stride + j * PANEL_WIDTH, stride);
}
