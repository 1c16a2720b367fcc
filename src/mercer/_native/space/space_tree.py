"""The making of a tree of boxes: rows are split at their widest side until 32 are left, which make a leaf.

A node with c leaves is followed by its left child, with (c + 1) // 2 of them, and all below it, then by its right
child: nodes are numbered in that order, and leaves from left to right. All leaves but the last are full.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
    from cython.cimports.mercer._native.space import space
else:
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.space import space

__all__ = ["build", "lowest_labels", "pack", "smallest_values", "uniform_labels"]

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select(
    X: cython.const[real][:, ::1],
    order: cython.int[::1],
    k: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    target: cython.Py_ssize_t,
) -> cython.void:
    """Arrange order[low .. high] so that no row before `target` has a larger feature k than one from there on."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    held: cython.int
    first: real
    middle: real
    last: real
    pivot: real
    while low < high:
        first = X[order[low], k]
        middle = X[order[(low + high) // 2], k]
        last = X[order[high], k]
        # The median of three: rows that come sorted do not make it quadratic.
        if first > middle:
            pivot = first
            first = middle
            middle = pivot
        pivot = middle if middle < last else (last if last > first else first)
        i = low
        j = high
        while i <= j:
            while X[order[i], k] < pivot:
                i += 1
            while X[order[j], k] > pivot:
                j -= 1
            if i <= j:
                held = order[i]
                order[i] = order[j]
                order[j] = held
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    boxes: cython.double[:, :, ::1],
) -> cython.Py_ssize_t:
    """Write the box of the listed rows, and return its widest side; among equals the first."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t = order[start]
    widest: cython.Py_ssize_t = 0
    for k in range(X.shape[1]):
        boxes[node, 0, k] = X[row, k]
        boxes[node, 1, k] = X[row, k]
    for i in range(start + 1, stop):
        row = order[i]
        for k in range(X.shape[1]):
            if X[row, k] < boxes[node, 0, k]:
                boxes[node, 0, k] = X[row, k]
            if X[row, k] > boxes[node, 1, k]:
                boxes[node, 1, k] = X[row, k]
    for k in range(1, X.shape[1]):
        if boxes[node, 1, k] - boxes[node, 0, k] > boxes[node, 1, widest] - boxes[node, 0, widest]:
            widest = k
    return widest


def build(
    X: cython.const[real][:, ::1],
    order: cython.int[::1],
    nodes: cython.int[:, ::1],
    boxes: cython.double[:, :, ::1],
    root: cython.Py_ssize_t,
    until: cython.Py_ssize_t,
    stack: cython.int[::1],
):
    """Arrange rows and fill nodes from `root` down; nodes of at most `until` leaves are left for other calls.

    Parameters
    ----------
    X : (n, d)
    order : (n,), the rows' numbers, arranged so that consecutive ones make leaves
    nodes : (2 m - 1, 2), first leaf and number of leaves of each node; those of `root` are given
    boxes : (2 m - 1, 2, d), written
    stack : (128,) scratch
    """
    top: cython.Py_ssize_t = 1
    node: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    side: cython.Py_ssize_t
    count: cython.int
    half: cython.int
    with cython.nogil:
        stack[0] = cython.cast(cython.int, root)
        while top > 0:
            top -= 1
            node = stack[top]
            count = nodes[node, 1]
            start = space.width() * nodes[node, 0]
            stop = min(start + space.width() * count, order.shape[0])
            side = measure(X, order, start, stop, node, boxes)
            if count == 1:
                continue
            half = (count + 1) // 2
            middle = start + space.width() * half
            select(X, order, side, start, stop - 1, middle)
            nodes[node + 1, 0] = nodes[node, 0]
            nodes[node + 1, 1] = half
            nodes[node + 2 * half, 0] = nodes[node, 0] + half
            nodes[node + 2 * half, 1] = count - half
            if count - half > until:
                stack[top] = cython.cast(cython.int, node + 2 * half)
                top += 1
            if half > until:
                stack[top] = cython.cast(cython.int, node + 1)
                top += 1


def pack(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    leaves: real[:, :, ::1],
):
    """Copy the rows of leaves `first` to `stop` to where they belong; what is left of the last leaf is infinite."""
    leaf: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for leaf in range(first, stop):
            for j in range(space.width()):
                i = leaf * space.width() + j
                for k in range(X.shape[1]):
                    if i < order.shape[0]:
                        leaves[leaf, k, j] = X[order[i], k]
                    else:
                        leaves[leaf, k, j] = INFINITY


def smallest_values(nodes: cython.const[cython.int][:, ::1], values: cython.const[cython.double][::1],
                    out: cython.double[::1]):  # fmt: skip
    """Write, for each node, the smallest of the values of its rows; `values` is in the order of the tree."""
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    start: cython.Py_ssize_t
    least: cython.double
    with cython.nogil:
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node, 1] == 1:
                start = space.width() * nodes[node, 0]
                least = INFINITY
                for i in range(start, min(start + space.width(), values.shape[0])):
                    least = values[i] if values[i] < least else least
                out[node] = least
            else:
                i = node + 2 * ((nodes[node, 1] + 1) // 2)
                out[node] = out[node + 1] if out[node + 1] < out[i] else out[i]


def lowest_labels(nodes: cython.const[cython.int][:, ::1], labels: cython.const[cython.int][::1],
                  out: cython.int[::1]):  # fmt: skip
    """Write, for each node, the lowest label of its rows."""
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    start: cython.Py_ssize_t
    with cython.nogil:
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node, 1] == 1:
                start = space.width() * nodes[node, 0]
                out[node] = labels[start]
                for i in range(start + 1, min(start + space.width(), labels.shape[0])):
                    out[node] = labels[i] if labels[i] < out[node] else out[node]
            else:
                i = node + 2 * ((nodes[node, 1] + 1) // 2)
                out[node] = out[node + 1] if out[node + 1] < out[i] else out[i]


def uniform_labels(nodes: cython.const[cython.int][:, ::1], labels: cython.const[cython.int][::1],
                   out: cython.int[::1]):  # fmt: skip
    """Write, for each node, the label that all its labelled rows share: -1 if they differ, -2 if none has one.

    A row without a label has a negative one.
    """
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    start: cython.Py_ssize_t
    found: cython.int
    with cython.nogil:
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node, 1] == 1:
                start = space.width() * nodes[node, 0]
                found = -2
                for i in range(start, min(start + space.width(), labels.shape[0])):
                    if labels[i] >= 0 and found != labels[i]:
                        found = labels[i] if found == -2 else -1
                        if found == -1:
                            break
                out[node] = found
            else:
                i = node + 2 * ((nodes[node, 1] + 1) // 2)
                found = out[node + 1]
                if found == -2:
                    found = out[i]
                elif out[i] != -2 and out[i] != found:
                    found = -1
                out[node] = found
