"""The levels of a finished tree: its cost and its leaves at each depth, and the tree cut off at a depth."""

from dataclasses import dataclass, replace

import numpy as np

from mercer._native.tree import tree_order
from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF, UNDEFINED, BinaryTree
from mercer._types import Array


@plain
@dataclass(frozen=True, eq=False)
class TreeLevel:
    """A tree cut off at `depth`: the state of a fit that grew the whole tree at once."""

    tree: BinaryTree
    depth: int


def list_levels(tree: BinaryTree) -> list[tuple[float, int]]:
    """Return, for each depth, the weighted impurity of the tree cut off there, and the number of its leaves."""
    return _sum_levels(tree.children_left, tree.depths, tree.weighted_n_node_samples * tree.impurity)


def measure_last_level(nodes: dict[str, Array], sizes: Array) -> tuple[float, int]:
    """Return the weighted impurity and the number of leaves of a tree as it grows, from the nodes of all its levels.

    They have the bits that :func:`list_levels` gives: both add the nodes of a level from left to right.
    """
    left, depths = nodes["left"].astype(np.int32), np.repeat(np.arange(len(sizes)), sizes)
    return _sum_levels(left, depths, nodes["weights"] * nodes["impurity"])[-1]


def _sum_levels(left: Array, depths: Array, costs: Array) -> list[tuple[float, int]]:
    room = 2, len(left) + 1
    sums, leaves = np.zeros(room), np.zeros(room, np.int64)
    n_levels = tree_order.sum_levels(left, depths, costs, sums, leaves)
    return list(zip(sums[0, :n_levels].tolist(), leaves[0, :n_levels].tolist(), strict=True))


def cut_tree(tree: BinaryTree, depth: int) -> BinaryTree:
    """Return `tree` without its nodes below `depth`; trees without categories only."""
    depths = tree.depths
    if depth >= depths.max():
        return tree
    kept = depths <= depth
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
