"""All trees of a forest in a few arrays, so that native code passes rows through all of them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.tree import forest_walk
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.soundness import check_width
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows

# Rows of one call: few enough that many threads have work.
_RUN = 1024
# Rows that pass through a tree together. More rows share the nodes of a tree once they are in the cache; fewer rows
# keep their own values in the cache.
_TOGETHER = 256
# The deepest trees down which rows go one by one; in deeper ones many rows have arrived long before the last.
_SHALLOW = 6
# Most values of a sparse matrix that are made dense at a time.
_DENSE_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class PackedForest:
    """The nodes of all trees, one tree after the other, in the form that native code reads."""

    roots: Array
    features: Array
    rights: Array
    thresholds: Array
    sides: Array
    words: Array
    values: Array

    @classmethod
    def join(cls, trees: list[BinaryTree]) -> "PackedForest":
        """Join the arrays of trees."""
        sizes = np.array([tree.node_count for tree in trees])
        # The root of a tree follows the nodes of the trees before it.
        roots = (np.cumsum(sizes) - sizes).astype(np.int32)
        parts = [tree._packed for tree in trees]
        begins = np.cumsum([0, *(len(part[4]) for part in parts[:-1])])
        if begins[-1] or len(parts[-1][4]):
            # The words that hold categories are indexed from the first word of all trees.
            parts = [
                (*part[:2], np.where(part[3] >= 2, part[2] + begin, part[2]), *part[3:])
                for part, begin in zip(parts, begins)
            ]
        joined: Any = [np.concatenate([part[k] for part in parts]) for k in range(5)]
        # Trees are views of these: indices that native code follows cannot be written, as those of one tree cannot.
        for part in joined:
            if part.dtype.kind in "iu":
                part.flags.writeable = False
        values = np.concatenate([tree.value.reshape(tree.node_count, -1) for tree in trees])
        return cls(roots, *joined, values)  # type: ignore[call-arg]

    def share(self, trees: list[BinaryTree]) -> list[BinaryTree]:
        """Return the same trees with views of these arrays in place of their own, which saves memory."""
        # With categories thresholds are indices into the words of all trees, so that views would not fit a tree.
        if len(self.words):
            return trees
        views = []
        for tree, root in zip(trees, self.roots.tolist()):
            part = slice(root, root + tree.node_count)
            own: dict[str, Any] = {
                "feature": self.features[part],
                "children_right": self.rights[part],
                "threshold": self.thresholds[part],
                "missing_go_to_left": self.sides[part],
                "value": self.values[part].reshape(tree.value.shape),
            }
            views.append(replace(tree, **own))
        return views

    @cached_property
    def _n_columns(self) -> int:
        """The columns that rows must have: one more than the last that a node reads."""
        return int(self.features.max(initial=-1)) + 1

    @cached_property
    def _records(self) -> tuple[Array, Array]:
        """Threshold, feature with marks, and right child of each node in 16 bytes; see `add_packed_values`.

        The same memory twice: as floats (2 nodes,) and as int32 (4 nodes,).
        """
        records = np.empty((len(self.features), 2))
        links = records.view(np.int32)
        sizes = np.diff([*self.roots.tolist(), len(self.features)])
        records[:, 0] = self.thresholds
        inner = self.rights >= 0
        links[:, 2] = np.where(inner, 4 * self.features + 2 + self.sides, 0)
        # A leaf is its own child.
        links[:, 3] = np.where(inner, self.rights + np.repeat(self.roots, sizes), np.arange(len(inner)))
        return records.reshape(-1), links.reshape(-1)

    @cached_property
    def _depths(self) -> Array:
        """The depth of each tree, or -1 where it is above that of shallow ones."""
        links, depths = self._records[1].reshape(-1, 4), np.zeros(len(self.roots), np.int32)
        nodes, trees = self.roots.astype(np.int64), np.arange(len(self.roots))
        for depth in (*range(1, _SHALLOW + 1), -1):
            inner = self.rights[nodes] >= 0
            nodes, trees = nodes[inner], trees[inner]
            depths[trees] = depth
            # The left child of a node follows it.
            nodes, trees = np.concatenate([nodes + 1, links[nodes, 3]]), np.concatenate([trees, trees])
        return depths

    def _list_arrays(self) -> Any:
        return self.roots, self.features, self.rights, self.thresholds, self.sides, self.words

    def sum_leaves(self, X: Array, threads: int) -> Array:
        """Return the sum over the trees of the values of each row's leaf, added tree by tree."""
        check_width("PackedForest", X, self._n_columns)
        sums = np.zeros((X.shape[0], self.values.shape[1]))
        everything = np.zeros(0, np.int32)

        def work(X: Array, out: Array) -> None:
            at = np.empty(_TOGETHER, np.int32)
            if len(self.words) == 0:
                walks = np.empty(_TOGETHER, np.int64)
                forest_walk.add_packed_values(X, self.roots, self._depths, *self._records, self.values, walks, at, out)
                return
            forest_walk.add_values(X, everything, *self._list_arrays(), self.values, at, out)  # type: ignore[call-arg]

        self._run(X, threads, work, sums)
        return sums

    def find_leaves(self, X: Array, threads: int) -> Array:
        """Return the leaf of each row in each tree (n, trees), as an index into the nodes of the tree."""
        check_width("PackedForest", X, self._n_columns)
        leaves = np.empty((X.shape[0], len(self.roots)), np.int64)

        def work(X: Array, out: Array) -> None:
            at = np.empty(min(len(out), _TOGETHER), np.int32)
            forest_walk.find_many_leaves(X, *self._list_arrays(), at, out)  # type: ignore[call-arg]

        self._run(X, threads, work, leaves)
        return leaves

    @staticmethod
    def _run(X: Rows, threads: int, work: Any, out: Array) -> None:
        """Call ``work(rows, out)`` for runs of rows, on all threads."""
        n = X.shape[0]
        if n <= _TOGETHER and not is_sparse_matrix(X):
            work(X, out)
            return
        # Sparse rows become dense in runs of a bounded number of cells.
        step = max(1, min(_RUN, _DENSE_CELLS // X.shape[1])) if is_sparse_matrix(X) else _RUN

        def run(index: int) -> None:
            part = slice(index * step, (index + 1) * step)
            work(np.ascontiguousarray(X[part].toarray() if is_sparse_matrix(X) else X[part]), out[part])

        run_numbered(run, -(-n // step), threads)
