"""The choice of DBSCAN's search, and clustering by it: on a grid of cells, or from lists of neighbours."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.preparation import prepare_once
from mercer._native.space import epsilon_grid
from mercer._solver.neighbours.metric import TREES, Metric
from mercer._solver.neighbours.space_tree import NO_LABEL, QUERIES, SpaceTree
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._density.neighbour_lists import DistanceTiles, Graph, MatrixRows, MetricTree, cluster_lists, densify
from mercer.cluster._numbering import number_by_first_rows
from mercer.errors import ParameterError

# Cells in one native call: some milliseconds of work.
_CELL_RUN = 1024
# Rows whose cells are computed at a time, which bounds the temporary arrays.
_ROWS = 2**16
# Diagonals are slightly shorter than epsilon, so that rounding cannot put two rows farther apart than it into one cell.
_SHORT = 1 - 1e-9
# Keys of cells must fit into 64-bit integers, with room for the offsets of neighbours.
_MOST_KEYS = 2**62


def suits_grid(X: Array, eps: float) -> bool:
    """Return whether rows have at most three columns, and few enough cells that their keys fit into 64 bits."""
    if X.shape[1] > 3:
        return False
    extents = X.max(axis=0).astype(float) - X.min(axis=0)
    cells = [extent / _side(eps, X.shape[1]) + 2 * _reach(X.shape[1]) + 2 for extent in extents]
    # Cells are counted in float64, whose rounding must stay below a cell.
    return all(math.isfinite(count) and count < 2**40 for count in cells) and math.prod(cells) < _MOST_KEYS


def _side(eps: float, d: int) -> float:
    # The diagonal of a cube of d dimensions is sqrt(d) sides: rows of a cell are within eps of each other.
    return eps / math.sqrt(d) * _SHORT


def _reach(d: int) -> int:
    """Return how many cells away a neighbour can be along each axis: ceil(eps / side)."""
    return math.ceil(math.sqrt(d) / _SHORT)


@dataclass(frozen=True, eq=False)
class EpsilonGrid:
    """Rows sorted into cells.

    ``Z`` (d, n) holds the sorted rows feature by feature, ``order`` their row indices, ``keys`` and ``starts`` the
    cells that are not empty and the first row of each.
    """

    Z: Array
    order: Array
    keys: Array
    starts: Array
    offsets: Array
    span: int
    radius: float
    threads: int

    @classmethod
    def of(cls, X: Array, eps: float, threads: int, subject: str) -> "EpsilonGrid":
        """Sort rows into cells of side eps / sqrt(d)."""
        n, d = X.shape
        require_memory(subject, n * (d * X.itemsize + 36), f"the grid of {n} rows", "fit fewer rows")
        side, reach = _side(eps, d), _reach(d)
        low = X.min(axis=0).astype(float)
        # `reach` empty cells at both ends of each axis keep the neighbours' keys from running into the next line of
        # cells.
        counts = [int((float(most) - least) / side) + 2 * reach + 1 for most, least in zip(X.max(axis=0), low)]
        strides = [math.prod(counts[k + 1 :]) for k in range(d)]
        keys = np.zeros(n, np.int64)
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            for k in range(d):
                keys[part] += (np.floor((X[part, k] - low[k]) / side).astype(np.int64) + reach) * strides[k]
        # A stable sort: weights are then added in the order of rows.
        order = np.argsort(keys, kind="stable").astype(np.int32)
        keys = keys[order]
        begins = np.flatnonzero(keys[1:] != keys[:-1])
        starts = np.zeros(len(begins) + 2, np.int64)
        starts[1:-1], starts[-1] = begins + 1, n
        keys = keys[starts[:-1]]
        del begins
        Z = np.empty((d, n), X.dtype)
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            Z[:, part] = X[order[part]].T
        return cls(Z, order, keys, starts, _offsets(strides, reach), 2 * reach, eps**2, threads)

    def cluster(self, min_samples: int, weight: Array) -> tuple[Array, Array]:
        """Return the labels of the sorted rows, and whether each is core."""
        core = self._cores(min_samples, weight)
        clusters = self._clusters(core)
        labels = np.empty(len(core), np.int32)
        none = np.iinfo(np.int32).max

        def work(first: int, stop: int) -> None:
            epsilon_grid.find_borders(self.Z, self._cells(), first, stop, self.radius, core, clusters, none, labels)

        self._each(work)
        return labels, core

    def _cores(self, min_samples: int, weight: Array) -> Array:
        core = np.empty(len(self.order), np.int8)
        placed = np.empty(0) if weight is None else weight[self.order]

        def work(first: int, stop: int) -> None:
            epsilon_grid.find_cores(self.Z, self._cells(), first, stop, self.radius, placed, min_samples, core)

        self._each(work)
        return core

    def _clusters(self, core: Array) -> Array:
        """Return the label of each cell, (m,); clusters are numbered in the order of their first core rows."""
        cores = np.maximum.reduceat(core, self.starts[:-1])
        parent = np.arange(len(self.keys), dtype=np.int32)
        box, cells = np.empty((2, len(self.Z))), self._cells()
        # On one thread: cells that are united already need no distance, so this is a small part of the work.
        for first in range(0, len(self.keys), _CELL_RUN):
            stop = min(first + _CELL_RUN, len(self.keys))
            epsilon_grid.link_cells(self.Z, cells, first, stop, self.radius, core, cores, box, parent)
        # Per root the lowest core row, then its rank; cells without a core row keep a value above all labels.
        labels = np.full(len(self.keys), np.iinfo(np.int32).max, np.int32)
        epsilon_grid.first_rows(self.starts, self.order, core, parent, labels)
        roots = np.flatnonzero(labels < np.iinfo(np.int32).max)
        labels[roots[np.argsort(labels[roots])]] = np.arange(len(roots), dtype=np.int32)
        for start in range(0, len(parent), _ROWS):
            parent[start : start + _ROWS] = labels[parent[start : start + _ROWS]]
        return parent

    def _cells(self) -> epsilon_grid.Cells:
        """Return the record of cells that one native call works on."""
        runs = np.empty((len(self.offsets), 2), np.int64)
        return epsilon_grid.Cells(self.keys, self.starts, self.offsets, runs, self.span)

    def _each(self, function: Any) -> None:
        total = len(self.keys)
        run_numbered(
            lambda run: function(run * _CELL_RUN, min((run + 1) * _CELL_RUN, total)),
            -(-total // _CELL_RUN),
            self.threads,
        )


def _offsets(strides: list[int], reach: int) -> Array:
    """Return the offset from a cell's key to the start of each run of cells within reach, the nearest runs first."""
    steps = itertools.product(range(-reach, reach + 1), repeat=len(strides) - 1)
    nearest_first = sorted(steps, key=lambda step: (sum(move * move for move in step), step))
    runs = [sum(move * stride for move, stride in zip(step, strides)) - reach for step in nearest_first]
    return np.array(runs, np.int64)


def cluster_grid(
    X: Array, eps: float, min_samples: int, weight: Array, threads: int, subject: str
) -> tuple[Array, Array]:
    """Return the labels of all rows, and whether each is core."""
    grid = EpsilonGrid.of(X, eps, threads, subject)
    sorted_labels, core = grid.cluster(min_samples, weight)
    order = grid.order
    # The sorted rows are the largest part of memory; they are freed before the result is put into the rows' order.
    del grid
    labels, marks = np.empty(len(order), np.int64), np.empty(len(order), bool)
    labels[order], marks[order] = sorted_labels, core
    return labels, marks


def search_used(model: Any, rows: Array, metric: Metric) -> str:
    """Return the search that suits rows and metric, or the one that ``algorithm`` asks for."""
    if isinstance(metric.name, str) and metric.name == "precomputed":
        return "precomputed"
    if model.algorithm == "brute":
        return "brute"
    if is_sparse_matrix(rows):
        _check_tree(model, model.algorithm == "auto", "sparse rows", "use algorithm='brute'")
        return "brute"
    if metric.is_euclidean and model.algorithm == "auto":
        # Cells of a grid where few columns and a suitable eps allow it; else a tree.
        return "grid" if suits_grid(rows, model.eps) else "kd_tree"
    if model.algorithm != "auto":
        known = metric.suits_tree(model.algorithm) or (callable(metric.given) and model.algorithm == "ball_tree")
        _check_tree(model, known, f"metric={metric.given!r}", "use algorithm='auto'")
        return model.algorithm
    return next((tree for tree in TREES if metric.suits_tree(tree)), "brute")


def _check_tree(model: Any, possible: bool, what: str, cure: str) -> None:
    if not possible:
        raise ParameterError(f"{type(model).__name__}: algorithm={model.algorithm!r} does not take {what}; {cure}.")


def cluster_rows(
    model: Any, used: str, rows: Array, metric: Metric, weight: Array, threads: int
) -> tuple[Array, Array]:
    """Return the labels of all rows, and whether each is core, by the search `used`."""
    subject = type(model).__name__
    if used == "grid":
        return cluster_grid(rows, model.eps, model.min_samples, weight, threads, subject)
    if used == "kd_tree" and metric.is_euclidean:
        return _cluster_tree(SpaceTree(rows, threads, subject), model.eps, model.min_samples, weight)
    if used == "precomputed":
        lists: Any = Graph(rows, model.eps) if is_sparse_matrix(rows) else MatrixRows(rows, metric, model.eps)
    elif used == "brute":
        lists = DistanceTiles(rows, metric.settle_scales(rows), model.eps)
    else:
        lists = MetricTree(rows, metric.settle_scales(rows).tree(used, rows, model.leaf_size), model.eps)
    return cluster_lists(lists, model.min_samples, weight, threads)


def _cluster_tree(tree: SpaceTree, eps: float, min_samples: int, weight: Array) -> tuple[Array, Array]:
    # `placed` arrays are in the order of the tree, all others in the order of the rows.
    # Core rows: at least min_samples of weight within eps, counted only up to there.
    placed = tree.count_within(eps, weight, float(min_samples)) >= min_samples
    if weight is not None:
        placed &= weight[tree.order] > 0
    core = np.empty(tree.n, bool)
    core[tree.order] = placed
    components = np.empty(tree.n, np.int32)
    components[tree.order] = tree.components(eps, placed)
    # Clusters are numbered by their first rows, as in scikit-learn.
    labels = number_by_first_rows(components)
    given = np.where(placed, labels[tree.order], NO_LABEL).astype(np.int32)
    labels[tree.order] = tree.share_labels(eps, given)
    return labels, core


def core_search(model: Any) -> Any:
    """Return the search that labels new rows by the fitted model's core rows, prepared once per fit."""
    return prepare_once(model, (model.components_, model.eps), lambda: _search_of(model))


def _search_of(model: Any) -> Any:
    rows, labels = model.components_, model.labels_[model.core_sample_indices_]
    # Border rows take the lowest label of a core row within epsilon, and so do new rows.
    metric = Metric(model.metric, model.metric_params, model.p)
    if rows.shape[0] == 0:
        return NoCores()
    if metric.is_euclidean and not is_sparse_matrix(rows) and model.search_used_ != "brute":
        tree = SpaceTree(rows, model._threads(), type(model).__name__)
        placed = labels[tree.order].astype(np.int32)
        return TreeSearch(tree, placed, tree.lowest(placed), model.eps)
    cores = model.core_sample_indices_ if metric.name == "precomputed" else None
    return TileSearch(rows, cores, labels, metric if cores is not None else metric.settle_scales(rows), model.eps)


@dataclass(frozen=True, eq=False)
class NoCores:
    """A fit without core rows: every row is noise."""

    def labels(self, rows: Array, threads: int) -> Array:
        return np.full(rows.shape[0], -1, np.int64)


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Core rows in a tree of boxes; each new row is searched for alone, so that no answer depends on other rows."""

    tree: SpaceTree
    placed: Array
    lowest: Array
    eps: float

    def labels(self, rows: Rows, threads: int) -> Array:
        labels = np.empty(rows.shape[0], np.int64)

        def work(run: int) -> None:
            part = slice(run * QUERIES, (run + 1) * QUERIES)
            queries = np.ascontiguousarray(rows[part].toarray() if is_sparse_matrix(rows) else rows[part], np.float64)
            labels[part] = self.tree.lowest_within(queries, self.eps, self.placed, self.lowest, group=1)

        if rows.shape[0] <= QUERIES:
            work(0)
        else:
            run_numbered(work, -(-rows.shape[0] // QUERIES), threads)
        labels[labels == NO_LABEL] = -1
        return labels


@dataclass(frozen=True, eq=False)
class TileSearch:
    """Core rows searched by all distances, or by the columns of a given distance matrix."""

    rows: Array
    cores: Array
    core_labels: Array
    metric: Metric
    eps: float

    def labels(self, rows: Array, threads: int) -> Array:
        labels = np.empty(rows.shape[0], np.int64)
        # At most 2^22 distances (32 MiB) at a time per thread.
        size = max(1, 2**22 // max(self.rows.shape))

        def work(tile: int) -> None:
            part = slice(tile * size, (tile + 1) * size)
            near = self._near(rows[part])
            lowest = np.where(near, self.core_labels, NO_LABEL).min(axis=1)
            labels[part] = np.where(lowest == NO_LABEL, -1, lowest)

        run_numbered(work, -(-rows.shape[0] // size), threads)
        return labels

    def _near(self, rows: Array) -> Array:
        if self.cores is None:
            return self.metric.distances(rows, self.rows) <= self.eps
        return densify(rows)[:, self.cores] <= self.eps
