# Passes over all coefficients of a dual program; dual_sweep.h says how. dual_sweep.py is the uncompiled twin.

cdef extern from *:
    """
    #include <math.h>
    #include "dual_sweep.h"
    """
    void mercer_mark_sweep(const double *b, const double *lower, const double *upper, double kink, const double *slope,
                           Py_ssize_t first, Py_ssize_t last, double *rise, double *fall, double *ends) noexcept nogil
    void mercer_measure_sweep(const double *b, const double *slope, const double *lower, const double *upper, double kink,
                              Py_ssize_t first, Py_ssize_t last, double *found) noexcept nogil
    double mercer_gap_sweep(const double *b, const double *slope, const double *lower, const double *upper, double kink,
                            double offset, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    double mercer_value_sweep(const double *b, const double *slope, const double *linear, double kink,
                              Py_ssize_t count) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline void mark(const double[::1] b, const double[::1] lower, const double[::1] upper, double kink,
                      const double[::1] slope, Py_ssize_t first, Py_ssize_t last, Py_ssize_t split, double[::1] rise,
                      double[::1] fall, double[::1] ends) noexcept nogil:
    """Write `rise` and `fall`, what is added to slopes when coefficients rise and fall, from `first` to `last`.

    `ends` (4,) gets the least cost of raising and the greatest gain of lowering a coefficient, of the first group (below
    `split`) and of the second.
    """
    cdef Py_ssize_t middle = max(first, min(split, last))
    mercer_mark_sweep(&b[0], &lower[0], &upper[0], kink, &slope[0], first, middle, &rise[0], &fall[0], &ends[0])
    mercer_mark_sweep(&b[0], &lower[0], &upper[0], kink, &slope[0], middle, last, &rise[0], &fall[0], &ends[2])


cdef inline void measure(const double[::1] b, const double[::1] slope, const double[::1] lower, const double[::1] upper,
                         double kink, Py_ssize_t first, Py_ssize_t last, double[::1] found) noexcept nogil:
    """Write to `found` (4,) the greatest gain, the least cost, the sum of the costs that are gains too, and their number."""
    mercer_measure_sweep(&b[0], &slope[0], &lower[0], &upper[0], kink, first, last, &found[0])


cdef inline double gap(const double[::1] b, const double[::1] slope, const double[::1] lower, const double[::1] upper,
                       double kink, double offset, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Return the sum of b (slope - c) + kink |b| less the least of v (slope - c) + kink |v| over each row's box."""
    return mercer_gap_sweep(&b[0], &slope[0], &lower[0], &upper[0], kink, offset, first, last)


cdef inline double value(const double[::1] b, const double[::1] slope, const double[::1] linear,
                         double kink) noexcept nogil:
    """Return the sum of b (slope + linear) / 2 + kink |b|."""
    return mercer_value_sweep(&b[0], &slope[0], &linear[0], kink, b.shape[0])


cdef inline void add(const real[:, ::1] table, const Py_ssize_t[::1] slots, const double[::1] change,
                     Py_ssize_t begin, Py_ssize_t end, Py_ssize_t first, Py_ssize_t last,
                     double[::1] slope) noexcept nogil:
    """Add the rows `slots[begin:end]` of `table`, each times its change, to `slope`, in columns from `first` to `last`."""
    cdef Py_ssize_t r, k, a, b, c, d, whole = end - (end - begin) % 4
    cdef double p, s, t, u
    for r in range(begin, whole, 4):
        a = slots[r]
        b = slots[r + 1]
        c = slots[r + 2]
        d = slots[r + 3]
        p = change[r]
        s = change[r + 1]
        t = change[r + 2]
        u = change[r + 3]
        for k in range(first, last):
            slope[k] += (p * table[a, k] + s * table[b, k]) + (t * table[c, k] + u * table[d, k])
    for r in range(whole, end):
        a = slots[r]
        p = change[r]
        for k in range(first, last):
            slope[k] += p * table[a, k]


cdef inline void mirror(real[:, ::1] K, Py_ssize_t top, Py_ssize_t bottom, Py_ssize_t left,
                        Py_ssize_t right) noexcept nogil:
    """Copy a block of `K` to its mirror image, in tiles of 16 x 16.

    Each cache line of a tile is read once and written once. Where rows have a power of two of columns, the lines of one
    column share their places in the cache, which holds fewer than sixteen of them.
    """
    cdef Py_ssize_t i, j, row, column, high, wide
    cdef real tile[256]
    for column in range(left, right, 16):
        wide = min(<Py_ssize_t> 16, right - column)
        for row in range(top, bottom, 16):
            high = min(<Py_ssize_t> 16, bottom - row)
            if high == 16 and wide == 16:
                for i in range(16):
                    for j in range(16):
                        tile[16 * i + j] = K[row + i, column + j]
                for j in range(16):
                    for i in range(16):
                        K[column + j, row + i] = tile[16 * i + j]
                continue
            for i in range(high):
                for j in range(wide):
                    tile[16 * i + j] = K[row + i, column + j]
            for j in range(wide):
                for i in range(high):
                    K[column + j, row + i] = tile[16 * i + j]


cdef inline void sink(double[::1] values, Py_ssize_t[::1] places, Py_ssize_t at, Py_ssize_t end, double value,
                      Py_ssize_t place) noexcept nogil:
    """Put a value at node `at` of a heap of `end` values, greatest on top, and move it down below greater ones."""
    cdef Py_ssize_t child = 2 * at + 1
    while child < end:
        if child + 1 < end and (values[child + 1] > values[child] or
                                (values[child + 1] == values[child] and places[child + 1] > places[child])):
            child += 1
        if value > values[child] or (value == values[child] and place > places[child]):
            break
        values[at] = values[child]
        places[at] = places[child]
        at = child
        child = 2 * at + 1
    values[at] = value
    places[at] = place


cdef inline void heap(double[::1] values, Py_ssize_t[::1] places, Py_ssize_t count) noexcept nogil:
    """Make a heap of the first `count` values."""
    cdef Py_ssize_t k
    for k in range(count // 2 - 1, -1, -1):
        sink(values, places, k, count, values[k], places[k])


cdef inline void sort_heap(double[::1] values, Py_ssize_t[::1] places, Py_ssize_t count) noexcept nogil:
    """Sort a heap in rising order of value, then of place."""
    cdef Py_ssize_t k, place
    cdef double value
    for k in range(count - 1, 0, -1):
        value = values[k]
        place = places[k]
        values[k] = values[0]
        places[k] = places[0]
        sink(values, places, 0, k, value, place)
