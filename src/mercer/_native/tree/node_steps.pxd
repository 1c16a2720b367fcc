# What growth does to a node: describe it by its rows, divide these, and add its children. node_steps.py is the
# uncompiled twin.
#
# A tree as it grows is a few arrays.
# state: the height of the stack, the number of nodes, and whether rows keep their quads.
# stack: (height, 5), nodes that are still to be split: number, where rows begin and end, seed, depth.
# links: (nodes, 7): left child (-1 at a leaf; the right one is the next), feature, the greatest code that goes left and
#     the least that does not, where missing rows go (2: there are none), rows, whether there is nothing to tell apart.
# numbers: (nodes, 2 + ...): threshold where cuts are random, weight, then the weights of classes, or means of targets
#     and their variances.
# quads: (rows, 4): 1, weight, amount and target of each row, kept beside it when rows are divided, so that no
#     node has to fetch them; for weights that are whole numbers, and one sum.
# limits: rows and weight that a node needs to be split, the greatest depth, what turns a gain into weighted impurity,
#     the weight of all rows, the share of it that a split must gain, what may be missing of that by rounding, and the
#     visits (a row in a column) after which a call ends.

from mercer._native.tree cimport code_order
from mercer._native.tree.code_order cimport code


cdef inline double sum_classes(
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t stop,
    const int[:, ::1] slots,
    const double[::1] weight,
    double[::1] counts,
) noexcept nogil:
    """Write the weight of each class, and return that of all rows."""
    cdef Py_ssize_t i, o
    cdef double w, total = 0.0
    for o in range(counts.shape[0]):
        counts[o] = 0.0
    for i in range(start, stop):
        w = weight[rows[i]]
        total += w
        for o in range(slots.shape[1]):
            counts[slots[rows[i], o]] += w
    return total


cdef inline bint are_pure(const double[::1] counts, const long long[::1] firsts, double total) noexcept nogil:
    """Whether each output has one class only; the classes of output o begin at `firsts[o]`."""
    cdef Py_ssize_t o, s
    cdef double most
    for o in range(firsts.shape[0] - 1):
        most = 0.0
        for s in range(firsts[o], firsts[o + 1]):
            most = counts[s] if counts[s] > most else most
        if most != total:
            return False
    return True


cdef inline bint sum_values(
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t stop,
    const double[:, ::1] targets,
    const double[::1] weight,
    double[::1] means,
    double[::1] squares,
    double[::1] total,
) noexcept nogil:
    """Write the mean of each target, its variance, and the weight of all rows; return whether all targets are equal.

    The mean is found in two passes, the second correcting the first, so that a far origin costs no digits.
    """
    cdef Py_ssize_t i, o
    cdef double mean, rest, square, least, most, y, w
    cdef bint equal = True
    total[0] = 0.0
    for i in range(start, stop):
        total[0] += weight[rows[i]]
    for o in range(targets.shape[1]):
        mean = 0.0
        least = targets[rows[start], o]
        most = least
        for i in range(start, stop):
            y = targets[rows[i], o]
            mean += weight[rows[i]] * y
            least = y if y < least else least
            most = y if y > most else most
        mean /= total[0]
        rest = 0.0
        square = 0.0
        for i in range(start, stop):
            w = weight[rows[i]]
            y = targets[rows[i], o] - mean
            rest += w * y
            square += w * y * y
        rest /= total[0]
        means[o] = least if least == most else mean + rest
        squares[o] = 0.0 if least == most else square / total[0] - rest * rest
        equal = equal and least == most
    return equal


cdef inline double sum_signed(
    const double[:, ::1] quads, Py_ssize_t start, Py_ssize_t stop, double[::1] counts
) noexcept nogil:
    """As :func:`sum_classes` for two classes, by amounts that are the weight with either sign; sums are exact."""
    cdef Py_ssize_t i
    cdef double weight = 0.0, amount = 0.0
    for i in range(start, stop):
        weight += quads[i, 1]
        amount += quads[i, 2]
    counts[0] = (weight - amount) / 2
    counts[1] = (weight + amount) / 2
    return weight


cdef inline bint sum_kept(
    const double[:, ::1] quads, Py_ssize_t start, Py_ssize_t stop, double[::1] known
) noexcept nogil:
    """As :func:`sum_values` for one target; `known` receives weight, mean and variance."""
    cdef Py_ssize_t i
    cdef double total = 0.0, mean = 0.0, rest = 0.0, square = 0.0, least = quads[start, 3], most = least, y, w
    for i in range(start, stop):
        w = quads[i, 1]
        y = quads[i, 3]
        total += w
        mean += w * y
        least = y if y < least else least
        most = y if y > most else most
    mean /= total
    for i in range(start, stop):
        w = quads[i, 1]
        y = quads[i, 3] - mean
        rest += w * y
        square += w * y * y
    rest /= total
    known[0] = total
    known[1] = least if least == most else mean + rest
    known[2] = 0.0 if least == most else square / total - rest * rest
    return least == most


cdef inline long long seed_of_child(long long seed, int is_right) noexcept nogil:
    """The seed of a child: it hangs on the way from the root alone."""
    return code_order.mixed(seed + (0x2545F491LL if is_right else 0x51ED2701LL))


cdef inline void move_row(
    int[::1] rows,
    double[:, ::1] quads,
    bint is_kept,
    Py_ssize_t i,
    Py_ssize_t a,
    Py_ssize_t b,
    int[::1] spare,
    double[:, ::1] spare_quads,
) noexcept nogil:
    """Put row i both in place `a` and at `b` of the spare ones: one of them is written over later.

    That is cheaper than a branch that nobody could foresee.
    """
    cdef Py_ssize_t k
    spare[b] = rows[i]
    rows[a] = spare[b]
    if is_kept:
        for k in range(4):
            spare_quads[b, k] = quads[i, k]
            quads[a, k] = spare_quads[b, k]


cdef inline void bring_back(
    int[::1] rows,
    double[:, ::1] quads,
    bint is_kept,
    Py_ssize_t a,
    Py_ssize_t b,
    const int[::1] spare,
    const double[:, ::1] spare_quads,
) noexcept nogil:
    """Put `b` spare rows in place from `a` on."""
    cdef Py_ssize_t i, k
    for i in range(b):
        rows[a + i] = spare[i]
    if is_kept:
        for i in range(b):
            for k in range(4):
                quads[a + i, k] = spare_quads[i, k]


cdef inline Py_ssize_t divide_node(
    const code[:, ::1] codes,
    const code[:, ::1] matrix,
    long long missing,
    Py_ssize_t feature,
    long long cut,
    double side,
    int[::1] rows,
    double[:, ::1] quads,
    bint is_kept,
    Py_ssize_t start,
    Py_ssize_t stop,
    int[::1] spare,
    double[:, ::1] spare_quads,
    int[::1] link,
) noexcept nogil:
    """Put the rows with codes up to the cut before the others, both in their order; return where the others begin."""
    cdef Py_ssize_t i, a = start, b = 0
    cdef long long value, most = -1, least = 2147483647
    cdef bint is_left, by_rows = stop - start <= 256 and matrix.shape[0]
    for i in range(start, stop):
        value = matrix[rows[i], feature] if by_rows else codes[feature, rows[i]]
        if value == missing:
            is_left = side == 1.0
        else:
            is_left = value <= cut
            most = value if is_left and value > most else most
            least = value if not is_left and value < least else least
        move_row(rows, quads, is_kept, i, a, b, spare, spare_quads)
        a += is_left
        b += not is_left
    bring_back(rows, quads, is_kept, a, b, spare, spare_quads)
    link[2] = <int> most
    link[3] = <int> least
    return a


cdef inline Py_ssize_t divide_coarse(
    const code[:, ::1] codes,
    const unsigned char[:, ::1] coarse,
    const unsigned char[:, ::1] coarse_matrix,
    Py_ssize_t feature,
    int cut,
    int[::1] rows,
    double[:, ::1] quads,
    bint is_kept,
    Py_ssize_t start,
    Py_ssize_t stop,
    int[::1] spare,
    double[:, ::1] spare_quads,
    int[::1] link,
) noexcept nogil:
    """As :func:`divide_node` by coarse codes, none of them missing, which the search has just brought near.

    Only the rows of the two steps beside the cut are asked for their codes.
    """
    cdef Py_ssize_t i, a = start, b = 0
    cdef int step, above = 256, most = -1, least = 2147483647
    cdef bint is_left, by_rows = 8 * (stop - start) < coarse_matrix.shape[0]
    for i in range(start, stop):
        step = coarse_matrix[rows[i], feature] if by_rows else coarse[feature, rows[i]]
        is_left = step <= cut
        above = step if step > cut and step < above else above
        move_row(rows, quads, is_kept, i, a, b, spare, spare_quads)
        a += is_left
        b += not is_left
    bring_back(rows, quads, is_kept, a, b, spare, spare_quads)
    for i in range(start, stop):
        step = coarse_matrix[rows[i], feature] if by_rows else coarse[feature, rows[i]]
        if step == cut and codes[feature, rows[i]] > most:
            most = codes[feature, rows[i]]
        elif step == above and codes[feature, rows[i]] < least:
            least = codes[feature, rows[i]]
    link[2] = most
    link[3] = least
    return a


cdef inline void add_node(
    Py_ssize_t start,
    Py_ssize_t stop,
    long long seed,
    long long depth,
    const int[::1] rows,
    const double[:, ::1] quads,
    const int[:, ::1] labels,
    const double[:, ::1] targets,
    const double[::1] weight,
    const long long[::1] firsts,
    const double[::1] limits,
    long long[::1] state,
    long long[:, ::1] stack,
    int[:, ::1] links,
    double[:, ::1] numbers,
) noexcept nogil:
    """Describe a node, and put it on the stack if the rules allow to look for a split."""
    cdef Py_ssize_t node = state[1], top = state[0], outputs = targets.shape[1]
    cdef bint pure
    if state[2] and firsts.shape[0]:
        numbers[node, 1] = sum_signed(quads, start, stop, numbers[node, 2:])
        pure = are_pure(numbers[node, 2:], firsts, numbers[node, 1])
    elif state[2]:
        pure = sum_kept(quads, start, stop, numbers[node, 1:])
    elif firsts.shape[0]:
        numbers[node, 1] = sum_classes(rows, start, stop, labels, weight, numbers[node, 2:])
        pure = are_pure(numbers[node, 2:], firsts, numbers[node, 1])
    else:
        pure = sum_values(
            rows, start, stop, targets, weight, numbers[node, 2:], numbers[node, 2 + outputs:], numbers[node, 1:]
        )
    links[node, 0] = -1
    links[node, 5] = <int> (stop - start)
    links[node, 6] = pure
    state[1] += 1
    if pure or stop - start < limits[0] or numbers[node, 1] < limits[1] or depth >= limits[2]:
        return
    stack[top, 0] = node
    stack[top, 1] = start
    stack[top, 2] = stop
    stack[top, 3] = seed
    stack[top, 4] = depth
    state[0] += 1


cdef inline void add_children(
    Py_ssize_t node,
    Py_ssize_t start,
    Py_ssize_t middle,
    Py_ssize_t stop,
    long long seed,
    long long depth,
    const int[::1] rows,
    const double[:, ::1] quads,
    const int[:, ::1] labels,
    const double[:, ::1] targets,
    const double[::1] weight,
    const long long[::1] firsts,
    const double[::1] limits,
    long long[::1] state,
    long long[:, ::1] stack,
    int[:, ::1] links,
    double[:, ::1] numbers,
) noexcept nogil:
    """Add both children of a node; the smaller one is split first, so that the stack stays low."""
    cdef long long own, top = state[0]
    cdef Py_ssize_t k
    links[node, 0] = <int> state[1]
    own = seed_of_child(seed, 0)
    add_node(
        start, middle, own, depth, rows, quads, labels, targets, weight, firsts, limits, state, stack, links, numbers
    )
    own = seed_of_child(seed, 1)
    add_node(
        middle, stop, own, depth, rows, quads, labels, targets, weight, firsts, limits, state, stack, links, numbers
    )
    if state[0] == top + 2 and middle - start < stop - middle:
        for k in range(5):
            own = stack[top, k]
            stack[top, k] = stack[top + 1, k]
            stack[top + 1, k] = own
