# Splits of a node's rows into two sets of categories of one column, judged by sums. category_scan.py is the uncompiled
# twin.
#
# With one sum for each category (two classes, or one target) the categories are ordered by their means: the best of all
# sets is then the first categories of that order (Breiman). With more classes every set is tried if there are few
# categories. If there are many, they are ordered along the first principal component of their class shares
# (Coppersmith, Hong and Hosking), and the first categories of that order are nearly always the best set. Missing values
# are one more category.

from mercer._native.tree cimport code_order, impurity
from mercer._native.tree.code_order cimport code
from mercer._native.tree.node_search cimport NO_ORDER, NONE_MISSING, Limits, Node, Sets, Table, Target

# Columns of `cells`, one row for each category that is present: number of rows, weight, sort key, then the sums.
cdef enum:
    ROWS
    WEIGHT
    KEY
    SUMS

# Which sets are tried: the first categories of the order, every set, or one drawn at random.
cdef enum:
    RUNS
    ALL_SETS
    RANDOM_SET

# Power iterations for the principal component: the order hardly changes after a few.
cdef enum:
    TURNS = 30


cdef inline Py_ssize_t sum_categories(
    const code[:, ::1] codes, Target target, Node node, Sets sets
) noexcept nogil:
    """Sum the rows of each category that is present into ``sets.cells``; return the number of these categories.

    ``sets.cells[c]`` belongs to the category ``sets.names[c]``. ``sets.where`` is zero for all codes before and after.
    """
    cdef Py_ssize_t i, o, s, c, row, present = 0, feature = node.feature
    for i in range(node.start, node.start + node.count):
        row = node.rows[i]
        # One plus the cell of the category; zero if this is the first row of the category.
        c = sets.where[codes[feature, row]]
        if c == 0:
            sets.names[present] = codes[feature, row]
            for s in range(sets.cells.shape[1]):
                sets.cells[present, s] = 0.0
            present += 1
            c = present
            sets.where[codes[feature, row]] = <int> c
        sets.cells[c - 1, ROWS] += 1.0
        sets.cells[c - 1, WEIGHT] += target.weight[row]
        for o in range(target.slots.shape[1]):
            sets.cells[c - 1, SUMS + target.slots[row, o]] += target.amounts[row, o]
    # Only the entries used are reset: a column may have many more categories than a node has rows.
    for i in range(present):
        sets.where[sets.names[i]] = 0
    return present


cdef inline void set_component_keys(Node node, Sets sets, Py_ssize_t present) noexcept nogil:
    """Set each category's key to its coordinate along the first principal component of the means.

    With m_c = s_c / w_c - s / w, the mean of category c less that of the node, the component is the leading eigenvector
    of sum_c w_c m_c m_c^T. Power iteration finds it: a <- sum_c w_c (m_c . a) m_c, scaled to length one.
    """
    cdef Py_ssize_t c, s, turns = 0, n = node.total.shape[0]
    cdef double along, length
    # Unequal entries to start from: the entries of m_c sum to zero for each output, so m_c . (1, ..., 1) = 0.
    for s in range(n):
        sets.axis[s] = 1.0 / (1.0 + s)
    while turns < TURNS:
        turns += 1
        for s in range(n):
            sets.image[s] = 0.0
        for c in range(present):
            along = 0.0
            for s in range(n):
                along += (
                    sets.cells[c, SUMS + s] / sets.cells[c, WEIGHT] - node.total[s] / node.weight
                ) * sets.axis[s]
            sets.cells[c, KEY] = along
            for s in range(n):
                sets.image[s] += sets.cells[c, WEIGHT] * along * (
                    sets.cells[c, SUMS + s] / sets.cells[c, WEIGHT] - node.total[s] / node.weight
                )
        length = 0.0
        for s in range(n):
            length += sets.image[s] * sets.image[s]
        # All categories have the mean of the node: every key is zero, and the order is that of the names.
        if length == 0.0:
            return
        length = length**0.5
        for s in range(n):
            sets.axis[s] = sets.image[s] / length


cdef inline bint comes_before(Sets sets, int a, int b) noexcept nogil:
    """Return whether category `a` comes before `b`: by key and, where keys are equal, by name."""
    if sets.cells[a, KEY] != sets.cells[b, KEY]:
        return sets.cells[a, KEY] < sets.cells[b, KEY]
    return sets.names[a] < sets.names[b]


cdef inline void sort_categories(Sets sets, Py_ssize_t present) noexcept nogil:
    """Write the indices of the categories that are present to ``sets.order``, sorted by key, with a heap sort."""
    cdef Py_ssize_t i, root, child, end = present, start = present // 2
    cdef int held
    for i in range(present):
        sets.order[i] = <int> i
    # While `start` falls to 0 the heap is built, from its last parent to its root. Then ``order[:end]`` is a heap with
    # the last category at its root, and ``order[end:]`` is sorted and comes after it.
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            held = sets.order[end]
            sets.order[end] = sets.order[0]
            sets.order[0] = held
        root = start
        held = sets.order[root]
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and comes_before(sets, sets.order[child], sets.order[child + 1]):
                child += 1
            if not comes_before(sets, held, sets.order[child]):
                break
            sets.order[root] = sets.order[child]
            root = child
        sets.order[root] = held


cdef inline bint is_in_set(Node node, Sets sets, int mode, Py_ssize_t number, Py_ssize_t c) noexcept nogil:
    """Return whether category c of the order is in the set with index `number`.

    In mode RUNS the set holds the first `number` categories; in ALL_SETS those whose bits are set in `number`. In
    RANDOM_SET the node's seed draws it; it holds the first category and not the second, so that neither side is empty.
    """
    if mode == RUNS:
        return c < number
    if mode == ALL_SETS:
        return ((number >> c) & 1) != 0
    return c == 0 if c < 2 else (code_order.mix(node.seed + sets.names[sets.order[c]]) & 1) != 0


cdef inline Py_ssize_t try_sets(Node node, Limits limits, Sets sets, Py_ssize_t present, int mode) noexcept nogil:
    """Judge sets of the categories that are present.

    Return the index of the set that is better than the best split so far, -1 if none is.
    """
    cdef Py_ssize_t c, s, number, category, chosen = -1, last = present
    cdef double rows = 0.0, left_weight = 0.0, before
    if mode == ALL_SETS:
        # The last category stays right: a set and its complement are one split.
        last = <Py_ssize_t> 1 << (present - 1)
    elif mode == RANDOM_SET:
        last = 2
    for s in range(node.total.shape[0]):
        node.left[s] = 0.0
    for number in range(1, last):
        if mode != RUNS:
            rows = 0.0
            left_weight = 0.0
            for s in range(node.total.shape[0]):
                node.left[s] = 0.0
        # A run has one category more than the run before it.
        for c in range(number - 1 if mode == RUNS else 0, number if mode == RUNS else present):
            if is_in_set(node, sets, mode, number, c):
                category = sets.order[c]
                rows += sets.cells[category, ROWS]
                left_weight += sets.cells[category, WEIGHT]
                for s in range(node.total.shape[0]):
                    node.left[s] += sets.cells[category, SUMS + s]
        before = node.best_worth
        impurity.judge(node, limits, left_weight, rows)
        if node.best_worth > before:
            chosen = number
    return chosen


cdef inline void mark_set(
    Node node, Sets sets, Py_ssize_t present, int mode, Py_ssize_t chosen, int missing
) noexcept nogil:
    """Mark each category in ``sets.goes``: 0 if absent, 2 if it goes right, 3 if it goes left.

    Missing rows go where the category `missing`, which stands for them, goes.
    """
    cdef Py_ssize_t c
    for c in range(sets.goes.shape[1]):
        sets.goes[node.index, c] = 0
    for c in range(present):
        sets.goes[node.index, sets.names[sets.order[c]]] = 2 + is_in_set(node, sets, mode, chosen, c)
    for c in range(present):
        if sets.names[c] == missing:
            node.best_side = sets.goes[node.index, missing] & 1


cdef inline bint scan_sets(
    const code[:, ::1] codes, Table table, Target target, Limits limits, Node node, Sets sets
) noexcept nogil:
    """Try splits by sets of the categories of one column; return whether at least two categories are present."""
    cdef Py_ssize_t i, chosen, slot = limits.order_slot
    cdef Py_ssize_t present = sum_categories(codes, target, node, sets)
    cdef int mode = RUNS
    if present < 2:
        return False
    if limits.is_random:
        mode = RANDOM_SET
    elif slot < 0 and present <= limits.most_sets:
        mode = ALL_SETS
    for i in range(present):
        sets.cells[i, KEY] = sets.cells[i, SUMS + slot] / sets.cells[i, WEIGHT] if slot >= 0 else 0.0
    if slot < 0 and mode == RUNS:
        set_component_keys(node, sets, present)
    sort_categories(sets, present)
    node.cut = -1
    node.side = NONE_MISSING
    # Categories have no order, but the bounds that splits higher in the tree have set must hold (sign 0).
    node.sign = NO_ORDER if node.low == -node.high and node.high > 1e308 else 0
    chosen = try_sets(node, limits, sets, present, mode)
    if chosen >= 0:
        mark_set(node, sets, present, mode, chosen, table.missing[0, node.feature])
    return True
