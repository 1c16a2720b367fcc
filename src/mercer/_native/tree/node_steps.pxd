# The steps of growth at a node: describe it by its rows, divide these, and add its children. node_steps.py is the
# uncompiled twin.
#
# A quad holds four numbers of one row. Quads (rows, 4) may be divided together with the rows, so that those of a node
# are contiguous and no node has to gather them again. That is possible if weights are integers and there is one sum.

from mercer._native.tree cimport code_order, node_sums
from mercer._native.tree.code_order cimport code
from mercer._native.tree.node_search cimport LEFT, Growth, Node, Table
from mercer._native.tree.random_scan cimport SMALL, real

# Columns of `quads`: 1, weight, amount and target of a row.
cdef enum:
    ONE
    WEIGHT
    AMOUNT
    TARGET

# Columns of `stack`, nodes that are still to be split: index, where its rows begin and end, seed, depth.
cdef enum:
    INDEX
    START
    STOP
    SEED
    DEPTH

# Columns of `links`, a row for each node: left child (-1 at a leaf; the right one is the next), feature, the greatest
# code that goes left and the least that does not, where missing rows go, rows, whether all targets are equal.
cdef enum:
    CHILD
    FEATURE
    GREATEST_LEFT
    LEAST_RIGHT
    SIDE
    ROWS
    PURE

# Columns of `numbers`, a row for each node: the threshold if cuts are random, the weight, then the weights of classes,
# or the means of targets and their variances.
cdef enum:
    THRESHOLD
    NODE_WEIGHT
    DESCRIBED

# Nodes of at most this many rows are divided by the codes of the matrix, whose rows share lines of the cache.
cdef enum:
    BY_ROWS = 256


cdef inline double sum_signed(
    const double[:, ::1] quads, Py_ssize_t start, Py_ssize_t stop, double[::1] counts
) noexcept nogil:
    """As :func:`sum_classes` for two classes, whose weights are (w - s) / 2 and (w + s) / 2.

    w is the weight of the rows and s the sum of their amounts, the weight with the sign of the class; both are exact.
    """
    cdef Py_ssize_t i
    cdef double weight = 0.0, amount = 0.0
    for i in range(start, stop):
        weight += quads[i, WEIGHT]
        amount += quads[i, AMOUNT]
    counts[0] = (weight - amount) / 2
    counts[1] = (weight + amount) / 2
    return weight


cdef inline bint sum_kept(
    const double[:, ::1] quads, Py_ssize_t start, Py_ssize_t stop, double[::1] known
) noexcept nogil:
    """As :func:`sum_values` for one target; `known` receives weight, mean and variance."""
    cdef Py_ssize_t i
    cdef double total = 0.0, mean = 0.0, rest = 0.0, square = 0.0, least = quads[start, TARGET], most = least, y, w
    for i in range(start, stop):
        w = quads[i, WEIGHT]
        y = quads[i, TARGET]
        total += w
        mean += w * y
        least = y if y < least else least
        most = y if y > most else most
    mean /= total
    # The mean of the deviations corrects the rounding of the first pass; see `sum_values`.
    for i in range(start, stop):
        w = quads[i, WEIGHT]
        y = quads[i, TARGET] - mean
        rest += w * y
        square += w * y * y
    rest /= total
    known[0] = total
    known[1] = least if least == most else mean + rest
    known[2] = 0.0 if least == most else square / total - rest * rest
    return least == most


cdef inline long long seed_child(long long seed, int is_right) noexcept nogil:
    """Return the seed of a child, which depends on the path from the root alone."""
    return code_order.mix(seed + (0x2545F491LL if is_right else 0x51ED2701LL))


cdef inline void move_row(
    Growth growth, double[:, ::1] quads, bint is_kept, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b
) noexcept nogil:
    """Write row i both to ``rows[a]`` and to ``spare[b]``; the next row overwrites the wrong copy.

    The caller raises `a` if the row goes left and `b` otherwise. That costs less than a branch that cannot be
    predicted. As a <= i, no row is overwritten before it is read.
    """
    cdef Py_ssize_t k
    growth.spare[b] = growth.rows[i]
    growth.rows[a] = growth.spare[b]
    if is_kept:
        for k in range(4):
            growth.spare_quads[b, k] = quads[i, k]
            quads[a, k] = growth.spare_quads[b, k]


cdef inline void bring_back(
    Growth growth, double[:, ::1] quads, bint is_kept, Py_ssize_t a, Py_ssize_t b
) noexcept nogil:
    """Copy the first `b` spare rows, which go right, to the places from `a` on."""
    cdef Py_ssize_t i, k
    for i in range(b):
        growth.rows[a + i] = growth.spare[i]
    if is_kept:
        for i in range(b):
            for k in range(4):
                quads[a + i, k] = growth.spare_quads[i, k]


cdef inline Py_ssize_t divide_node(
    const code[:, ::1] codes, const code[:, ::1] matrix, Table table, Node node, Growth growth, int[::1] link
) noexcept nogil:
    """Put the rows with codes up to the best cut before the others, both in their order.

    Return where the rows that go right begin; `link` receives the greatest known code on the left and the least on the
    right, between which the threshold lies.
    """
    cdef Py_ssize_t i, start = node.start, stop = node.start + node.count, a = start, b = 0
    cdef Py_ssize_t feature = node.best_feature
    cdef long long value, cut = node.best_cut, missing = table.missing[0, feature], most = -1, least = 2147483647
    cdef bint is_left, missing_left = node.best_side == LEFT, is_kept = node.is_kept
    cdef bint by_rows = node.count <= BY_ROWS and matrix.shape[0]
    for i in range(start, stop):
        value = matrix[growth.rows[i], feature] if by_rows else codes[feature, growth.rows[i]]
        if value == missing:
            is_left = missing_left
        else:
            is_left = value <= cut
            most = value if is_left and value > most else most
            least = value if not is_left and value < least else least
        move_row(growth, node.quads, is_kept, i, a, b)
        a += is_left
        b += not is_left
    bring_back(growth, node.quads, is_kept, a, b)
    link[GREATEST_LEFT] = <int> most
    link[LEAST_RIGHT] = <int> least
    return a


cdef inline Py_ssize_t divide_coarse(
    const code[:, ::1] codes, Table table, Node node, Growth growth, int[::1] link
) noexcept nogil:
    """As :func:`divide_node` by coarse codes, none of them missing, which the search has just read into the cache.

    The greatest code on the left is in the step `cut`, which has rows because the search chose it, and the least on the
    right in the next step that has rows, `above`: only the codes of rows in these two steps are read.
    """
    cdef Py_ssize_t i, start = node.start, stop = node.start + node.count, a = start, b = 0
    cdef Py_ssize_t feature = node.best_feature
    cdef int step, cut = <int> node.best_cut, above = 256, most = -1, least = 2147483647
    cdef bint is_left, is_kept = node.is_kept, by_rows = 8 * node.count < table.coarse_matrix.shape[0]
    for i in range(start, stop):
        step = table.coarse_matrix[growth.rows[i], feature] if by_rows else table.coarse[feature, growth.rows[i]]
        is_left = step <= cut
        above = step if step > cut and step < above else above
        move_row(growth, node.quads, is_kept, i, a, b)
        a += is_left
        b += not is_left
    bring_back(growth, node.quads, is_kept, a, b)
    for i in range(start, stop):
        step = table.coarse_matrix[growth.rows[i], feature] if by_rows else table.coarse[feature, growth.rows[i]]
        if step == cut and codes[feature, growth.rows[i]] > most:
            most = codes[feature, growth.rows[i]]
        elif step == above and codes[feature, growth.rows[i]] < least:
            least = codes[feature, growth.rows[i]]
    link[GREATEST_LEFT] = most
    link[LEAST_RIGHT] = least
    return a


cdef inline Py_ssize_t divide_values(
    const real[:, ::1] values, const real[:, ::1] matrix, Node node, Growth growth, int[::1] link
) noexcept nogil:
    """As :func:`divide_node` by the best random threshold; `link` receives zeros, for there are no codes."""
    cdef Py_ssize_t i, start = node.start, stop = node.start + node.count, a = start, b = 0
    cdef Py_ssize_t feature = node.best_feature
    cdef double value, threshold = node.best_threshold
    cdef bint is_left, missing_left = node.best_side == LEFT, is_kept = node.is_kept, by_rows = node.count < SMALL
    for i in range(start, stop):
        value = matrix[growth.rows[i], feature] if by_rows else values[feature, growth.rows[i]]
        is_left = (value <= threshold) | ((value != value) & missing_left)
        move_row(growth, node.quads, is_kept, i, a, b)
        a += is_left
        b += not is_left
    bring_back(growth, node.quads, is_kept, a, b)
    link[GREATEST_LEFT] = 0
    link[LEAST_RIGHT] = 0
    return a


cdef inline void add_node(
    Node node, Growth growth, double[::1] known, Py_ssize_t start, Py_ssize_t stop, long long seed, long long depth
) noexcept nogil:
    """Describe the rows from `start` to `stop` in `known`, and put their node on the stack if it may be split."""
    cdef Py_ssize_t index = growth.n_nodes, top = growth.height, outputs = growth.targets.shape[1]
    cdef bint pure
    if growth.firsts.shape[0]:
        if node.is_kept:
            known[NODE_WEIGHT] = sum_signed(node.quads, start, stop, known[DESCRIBED:])
        else:
            known[NODE_WEIGHT] = node_sums.sum_classes(
                growth.rows, start, stop, growth.labels, growth.weight, known[DESCRIBED:]
            )
        pure = node_sums.are_pure(known[DESCRIBED:], growth.firsts, known[NODE_WEIGHT])
    elif node.is_kept:
        pure = sum_kept(node.quads, start, stop, known[NODE_WEIGHT:])
    else:
        pure = node_sums.sum_values(
            growth.rows, start, stop, growth.targets, growth.weight, known[DESCRIBED:], known[DESCRIBED + outputs:],
            known[NODE_WEIGHT:],
        )
    growth.links[index, CHILD] = -1
    growth.links[index, ROWS] = <int> (stop - start)
    growth.links[index, PURE] = pure
    growth.n_nodes += 1
    if pure or stop - start < growth.min_rows or known[NODE_WEIGHT] < growth.min_weight or depth >= growth.max_depth:
        return
    growth.stack[top, INDEX] = index
    growth.stack[top, START] = start
    growth.stack[top, STOP] = stop
    growth.stack[top, SEED] = seed
    growth.stack[top, DEPTH] = depth
    growth.height += 1


cdef inline void add_children(
    Node node, Growth growth, Py_ssize_t middle, long long depth
) noexcept nogil:
    """Add both children of a node, whose right rows begin at `middle`.

    The smaller child is put on top of the stack and is split first. It has at most half of the rows of its parent, so
    that at most log2(n) larger siblings wait on the stack at any time.
    """
    cdef long long held
    cdef Py_ssize_t k, top = growth.height, start = node.start, stop = node.start + node.count
    growth.links[node.index, CHILD] = <int> growth.n_nodes
    add_node(node, growth, growth.numbers[growth.n_nodes], start, middle, seed_child(node.seed, 0), depth)
    add_node(node, growth, growth.numbers[growth.n_nodes], middle, stop, seed_child(node.seed, 1), depth)
    if growth.height == top + 2 and middle - start < stop - middle:
        for k in range(5):
            held = growth.stack[top, k]
            growth.stack[top, k] = growth.stack[top + 1, k]
            growth.stack[top + 1, k] = held
