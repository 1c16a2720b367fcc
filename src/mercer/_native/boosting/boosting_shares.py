"""Shapley values of trees: how much each column moves a row's score from the mean over the training rows.

The values are exact for the game in which a row goes down both sides of a split by a column outside the coalition,
weighted by the training rows that took each side (TreeSHAP, Lundberg et al., 2018). A path keeps, for each distinct
column on it, the shares of rows that follow it without and with that column known, and the weights of coalitions of
each size; a column is added or removed in O(depth).
"""

import cython


@cython.cclass
class Forest:
    """Packed trees, see boosting_forest: nodes, the training rows that came by each, and root, size, score of each
    tree.

    `chosen` says for one row whether it goes left at each node.
    """

    words: cython.const[cython.longlong][::1]
    thresholds: cython.const[cython.double][::1]
    values: cython.const[cython.double][::1]
    counts: cython.const[cython.double][::1]
    sets: cython.const[cython.uint][:, ::1]
    roots: cython.const[cython.int][::1]
    sizes: cython.const[cython.int][::1]
    outputs: cython.const[cython.int][::1]
    chosen: cython.uchar[::1]

    def __init__(self, nodes, trees, chosen):
        self.words, self.thresholds, self.values, self.counts, self.sets = nodes
        self.roots, self.sizes, self.outputs = trees
        self.chosen = chosen

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose(self, tree: cython.Py_ssize_t, x: cython.const[cython.double][::1]) -> cython.void:
        """Write whether a row goes left at each node of a tree."""
        node: cython.Py_ssize_t
        value: cython.double
        category: cython.int
        for node in range(self.roots[tree], self.roots[tree] + self.sizes[tree]):
            # The packed word: bits 8 to 31 are the column, bit 0 says that missing values go left, bit 1 that it has
            # categories.
            value = x[(self.words[node] >> 8) & 0xFFFFFF]
            if value != value:
                self.chosen[node] = self.words[node] & 1
            elif self.words[node] & 2:
                category = cython.cast(cython.int, value)
                self.chosen[node] = (
                    # Of a categorical split the threshold is the row of `sets`; bit c of that row says whether category
                    # c goes left.
                    self.sets[cython.cast(cython.Py_ssize_t, self.thresholds[node]), category >> 5] >> (category & 31)
                ) & 1
            else:
                self.chosen[node] = 1 if value <= self.thresholds[node] else 0


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
    shares: cython.double[::1],
) -> cython.void:
    """Extend the path at `before`, of `depth` columns, by `column`; add the shares of all leaves below `node`."""
    first: cython.Py_ssize_t = before + depth
    i: cython.Py_ssize_t
    left: cython.Py_ssize_t = forest.words[node] >> 32
    hot: cython.Py_ssize_t
    child: cython.Py_ssize_t
    asked: cython.int
    known_zero: cython.double = 1.0
    known_one: cython.double = 1.0
    path.copy(before, first, depth)
    path.extend(first, depth, zero, one, column)
    # A leaf is its own child.
    if left == node:
        for i in range(1, depth + 1):
            shares[path.columns[first + i]] += (
                path.remove(first, depth, i, 1) * (path.ones[first + i] - path.zeros[first + i]) * forest.values[node]
            )
        return
    asked = (forest.words[node] >> 8) & 0xFFFFFF
    # The child that the row goes to, before the other one.
    hot = left if forest.chosen[node] else left + 1
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
        child = hot if i == 0 else 2 * left + 1 - hot
        zero = known_zero * forest.counts[child] / forest.counts[node]
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
        _descend(forest.roots[tree], forest, path, 0, 0, 1.0, 1.0, -1, shares[forest.outputs[tree]])


def add_shares(
    X: cython.const[cython.double][:, ::1], nodes, trees, chosen, path, shares: cython.double[:, :, ::1]
) -> None:
    """Add to the shares (n, k, d + 1) of some rows the Shapley values of all trees; the last column is left alone.

    Parameters
    ----------
    nodes : words, thresholds, values, counts, each (nodes,), sets
        As in boosting_forest; `counts` are the training rows that came by.
    trees : roots, sizes, outputs, each (trees,)
        Root, number of nodes, and score of each tree.
    chosen : (nodes,), scratch
    path : weights, zeros, ones, columns
        Scratch for a path of the greatest depth D at every depth: (D + 2)(D + 3) / 2 each.
    """
    i: cython.Py_ssize_t
    forest: Forest = Forest(nodes, trees, chosen)
    scratch: Path = Path(*path)
    with cython.nogil:
        for i in range(X.shape[0]):
            _add_row(X[i], forest, scratch, shares[i])
