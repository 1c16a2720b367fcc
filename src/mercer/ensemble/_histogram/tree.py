"""A fitted tree, and how trees are packed so that rows of bins, or of values, pass through them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.tree import tree_order
from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF
from mercer._solver.tree.packed_forest import PackedForest
from mercer._solver.tree.soundness import check_boosted_nodes, ensure_sound, mark_grown
from mercer._stored import Stored, flags, floats, integers
from mercer._types import Array
from mercer.ensemble._histogram.bins import BinMap

# A node of scikit-learn's histogram boosting; readers of it count on the order of the fields.
_RECORD = np.dtype(
    [
        *(("value", "f8"), ("count", "u4"), ("feature_idx", np.intp), ("num_threshold", "f8")),
        *(("missing_go_to_left", "u1"), ("left", "u4"), ("right", "u4"), ("gain", "f8"), ("depth", "u4")),
        *(("is_leaf", "u1"), ("bin_threshold", "u1"), ("is_categorical", "u1"), ("bitset_idx", "u4")),
    ]
)
_NO_NODES = np.empty(0, np.int32)
_NO_SETS = np.empty(0, np.int64)
# How many bits of each byte are set.
_N_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int64)
# Row k has the bits of the first k bins of 256.
_FIRST_BINS = np.packbits(np.tri(257, 256, -1, np.uint8), axis=1, bitorder="little")


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
        "feature": integers("nodes", low=0, below="columns", dtype="int32"),
        "left": integers("nodes", low=0, below="nodes", dtype="int32"),
        "threshold": floats("nodes"),
        "goes_left": integers("nodes, bytes", dtype="uint8"),
        "missing_left": flags("nodes"),
        "value": floats("nodes"),
        "gain": floats("nodes"),
        "weight": floats("nodes"),
        "count": integers("nodes"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if the nodes are not a tree."""
        check_boosted_nodes(self.left)

    def make_records(self) -> Array:
        """Return the nodes as the records in which scikit-learn's boosting keeps them."""
        inner = self.left > 0
        records = np.zeros(len(self.left), _RECORD)
        records["value"], records["count"], records["gain"] = self.value, self.count, self.gain
        records["feature_idx"], records["missing_go_to_left"] = self.feature, self.missing_left
        records["num_threshold"], records["is_leaf"] = np.where(inner, self.threshold, 0.0), ~inner
        records["left"], records["right"] = self.left, np.where(inner, self.left + 1, 0)
        # Children come after their parent.
        for node in np.flatnonzero(inner).tolist():
            records["depth"][self.left[node] : self.left[node] + 2] = records["depth"][node] + 1
        return records

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_is_grown"}


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
    tree = BoostedTree(
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
    return mark_grown(tree)


def pack_trees(trees: tuple[BoostedTree, ...], bins: BinMap, n_scores: int) -> PackedForest:
    """Pack the trees of all rounds; each round has one tree for each score, in order."""
    by_category = [(tree.left > 0) & bins.categorical[tree.feature] for tree in trees]
    return _pack(trees, [tree.threshold for tree in trees], by_category, n_scores)


def pack_bins(trees: tuple[BoostedTree, ...], n_scores: int) -> PackedForest:
    """Pack trees for rows that are known by their bins."""
    tables = [tree.goes_left for tree in trees]
    # The bins that go left are the first ones, unless missing values or categories are among them: then a set.
    counts = [_N_BITS[table].sum(axis=1) for table in tables]
    firsts = [_FIRST_BINS[count, : table.shape[1]] for table, count in zip(tables, counts)]
    in_sets = [(tree.left > 0) & (first != table).any(axis=1) for tree, table, first in zip(trees, tables, firsts)]
    return _pack(trees, [count - 1.0 for count in counts], in_sets, n_scores)


def _pack(trees: tuple[BoostedTree, ...], thresholds: list[Array], in_sets: list[Array], n_scores: int) -> PackedForest:
    """Pack trees whose splits have these thresholds, or a set of bins where `in_sets`."""
    for tree in trees:
        if "_is_grown" not in vars(tree):
            ensure_sound(tree)
    sizes = np.array([len(tree.left) for tree in trees], np.int64)
    roots, total = (np.cumsum(sizes) - sizes).astype(np.int32), int(sizes.sum())
    # Nodes stand in order of growth; packed, they are numbered depth first.
    left, places, order = _number_nodes(trees, roots)
    inner, first = left > 0, np.repeat(roots, sizes)
    right = np.full(total, LEAF, np.int32)
    right[inner] = places[(first + left)[inner] + 1] - first[inner]
    sets, starts = [np.zeros(0, np.int64)], np.full(total, -1)
    begin = 0
    for tree, chosen, root in zip(trees, in_sets, roots.tolist()):
        if chosen.any():
            words = _make_words(tree.goes_left[chosen])
            starts[root + np.flatnonzero(chosen)] = begin + words.shape[1] * np.arange(len(words))
            begin += words.size
            sets.append(words.ravel())
    joined: list[Array] = [
        np.concatenate(parts)[order]
        for parts in (
            (_NO_NODES, *(tree.feature for tree in trees)),
            (right,),
            (np.empty(0), *thresholds),
            (np.empty(0, bool), *(tree.missing_left for tree in trees)),
            (np.empty(0), *(tree.value for tree in trees)),
        )
    ]
    begins = starts[order] if begin else _NO_SETS
    outputs = np.arange(len(trees)) % n_scores
    return PackedForest.pack(  # type: ignore[call-arg]
        sizes, *joined[:4], joined[4][:, None], np.concatenate(sets), begins, outputs
    )


def order_nodes(trees: tuple[BoostedTree, ...]) -> Array:
    """Return the nodes of all trees in the order in which they are packed."""
    sizes = np.array([len(tree.left) for tree in trees], np.int64)
    return _number_nodes(trees, (np.cumsum(sizes) - sizes).astype(np.int32))[2]


def _number_nodes(trees: tuple[BoostedTree, ...], roots: Array) -> tuple[Array, Array, Array]:
    """Return the left children of the nodes of all trees, the places of nodes depth first, and the nodes by place."""
    left = np.concatenate([_NO_NODES, *(tree.left for tree in trees)])
    below, places, order = np.empty_like(left), np.empty_like(left), np.empty(len(left), np.int64)
    tree_order.number_nodes(left, roots, below, places)
    order[places] = np.arange(len(left))
    return left, places, order


def _make_words(tables: Array) -> Array:
    """Return rows of words as native walks read them: their number, then those of the bins that go left."""
    # Where missing values go left their bin is the last: bins after the last that goes left go where they go.
    tables = tables[:, : 1 + int(np.flatnonzero(tables.any(axis=0)).max(initial=0))]
    n_words = -(-tables.shape[1] // 4)
    bits = np.zeros((len(tables), 4 * n_words), np.uint8)
    bits[:, : tables.shape[1]] = tables
    words = np.empty((len(tables), 1 + n_words), np.int64)
    words[:, 0], words[:, 1:] = n_words, bits.view("<u4")
    return words
