"""A tree of values, and how rows known by their bins, or by their values, go through it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.boosting import leaves
from mercer._plain import plain
from mercer.ensemble._histogram.bins import BinMap

__all__ = ["BoostedTree", "Forest", "pack_trees", "read_tree"]

Array = Any
_CATEGORICAL, _MISSING_LEFT = 2, 1


@plain
@dataclass(frozen=True)
class BoostedTree:
    """Nodes in order of their making: the root first, the children of a node side by side.

    Attributes
    ----------
    feature, left : (nodes,), int32
        The column asked and the left child; the right one is next. A leaf has the left child 0.
    threshold : (nodes,)
        Values up to it go left; of a split by categories, infinity.
    goes_left : (nodes, ceil(bins / 8)), uint8
        The packed bits of the bins that go left.
    missing_left : (nodes,), bool
    value : (nodes,)
        What a leaf adds to the score; of an inner node, what it would add if it were a leaf.
    gain : (nodes,)
        How much a split lowers twice the loss, to second order; 0 at leaves.
    weight, count : (nodes,)
        The curvature and the number of the rows that came by in training.
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

    def tables(self, width: int) -> Array:
        """Whether each bin goes left at each node (nodes, width)."""
        return np.ascontiguousarray(np.unpackbits(self.goes_left, axis=1, count=width, bitorder="little"))

    @property
    def depth(self) -> int:
        """Steps from the root to the farthest leaf."""
        depth = [0] * len(self.left)
        # Children come after their parents.
        for node, child in enumerate(self.left.tolist()):
            if child:
                depth[child] = depth[child + 1] = depth[node] + 1
        return max(depth)


def read_tree(numbers: Array, reals: Array, tables: Array, bins: BinMap, values: Array) -> BoostedTree:
    """The tree that was grown in some tables, see leaves.pxd, with some values.

    Leaves may have found a split, too, which was not made.
    """
    inner = numbers[:, leaves.LEFT] > 0
    feature = np.where(inner, numbers[:, leaves.FEATURE], 0)
    return BoostedTree(
        feature.astype(np.int32),
        numbers[:, leaves.LEFT].astype(np.int32),
        np.where(inner, bins.thresholds(feature, numbers[:, leaves.BIN]), np.inf),
        np.packbits(tables * inner[:, None], axis=1, bitorder="little"),
        ~inner | (numbers[:, leaves.MISSING_LEFT] > 0),
        values,
        np.where(inner, reals[:, leaves.GAIN], 0.0),
        reals[:, leaves.CURVATURE].copy(),
        numbers[:, leaves.COUNT].copy(),
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

    def part(self, first: int, stop: int) -> "Forest":
        """Some consecutive trees."""
        chosen = slice(first, stop)
        packed = (self.words, self.thresholds, self.values, self.sets)
        return Forest(*packed, self.roots[chosen], self.depths[chosen], self.outputs[chosen])


def pack_trees(trees: tuple[BoostedTree, ...], bins: BinMap, n_scores: int) -> Forest:
    """Pack trees, of which each round has one for each score."""
    sizes = [len(tree.left) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    words, thresholds, values, sets = [], [], [], [np.zeros((1, 8), np.uint32)]
    n_sets = 1
    for tree, root in zip(trees, roots, strict=False):
        inner = tree.left > 0
        left = root + np.where(inner, tree.left, np.arange(len(tree.left)))
        by_category = inner & bins.categorical[tree.feature]
        flags = _MISSING_LEFT * tree.missing_left + _CATEGORICAL * by_category
        words.append(left << 32 | tree.feature.astype(np.int64) << 8 | flags)
        threshold = tree.threshold.copy()
        chosen = np.flatnonzero(by_category)
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
