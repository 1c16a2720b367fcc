"""Rows on their way from the root of a tree to a leaf."""

import cython

__all__ = ["find_leaves", "mark_paths"]

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def find_child(
    X: cython.const[real][:, ::1],
    i: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    features: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
) -> cython.Py_ssize_t:
    """Return the child that row i goes to: the left one follows its parent.

    A threshold is that of a column, or, with a side of 2 or 3, where in `words` the categories that go left begin: how
    many words there are, and then a bit for each category. Bit 0 of the side says where a missing value, or a category
    beyond the words, goes.
    """
    value: cython.double = X[i, features[node]]
    start: cython.Py_ssize_t
    number: cython.Py_ssize_t
    is_left: cython.bint
    if value != value:
        is_left = (sides[node] & 1) != 0
    elif sides[node] < 2:
        is_left = value <= thresholds[node]
    else:
        start = cython.cast(cython.Py_ssize_t, thresholds[node])
        is_left = (sides[node] & 1) != 0
        if 0.0 <= value < 32.0 * words[start]:
            number = cython.cast(cython.Py_ssize_t, value)
            if (words[start + 1 + 2 * (number // 32)] >> (number % 32)) & 1:
                is_left = ((words[start + 2 + 2 * (number // 32)] >> (number % 32)) & 1) != 0
    return node + 1 if is_left else rights[node]


def find_leaves(
    X: cython.const[real][:, ::1],
    features: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    leaves: cython.longlong[::1],
):
    """Write the leaf of each row. A leaf's right child is -1."""
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            node = 0
            while rights[node] >= 0:
                node = find_child(X, i, node, features, rights, thresholds, sides, words)
            leaves[i] = node


def mark_paths(
    X: cython.const[real][:, ::1],
    features: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    nodes: cython.longlong[::1],
):
    """Write the nodes that each row passes, from `starts` on; the room for each is the depth of its leaf plus one."""
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    place: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            node = 0
            place = starts[i]
            nodes[place] = 0
            while rights[node] >= 0:
                node = find_child(X, i, node, features, rights, thresholds, sides, words)
                place += 1
                nodes[place] = node
