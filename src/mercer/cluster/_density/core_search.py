"""Labels of new rows: the lowest label of a core row within epsilon."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.preparation import prepare_once
from mercer._solver.neighbours.metric import Metric
from mercer._solver.neighbours.space_tree import NO_LABEL, SpaceTree
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._density.precomputed import densify

# Rows searched for in one native call: some milliseconds of work.
_RUN = 512


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
