"""Trees of random splits that know no targets: they tell rows apart, and many grow in one native call."""

import numpy as np

from mercer._solver.tree.binary_tree import LEAF
from mercer._solver.tree.columns import hold_matrix
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.search import Room
from mercer._solver.tree.target import NO_TARGET
from mercer._solver.tree.whole_growth import BranchGrowth
from mercer._types import Array

# Arrays of the nodes of trees, by the names of `BinaryTree`.
Nodes = dict[str, Array]


def grow_apart(
    X: Array, rows: Array, seeds: Array, drawn: Array | None, max_depth: int, room: Room
) -> tuple[Array, Nodes]:
    """Return the number of nodes of each tree, and their arrays, one tree after the other.

    Right children count from the root of their tree; a left child is the next node. A node is split at a random value
    of a random column, of those that vary in it, until its rows are alone or equal.

    Parameters
    ----------
    X : (n, d)
    rows : (trees, m), the rows of each tree
    seeds : (trees,), below 2^32
    drawn : (trees, k) or None
        The columns that each tree may split; None for all.
    max_depth : int
    room : Room
        Scratch arrays that the calls of one thread share.
    """
    n_trees, m = rows.shape
    growth = Growth(hold_matrix(X, drawn), NO_TARGET, Rules(max_depth=max_depth, random=True, judged=False))
    growth.begin_trees(rows.astype(np.int32).ravel(), m * np.arange(n_trees + 1), seeds)
    branches = BranchGrowth(growth, room, 0)
    branches.grow_from_roots()
    nodes, _, sizes = branches.order_nodes(n_trees)
    sizes = sizes[:n_trees].copy()
    begins, right = np.repeat((np.cumsum(sizes) - sizes).astype(np.int32), sizes), nodes["children_right"]
    del nodes["children_left"]
    nodes["children_right"] = np.where(right >= 0, right - begins, LEAF)
    return sizes, nodes
