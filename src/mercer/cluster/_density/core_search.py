"""Labels of new rows from the core rows of a fit, by the lowest label within epsilon."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._base.preparation import prepare_once
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._density.precomputed import densify
from mercer.cluster._density.space_tree import NO_LABEL, SpaceTree
from mercer.cluster._metric import Metric

__all__ = ["core_search"]

# Rows asked for in one call.
_RUN = 512


def core_search(model: Any) -> Any:
    """Return the search that labels rows by the fitted model's core rows."""
    return prepare_once(model, (model.components_, model.eps), lambda: _search_of(model))


def _search_of(model: Any) -> Any:
    rows, labels = model.components_, model.labels_[model.core_sample_indices_]
    metric = Metric(model.metric, model.metric_params, model.p)
    if rows.shape[0] == 0:
        return NoCores()
    if metric.is_euclidean and not issparse(rows) and model.search_used_ != "brute":
        tree = SpaceTree(rows, model._threads(), type(model).__name__)
        placed = labels[tree.order].astype(np.int32)
        return TreeSearch(tree, placed, tree.lowest(placed), model.eps)
    cores = model.core_sample_indices_ if metric.name == "precomputed" else None
    return TileSearch(rows, cores, labels, metric if cores is not None else metric.settle_scales(rows), model.eps)


@dataclass(frozen=True, eq=False)
class NoCores:
    """Without core rows everything is noise."""

    def labels(self, rows: Array, threads: int) -> Array:
        return np.full(rows.shape[0], -1, np.int64)


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Core rows in a tree of boxes; each row walks down it alone, so that no answer depends on other rows."""

    tree: SpaceTree
    placed: Array
    lowest: Array
    eps: float

    def labels(self, rows: Rows, threads: int) -> Array:
        found = np.empty(rows.shape[0], np.int64)

        def work(number: int) -> None:
            part = slice(number * _RUN, (number + 1) * _RUN)
            asked = np.ascontiguousarray(rows[part].toarray() if issparse(rows) else rows[part], np.float64)
            found[part] = self.tree.lowest_within(asked, self.eps, self.placed, self.lowest, group=1)

        if rows.shape[0] <= _RUN:
            work(0)
        else:
            run_numbered(work, -(-rows.shape[0] // _RUN), threads)
        found[found == NO_LABEL] = -1
        return found


@dataclass(frozen=True, eq=False)
class TileSearch:
    """Core rows by all distances, or by the columns of given ones."""

    rows: Array
    cores: Array
    core_labels: Array
    metric: Metric
    eps: float

    def labels(self, rows: Array, threads: int) -> Array:
        found = np.empty(rows.shape[0], np.int64)
        size = max(1, 2**22 // max(self.rows.shape))

        def work(number: int) -> None:
            part = slice(number * size, (number + 1) * size)
            near = self._near(rows[part])
            lowest = np.where(near, self.core_labels, NO_LABEL).min(axis=1)
            found[part] = np.where(lowest == NO_LABEL, -1, lowest)

        run_numbered(work, -(-rows.shape[0] // size), threads)
        return found

    def _near(self, rows: Array) -> Array:
        if self.cores is None:
            return self.metric.distances(rows, self.rows) <= self.eps
        return densify(rows)[:, self.cores] <= self.eps
