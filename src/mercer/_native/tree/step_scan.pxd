# The best of all cuts of a large node, found through steps of its columns. Only node_search uses it; uncompiled, every
# cut is tried, which finds the same one.
#
# A step is a run of neighbouring codes. With the weight W and the sum S of a node, a cut that has w and s on the left is
# worth f(w, s) = s^2 / w + (S - s)^2 / (W - w), a convex function. First the cuts between steps are judged. The rows of
# a step have ratios of amount to weight between `low` and `high`, those of the node; therefore the cuts inside a step
# lie in a parallelogram: two of its corners are the cuts before and after the step, and the others take the rows of the
# step as if all had one of the two ratios, the high ones first or the low ones first. f is largest at a corner. Only
# steps with a corner that may exceed the best cut so far are searched row by row: a few rows in a thousand.

from mercer._native.tree cimport code_order, impurity, split_scan
from mercer._native.tree.code_order cimport code
from mercer._native.tree.node_search cimport NONE_MISSING, NO_ORDER, Limits, Node, Table

# Nodes of fewer rows are sorted.
cdef enum:
    FEWEST = 64

# From this many rows on the steps are those of the coarse codes, at most 256; below, four of these are joined.
cdef enum:
    MANY = 1024

# Room for a column, in numbers: weights and sums by step, and both again as running sums, from zero to the whole.
cdef enum:
    CELLS = 512
    RUNNING = 528
    HALF = 264

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* Add weight and amount of each row to the cells of its steps in m columns. A row's codes are next to each other,
       and the cells of eight columns, 32 KiB, stay in the first-level cache. */
    static inline void mercer_fill_group(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                         const double *quads, int shift, double *cells, const int m)
    {
        const Py_ssize_t width = 512 >> shift;
        for (Py_ssize_t i = 0; i < n; i++) {
            const unsigned char *own = codes + stride * (Py_ssize_t)rows[i];
            const double weight = quads[4 * i + 1], amount = quads[4 * i + 2];
            for (int k = 0; k < m; k++) {
                double *cell = cells + k * width + 2 * (own[k] >> shift);
                const double a = cell[0] + weight, b = cell[1] + amount;
                cell[0] = a; cell[1] = b;
            }
        }
    }

    static inline void mercer_fill_steps(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                         const double *quads, int shift, double *cells, Py_ssize_t d)
    {
        const Py_ssize_t width = 512 >> shift;
        Py_ssize_t k = 0;
        memset(cells, 0, sizeof(double) * d * width);
        for (; k + 8 <= d; k += 8) mercer_fill_group(codes + k, stride, rows, n, quads, shift, cells + k * width, 8);
        for (; k + 2 <= d; k += 2) mercer_fill_group(codes + k, stride, rows, n, quads, shift, cells + k * width, 2);
        if (k < d) mercer_fill_group(codes + k, stride, rows, n, quads, shift, cells + k * width, 1);
    }

    /* Write the weight and the sum before each step, and after the last. */
    static inline void mercer_add_up(const double *cells, Py_ssize_t steps, double *weights, double *sums)
    {
        double weight = 0.0, sum = 0.0;
        for (Py_ssize_t b = 0; b < steps; b++) {
            weights[b] = weight; sums[b] = sum;
            weight += cells[2 * b]; sum += cells[2 * b + 1];
        }
        weights[steps] = weight; sums[steps] = sum;
    }

    /* Return whether a cut between steps may be worth more than `bound`; see may_be_better in split_scan.pxd. */
    static inline int mercer_has_better(const double *weights, const double *sums, Py_ssize_t steps, double bound)
    {
        const double whole = weights[steps], total = sums[steps];
        int found = 0;
        for (Py_ssize_t b = 1; b < steps; b++) {
            const double w = weights[b], s = sums[b], v = whole - w, r = total - s;
            found |= s * s * v + r * r * w > bound * (w * v);
        }
        return found;
    }

    /* Mark the steps with rows inside which a cut may be worth `bound` or more; return whether there are any. */
    static inline int mercer_mark_steps(const double *weights, const double *sums, Py_ssize_t steps, double bound,
                                        double low, double high, unsigned char *marks)
    {
        const double whole = weights[steps], total = sums[steps], share = 1.0 / (high - low);
        int found = 0;
        for (Py_ssize_t b = 0; b < steps; b++) {
            const double weight = weights[b + 1] - weights[b], sum = sums[b + 1] - sums[b];
            const double p = (sum - low * weight) * share, q = weight - p;
            const double w = weights[b] + p, s = sums[b] + high * p, v = whole - w, r = total - s;
            const double x = weights[b] + q, t = sums[b] + low * q, y = whole - x, u = total - t;
            const int mark = ((s * s * v + r * r * w >= bound * (w * v)) | (t * t * y + u * u * x >= bound * (x * y)))
                             & (weight > 0.0);
            marks[b] = (unsigned char)mark;
            found |= mark;
        }
        return found;
    }

    /* Write the places of the rows in marked steps; return their number. */
    static inline Py_ssize_t mercer_take_marked(const unsigned char *codes, Py_ssize_t stride, const int *rows,
                                                Py_ssize_t n, int shift, const unsigned char *marks, long long *places)
    {
        Py_ssize_t taken = 0;
        for (Py_ssize_t i = 0; i < n; i++)
            if (marks[codes[stride * (Py_ssize_t)rows[i]] >> shift]) places[taken++] = i;
        return taken;
    }
    """
    void mercer_fill_steps(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                           const double *quads, int shift, double *cells, Py_ssize_t d) noexcept nogil
    void mercer_add_up(const double *cells, Py_ssize_t steps, double *weights, double *sums) noexcept nogil
    int mercer_has_better(const double *weights, const double *sums, Py_ssize_t steps, double bound) noexcept nogil
    int mercer_mark_steps(const double *weights, const double *sums, Py_ssize_t steps, double bound, double low,
                          double high, unsigned char *marks) noexcept nogil
    Py_ssize_t mercer_take_marked(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                  int shift, const unsigned char *marks, long long *places) noexcept nogil


cdef inline void judge_edges(
    Table table, Limits limits, Node node, const double *weights, const double *sums, int shift
) noexcept nogil:
    """Judge the cuts between the steps of one column."""
    cdef Py_ssize_t b
    cdef double bound = split_scan.lower_best(node), rows
    for b in range(1, 256 >> shift):
        # An empty step gives the cut before it once more.
        if weights[b] == weights[b - 1] or weights[b] == node.weight:
            continue
        if split_scan.may_be_better(sums[b], node.total[0] - sums[b], weights[b], node.weight - weights[b], bound):
            # Without a limit of rows there is at least one on either side; with one every weight is 1.
            rows = weights[b] if limits.min_rows > 1.0 else 1.0
            bound = split_scan.judge_single(
                node, limits, sums[b], weights[b], rows, table.edges[node.feature, (b << shift) - 1]
            )


cdef inline void judge_inside(Node node, Limits limits, double sum, double weight, long long cut) noexcept nogil:
    """Keep the cut after the code `cut` if it is better than the best, or as good and would have been tried earlier."""
    cdef double other = node.total[0] - sum, worth, rows = weight if limits.min_rows > 1.0 else 1.0
    if not impurity.may_split(node, limits, weight, rows):
        return
    worth = sum * sum / weight + other * other / (node.weight - weight)
    if worth == node.best_worth and (
        node.feature < node.best_feature or (node.feature == node.best_feature and cut < node.best_cut)
    ):
        node.best_feature = node.feature
        node.best_cut = cut
    node.cut = cut
    impurity.keep_better(node, worth)


cdef inline bint unmark_single(Table table, Node node, int shift, unsigned char *marks) noexcept nogil:
    """Take the mark from steps of one code, which have no cut inside; return whether a mark is left."""
    cdef Py_ssize_t b
    cdef int before = -1, last, left = 0
    for b in range(256 >> shift):
        last = table.edges[node.feature, ((b + 1) << shift) - 1]
        if last - before <= 1:
            marks[b] = 0
        left |= marks[b]
        before = last
    return left


cdef inline void search_marked(
    const code[:, ::1] codes, Table table, Limits limits, Node node, const double *weights, const double *sums,
    int shift, const unsigned char *marks
) noexcept nogil:
    """Judge every cut inside the marked steps of one column."""
    cdef Py_ssize_t i, p, taken, step, last = -1, feature = node.feature, start = node.start
    cdef long long *keys = &node.keys[0, 0]
    cdef long long value, least = 1LL << 40, greatest = -1
    cdef double weight = 0.0, sum = 0.0, whole = node.weight, total = node.total[0], bound
    taken = mercer_take_marked(
        &table.coarse_matrix[0, feature], table.coarse_matrix.shape[1], &node.rows[start], node.count, shift, marks, keys
    )
    for i in range(taken):
        value = codes[feature, node.rows[start + keys[i]]]
        least = value if value < least else least
        greatest = value if value > greatest else greatest
        keys[i] += value << 32
    code_order.order_keys(node.keys[0], node.keys[1], taken, least, greatest)
    for i in range(taken - 1):
        p = code_order.read_place(keys[i])
        step = table.coarse_matrix[node.rows[start + p], feature] >> shift
        if step != last:
            weight = weights[step]
            sum = sums[step]
            last = step
        weight += node.quads[node.first + p, split_scan.WEIGHT]
        sum += node.quads[node.first + p, split_scan.AMOUNT]
        if keys[i] >> 32 == keys[i + 1] >> 32:
            continue
        bound = split_scan.lower_best(node)
        if sum * sum * (whole - weight) + (total - sum) * (total - sum) * weight >= bound * (weight * (whole - weight)):
            judge_inside(node, limits, sum, weight, keys[i] >> 32)


cdef inline void refine(
    const code[:, ::1] codes, Table table, Limits limits, Node node, const double *running, Py_ssize_t k, int shift,
    double low, double high
) noexcept nogil:
    """Search the steps of column `k` of the node's features inside which a cut may be as good as the best."""
    cdef const double *weights = running + RUNNING * k
    cdef const double *sums = weights + HALF
    cdef unsigned char marks[256]
    # The corners are rounded, by less than 1e-12 of the largest worth that the rows could have.
    cdef double bound = split_scan.lower_best(node) - 1e-12 * (low * low if -low > high else high * high) * node.weight
    node.feature = node.features[k]
    if mercer_mark_steps(weights, sums, 256 >> shift, bound, low, high, &marks[0]):
        if unmark_single(table, node, shift, &marks[0]):
            search_marked(codes, table, limits, node, weights, sums, shift, &marks[0])


cdef inline bint may_search(Node node) noexcept nogil:
    """Return whether a node is large enough for steps, and there are any."""
    return node.count >= FEWEST and node.steps.shape[0] > 0


cdef inline bint search_steps(const code[:, ::1] codes, Table table, Limits limits, Node node) noexcept nogil:
    """Find the best cut of a node by all of its features, which are neighbours; return whether it could be done.

    It cannot if all ratios are equal: then all cuts are equally good, and only their order decides.
    """
    cdef Py_ssize_t i, k, d = node.features.shape[0], steps
    cdef int shift = 0 if node.count >= MANY else 2
    cdef double low = 1e308, high = -1e308, ratio
    cdef double *cells = &node.steps[0]
    cdef double *running = cells + CELLS * d
    steps = 256 >> shift
    for i in range(node.first, node.first + node.count):
        ratio = node.quads[i, split_scan.AMOUNT] / node.quads[i, split_scan.WEIGHT]
        low = ratio if ratio < low else low
        high = ratio if ratio > high else high
    if low == high:
        return False
    node.side = NONE_MISSING
    node.sign = NO_ORDER
    mercer_fill_steps(
        &table.coarse_matrix[0, node.features[0]], table.coarse_matrix.shape[1], &node.rows[node.start], node.count,
        &node.quads[node.first, 0], shift, cells, d,
    )
    for k in range(d):
        node.feature = node.features[k]
        mercer_add_up(cells + 2 * steps * k, steps, running + RUNNING * k, running + RUNNING * k + HALF)
        if mercer_has_better(running + RUNNING * k, running + RUNNING * k + HALF, steps, split_scan.lower_best(node)):
            judge_edges(table, limits, node, running + RUNNING * k, running + RUNNING * k + HALF, shift)
    for k in range(d):
        refine(codes, table, limits, node, running, k, shift, low, high)
    return True
