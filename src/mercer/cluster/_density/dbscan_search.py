"""The choice of DBSCAN's search, and clustering by it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.preparation import prepare_once
from mercer._solver.neighbours.metric import TREES, Metric
from mercer._solver.neighbours.space_tree import NO_LABEL, SpaceTree
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._density.epsilon_grid import cluster_grid, suits_grid
from mercer.cluster._density.neighbour_lists import (
    DistanceTiles,
    Graph,
    MatrixRows,
    MetricTree,
    cluster_lists,
)
from mercer.cluster._density.precomputed import densify
from mercer.cluster._numbering import number_by_first_rows
from mercer.errors import ParameterError

# Rows searched for in one native call: some milliseconds of work.
_RUN = 512


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
            part = slice(run * _RUN, (run + 1) * _RUN)
            queries = np.ascontiguousarray(rows[part].toarray() if is_sparse_matrix(rows) else rows[part], np.float64)
            labels[part] = self.tree.lowest_within(queries, self.eps, self.placed, self.lowest, group=1)

        if rows.shape[0] <= _RUN:
            work(0)
        else:
            run_numbered(work, -(-rows.shape[0] // _RUN), threads)
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
