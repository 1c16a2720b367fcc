"""Hierarchical clustering along the edges of a graph: only clusters that an edge joins may merge."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array

from mercer._base.parameter import Array as ArrayRule
from mercer._native.space import graph_merging, hierarchy
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.cluster._hierarchy.merging import LINKAGES, SQUARED, Merges
from mercer.errors import DataError

# Edges that one native call visits: some tens of milliseconds.
_WORK = 2**18
# Edges for which there is room at most: lists hold twice their index in 31 bits.
_MOST_ROOM = 2**30 - 1
# Edges for which there is room at least.
_LEAST_ROOM = 1024
# Bytes of an edge: two clusters, two places in lists, its length, and its key and index in the heap.
_EDGE_BYTES = 36


@dataclass(frozen=True)
class Graph:
    """Edges between rows, each once, and the number of components before they were joined."""

    left: Array
    right: Array
    lengths: Array
    n_components: int

    @classmethod
    def of(cls, subject: str, X: Array, connectivity: Any, metric: Any) -> "Graph":
        """Check a connectivity matrix, join its components by their closest pairs of rows, and measure its edges."""
        connectivity = connectivity(X) if callable(connectivity) else connectivity
        if not is_sparse_matrix(connectivity) and not ArrayRule().accepts(connectivity):
            raise DataError(
                f"{subject}: connectivity must be a matrix of numbers; got a {type(connectivity).__name__}. Give a "
                f"line for each row."
            )
        given = check_array(connectivity, accept_sparse=["csr", "coo", "lil"])
        n = len(X)
        if given.shape != (n, n):
            raise DataError(
                f"{subject}: connectivity must be of shape {(n, n)}, a line for each row; got {given.shape}. "
                f"Make it from the rows that are clustered."
            )
        edges = coo_array(given if is_sparse_matrix(given) else np.asarray(given))
        # An edge joins two different rows; its direction does not matter, and each pair counts once.
        keep = (edges.row != edges.col) & (edges.data != 0)
        row, column = edges.row[keep].astype(np.int64), edges.col[keep].astype(np.int64)
        # One number for each pair: sorting these takes a tenth of the time that sorting pairs does.
        numbered = np.unique(np.minimum(row, column) * n + np.maximum(row, column))
        pairs = np.column_stack(np.divmod(numbered, n))
        count, labels = connected_components(coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n)), False)
        if count > 1:
            warnings.warn(
                f"{subject}: the number of connected components of the connectivity matrix is {count} > 1. Completing "
                f"it to avoid stopping the tree early.",
                UserWarning,
                stacklevel=7,
            )
            pairs = np.concatenate([pairs, _bridges(X, labels, count, metric)])
        return cls(pairs[:, 0], pairs[:, 1], _lengths(X, pairs, metric), count)


def _bridges(X: Array, labels: Array, count: int, metric: Any) -> Array:
    """Return the closest pair of rows of every two components, (m, 2)."""
    from sklearn.metrics import pairwise_distances

    members = [np.flatnonzero(labels == label) for label in range(count)]
    bridges = []
    for i, first in enumerate(members):
        for second in members[i + 1 :]:
            if isinstance(metric, str) and metric == "precomputed":
                gaps = X[np.ix_(first, second)]
            else:
                gaps = pairwise_distances(X[first], X[second], metric=metric)
            a, b = np.unravel_index(np.argmin(gaps), gaps.shape)
            bridges.append(sorted((int(first[a]), int(second[b]))))
    return np.array(bridges, dtype=np.int64).reshape(-1, 2)


def _lengths(X: Array, pairs: Array, metric: Any) -> Array:
    from sklearn.metrics.pairwise import paired_distances

    if isinstance(metric, str) and metric == "precomputed":
        return X[pairs[:, 0], pairs[:, 1]].astype(np.float64)
    return np.asarray(paired_distances(X[pairs[:, 0]], X[pairs[:, 1]], metric=metric), dtype=np.float64)


class _Merging:
    """The clusters and edges that native code works on; it makes room for more edges where they run out."""

    def __init__(self, X: Array, graph: Graph, linkage: str) -> None:
        n = len(X)
        # Distances of other linkages follow from those of the parts.
        means = np.zeros((2 * n - 1, X.shape[1] if linkage in SQUARED else 0))
        means[:n] = X if linkage in SQUARED else means[:n]
        self.linkage, self.n_rows = LINKAGES[linkage], n
        self.means, self.sizes, self.rows = means, np.zeros(2 * n - 1), np.zeros(2 * n - 1, dtype=np.intp)
        self.sizes[:n], self.rows[:n] = 1.0, np.arange(n)
        ends = np.column_stack([graph.left, graph.right])
        self._lay_out(ends, graph.lengths, linkage in SQUARED)

    def _lay_out(self, ends: Array, lengths: Array, measure: bool) -> None:
        """Take edges into arrays with room for as many again, and link them."""
        count = len(lengths)
        room = max(_LEAST_ROOM, 2 * count)
        require_memory("AgglomerativeClustering", room * _EDGE_BYTES, f"{room} edges of clusters", "give fewer edges")
        if room > _MOST_ROOM:
            raise DataError(
                f"AgglomerativeClustering: at most {_MOST_ROOM} edges can be merged; got {room}. Give fewer edges."
            )
        self.ends, self.lengths = np.empty((room, 2), dtype=np.int32), np.empty(room)
        self.ends[:count], self.lengths[:count] = ends, lengths
        size = len(self.sizes)
        firsts, degrees, marks = np.full(size, -1, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.counts = np.array([count, 0], dtype=np.intp)
        heap = (np.empty(room), np.empty(room, dtype=np.int32))
        self.clusters = graph_merging.Clusters(self.means, self.sizes, firsts, degrees, self.rows, marks)
        self.edges = graph_merging.Edges(self.ends, self.lengths, np.empty_like(self.ends), *heap, self.counts)
        graph_merging.link_edges(self.clusters, self.edges, self.linkage, measure)

    def merge(self, made: int, pairs: Array, heights: Array) -> int:
        """Write the next merges after `made` others; return how many there are now."""
        rest = (pairs[made:], heights[made:])
        more = graph_merging.merge_closest(self.clusters, self.edges, self.linkage, self.n_rows + made, _WORK, *rest)
        if more == 0:
            # There is no room for another merge, or the heap is full of edges between clusters that have merged.
            count = int(self.counts[0])
            ends, lengths = self.ends[:count], self.lengths[:count]
            live = (self.sizes[ends[:, 0]] > 0) & (self.sizes[ends[:, 1]] > 0)
            self._lay_out(ends[live], lengths[live], measure=False)
        return made + more


def merge_graph(X: Array, graph: Graph, linkage: str, n_clusters: int) -> Iterator[Merges]:
    """Merge the closest clusters that touch until `n_clusters` are left; yield the merges so far.

    If a neighbour touches only one of two merged clusters, its distance to that one becomes its distance to the union.
    """
    total = len(X) - n_clusters
    if linkage == "single":
        yield from _span_graph(graph, len(X), total)
        return
    merging, made = _Merging(X, graph, linkage), 0
    pairs, heights = np.empty((total, 2), dtype=np.intp), np.empty(total)
    while made < total:
        made = merging.merge(made, pairs, heights)
        yield Merges(pairs[:made], heights[:made])
    if total == 0:
        yield Merges(pairs, heights)


def _span_graph(graph: Graph, n: int, total: int) -> Iterator[Merges]:
    """Merge along the shortest edges that join two clusters, which is single linkage; yield the merges so far."""
    order = np.argsort(graph.lengths, kind="stable")
    ends = np.column_stack([graph.left, graph.right]).astype(np.int32)[order]
    parents, kept, made = np.arange(n, dtype=np.int32), np.empty(total, dtype=np.intp), 0
    for start in range(0, len(ends), _WORK):
        made += hierarchy.span_edges(ends[start : start + _WORK], start, parents, kept[made:])
        yield Merges(ends[kept[:made]].astype(np.intp), graph.lengths[order[kept[:made]]])
        if made == total:
            break
