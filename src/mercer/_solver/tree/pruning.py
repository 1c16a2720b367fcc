"""Cost-complexity pruning: the weakest link is cut first."""

import heapq
from dataclasses import replace
from typing import Any

import numpy as np

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
    # Children come after their parents, so that one pass reaches all descendants.
    for node in range(tree.node_count):
        if (cut[node] or gone[node]) and tree.children_left[node] != LEAF:
            gone[tree.children_left[node]] = gone[tree.children_right[node]] = True
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
    return replace(tree, **changed, **{name: getattr(tree, name)[kept] for name in same})
