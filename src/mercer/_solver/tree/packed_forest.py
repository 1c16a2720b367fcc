"""All trees of a model in a few arrays, so that native code passes rows through all of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._native.records import PACKED_NODE, lend
from mercer._native.tree import forest_walk
from mercer._solver.tree.soundness import check_width
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows

# The number of threads, or a function that finds it and is called only where threads pay.
Threads = int | Callable[[], int]
# In the mark of a node, see packed_nodes: a missing value goes left.
MISSING_LEFT = 1
# It is split.
SPLIT = 2
# It is split by categories.
CATEGORICAL = 4
# Binary digits below its column.
COLUMN_SHIFT = 3
# Rows of one call: few enough that many threads have work.
_RUN = 1024
# Rows that pass through a tree together. More rows share the nodes of a tree once they are in the cache; fewer rows
# keep their own values in the cache.
_TOGETHER = 256
# Most values of a sparse matrix that are made dense at a time.
_DENSE_CELLS = 2**20
_NO_SUMS = np.empty((0, 0))
_NO_LEAVES = np.empty((0, 0), np.int64)
_NO_STARTS = np.empty(0, np.int64)
_FIRST_ROOT = np.zeros(1, np.int32)


@dataclass(frozen=True, eq=False)
class PackedForest:
    """The nodes of all trees, one tree after the other, in the form that native code reads.

    Attributes
    ----------
    nodes : (nodes,), records
        See packed_nodes: the nodes of a tree are numbered depth first, the left child of a node is the next node.
    words : int64
        The sets of categories that go left.
    values : (nodes, k)
    roots, sizes, depths, outputs : (trees,), int32
        The root and the number of nodes of each tree, the steps that all rows take or -1 where they stop at their
        leaves, and the first of the scores to which it adds its `k` values.
    n_columns : int
        The columns that rows must have: one more than the last that a node reads.
    """

    nodes: Any
    words: Array
    values: Array
    roots: Array
    sizes: Array
    depths: Array
    outputs: Array
    n_columns: int

    @classmethod
    def pack(
        cls,
        sizes: Array,
        columns: Array,
        rights: Array,
        thresholds: Array,
        missing_left: Array,
        values: Array,
        words: Array,
        starts: Array = _NO_STARTS,
        outputs: Array | None = None,
    ) -> "PackedForest":
        """Pack trees.

        Parameters
        ----------
        sizes : (trees,)
        columns, rights, thresholds, missing_left : (nodes,)
            Of each node; the right child in the same tree, -1 at a leaf.
        values : (nodes, k)
        words : int64
            The sets of categories that go left, see packed_nodes.
        starts : (nodes,), or empty
            Where in `words` the set of a node begins; -1 for a numeric split.
        outputs : (trees,) or None
            The first score that each tree adds to; None for 0.
        """
        # Fits pack single trees, often: no more steps than are needed.
        roots, longest = _FIRST_ROOT, len(rights)
        if len(sizes) != 1:
            roots, longest = (np.cumsum(sizes) - sizes).astype(np.int32), int(sizes.max(initial=0))
        nodes, depths = np.empty(len(rights), PACKED_NODE), np.empty(len(roots), np.int32)
        outputs = np.zeros(len(roots), np.int32) if outputs is None else outputs.astype(np.int32)
        given = columns, rights, thresholds, np.asarray(missing_left, np.uint8), starts, roots
        last = forest_walk.pack_nodes(*given, np.empty(longest, np.int32), lend(nodes), depths)
        return cls(nodes, words, values, roots, sizes.astype(np.int32), depths, outputs, last + 1)

    def select(self, first: int, stop: int) -> "PackedForest":
        """Return the trees from index `first` to before `stop`; the nodes stay where they are."""
        chosen = slice(first, stop)
        return replace(
            self,
            roots=self.roots[chosen],
            sizes=self.sizes[chosen],
            depths=self.depths[chosen],
            outputs=self.outputs[chosen],
        )

    @cached_property
    def node_depths(self) -> Array:
        """The depth of each node."""
        nodes = self.nodes
        skip, inner = nodes["skip"], (nodes["mark"] & SPLIT) != 0
        depths, here = np.zeros(len(skip), np.int64), self.roots
        # Level by level from the roots; leaves drop out.
        while len(here := here[inner[here]]):
            below = np.concatenate([here + 1, here + 1 + skip[here]])
            depths[below] = depths[here[0]] + 1
            here = below
        return depths

    def add_leaves(self, X: Array, sums: Array, threads: Threads) -> None:
        """Add the values of each row's leaves to `sums` (n, scores), tree by tree."""
        self._run(X, threads, sums, None)

    def sum_leaves(self, X: Array, threads: Threads) -> Array:
        """Return the sums (n, scores) of the values of each row's leaves, added tree by tree."""
        sums = np.zeros((X.shape[0], self._n_scores))
        self._run(X, threads, sums, None)
        return sums

    def find_leaves(self, X: Array, threads: Threads) -> Array:
        """Return the leaf of each row in each tree (n, trees), as an index into the nodes of the tree."""
        leaves = np.empty((X.shape[0], len(self.roots)), np.int64)
        self._run(X, threads, None, leaves)
        return leaves

    def find_paths(self, X: Array, threads: Threads) -> csr_array:
        """Return a sparse matrix (n, nodes) with ones at the nodes on the paths of each row in all trees."""
        leaves = self.find_leaves(X, threads) + self.roots
        # A path of depth k has k + 1 nodes.
        ends = np.concatenate([[0], np.cumsum((self.node_depths[leaves] + 1).sum(axis=1))])
        paths, step = np.empty(ends[-1], np.int64), _choose_step(X)
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            forest_walk.mark_paths(
                _prepare_rows(X[part]), self.roots, lend(self.nodes), self.words, ends[:-1][part], paths
            )
        data = np.ones(len(paths), np.int64)
        return csr_array((data, paths, ends), shape=(X.shape[0], len(self.nodes)))

    def _run(self, X: Rows, threads: Threads, sums: Array | None, leaves: Array | None) -> None:
        """Send runs of rows through the trees, on all threads; write their sums or their leaves."""
        check_width("PackedForest", X, self.n_columns)
        n, step = X.shape[0], _choose_step(X)
        sums, leaves = _NO_SUMS if sums is None else sums, _NO_LEAVES if leaves is None else leaves
        if n <= step:
            self._walk(X, sums, leaves)
            return

        def work(index: int) -> None:
            part = slice(index * step, (index + 1) * step)
            self._walk(X[part], sums[part], leaves[part])

        run_numbered(work, -(-n // step), threads() if callable(threads) else threads)

    def _walk(self, X: Rows, sums: Array, leaves: Array) -> None:
        together = min(_TOGETHER, max(X.shape[0], len(self.roots)))
        scratch = np.empty(together, np.int64), np.empty(together, np.int32)
        forest_walk.walk(_prepare_rows(X), *self._arrays, *scratch, sums, leaves)  # type: ignore[call-arg]

    @cached_property
    def _n_scores(self) -> int:
        """The scores to which the trees add their values."""
        return int(self.outputs.max(initial=0)) + self.values.shape[1]

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """The arrays of the forest that native code reads."""
        return self.roots, self.depths, self.outputs, lend(self.nodes), self.words, self.values


def join_trees(trees: list[Any], n_scores: int = 1) -> PackedForest:
    """Pack trees that are instances of BinaryTree; they add to the first score, to the second and so on in turn."""
    if len(trees) == 1 and not len(trees[0].categories):
        arrays = trees[0].list_arrays()[:4]
        values = trees[0].value.reshape(len(arrays[0]), -1)
        return PackedForest.pack(np.array([len(arrays[0])]), *arrays, values, _NO_STARTS)  # type: ignore[call-arg]
    parts = [tree.list_arrays() for tree in trees]
    sizes, outputs = np.array([tree.node_count for tree in trees]), np.arange(len(trees)) % n_scores
    columns, rights, thresholds, sides, words, starts = zip(*parts)
    values = [tree.value.reshape(tree.node_count, -1) for tree in trees]
    joined = [
        part[0] if len(part) == 1 else np.concatenate(part) for part in (columns, rights, thresholds, sides, values)
    ]
    sets, places = _NO_STARTS, _NO_STARTS
    if any(len(part) for part in starts):
        # The words that hold categories are indexed from the first word of all trees.
        begins = np.cumsum([0, *(len(part) for part in words[:-1])])
        places = np.concatenate(
            [
                np.where(part >= 0, part + begin, -1) if len(part) else np.full(size, -1)
                for part, begin, size in zip(starts, begins, sizes)
            ]
        )
        chosen = np.flatnonzero(places >= 0)
        sets, places[chosen] = _pack_sets(np.concatenate(words), places[chosen], joined[3][chosen])
    return PackedForest.pack(sizes, *joined, sets, places, outputs)  # type: ignore[call-arg]


def _pack_sets(words: Array, starts: Array, missing_left: Array) -> tuple[Array, Array]:
    """Return the sets of categories that go left as native walks read them, and where each begins.

    At each start of `words` stands a number of pairs, then the pairs: the bits of the 32 categories that a node has
    seen, and of those that go left. Categories that it has not seen go where missing values go.
    """
    counts = words[starts]
    firsts, which = np.cumsum(counts) - counts, np.repeat(np.arange(len(starts)), counts)
    nth = np.arange(len(which)) - firsts[which]
    seen, left = words[starts[which] + 1 + 2 * nth], words[starts[which] + 2 + 2 * nth]
    places = firsts + np.arange(len(starts))
    sets = np.empty(len(which) + len(starts), np.int64)
    sets[places] = counts
    sets[places[which] + 1 + nth] = np.where(missing_left[which] > 0, left | ~seen, left & seen) & 0xFFFFFFFF
    return sets, places


def share_values(packed: PackedForest, trees: list[Any]) -> list[Any]:
    """Return the same trees with views of the packed values in place of their own, which saves memory."""
    ends = np.cumsum(packed.sizes).tolist()
    return [
        tree.change(value=packed.values[end - tree.node_count : end].reshape(tree.value.shape))
        for tree, end in zip(trees, ends)
    ]


def _choose_step(X: Rows) -> int:
    """Return the rows of one call; sparse rows become dense in runs of a bounded number of cells."""
    return _RUN if type(X) is np.ndarray else max(1, min(_RUN, _DENSE_CELLS // X.shape[1]))


def _prepare_rows(X: Rows) -> Array:
    """Return dense rows in an order and a type that native code reads."""
    if type(X) is not np.ndarray:
        X = X.toarray() if is_sparse_matrix(X) else np.asarray(X)
    # Bins are bytes, values floats.
    return np.ascontiguousarray(X, None if X.dtype.char in "dfB" else np.float64)
