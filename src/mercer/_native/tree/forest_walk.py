"""Send rows down packed trees: the values of their leaves are added up, or the leaves listed, or the paths to them.

Rows go down a tree together, so that the next node of one is fetched from memory while the others move.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
    from cython.cimports.mercer._native.tree import packed_nodes
else:
    from mercer._native.shared import inline
    from mercer._native.tree import packed_nodes

# Bins, or values.
real = cython.fused_type(cython.uchar, cython.float, cython.double)
# With fewer rows than this memory latency would not be hidden; then one row goes down several trees together.
FEW = cython.declare(cython.Py_ssize_t, 32)
# Nodes of all trees that stay in a cache: 1 MiB.
CACHED = cython.declare(cython.Py_ssize_t, 65536)
# The deepest trees down which all rows take equally many steps; in deeper ones many rows have arrived long before the
# last.
SHALLOW = cython.declare(cython.int, 6)
# The deepest of those with few nodes, which are at hand.
SMALL_DEPTH = cython.declare(cython.int, 16)
# Few nodes of a tree.
FEW_NODES = cython.declare(cython.Py_ssize_t, 512)
NAN = cython.declare(cython.double, float("nan"))


def pack_nodes(
    columns: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    missing_left: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    roots: cython.const[cython.int][::1],
    levels: cython.int[::1],
    nodes: packed_nodes.Node[::1],
    depths: cython.int[::1],
) -> cython.int:
    """Write the nodes of trees and the steps that rows take in each, see `walk`; return the last column.

    Parameters
    ----------
    columns, rights, thresholds, missing_left : (nodes,)
        The right child in the same tree, -1 at a leaf.
    starts : (nodes,), or empty
        Where the set of categories begins that go left; -1 for a numeric split.
    roots : (trees,)
    levels : (nodes of the largest tree,), scratch
    nodes : (nodes,), written
    depths : (trees,), written
    """
    last: cython.int = -1
    with cython.nogil:
        for t in range(roots.shape[0]):
            stop = roots[t + 1] if t + 1 < roots.shape[0] else columns.shape[0]
            levels[0] = deepest = 0
            for node in range(roots[t], stop):
                place = node - roots[t]
                right = rights[node]
                if right < 0:
                    nodes[node].threshold = NAN
                    nodes[node].mark = 0
                    nodes[node].skip = -1
                    continue
                levels[place + 1] = levels[right] = levels[place] + 1
                deepest = max(deepest, levels[right])
                last = max(last, columns[node])
                nodes[node].threshold = thresholds[node]
                nodes[node].mark = columns[node] << packed_nodes.COLUMN_SHIFT
                nodes[node].mark += packed_nodes.SPLIT + missing_left[node]
                nodes[node].skip = right - cython.cast(cython.int, place) - 1
                if starts.shape[0] > 0 and starts[node] >= 0:
                    nodes[node].threshold = cython.cast(cython.double, starts[node])
                    nodes[node].mark += packed_nodes.CATEGORICAL
            depths[t] = -1
            if deepest <= SHALLOW or (deepest <= SMALL_DEPTH and stop - roots[t] <= FEW_NODES):
                depths[t] = deepest
    return last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_gaps(X: cython.const[real][:, ::1]) -> cython.bint:
    """Return whether a value is missing."""
    for i in range(X.shape[0]):
        found: cython.bint = False
        # Without a branch, so that the loop is vectorised.
        for j in range(X.shape[1]):
            found |= X[i, j] != X[i, j]
        if found:
            return True
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def step(
    X: cython.const[real][:, ::1],
    row: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    nodes: cython.const[packed_nodes.Node][::1],
    words: cython.const[cython.longlong][::1],
    mixed: cython.bint,
) -> cython.Py_ssize_t:
    """Return the child of a node to which a row goes; a leaf is its own child."""
    value: cython.double = X[row, nodes[node].mark >> packed_nodes.COLUMN_SHIFT]
    return packed_nodes.find_child(value, node, nodes, words, mixed)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def send_list(
    X: cython.const[real][:, ::1],
    next_row: cython.Py_ssize_t,
    moving: cython.Py_ssize_t,
    nodes: cython.const[packed_nodes.Node][::1],
    words: cython.const[cython.longlong][::1],
    mixed: cython.bint,
    walks: cython.longlong[::1],
    at: cython.int[::1],
) -> cython.void:
    """Send `moving` walks down, and write the leaf of walk i to `at[i]`.

    A walk is its number i times 2^32 plus its node. It is that of row i (`next_row` is 1), all in one tree, or of row 0
    (`next_row` is 0), each in a tree of its own. Walks that have ended are taken off the list.
    """
    while moving > 0:
        staying: cython.Py_ssize_t = 0
        for k in range(moving):
            i: cython.Py_ssize_t = walks[k] >> 32
            node: cython.Py_ssize_t = walks[k] & 0x7FFFFFFF
            is_split: cython.Py_ssize_t = (nodes[node].mark >> 1) & 1
            node = step(X, i * next_row, node, nodes, words, mixed)
            # The next pass reads this node: it is fetched while the other walks move.
            inline.mercer_prefetch(cython.address(nodes[node]))
            at[i] = cython.cast(cython.int, node)
            walks[staying] = (cython.cast(cython.longlong, i) << 32) | cython.cast(cython.longlong, node)
            staying += is_split
        moving = staying


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def send_rows(
    X: cython.const[real][:, ::1],
    count: cython.Py_ssize_t,
    root: cython.int,
    depth: cython.int,
    nodes: cython.const[packed_nodes.Node][::1],
    words: cython.const[cython.longlong][::1],
    mixed: cython.bint,
    walks: cython.longlong[::1],
    at: cython.int[::1],
) -> cython.void:
    """Write the leaves of the first `count` rows in a tree to `at`.

    Where its depth is not negative, four rows take as many steps together: no branch depends on them, so that a
    processor works on the next rows before one has arrived.
    """
    i: cython.Py_ssize_t = 0
    if depth < 0:
        for i in range(count):
            walks[i] = (cython.cast(cython.longlong, i) << 32) | cython.cast(cython.longlong, root)
        send_list(X, 1, count, nodes, words, mixed, walks, at)
        return
    for i in range(count):
        at[i] = root
    for _ in range(depth):
        for i in range(count):
            at[i] = cython.cast(cython.int, step(X, i, at[i], nodes, words, mixed))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def keep_leaf(
    row: cython.Py_ssize_t,
    tree: cython.Py_ssize_t,
    leaf: cython.Py_ssize_t,
    roots: cython.const[cython.int][::1],
    outputs: cython.const[cython.int][::1],
    values: cython.const[cython.double][:, ::1],
    sums: cython.double[:, ::1],
    leaves: cython.longlong[:, ::1],
) -> cython.void:
    """Add the values of a row's leaf in a tree, or write its number, whichever is asked for."""
    if leaves.shape[0] > 0:
        leaves[row, tree] = leaf - roots[tree]
        return
    for v in range(values.shape[1]):
        sums[row, outputs[tree] + v] += values[leaf, v]


def walk(
    X: cython.const[real][:, ::1],
    roots: cython.const[cython.int][::1],
    depths: cython.const[cython.int][::1],
    outputs: cython.const[cython.int][::1],
    nodes: cython.const[packed_nodes.Node][::1],
    words: cython.const[cython.longlong][::1],
    values: cython.const[cython.double][:, ::1],
    walks: cython.longlong[::1],
    at: cython.int[::1],
    sums: cython.double[:, ::1],
    leaves: cython.longlong[:, ::1],
):
    """Add the values of each row's leaves to `sums`, tree by tree, and write the leaves to `leaves`.

    Parameters
    ----------
    roots, depths, outputs : (trees,)
        Roots; most steps to a leaf, negative for deep trees; and the first column of the sums to add to.
    nodes, words : (nodes,)
        See ``packed_nodes``.
    values : (nodes, k)
    walks, at : (together,)
        Scratch for the rows, or the trees of a row, that go down together.
    sums : (n, outputs), or none
    leaves : (n, trees), or none
        The root of a tree has the number 0.
    """
    n: cython.Py_ssize_t = X.shape[0]
    first: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t = 0
    with cython.nogil:
        if n < FEW and n < roots.shape[0]:
            for first in range(n):
                start = 0
                while start < roots.shape[0]:
                    count = min(walks.shape[0], roots.shape[0] - start)
                    for i in range(count):
                        walks[i] = (cython.cast(cython.longlong, i) << 32) | cython.cast(
                            cython.longlong, roots[start + i]
                        )
                    send_list(X[first:], 0, count, nodes, words, True, walks, at)
                    for i in range(count):
                        keep_leaf(first, start + i, at[i], roots, outputs, values, sums, leaves)
                    start += count
            n = 0
        start = 0
        mixed: cython.bint = words.shape[0] > 0 or X.shape[1] > 4 * roots.shape[0] or has_gaps(X)
        # The rows of a tile pass all trees before the next ones, where the trees stay in a cache meanwhile.
        tile: cython.Py_ssize_t = walks.shape[0] if nodes.shape[0] <= CACHED else n
        while start < n:
            for t in range(roots.shape[0]):
                first = start
                while first < min(start + tile, n):
                    count = min(walks.shape[0], min(start + tile, n) - first)
                    # Two calls, so that the compiler makes a function without the parts that nothing needs.
                    if mixed:
                        send_rows(X[first:], count, roots[t], depths[t], nodes, words, True, walks, at)
                    else:
                        send_rows(X[first:], count, roots[t], depths[t], nodes, words, False, walks, at)
                    for i in range(count):
                        keep_leaf(first + i, t, at[i], roots, outputs, values, sums, leaves)
                    first += count
            start += tile


def mark_paths(
    X: cython.const[real][:, ::1],
    roots: cython.const[cython.int][::1],
    nodes: cython.const[packed_nodes.Node][::1],
    words: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    paths: cython.longlong[::1],
):
    """Write the nodes on the paths of row i in all trees to `paths` from ``starts[i]`` on."""
    with cython.nogil:
        for i in range(X.shape[0]):
            place = starts[i]
            for t in range(roots.shape[0]):
                node: cython.Py_ssize_t = roots[t]
                paths[place] = node
                place += 1
                while nodes[node].mark & packed_nodes.SPLIT:
                    node = step(X, i, node, nodes, words, True)
                    paths[place] = node
                    place += 1
