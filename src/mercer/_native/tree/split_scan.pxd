# Every cut of a node's rows by one column, judged by sums. split_scan.py is the uncompiled twin.

from mercer._native.tree cimport code_order, impurity
from mercer._native.tree.code_order cimport code
from mercer._native.tree.node_search cimport NONE_MISSING, Limits, Node, Table

ctypedef unsigned char unsigned_char

# Columns of `quads`, see node_steps.pxd.
cdef enum:
    WEIGHT = 1
    AMOUNT = 2

# Up to FEW rows a node is sorted by counting smaller codes, O(n^2 / 16); up to MORE its codes are read by rows.
cdef enum:
    FEW = 64
    MORE = 256

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* Sum the quads of the rows by code: a cell and a quad are four numbers, which one wide addition joins. */
    static inline void mercer_fill_cells(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                         const double *quads, double *cells)
    {
        memset(cells, 0, 1024 * sizeof(double));
        for (Py_ssize_t i = 0; i < n; i++) {
            double *cell = cells + 4 * (Py_ssize_t)codes[stride * (Py_ssize_t)rows[i]];
            const double *quad = quads + 4 * i;
            const double a = cell[0] + quad[0], b = cell[1] + quad[1], c = cell[2] + quad[2], d = cell[3] + quad[3];
            cell[0] = a; cell[1] = b; cell[2] = c; cell[3] = d;
        }
    }

    /* Sort a few rows by their codes: the rank of a row is the number of codes below its own, and sixteen codes are
       compared at a time. `codes` has room for 15 more, which are set to the greatest integer, above every code. Rows
       of equal codes take the next free ranks. `pairs` receives weight and amount of each row by rank. */
    static inline void mercer_order_few(int32_t *codes, const double *quads, Py_ssize_t n, int32_t *ordered,
                                        double *pairs)
    {
        const Py_ssize_t padded = (n + 15) & ~(Py_ssize_t)15;
        for (Py_ssize_t i = n; i < padded; i++) codes[i] = INT32_MAX;
        for (Py_ssize_t i = 0; i < n; i++) ordered[i] = -1;
        for (Py_ssize_t i = 0; i < n; i++) {
            const int32_t own = codes[i];
            int32_t rank = 0;
            for (Py_ssize_t j = 0; j < padded; j += 16)
                for (Py_ssize_t k = 0; k < 16; k++) rank += codes[j + k] < own;
            while (ordered[rank] >= 0) rank++;
            ordered[rank] = own;
            pairs[2 * rank] = quads[4 * i + 1];
            pairs[2 * rank + 1] = quads[4 * i + 2];
        }
    }
    """
    void mercer_fill_cells(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                           const double *quads, double *cells) noexcept nogil
    void mercer_order_few(int *codes, const double *quads, Py_ssize_t n, int *ordered, double *pairs) noexcept nogil


cdef inline void scan_keys(Node node, Limits limits, Py_ssize_t known) noexcept nogil:
    """Try every cut between the `known` ordered keys, with the missing rows right and then left.

    If squares of sums are exact, too, a row of amount a changes the sums of squares of its slot by

        (s + a)^2 - s^2 = a (2 s + a) on the left,    (r - a)^2 - r^2 = -a (2 r - a) on the right,

    and the worth follows in O(1) instead of a sum over all slots.
    """
    cdef Py_ssize_t i, o, p, s, side, rows, count = node.count, n_slots = node.total.shape[0]
    cdef double amount, left_weight, left_squares, right_squares, worth
    # Pointers stay in registers over the calls in the loop, where records would be read again.
    cdef double *left = &node.left[0]
    cdef const double *total = &node.total[0]
    cdef const double *weight = &node.own_weight[0]
    cdef const long long *keys = &node.keys[0, 0]
    for side in range(2 if known < count else 1):
        rows = count - known if side else 0
        left_weight = 0.0
        left_squares = 0.0
        right_squares = 0.0
        for s in range(n_slots):
            left[s] = 0.0
        for i in range(known, count if side else known):
            p = code_order.read_place(keys[i])
            left_weight += weight[p]
            for o in range(node.own_slots.shape[1]):
                left[node.own_slots[p, o]] += node.own_amounts[p, o]
        for s in range(n_slots):
            left_squares += left[s] * left[s]
            right_squares += (total[s] - left[s]) * (total[s] - left[s])
        node.side = <int> side if known < count else NONE_MISSING
        # After row i, `left`, `left_weight` and `rows` describe the left side of the cut that follows it.
        for i in range(known):
            p = code_order.read_place(keys[i])
            for o in range(node.own_slots.shape[1]):
                s = node.own_slots[p, o]
                amount = node.own_amounts[p, o]
                left_squares += amount * (2.0 * left[s] + amount)
                right_squares -= amount * (2.0 * (total[s] - left[s]) - amount)
                left[s] += amount
            left_weight += weight[p]
            rows += 1
            # No cut between equal codes, nor after the last row of the node. After the last known row there is one if
            # the missing rows go right.
            if i + 1 < known:
                if keys[i] >> 32 == keys[i + 1] >> 32:
                    continue
            elif side or known == count:
                continue
            if limits.exact_squares:
                worth = left_squares / left_weight + right_squares / (node.weight - left_weight)
                if worth > node.best_worth and impurity.may_split(node, limits, left_weight, rows):
                    node.cut = keys[i] >> 32
                    impurity.keep_better(node, worth)
                continue
            node.cut = keys[i] >> 32
            impurity.judge(node, limits, left_weight, rows)


cdef inline void scan_cells(
    Node node, Limits limits, Py_ssize_t known, Py_ssize_t least, Py_ssize_t span
) noexcept nogil:
    """As :func:`scan_keys`, from sums by code, for many rows of few codes.

    Cell c < `span` holds the number of rows, the weight and the sums of the code ``least + c``; cell `span` those of
    missing rows.
    """
    cdef Py_ssize_t n_slots = node.total.shape[0], width = n_slots + 2, count = node.count
    cdef Py_ssize_t i, o, p, s, side, cell
    cdef double rows, left_weight
    for i in range((span + 1) * width):
        node.cells[i] = 0.0
    for i in range(count):
        cell = (((node.keys[0, i] >> 32) - least) if i < known else span) * width
        p = code_order.read_place(node.keys[0, i])
        node.cells[cell] += 1.0
        node.cells[cell + 1] += node.own_weight[p]
        for o in range(node.own_slots.shape[1]):
            node.cells[cell + 2 + node.own_slots[p, o]] += node.own_amounts[p, o]
    for side in range(2 if known < count else 1):
        rows = node.cells[span * width] if side else 0.0
        left_weight = node.cells[span * width + 1] if side else 0.0
        for s in range(n_slots):
            node.left[s] = node.cells[span * width + 2 + s] if side else 0.0
        node.side = <int> side if known < count else NONE_MISSING
        # The last code has rows: a cut after it leaves only missing rows on the right, if there are any there.
        for cell in range(span if side == 0 and known < count else span - 1):
            if node.cells[cell * width] == 0.0:
                continue
            rows += node.cells[cell * width]
            left_weight += node.cells[cell * width + 1]
            for s in range(n_slots):
                node.left[s] += node.cells[cell * width + 2 + s]
            node.cut = cell + least
            impurity.judge(node, limits, left_weight, rows)


cdef inline double lower_best(Node node) noexcept nogil:
    """Return a lower bound of the best worth for :func:`may_be_better`.

    That test makes about ten roundings, of 1.1e-16 each relative to terms that are not negative; 1e-12 covers them, so
    that it passes every cut that :func:`judge_single` could keep.
    """
    return node.best_worth * (1.0 - 1e-12)


cdef inline bint may_be_better(double sum, double other, double weight, double rest, double bound) noexcept nogil:
    """Return whether a cut with `sum` and `weight` on the left, `other` and `rest` on the right, may exceed `bound`.

    With sums s and r and weights w and v, s^2 / w + r^2 / v > b is s^2 v + r^2 w > b w v, which needs no division.
    """
    return sum * sum * rest + other * other * weight > bound * (weight * rest)


cdef inline double judge_single(
    Node node, Limits limits, double sum, double weight, double rows, long long cut
) noexcept nogil:
    """Judge the cut after the code `cut` by a single sum, squared; return the bound for the cuts that follow."""
    cdef double other = node.total[0] - sum
    if impurity.may_split(node, limits, weight, rows):
        node.cut = cut
        impurity.keep_better(node, sum * sum / weight + other * other / (node.weight - weight))
    return lower_best(node)


cdef inline void scan_single_keys(Node node, Limits limits) noexcept nogil:
    """As :func:`scan_keys` for a single sum, squared, and no missing values, which is the most frequent case."""
    cdef Py_ssize_t i, p, first = node.first, count = node.count
    cdef double sum = 0.0, weight = 0.0, whole = node.weight, total = node.total[0]
    cdef double bound = lower_best(node)
    for i in range(count - 1):
        p = first + code_order.read_place(node.keys[0, i])
        weight += node.quads[p, WEIGHT]
        sum += node.quads[p, AMOUNT]
        if node.keys[0, i] >> 32 == node.keys[0, i + 1] >> 32:
            continue
        if may_be_better(sum, total - sum, weight, whole - weight, bound):
            bound = judge_single(node, limits, sum, weight, i + 1, node.keys[0, i] >> 32)


cdef inline void scan_few(Node node, Limits limits) noexcept nogil:
    """As :func:`scan_single_keys` for a few rows, whose codes are in the first row of ``node.few``."""
    cdef Py_ssize_t i, count = node.count
    cdef double sum = 0.0, weight = 0.0, whole = node.weight, total = node.total[0]
    cdef double bound = lower_best(node)
    mercer_order_few(&node.few[0, 0], &node.quads[node.first, 0], count, &node.few[1, 0], &node.cells[0])
    for i in range(count - 1):
        weight += node.cells[2 * i]
        sum += node.cells[2 * i + 1]
        if node.few[1, i] == node.few[1, i + 1]:
            continue
        if may_be_better(sum, total - sum, weight, whole - weight, bound):
            bound = judge_single(node, limits, sum, weight, i + 1, node.few[1, i])


cdef inline bint gather_few(const code[:, ::1] codes, const code[:, ::1] matrix, Node node) noexcept nogil:
    """Write the codes of a few rows to the first row of ``node.few``; return whether they vary."""
    cdef Py_ssize_t i, feature = node.feature, start = node.start
    cdef int varied = 0
    if matrix.shape[0]:
        for i in range(node.count):
            node.few[0, i] = matrix[node.rows[start + i], feature]
    else:
        for i in range(node.count):
            node.few[0, i] = codes[feature, node.rows[start + i]]
    # Bits in which some code differs from the first; a loop without exits is vectorised.
    for i in range(1, node.count):
        varied |= node.few[0, i] ^ node.few[0, 0]
    return varied != 0


cdef inline void order_more(Node node) noexcept nogil:
    """Sort the keys of the codes in the first row of ``node.few``, which are too many for :func:`scan_few`."""
    cdef Py_ssize_t i
    cdef int least = node.few[0, 0], greatest = least
    for i in range(node.count):
        least = node.few[0, i] if node.few[0, i] < least else least
        greatest = node.few[0, i] if node.few[0, i] > greatest else greatest
        node.keys[0, i] = (<long long> node.few[0, i] << 32) + i
    code_order.order_keys(node.keys[0], node.keys[1], node.count, least, greatest)


cdef inline bint scan_single_cells(
    const unsigned char[:, ::1] codes, const unsigned char[:, ::1] matrix, Node node, Limits limits
) noexcept nogil:
    """As :func:`scan_cells` for a single sum, squared, no missing values, and codes of one byte.

    Return whether the codes vary.
    """
    cdef Py_ssize_t i, feature = node.feature
    cdef double count = node.count
    cdef double sum = 0.0, weight = 0.0, seen = 0.0, whole = node.weight, total = node.total[0]
    cdef double bound = lower_best(node)
    # The rows of a node with less than an eighth of all rows lie far apart: then codes are read by rows.
    if 8 * node.count < matrix.shape[0]:
        mercer_fill_cells(
            &matrix[0, feature], matrix.shape[1], &node.rows[node.start], node.count,
            &node.quads[node.first, 0], &node.cells[0],
        )
    else:
        mercer_fill_cells(
            &codes[feature, 0], 1, &node.rows[node.start], node.count, &node.quads[node.first, 0], &node.cells[0]
        )
    for i in range(256):
        if node.cells[4 * i] == 0.0:
            continue
        seen += node.cells[4 * i]
        weight += node.cells[4 * i + WEIGHT]
        sum += node.cells[4 * i + AMOUNT]
        # No cut follows the last code present; the codes vary if it does not hold all rows.
        if seen == count:
            return node.cells[4 * i] != count
        if may_be_better(sum, total - sum, weight, whole - weight, bound):
            bound = judge_single(node, limits, sum, weight, seen, i)
    return True


cdef inline bint scan_small(
    const code[:, ::1] codes, const code[:, ::1] matrix, Table table, Limits limits, Node node
) noexcept nogil:
    """Try every cut of a node of few rows, judged by a single sum; return whether its codes vary."""
    cdef bint is_varied
    if node.is_coarse:
        is_varied = gather_few(table.coarse, table.coarse_matrix, node)
    else:
        is_varied = gather_few(codes, matrix, node)
    if not is_varied:
        return False
    if node.count <= FEW:
        scan_few(node, limits)
    else:
        order_more(node)
        scan_single_keys(node, limits)
    return True


cdef inline Py_ssize_t gather_node(const code[:, ::1] codes, Table table, Node node) noexcept nogil:
    """Write the keys of the node's rows, those of known values first.

    Return the number of known values, or -1 if nothing can be split: all are missing, or all are equal.
    """
    cdef Py_ssize_t known, stop = node.start + node.count, f = node.feature
    if node.is_coarse:
        known = code_order.gather_keys(
            table.coarse, f, node.rows, node.start, stop, table.missing[1, f], node.keys[0], node.keys[2]
        )
    else:
        known = code_order.gather_keys(
            codes, f, node.rows, node.start, stop, table.missing[0, f], node.keys[0], node.keys[2]
        )
    if known == 0 or (known == node.count and node.keys[2, 0] == node.keys[2, 1]):
        return -1
    return known


cdef inline bint scan_cuts(
    const code[:, ::1] codes, const code[:, ::1] matrix, Table table, Limits limits, Node node
) noexcept nogil:
    """Try every cut of a node by one column; return whether its codes vary."""
    cdef Py_ssize_t known, span, width = node.total.shape[0] + 2
    cdef bint single = node.quads.shape[0] > 0 and table.missing[0, node.feature] < 0
    if single and node.count <= MORE:
        return scan_small(codes, matrix, table, limits, node)
    if single and node.is_coarse:
        return scan_single_cells(table.coarse, table.coarse_matrix, node, limits)
    if code is unsigned_char:
        if single:
            return scan_single_cells(codes, matrix, node, limits)
    known = gather_node(codes, table, node)
    if known < 0:
        return False
    # Sums by code are faster than sorting if they have at most four numbers per row and fit the second-level cache.
    span = node.keys[2, 1] - node.keys[2, 0] + 1
    if not single and (span + 1) * width <= 4 * node.count and (span + 1) * width <= node.cells.shape[0]:
        scan_cells(node, limits, known, node.keys[2, 0], span)
        return True
    code_order.order_keys(node.keys[0], node.keys[1], known, node.keys[2, 0], node.keys[2, 1])
    if single:
        scan_single_keys(node, limits)
    else:
        scan_keys(node, limits, known)
    return True
