"""The minimum spanning tree of mutual reachability: Boruvka's rounds over a tree of boxes, or Prim's algorithm.

Edges are ordered by weight and then by their row indices, so the minimum spanning tree is unique: both methods give the
same edges.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from mercer._native.space import box_tree, reachability
from mercer._solver.neighbours.metric import Metric
from mercer._solver.neighbours.space_tree import WIDTH, SpaceTree, make_scratch
from mercer._source.memory import is_allowed
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.errors import DataError

# Most distances that are kept (2^25, 256 MiB) rather than computed again row by row.
_MATRIX = 2**25


class Boruvka:
    """Boruvka's algorithm: add the lightest edge out of each component, round by round, until one component is left.

    A row remembers its lightest edge. As long as that leads out of its component it is still the lightest; once it does
    not, its weight is a lower bound on all other edges of the row. So few rows search again in a later round.

    Parameters
    ----------
    tree : SpaceTree
    min_samples : int
        The core distance is that to the nearest row of this rank, the row itself counted.
    alpha : float
        What distances are divided by.
    """

    def __init__(self, tree: SpaceTree, min_samples: int, alpha: float) -> None:
        n = tree.n
        # The tree holds squared distances, hence alpha^2.
        self.tree, self.scale = tree, 1.0 / alpha**2
        self.core = tree.kth_distances(min_samples)
        # Mutual reachability is at least a core distance, so the least one in a node bounds all edges into it.
        self.least_core = np.empty(len(tree.nodes))
        box_tree.smallest_values(tree.nodes, self.core, self.least_core)
        self.labels = np.arange(n, dtype=np.int32)
        self.uniform = np.empty(len(tree.nodes), np.int32)
        self.partner, self.weight = np.full(n, -1, np.int32), np.zeros(n)

    def core_distances(self) -> Array:
        """Return the core distances in the order of rows, (n,)."""
        distances = np.empty(self.tree.n)
        distances[self.tree.order] = np.sqrt(self.core)
        return distances

    def edges(self) -> tuple[Array, Array]:
        """Return the n - 1 edges of the tree, as row indices, and their lengths."""
        n, made = self.tree.n, 0
        edges, lengths = np.empty((n - 1, 2), np.int32), np.empty(n - 1)
        while made < n - 1:
            box_tree.uniform_labels(self.tree.nodes, self.labels, self.uniform)
            # From the second round on, one search per component without a known edge finds a limit for its other rows.
            if made:
                self._search(self._seeds(self._limits()))
            self._search(self._limits())
            made = reachability.join(
                self.tree.order, self.labels, self.partner, self.weight, np.empty(n, np.int32), edges, lengths, made,
                np.empty(n, np.int32),
            )  # fmt: skip
        return edges, np.sqrt(lengths)

    def _limits(self) -> Array:
        """Return the weight of the component's lightest known edge for rows that must search; -1 for others."""
        known = (self.partner >= 0) & (self.labels[self.partner] != self.labels)
        lightest = np.full(self.tree.n, np.inf)
        np.minimum.at(lightest, self.labels[known], self.weight[known])
        limits = lightest[self.labels]
        # A row whose edges all weigh more than the component's lightest known edge cannot improve it.
        limits[known | (self.weight > limits)] = -1.0
        return limits

    def _seeds(self, limits: Array) -> Array:
        """Return limits by which only one row per component without a known edge searches: that of the lowest bound."""
        blind = np.flatnonzero(np.isinf(limits))
        blind = blind[np.argsort(self.weight[blind], kind="stable")]
        first = blind[np.unique(self.labels[blind], return_index=True)[1]]
        seeds = np.full(self.tree.n, -1.0)
        seeds[first] = np.inf
        return seeds

    def _search(self, limits: Array) -> None:
        tree = self.tree

        def work(start: int, stop: int) -> None:
            # A negative limit marks a row that needs no search in this round.
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
    """Return a function from a row index to its distances to all rows; they are kept in a matrix if it fits."""
    n = rows.shape[0]
    # A matrix only if it fits well: 8 bytes a distance and as much again for its making.
    if n * n > _MATRIX or not is_allowed(16.0 * n * n):
        return lambda row: metric.distances(rows[row : row + 1], rows)[0]
    D, size = np.empty((n, n)), max(1, 2**20 // n)

    def fill(tile: int) -> None:
        part = slice(tile * size, (tile + 1) * size)
        D[part] = metric.distances(rows[part], rows)

    run_numbered(fill, -(-n // size), threads)
    return lambda row: D[row]


def core_distances(row: Callable[[int], Array], n: int, k: int, threads: int) -> Array:
    """Return the distance from each row to its k-th nearest, itself counted, (n,)."""
    core = np.empty(n)

    def work(run: int) -> None:
        for i in range(run * 64, min((run + 1) * 64, n)):
            # A partition finds the k-th smallest distance in O(n) steps, without a sort.
            core[i] = np.partition(row(i), k - 1)[k - 1]

    run_numbered(work, -(-n // 64), threads)
    return core


def walk_edges(row: Callable[[int], Array], core: Array, alpha: float) -> tuple[Array, Array]:
    """Return the edges of the tree and their lengths by Prim's algorithm; it needs each row's distances once."""
    n = len(core)
    # `weight` is the lightest edge from the visited rows to each row outside, `source` its end inside.
    visited, source, weight = np.zeros(n, np.int8), np.full(n, -1, np.int32), np.full(n, np.inf)
    edges, lengths = np.empty((n - 1, 2), np.int32), np.empty(n - 1)
    current = 0
    for step in range(n - 1):
        current = reachability.visit(current, row(current), core, alpha, visited, source, weight)
        edges[step] = source[current], current
        lengths[step] = weight[current]
    return edges, lengths


def graph_edges(D: Rows, k: int, alpha: float, farthest: float, subject: str) -> tuple[Array, Array, Array]:
    """Return the edges and lengths of the spanning tree of a sparse distance graph, and its core distances."""
    stored = np.diff(D.indptr)
    if stored.min() < k:
        raise DataError(
            f"{subject}: There exists points with fewer than {k} neighbors; row {int(stored.argmin())} has "
            f"{int(stored.min())}. Store at least min_samples distances per row."
        )
    core = np.array([np.partition(D.data[a:b], k - 1)[k - 1] for a, b in zip(D.indptr[:-1], D.indptr[1:])])
    rows = np.repeat(np.arange(D.shape[0]), stored)
    # Mutual reachability: the larger of both core distances and of the scaled distance.
    reach = np.maximum(np.maximum(core[rows], core[D.indices]), D.data / alpha)
    if farthest > 0:
        reach[np.isinf(reach)] = farthest
    # SciPy takes a stored zero for a missing edge.
    graph = csr_array((np.maximum(reach, np.finfo(float).tiny), D.indices, D.indptr), D.shape)
    parts = connected_components(graph, directed=False, return_labels=False)
    if parts > 1:
        raise DataError(
            f"{subject}: the sparse distances make {parts} connected components. HDBSCAN cannot be performed on a "
            f"disconnected graph. Store distances between the components."
        )
    tree = minimum_spanning_tree(graph).tocoo()
    return np.column_stack([tree.row, tree.col]).astype(np.int32), tree.data, core
