"""An approximate index of neighbours: a graph by NN-descent, and searches along its edges.

The first graph comes from trees of boxes over random projections of the rows: rows of the same leaves are compared.
Then every row looks at the neighbours of its neighbours, round by round, until few lines change (Dong, Moses and Li,
2011).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._native.nearest import graph_descent
from mercer._solver.neighbours.panels import empty_heaps
from mercer._solver.neighbours.search import RowSearch
from mercer._solver.neighbours.space_tree import WIDTH, SpaceTree
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import ParameterError

# Rows below which the exact search takes less time than a graph.
FEWEST_ROWS = 4096
# The fewest neighbours of a row in a graph: with fewer, searches end in dead ends.
_FEWEST = 15
# Neighbours beyond those asked for: the last ones of a line are the least certain.
_SPARE = 5
# Random projections whose trees give the first graph.
_TREES = 6
# Columns of a projection: boxes are cut in few columns anyway.
_PROJECTED = 8
# Leaves whose rows are compared with each other.
_LEAVES = 2
# Edges of a row that a round follows, in each direction.
_FOLLOWED = 12
# The most rounds; ten are enough for millions of rows.
_ROUNDS = 12
# The share of edges that change in a round below which the graph is complete.
_FEW_CHANGES = 0.002
# Rows from which searches begin.
_ENTRIES = 256
# Rows that a search holds beside those asked for.
_WIDER = 48
# Rows or queries in one native call: some milliseconds of work.
_RUN = 256
# Rows for which the exact answer is found too, to measure the recall.
_SAMPLE = 256


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """A graph of approximate neighbours.

    Attributes
    ----------
    neighbours, distances : ndarray of shape (n, k), int32 and float64
        The neighbours of each row, the nearest first, and how far they are.
    entries : ndarray of shape (e,), int32
        Rows spread over all, from which searches begin.
    """

    neighbours: Array
    distances: Array
    entries: Array


def build_graph(rows: Array, k: int, seed: np.random.SeedSequence, threads: int, subject: str) -> NeighbourGraph:
    """Return the graph of about the k nearest rows of each row; the same for one seed on any number of threads."""
    n = len(rows)
    k = min(n - 1, max(_FEWEST, k + _SPARE))
    require_memory(subject, n * (24.0 * k + 20.0 * _FOLLOWED), f"a graph of {n} rows", "fit fewer rows")
    random = np.random.default_rng(seed)
    distances, indices = empty_heaps(n, k)
    for tree in range(_TREES):
        # A random projection for each tree, so that neighbours missed by one are found by another.
        mixing = random.normal(size=(rows.shape[1], min(_PROJECTED, rows.shape[1])))
        order = SpaceTree(_project(rows, mixing, threads), threads, subject, pack=False).order
        # Entry points of searches are spread over the space by the order of the first tree.
        if tree == 0:
            entries = order[np.linspace(0, n - 1, min(n, _ENTRIES)).astype(np.intp)]
        _join(rows, order, distances, indices, threads)
    _refine(rows, distances, indices, threads)
    return NeighbourGraph(_as_edges(indices), np.sqrt(distances, out=distances), np.unique(entries))


def _project(rows: Array, mixing: Array, threads: int) -> Array:
    """Return products of rows, in fixed parts."""
    projected, size = np.empty((len(rows), mixing.shape[1])), 64 * _RUN

    def work(item: int) -> None:
        part = slice(item * size, (item + 1) * size)
        projected[part] = rows[part] @ mixing

    run_numbered(work, -(-len(rows) // size), threads)
    return projected


def _join(rows: Array, order: Array, distances: Array, indices: Array, threads: int) -> None:
    """Compare the rows of neighbouring leaves of a tree with each other."""
    width = _LEAVES * WIDTH
    blocks = -(-len(rows) // width)

    def work(item: int) -> None:
        first, stop = 4 * item, min(4 * item + 4, blocks)
        graph_descent.join_blocks(rows, order, width, first, stop, distances, indices)

    run_numbered(work, -(-blocks // 4), threads)


def _refine(rows: Array, distances: Array, indices: Array, threads: int) -> None:
    """Improve heaps of neighbours round by round; they are sorted at the end."""
    n, k = indices.shape
    items = -(-n // _RUN)

    def sort(item: int) -> None:
        graph_descent.sort_lines(distances, indices, item * _RUN, min((item + 1) * _RUN, n))

    run_numbered(sort, items, threads)
    before = np.full((n, 1), -1, np.int32)
    for _ in range(_ROUNDS):
        after = _as_edges(indices)
        links, changed = _link(before, after[:, :_FOLLOWED])
        if changed <= _FEW_CHANGES * n * min(k, _FOLLOWED):
            break
        # Sorted lines in reverse order are heaps: the farthest row stands first.
        distances[:], indices[:] = distances[:, ::-1].copy(), indices[:, ::-1].copy()

        def work(item: int, links: graph_descent.Links = links) -> None:
            # Marks of numbers: an array of zeros costs less than the rows it serves.
            run = 8 * _RUN
            part = item * run, min((item + 1) * run, n)
            graph_descent.refine_rows(rows, links, *part, np.zeros(n, np.int32), distances, indices)

        run_numbered(work, -(-n // (8 * _RUN)), threads)
        run_numbered(sort, items, threads)
        before = np.ascontiguousarray(after[:, :_FOLLOWED])


def _as_edges(indices: Array) -> Array:
    """Return indices as 32-bit integers; -1 where a line has no row yet."""
    return np.where(indices > np.iinfo(np.int32).max, -1, indices).astype(np.int32)


def _link(before: Array, forward: Array) -> tuple[graph_descent.Links, int]:
    """Return edges in both directions with their flags, and the number of new ones."""
    forward = np.ascontiguousarray(forward)
    new = np.empty(forward.shape, np.uint8)
    changed = graph_descent.flag_new(before, forward, new)
    backward, backward_new = np.full(forward.shape, -1, np.int32), np.zeros(forward.shape, np.uint8)
    graph_descent.reverse_edges(forward, new, np.zeros(len(forward), np.int32), backward, backward_new)
    return graph_descent.Links(forward, backward, new, backward_new), changed


class GraphIndex:
    """Rows that are searched along the edges of a graph: fast, and not always right.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64, C-contiguous
    graph : NeighbourGraph
    threads : int
        Changes no result.
    subject : str
        The name of the estimator, for errors.
    """

    def __init__(self, rows: Array, graph: NeighbourGraph, threads: int, subject: str) -> None:
        self.rows, self.graph, self.threads, self.subject = rows, graph, threads, subject

    @cached_property
    def _links(self) -> graph_descent.Links:
        neighbours = self.graph.neighbours
        links, _ = _link(np.full((len(neighbours), 1), -1, np.int32), neighbours)
        return links

    def nearest(self, queries: Array, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the distances to about the k nearest rows of each query, (m, k), and the indices of these rows."""
        queries = np.ascontiguousarray(queries, self.rows.dtype)
        m, n = len(queries), len(self.rows)
        own = np.arange(m) if leave_out_self else np.full(m, -1)
        distances, indices = empty_heaps(m, min(n, k + _WIDER))

        def work(item: int) -> None:
            part = slice(item * _RUN, (item + 1) * _RUN)
            graph_descent.search_graph(
                # Two marks for each row: which query has seen it.
                self.rows, queries[part], own[part], self._links, self.graph.entries, np.zeros((2, n), np.int32),
                distances[part], indices[part],
            )  # fmt: skip

        self._links  # noqa: B018 (made before the threads ask for it)
        run_numbered(work, -(-m // _RUN), self.threads)
        distances, indices = np.sqrt(distances[:, :k]), np.ascontiguousarray(indices[:, :k])
        # Searches that end in a part of the graph with fewer than k rows are completed.
        self._complete(queries, own, distances, indices)
        return distances, indices

    def _complete(self, queries: Array, own: Array, distances: Array, indices: Array) -> None:
        """Search exactly for queries from which fewer than k rows can be reached."""
        short = np.flatnonzero(np.isinf(distances[:, -1]) & (indices[:, -1] >= len(self.rows)))
        if not len(short):
            return
        others, rows = RowSearch(self.rows, threads=self.threads, subject=self.subject), distances.shape[1] + 1
        for query in short:
            line = others.nearest(queries[query : query + 1], min(rows, len(self.rows)))
            keep = np.flatnonzero(line[1][0] != own[query])[: rows - 1]
            distances[query], indices[query] = line[0][0, keep], line[1][0, keep]

    def within(
        self, queries: Array, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Raise: a graph of nearest rows does not know how many rows lie within a radius."""
        raise ParameterError(
            f"{self.subject}: algorithm='nn_descent' finds nearest rows, not all rows within a radius. Use "
            f"algorithm='auto' for a radius."
        )


def measure_recall(rows: Array, graph: NeighbourGraph, k: int, threads: int) -> float:
    """Return the share of the k nearest rows that a graph knows, for rows spread evenly over all.

    Of equal distances any row is right, so neighbours are compared by their distances.
    """
    sample = np.unique(np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.intp))
    exact, indices = RowSearch(rows, threads=threads).nearest(rows[sample], k + 1)
    # The row itself is left out; where it is not among the nearest, because rows equal it, one of these is.
    others = np.array([line[places != row][:k] for line, places, row in zip(exact, indices, sample, strict=True)])
    return float(np.mean(graph.distances[sample, :k] <= others[:, -1:]))
