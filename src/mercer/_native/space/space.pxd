# Distances in a tree of boxes whose leaves hold WIDTH rows, one feature after the other. space.py is the uncompiled twin.
#
# Gaps and distances are summed in the order of features, and rounding is monotone: the gap to a box is never above the
# computed distance to a row inside it. So a search that skips far boxes finds exactly what a full search finds.

cdef extern from *:
    """
    #include <math.h>

    #define WIDTH 32
    /* Features between two looks at whether any row of a leaf is still near enough. */
    #define STRETCH 16

    #define DEFINE_LEAF_DISTANCES(REAL, NAME)                                                                      \
    static inline int NAME(const REAL *leaf, const double *x, Py_ssize_t d, double limit, double *out)             \
    {                                                                                                              \
        double sum[WIDTH] = {0};                                                                                   \
        int near = 1;                                                                                              \
        for (Py_ssize_t start = 0; start < d && near; start += STRETCH) {                                          \
            const Py_ssize_t stop = start + STRETCH < d ? start + STRETCH : d;                                     \
            for (Py_ssize_t k = start; k < stop; k++) {                                                            \
                const double value = x[k];                                                                         \
                for (int j = 0; j < WIDTH; j++) {                                                                  \
                    const double difference = (double)leaf[k * WIDTH + j] - value;                                 \
                    sum[j] += difference * difference;                                                             \
                }                                                                                                  \
            }                                                                                                      \
            near = 0;                                                                                              \
            for (int j = 0; j < WIDTH; j++) near |= sum[j] <= limit;                                               \
        }                                                                                                          \
        for (int j = 0; j < WIDTH; j++) out[j] = sum[j];                                                           \
        return near;                                                                                               \
    }
    DEFINE_LEAF_DISTANCES(double, mercer_double_leaf_distances)
    DEFINE_LEAF_DISTANCES(float, mercer_float_leaf_distances)
    """
    int mercer_double_leaf_distances(const double *leaf, const double *x, Py_ssize_t d, double limit,
                                     double *out) noexcept nogil
    int mercer_float_leaf_distances(const float *leaf, const double *x, Py_ssize_t d, double limit,
                                    double *out) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t width() noexcept nogil:
    """Return the number of rows in a leaf."""
    return 32


cdef inline bint leaf_distances(
    const real[:, :, ::1] leaves, Py_ssize_t leaf, const double[::1] x, double limit, double[::1] out
) noexcept nogil:
    """Write the squared distances from `x` to the rows of a leaf; return whether any is at most `limit`.

    Where none is, what is written is only known to be above the limit.
    """
    if real is float:
        return mercer_float_leaf_distances(&leaves[leaf, 0, 0], &x[0], x.shape[0], limit, &out[0])
    else:
        return mercer_double_leaf_distances(&leaves[leaf, 0, 0], &x[0], x.shape[0], limit, &out[0])


cdef inline double box_gap(const double[:, :, ::1] boxes, Py_ssize_t node, const double[:, ::1] box) noexcept nogil:
    """Return the squared distance between the box of a node and another; zero where they meet."""
    cdef Py_ssize_t k
    cdef double total = 0.0, below, above
    for k in range(box.shape[1]):
        below = boxes[node, 0, k] - box[1, k]
        above = box[0, k] - boxes[node, 1, k]
        below = above if above > below else below
        below = below if below > 0.0 else 0.0
        total += below * below
    return total


cdef inline double point_gap(const double[:, :, ::1] boxes, Py_ssize_t node, const double[::1] x) noexcept nogil:
    """Return the squared distance from a point to the box of a node."""
    cdef Py_ssize_t k
    cdef double total = 0.0, below, above
    for k in range(x.shape[0]):
        below = boxes[node, 0, k] - x[k]
        above = x[k] - boxes[node, 1, k]
        below = above if above > below else below
        below = below if below > 0.0 else 0.0
        total += below * below
    return total


cdef inline void enclose(const real[:, ::1] rows, Py_ssize_t start, Py_ssize_t stop, double[:, ::1] box) noexcept nogil:
    """Write the box around some rows."""
    cdef Py_ssize_t i, k
    for k in range(rows.shape[1]):
        box[0, k] = rows[start, k]
        box[1, k] = rows[start, k]
    for i in range(start + 1, stop):
        for k in range(rows.shape[1]):
            if rows[i, k] < box[0, k]:
                box[0, k] = rows[i, k]
            if rows[i, k] > box[1, k]:
                box[1, k] = rows[i, k]


cdef inline Py_ssize_t descend(
    const double[:, :, ::1] boxes,
    const int[:, ::1] nodes,
    const double[:, ::1] box,
    Py_ssize_t top,
    int[::1] stack,
    double[::1] gaps,
) noexcept nogil:
    """Replace the node on top of the stack by its children, the nearer one above; return the new height."""
    cdef Py_ssize_t node = stack[top - 1]
    cdef Py_ssize_t left = node + 1, right = node + 2 * ((nodes[node, 1] + 1) // 2)
    cdef double left_gap = box_gap(boxes, left, box), right_gap = box_gap(boxes, right, box)
    if left_gap <= right_gap:
        stack[top - 1] = <int> right
        gaps[top - 1] = right_gap
        stack[top] = <int> left
        gaps[top] = left_gap
    else:
        stack[top - 1] = <int> left
        gaps[top - 1] = left_gap
        stack[top] = <int> right
        gaps[top] = right_gap
    return top + 1


cdef inline bint precedes(
    double weight, int row, int other, double best_weight, int best_row, int best_other
) noexcept nogil:
    """Return whether an edge comes before the best so far: by weight, then by the lower and the higher row index."""
    cdef int low, high, best_low, best_high
    if weight != best_weight:
        return weight < best_weight
    low = row if row < other else other
    high = other if row < other else row
    best_low = best_row if best_row < best_other else best_other
    best_high = best_other if best_row < best_other else best_row
    return low < best_low or (low == best_low and high < best_high)
