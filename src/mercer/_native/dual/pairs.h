/* The search for the pair of a step of descent: least and greatest of some thousand values, with their places.

   Included twice by pairs.pxd, with REAL float and double for the rows of the kernel matrix; slopes are double. Each lane
   keeps the best it has met and where; only the end looks across lanes, and takes the lowest place among equals. Every
   value is made by the same operations whatever the number of lanes, and a comparison rounds nothing, so that the answer
   is that of a plain loop, at every CPU level. Measured at v4 on one core, 1024 coefficients: 1.1 us a step, beside
   3.3 us with plain loops. */

/* Keeps the best value that each lane has met, and its place. */
static inline void NAME(look)(mercer_pair_values value, mercer_pair_places here, mercer_pair_places wanted,
                              mercer_pair_values *best, mercer_pair_places *where)
{
    *best = (mercer_pair_values)PAIR_EITHER(wanted, (mercer_pair_places)value, (mercer_pair_places)*best);
    *where = PAIR_EITHER(wanted, here, *where);
}

/* Adds size (up - down) to slopes from `first` to `last`; the place of the least slope + rise there, -1 if none is
   finite. */
static inline Py_ssize_t NAME(update)(const REAL *up, const REAL *down, double size, double *slope, const double *rise,
                                      Py_ssize_t first, Py_ssize_t last)
{
    double least = INFINITY;
    Py_ssize_t found = -1, k = first;
#if PAIR_LANES > 1
    if (last - first >= PAIR_LANES) {
        mercer_pair_values best, value, lift;
        NAME(row) high, low;
        mercer_pair_places where = PAIR_FIRST, here = PAIR_FIRST;
        here += first;
        where -= where + 1;
        memset(&best, 0, sizeof best);
        best += INFINITY;
        for (; k + PAIR_LANES <= last; k += PAIR_LANES) {
            memcpy(&high, up + k, sizeof high);
            memcpy(&low, down + k, sizeof low);
            memcpy(&value, slope + k, sizeof value);
            memcpy(&lift, rise + k, sizeof lift);
            value += size * (OF_ROW(high) - OF_ROW(low));
            memcpy(slope + k, &value, sizeof value);
            value += lift;
            NAME(look)(value, here, value < best, &best, &where);
            here += PAIR_LANES;
        }
        for (int lane = 0; lane < PAIR_LANES; lane++)
            if (best[lane] < least || (best[lane] == least && where[lane] >= 0 && where[lane] < found)) {
                least = best[lane];
                found = where[lane];
            }
    }
#endif
    for (; k < last; k++) {
        slope[k] += size * ((double)up[k] - (double)down[k]);
        if (slope[k] + rise[k] < least) {
            least = slope[k] + rise[k];
            found = k;
        }
    }
    return found;
}

/* The partner of greatest promise, gap^2 / curvature, above best[0], of a coefficient with kernel row `row`, diagonal
   `own` and cost `least`; -1 if there is none. Raises best[0] to the promise and best[1] to the largest gap. Promises are
   compared to the seventh digit: a division of floats takes a third of the time of one of doubles. */
static inline Py_ssize_t NAME(partner)(const REAL *row, const double *diagonal, const double *slope, const double *fall,
                                       double own, double least, double flat, Py_ssize_t first, Py_ssize_t last,
                                       double *best)
{
    double promise = best[0], greatest = best[1];
    Py_ssize_t found = -1, k = first;
#if PAIR_LANES > 1
    if (last - first >= PAIR_LANES) {
        mercer_pair_values most, widest, gap, part, curvature, value;
        NAME(row) values;
        mercer_pair_places where = PAIR_FIRST, here = PAIR_FIRST, wanted;
        here += first;
        where -= where + 1;
        memset(&most, 0, sizeof most);
        widest = most + greatest;
        most += promise;
        for (; k + PAIR_LANES <= last; k += PAIR_LANES) {
            memcpy(&gap, slope + k, sizeof gap);
            memcpy(&part, fall + k, sizeof part);
            memcpy(&values, row + k, sizeof values);
            memcpy(&curvature, diagonal + k, sizeof curvature);
            gap = (gap + part) - least;
            wanted = gap > widest;
            widest = (mercer_pair_values)PAIR_EITHER(wanted, (mercer_pair_places)gap, (mercer_pair_places)widest);
            curvature = (own + curvature) - 2.0 * OF_ROW(values);
            memset(&value, 0, sizeof value);
            value += flat;
            wanted = curvature < value;
            curvature = (mercer_pair_values)PAIR_EITHER(wanted, (mercer_pair_places)value,
                                                        (mercer_pair_places)curvature);
            memset(&value, 0, sizeof value);
            value += PAIR_STEEPEST;
            wanted = curvature > value;
            curvature = (mercer_pair_values)PAIR_EITHER(wanted, (mercer_pair_places)value,
                                                        (mercer_pair_places)curvature);
            value = gap * gap * PAIR_WIDENED(1.0f / PAIR_NARROWED(curvature));
            NAME(look)(value, here, (gap > 0.0) & (value > most), &most, &where);
            here += PAIR_LANES;
        }
        for (int lane = 0; lane < PAIR_LANES; lane++) {
            greatest = widest[lane] > greatest ? widest[lane] : greatest;
            if (where[lane] >= 0 &&
                (most[lane] > promise || (found >= 0 && most[lane] == promise && where[lane] < found))) {
                promise = most[lane];
                found = where[lane];
            }
        }
    }
#endif
    for (; k < last; k++) {
        const double gap = slope[k] + fall[k] - least;
        double curvature = own + diagonal[k] - 2.0 * row[k];
        greatest = gap > greatest ? gap : greatest;
        curvature = curvature < flat ? flat : curvature > PAIR_STEEPEST ? PAIR_STEEPEST : curvature;
        const double value = gap * gap * (double)(1.0f / (float)curvature);
        if (gap > 0.0 && value > promise) {
            promise = value;
            found = k;
        }
    }
    best[0] = promise;
    best[1] = greatest;
    return found;
}
