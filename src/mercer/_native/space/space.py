"""Nodes of a tree of boxes whose leaves hold 32 rows, one feature after the other, and distances in it.

Gaps and distances are summed in the order of features, and rounding is monotone: the gap to a box is never above the
computed distance to a row inside it. So a search that skips far boxes finds exactly what a full search finds.
"""

import cython

real = cython.fused_type(cython.float, cython.double)
# A node: its first leaf and its number of leaves c; one leaf makes it a leaf. Its left child, with (c + 1) // 2 leaves,
# is the next node, and the right child follows the 2 ((c + 1) // 2) - 1 nodes of the left one.
Node = cython.struct(first=cython.int, leaves=cython.int)
# Rows in a leaf.
WIDTH = 32
# Features between two looks at whether any row of a leaf is still near enough.
STRETCH = 16


def leaf_distances(
    leaves: cython.const[real][:, :, ::1],
    leaf: cython.Py_ssize_t,
    x: cython.const[cython.double][::1],
    limit: cython.double,
    out: cython.double[::1],
) -> cython.bint:
    """Write the squared distances from `x` to the rows of a leaf; return whether any is at most `limit`.

    Where none is, what is written is only known to be above the limit.
    """
    sums = cython.declare(cython.double[32])
    near: cython.int = 1
    start: cython.Py_ssize_t = 0
    for j in range(WIDTH):
        sums[j] = 0.0
    while start < x.shape[0] and near:
        for k in range(start, min(start + STRETCH, x.shape[0])):
            value = x[k]
            for j in range(WIDTH):
                difference = cython.cast(cython.double, leaves[leaf, k, j]) - value
                sums[j] += difference * difference
        near = 0
        for j in range(WIDTH):
            near |= sums[j] <= limit
        start += STRETCH
    for j in range(WIDTH):
        out[j] = sums[j]
    return near


def box_gap(
    boxes: cython.const[cython.double][:, :, ::1], node: cython.Py_ssize_t, box: cython.const[cython.double][:, ::1]
) -> cython.double:
    """Return the squared distance between the box of a node and another; zero where they meet."""
    total: cython.double = 0.0
    below: cython.double
    for k in range(box.shape[1]):
        below = boxes[node, 0, k] - box[1, k]
        above = box[0, k] - boxes[node, 1, k]
        below = above if above > below else below
        below = below if below > 0.0 else 0.0
        total += below * below
    return total


def point_gap(
    boxes: cython.const[cython.double][:, :, ::1], node: cython.Py_ssize_t, x: cython.const[cython.double][::1]
) -> cython.double:
    """Return the squared distance from a point to the box of a node."""
    total: cython.double = 0.0
    below: cython.double
    for k in range(x.shape[0]):
        below = boxes[node, 0, k] - x[k]
        above = x[k] - boxes[node, 1, k]
        below = above if above > below else below
        below = below if below > 0.0 else 0.0
        total += below * below
    return total


def enclose(
    rows: cython.const[real][:, ::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, box: cython.double[:, ::1]
) -> cython.void:
    """Write the box around some rows."""
    for k in range(rows.shape[1]):
        box[0, k] = rows[start, k]
        box[1, k] = rows[start, k]
    for i in range(start + 1, stop):
        for k in range(rows.shape[1]):
            if rows[i, k] < box[0, k]:
                box[0, k] = rows[i, k]
            if rows[i, k] > box[1, k]:
                box[1, k] = rows[i, k]


def right_child(nodes: Node[::1], node: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the right child of a node; the left one is the next node."""
    return node + 2 * ((nodes[node].leaves + 1) // 2)


def descend(
    boxes: cython.const[cython.double][:, :, ::1],
    nodes: Node[::1],
    box: cython.const[cython.double][:, ::1],
    top: cython.Py_ssize_t,
    stack: cython.int[::1],
    gaps: cython.double[::1],
) -> cython.Py_ssize_t:
    """Replace the node on top of the stack by its children, the nearer one above; return the new height."""
    left: cython.Py_ssize_t = stack[top - 1] + 1
    right: cython.Py_ssize_t = right_child(nodes, left - 1)
    left_gap = box_gap(boxes, left, box)
    right_gap = box_gap(boxes, right, box)
    is_left: cython.bint = left_gap <= right_gap
    stack[top - 1] = cython.cast(cython.int, right if is_left else left)
    gaps[top - 1] = right_gap if is_left else left_gap
    stack[top] = cython.cast(cython.int, left if is_left else right)
    gaps[top] = left_gap if is_left else right_gap
    return top + 1


def precedes(
    weight: cython.double,
    row: cython.int,
    other: cython.int,
    best_weight: cython.double,
    best_row: cython.int,
    best_other: cython.int,
) -> cython.bint:
    """Return whether an edge comes before the best so far: by weight, then by the lower and the higher row index."""
    if weight != best_weight:
        return weight < best_weight
    low = row if row < other else other
    high = other if row < other else row
    best_low = best_row if best_row < best_other else best_other
    best_high = best_other if best_row < best_other else best_row
    return low < best_low or (low == best_low and high < best_high)
