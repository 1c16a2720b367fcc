# Sorting, sums and ranges over the rows of a node, several at a time: node_lanes.h over arrays. node_lanes.py is the
# uncompiled twin.

from mercer._native.tree.growth_records cimport Quad

cdef extern from "node_lanes.h":
    void mercer_order_keys(long long *keys, long long *spare, Py_ssize_t n, long long least,
                           long long greatest) noexcept nogil
    void mercer_fill_cells(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                           const double *quads, double *cells) noexcept nogil
    void mercer_order_few(int *codes, const double *quads, Py_ssize_t n, int *ordered, double *pairs) noexcept nogil
    Py_ssize_t mercer_find_range(const double *values, Py_ssize_t n, double *ends) noexcept nogil
    void mercer_sum_quads(const double *values, Py_ssize_t n, double threshold, const double *quads,
                          double *sums) noexcept nogil
    void mercer_fill_steps(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                           const double *quads, int shift, double *cells, Py_ssize_t d) noexcept nogil
    void mercer_add_up(const double *cells, Py_ssize_t steps, double *weights, double *sums) noexcept nogil
    int mercer_has_better(const double *weights, const double *sums, Py_ssize_t steps, double bound) noexcept nogil
    int mercer_mark_steps(const double *weights, const double *sums, Py_ssize_t steps, double bound, double low,
                          double high, unsigned char *marks) noexcept nogil
    Py_ssize_t mercer_take_marked(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                  int shift, const unsigned char *marks, long long *places) noexcept nogil


cdef inline void order_keys(long long[:, ::1] keys, Py_ssize_t n, long long least, long long greatest) noexcept nogil:
    """Sort the first n keys of ``keys[0]``, whose codes lie between `least` and `greatest`; ``keys[1]`` is scratch."""
    mercer_order_keys(&keys[0, 0], &keys[1, 0], n, least, greatest)


cdef inline void order_few(int[:, ::1] few, const Quad[::1] quads, Py_ssize_t first, Py_ssize_t n,
                           double[::1] pairs) noexcept nogil:
    """Sort the first n codes of ``few[0]`` into ``few[1]``, and write weight and amount of each row to `pairs`."""
    mercer_order_few(&few[0, 0], <const double *> &quads[first], n, &few[1, 0], &pairs[0])


cdef inline void sum_by_code(const unsigned char[:, ::1] codes, Py_ssize_t feature, bint by_rows, const int[::1] rows,
                             Py_ssize_t start, Py_ssize_t n, const Quad[::1] quads, Py_ssize_t first,
                             double[::1] cells) noexcept nogil:
    """Sum the quads of n rows by their codes into `cells`; the codes of a row are a column of `codes` unless `by_rows`."""
    if by_rows:
        mercer_fill_cells(&codes[0, feature], codes.shape[1], &rows[start], n, <const double *> &quads[first], &cells[0])
    else:
        mercer_fill_cells(&codes[feature, 0], 1, &rows[start], n, <const double *> &quads[first], &cells[0])


cdef inline Py_ssize_t find_range(const double[::1] values, Py_ssize_t n, double[::1] ends) noexcept nogil:
    """Write the least and the greatest of the first n values to `ends`; return the number of NaN among them."""
    return mercer_find_range(&values[0], n, &ends[0])


cdef inline void sum_quads(const double[::1] values, Py_ssize_t n, double threshold, const Quad[::1] quads,
                           Py_ssize_t first, double[::1] sums) noexcept nogil:
    """Write to `sums` the sum of the quads from `first` on whose values, none missing, are at most `threshold`."""
    mercer_sum_quads(&values[0], n, threshold, <const double *> &quads[first], &sums[0])


cdef inline void sum_steps(const unsigned char[:, ::1] codes, Py_ssize_t feature, const int[::1] rows, Py_ssize_t start,
                           Py_ssize_t n, const Quad[::1] quads, Py_ssize_t first, int shift, double[::1] steps,
                           Py_ssize_t d) noexcept nogil:
    """Sum weight and amount of n rows by the steps of the d columns from `feature` on."""
    mercer_fill_steps(&codes[0, feature], codes.shape[1], &rows[start], n, <const double *> &quads[first], shift,
                      &steps[0], d)


cdef inline void add_up(double[::1] steps, Py_ssize_t cells, Py_ssize_t n, Py_ssize_t weights,
                        Py_ssize_t sums) noexcept nogil:
    """Write the weight and the sum before each of n steps, whose cells begin at `cells`, and after the last."""
    mercer_add_up(&steps[cells], n, &steps[weights], &steps[sums])


cdef inline bint has_better(const double[::1] steps, Py_ssize_t weights, Py_ssize_t sums, Py_ssize_t n,
                            double bound) noexcept nogil:
    """Return whether a cut between steps may be worth more than `bound`."""
    return mercer_has_better(&steps[weights], &steps[sums], n, bound)


cdef inline bint mark_steps(const double[::1] steps, Py_ssize_t weights, Py_ssize_t sums, Py_ssize_t n, double bound,
                            double low, double high, unsigned char[::1] marks) noexcept nogil:
    """Mark the steps with rows inside which a cut may be worth `bound` or more; return whether there are any."""
    return mercer_mark_steps(&steps[weights], &steps[sums], n, bound, low, high, &marks[0])


cdef inline Py_ssize_t list_marked(const unsigned char[:, ::1] codes, Py_ssize_t feature, const int[::1] rows,
                                   Py_ssize_t start, Py_ssize_t n, int shift, const unsigned char[::1] marks,
                                   long long[:, ::1] keys) noexcept nogil:
    """Write the places of the rows in marked steps to ``keys[0]``; return their number."""
    return mercer_take_marked(&codes[0, feature], codes.shape[1], &rows[start], n, shift, &marks[0], &keys[0, 0])
