"""Sort rows into trees of boxes: each node is cut at the longest side of its box into two children.

Two layouts are built from the same parts. :func:`build` fills leaves of exactly 32 rows, which searches compare in one
vector operation; all leaves but the last are full. A node with c leaves is followed by its left child, which has
(c + 1) // 2 of them, and all nodes below it, then by its right child; leaves are numbered from left to right.
:func:`split` halves rows level by level, so that leaves hold as many rows as the user asks for; the children of node i
are 2 i + 1 and 2 i + 2.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
    from cython.cimports.mercer._native.space import space
else:
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.space import space

real = cython.fused_type(cython.float, cython.double)
# Row indices: 32 bits where a tree lives as long as one fit, the platform's size where it is saved with a model.
index = cython.fused_type(cython.int, cython.Py_ssize_t)

# Columns of `bounds`: the first row of a node, and the row after its last.
BEGIN = cython.declare(cython.Py_ssize_t, 0)
END = cython.declare(cython.Py_ssize_t, 1)
# Values that `uniform_labels` writes: the labels of a node's rows differ; no row of the node has a label.
MIXED = cython.declare(cython.int, -1)
UNLABELLED = cython.declare(cython.int, -2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enclose(
    X: cython.const[real][:, ::1], rows: cython.const[index][::1], lower: cython.double[::1], upper: cython.double[::1]
) -> cython.void:
    """Write the least and the greatest value of each column over the listed rows."""
    for j in range(X.shape[1]):
        lower[j] = upper[j] = X[rows[0], j]
    for i in range(1, rows.shape[0]):
        for j in range(X.shape[1]):
            value = X[rows[i], j]
            lower[j] = value if value < lower[j] else lower[j]
            upper[j] = value if value > upper[j] else upper[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def longest_side(
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
) -> cython.Py_ssize_t:
    """Return the longest side j of a box, by (upper[j] - lower[j]) * inverse[j]; the lowest among equals."""
    longest: cython.Py_ssize_t = 0
    greatest: cython.double = -1.0
    for j in range(lower.shape[0]):
        length = (upper[j] - lower[j]) * inverse[j]
        if length > greatest:
            greatest = length
            longest = j
    return longest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def middle_of_three(a: cython.double, b: cython.double, c: cython.double) -> cython.double:
    """Return the median of three numbers."""
    return max(min(a, b), min(max(a, b), c))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select(
    X: cython.const[real][:, ::1], column: cython.Py_ssize_t, rows: index[::1], middle: cython.Py_ssize_t
) -> cython.void:
    """Arrange `rows` so that none before `middle` has a greater value in `column` than any from `middle` on (Hoare)."""
    first: cython.Py_ssize_t = 0
    last: cython.Py_ssize_t = rows.shape[0] - 1
    while first < last:
        # The median of three values avoids quadratic time on rows that are sorted already.
        pivot = middle_of_three(X[rows[first], column], X[rows[(first + last) // 2], column], X[rows[last], column])
        i = first
        j = last
        # Rows before i are at most the pivot, rows after j at least; equal rows are swapped too, which keeps halves
        # balanced.
        while i <= j:
            while X[rows[i], column] < pivot:
                i += 1
            while X[rows[j], column] > pivot:
                j -= 1
            if i <= j:
                row = rows[i]
                rows[i] = rows[j]
                rows[j] = row
                i += 1
                j -= 1
        # Between j and i stand only rows equal to the pivot: if `middle` is there, the order is right.
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            break


def build(
    X: cython.const[real][:, ::1],
    inverse: cython.const[cython.double][::1],
    order: cython.int[::1],
    nodes: space.Node[::1],
    boxes: cython.double[:, :, ::1],
    root: cython.Py_ssize_t,
    until: cython.Py_ssize_t,
    stack: cython.int[::1],
):
    """Arrange rows and fill nodes from `root` down; leave nodes of at most `until` leaves to other calls (threads).

    Parameters
    ----------
    X : (n, d)
    inverse : (d,), one over the unit of each column
    order : (n,), row indices, arranged so that consecutive ones make leaves
    nodes : (2 m - 1,), first leaf and number of leaves of each node; those of `root` are given
    boxes : (2 m - 1, 2, d), lower and upper corners, written
    stack : (128,) scratch
    """
    top: cython.Py_ssize_t = 1
    half: cython.int
    with cython.nogil:
        stack[0] = cython.cast(cython.int, root)
        while top > 0:
            top -= 1
            node = stack[top]
            count = nodes[node].leaves
            begin = space.WIDTH * nodes[node].first
            end = min(begin + space.WIDTH * count, order.shape[0])
            enclose(X, order[begin:end], boxes[node, 0], boxes[node, 1])
            if count == 1:
                continue
            half = (count + 1) // 2
            side = longest_side(boxes[node, 0], boxes[node, 1], inverse)
            select(X, side, order[begin:end], space.WIDTH * half)
            # A subtree of h leaves has 2 h - 1 nodes: the right child follows the left one and everything below it.
            nodes[node + 1].first = nodes[node].first
            nodes[node + 1].leaves = half
            nodes[node + 2 * half].first = nodes[node].first + half
            nodes[node + 2 * half].leaves = count - half
            # The left child goes on top, so that nodes are filled in their order; the stack never exceeds the depth of
            # the tree.
            if count - half > until:
                stack[top] = cython.cast(cython.int, node + 2 * half)
                top += 1
            if half > until:
                stack[top] = cython.cast(cython.int, node + 1)
                top += 1


def split(
    X: cython.const[real][:, ::1],
    inverse: cython.const[cython.double][::1],
    order: cython.Py_ssize_t[::1],
    bounds: cython.Py_ssize_t[:, ::1],
    lower: cython.double[:, ::1],
    upper: cython.double[:, ::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Compute the boxes of the nodes from `first` to `stop`, and give the rows of each to its children, if it has any.

    Parameters
    ----------
    X, inverse : as in `build`
    order : (n,), row indices, arranged within each node
    bounds : (m, 2), the first row of each node and the one after its last; written for the children
    lower, upper : (m, d), written
    first, stop : nodes of one level
    """
    with cython.nogil:
        for node in range(first, stop):
            begin = bounds[node, BEGIN]
            end = bounds[node, END]
            enclose(X, order[begin:end], lower[node], upper[node])
            # Nodes are numbered as in a heap: the children of node i are 2 i + 1 and 2 i + 2.
            if 2 * node + 2 < bounds.shape[0]:
                middle = (begin + end) // 2
                side = longest_side(lower[node], upper[node], inverse)
                # Rows are only divided at the median, not sorted.
                select(X, side, order[begin:end], middle - begin)
                bounds[2 * node + 1, BEGIN] = begin
                bounds[2 * node + 1, END] = middle
                bounds[2 * node + 2, BEGIN] = middle
                bounds[2 * node + 2, END] = end


def pack(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    leaves: real[:, :, ::1],
):
    """Copy rows to the leaves `first` to `stop`, column by column; pad the last leaf with infinity."""
    with cython.nogil:
        for leaf in range(first, stop):
            for j in range(space.WIDTH):
                i = leaf * space.WIDTH + j
                for k in range(X.shape[1]):
                    if i < order.shape[0]:
                        leaves[leaf, k, j] = X[order[i], k]
                    else:
                        leaves[leaf, k, j] = INFINITY


def smallest_values(nodes: space.Node[::1], values: cython.const[cython.double][::1],
                    out: cython.double[::1]):  # fmt: skip
    """Write the least value among the rows of each node; `values` is in the order of the tree."""
    with cython.nogil:
        # From the last node to the first, since children stand after their parent.
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node].leaves == 1:
                # A node with one leaf is a leaf.
                start = space.WIDTH * nodes[node].first
                least = INFINITY
                for i in range(start, min(start + space.WIDTH, values.shape[0])):
                    least = values[i] if values[i] < least else least
                out[node] = least
            else:
                i = space.right_child(nodes, node)
                out[node] = out[node + 1] if out[node + 1] < out[i] else out[i]


def lowest_labels(nodes: space.Node[::1], labels: cython.const[cython.int][::1],
                  out: cython.int[::1]):  # fmt: skip
    """Write the lowest label among the rows of each node; `labels` is in the order of the tree."""
    with cython.nogil:
        # From the last node to the first, since children stand after their parent.
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node].leaves == 1:
                start = space.WIDTH * nodes[node].first
                out[node] = labels[start]
                for i in range(start + 1, min(start + space.WIDTH, labels.shape[0])):
                    out[node] = labels[i] if labels[i] < out[node] else out[node]
            else:
                i = space.right_child(nodes, node)
                out[node] = out[node + 1] if out[node + 1] < out[i] else out[i]


def uniform_labels(nodes: space.Node[::1], labels: cython.const[cython.int][::1],
                   out: cython.int[::1]):  # fmt: skip
    """Write the label that all labelled rows of each node share: MIXED if they differ, UNLABELLED if there is none.

    A negative label means that the row has none.
    """
    with cython.nogil:
        # From the last node to the first, since children stand after their parent.
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node].leaves == 1:
                start = space.WIDTH * nodes[node].first
                shared = UNLABELLED
                for i in range(start, min(start + space.WIDTH, labels.shape[0])):
                    if labels[i] >= 0 and shared != labels[i]:
                        shared = labels[i] if shared == UNLABELLED else MIXED
                        if shared == MIXED:
                            break
                out[node] = shared
            else:
                i = space.right_child(nodes, node)
                # Nodes without labelled rows do not mix anything.
                shared = out[node + 1]
                if shared == UNLABELLED:
                    shared = out[i]
                elif out[i] != UNLABELLED and out[i] != shared:
                    shared = MIXED
                out[node] = shared
