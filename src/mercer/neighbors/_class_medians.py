"""Medians of the rows of each class; weights are repetitions."""

import numpy as np

from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array

# Values copied and sorted at a time: 2 MiB.
_CHUNK = 2**18


def class_medians(source: Source, classes: Array) -> Array:
    """Return the median of each column over the rows of each class, (k, d), a few columns at a time."""
    X, medians = source.whole(), np.empty((len(classes), source.n_features))
    X = X.tocsc() if is_sparse_matrix(X) else X
    for k, label in enumerate(classes):
        rows = np.flatnonzero(source.y == label)
        weight = None if source.weight is None else source.weight[rows]
        # A few columns at a time, so that the copies stay small.
        step = max(1, _CHUNK // max(1, len(rows)))
        for start in range(0, source.n_features, step):
            part = X[:, start : start + step][rows] if is_sparse_matrix(X) else X[rows, start : start + step]
            values = part.toarray() if is_sparse_matrix(part) else part
            medians[k, start : start + step] = _median(values.astype(np.float64, copy=False), weight)
    return medians


def _median(values: Array, weight: Array) -> Array:
    """Return the weighted median, (d,); if a row ends the first half exactly, the mean of it and the next row."""
    if weight is None:
        return np.median(values, axis=0)
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    reached = np.cumsum(weight[order], axis=0)
    half = 0.5 * reached[-1]
    # Cumulated weights are rounded: a half reached up to 1e-12 counts as reached.
    low = np.argmax(reached >= half * (1.0 - 1e-12), axis=0)
    high = np.argmax(reached > half * (1.0 + 1e-12), axis=0)
    columns = np.arange(values.shape[1])
    return 0.5 * (ordered[low, columns] + ordered[high, columns])
