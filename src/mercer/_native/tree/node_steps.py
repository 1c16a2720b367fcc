"""The steps of growth at a node: divide its rows, describe its children by theirs, and add these.

Quads may be divided together with the rows, so that those of a node are contiguous and no node has to gather them
again. That is possible if weights are integers and there is one sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.tree import code_order, node_sums
from mercer._native.tree import growth_records as records
from mercer._native.tree.code_order import code
from mercer._native.tree.random_scan import is_by_rows, real

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Growth, Node, Table

# Nodes of at most this many rows are divided by the codes of the matrix, whose rows share lines of the cache.
BY_ROWS = 256
# Above every code.
MOST = 2147483647


def seed_child(seed: cython.longlong, is_right: cython.int) -> cython.longlong:
    """Return the seed of a child, which depends on the path from the root alone."""
    return code_order.mix(seed + (0x2545F491 if is_right else 0x51ED2701))


def move_row(
    growth: Growth,
    quads: records.Quad[::1],
    is_kept: cython.bint,
    i: cython.Py_ssize_t,
    a: cython.Py_ssize_t,
    b: cython.Py_ssize_t,
) -> cython.void:
    """Write row i both to ``rows[a]`` and to ``spare[b]``; the next row overwrites the wrong copy.

    The caller raises `a` if the row goes left and `b` otherwise. That costs less than a branch that cannot be
    predicted. As a <= i, no row is overwritten before it is read.
    """
    growth.spare[b] = growth.rows[i]
    growth.rows[a] = growth.spare[b]
    if is_kept:
        growth.spare_quads[b] = quads[i]
        quads[a] = growth.spare_quads[b]


def bring_back(
    growth: Growth, quads: records.Quad[::1], is_kept: cython.bint, a: cython.Py_ssize_t, b: cython.Py_ssize_t
) -> cython.void:
    """Copy the first `b` spare rows, which go right, to the places from `a` on."""
    for i in range(b):
        growth.rows[a + i] = growth.spare[i]
    if is_kept:
        for i in range(b):
            quads[a + i] = growth.spare_quads[i]


def divide_node(
    codes: cython.const[code][:, ::1], matrix: cython.const[code][:, ::1], table: Table, node: Node, growth: Growth
) -> cython.Py_ssize_t:
    """Put the rows with codes up to the best cut before the others, both in their order.

    Return where the rows that go right begin. The record of the node receives the greatest known code on the left and
    the least on the right, between which the threshold lies.
    """
    start: cython.Py_ssize_t = node.start
    a: cython.Py_ssize_t = start
    b: cython.Py_ssize_t = 0
    feature: cython.Py_ssize_t = node.best_feature
    value: cython.longlong
    cut: cython.longlong = node.best_cut
    missing: cython.longlong = table.missing[0, feature]
    most: cython.longlong = -1
    least: cython.longlong = MOST
    is_left: cython.bint
    is_kept: cython.bint = node.is_kept
    missing_left: cython.bint = node.best_side == records.LEFT
    by_rows: cython.bint = node.count <= BY_ROWS and matrix.shape[0] > 0
    for i in range(start, start + node.count):
        if by_rows:
            value = cython.cast(cython.longlong, matrix[growth.rows[i], feature])
        else:
            value = cython.cast(cython.longlong, codes[feature, growth.rows[i]])
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
    growth.nodes[node.index].greatest_left = cython.cast(cython.int, most)
    growth.nodes[node.index].least_right = cython.cast(cython.int, least)
    return a


def divide_coarse(codes: cython.const[code][:, ::1], table: Table, node: Node, growth: Growth) -> cython.Py_ssize_t:
    """Divide as :func:`divide_node` by coarse codes, none of them missing, which the search has just read.

    The greatest code on the left is in the step `cut`, which has rows because the search chose it, and the least on the
    right in the next step that has rows, `above`: only the codes of rows in these two steps are read.
    """
    start: cython.Py_ssize_t = node.start
    stop: cython.Py_ssize_t = start + node.count
    a: cython.Py_ssize_t = start
    b: cython.Py_ssize_t = 0
    feature: cython.Py_ssize_t = node.best_feature
    step: cython.int
    cut: cython.int = cython.cast(cython.int, node.best_cut)
    above: cython.int = 256
    most: cython.int = -1
    least: cython.int = MOST
    is_left: cython.bint
    is_kept: cython.bint = node.is_kept
    by_rows: cython.bint = 8 * node.count < table.coarse_matrix.shape[0]
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
    growth.nodes[node.index].greatest_left = most
    growth.nodes[node.index].least_right = least
    return a


def divide_values(
    values: cython.const[real][:, ::1], matrix: cython.const[real][:, ::1], node: Node, growth: Growth
) -> cython.Py_ssize_t:
    """Divide as :func:`divide_node` by the best random threshold; there are no codes."""
    start: cython.Py_ssize_t = node.start
    a: cython.Py_ssize_t = start
    b: cython.Py_ssize_t = 0
    feature: cython.Py_ssize_t = node.best_feature
    value: cython.double
    threshold: cython.double = node.best_threshold
    is_left: cython.bint
    is_kept: cython.bint = node.is_kept
    missing_left: cython.bint = node.best_side == records.LEFT
    by_rows: cython.bint = is_by_rows(values, node)
    for i in range(start, start + node.count):
        value = matrix[growth.rows[i], feature] if by_rows else values[feature, growth.rows[i]]
        is_left = (value <= threshold) | ((value != value) & missing_left)
        move_row(growth, node.quads, is_kept, i, a, b)
        a += is_left
        b += not is_left
    bring_back(growth, node.quads, is_kept, a, b)
    growth.nodes[node.index].greatest_left = 0
    growth.nodes[node.index].least_right = 0
    return a


def describe_rows(
    node: Node,
    growth: Growth,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    described: cython.double[::1],
    sums: cython.double[::1],
) -> cython.bint:
    """Describe the rows from `start` to `stop` by `described` and, in ``sums[0]``, their weight.

    Return whether all of their targets are equal. Without targets, rows are counted.
    """
    if growth.described.shape[1] == 0:
        sums[0] = stop - start
        return False
    if growth.firsts.shape[0]:
        if node.is_kept:
            sums[0] = node_sums.sum_signed(node.quads, start, stop, described)
        else:
            sums[0] = node_sums.sum_classes(growth.rows, start, stop, growth.labels, growth.weight, described)
        return node_sums.are_pure(described, growth.firsts, sums[0])
    if node.is_kept:
        return node_sums.sum_kept(node.quads, start, stop, described, sums)
    sums[0] = node_sums.sum_weights(growth.rows, start, stop, growth.weight)
    return node_sums.sum_values(growth.rows, start, stop, growth.targets, growth.weight, sums[0], described)


def add_node(
    node: Node,
    growth: Growth,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    seed: cython.longlong,
    depth: cython.longlong,
) -> cython.void:
    """Add the node of the rows from `start` to `stop`, and put it on the stack if it may be split."""
    index: cython.Py_ssize_t = growth.n_nodes
    top: cython.Py_ssize_t = growth.height
    pure: cython.bint = describe_rows(node, growth, start, stop, growth.described[index], node.sums)
    growth.nodes[index].left = -1
    growth.nodes[index].rows = cython.cast(cython.int, stop - start)
    growth.nodes[index].pure = pure
    growth.nodes[index].depth = cython.cast(cython.int, depth)
    growth.nodes[index].weight = node.sums[0]
    growth.n_nodes += 1
    if pure or stop - start < growth.min_rows or node.sums[0] < growth.min_weight or depth >= growth.max_depth:
        return
    growth.stack[top].node = index
    growth.stack[top].start = start
    growth.stack[top].stop = stop
    growth.stack[top].seed = seed
    growth.stack[top].depth = depth
    growth.height += 1


def add_children(node: Node, growth: Growth, middle: cython.Py_ssize_t, depth: cython.longlong) -> cython.void:
    """Add both children of a node, whose right rows begin at `middle`.

    The smaller child is put on top of the stack and is split first. It has at most half of the rows of its parent, so
    that at most log2(n) larger siblings wait on the stack at any time.
    """
    top: cython.Py_ssize_t = growth.height
    start: cython.Py_ssize_t = node.start
    stop: cython.Py_ssize_t = node.start + node.count
    growth.nodes[node.index].left = cython.cast(cython.int, growth.n_nodes)
    add_node(node, growth, start, middle, seed_child(node.seed, 0), depth)
    add_node(node, growth, middle, stop, seed_child(node.seed, 1), depth)
    if growth.height == top + 2 and middle - start < stop - middle:
        growth.stack[top + 2] = growth.stack[top]
        growth.stack[top] = growth.stack[top + 1]
        growth.stack[top + 1] = growth.stack[top + 2]
