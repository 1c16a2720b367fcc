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
    cost, nodes = tree.weighted_n_node_samples * tree.impurity, np.zeros(1, np.int64)
    levels, settled, n_settled = [], 0.0, 0
    while len(nodes):
        levels.append((settled + float(cost[nodes].sum()), n_settled + len(nodes)))
        is_leaf = tree.children_left[nodes] == LEAF
        settled, n_settled = settled + float(cost[nodes[is_leaf]].sum()), n_settled + int(np.count_nonzero(is_leaf))
        inner = nodes[~is_leaf]
        nodes = np.concatenate([tree.children_left[inner], tree.children_right[inner]]).astype(np.int64)
    return levels


def measure_depths(tree: BinaryTree) -> Array:
    """Return the depth of each node."""
    depths, nodes, depth = np.zeros(tree.node_count, np.int64), np.zeros(1, np.int64), 0
    while len(nodes):
        depths[nodes] = depth
        inner = nodes[tree.children_left[nodes] != LEAF]
        nodes, depth = (
            np.concatenate([tree.children_left[inner], tree.children_right[inner]]).astype(np.int64),
            depth + 1,
        )
    return depths


def cut_tree(tree: BinaryTree, depth: int) -> BinaryTree:
    """Return `tree` without its nodes below `depth`; trees without categories only."""
    depths = measure_depths(tree)
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
