# cython: infer_types=True
"""Shapley values of trees: how much each column moves a row's score from the mean over the training rows.

The values are exact for the game in which a row goes down both sides of a split by a column outside the coalition,
weighted by the training rows that took each side (TreeSHAP, Lundberg et al., 2018). A path keeps, for each distinct
column on it, the shares of rows that follow it without and with that column known, and the weights of coalitions of
each size; a column is added or removed in O(depth).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import packed_nodes
else:
    from mercer._native.tree import packed_nodes


@cython.cclass
class Forest:
    """Packed trees: nodes, the weight of the training rows that came by each, and root, size and output of each tree.

    `chosen` says for one row whether it goes left at each node.
    """

    nodes: cython.const[packed_nodes.Node][::1]
    words: cython.const[cython.longlong][::1]
    values: cython.const[cython.double][:, ::1]
    weights: cython.const[cython.double][::1]
    roots: cython.const[cython.int][::1]
    sizes: cython.const[cython.int][::1]
    outputs: cython.const[cython.int][::1]
    chosen: cython.uchar[::1]

    def __init__(self, nodes, trees, chosen):
        self.nodes, self.words, self.values, self.weights = nodes
        self.roots, self.sizes, self.outputs = trees
        self.chosen = chosen

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose(self, tree: cython.Py_ssize_t, x: cython.const[cython.double][::1]) -> cython.void:
        """Write whether a row goes left at each node of a tree."""
        for node in range(self.roots[tree], self.roots[tree] + self.sizes[tree]):
            value: cython.double = x[self.nodes[node].mark >> packed_nodes.COLUMN_SHIFT]
            self.chosen[node] = 1 - packed_nodes.find_right(value, node, self.nodes, self.words)


@cython.cclass
class Path:
    """The path from a root to each node above the present one: (D + 2)(D + 3) / 2 places for the greatest depth D.

    For each distinct column on it: the weights of coalitions by size, and the shares of rows that follow the path
    without (`zeros`) and with (`ones`) that column known.
    """

    weights: cython.double[::1]
    zeros: cython.double[::1]
    ones: cython.double[::1]
    columns: cython.int[::1]

    def __init__(self, weights, zeros, ones, columns):
        self.weights, self.zeros, self.ones, self.columns = weights, zeros, ones, columns

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def copy(self, source: cython.Py_ssize_t, target: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.void:
        """Copy a path of `depth` columns from place `source` to place `target`."""
        i: cython.Py_ssize_t
        for i in range(depth):
            self.weights[target + i] = self.weights[source + i]
            self.zeros[target + i] = self.zeros[source + i]
            self.ones[target + i] = self.ones[source + i]
            self.columns[target + i] = self.columns[source + i]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def extend(
        self,
        first: cython.Py_ssize_t,
        depth: cython.Py_ssize_t,
        zero: cython.double,
        one: cython.double,
        column: cython.int,
    ) -> cython.void:
        """Add a column to the path of `depth` columns that begins at `first`."""
        i: cython.Py_ssize_t
        self.columns[first + depth] = column
        self.zeros[first + depth] = zero
        self.ones[first + depth] = one
        self.weights[first + depth] = 1.0 if depth == 0 else 0.0
        # Downwards in place: place i + 1 takes from place i before that changes (EXTEND of Lundberg et al., 2018).
        i = depth - 1
        while i >= 0:
            self.weights[first + i + 1] += one * self.weights[first + i] * (i + 1.0) / (depth + 1.0)
            self.weights[first + i] = zero * self.weights[first + i] * (depth - i) / (depth + 1.0)
            i -= 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def remove(
        self, first: cython.Py_ssize_t, depth: cython.Py_ssize_t, place: cython.Py_ssize_t, keep: cython.int
    ) -> cython.double:
        """Return the sum of the weights without the column at `place`; unless `keep`, remove it from the path."""
        i: cython.Py_ssize_t = depth - 1
        one: cython.double = self.ones[first + place]
        zero: cython.double = self.zeros[first + place]
        carried: cython.double = self.weights[first + depth]
        left: cython.double
        total: cython.double = 0.0
        while i >= 0:
            # UNWIND, the inverse of EXTEND. If the column is against the path (`one` is zero), no weight came from
            # smaller coalitions, and the other recursion has no division by zero.
            if one != 0.0:
                left = carried * (depth + 1.0) / ((i + 1.0) * one)
                carried = self.weights[first + i] - left * zero * (depth - i) / (depth + 1.0)
            else:
                left = self.weights[first + i] * (depth + 1.0) / (zero * (depth - i))
            total += left
            if keep == 0:
                self.weights[first + i] = left
            i -= 1
        # The columns behind the removed one move up by one place.
        if keep == 0:
            for i in range(place, depth):
                self.columns[first + i] = self.columns[first + i + 1]
                self.zeros[first + i] = self.zeros[first + i + 1]
                self.ones[first + i] = self.ones[first + i + 1]
        return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _descend(
    node: cython.Py_ssize_t,
    forest: Forest,
    path: Path,
    before: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    zero: cython.double,
    one: cython.double,
    column: cython.int,
    shares: cython.double[:, ::1],
) -> cython.void:
    """Extend the path at `before`, of `depth` columns, by `column`; add the shares of all leaves below `node`."""
    first: cython.Py_ssize_t = before + depth
    known_zero: cython.double = 1.0
    known_one: cython.double = 1.0
    path.copy(before, first, depth)
    path.extend(first, depth, zero, one, column)
    if not forest.nodes[node].mark & packed_nodes.SPLIT:
        for i in range(1, depth + 1):
            part = path.remove(first, depth, i, 1) * (path.ones[first + i] - path.zeros[first + i])
            for k in range(forest.values.shape[1]):
                shares[k, path.columns[first + i]] += part * forest.values[node, k]
        return
    asked: cython.int = forest.nodes[node].mark >> packed_nodes.COLUMN_SHIFT
    left: cython.Py_ssize_t = node + 1
    right: cython.Py_ssize_t = node + 1 + forest.nodes[node].skip
    for i in range(1, depth + 1):
        # A column counts once, however often the path splits by it: its earlier shares are taken off the path and
        # multiplied into the new ones.
        if path.columns[first + i] == asked:
            known_zero = path.zeros[first + i]
            known_one = path.ones[first + i]
            path.remove(first, depth, i, 0)
            depth -= 1
            break
    for i in range(2):
        # The child that the row goes to, before the other one.
        child: cython.Py_ssize_t = left if (i == 0) == (forest.chosen[node] == 1) else right
        zero = known_zero * forest.weights[child] / forest.weights[node]
        _descend(child, forest, path, first, depth + 1, zero, known_one if i == 0 else 0.0, asked, shares)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_row(
    x: cython.const[cython.double][::1], forest: Forest, path: Path, shares: cython.double[:, ::1]
) -> cython.void:
    """Add the Shapley values of one row, of all trees."""
    tree: cython.Py_ssize_t
    for tree in range(forest.roots.shape[0]):
        forest.choose(tree, x)
        _descend(forest.roots[tree], forest, path, 0, 0, 1.0, 1.0, -1, shares[forest.outputs[tree] :])


def add_shares(
    X: cython.const[cython.double][:, ::1], nodes, trees, chosen, path, shares: cython.double[:, :, ::1]
) -> None:
    """Add to the shares (n, k, d + 1) of some rows the Shapley values of all trees; the last column is left alone.

    Parameters
    ----------
    nodes : nodes (nodes,), words, values (nodes, k), weights (nodes,)
        As in ``forest_walk``; `weights` are those of the training rows that came by.
    trees : roots, sizes, outputs, each (trees,)
        Root, number of nodes, and first output of each tree.
    chosen : (nodes,), scratch
    path : weights, zeros, ones, columns
        Scratch for a path of the greatest depth D at every depth: (D + 2)(D + 3) / 2 each.
    """
    forest: Forest = Forest(nodes, trees, chosen)
    scratch: Path = Path(*path)
    with cython.nogil:
        for i in range(X.shape[0]):
            _add_row(X[i], forest, scratch, shares[i])
