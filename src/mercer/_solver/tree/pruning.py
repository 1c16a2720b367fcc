"""Parts of a finished tree: what cost-complexity pruning leaves, and the tree cut off at a depth."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.tree import tree_order
from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF, UNDEFINED, BinaryTree
from mercer._types import Array


class _Links:
    """The cost of every branch of a tree as branches are cut.

    R(t) is the weighted impurity of node t as a leaf, and R(T) that of the leaves of its branch T. With a price alpha
    for each leaf, the branch costs R(T) + alpha leaves, and node t as a leaf R(t) + alpha. The branch is cheaper as
    long as alpha < (R(t) - R(T)) / (leaves - 1), the strength of the link.
    """

    def __init__(self, tree: BinaryTree) -> None:
        self.left, self.right = tree.children_left.tolist(), tree.children_right.tolist()
        n = tree.node_count
        own = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        self.own: list[float] = own.tolist()
        self.branch, self.leaves, self.parent = list(self.own), [1] * n, [LEAF] * n
        # Depth-first numbers: children come after parents.
        for node in range(n - 1, -1, -1):
            if self.left[node] != LEAF:
                self._sum(node)
                self.parent[self.left[node]] = self.parent[self.right[node]] = node
        self.gone = [False] * n
        self.heap = [(self.strength(node), node) for node in range(n) if self.left[node] != LEAF]
        heapq.heapify(self.heap)

    def _sum(self, node: int) -> None:
        left, right = self.left[node], self.right[node]
        self.branch[node] = self.branch[left] + self.branch[right]
        self.leaves[node] = self.leaves[left] + self.leaves[right]

    def strength(self, node: int) -> float:
        return (self.own[node] - self.branch[node]) / (self.leaves[node] - 1)

    def weakest(self) -> tuple[float, int] | None:
        """Return the strength and the node of the weakest link that is left; None if there is none.

        Entries of the heap are not removed when a strength changes: one that is out of date is skipped here.
        """
        while self.heap:
            strength, node = self.heap[0]
            if not self.gone[node] and self.leaves[node] > 1 and self.strength(node) == strength:
                return strength, node
            heapq.heappop(self.heap)
        return None

    def cut(self, node: int) -> None:
        """Make a node a leaf."""
        waiting = [self.left[node], self.right[node]]
        while waiting:
            below = waiting.pop()
            if not self.gone[below]:
                self.gone[below] = True
                waiting += [child for child in (self.left[below], self.right[below]) if child != LEAF]
        self.branch[node], self.leaves[node] = self.own[node], 1
        # Only the branches of ancestors change, and with them the strengths of their links.
        while (node := self.parent[node]) != LEAF:
            self._sum(node)
            heapq.heappush(self.heap, (self.strength(node), node))


def find_pruning_path(tree: BinaryTree) -> tuple[Array, Array]:
    """Return the strengths at which branches are cut, and the weighted impurity of the leaves that then remain."""
    links = _Links(tree)
    alphas, impurities = [0.0], [links.branch[0]]
    while (link := links.weakest()) is not None:
        links.cut(link[1])
        alphas.append(link[0])
        impurities.append(links.branch[0])
    return np.array(alphas), np.array(impurities)


def prune(tree: BinaryTree, alpha: float) -> BinaryTree:
    """Return the smallest tree that minimises the weighted impurity of its leaves plus `alpha` for each leaf."""
    if alpha == 0.0:
        return tree
    links = _Links(tree)
    cut = np.zeros(tree.node_count, bool)
    while (link := links.weakest()) is not None and link[0] <= alpha:
        links.cut(link[1])
        cut[link[1]] = True
    return cut_branches(tree, cut)


def cut_branches(tree: BinaryTree, cut: Array) -> BinaryTree:
    """Return the tree in which the nodes marked by `cut` are leaves; all nodes below them are removed."""
    gone = np.zeros(tree.node_count, bool)
    # Level by level: what is below a node that is cut or gone is gone.
    here = np.flatnonzero(cut)
    while len(here := here[tree.children_left[here] != LEAF]):
        here = np.concatenate([tree.children_left[here], tree.children_right[here]])
        gone[here] = True
    kept, leaf = ~gone, cut & ~gone
    # Kept nodes move up and keep their order.
    numbers = np.cumsum(kept) - 1

    def children(old: Array) -> Array:
        return np.where((old == LEAF) | leaf, LEAF, numbers[old])[kept].astype(np.int32)

    changed: dict[str, Any] = {
        "children_left": children(tree.children_left),
        "children_right": children(tree.children_right),
        "feature": np.where(leaf, UNDEFINED, tree.feature)[kept],
        "threshold": np.where(leaf, float(UNDEFINED), tree.threshold)[kept],
        "missing_go_to_left": np.where(leaf, 0, tree.missing_go_to_left).astype(np.uint8)[kept],
        "categories": np.where(leaf, -1, tree.categories)[kept] if len(tree.categories) else tree.categories,
    }
    same = ("impurity", "n_node_samples", "weighted_n_node_samples", "value")
    return tree.change(**changed, **{name: getattr(tree, name)[kept] for name in same})


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
    """Return `tree` without its nodes below `depth`."""
    return tree if depth >= tree.max_depth else cut_branches(tree, tree.depths == depth)
