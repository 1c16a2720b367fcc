"""Hierarchical clustering along the edges of a graph: only clusters that an edge joins may merge."""

import heapq
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.cluster._hierarchy.merging import SQUARED, Merges
from mercer.errors import DataError

__all__ = ["Graph", "merge_graph"]

# Merges between two steps of the solver.
_TURN = 4096


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
        given = check_array(connectivity, accept_sparse=["csr", "coo", "lil"])
        n = len(X)
        if given.shape != (n, n):
            message = (
                f"{subject}: connectivity must be of shape {(n, n)}, a line for each row; got {given.shape}. "
                f"Make it from the rows that are clustered."
            )
            raise DataError(message)
        edges = coo_array(given if is_sparse_matrix(given) else np.asarray(given))
        # An edge joins two different rows; its direction does not matter, and each pair counts once.
        keep = (edges.row != edges.col) & (edges.data != 0)
        low, high = np.minimum(edges.row, edges.col)[keep], np.maximum(edges.row, edges.col)[keep]
        pairs = np.unique(np.column_stack([low, high]).astype(np.int64), axis=0).reshape(-1, 2)
        count, labels = connected_components(coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n)), False)
        if count > 1:
            message = (
                f"{subject}: the number of connected components of the connectivity matrix is {count} > 1. Completing "
                f"it to avoid stopping the tree early."
            )
            warnings.warn(message, UserWarning, stacklevel=7)
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


# Lance-Williams updates: two clusters of sizes m and n have distances a and b to a third; the distance of their union.
_JOINED: dict[str, Callable[[float, float, float, float], float]] = {
    "single": lambda a, b, m, n: min(a, b),
    "complete": lambda a, b, m, n: max(a, b),
    "average": lambda a, b, m, n: (m * a + n * b) / (m + n),
    "weighted": lambda a, b, m, n: (a + b) / 2,
}


@dataclass
class _Forest:
    """Clusters with their neighbours; new clusters get the indices after the rows."""

    linkage: str
    means: Any
    sizes: list[float]
    neighbours: list[dict[int, float]]
    alive: list[bool]
    heap: list[tuple[float, int, int]] = field(default_factory=list)

    def gap(self, a: int, b: int) -> float:
        """Return the distance of two clusters by their means: Ward's sqrt(2 m n / (m + n)) |a - b|, or |a - b|."""
        step = self.means[a] - self.means[b]
        share = 2 * self.sizes[a] * self.sizes[b] / (self.sizes[a] + self.sizes[b]) if self.linkage == "ward" else 1.0
        return float(np.sqrt(share * (step @ step)))

    def join(self, a: int, b: int) -> None:
        """Merge clusters `a` and `b` into a new one, and update the distances to their neighbours."""
        new, m, n = len(self.sizes), self.sizes[a], self.sizes[b]
        self.sizes.append(m + n)
        self.alive[a] = self.alive[b] = False
        self.alive.append(True)
        left, right = self.neighbours[a], self.neighbours[b]
        self.neighbours[a] = self.neighbours[b] = {}
        if self.means is not None:
            # Median linkage takes the middle of the two means, whatever their weights.
            share = 0.5 if self.linkage == "median" else m / (m + n)
            self.means[new] = share * self.means[a] + (1 - share) * self.means[b]
        beside = {}
        for other in (left.keys() | right.keys()) - {a, b}:
            if self.means is not None:
                distance = self.gap(new, other)
            elif other in left and other in right:
                distance = _JOINED[self.linkage](left[other], right[other], m, n)
            else:
                distance = left[other] if other in left else right[other]
            beside[other] = distance
            touched = self.neighbours[other]
            # Entries of the heap that name a dead cluster are skipped when they come up.
            touched.pop(a, None)
            touched.pop(b, None)
            touched[new] = distance
            heapq.heappush(self.heap, (distance, other, new))
        self.neighbours.append(beside)

    def pop(self) -> tuple[float, int, int]:
        """Return the closest pair of clusters that still exist; pairs of merged clusters are dropped here."""
        while True:
            distance, a, b = heapq.heappop(self.heap)
            if self.alive[a] and self.alive[b]:
                return distance, a, b


def merge_graph(X: Array, graph: Graph, linkage: str, n_clusters: int) -> Iterator[Merges]:
    """Merge the closest clusters that touch until `n_clusters` are left; yield the merges so far.

    If a neighbour touches only one of two merged clusters, its distance to that one becomes its distance to the union.
    """
    n = len(X)
    means = None
    if linkage in SQUARED:
        means = np.empty((2 * n - 1, X.shape[1]))
        means[:n] = X
    forest = _Forest(linkage, means, [1.0] * n, [{} for _ in range(n)], [True] * n)
    for a, b, length in zip(graph.left.tolist(), graph.right.tolist(), graph.lengths.tolist(), strict=True):
        distance = length if means is None else forest.gap(a, b)
        forest.neighbours[a][b] = forest.neighbours[b][a] = distance
        forest.heap.append((distance, a, b))
    heapq.heapify(forest.heap)
    # A row of each cluster, by which `pairs` names it.
    leaf = list(range(n))
    pairs, heights = np.empty((n - n_clusters, 2), dtype=np.intp), np.empty(n - n_clusters)
    for made in range(n - n_clusters):
        heights[made], a, b = forest.pop()
        pairs[made] = leaf[a], leaf[b]
        leaf.append(leaf[a])
        forest.join(a, b)
        if (made + 1) % _TURN == 0:
            yield Merges(pairs[: made + 1], heights[: made + 1])
    yield Merges(pairs, heights)
