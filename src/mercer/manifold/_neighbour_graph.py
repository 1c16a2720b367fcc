"""Graphs of nearest rows: searches with any metric, and links between the parts of a graph that is not connected."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer._solver.neighbours import nearest_rows
from mercer._solver.request import run_large
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import DataError
from mercer.neighbors import NearestNeighbors


def check_neighbours(subject: str, n_neighbors: int, n_rows: int) -> None:
    """Raise if rows cannot have as many neighbours."""
    if n_neighbors >= n_rows:
        raise DataError(
            f"{subject}: Expected n_neighbors < n_samples, but n_samples = {n_rows}, n_neighbors = {n_neighbors}; "
            f"lower n_neighbors, or give more rows."
        )


def is_euclidean(metric: Any, p: float, parameters: Any) -> bool:
    """Return whether a metric, by name, is the Euclidean one."""
    return not parameters and (metric in ("euclidean", "l2") or (metric == "minkowski" and p == 2))


def find_neighbours(
    queries: Rows, rows: Rows, k: int, *, own: bool, metric: Any, p: float, parameters: Any, threads: int
) -> tuple[Array, Array]:
    """Return distances to the k nearest rows of each query, rising, and their indices.

    With `own`, query i is row i, and is not its own neighbour.
    """
    if is_euclidean(metric, p, parameters) and not is_sparse_matrix(rows) and not is_sparse_matrix(queries):
        near, far = (np.ascontiguousarray(table, dtype=np.float64) for table in (queries, rows))
        return nearest_rows(near, far, k, leave_out_self=own, threads=threads)
    search = _search(rows, metric, p, parameters, n_neighbors=k)
    return search.kneighbors(None if own else queries, k)


def find_within(
    queries: Rows, rows: Rows, radius: float, *, own: bool, metric: Any, p: float, parameters: Any
) -> tuple[Array, Array]:
    """Return, for each query, the distances to all rows within a radius, and their indices."""
    search = _search(rows, metric, p, parameters, radius=radius)
    return search.radius_neighbors(None if own else queries, radius)


def _search(rows: Rows, metric: Any, p: float, parameters: Any, **options: Any) -> Any:
    name = "euclidean" if is_euclidean(metric, p, parameters) else metric
    return NearestNeighbors(metric=name, p=p, metric_params=parameters, **options).fit(rows)


def make_graph(distances: Array, indices: Array, n: int) -> csr_array:
    """Return the graph with an edge from each row to its neighbours; lists of neighbours may differ in length."""
    counts = np.array([len(row) for row in indices])
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    flat = np.concatenate(list(indices)).astype(np.int32) if len(indices) else np.empty(0, np.int32)
    lengths = np.concatenate(list(distances)).astype(np.float64) if len(indices) else np.empty(0)
    return csr_array((lengths, flat, pointers), shape=(n, n))


def connect_parts(subject: str, graph: csr_array, distances_between: Any) -> csr_array:
    """Return a connected graph: each two parts are joined by the shortest edge between them, with a warning."""
    count, labels = connected_components(graph, directed=False)
    if count == 1:
        return graph
    warnings.warn(
        f"{subject}: the number of connected components of the neighbors graph is {count} > 1: no path leads from one "
        f"to another, and each two were joined by their shortest edge. Raise n_neighbors or radius, or map them apart.",
        UserWarning,
        stacklevel=2,
    )
    links = []
    for first in range(count):
        rows = np.flatnonzero(labels == first)
        # Each two parts once.
        for second in range(first):
            others = np.flatnonzero(labels == second)
            shortest = partial(_find_shortest, distances_between, rows, others)
            links.append(run_large(shortest, len(rows) * len(others)))
    left, right, lengths = (np.array(part) for part in zip(*links, strict=True))
    stored = graph.tocoo()
    # An edge of length zero would be taken for no edge: duplicates of a row are as near as numbers allow.
    data = np.concatenate([stored.data, np.maximum(lengths, np.finfo(np.float64).tiny)])
    places = (np.concatenate([stored.row, left]).astype(np.int32), np.concatenate([stored.col, right]).astype(np.int32))
    return csr_array((data, places), shape=graph.shape)


def _find_shortest(distances_between: Any, rows: Array, others: Array) -> tuple[int, int, float]:
    """Return the two rows of two parts that are nearest to each other, and their distance."""
    gaps = distances_between(rows, others)
    i, j = np.unravel_index(np.argmin(gaps), gaps.shape)
    return rows[i], others[j], gaps[i, j]
