"""The levels of a finished tree: its cost and its leaves at each depth, and the tree cut off at a depth."""

from dataclasses import dataclass, replace

import numpy as np

from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF, UNDEFINED, BinaryTree
from mercer._types import Array

__all__ = ["TreeLevel", "cut_tree", "list_levels"]


@plain
@dataclass(frozen=True, eq=False)
class TreeLevel:
    """A tree cut off at `depth`: the state of a fit that grew the whole tree at once."""

    tree: BinaryTree
    depth: int


def list_levels(tree: BinaryTree) -> list[tuple[float, int]]:
    """Return, for each depth, the weighted impurity of the tree cut off there, and the number of its leaves."""
    depths, cost = tree.depths, tree.weighted_n_node_samples * tree.impurity
    leaves = np.flatnonzero(tree.children_left == LEAF)
    n_levels = int(depths.max()) + 1
    # Cut off at a depth, a tree has as leaves the nodes there and the leaves above.
    own, n_own = np.bincount(depths, cost), np.bincount(depths)
    above = np.cumsum(np.bincount(depths[leaves] + 1, cost[leaves], n_levels + 1))[:n_levels]
    n_above = np.cumsum(np.bincount(depths[leaves] + 1, minlength=n_levels + 1))[:n_levels]
    return list(zip((own + above).tolist(), (n_own + n_above).tolist(), strict=True))


def cut_tree(tree: BinaryTree, depth: int) -> BinaryTree:
    """Return `tree` without its nodes below `depth`; trees without categories only."""
    depths = tree.depths
    kept = depths <= depth
    if kept.all():
        return tree
    # Nodes are numbered depth first, so that those which stay keep their order.
    numbers = np.cumsum(kept) - 1
    is_leaf = (depths == depth) | (tree.children_left == LEAF)

    def renumber(children: Array) -> Array:
        return np.where(is_leaf, LEAF, numbers[np.where(is_leaf, 0, children)])[kept].astype(np.int32)

    return replace(
        tree,
        children_left=renumber(tree.children_left),
        children_right=renumber(tree.children_right),
        feature=np.where(is_leaf, UNDEFINED, tree.feature)[kept].astype(tree.feature.dtype),
        threshold=np.where(is_leaf, float(UNDEFINED), tree.threshold)[kept],
        missing_go_to_left=np.where(is_leaf, 0, tree.missing_go_to_left)[kept].astype(np.uint8),
        impurity=tree.impurity[kept],
        n_node_samples=tree.n_node_samples[kept],
        weighted_n_node_samples=tree.weighted_n_node_samples[kept],
        value=tree.value[kept],
    )
