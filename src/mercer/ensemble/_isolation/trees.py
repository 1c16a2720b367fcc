"""All trees of an isolation forest in a few arrays, and the length of the path of a row in them."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma

from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.packed_forest import PackedForest, Threads
from mercer._solver.tree.soundness import are_depths, check_tree_list, ensure_sound
from mercer._source import Block
from mercer._stored import Stored, flags, floats, integers, numbers
from mercer._types import Array, Rows
from mercer.errors import ModelFileError


def average_path_length(n_samples: Any) -> Array:
    r"""Return the mean length of a path in a tree of random splits of distinct values.

    .. math:: c(n) = 2 H_{n-1} - \frac{2 (n - 1)}{n}, \qquad H_k = \sum_{i=1}^k \frac1i,

    the mean number of comparisons of an unsuccessful search in a binary search tree of n - 1 keys.

    Parameters
    ----------
    n_samples : array-like of int
        Numbers of rows; 0 and 1 give 0.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> from mercer.ensemble import average_path_length
    >>> average_path_length([1, 2, 3, 256]).round(4).tolist()
    [0.0, 1.0, 1.6667, 10.2487]
    """
    n = np.maximum(np.asarray(n_samples, dtype=np.float64), 1.0)
    # H_{n-1} is digamma(n) plus Euler's constant.
    return 2.0 * (digamma(n) + np.euler_gamma) - 2.0 * (n - 1.0) / n


@plain
@dataclass(frozen=True, eq=False)
class IsolationTrees:
    """Trees of random splits, one after the other; the nodes of a tree are numbered depth first, from 0.

    Attributes
    ----------
    n_features : int
        Columns of rows.
    sizes : (trees,)
        The number of nodes of each tree.
    features, thresholds : (nodes,)
        Rows with ``x[feature] <= threshold`` go left, to the next node; -2 at a leaf.
    rights : (nodes,)
        The right child in the same tree; -1 at a leaf.
    sides : (nodes,)
        1 if a missing value goes left.
    counts, depths : (nodes,)
        The rows of the tree's sample in the node, and the number of splits from the root to it.
    columns : (trees, n_columns)
        The columns that each tree may split; no columns where each tree may split all.
    """

    n_features: int
    sizes: Array
    features: Array
    thresholds: Array
    rights: Array
    sides: Array
    counts: Array
    depths: Array
    columns: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "sizes": integers("trees", low=1),
        "features": integers("nodes", low=-2, dtype="int32"),
        "thresholds": floats("nodes"),
        "rights": integers("nodes", low=LEAF, dtype="int32"),
        "sides": flags("nodes"),
        "counts": numbers("nodes"),
        "depths": integers("nodes", low=0),
        "columns": integers("trees, *", low=0),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless the nodes are trees that native code can walk."""
        places = check_tree_list("IsolationTrees", self.sizes, self.rights, self.features, self.n_features)
        if self.sides.max(initial=0) > 1 or not are_depths(self.depths, *places):
            raise ModelFileError(
                "IsolationTrees must have sides of 0 or 1, and the depth of each node; the file has other values."
            )

    def __len__(self) -> int:
        return len(self.sizes)

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def path_lengths(self) -> Array:
        """The depth of each node plus the mean depth of the tree that its rows would make."""
        return self.depths + average_path_length(self.counts)

    @cached_property
    def packed(self) -> PackedForest:
        """The trees in the form that native code reads."""
        ensure_sound(self)
        arrays = self.features, self.rights, self.thresholds, self.sides, self.path_lengths[:, None]
        return PackedForest.pack(self.sizes, *arrays, np.zeros(0, np.int64))

    def sum_paths(self, X: Rows, threads: Threads) -> Array:
        """Return the sum over the trees of the path length of each row."""
        return self.packed.sum_leaves(X, threads)[:, 0]

    def mean_path(self, first: int = 0) -> float:
        """Return the mean path of the sampled rows of the trees from number `first` on."""
        begin = int(self.sizes[:first].sum())
        leaves = begin + np.flatnonzero(self.rights[begin:] == LEAF)
        counts = self.counts[leaves]
        return float((self.depths[leaves] + average_path_length(counts)) @ counts / counts.sum())

    def make_tree(self, number: int) -> BinaryTree:
        """Return tree `number` with the arrays of scikit-learn's trees; its values are path lengths."""
        begin = int(self.sizes[:number].sum())
        part = slice(begin, begin + int(self.sizes[number]))
        rights, counts = self.rights[part], self.counts[part].astype(np.int64)
        lefts = np.where(rights == LEAF, LEAF, np.arange(1, len(rights) + 1)).astype(np.int32)
        return BinaryTree(
            n_features=self.n_features,
            n_classes=np.ones(1, np.int64),
            children_left=lefts,
            children_right=rights,
            feature=self.features[part],
            threshold=self.thresholds[part],
            missing_go_to_left=self.sides[part],
            impurity=np.zeros(len(rights)),
            n_node_samples=counts,
            weighted_n_node_samples=counts.astype(np.float64),
            value=self.path_lengths[part][:, None, None],
            categories=np.zeros(0, np.int64),
            words=np.zeros(0, np.int64),
        )


def make_no_trees(n_features: int, n_columns: int) -> IsolationTrees:
    """Return an empty forest, to which trees can be added."""
    whole, real = np.zeros(0, np.int32), np.zeros(0)
    columns = np.zeros((0, n_columns if n_columns < n_features else 0), np.int32)
    sides = np.zeros(0, np.uint8)
    return IsolationTrees(n_features, np.zeros(0, np.int64), whole, real, whole, sides, whole, whole, columns)


def join_nodes(n_features: int, sizes: Array, nodes: dict[str, Array], columns: Array) -> IsolationTrees:
    """Return trees of these sizes from the arrays of their nodes, which have the names of `BinaryTree`."""
    splits = nodes["feature"], nodes["threshold"], nodes["children_right"], nodes["missing_go_to_left"]
    return IsolationTrees(n_features, sizes, *splits, nodes["n_node_samples"], nodes["depths"], columns)


def add_trees(parts: list[IsolationTrees]) -> IsolationTrees:
    """Return the trees of all parts in one record."""
    names = [part.name for part in fields(IsolationTrees) if part.name != "n_features"]
    joined: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return IsolationTrees(parts[0].n_features, **joined)


@dataclass(frozen=True, eq=False)
class PathScores:
    """The score of each row of a block: minus two to the power of minus its mean path over the expected one.

    Where a tree has one row no path is expected, and every row has the score that means nothing strange: -0.5.
    """

    trees: IsolationTrees
    expected: float

    def __call__(self, block: Block) -> Array:
        return self.score(np.ascontiguousarray(block.dense()), 1)

    def score(self, X: Any, threads: Threads) -> Array:
        """Return the scores of rows in memory, dense or sparse."""
        paths = self.trees.sum_paths(X, threads)
        # Added tree by tree as the paths are, so that a path of just this length gives -0.5 without rounding.
        expected = float(np.cumsum(np.full(len(self.trees), self.expected))[-1])
        shares = paths / expected if expected > 0 else np.ones_like(paths)
        return -(2.0**-shares).astype(X.dtype, copy=False)
