# One cut of a node's rows at a threshold drawn at random, judged by sums. random_scan.py is the uncompiled twin.

from libc.math cimport NAN

from mercer._native.tree cimport code_order, impurity, value_cut
from mercer._native.tree.code_order cimport code
from mercer._native.tree.node_search cimport LEFT, NONE_MISSING, RIGHT, Limits, Node, Table

ctypedef fused real:
    float
    double

# Nodes of fewer rows read the matrix by rows: the rows lie far apart in memory, but the next features of a row are in
# the same lines of the cache.
cdef enum:
    SMALL = 1024


cdef inline void gather_values(const real[:, ::1] values, const real[:, ::1] matrix, Node node) noexcept nogil:
    """Write the values of the node's rows in its feature to ``node.values``."""
    cdef Py_ssize_t i, feature = node.feature, start = node.start
    if node.count < SMALL:
        for i in range(node.count):
            node.values[i] = matrix[node.rows[start + i], feature]
    else:
        for i in range(node.count):
            node.values[i] = values[feature, node.rows[start + i]]


cdef inline void decode_values(const code[:, ::1] codes, Table table, Node node) noexcept nogil:
    """Write the values that the codes of the node's rows stand for to ``node.values``; NaN if missing."""
    cdef Py_ssize_t i, feature = node.feature, start = node.start
    cdef long long own, offset = table.offsets[feature], unknown = table.missing[0, feature]
    for i in range(node.count):
        own = codes[feature, node.rows[start + i]]
        node.values[i] = NAN if own == unknown else table.values[offset + own]


cdef inline void sum_left(Node node, double threshold, double missing_left) noexcept nogil:
    """Sum the rows that go left: amounts to ``node.left``, number and weight to ``node.sums``.

    A row goes left if its value is at most `threshold`, or if it is missing and `missing_left` is 1.
    """
    cdef Py_ssize_t i, o
    # A product with 0 or 1 costs less than a branch that cannot be predicted.
    cdef double go, rows = 0.0, weight = 0.0
    for i in range(node.left.shape[0]):
        node.left[i] = 0.0
    for i in range(node.count):
        go = (node.values[i] <= threshold) + missing_left * (node.values[i] != node.values[i])
        rows += go
        weight += go * node.own_weight[i]
        for o in range(node.own_slots.shape[1]):
            node.left[node.own_slots[i, o]] += go * node.own_amounts[i, o]
    node.sums[0] = rows
    node.sums[1] = weight


cdef inline bint scan_random(Node node, Limits limits) noexcept nogil:
    """Judge one random cut of ``node.values``; return whether they vary."""
    cdef Py_ssize_t unknown = value_cut.find_range(node.values, node.count, node.sums)
    cdef double low = node.sums[0], high = node.sums[1], before = node.best_worth, threshold
    if unknown == node.count or (unknown == 0 and low == high):
        return False
    threshold = code_order.draw_threshold(node.seed, node.feature, low, high)
    node.side = NONE_MISSING
    node.cut = 0
    if node.quads.shape[0] and unknown == 0:
        value_cut.sum_quads(node.values, node.count, threshold, node.quads, node.first, node.sums)
        node.left[0] = node.sums[2]
    else:
        if unknown:
            # If all known values are equal, the only split is between known and missing rows.
            node.side = RIGHT if low == high else code_order.draw_side(node.seed, node.feature)
        sum_left(node, threshold, 1.0 if node.side == LEFT else 0.0)
    impurity.judge(node, limits, node.sums[1], node.sums[0])
    if node.best_worth > before:
        node.best_threshold = threshold
    return True


cdef inline bint scan_random_values(
    const real[:, ::1] values, const real[:, ::1] matrix, Limits limits, Node node
) noexcept nogil:
    """Try one random cut of the values of a column; return whether they vary."""
    gather_values(values, matrix, node)
    return scan_random(node, limits)


cdef inline bint scan_random_codes(const code[:, ::1] codes, Table table, Limits limits, Node node) noexcept nogil:
    """Try one random cut of the values that codes stand for, and keep it also as the last code below the threshold."""
    cdef bint is_varied
    cdef Py_ssize_t first = table.offsets[node.feature], last = table.offsets[node.feature + 1] - 1
    cdef double before = node.best_worth
    decode_values(codes, table, node)
    is_varied = scan_random(node, limits)
    if node.best_worth > before:
        node.best_cut = code_order.find_last_below(table.values, first, last, node.best_threshold) - first
    return is_varied
