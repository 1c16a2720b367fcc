"""The cluster of a hierarchy that a new row belongs to: the one it would merge with first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer._source import Block
from mercer._types import Array
from mercer.cluster._distances import measure_metric, metric_options

# Distances held at a time: 16 MiB.
_TILE = 2**21


@dataclass(frozen=True, eq=False)
class NearestCluster:
    """The cluster at the least linkage distance from each row of a block; among equals the lowest.

    `exemplars` are the means of the clusters for linkages by means (`labels` is None then), the rows of the fit for
    linkages by pairs, and None if a block holds the distances to the rows of the fit.
    """

    linkage: str
    metric: Any
    exemplars: Any
    labels: Any
    sizes: Array

    def __call__(self, block: Block) -> Array:
        X = block.dense()
        if self.labels is None:
            return self._by_means(X)
        rows = max(1, _TILE // len(self.labels))
        return np.concatenate([self._by_pairs(X[start : start + rows]) for start in range(0, len(X), rows)])

    def _by_means(self, X: Array) -> Array:
        gaps = cdist(X, self.exemplars, "sqeuclidean")
        # Ward's height of a merge with one row: 2 n / (n + 1) |x - mean|^2.
        if self.linkage == "ward":
            gaps *= self.sizes / (self.sizes + 1)
        return np.argmin(gaps, axis=1)

    def _by_pairs(self, X: Array) -> Array:
        distances = X if self.exemplars is None else self._measure(X)
        if self.linkage == "single":
            # Among equally near rows the lowest label wins.
            nearest = distances == np.min(distances, axis=1)[:, None]
            return np.min(np.where(nearest, self.labels, len(self.sizes)), axis=1)
        order = np.argsort(self.labels, kind="stable")
        # Rows sorted by label: one reduction over runs gives the linkage to every cluster.
        starts = np.searchsorted(self.labels[order], np.arange(len(self.sizes)))
        reach = np.maximum if self.linkage == "complete" else np.add
        linked = reach.reduceat(distances[:, order], starts, axis=1)
        return np.argmin(linked / self.sizes if reach is np.add else linked, axis=1)

    def _measure(self, X: Array) -> Array:
        if callable(self.metric):
            both = np.concatenate([X, self.exemplars])
            return np.asarray(self.metric(both))[: len(X), len(X) :]
        options = metric_options(self.exemplars, self.metric, None)
        return measure_metric("AgglomerativeClustering", X, self.exemplars, self.metric, options)
