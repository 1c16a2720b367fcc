"""What targets say of a fuzzy graph: edges between classes weaken, or rows with near targets are neighbours too."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_array, check_consistent_length

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.manifold._tsne.affinities import find_nearest
from mercer.manifold._umap.fuzzy_graph import UNLABELLED, divide_by_class, intersect, join_sets, weigh_neighbours


def join_targets(
    graph: csr_array, rows: Any, y: Any, metric: Any, weight: float, n_neighbors: int, threads: int
) -> csr_array:
    """Return a graph of rows joined with their targets: classes (``metric="categorical"``), or numbers."""
    given = np.asarray(to_numpy(y))
    check_consistent_length(rows, given)
    if isinstance(metric, str) and metric == "categorical":
        return divide_by_class(graph, encode_classes(given), weight)
    targets = check_array(given.reshape(len(given), -1), dtype=np.float64, input_name="y")
    k = min(n_neighbors, len(targets)) - 1
    distances, columns = find_nearest("UMAP", targets, k, metric, None, threads)
    table, _, _ = weigh_neighbours(distances, columns, len(targets), 1.0)
    return intersect(graph, join_sets(table, 1.0), weight)


def encode_classes(y: Array) -> Array:
    """Return classes as numbers from 0 on; -1 for rows whose label is the number -1, which have no class."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1:
        raise DataError(
            f"UMAP: y must have one class for each row with target_metric='categorical'; got shape {y.shape}. Pass one "
            f"column, or set target_metric='euclidean' for numbers."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("UMAP: Input y contains NaN or infinity. Label rows without a class -1.")
    _, codes = np.unique(y.astype(str) if y.dtype == object else y, return_inverse=True)
    codes = codes.reshape(-1)
    return np.where(y == UNLABELLED, UNLABELLED, codes) if y.dtype.kind in "if" else codes
