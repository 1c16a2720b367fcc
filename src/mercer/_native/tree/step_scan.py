"""The best of all cuts of a large node, found through steps of its columns.

A step is a run of neighbouring codes. With the weight W and the sum S of a node, a cut that has w and s on the left is
worth f(w, s) = s^2 / w + (S - s)^2 / (W - w), a convex function. First the cuts between steps are judged. The rows of
a step have ratios of amount to weight between `low` and `high`, those of the node; therefore the cuts inside a step
lie in a parallelogram: two of its corners are the cuts before and after the step, and the others take the rows of the
step as if all had one of the two ratios, the high ones first or the low ones first. f is largest at a corner. Only
steps with a corner that may exceed the best cut so far are searched row by row: a few rows in a thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.tree import code_order, impurity, node_lanes, split_scan
from mercer._native.tree import growth_records as records
from mercer._native.tree.code_order import code

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Limits, Node, Table

# Nodes of fewer rows are sorted.
FEWEST = 64
# From this many rows on the steps are those of the coarse codes, at most 256; below, four of these are joined.
MANY = 1024
# Numbers of a column in ``node.steps``: weights and sums by step, and after those of all columns the running weights
# and, HALF of the room further, the running sums, both from zero to the whole.
CELLS = 512
RUNNING = 528
HALF = 264


def judge_edges(table: Table, limits: Limits, node: Node, weights: cython.Py_ssize_t, shift: cython.int) -> cython.void:
    """Judge the cuts between the steps of one column, whose running weights begin at ``node.steps[weights]``."""
    sums: cython.Py_ssize_t = weights + HALF
    bound: cython.double = split_scan.lower_best(node)
    for b in range(1, 256 >> shift):
        weight = node.steps[weights + b]
        sum = node.steps[sums + b]
        # An empty step gives the cut before it once more.
        if weight == node.steps[weights + b - 1] or weight == node.weight:
            continue
        if split_scan.may_be_better(sum, node.total[0] - sum, weight, node.weight - weight, bound):
            # Without a limit of rows there is at least one on either side; with one every weight is 1.
            rows = weight if limits.min_rows > 1.0 else 1.0
            bound = split_scan.judge_single(
                node, limits, sum, weight, rows, table.edges[node.feature, (b << shift) - 1]
            )


def judge_inside(
    node: Node, limits: Limits, sum: cython.double, weight: cython.double, cut: cython.longlong
) -> cython.void:
    """Keep the cut after the code `cut` if it is better than the best, or as good and would have been tried earlier."""
    other: cython.double = node.total[0] - sum
    if not impurity.may_split(node, limits, weight, weight if limits.min_rows > 1.0 else 1.0):
        return
    worth = sum * sum / weight + other * other / (node.weight - weight)
    if worth == node.best_worth and (
        node.feature < node.best_feature or (node.feature == node.best_feature and cut < node.best_cut)
    ):
        node.best_feature = node.feature
        node.best_cut = cut
    node.cut = cut
    impurity.keep_better(node, worth)


def unmark_single(table: Table, node: Node, shift: cython.int) -> cython.bint:
    """Take the mark from steps of one code, which have no cut inside; return whether a mark is left."""
    before: cython.int = -1
    left: cython.int = 0
    for b in range(256 >> shift):
        last = table.edges[node.feature, ((b + 1) << shift) - 1]
        if last - before <= 1:
            node.marks[b] = 0
        left |= node.marks[b]
        before = last
    return left != 0


def search_marked(
    codes: cython.const[code][:, ::1],
    table: Table,
    limits: Limits,
    node: Node,
    weights: cython.Py_ssize_t,
    shift: cython.int,
) -> cython.void:
    """Judge every cut inside the marked steps of one column."""
    last: cython.Py_ssize_t = -1
    feature: cython.Py_ssize_t = node.feature
    start: cython.Py_ssize_t = node.start
    least: cython.longlong = 1099511627776
    greatest: cython.longlong = -1
    weight: cython.double = 0.0
    sum: cython.double = 0.0
    whole: cython.double = node.weight
    total: cython.double = node.total[0]
    taken: cython.Py_ssize_t = node_lanes.list_marked(
        table.coarse_matrix, feature, node.rows, start, node.count, shift, node.marks, node.keys
    )
    for i in range(taken):
        value = cython.cast(cython.longlong, codes[feature, node.rows[start + node.keys[0, i]]])
        least = value if value < least else least
        greatest = value if value > greatest else greatest
        node.keys[0, i] += value << 32
    node_lanes.order_keys(node.keys, taken, least, greatest)
    for i in range(taken - 1):
        p = code_order.read_place(node.keys[0, i])
        step = cython.cast(cython.Py_ssize_t, table.coarse_matrix[node.rows[start + p], feature]) >> shift
        if step != last:
            weight = node.steps[weights + step]
            sum = node.steps[weights + HALF + step]
            last = step
        weight += node.quads[node.first + p].weight
        sum += node.quads[node.first + p].amount
        if node.keys[0, i] >> 32 == node.keys[0, i + 1] >> 32:
            continue
        bound = split_scan.lower_best(node)
        if sum * sum * (whole - weight) + (total - sum) * (total - sum) * weight >= bound * (weight * (whole - weight)):
            judge_inside(node, limits, sum, weight, node.keys[0, i] >> 32)


def may_search(node: Node) -> cython.bint:
    """Return whether a node is large enough for steps, and there are any."""
    return node.count >= FEWEST and node.steps.shape[0] > 0


def search_steps(codes: cython.const[code][:, ::1], table: Table, limits: Limits, node: Node) -> cython.bint:
    """Find the best cut of a node by all of its features, which are neighbours; return whether it could be done.

    It cannot if all ratios are equal: then all cuts are equally good, and only their order decides.
    """
    d: cython.Py_ssize_t = node.features.shape[0]
    shift: cython.int = 0 if node.count >= MANY else 2
    steps: cython.Py_ssize_t = 256 >> shift
    low: cython.double = 1e308
    high: cython.double = -1e308
    for i in range(node.first, node.first + node.count):
        ratio = node.quads[i].amount / node.quads[i].weight
        low = ratio if ratio < low else low
        high = ratio if ratio > high else high
    if low == high:
        return False
    node.side = records.NONE_MISSING
    node.sign = records.NO_ORDER
    node_lanes.sum_steps(
        table.coarse_matrix, node.features[0], node.rows, node.start, node.count, node.quads, node.first, shift,
        node.steps, d,
    )  # fmt: skip
    for k in range(d):
        node.feature = node.features[k]
        weights = CELLS * d + RUNNING * k
        node_lanes.add_up(node.steps, 2 * steps * k, steps, weights, weights + HALF)
        if node_lanes.has_better(node.steps, weights, weights + HALF, steps, split_scan.lower_best(node)):
            judge_edges(table, limits, node, weights, shift)
    for k in range(d):
        node.feature = node.features[k]
        weights = CELLS * d + RUNNING * k
        # The corners are rounded, by less than 1e-12 of the largest worth that the rows could have.
        bound = split_scan.lower_best(node) - 1e-12 * (low * low if -low > high else high * high) * node.weight
        if node_lanes.mark_steps(node.steps, weights, weights + HALF, steps, bound, low, high, node.marks):
            if unmark_single(table, node, shift):
                search_marked(codes, table, limits, node, weights, shift)
    return True
