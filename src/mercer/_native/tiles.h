/* Nearest centres: a matrix product in registers, with the search for the least score done before anything is stored.

   Included twice by tiles.pxd, with REAL float and INDEX int32_t, and with REAL double and INDEX int64_t. Centres lie
   transposed in panels of LANES; a panel's scores for a few rows live in registers over all d features, then meet the
   best so far, lane by lane. Only the last step looks across a register. Each score is summed in feature order, whatever
   the block and the tile, so that a row's answer does not depend on the rows beside it. */

#if defined(__GNUC__)
    #define LANES (REGISTER_BYTES / (int)sizeof(REAL))
    typedef REAL NAME(reals) __attribute__((vector_size(REGISTER_BYTES)));
    typedef INDEX NAME(indices) __attribute__((vector_size(REGISTER_BYTES)));
    #define EITHER(condition, yes, no) (((condition) & (yes)) | (~(condition) & (no)))
#else
    #define LANES 1
    typedef REAL NAME(reals);
    typedef INDEX NAME(indices);
#endif

/* How many reals the packed centres take: panels of LANES centres, d features each and one line of offsets. */
static inline Py_ssize_t NAME(packed_size)(Py_ssize_t k, Py_ssize_t d)
{
    return (k + LANES - 1) / LANES * LANES * (d + 1);
}

/* An absent centre has an infinite offset: no finite score loses to it. */
static inline void NAME(pack)(const REAL *centres, const REAL *offset, Py_ssize_t k, Py_ssize_t d, REAL *packed)
{
    for (Py_ssize_t first = 0; first < k; first += LANES)
        for (Py_ssize_t feature = 0; feature <= d; feature++)
            for (int lane = 0; lane < LANES; lane++) {
                const Py_ssize_t j = first + lane;
                const REAL absent = feature == d ? (REAL)INFINITY : 0;
                const REAL present = j >= k ? 0 : feature == d ? offset[j] : centres[j * d + feature];
                *packed++ = j < k ? present : absent;
            }
}

/* Scores of `rows` rows against `panels` panels from the one numbered `panel`; both counts are constants where this is
   called, so that every loop but the one over features disappears and `sum` is a set of registers. */
static ALWAYS_INLINE void NAME(score)(const REAL *x, Py_ssize_t d, const REAL *packed, Py_ssize_t panel, const int rows,
                                      const int panels, NAME(reals) *least, NAME(indices) *where)
{
    NAME(reals) sum[MOST_ROWS][MOST_PANELS], panel_line[MOST_PANELS], line, value;
    NAME(indices) own;
    const REAL *start = packed + panel * (d + 1) * LANES;
    UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int p = 0; p < panels; p++) memset(&sum[r][p], 0, sizeof line);
    for (Py_ssize_t feature = 0; feature < d; feature++) {
        UNROLLED for (int p = 0; p < panels; p++)
            memcpy(&panel_line[p], start + (p * (d + 1) + feature) * LANES, sizeof line);
        UNROLLED for (int r = 0; r < rows; r++)
            UNROLLED for (int p = 0; p < panels; p++) sum[r][p] += x[r * d + feature] * panel_line[p];
    }
    UNROLLED for (int p = 0; p < panels; p++) {
        memcpy(&line, start + (p * (d + 1) + d) * LANES, sizeof line);
        memset(&own, 0, sizeof own);
        own += (INDEX)(panel + p);
        UNROLLED for (int r = 0; r < rows; r++) {
            value = line - sum[r][p];
#if defined(__GNUC__)
            const NAME(indices) closer = value < least[r];
            where[r] = EITHER(closer, own, where[r]);
            least[r] = (NAME(reals))EITHER(closer, (NAME(indices))value, (NAME(indices))least[r]);
#else
            where[r] = value < least[r] ? own : where[r];
            least[r] = value < least[r] ? value : least[r];
#endif
        }
    }
}

static NEVER_INLINE void NAME(score_many)(const REAL *x, Py_ssize_t d, const REAL *packed, Py_ssize_t panel,
                                          NAME(reals) *least, NAME(indices) *where)
{
    NAME(score)(x, d, packed, panel, MOST_ROWS, MOST_PANELS, least, where);
}

static NEVER_INLINE void NAME(score_column)(const REAL *x, Py_ssize_t d, const REAL *packed, Py_ssize_t panel,
                                            NAME(reals) *least, NAME(indices) *where)
{
    NAME(score)(x, d, packed, panel, MOST_ROWS, 1, least, where);
}

static NEVER_INLINE void NAME(score_row)(const REAL *x, Py_ssize_t d, const REAL *packed, Py_ssize_t panel,
                                         NAME(reals) *least, NAME(indices) *where)
{
    NAME(score)(x, d, packed, panel, 1, 1, least, where);
}

/* The least of LANES scores and, among equals, the lowest centre. Scores are compared as integers of the same order,
   which a compiler may reduce in any order without changing the result; adding zero first makes both zeros one. */
static inline void NAME(reduce)(const NAME(reals) *least, const NAME(indices) *where, int32_t *label, REAL *result)
{
    REAL value[LANES];
    INDEX panel[LANES], key[LANES], lowest = INDEX_MAX, centre = INDEX_MAX;
    const NAME(reals) unsigned_zero = *least + (REAL)0;
    memcpy(value, least, sizeof value);
    memcpy(key, &unsigned_zero, sizeof key);
    memcpy(panel, where, sizeof panel);
    for (int lane = 0; lane < LANES; lane++) {
        key[lane] ^= key[lane] < 0 ? INDEX_MAX : 0;
        lowest = key[lane] < lowest ? key[lane] : lowest;
    }
    for (int lane = 0; lane < LANES; lane++) {
        const INDEX mine = panel[lane] * LANES + lane;
        const INDEX candidate = key[lane] == lowest ? mine : INDEX_MAX;
        centre = candidate < centre ? candidate : centre;
    }
    *label = (int32_t)centre;
    *result = value[centre % LANES];
}

/* One tile of at most TILE rows. */
static inline void NAME(nearest_of_tile)(const REAL *x, Py_ssize_t rows, Py_ssize_t d, const REAL *packed,
                                         Py_ssize_t panels, int32_t *label, REAL *result)
{
    NAME(reals) least[TILE];
    NAME(indices) where[TILE];
    const Py_ssize_t whole = rows - rows % MOST_ROWS;
    Py_ssize_t panel = 0, r;
    memset(where, 0, sizeof where);
    memset(least, 0, sizeof least);
    for (r = 0; r < rows; r++) least[r] += (REAL)INFINITY;
    while (panel < panels) {
        const int several = panels - panel >= MOST_PANELS;
        for (r = 0; r < whole; r += MOST_ROWS)
            (several ? NAME(score_many) : NAME(score_column))(x + r * d, d, packed, panel, least + r, where + r);
        for (; r < rows; r++)
            for (int p = 0; p < (several ? MOST_PANELS : 1); p++)
                NAME(score_row)(x + r * d, d, packed, panel + p, least + r, where + r);
        panel += several ? MOST_PANELS : 1;
    }
    for (r = 0; r < rows; r++) NAME(reduce)(least + r, where + r, label + r, result + r);
}

static inline void NAME(nearest)(const REAL *x, Py_ssize_t n, Py_ssize_t d, const REAL *packed, Py_ssize_t k,
                                 int32_t *label, REAL *result)
{
    for (Py_ssize_t start = 0; start < n; start += TILE) {
        const Py_ssize_t rows = n - start < TILE ? n - start : TILE;
        NAME(nearest_of_tile)(x + start * d, rows, d, packed, (k + LANES - 1) / LANES, label + start, result + start);
    }
}

#undef LANES
#undef EITHER
