/* Products of rows, out += sign A B^T, as a BLAS computes them: both factors lie in packed panels, and HIGH rows of A meet
   WIDE rows of B in registers. Bits depend on the shapes alone.

   Compiled where the CPU level has registers of 64 bytes. BLAS libraries choose their kernel by the name of the CPU, and
   OpenBLAS 0.3.31 takes a Zen 5 for a Haswell with registers of 32 bytes: 30.5 thousand million multiply-adds a second on one
   core, where this code reaches 54 with 240 rows of 20 000 columns and 60 with 640 rows of 256 columns. */

/* __builtin_shufflevector came with GCC 12; clang has always had it. */
#if defined(__AVX512F__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12))
    #define MERCER_ROW_PANELS 1
    #define LANES 8
    #define HIGH 8
    #define LINES 3
    #define WIDE (LANES * LINES)
    /* Columns packed at once: a panel of WIDE such rows takes 36 KiB of a first-level cache. */
    #define DEEP 192
    /* Rows of B and of A packed at once: 504 KiB, half of a second-level cache. */
    #define ACROSS 240
    #define DOWN 96
    #define ROW_SCRATCH ((ACROSS + DOWN) * DEEP + LANES)
    #define EACH _Pragma("GCC unroll 8") for

typedef double mercer_row_lanes __attribute__((vector_size(64)));

/* Transposes 8 x 8 values: pairs, then pairs of pairs, then halves change places. */
static inline void mercer_turn(const double *in, Py_ssize_t stride, double *out, Py_ssize_t step)
{
    mercer_row_lanes a[8], b[8];
    EACH (int i = 0; i < 8; i++) memcpy(&a[i], in + i * stride, sizeof a[i]);
    EACH (int i = 0; i < 8; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    EACH (int i = 0; i < 8; i++) {
        if (i & 2) a[i] = __builtin_shufflevector(b[i - 2], b[i], 2, 3, 10, 11, 6, 7, 14, 15);
        else a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    }
    EACH (int i = 0; i < 4; i++) {
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    EACH (int i = 0; i < 8; i++) memcpy(out + i * step, &b[i], sizeof b[i]);
}

/* Lays out rows in panels of `width` of them, column by column; missing rows of the last panel are zero. */
static inline void mercer_pack_rows(const double *rows, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t deep, int width,
                                    double *out)
{
    for (Py_ssize_t first = 0; first < n; first += width, out += width * deep)
        for (int at = 0; at < width; at += LANES) {
            const double *from = rows + (first + at) * stride;
            const Py_ssize_t left = n - first - at;
            Py_ssize_t k = 0;
            if (left >= LANES)
                for (; k + LANES <= deep; k += LANES) mercer_turn(from + k, stride, out + k * width + at, width);
            for (; k < deep; k++)
                for (int s = 0; s < LANES; s++) out[k * width + at + s] = s < left ? from[s * stride + k] : 0.0;
        }
}

/* out[s][c] += sign times the products of HIGH and WIDE packed rows. */
static inline void mercer_meet_rows(const double *a, const double *b, Py_ssize_t deep, double sign, double *out,
                                    Py_ssize_t stride)
{
    mercer_row_lanes sum[HIGH][LINES], line[LINES], old;
    EACH (int s = 0; s < HIGH; s++)
        EACH (int r = 0; r < LINES; r++) memset(&sum[s][r], 0, sizeof old);
    for (Py_ssize_t k = 0; k < deep; k++) {
        EACH (int r = 0; r < LINES; r++) memcpy(&line[r], b + k * WIDE + r * LANES, sizeof old);
        EACH (int s = 0; s < HIGH; s++)
            EACH (int r = 0; r < LINES; r++) sum[s][r] += a[k * HIGH + s] * line[r];
    }
    EACH (int s = 0; s < HIGH; s++)
        EACH (int r = 0; r < LINES; r++) {
            memcpy(&old, out + s * stride + r * LANES, sizeof old);
            old += sign * sum[s][r];
            memcpy(out + s * stride + r * LANES, &old, sizeof old);
        }
}

/* The same at an edge of `out`, or where only places at and below its diagonal change: `rows` and `columns` are inside,
   and the column c of row s changes if c <= s + below. */
static inline void mercer_meet_edge(const double *a, const double *b, Py_ssize_t deep, double sign, double *out,
                                    Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t below)
{
    double part[HIGH * WIDE] = {0};
    mercer_meet_rows(a, b, deep, sign, part, WIDE);
    for (Py_ssize_t s = 0; s < HIGH && s < rows; s++)
        for (Py_ssize_t c = 0; c < WIDE && c < columns && c <= s + below; c++) out[s * stride + c] += part[s * WIDE + c];
}

/* Rows of one of the equal parts, multiples of `width`, into which `n` rows are cut: at most `most`. */
static inline Py_ssize_t mercer_even_part(Py_ssize_t n, Py_ssize_t most, Py_ssize_t width)
{
    const Py_ssize_t parts = (n + most - 1) / most, panels = (n + width - 1) / width;
    return (panels + parts - 1) / parts * width;
}

/* The panels of one packed part of A against one of B: their first places in `out` are i0 and j0. */
static inline void mercer_meet_parts(const double *a, Py_ssize_t i0, Py_ssize_t m, const double *b, Py_ssize_t j0,
                                     Py_ssize_t n, Py_ssize_t deep, double sign, int lower, double *out, Py_ssize_t stride)
{
    for (Py_ssize_t j = 0; j < n; j += WIDE)
        for (Py_ssize_t i = 0; i < m; i += HIGH) {
            const Py_ssize_t below = lower ? i0 + i - j0 - j : WIDE;
            double *place = out + (i0 + i) * stride + j0 + j;
            if (below <= -HIGH) continue;
            if (i + HIGH <= m && j + WIDE <= n && below >= WIDE - 1)
                mercer_meet_rows(a + i * deep, b + j * deep, deep, sign, place, stride);
            else
                mercer_meet_edge(a + i * deep, b + j * deep, deep, sign, place, stride, m - i, n - j, below);
        }
}

/* out += sign A B^T, for m rows of A and n of B with `depth` columns; if `lower`, at and below the diagonal alone. */
static inline void mercer_add_row_products(const double *A, Py_ssize_t m, Py_ssize_t a_stride, const double *B,
                                           Py_ssize_t n, Py_ssize_t b_stride, Py_ssize_t depth, double sign, int lower,
                                           double *out, Py_ssize_t stride, double *scratch)
{
    double *b = (double *)(((size_t)scratch + 63) / 64 * 64), *a = b + ACROSS * DEEP;
    const Py_ssize_t across = mercer_even_part(n, ACROSS, WIDE), down = mercer_even_part(m, DOWN, HIGH);
    for (Py_ssize_t j = 0; j < n; j += across)
        for (Py_ssize_t k = 0; k < depth; k += DEEP) {
            const Py_ssize_t columns = n - j < across ? n - j : across, deep = depth - k < DEEP ? depth - k : DEEP;
            mercer_pack_rows(B + j * b_stride + k, b_stride, columns, deep, WIDE, b);
            /* Parts of A above the diagonal are left out. */
            for (Py_ssize_t i = lower ? j / down * down : 0; i < m; i += down) {
                const Py_ssize_t rows = m - i < down ? m - i : down;
                mercer_pack_rows(A + i * a_stride + k, a_stride, rows, deep, HIGH, a);
                mercer_meet_parts(a, i, rows, b, j, columns, deep, sign, lower, out, stride);
            }
        }
}
    #undef EACH
#else
    #define MERCER_ROW_PANELS 0
    #define ROW_SCRATCH 0
/* The definition, without panels. */
static inline void mercer_add_row_products(const double *A, Py_ssize_t m, Py_ssize_t a_stride, const double *B,
                                           Py_ssize_t n, Py_ssize_t b_stride, Py_ssize_t depth, double sign, int lower,
                                           double *out, Py_ssize_t stride, double *scratch)
{
    for (Py_ssize_t i = 0; i < m; i++)
        for (Py_ssize_t j = 0; j < n && (!lower || j <= i); j++) {
            double sum = 0.0;
            for (Py_ssize_t k = 0; k < depth; k++) sum += A[i * a_stride + k] * B[j * b_stride + k];
            out[i * stride + j] += sign * sum;
        }
}
#endif
