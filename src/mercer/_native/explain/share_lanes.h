/* The inner loops of Shapley values of trees, over MERCER_SHARE_LANES rows at a time: every lane of an array is one row.
   share_lanes.pxd has their signatures over arrays, share_lanes.py the same in NumPy. A mask is -1 or 0. */
#ifndef MERCER_SHARE_LANES_H
#define MERCER_SHARE_LANES_H

#define MERCER_SHARE_LANES 16

#define EACH_LANE for (int l = 0; l < MERCER_SHARE_LANES; l++)

/* Which rows go left. */
static inline void mercer_send_lanes(const double *restrict x, double threshold, long long *restrict left)
{
    EACH_LANE left[l] = -(long long)(x[l] <= threshold);
}

/* Which rows still keep to the path at a child: those that did and go to its side. */
static inline void mercer_keep_lanes(const long long *on, const long long *left, long long side, long long *below)
{
    EACH_LANE below[l] = on[l] & (left[l] ^ side);
}

/* Products at both children of a node; those of the right child replace those of the node. `first` is a constant where
   this is inlined: a column that was not on the path before needs no look at `on`. */
static inline void mercer_split(double *restrict above, double *restrict below, const long long *restrict on,
                                const long long *restrict left, const double *restrict table, Py_ssize_t points,
                                const int first)
{
    const double out_left = table[0], out_right = table[1], *rows = table + 2;
    for (Py_ssize_t q = 0; q < points; q++) {
        const double ll = rows[q], lr = rows[points + q], rl = rows[2 * points + q], rr = rows[3 * points + q];
        double *a = above + q * MERCER_SHARE_LANES, *b = below + q * MERCER_SHARE_LANES;
        EACH_LANE {
            const double p = a[l], to_left = left[l] ? ll : lr, to_right = left[l] ? rl : rr;
            b[l] = p * (first || on[l] ? to_left : out_left);
            a[l] = p * (first || on[l] ? to_right : out_right);
        }
    }
}

static inline void mercer_split_lanes(double *above, double *below, const long long *on, const long long *left,
                                      const double *table, Py_ssize_t points, int first)
{
    if (first) mercer_split(above, below, on, left, table, points, 1);
    else mercer_split(above, below, on, left, table, points, 0);
}

/* Sums over the leaves below both children, added up in `above`, and what they change the share of the column by. */
static inline void mercer_join(double *restrict above, const double *restrict below, const long long *restrict on,
                               const long long *restrict left, const double *restrict table, Py_ssize_t points,
                               double *restrict share, double *restrict change, const int first, const int keep)
{
    const double *rows = table + 2 + 4 * points;
    double total[MERCER_SHARE_LANES] = {0.0};
    for (Py_ssize_t q = 0; q < points; q++) {
        const double own_left = rows[q], other = rows[points + q], own_right = rows[2 * points + q];
        double *a = above + q * MERCER_SHARE_LANES;
        const double *b = below + q * MERCER_SHARE_LANES;
        EACH_LANE {
            const double g = b[l], h = a[l];
            const double part = (left[l] ? own_left : other) * g + (left[l] ? other : own_right) * h;
            const double counted = first || on[l] ? part : 0.0;
            total[l] += counted;
            a[l] = g + h;
            if (keep) change[q * MERCER_SHARE_LANES + l] = counted;
        }
    }
    EACH_LANE share[l] += total[l];
}

/* A node whose children are leaves: both steps at once. */
static inline void mercer_end(double *restrict above, const long long *restrict on, const long long *restrict left,
                              const double *restrict table, Py_ssize_t points, double *restrict share,
                              double *restrict change, const int first, const int keep)
{
    const double out = table[0], *rows = table + 2;
    double total[MERCER_SHARE_LANES] = {0.0};
    for (Py_ssize_t q = 0; q < points; q++) {
        const double sl = rows[q], sr = rows[points + q], cl = rows[2 * points + q], cr = rows[3 * points + q];
        double *a = above + q * MERCER_SHARE_LANES;
        EACH_LANE {
            const double p = a[l], sum = left[l] ? sl : sr, moved = left[l] ? cl : cr;
            const double counted = p * (first || on[l] ? moved : 0.0);
            total[l] += counted;
            a[l] = p * (first || on[l] ? sum : out);
            if (keep) change[q * MERCER_SHARE_LANES + l] = counted;
        }
    }
    EACH_LANE share[l] += total[l];
}

/* The cases are told apart once and not for each point: 0 for a column that was on the path, 1 for a first one; plus 2
   where the changes are kept. */
static inline void mercer_join_lanes(double *above, const double *below, const long long *on, const long long *left,
                                     const double *table, Py_ssize_t points, double *share, double *change, int kind)
{
    if (kind == 0) mercer_join(above, below, on, left, table, points, share, change, 0, 0);
    else if (kind == 1) mercer_join(above, below, on, left, table, points, share, change, 1, 0);
    else if (kind == 2) mercer_join(above, below, on, left, table, points, share, change, 0, 1);
    else mercer_join(above, below, on, left, table, points, share, change, 1, 1);
}

static inline void mercer_end_lanes(double *above, const long long *on, const long long *left, const double *table,
                                    Py_ssize_t points, double *share, double *change, int kind)
{
    if (kind == 0) mercer_end(above, on, left, table, points, share, change, 0, 0);
    else if (kind == 1) mercer_end(above, on, left, table, points, share, change, 1, 0);
    else if (kind == 2) mercer_end(above, on, left, table, points, share, change, 0, 1);
    else mercer_end(above, on, left, table, points, share, change, 1, 1);
}

/* What the changes at a node add to the share of a pair: each times the effect of the other column. */
static inline void mercer_pair_lanes(const double *restrict change, const long long *restrict on,
                                     const double *restrict own, const double *restrict other, Py_ssize_t points,
                                     double *restrict share)
{
    double total[MERCER_SHARE_LANES] = {0.0};
    for (Py_ssize_t q = 0; q < points; q++) {
        const double with = own[q], without = other[q];
        EACH_LANE total[l] += change[q * MERCER_SHARE_LANES + l] * (on[l] ? with : without);
    }
    EACH_LANE share[l] += total[l];
}

#undef EACH_LANE
#endif
