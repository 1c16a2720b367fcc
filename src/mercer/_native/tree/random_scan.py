"""One cut of a node's rows at a threshold drawn at random, judged by sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.tree import code_order, impurity, node_lanes
from mercer._native.tree import growth_records as records
from mercer._native.tree.code_order import code

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Limits, Node, Table

real = cython.fused_type(cython.float, cython.double)
# Nodes of fewer rows read the matrix by rows: the rows lie far apart in memory, but the next features of a row are in
# the same lines of the cache.
SMALL = 1024
NAN = float("nan")


def is_by_rows(values: cython.const[real][:, ::1], node: Node) -> cython.bint:
    """Return whether the rows of a node are read from the matrix by rows, which may be all there is."""
    return node.count < SMALL or values.shape[1] == 0


def gather_values(values: cython.const[real][:, ::1], matrix: cython.const[real][:, ::1], node: Node) -> cython.void:
    """Write the values of the node's rows in its feature to ``node.values``."""
    feature: cython.Py_ssize_t = node.feature
    start: cython.Py_ssize_t = node.start
    if is_by_rows(values, node):
        for i in range(node.count):
            node.values[i] = matrix[node.rows[start + i], feature]
    else:
        for i in range(node.count):
            node.values[i] = values[feature, node.rows[start + i]]


def decode_values(codes: cython.const[code][:, ::1], table: Table, node: Node) -> cython.void:
    """Write the values that the codes of the node's rows stand for to ``node.values``; NaN if missing."""
    feature: cython.Py_ssize_t = node.feature
    start: cython.Py_ssize_t = node.start
    offset: cython.longlong = table.offsets[feature]
    unknown: cython.longlong = table.missing[0, feature]
    for i in range(node.count):
        own = cython.cast(cython.longlong, codes[feature, node.rows[start + i]])
        node.values[i] = NAN if own == unknown else table.values[offset + own]


def sum_left(node: Node, threshold: cython.double, missing_left: cython.double) -> cython.void:
    """Sum the rows that go left: amounts to ``node.left``, number and weight to ``node.sums``.

    A row goes left if its value is at most `threshold`, or if it is missing and `missing_left` is 1.
    """
    # A product with 0 or 1 costs less than a branch that cannot be predicted.
    go: cython.double
    rows: cython.double = 0.0
    weight: cython.double = 0.0
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


def scan_random(node: Node, limits: Limits) -> cython.bint:
    """Judge one random cut of ``node.values``; return whether they vary."""
    unknown: cython.Py_ssize_t = node_lanes.find_range(node.values, node.count, node.sums)
    low: cython.double = node.sums[0]
    high: cython.double = node.sums[1]
    before: cython.double = node.best_worth
    if unknown == node.count or (unknown == 0 and low == high):
        return False
    threshold = code_order.draw_threshold(node.seed, node.feature, low, high)
    node.side = records.NONE_MISSING
    node.cut = 0
    if node.quads.shape[0] and unknown == 0:
        node_lanes.sum_quads(node.values, node.count, threshold, node.quads, node.first, node.sums)
        node.left[0] = node.sums[2]
    else:
        if unknown:
            # If all known values are equal, the only split is between known and missing rows.
            node.side = records.RIGHT if low == high else code_order.draw_side(node.seed, node.feature)
        sum_left(node, threshold, 1.0 if node.side == records.LEFT else 0.0)
    impurity.judge(node, limits, node.sums[1], node.sums[0])
    if node.best_worth > before:
        node.best_threshold = threshold
    return True


def take_cut(node: Node) -> cython.bint:
    """Take one random cut of ``node.values`` without judging it; return whether they vary."""
    unknown: cython.Py_ssize_t = node_lanes.find_range(node.values, node.count, node.sums)
    low: cython.double = node.sums[0]
    high: cython.double = node.sums[1]
    if unknown == node.count or (unknown == 0 and low == high):
        return False
    node.best_feature = node.feature
    node.best_threshold = code_order.draw_threshold(node.seed, node.feature, low, high)
    # Where all known values are equal the split is between them and the missing ones.
    node.best_side = records.RIGHT if low == high else code_order.draw_side(node.seed, node.feature)
    node.best_worth = 0.0
    return True


def scan_random_values(
    values: cython.const[real][:, ::1], matrix: cython.const[real][:, ::1], limits: Limits, node: Node
) -> cython.bint:
    """Try one random cut of the values of a column; return whether they vary."""
    gather_values(values, matrix, node)
    return take_cut(node) if limits.scan == records.ANY_CUT else scan_random(node, limits)


def scan_random_codes(codes: cython.const[code][:, ::1], table: Table, limits: Limits, node: Node) -> cython.bint:
    """Try one random cut of the values that codes stand for, and keep it also as the last code below the threshold."""
    first: cython.Py_ssize_t = table.offsets[node.feature]
    last: cython.Py_ssize_t = table.offsets[node.feature + 1] - 1
    before: cython.double = node.best_worth
    decode_values(codes, table, node)
    is_varied = scan_random(node, limits)
    if node.best_worth > before:
        node.best_cut = code_order.find_last_below(table.values, first, last, node.best_threshold) - first
    return is_varied
