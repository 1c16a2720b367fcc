"""A node of packed trees, and the child that a value goes to.

The nodes of a tree are numbered depth first: the left child of a node is the next node, and the right child comes after
all nodes below the left one.
"""

import cython

# The threshold, the mark, and the number of nodes between a node and its right child: 16 bytes, in one line of the
# cache. A mark is the column times 8, plus the flags below. A leaf has the threshold NaN, which no value goes left of,
# and skips -1 nodes: it is its own right child.
Node = cython.struct(threshold=cython.double, mark=cython.int, skip=cython.int)
# A missing value goes left.
MISSING_LEFT = 1
# The node is split: a leaf is not.
SPLIT = 2
# The split is by categories, and its threshold is an index in `words`. There stands the number of words that follow;
# each has the bits of 32 categories that go left.
CATEGORICAL = 4
# Binary digits below the column in a mark.
COLUMN_SHIFT = 3


def find_right(
    value: cython.double,
    node: cython.Py_ssize_t,
    nodes: cython.const[Node][::1],
    words: cython.const[cython.longlong][::1],
) -> cython.Py_ssize_t:
    """Return 1 if a value goes right, else 0, where it may be missing or a category."""
    if nodes[node].mark & CATEGORICAL:
        start = cython.cast(cython.Py_ssize_t, nodes[node].threshold)
        # NaN fails the first comparison; a category that has no bit goes where missing values go.
        if 0.0 <= value < 32.0 * words[start]:
            number = cython.cast(cython.Py_ssize_t, value)
            return 1 - ((words[start + 1 + (number >> 5)] >> (number & 31)) & 1)
        return 1 - (nodes[node].mark & MISSING_LEFT)
    # Products instead of conditions: a compiler would make branches of these, which cannot be predicted.
    return 1 - ((value <= nodes[node].threshold) | ((value != value) & (nodes[node].mark & MISSING_LEFT)))


def find_child(
    value: cython.double,
    node: cython.Py_ssize_t,
    nodes: cython.const[Node][::1],
    words: cython.const[cython.longlong][::1],
    mixed: cython.bint,
) -> cython.Py_ssize_t:
    """Return the child that a value goes to; a leaf keeps it. Unless `mixed`, nothing is missing and no category."""
    is_right: cython.Py_ssize_t = find_right(value, node, nodes, words) if mixed else not value <= nodes[node].threshold
    # A mask instead of a condition, which a compiler would make a branch of.
    return node + 1 + (nodes[node].skip & -is_right)
