"""Every cut of a node's rows by one column, judged by the distances from the medians of both sides.

The targets of a node are ranked once. A Fenwick tree over these ranks holds the weights (row 0) and the weighted
targets (row 1) of the rows on the left; the sums of the right side are those of the whole node less those of the left
side. Moving a row to the left takes O(log m), and finding a median as well. ``medians.trees[0]`` are the trees of the
left side, ``trees[1]`` those of the whole node, one for each output; ``medians.sums`` has the weighted targets of the
left side and of the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.tree import code_order, impurity, node_lanes, split_scan
from mercer._native.tree import growth_records as records
from mercer._native.tree.code_order import code

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Limits, Medians, Node, Table, Target


def add_to_tree(
    tree: cython.double[:, ::1],
    m: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    weight: cython.double,
    amount: cython.double,
) -> cython.void:
    """Add a row to a Fenwick tree of `m` places: to each node p, counted from 1, that covers `place`.

    Node p holds the sum over places p - (p & -p) + 1 to p.
    """
    place += 1
    while place <= m:
        tree[0, place] += weight
        tree[1, place] += amount
        place += place & -place


def sum_distances(
    medians: Medians,
    output: cython.Py_ssize_t,
    is_right: cython.bint,
    m: cython.Py_ssize_t,
    weight: cython.double,
    both: cython.double[::1],
) -> cython.double:
    """Return the sum of w_i |y_i - median| over one side, and write the median to ``both[is_right]``.

    `weight` is the weight W of that side and T the sum of its weighted targets. With B the weight and S the sum of the
    weighted targets below the median y, the distances are (y B - S) + ((T - S) - y (W - B)).
    """
    position: cython.Py_ssize_t = 0
    step: cython.Py_ssize_t = 1
    below: cython.double = 0.0
    sum_below: cython.double = 0.0
    total: cython.double = medians.sums[0, output]
    if is_right:
        total = medians.sums[1, output] - total
    while 2 * step <= m:
        step *= 2
    # Descend the tree: `below` and `sum_below` cover the first `position` places, which weigh less than half of the
    # side. At the end no more places can be added, so the next one holds the median.
    while step > 0:
        if position + step <= m:
            w = medians.trees[0, output, 0, position + step]
            if is_right:
                w = medians.trees[1, output, 0, position + step] - w
            if 2.0 * (below + w) < weight:
                position += step
                below += w
                if is_right:
                    sum_below += medians.trees[1, output, 1, position] - medians.trees[0, output, 1, position]
                else:
                    sum_below += medians.trees[0, output, 1, position]
        step //= 2
    # `values` are amount / weight: targets in the units of the search.
    median = medians.values[output, position if position < m else m - 1]
    both[1 if is_right else 0] = median
    return (median * below - sum_below) + ((total - sum_below) - median * (weight - below))


def rank_targets(target: Target, node: Node, medians: Medians) -> cython.double:
    """Rank the targets of a node, fill the trees of the whole node, and return its worth without a split."""
    count: cython.Py_ssize_t = node.count
    worth: cython.double = 0.0
    for o in range(target.ranks.shape[0]):
        known = code_order.gather_keys(target.ranks, o, node.rows, node.start, node.start + count, -1, node.keys)
        node_lanes.order_keys(node.keys, known, node.keys[2, 0], node.keys[2, 1])
        medians.sums[0, o] = 0.0
        medians.sums[1, o] = 0.0
        for i in range(count + 1):
            for side in range(2):
                medians.trees[side, o, 0, i] = 0.0
                medians.trees[side, o, 1, i] = 0.0
        for i in range(count):
            p = code_order.read_place(node.keys[0, i])
            medians.places[o, p] = cython.cast(cython.int, i)
            medians.sums[1, o] += node.own_amounts[p, o]
            medians.values[o, i] = node.own_amounts[p, o] / node.own_weight[p]
            add_to_tree(medians.trees[1, o], count, i, node.own_weight[p], node.own_amounts[p, o])
        worth -= sum_distances(medians, o, True, count, node.weight, node.sums)
    return worth


def clear_left(medians: Medians, count: cython.Py_ssize_t) -> cython.void:
    """Clear the left side's sums and trees."""
    for o in range(medians.places.shape[0]):
        medians.sums[0, o] = 0.0
        for j in range(count + 1):
            medians.trees[0, o, 0, j] = 0.0
            medians.trees[0, o, 1, j] = 0.0


def judge_medians(
    node: Node, limits: Limits, medians: Medians, left_weight: cython.double, rows: cython.double
) -> cython.void:
    """Judge the cut whose left side the trees hold."""
    worth: cython.double = 0.0
    right_weight: cython.double = node.weight - left_weight
    for o in range(medians.places.shape[0]):
        worth -= sum_distances(medians, o, True, node.count, right_weight, node.sums)
        worth -= sum_distances(medians, o, False, node.count, left_weight, node.sums)
    # `may_split` compares left / w_l with (total - left) / w_r: set the sums so that these quotients are the medians.
    node.left[0] = node.sums[0] * left_weight
    node.total[0] = node.sums[1] * right_weight + node.left[0]
    if impurity.may_split(node, limits, left_weight, rows):
        impurity.keep_better(node, worth)


def scan_medians(
    node: Node, limits: Limits, medians: Medians, known: cython.Py_ssize_t, only: cython.longlong, only_side: cython.int
) -> cython.void:
    """Try every cut between the `known` ordered keys, with the missing rows right and then left.

    Unless `only` is negative, the cut after that code is the only one tried, with the missing rows on `only_side`.
    """
    count: cython.Py_ssize_t = node.count
    for side in range(2 if known < count else 1):
        if only >= 0 and known < count and side != only_side:
            continue
        rows = 0.0
        left_weight = 0.0
        clear_left(medians, count)
        node.side = cython.cast(cython.int, side) if known < count else records.NONE_MISSING
        # Missing rows come first if they go left. After each row, `rows`, `left_weight` and the trees describe the left
        # side.
        for j in range(count if side else known):
            i = j
            if side:
                i = known + j if j < count - known else j - (count - known)
            p = code_order.read_place(node.keys[0, i])
            rows += 1.0
            left_weight += node.own_weight[p]
            for o in range(medians.places.shape[0]):
                medians.sums[0, o] += node.own_amounts[p, o]
                add_to_tree(
                    medians.trees[0, o], count, medians.places[o, p], node.own_weight[p], node.own_amounts[p, o]
                )
            # No cut among missing rows, between equal codes, or after the last row of the node. After the last known
            # row only missing rows go right.
            if i >= known:
                continue
            node.cut = node.keys[0, i] >> 32
            if i + 1 < known:
                if node.cut == node.keys[0, i + 1] >> 32:
                    continue
            elif side or known == count:
                continue
            # The cut at code `only` comes after the last code of the node that is not above it.
            if only >= 0 and (node.cut > only or (i + 1 < known and (node.keys[0, i + 1] >> 32) <= only)):
                continue
            judge_medians(node, limits, medians, left_weight, rows)


def scan_median_cuts(
    codes: cython.const[code][:, ::1], table: Table, limits: Limits, node: Node, medians: Medians
) -> cython.bint:
    """Try every cut by one column, or one drawn at random, judged by medians; return whether the codes vary."""
    only: cython.longlong = -1
    side: cython.int = records.RIGHT
    threshold: cython.double = 0.0
    before: cython.double = node.best_worth
    known: cython.Py_ssize_t = split_scan.gather_node(codes, table, node)
    if known < 0:
        return False
    if limits.is_random:
        first = table.offsets[node.feature] + node.keys[2, 0]
        last = table.offsets[node.feature] + node.keys[2, 1]
        threshold = code_order.draw_threshold(node.seed, node.feature, table.values[first], table.values[last])
        only = code_order.find_last_below(table.values, first, last, threshold) - table.offsets[node.feature]
        if first < last:
            side = code_order.draw_side(node.seed, node.feature)
    node_lanes.order_keys(node.keys, known, node.keys[2, 0], node.keys[2, 1])
    scan_medians(node, limits, medians, known, only, side)
    if node.best_worth > before:
        node.best_threshold = threshold
    return True
