# Steps of Shapley values of trees over the lanes of a block of rows: share_lanes.h over arrays. share_lanes.py is the
# uncompiled twin.

cdef extern from "share_lanes.h":
    void mercer_send_lanes(const double *x, double threshold, long long *left) noexcept nogil
    void mercer_keep_lanes(const long long *on, const long long *left, long long side, long long *below) noexcept nogil
    void mercer_split_lanes(double *above, double *below, const long long *on, const long long *left,
                            const double *table, Py_ssize_t points, int first) noexcept nogil
    void mercer_join_lanes(double *above, const double *below, const long long *on, const long long *left,
                           const double *table, Py_ssize_t points, double *share, double *change,
                           int kind) noexcept nogil
    void mercer_end_lanes(double *above, const long long *on, const long long *left, const double *table,
                          Py_ssize_t points, double *share, double *change, int kind) noexcept nogil
    void mercer_pair_lanes(const double *change, const long long *on, const double *own, const double *other,
                           Py_ssize_t points, double *share) noexcept nogil


cdef inline void send(const double[:, ::1] x, Py_ssize_t column, double threshold, long long[:, ::1] masks,
                      Py_ssize_t level) noexcept nogil:
    """Write which rows go left at the node of `level`."""
    mercer_send_lanes(&x[column, 0], threshold, &masks[2 * level + 1, 0])


cdef inline void keep(long long[:, ::1] masks, Py_ssize_t before, Py_ssize_t level, long long side) noexcept nogil:
    """Write which rows keep to the path at a child of the node of `level`; `side` is 0 for the left child, else -1."""
    mercer_keep_lanes(&masks[2 * before, 0], &masks[2 * level + 1, 0], side, &masks[2 * level + 2, 0])


cdef inline void split(double[:, ::1] products, Py_ssize_t at, Py_ssize_t spare, const long long[:, ::1] masks,
                       Py_ssize_t before, Py_ssize_t level, const double[::1] tables, Py_ssize_t place,
                       Py_ssize_t points) noexcept nogil:
    """Multiply the products at a node into those at its children: the left one's at `spare`, the right one's in place."""
    mercer_split_lanes(&products[at, 0], &products[spare, 0], &masks[2 * before, 0], &masks[2 * level + 1, 0],
                       &tables[place], points, before == 0)


cdef inline void join(double[:, ::1] products, Py_ssize_t at, Py_ssize_t spare, const long long[:, ::1] masks,
                      Py_ssize_t before, Py_ssize_t level, const double[::1] tables, Py_ssize_t place,
                      Py_ssize_t points, double[:, ::1] shares, Py_ssize_t column, double[::1] change) noexcept nogil:
    """Add up the sums at the children of a node, and add to the shares of its column; keep the changes if there is room."""
    mercer_join_lanes(&products[at, 0], &products[spare, 0], &masks[2 * before, 0], &masks[2 * level + 1, 0],
                      &tables[place], points, &shares[column, 0], &change[0],
                      2 * (change.shape[0] > 0) + (before == 0))


cdef inline void end(double[:, ::1] products, Py_ssize_t at, const long long[:, ::1] masks, Py_ssize_t before,
                     Py_ssize_t level, const double[::1] tables, Py_ssize_t place, Py_ssize_t points,
                     double[:, ::1] shares, Py_ssize_t column, double[::1] change) noexcept nogil:
    """Do what `split` and `join` do at a node whose children are leaves."""
    mercer_end_lanes(&products[at, 0], &masks[2 * before, 0], &masks[2 * level + 1, 0], &tables[place], points,
                     &shares[column, 0], &change[0], 2 * (change.shape[0] > 0) + (before == 0))


cdef inline void pair(const double[::1] change, const long long[:, ::1] masks, Py_ssize_t level,
                      const double[::1] effects, Py_ssize_t own, Py_ssize_t other, Py_ssize_t points,
                      double[:, ::1] shares, Py_ssize_t cell) noexcept nogil:
    """Add the changes, times the effect of the column of the edge into `level`, to the shares of a pair of columns."""
    mercer_pair_lanes(&change[0], &masks[2 * level, 0], &effects[own], &effects[other], points, &shares[cell, 0])
