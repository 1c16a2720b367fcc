"""Find the leaf, or the path from the root, of each row in one tree."""

import cython

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
    """Return the child of `node` that row i goes to: the left child, node + 1, or the right child.

    With a side of 0 or 1 the split is numeric. With a side of 2 or 3 it is by categories, and the threshold is an index
    in `words`: there stands the number of pairs of words, then the pairs. Each pair is for 32 categories: the bits of
    those that the node has seen, and the bits of those that go left. Bit 0 of the side tells whether missing values and
    unseen categories go left.
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
        # Unseen categories go where missing values go.
        is_left = (sides[node] & 1) != 0
        if 0.0 <= value < 32.0 * words[start]:
            number = cython.cast(cython.Py_ssize_t, value)
            # The first word of a pair has the categories seen, the second those that go left.
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
    """Write the leaf of each row of `X` to `leaves`. The right child of a leaf is -1."""
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
    """Write the nodes on the path of row i to `nodes` from ``starts[i]`` on: one more than the depth of its leaf."""
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    place: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            node = 0
            place = starts[i]
            nodes[place] = 0
            # A leaf has no right child.
            while rights[node] >= 0:
                node = find_child(X, i, node, features, rights, thresholds, sides, words)
                place += 1
                nodes[place] = node
