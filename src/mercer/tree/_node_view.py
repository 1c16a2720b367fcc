"""One interface to fitted trees of every kind: scikit-learn's, mercer's binary trees, stumps and multiway trees."""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.pruning import cut_branches
from mercer.errors import DataError
from mercer.tree._multiway_gains import compute_impurities
from mercer.tree._multiway_tree import MultiwayTree


@dataclass(frozen=True, eq=False)
class NodeView:
    """The nodes of a fitted tree; children have larger indices than their parents.

    ``value`` holds the class shares of each node, or in one column the value it predicts; ``weight`` and ``impurity``
    are those of the training rows.
    """

    model: Any
    parent: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    impurity: np.ndarray
    classes: Any

    @cached_property
    def children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.parent]
        for node in range(1, len(self.parent)):
            found[self.parent[node]].append(node)
        return found

    @cached_property
    def leaves(self) -> np.ndarray:
        return np.array([not below for below in self.children])

    @property
    def cost(self) -> np.ndarray:
        """R(t): the weighted impurity of each node, as a share of the root's weight."""
        return self.impurity * self.weight / self.weight[0]

    def parts(self, X: Any) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return (leaf, rows, shares) for each leaf that rows reach, with the share of each row that reaches it."""
        tree = self.model.tree_
        if isinstance(tree, MultiwayTree):
            return tree.parts(self.model._read(X))
        found = self.model.apply(X)
        return [
            (leaf, rows, np.ones(len(rows))) for leaf in np.unique(found) if len(rows := np.flatnonzero(found == leaf))
        ]

    def answers(self, parts: list[tuple[int, np.ndarray, np.ndarray]], n_rows: int, cut: np.ndarray) -> np.ndarray:
        """Return what the tree predicts if the nodes marked by `cut` are leaves; `parts` are those of :meth:`parts`."""
        out = np.zeros((n_rows, self.value.shape[1]))
        last = self.ends(cut)
        for leaf, rows, part in parts:
            out[rows] += part[:, None] * self.value[last[leaf]]
        return out

    def ends(self, cut: np.ndarray) -> np.ndarray:
        """Return the uppermost cut node on the path to each node, or the node itself."""
        last = np.arange(len(self.parent))
        for node in range(1, len(self.parent)):
            above = last[self.parent[node]]
            last[node] = above if cut[above] else node
        return last


def view_nodes(model: Any) -> NodeView:
    """Return the nodes of a fitted tree; raise DataError if `model` is none, or has several outputs."""
    check_is_fitted(model)
    tree: Any = getattr(model, "tree_", None)
    if isinstance(tree, MultiwayTree):
        found = compute_impurities(tree.weights, model.criterion)
        return NodeView(model, tree.parent, tree.shares(), tree.weights.sum(axis=1), found, model.classes_)
    if not hasattr(tree, "children_left"):
        raise DataError(
            f"{type(model).__name__} is not a decision tree: it has no tree_. Give a tree, or a member of a forest."
        )
    if tree.n_outputs != 1:
        raise DataError(
            f"{type(model).__name__}: a tree of one output is needed; got {tree.n_outputs}. Fit a tree for each."
        )
    parent = np.full(tree.node_count, -1)
    inner = np.flatnonzero(tree.children_left >= 0)
    # Parents from the lists of children.
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    value = tree.value[:, 0, :]
    return NodeView(model, parent, value, tree.weighted_n_node_samples, tree.impurity, getattr(model, "classes_", None))


def cut_model(nodes: NodeView, cut: np.ndarray) -> Any:
    """Return a fitted copy of a tree in which the nodes marked by `cut` are leaves, without the nodes below them."""
    model, tree = copy(nodes.model), nodes.model.tree_
    if isinstance(tree, BinaryTree):
        pruned: Any = cut_branches(tree, cut)
        # The tree of a stump is made from its one split on demand, so it cannot be replaced.
        if isinstance(getattr(type(model), "tree_", None), property):
            raise DataError(
                f"{type(model).__name__}: a stump has one split; there is nothing to prune. Leave it as it is."
            )
    elif isinstance(tree, MultiwayTree):
        pruned = _cut_multiway(tree, nodes, cut)
    else:
        pruned = _cut_scikit(tree, nodes, cut)
    model.tree_ = pruned
    return model


def _keep_nodes(nodes: NodeView, cut: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return masks of the nodes that stay and of those among them that become leaves, and the new indices."""
    kept = nodes.ends(cut) == np.arange(len(cut))
    return kept, cut & kept, np.cumsum(kept) - 1


def _cut_multiway(tree: MultiwayTree, nodes: NodeView, cut: np.ndarray) -> MultiwayTree:
    kept, leaf, numbers = _keep_nodes(nodes, cut)
    parent = np.where(tree.parent < 0, -1, numbers[tree.parent])[kept]
    feature = np.where(leaf, -1, tree.feature)[kept]
    threshold = np.where(leaf, np.nan, tree.threshold)[kept]
    rest = {name: getattr(tree, name)[kept] for name in ("branch", "weights", "gains")}
    return replace(tree, feature=feature, threshold=threshold, parent=parent, **rest)


def _cut_scikit(tree: Any, nodes: NodeView, cut: np.ndarray) -> Any:
    """Rebuild scikit-learn's tree from the state that it pickles."""
    kept, leaf, numbers = _keep_nodes(nodes, cut)
    state = dict(tree.__getstate__())
    table = state["nodes"].copy()
    for side in ("left_child", "right_child"):
        # Children of nodes that became leaves are gone; the others move up.
        table[side] = np.where(leaf | (table[side] < 0), -1, numbers[table[side]])
    table["feature"] = np.where(leaf, -2, table["feature"])
    table["threshold"] = np.where(leaf, -2.0, table["threshold"])
    state |= {"nodes": table[kept], "values": state["values"][kept], "node_count": int(kept.sum())}
    depth = np.zeros(len(kept), dtype=np.int64)
    for node in range(1, len(kept)):
        depth[node] = depth[nodes.parent[node]] + 1
    state["max_depth"] = int(depth[kept].max())
    _, arguments, *_ = tree.__reduce__()
    rebuilt = type(tree)(*arguments)
    rebuilt.__setstate__(state)
    return rebuilt
