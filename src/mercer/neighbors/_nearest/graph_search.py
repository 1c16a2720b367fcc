"""Neighbours in given distances: a table of all, or a sparse graph that holds the near ones."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.exceptions import EfficiencyWarning

from mercer._native.nearest import row_scan
from mercer._solver.neighbours.panels import empty_heaps
from mercer._solver.neighbours.search import PairLists
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import DataError


def check_graph(subject: str, D: Rows, square: bool = False) -> Rows:
    """Return given distances as float64; the rows of a sparse graph sorted by distance.

    Raises if there is a negative distance or, with `square`, if the matrix is not square.
    """
    if square and D.shape[0] != D.shape[1]:
        raise DataError(
            f"{subject}: Precomputed matrix must be square. Input is a {D.shape[0]}x{D.shape[1]} matrix; give one row "
            f"and one column for each sample."
        )
    values = D.data if is_sparse_matrix(D) else D
    # The initial value of 0 also serves a matrix without entries.
    least = values.min(initial=0.0)
    if least < 0:
        raise DataError(
            f"{subject}: Negative values in data passed to precomputed distance matrix; got {least:g}. Give distances, "
            f"not similarities."
        )
    if not is_sparse_matrix(D):
        return np.ascontiguousarray(D, np.float64)
    return sort_graph(D.tocsr(), warn=True)


def is_sorted(graph: Rows) -> bool:
    """Return whether the entries of each row of a CSR matrix are in rising order."""
    falls = graph.data[1:] < graph.data[:-1]
    # A fall from one row to the next does not count.
    borders = graph.indptr[1:-1]
    falls[borders[(borders > 0) & (borders < len(graph.data))] - 1] = False
    return not falls.any()


def sort_graph(graph: Rows, warn: bool = False) -> Rows:
    """Return a CSR matrix whose rows are sorted by (value, column); warn if they were not sorted by value."""
    if is_sorted(graph):
        return graph
    if warn:
        warnings.warn(
            "Precomputed sparse input was not sorted by row values. Use the function sort_graph_by_row_values.",
            EfficiencyWarning,
            stacklevel=8,
        )
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    # The last key of lexsort is the first to sort by: row, then value, then column.
    order = np.lexsort((graph.indices, graph.data, rows))
    return type(graph)((graph.data[order], graph.indices[order], graph.indptr), shape=graph.shape)


def make_graph(values: Array, indices: Array, starts: Array, shape: tuple[int, int]) -> Rows:
    """Return a graph in CSR form, as a matrix or an array as scikit-learn's setting ``sparse_interface`` asks."""
    make = csr_array if get_config().get("sparse_interface", "spmatrix") == "sparray" else csr_matrix
    return make((values, indices, starts), shape=shape)


class GraphSearch:
    """The search in given distances: the queries are the distances to the rows of the fit.

    Parameters
    ----------
    subject : str
        The name of the estimator, for errors.
    threads : int
        Not used: looking through a table takes less time than handing it out.
    """

    def __init__(self, subject: str, threads: int) -> None:
        self.subject = subject

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the k smallest distances of each row, (m, k), and their columns."""
        if is_sparse_matrix(queries):
            return self._nearest_in_graph(queries, k, leave_out_self)
        m = queries.shape[0]
        # -1 is the number of no row, so nothing is left out.
        own = np.arange(m) if leave_out_self else np.full(m, -1)
        distances, indices = empty_heaps(m, k)
        row_scan.search_table(np.ascontiguousarray(queries, np.float64), 0, own, distances, indices)
        row_scan.sort_heaps(distances, indices)
        return distances, indices

    def _nearest_in_graph(self, graph: Rows, k: int, leave_out_self: bool) -> tuple[Array, Array]:
        starts, indices, distances = _drop_selves(graph) if leave_out_self else _list_rows(graph)
        fewest = int(np.diff(starts).min())
        if fewest < k:
            raise DataError(
                f"{self.subject}: {k} neighbors per samples are required, but some samples have only {fewest} "
                f"neighbors in precomputed graph matrix. Decrease number of neighbors used or recompute the graph with "
                f"more neighbors."
            )
        # Rows are sorted by distance: the first k entries are the nearest.
        places = starts[:-1, None] + np.arange(k)
        return distances[places], indices[places].astype(np.intp)

    def within(
        self, queries: Rows, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return the entries of each row up to `radius` as lists one after the other: starts, indices, distances."""
        m = queries.shape[0]
        if is_sparse_matrix(queries):
            starts, columns, distances = _drop_selves(queries) if leave_out_self else _list_rows(queries)
            near = distances <= radius
            pairs = np.column_stack([np.repeat(np.arange(m), np.diff(starts))[near], columns[near]])
            return _join(self.subject, pairs, distances[near], m, by_distance)
        near = np.asarray(queries) <= radius
        if leave_out_self:
            near[np.arange(m), np.arange(m)] = False
        return _join(self.subject, np.column_stack(np.nonzero(near)), np.asarray(queries)[near], m, by_distance)


def _join(subject: str, pairs: Array, distances: Array, m: int, by_distance: bool) -> tuple[Array, Array, Array]:
    lists = PairLists(subject)
    lists.append((pairs, distances))
    return lists.join(m, by_distance)


def _list_rows(graph: Rows) -> tuple[Any, Any, Any]:
    return graph.indptr, graph.indices, graph.data


def _drop_selves(graph: Rows) -> tuple[Any, Any, Any]:
    """Return the lists of a graph without the entry of each row for itself."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    keep = graph.indices != rows
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[keep], minlength=graph.shape[0]))])
    return starts, graph.indices[keep], graph.data[keep]
