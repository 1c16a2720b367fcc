"""Rows in a balanced tree of boxes, for density sums."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._native.space import box_tree
from mercer._plain import plain
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import ModelFileError

# Nodes per work item, so that a thread works for some microseconds before it asks for the next.
_NODES = 64
# Values of the rows that are copied at a time: 8 MB in float64.
_VALUES = 2**20


@plain
@dataclass(frozen=True)
class RowTree:
    """Rows sorted so that near rows stand together, and the boxes around them.

    Node 0 has all rows, and the children of node i are 2 i + 1 and 2 i + 2; the last (m + 1) / 2 nodes are leaves.

    Attributes
    ----------
    data : ndarray of shape (n, d)
        The rows, leaf by leaf.
    weight : ndarray of shape (n,)
        Their weights; empty when all are one.
    order : ndarray of shape (n,)
        The index of each row among those given.
    bounds : ndarray of shape (m, 2)
        The first row of each node, and the row after its last.
    lower, upper : ndarray of shape (m, d)
        The corners of its box.
    mass : ndarray of shape (m,)
        The sum of its weights.
    """

    data: Array
    weight: Array
    order: Array
    bounds: Array
    lower: Array
    upper: Array
    mass: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "data": floats("rows, columns"),
        "weight": floats("rows | 0"),
        "order": integers("rows", low=0, below="rows"),
        "bounds": integers("nodes, 2", low=0),
        "lower": floats("nodes, columns"),
        "upper": floats("nodes, columns"),
        "mass": floats("nodes"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless the children of each node share its rows, and no leaf is larger than a half."""
        first, stop = self.bounds.T
        # Nodes lie in the order of a heap: the children of node i are 2 i + 1 and 2 i + 2.
        inner = np.arange(len(self.bounds) // 2)
        left, right = 2 * inner + 1, 2 * inner + 2
        valid = (
            len(self.bounds) % 2 == 1 and first[0] == 0 and stop[0] == len(self.data) and bool((first <= stop).all())
        )
        valid = valid and np.array_equal(first[left], first[inner]) and np.array_equal(stop[right], stop[inner])
        valid = valid and np.array_equal(stop[left], first[right])
        valid = valid and 0.0 < self.total < np.inf
        if not valid or (stop - first)[self.leaves].max() > self.largest_leaf:
            raise ModelFileError("RowTree must halve rows of positive weight from node to node; the file's does not.")

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.mass[0])

    @property
    def leaves(self) -> slice:
        """The indices of the leaves."""
        return slice(len(self.bounds) // 2, None)

    @property
    def largest_leaf(self) -> int:
        """The number of rows in the largest leaf: halves of rows differ by at most one."""
        leaves = len(self.bounds) // 2 + 1
        return -(-len(self.data) // leaves)

    def some_leaves(self, n_rows: int | None) -> Array:
        """Return the indices of evenly spaced leaves with `n_rows` rows or a few more; of all leaves for None."""
        first, stop = len(self.bounds) // 2, len(self.bounds)
        wanted = stop - first if n_rows is None else -(-n_rows * (stop - first) // len(self.data))
        if wanted >= stop - first:
            return np.arange(first, stop)
        return first + np.arange(wanted) * (stop - first) // wanted

    def rows_of(self, leaves: Array) -> Array:
        """Return the row indices of some leaves, one leaf after the other."""
        return np.concatenate([np.arange(*self.bounds[leaf]) for leaf in leaves])


@dataclass(frozen=True, eq=False)
class Locations:
    """The different rows of a tree.

    Attributes
    ----------
    first : ndarray of shape (k,)
        One row at each location.
    of_row : ndarray of shape (n,)
        The location of each row.
    mass : ndarray of shape (k,)
        The weight of all rows there.
    """

    first: Array
    of_row: Array
    mass: Array

    @classmethod
    def of(cls, tree: RowTree) -> "Locations":
        """Return the groups of equal rows; rows are compared by their bytes, after -0.0 has become 0.0."""
        rows = np.ascontiguousarray(tree.data + 0.0)
        keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
        weight = tree.weight if len(tree.weight) else None
        return cls(first, of_row, np.bincount(of_row, weight, len(first)).astype(np.float64))


def build_tree(X: Array, weight: Array, unit: Array, leaf_size: int, *, threads: int = 1, subject: str = "") -> RowTree:
    """Sort rows into a tree whose leaves have at least `leaf_size` rows, and fewer than twice as many.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    weight : ndarray of shape (n,) or None
        Rows of weight zero are left out.
    unit : ndarray of shape (d,)
        The unit of each column, by which the longest side of a box is chosen.
    leaf_size, threads : int
    subject : str
        The name of the estimator, for the memory forecast; empty if rows are few.
    """
    n, d = X.shape
    if subject:
        cure = "fit to a sample of the rows"
        # About 2 n / leaf_size nodes have two corners of d float64, which makes 32 n d / leaf_size bytes.
        require_memory(subject, X.nbytes + 8 * n + 32 * n * d / leaf_size, f"the tree of {n} rows", cure)
    order = np.arange(n) if weight is None else np.flatnonzero(weight)
    # With floor(log2(n / leaf_size)) levels below the root, halving leaves from leaf_size to 2 leaf_size rows a leaf.
    depth = max(0, int(np.log2(max(1.0, len(order) / leaf_size))))
    nodes = 2 ** (depth + 1) - 1
    bounds = np.zeros((nodes, 2), np.intp)
    bounds[0] = 0, len(order)
    lower, upper = np.empty((nodes, d)), np.empty((nodes, d))
    for level in range(depth + 1):
        first, stop = 2**level - 1, 2 ** (level + 1) - 1

        def cut(item: int, first: int = first, stop: int = stop) -> None:
            begin = first + item * _NODES
            box_tree.split(X, 1 / unit, order, bounds, lower, upper, begin, min(begin + _NODES, stop))

        run_numbered(cut, -(-(stop - first) // _NODES), threads)
    data = np.empty((len(order), d), X.dtype)
    # Ctrl-C is noticed between two blocks: one call for 512 000 rows of 20 took 0.7 s.
    count = max(1, _VALUES // max(1, d))
    for first in range(0, len(order), count):
        data[first : first + count] = X[order[first : first + count]]
    weight = np.empty(0) if weight is None else weight[order]
    # Native code follows these without looking at them again.
    order.flags.writeable = bounds.flags.writeable = False
    return RowTree(data, weight, order, bounds, lower, upper, _masses(weight, bounds))


def _masses(weight: Array, bounds: Array) -> Array:
    """Return the weight of each node, (m,): the sum of its children's weights."""
    leaves = len(bounds) // 2
    mass = np.diff(bounds, axis=1)[:, 0].astype(float)
    if len(weight):
        mass[leaves:] = np.add.reduceat(weight, bounds[leaves:, 0])
        for node in range(leaves - 1, -1, -1):
            mass[node] = mass[2 * node + 1] + mass[2 * node + 2]
    return mass
