"""The minimum spanning tree of mutual reachability: Boruvka's rounds over a tree of boxes, or Prim's walk by rows.

Edges are ordered by weight and then by their rows' numbers, so that the minimum spanning tree is unique: both ways give
the same edges.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from mercer._native.space import box_tree, reachability
from mercer._source.memory import count_allowed_bytes
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._density.space_tree import WIDTH, SpaceTree, make_scratch
from mercer.cluster._metric import Metric
from mercer.errors import DataError

__all__ = ["Boruvka", "all_distances", "core_distances", "graph_edges", "walk_edges"]

# Most distances that are kept (256 MiB) rather than computed again row by row.
_MATRIX = 2**25


class Boruvka:
    """The lightest edge out of each component, round by round, until one component is left.

    A row remembers its lightest edge; as long as that leads out of its component it is still the lightest, and once it
    does not, its weight bounds all other edges of the row from below. So few rows search again in a later round.

    Parameters
    ----------
    tree : SpaceTree
    min_samples : int
        Which nearest row, itself counted, is at the core distance.
    alpha : float
        What distances are divided by.
    """

    def __init__(self, tree: SpaceTree, min_samples: int, alpha: float) -> None:
        n = tree.n
        self.tree, self.scale = tree, 1.0 / alpha**2
        self.core = tree.kth_distances(min_samples)
        self.least_core = np.empty(len(tree.nodes))
        box_tree.smallest_values(tree.nodes, self.core, self.least_core)
        self.labels = np.arange(n, dtype=np.int32)
        self.uniform = np.empty(len(tree.nodes), np.int32)
        self.partner, self.weight = np.full(n, -1, np.int32), np.zeros(n)

    def core_distances(self) -> Array:
        """Return the core distances in the order of rows."""
        distances = np.empty(self.tree.n)
        distances[self.tree.order] = np.sqrt(self.core)
        return distances

    def edges(self) -> tuple[Array, Array]:
        """Return the edges of the tree and their lengths."""
        n, found = self.tree.n, 0
        edges, lengths = np.empty((n - 1, 2), np.int32), np.empty(n - 1)
        while found < n - 1:
            box_tree.uniform_labels(self.tree.nodes, self.labels, self.uniform)
            if found:
                self._search(self._seeds(self._limits()))
            self._search(self._limits())
            found = reachability.join(
                self.tree.order, self.labels, self.partner, self.weight, np.empty(n, np.int32), edges, lengths, found,
                np.empty(n, np.int32),
            )  # fmt: skip
        return edges, np.sqrt(lengths)

    def _limits(self) -> Array:
        """Return the weight of the component's lightest known edge for rows that must search; negative for others."""
        known = (self.partner >= 0) & (self.labels[self.partner] != self.labels)
        lightest = np.full(self.tree.n, np.inf)
        np.minimum.at(lightest, self.labels[known], self.weight[known])
        limits = lightest[self.labels]
        limits[known | (self.weight > limits)] = -1.0
        return limits

    def _seeds(self, limits: Array) -> Array:
        """Return limits that let only one row search per component without a known edge: the most promising one."""
        blind = np.flatnonzero(np.isinf(limits))
        blind = blind[np.argsort(self.weight[blind], kind="stable")]
        first = blind[np.unique(self.labels[blind], return_index=True)[1]]
        seeds = np.full(self.tree.n, -1.0)
        seeds[first] = np.inf
        return seeds

    def _search(self, limits: Array) -> None:
        tree = self.tree

        def work(start: int, stop: int) -> None:
            if (limits[start:stop] >= 0).any():
                search = reachability.Search(
                    (tree.nodes, tree.boxes, tree.order),
                    (self.core, self.least_core),
                    (self.labels, self.uniform),
                    (limits, self.partner, self.weight),
                    make_scratch(tree.d),
                    self.scale,
                )
                reachability.lightest_edges(tree.rows(start, stop), start, WIDTH, tree.leaves, search)

        tree.each_rows(work)


def all_distances(rows: Array, metric: Metric, threads: int) -> Callable[[int], Array]:
    """Return a function from a row index to its distances to all rows, which are kept if all fit into memory."""
    n = rows.shape[0]
    if n * n > _MATRIX or 16 * n * n > count_allowed_bytes():
        return lambda row: metric.distances(rows[row : row + 1], rows)[0]
    D, size = np.empty((n, n)), max(1, 2**20 // n)

    def fill(number: int) -> None:
        part = slice(number * size, (number + 1) * size)
        D[part] = metric.distances(rows[part], rows)

    run_numbered(fill, -(-n // size), threads)
    return lambda row: D[row]


def core_distances(row: Callable[[int], Array], n: int, k: int, threads: int) -> Array:
    """Return the distance from each row to its k-th nearest, itself counted."""
    core = np.empty(n)

    def work(number: int) -> None:
        for i in range(number * 64, min((number + 1) * 64, n)):
            core[i] = np.partition(row(i), k - 1)[k - 1]

    run_numbered(work, -(-n // 64), threads)
    return core


def walk_edges(row: Callable[[int], Array], core: Array, alpha: float) -> tuple[Array, Array]:
    """Return the edges of the tree and their lengths by Prim's algorithm, which asks for each row's distances once."""
    n = len(core)
    visited, source, weight = np.zeros(n, np.int8), np.full(n, -1, np.int32), np.full(n, np.inf)
    edges, lengths = np.empty((n - 1, 2), np.int32), np.empty(n - 1)
    current = 0
    for number in range(n - 1):
        current = reachability.visit(current, row(current), core, alpha, visited, source, weight)
        edges[number] = source[current], current
        lengths[number] = weight[current]
    return edges, lengths


def graph_edges(D: Rows, k: int, alpha: float, farthest: float, subject: str) -> tuple[Array, Array, Array]:
    """Return the edges and lengths of a sparse graph of distances, and its core distances."""
    stored = np.diff(D.indptr)
    if stored.min() < k:
        message = (
            f"{subject}: There exists points with fewer than {k} neighbors; row {int(stored.argmin())} has "
            f"{int(stored.min())}. Store at least min_samples distances per row."
        )
        raise DataError(message)
    core = np.array([np.partition(D.data[a:b], k - 1)[k - 1] for a, b in zip(D.indptr[:-1], D.indptr[1:])])
    rows = np.repeat(np.arange(D.shape[0]), stored)
    reach = np.maximum(np.maximum(core[rows], core[D.indices]), D.data / alpha)
    if farthest > 0:
        reach[np.isinf(reach)] = farthest
    # An edge of length zero is none to SciPy.
    graph = csr_array((np.maximum(reach, np.finfo(float).tiny), D.indices, D.indptr), D.shape)
    parts = connected_components(graph, directed=False, return_labels=False)
    if parts > 1:
        message = (
            f"{subject}: the sparse distances make {parts} connected components. HDBSCAN cannot be performed on a "
            f"disconnected graph. Store distances between the components."
        )
        raise DataError(message)
    tree = minimum_spanning_tree(graph).tocoo()
    return np.column_stack([tree.row, tree.col]).astype(np.int32), tree.data, core
