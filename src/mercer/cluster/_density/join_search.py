"""Labels of new rows by the point where they would join the hierarchy of a fitted HDBSCAN."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.neighbours.metric import Metric
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.cluster._density.condensed_tree import CondensedTree
from mercer.cluster._density.precomputed import densify


@dataclass(frozen=True, eq=False)
class JoinSearch:
    """The rows of the fit with their core distances and clusters.

    A new row counts itself among the `k` rows within its core distance. ``rows`` is None where distances are given.
    """

    rows: Array
    core: Array
    k: int
    alpha: float
    metric: Metric
    tree: CondensedTree
    labels_of: Array
    least_level: float

    @classmethod
    def of(cls, model: Any, tree: CondensedTree, kept: Array) -> "JoinSearch":
        """Return the search of a fitted model with the clusters `kept` of its condensed tree."""
        k = model.min_cluster_size if model.min_samples is None else model.min_samples
        metric, owners = Metric(model.metric, model.metric_params), tree.owners(kept)
        if model._fit_rows is not None:
            metric = metric.settle_scales(model._fit_rows)
        labels = np.where(owners >= 0, (np.cumsum(kept) - 1)[owners], -1)
        level = tree.single_level(model.cluster_selection_epsilon) if kept[0] else 0.0
        return cls(model._fit_rows, model.core_distances_, k, model.alpha, metric, tree, labels, level)

    def labels(self, rows: Array, threads: int) -> Array:
        """Return the cluster that each row would join, or -1."""
        labels = np.empty(rows.shape[0], np.int64)
        # At most 2^20 distances (8 MiB) at a time per thread.
        size = max(1, 2**20 // len(self.core))

        def work(tile: int) -> None:
            part = slice(tile * size, (tile + 1) * size)
            labels[part] = self._labels(rows[part])

        if rows.shape[0] <= size:
            work(0)
        else:
            run_numbered(work, -(-rows.shape[0] // size), threads)
        return labels

    def _labels(self, rows: Array) -> Array:
        """Return each row's cluster at the fitted row of least mutual reachability, at that level of the hierarchy."""
        distances = self._distances(rows)
        reach = np.maximum(distances / self.alpha, self.core)
        if self.k > 1:
            # The k rows within the core distance count the new row itself, hence the (k - 1)-th nearest fitted row.
            own = np.partition(distances, self.k - 2, axis=1)[:, self.k - 2]
            reach = np.maximum(reach, own[:, None])
        nearest = reach.argmin(axis=1)
        with np.errstate(divide="ignore"):
            levels = 1.0 / reach[np.arange(len(reach)), nearest]
        clusters = self.tree.belongs[nearest]
        # Climb from the fitted row's last cluster to the one that existed at this level.
        while (early := self.tree.births[clusters] > levels).any():
            clusters = np.where(early, self.tree.parents[clusters], clusters)
        return np.where(levels >= self.least_level, self.labels_of[clusters], -1)

    def _distances(self, rows: Array) -> Array:
        if self.rows is not None:
            return self.metric.distances(rows, self.rows)
        return densify(rows)
