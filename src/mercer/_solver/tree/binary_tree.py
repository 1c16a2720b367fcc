"""A fitted binary tree: scikit-learn's arrays, nodes numbered depth first, and the leaves that rows reach."""

import sys
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mercer._plain import plain
from mercer._solver.tree.packed_forest import PackedForest, join_trees
from mercer._solver.tree.soundness import check_categories, check_nodes, ensure_sound
from mercer._stored import Stored, flags, floats, integers
from mercer._types import Array
from mercer.errors import ModelFileError

# The children of a leaf, as in scikit-learn.
LEAF = -1
# The feature and the threshold of a leaf, as in scikit-learn.
UNDEFINED = -2


@plain
@dataclass(frozen=True, eq=False)
class BinaryTree:
    """A binary tree with the arrays of scikit-learn's ``tree_``; nodes are counted depth first, left before right.

    Attributes
    ----------
    n_features, n_outputs : int
        Columns of rows, and of targets.
    n_classes : (n_outputs,)
        Classes of each output; one for numbers.
    children_left, children_right : (node_count,)
        The children of each node; -1 for a leaf. The left child follows its parent.
    feature, threshold : (node_count,)
        Rows with ``x[feature] <= threshold`` go left; -2 at a leaf.
    missing_go_to_left : (node_count,)
        Whether a missing value goes left, and a category that the node has not seen.
    impurity, n_node_samples, weighted_n_node_samples : (node_count,)
        Of the rows of the fit.
    value : (node_count, n_outputs, max_n_classes)
        Shares of the classes, or the value that a node predicts.
    categories : (node_count,), or empty where no column is categorical
        Where in `words` the categories that go left begin; -1 for a numeric split.
    words : int64
        For each categorical split the number of pairs that follow, and the pairs; each is for 32 categories and has the
        bits of those that the node has seen, and the bits of those that go left.
    """

    n_features: int
    n_classes: Array
    children_left: Array
    children_right: Array
    feature: Array
    threshold: Array
    missing_go_to_left: Array
    impurity: Array
    n_node_samples: Array
    weighted_n_node_samples: Array
    value: Array
    categories: Array
    words: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "feature": integers("nodes", dtype="int32"),
        "n_classes": integers("outputs", low=1),
        "children_left": integers("nodes", low=LEAF, below="nodes"),
        "children_right": integers("nodes", low=LEAF, below="nodes", dtype="int32"),
        "threshold": floats("nodes", dtype="float64"),
        "missing_go_to_left": flags("nodes"),
        "impurity": floats("nodes"),
        "n_node_samples": integers("nodes"),
        "weighted_n_node_samples": floats("nodes", dtype="float64"),
        "value": floats("nodes, outputs, values", dtype="float64"),
        "categories": integers("nodes | 0"),
        "words": integers("words", dtype="int64"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if the arrays are not a tree that native code can walk."""
        check_nodes("BinaryTree", self.children_left, self.children_right, self.feature, self.n_features)
        check_categories("BinaryTree.categories", self.categories, self.words)
        if self.missing_go_to_left.max(initial=0) > 1 or self.n_classes.max(initial=1) > self.value.shape[2]:
            raise ModelFileError("BinaryTree must have flags of 0 or 1 and a value for each class; the file's has not.")

    @property
    def n_outputs(self) -> int:
        return self.value.shape[1]

    @property
    def node_count(self) -> int:
        return len(self.feature)

    @property
    def capacity(self) -> int:
        return len(self.feature)

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.children_left == LEAF))

    @cached_property
    def depths(self) -> Array:
        """The depth of each node."""
        depths = np.zeros(self.node_count, np.int64)
        here = np.array([0])
        # Level by level from the root; leaves drop out.
        while len(here := here[self.children_left[here] != LEAF]):
            below = np.concatenate([self.children_left[here], self.children_right[here]])
            depths[below] = depths[here[0]] + 1
            here = below
        return depths

    @property
    def max_depth(self) -> int:
        return int(self.depths.max())

    def list_arrays(self) -> tuple[Array, ...]:
        """Return columns, right children, thresholds, sides, words and the starts of categories in them; checked."""
        ensure_sound(self)
        arrays = self.feature, self.children_right, self.threshold, self.missing_go_to_left
        return *arrays, self.words, self.categories

    @cached_property
    def _packed(self) -> PackedForest:
        """The tree in the form that native walks read."""
        return join_trees([self])

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        """scikit-learn's record of a tree for the package shap, which reads arrays of no other class."""
        module = sys.modules.get("sklearn.tree") if "shap" in sys.modules else None
        return BinaryTree if module is None else getattr(getattr(module, "_tree", None), "Tree", BinaryTree)

    def __reduce__(self) -> tuple[Any, ...]:
        # Python's own way would ask for the class that `__class__` names.
        return _restore, (self.__getstate__(),)

    def change(self, **arrays: Any) -> "BinaryTree":
        """Return the tree with other arrays in the places of some."""
        return BinaryTree(**{one.name: arrays.get(one.name, getattr(self, one.name)) for one in fields(BinaryTree)})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_packed", "_is_grown", "depths")}

    def apply(self, X: Array, threads: int = 1) -> Array:
        """Return the leaf of each row."""
        return self._packed.find_leaves(X, threads)[:, 0]

    def predict(self, X: Array, threads: int = 1) -> Array:
        """Return the value of each row's leaf: (n, n_outputs, max_n_classes), or (n, max_n_classes) for one output."""
        values = self.value.take(self.apply(X, threads), axis=0)
        return values[:, 0] if self.n_outputs == 1 else values

    def decision_path(self, X: Array) -> csr_array:
        """Return a sparse matrix (n, node_count) with ones at the nodes on the path of each row."""
        return self._packed.find_paths(X, 1)

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """Return how much the splits by each feature lower the impurity, as shares of their sum if `normalize`.

        A split lowers it by (w I - w_l I_l - w_r I_r) / w_root, with w the weight and I the impurity of a node.
        """
        inner = np.flatnonzero(self.children_left != LEAF)
        left, right = self.children_left[inner], self.children_right[inner]
        cost = self.weighted_n_node_samples * self.impurity
        gain = cost[inner] - cost[left] - cost[right]
        importances: Array = np.bincount(self.feature[inner], gain, minlength=self.n_features)
        importances = importances / self.weighted_n_node_samples[0]
        total = importances.sum()
        return importances / total if normalize and total > 0.0 else importances


def _restore(state: dict[str, Any]) -> BinaryTree:
    """Return the tree of a pickle."""
    return BinaryTree(**state)
