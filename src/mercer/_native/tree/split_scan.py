"""Every cut of a node's rows by one column, judged by sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.tree import code_order, impurity, node_lanes
from mercer._native.tree import growth_records as records
from mercer._native.tree.code_order import code

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Limits, Node, Table

# Up to this many rows a node is sorted by counting smaller codes, O(n^2 / 16).
FEW = 64
# Up to this many its codes are read by rows.
MORE = 256


def scan_keys(
    node: Node,
    limits: Limits,
    known: cython.Py_ssize_t,
    left: cython.double[::1],
    total: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    keys: cython.const[cython.longlong][:, ::1],
) -> cython.void:
    """Try every cut between the `known` ordered keys, with the missing rows right and then left.

    If squares of sums are exact, too, a row of amount a changes the sums of squares of its slot by

        (s + a)^2 - s^2 = a (2 s + a) on the left,    (r - a)^2 - r^2 = -a (2 r - a) on the right,

    and the worth follows in O(1) instead of a sum over all slots. The arrays are those of the node: as arguments they
    stay in registers over the calls in the loop, where the record would be read again.
    """
    s: cython.Py_ssize_t
    rows: cython.Py_ssize_t
    count: cython.Py_ssize_t = node.count
    n_slots: cython.Py_ssize_t = total.shape[0]
    amount: cython.double
    left_weight: cython.double
    left_squares: cython.double
    right_squares: cython.double
    worth: cython.double
    for side in range(2 if known < count else 1):
        rows = count - known if side else 0
        left_weight = 0.0
        left_squares = 0.0
        right_squares = 0.0
        for s in range(n_slots):
            left[s] = 0.0
        for i in range(known, count if side else known):
            p = code_order.read_place(keys[0, i])
            left_weight += weight[p]
            for o in range(node.own_slots.shape[1]):
                left[node.own_slots[p, o]] += node.own_amounts[p, o]
        for s in range(n_slots):
            left_squares += left[s] * left[s]
            right_squares += (total[s] - left[s]) * (total[s] - left[s])
        node.side = cython.cast(cython.int, side) if known < count else records.NONE_MISSING
        # After row i, `left`, `left_weight` and `rows` describe the left side of the cut that follows it.
        for i in range(known):
            p = code_order.read_place(keys[0, i])
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
                if keys[0, i] >> 32 == keys[0, i + 1] >> 32:
                    continue
            elif side or known == count:
                continue
            if limits.exact_squares:
                worth = left_squares / left_weight + right_squares / (node.weight - left_weight)
                if worth > node.best_worth and impurity.may_split(node, limits, left_weight, rows):
                    node.cut = keys[0, i] >> 32
                    impurity.keep_better(node, worth)
                continue
            node.cut = keys[0, i] >> 32
            impurity.judge(node, limits, left_weight, rows)


def scan_cells(
    node: Node, limits: Limits, known: cython.Py_ssize_t, least: cython.Py_ssize_t, span: cython.Py_ssize_t
) -> cython.void:
    """Do what :func:`scan_keys` does, from sums by code, for many rows of few codes.

    Cell c < `span` holds the number of rows, the weight and the sums of the code ``least + c``; cell `span` those of
    missing rows.
    """
    n_slots: cython.Py_ssize_t = node.total.shape[0]
    width: cython.Py_ssize_t = n_slots + 2
    count: cython.Py_ssize_t = node.count
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
        node.side = cython.cast(cython.int, side) if known < count else records.NONE_MISSING
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


def lower_best(node: Node) -> cython.double:
    """Return a lower bound of the best worth for :func:`may_be_better`.

    That test makes about ten roundings, of 1.1e-16 each relative to terms that are not negative; 1e-12 covers them, so
    that it passes every cut that :func:`judge_single` could keep.
    """
    return node.best_worth * (1.0 - 1e-12)


def may_be_better(
    sum: cython.double, other: cython.double, weight: cython.double, rest: cython.double, bound: cython.double
) -> cython.bint:
    """Return whether a cut with `sum` and `weight` on the left, `other` and `rest` on the right, may exceed `bound`.

    With sums s and r and weights w and v, s^2 / w + r^2 / v > b is s^2 v + r^2 w > b w v, which needs no division.
    """
    return sum * sum * rest + other * other * weight > bound * (weight * rest)


def judge_single(
    node: Node, limits: Limits, sum: cython.double, weight: cython.double, rows: cython.double, cut: cython.longlong
) -> cython.double:
    """Judge the cut after the code `cut` by a single sum, squared; return the bound for the cuts that follow."""
    other: cython.double = node.total[0] - sum
    if impurity.may_split(node, limits, weight, rows):
        node.cut = cut
        impurity.keep_better(node, sum * sum / weight + other * other / (node.weight - weight))
    return lower_best(node)


def scan_single_keys(node: Node, limits: Limits) -> cython.void:
    """Do what :func:`scan_keys` does for a single sum, squared, and no missing values: the most frequent case."""
    first: cython.Py_ssize_t = node.first
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    whole: cython.double = node.weight
    total: cython.double = node.total[0]
    bound: cython.double = lower_best(node)
    for i in range(node.count - 1):
        p = first + code_order.read_place(node.keys[0, i])
        weight += node.quads[p].weight
        sum += node.quads[p].amount
        if node.keys[0, i] >> 32 == node.keys[0, i + 1] >> 32:
            continue
        if may_be_better(sum, total - sum, weight, whole - weight, bound):
            bound = judge_single(node, limits, sum, weight, i + 1, node.keys[0, i] >> 32)


def scan_few(node: Node, limits: Limits) -> cython.void:
    """Do what :func:`scan_single_keys` does for a few rows, whose codes are in the first row of ``node.few``."""
    count: cython.Py_ssize_t = node.count
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    whole: cython.double = node.weight
    total: cython.double = node.total[0]
    bound: cython.double = lower_best(node)
    node_lanes.order_few(node.few, node.quads, node.first, count, node.cells)
    for i in range(count - 1):
        weight += node.cells[2 * i]
        sum += node.cells[2 * i + 1]
        if node.few[1, i] == node.few[1, i + 1]:
            continue
        if may_be_better(sum, total - sum, weight, whole - weight, bound):
            bound = judge_single(node, limits, sum, weight, i + 1, node.few[1, i])


def gather_few(codes: cython.const[code][:, ::1], matrix: cython.const[code][:, ::1], node: Node) -> cython.bint:
    """Write the codes of a few rows to the first row of ``node.few``; return whether they vary."""
    feature: cython.Py_ssize_t = node.feature
    start: cython.Py_ssize_t = node.start
    varied: cython.int = 0
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


def order_more(node: Node) -> cython.void:
    """Sort the keys of the codes in the first row of ``node.few``, which are too many for :func:`scan_few`."""
    least: cython.int = node.few[0, 0]
    greatest: cython.int = least
    for i in range(node.count):
        least = node.few[0, i] if node.few[0, i] < least else least
        greatest = node.few[0, i] if node.few[0, i] > greatest else greatest
        value = cython.cast(cython.longlong, node.few[0, i])
        node.keys[0, i] = (value << 32) + i
    node_lanes.order_keys(node.keys, node.count, least, greatest)


def scan_single_cells(
    codes: cython.const[cython.uchar][:, ::1], matrix: cython.const[cython.uchar][:, ::1], node: Node, limits: Limits
) -> cython.bint:
    """Do what :func:`scan_cells` does for a single sum, squared, no missing values, and codes of one byte.

    Return whether the codes vary.
    """
    count: cython.double = node.count
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    seen: cython.double = 0.0
    whole: cython.double = node.weight
    total: cython.double = node.total[0]
    bound: cython.double = lower_best(node)
    # The rows of a node with less than an eighth of all rows lie far apart: then codes are read by rows.
    if 8 * node.count < matrix.shape[0]:
        node_lanes.sum_by_code(
            matrix, node.feature, True, node.rows, node.start, node.count, node.quads, node.first, node.cells
        )
    else:
        node_lanes.sum_by_code(
            codes, node.feature, False, node.rows, node.start, node.count, node.quads, node.first, node.cells
        )
    for i in range(256):
        if node.cells[4 * i] == 0.0:
            continue
        seen += node.cells[4 * i]
        weight += node.cells[4 * i + 1]
        sum += node.cells[4 * i + 2]
        # No cut follows the last code present; the codes vary if it does not hold all rows.
        if seen == count:
            return node.cells[4 * i] != count
        if may_be_better(sum, total - sum, weight, whole - weight, bound):
            bound = judge_single(node, limits, sum, weight, seen, i)
    return True


def scan_small(
    codes: cython.const[code][:, ::1], matrix: cython.const[code][:, ::1], table: Table, limits: Limits, node: Node
) -> cython.bint:
    """Try every cut of a node of few rows, judged by a single sum; return whether its codes vary."""
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


def gather_node(codes: cython.const[code][:, ::1], table: Table, node: Node) -> cython.Py_ssize_t:
    """Write the keys of the node's rows, those of known values first.

    Return the number of known values, or -1 if nothing can be split: all are missing, or all are equal.
    """
    stop: cython.Py_ssize_t = node.start + node.count
    f: cython.Py_ssize_t = node.feature
    if node.is_coarse:
        known = code_order.gather_keys(table.coarse, f, node.rows, node.start, stop, table.missing[1, f], node.keys)
    else:
        known = code_order.gather_keys(codes, f, node.rows, node.start, stop, table.missing[0, f], node.keys)
    if known == 0 or (known == node.count and node.keys[2, 0] == node.keys[2, 1]):
        return -1
    return known


def scan_cuts(
    codes: cython.const[code][:, ::1], matrix: cython.const[code][:, ::1], table: Table, limits: Limits, node: Node
) -> cython.bint:
    """Try every cut of a node by one column; return whether its codes vary."""
    span: cython.Py_ssize_t
    width: cython.Py_ssize_t = node.total.shape[0] + 2
    single: cython.bint = node.quads.shape[0] > 0 and table.missing[0, node.feature] < 0
    if single and node.count <= MORE:
        return scan_small(codes, matrix, table, limits, node)
    if single and node.is_coarse:
        return scan_single_cells(table.coarse, table.coarse_matrix, node, limits)
    if code is cython.uchar:
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
    node_lanes.order_keys(node.keys, known, node.keys[2, 0], node.keys[2, 1])
    if single:
        scan_single_keys(node, limits)
    else:
        scan_keys(node, limits, known, node.left, node.total, node.own_weight, node.keys)
    return True
