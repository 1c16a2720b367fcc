"""DBSCAN from lists of neighbours, computed part by part, for any metric or graph, in O(n) memory."""

import itertools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer._base.validation import check_rows
from mercer._solver.neighbours.metric import Metric
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._numbering import number_by_first_rows
from mercer.errors import DataError

# Most neighbours held at a time per thread: 32 MiB of indices.
_MOST = 2**22


def check_distances(estimator: Any, X: Any, **options: Any) -> Array:
    """Return a square matrix of distances, dense or CSR; raise if it is not square or has negative entries."""
    D = check_rows(estimator, X, threads=estimator._threads(), accept_sparse="csr", **options)
    subject = type(estimator).__name__
    if D.shape[0] != D.shape[1]:
        raise DataError(
            f"{subject}: The precomputed distance matrix must be square (n_samples x n_samples); it has shape "
            f"{D.shape}. Give one row and one column per sample."
        )
    values = D.data if is_sparse_matrix(D) else D
    least = np.min(values, initial=0.0)
    if least < 0:
        raise DataError(
            f"{subject}: Negative values in data passed to precomputed distance matrix; got {least:g}. Give "
            f"distances, not similarities."
        )
    return D


def densify(D: Rows) -> Array:
    """Return rows of a sparse distance matrix as a dense array: entries that are not stored are infinite."""
    if not is_sparse_matrix(D):
        return D
    dense = np.full(D.shape, np.inf)
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    dense[rows, D.indices] = D.data
    return dense


class Neighbours(Protocol):
    """A source of neighbour lists."""

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def most_rows(self) -> int:
        """The most rows whose lists one call may request."""

    def sizes(self, start: int, stop: int) -> Array:
        """Return the number of neighbours of the rows from `start` to `stop`, themselves counted."""

    def lists(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return the number of neighbours of the rows from `start` to `stop`, and their lists, one after the other."""


@dataclass(frozen=True, eq=False)
class DistanceTiles:
    """Neighbours by all distances, a tile of rows at a time."""

    X: Array
    metric: Metric
    eps: float

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def most_rows(self) -> int:
        return max(1, _MOST // self.n)

    def _near(self, start: int, stop: int) -> Array:
        near = self.metric.distances(self.X[start:stop], self.X) <= self.eps
        # A row is its own neighbour, even if rounding makes the distance to itself positive.
        near[np.arange(stop - start), np.arange(start, stop)] = True
        return near

    def sizes(self, start: int, stop: int) -> Array:
        return np.count_nonzero(self._near(start, stop), axis=1)

    def lists(self, start: int, stop: int) -> tuple[Array, Array]:
        near = self._near(start, stop)
        return np.count_nonzero(near, axis=1), np.nonzero(near)[1]


@dataclass(frozen=True, eq=False)
class MatrixRows(DistanceTiles):
    """Neighbours by a given matrix of distances."""

    def _near(self, start: int, stop: int) -> Array:
        return self.X[start:stop] <= self.eps


@dataclass(frozen=True, eq=False)
class MetricTree:
    """Neighbours by one of scikit-learn's trees."""

    X: Array
    tree: Any
    eps: float
    most_rows: int = 1024

    @property
    def n(self) -> int:
        return self.X.shape[0]

    def sizes(self, start: int, stop: int) -> Array:
        return self.tree.query_radius(self.X[start:stop], self.eps, count_only=True)

    def lists(self, start: int, stop: int) -> tuple[Array, Array]:
        lists = self.tree.query_radius(self.X[start:stop], self.eps)
        return np.array([len(neighbours) for neighbours in lists]), np.concatenate(lists)


@dataclass(frozen=True, eq=False)
class Graph:
    """Neighbours by a sparse matrix of distances; entries not stored are far, but each row is its own neighbour."""

    D: Rows
    eps: float
    most_rows: int = 2**16

    @property
    def n(self) -> int:
        return self.D.shape[0]

    def sizes(self, start: int, stop: int) -> Array:
        return self.lists(start, stop)[0]

    def lists(self, start: int, stop: int) -> tuple[Array, Array]:
        part = slice(self.D.indptr[start], self.D.indptr[stop])
        rows = np.repeat(np.arange(start, stop), np.diff(self.D.indptr[start : stop + 1]))
        columns = self.D.indices[part]
        kept = (self.D.data[part] <= self.eps) & (rows != columns)
        # Each row is its own neighbour, also where the graph stores no diagonal.
        rows = np.concatenate([rows[kept], np.arange(start, stop)])
        columns = np.concatenate([columns[kept], np.arange(start, stop)])
        order = np.argsort(rows, kind="stable")
        return np.bincount(rows - start, minlength=stop - start), columns[order]


@dataclass(frozen=True, eq=False)
class HeldLists:
    """The lists of all rows, where they are few enough to be held."""

    counts: Array
    columns: Array
    starts: Array

    @property
    def n(self) -> int:
        return len(self.counts)

    @property
    def most_rows(self) -> int:
        return self.n

    def sizes(self, start: int, stop: int) -> Array:
        return self.counts[start:stop]

    def lists(self, start: int, stop: int) -> tuple[Array, Array]:
        return self.counts[start:stop], self.columns[self.starts[start] : self.starts[stop]]


def _hold_lists(neighbours: Neighbours) -> Neighbours:
    """Return the same neighbours with lists that are computed once, where even the longest ones may be held."""
    n = neighbours.n
    if not n or n * n > _MOST:
        return neighbours
    counts, columns = neighbours.lists(0, n)
    return HeldLists(counts, columns, np.concatenate([[0], np.cumsum(counts)]))


def cluster_lists(neighbours: Neighbours, min_samples: int, weight: Array, threads: int) -> tuple[Array, Array]:
    """Return the labels of all rows, and whether each is core."""
    neighbours = _hold_lists(neighbours)
    n = neighbours.n
    rows = neighbours.most_rows
    # First pass: how many neighbours each row has; it also plans parts of bounded size.
    sizes = _join(neighbours.sizes, [(i, min(i + rows, n)) for i in range(0, n, rows)], threads)
    bounds = _cuts(sizes, rows)
    core = sizes >= min_samples
    if weight is not None:
        core = _join(lambda start, stop: _weights(neighbours, start, stop, weight), bounds, threads) >= min_samples
        core &= weight > 0
    components = _components(neighbours, bounds, core, threads)
    labels = number_by_first_rows(np.where(core, components, -1))
    # Border rows get the lowest label among their core neighbours; n stands for none.
    high = np.where(core, labels, n)
    lowest = _join(lambda start, stop: _lowest(neighbours, start, stop, core, high), bounds, threads)
    return np.where(core, labels, np.where(lowest == n, -1, lowest)), core


def _cuts(sizes: Array, most_rows: int) -> list[tuple[int, int]]:
    """Cut rows into runs of at most `most_rows` rows and _MOST neighbours; a longer list is a run of its own."""
    ends, start, total = [0], 0, np.concatenate([[0], np.cumsum(sizes)])
    while start < len(sizes):
        stop = int(np.searchsorted(total, total[start] + _MOST, side="right")) - 1
        start = min(max(stop, start + 1), start + most_rows, len(sizes))
        ends.append(start)
    return list(itertools.pairwise(ends))


def _join(function: Any, bounds: list[tuple[int, int]], threads: int) -> Array:
    parts: list[Array] = []
    run_numbered(lambda run: function(*bounds[run]), len(bounds), threads, parts.append)
    return np.concatenate(parts)


def _weights(neighbours: Neighbours, start: int, stop: int, weight: Array) -> Array:
    sizes, columns = neighbours.lists(start, stop)
    return np.bincount(np.repeat(np.arange(stop - start), sizes), weight[columns], stop - start)


def _components(neighbours: Neighbours, bounds: list[tuple[int, int]], core: Array, threads: int) -> Array:
    """Return a component per row, from the links between core rows; each run is united with the runs before it."""
    n, components = len(core), np.arange(len(core))

    def pairs(run: int) -> Array:
        start, stop = bounds[run]
        if not core[start:stop].any():
            return np.empty((2, 0), int)
        sizes, columns = neighbours.lists(start, stop)
        rows = np.repeat(np.arange(start, stop), sizes)
        kept = core[rows] & core[columns] & (rows != columns)
        # A spanning forest of each run is enough: at most n edges wait to be united.
        return _forest(rows[kept], columns[kept], n)

    def unite(edges: Array) -> None:
        left, right = components[edges[0]], components[edges[1]]
        graph = coo_array((np.ones(len(left), np.int8), (left, right)), (n, n))
        # Components of the components so far.
        components[:] = connected_components(graph, directed=False)[1][components]

    run_numbered(pairs, len(bounds), threads, unite)
    return components


def _forest(rows: Array, columns: Array, n: int) -> Array:
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), (n, n))
    labels = connected_components(graph, directed=False)[1]
    ends = np.unique(np.concatenate([rows, columns]))
    _, first, inverse = np.unique(labels[ends], return_index=True, return_inverse=True)
    # A star per component: every end is linked to the component's first end.
    return np.stack([ends[first][inverse], ends])


def _lowest(neighbours: Neighbours, start: int, stop: int, core: Array, high: Array) -> Array:
    """Return the lowest label in `high` among the neighbours of each row; runs of core rows only keep their own."""
    if core[start:stop].all():
        return high[start:stop]
    sizes, columns = neighbours.lists(start, stop)
    lowest = np.full(stop - start, len(core))
    # reduceat returns an entry of the next list for an empty one, so empty lists are left out and keep n.
    listed = np.flatnonzero(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])[listed]
    lowest[listed] = np.minimum.reduceat(high[columns], starts)
    return lowest
