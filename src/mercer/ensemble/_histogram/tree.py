"""A fitted tree, and how trees are packed so that rows of bins, or of values, pass through them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._solver.tree.soundness import ensure_sound
from mercer._stored import Stored, flags, floats, integers
from mercer._types import Array
from mercer.ensemble._histogram.bins import BinMap
from mercer.ensemble._histogram.soundness import check_boosted_nodes, check_packed_nodes

# Flags in the lowest byte of a packed node.
_MISSING_LEFT = 1
_CATEGORICAL = 2


@plain
@dataclass(frozen=True)
class BoostedTree:
    """The nodes of a tree in the order in which they were made: the root first, the two children of a node adjacent.

    Attributes
    ----------
    feature, left : (nodes,), int32
        The column of the split and the index of the left child; the right child is next. A leaf has the left child 0.
    threshold : (nodes,)
        Values up to it go left; infinity for a split by categories.
    goes_left : (nodes, ceil(bins / 8)), uint8
        One bit for each bin: whether it goes left.
    missing_left : (nodes,), bool
    value : (nodes,)
        What a leaf adds to the score; what an inner node would add if it were a leaf.
    gain : (nodes,)
        How much a split lowers twice the loss, to second order; 0 at leaves.
    weight, count : (nodes,)
        The sum of the curvatures and the number of the training rows in the node.
    """

    feature: Array
    left: Array
    threshold: Array
    goes_left: Array
    missing_left: Array
    value: Array
    gain: Array
    weight: Array
    count: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "feature": integers("nodes", low=0),
        "left": integers("nodes", low=0, below="nodes"),
        "threshold": floats("nodes"),
        "goes_left": integers("nodes, bytes"),
        "missing_left": flags("nodes"),
        "value": floats("nodes"),
        "gain": floats("nodes"),
        "weight": floats("nodes"),
        "count": integers("nodes"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if the nodes are not a tree."""
        check_boosted_nodes(self.left)

    def unpack_bins(self, width: int) -> Array:
        """Return whether each of `width` bins goes left at each node (nodes, width)."""
        return np.ascontiguousarray(np.unpackbits(self.goes_left, axis=1, count=width, bitorder="little"))

    @property
    def depth(self) -> int:
        """The number of splits from the root to the deepest leaf."""
        depth = [0] * len(self.left)
        # Children come after their parents.
        for node, child in enumerate(self.left.tolist()):
            if child:
                depth[child] = depth[child + 1] = depth[node] + 1
        return max(depth)


def read_tree(nodes: Array, tables: Array, bins: BinMap, values: Array) -> BoostedTree:
    """Return the tree that native code has grown.

    Parameters
    ----------
    nodes : (nodes,), records
    tables : (nodes, width)
        Which bins go left.
    bins : BinMap
    values : (nodes,)
    """
    # The best split of a leaf may be known too, but it was not made.
    left = nodes["left"]
    inner = left > 0
    feature = np.where(inner, nodes["feature"], 0)
    return BoostedTree(
        feature.astype(np.int32),
        left.astype(np.int32),
        # Rows with values up to the edge of the bin go left; leaves send every value left.
        np.where(inner, bins.find_thresholds(feature, nodes["last"]), np.inf),
        np.packbits(tables * inner[:, None], axis=1, bitorder="little"),
        ~inner | (nodes["missing_left"] > 0),
        values,
        np.where(inner, nodes["gain"], 0.0),
        nodes["curvature"].copy(),
        nodes["count"].copy(),
    )


@plain
@dataclass(frozen=True)
class Forest:
    """Trees packed for prediction; see mercer._native.boosting.boosting_forest."""

    words: Array
    thresholds: Array
    values: Array
    sets: Array
    roots: Array
    depths: Array
    outputs: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "words": integers("nodes", low=0, dtype="int64"),
        "thresholds": floats("nodes"),
        "values": floats("nodes"),
        "sets": integers("sets, 8", dtype="uint32"),
        "roots": integers("trees", low=0, below="nodes", dtype="int32"),
        "depths": integers("trees", low=0, dtype="int32"),
        "outputs": integers("trees", low=0, dtype="int32"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if the words do not lead through trees."""
        check_packed_nodes(self.words, self.thresholds, len(self.sets), self.roots, self.depths)

    @cached_property
    def reach(self) -> tuple[int, int]:
        """The columns that rows must have and the scores that trees add to; checks the trees first."""
        ensure_sound(self)
        return int(((self.words >> 8) & 0xFFFFFF).max(initial=-1)) + 1, int(self.outputs.max(initial=-1)) + 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "reach"}

    def select(self, first: int, stop: int) -> "Forest":
        """Return the trees from index `first` to before `stop`."""
        chosen = slice(first, stop)
        # All trees are checked, once, and stay in place: the chosen ones need no check of their own.
        reach = self.reach
        packed = (self.words, self.thresholds, self.values, self.sets)
        part = Forest(*packed, self.roots[chosen], self.depths[chosen], self.outputs[chosen])
        vars(part)["reach"] = reach
        return part


def pack_trees(trees: tuple[BoostedTree, ...], bins: BinMap, n_scores: int) -> Forest:
    """Pack the trees of all rounds; each round has one tree for each score, in order."""
    sizes = [len(tree.left) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    words, thresholds, values, sets = [], [], [], [np.zeros((1, 8), np.uint32)]
    n_sets = 1
    for tree, root in zip(trees, roots, strict=False):
        inner = tree.left > 0
        # A leaf is its own child, so that all rows can take as many steps as the tree is deep.
        left = root + np.where(inner, tree.left, np.arange(len(tree.left)))
        by_category = inner & bins.categorical[tree.feature]
        flags = _MISSING_LEFT * tree.missing_left + _CATEGORICAL * by_category
        # One 64-bit word: the left child in the upper half, then 24 bits of the column, then the flags.
        words.append(left << 32 | tree.feature.astype(np.int64) << 8 | flags)
        threshold = tree.threshold.copy()
        chosen = np.flatnonzero(by_category)
        # A split by categories has the index of its set of bins in place of a threshold; set 0 stands for none.
        threshold[chosen] = n_sets + np.arange(len(chosen))
        if len(chosen):
            bits = np.zeros((len(chosen), 32), np.uint8)
            bits[:, : tree.goes_left.shape[1]] = tree.goes_left[chosen][:, :32]
            sets.append(bits.view(np.uint32))
            n_sets += len(chosen)
        thresholds.append(threshold)
        values.append(tree.value)
    return Forest(
        np.concatenate([*words, np.empty(0, np.int64)]),
        np.concatenate([*thresholds, np.empty(0)]),
        np.concatenate([*values, np.empty(0)]),
        np.concatenate(sets),
        roots[:-1].astype(np.int32),
        np.array([tree.depth for tree in trees], dtype=np.int32),
        (np.arange(len(trees)) % n_scores).astype(np.int32),
    )
