"""Questions about neighbours that every model with rows answers: the nearest ones, those within a radius, graphs."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.parameter import Integer, Real, parameter
from mercer._base.recognition import Recognised
from mercer._types import Array, Rows
from mercer.errors import DataError, ParameterError
from mercer.neighbors._nearest.graph_search import make_graph
from mercer.neighbors._nearest.rows_model import RowsModel
from mercer.neighbors._nearest.votes import Neighbours

SHARED = {
    "fitted": """n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_, converged_, n_iter_, certificate_ :
        One step of objective 0: nothing is optimised, and the neighbours are exact.""",
}


# Pairs of a query and a row within the radius that are held at a time: 0.4 GB while they are sorted.
_PAIRS = 2**22


class NearestQueries(Recognised, RowsModel):
    """Questions about the k nearest rows of the fit."""

    n_neighbors: int = parameter(Integer(1), default=5, kw_only=False)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest rows of the fit for each query, by rising distance, then by index.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), rows in any other place, distances of shape (m, n) with
            ``metric='precomputed'``, or None, default=None
            The queries; None means the rows of the fit, which are not their own neighbours.
        n_neighbors : int or None, default=None
            The number of neighbours; None means that of the constructor.
        return_distance : bool, default=True
            Whether distances are returned.

        Returns
        -------
        neigh_dist : ndarray of shape (m, n_neighbors)
            Distances, only if `return_distance` is True.
        neigh_ind : ndarray of shape (m, n_neighbors)
            Indices of rows of the fit.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        name = type(self).__name__
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"{name}: n_neighbors does not take {type(k)} value, enter integer value; got {k!r}.")
        if k <= 0:
            raise ParameterError(f"{name}: Expected n_neighbors > 0. Got {k}; ask for one neighbour at least.")
        distances, indices = self._query(X, _Nearest(self, int(k)))
        is_measured = (
            isinstance(distances, np.ndarray) and isinstance(self.metric, str) and self.metric != "precomputed"
        )
        # Squares of values beyond 1e154 overflow, and all rows would seem equally far.
        if is_measured and not np.isfinite(distances[:, -1:]).all():
            raise DataError(f"{name}: distances must be finite; those of a query overflow. Scale the columns.")
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Rows:
        """Return the graph of nearest rows of the fit as a CSR matrix.

        Parameters
        ----------
        X : as in :meth:`kneighbors`, default=None
        n_neighbors : int or None, default=None
            The number of neighbours; None means that of the constructor.
        mode : {'connectivity', 'distance'}, default='connectivity'
            Whether entries are ones or distances.

        Returns
        -------
        graph : CSR matrix of shape (m, n)
            Row i has an entry for each neighbour of query i, the nearest first.
        """
        _check_mode(type(self).__name__, mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        m, k = indices.shape
        values = np.ones(m * k) if mode == "connectivity" else distances.ravel()
        return make_graph(values, indices.ravel(), np.arange(0, m * k + 1, k), (m, self.n_samples_fit_))

    def _find(self, rows: Rows, threads: int) -> Iterator[Neighbours]:
        yield Neighbours.of_table(*self._nearest(rows, self.n_neighbors, threads))


class RadiusQueries(RowsModel):
    """Questions about the rows of the fit within a radius."""

    radius: float = parameter(Real(0), default=1.0, kw_only=False)

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Find the rows of the fit within a radius of each query; rows at exactly that distance count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), distances of shape (m, n) with ``metric='precomputed'``, or
            None, default=None
            The queries, in memory; None means the rows of the fit, which are not their own neighbours.
        radius : float, array-like of shape (m,) or None, default=None
            The radius, or one for each query; None means that of the constructor.
        return_distance : bool, default=True
            Whether distances are returned.
        sort_results : bool, default=False
            Whether neighbours are in the order of rising distances; else they are in the order of indices.

        Returns
        -------
        neigh_dist : ndarray of shape (m,) of arrays
            Distances, only if `return_distance` is True.
        neigh_ind : ndarray of shape (m,) of arrays
            Indices of rows of the fit.
        """
        if sort_results and not return_distance:
            raise ParameterError(
                f"{type(self).__name__}: return_distance must be True if sort_results is True; got False."
            )
        starts, indices, distances = self._list_within(X, radius, sort_results)
        lists = _split(indices, starts)
        return (_split(distances, starts), lists) if return_distance else lists

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Rows:
        """Return the graph of the rows of the fit within a radius as a CSR matrix.

        Parameters
        ----------
        X : as in :meth:`radius_neighbors`, default=None
        radius : float or None, default=None
            The radius; None means that of the constructor.
        mode : {'connectivity', 'distance'}, default='connectivity'
            Whether entries are ones or distances.
        sort_results : bool, default=False
            Whether the entries of a row are in the order of rising distances; needs ``mode='distance'``.

        Returns
        -------
        graph : CSR matrix of shape (m, n)
        """
        _check_mode(type(self).__name__, mode)
        starts, indices, distances = self._list_within(X, radius, sort_results)
        values = np.ones(len(indices)) if mode == "connectivity" else distances
        return make_graph(values, indices, starts, (len(starts) - 1, self.n_samples_fit_))

    def _find(self, rows: Rows, threads: int) -> Iterator[Neighbours]:
        """Yield the rows within the radius of some queries; a part of the queries at a time, so that lists fit memory.

        For None, the queries are the rows of the fit, without themselves.
        """
        alone, rows = rows is None, self._fit_X if rows is None else rows
        # Queries at once, so that even all rows as neighbours of each fit the memory.
        search, size = self._search(threads), max(1, _PAIRS // self.n_samples_fit_)
        for start in range(0, rows.shape[0], size):
            starts, indices, distances = search.within(rows[start : start + size], self.radius)
            if alone:
                queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
                # A row of the fit is not its own neighbour.
                others = indices != start + queries
                starts = np.concatenate([[0], np.cumsum(np.bincount(queries[others], minlength=len(starts) - 1))])
                indices, distances = indices[others], distances[others]
            yield Neighbours(starts, indices, distances)

    def _list_within(self, X: Any, radius: float | None, by_distance: bool) -> tuple[Array, Array, Array]:
        check_is_fitted(self)
        length = self.radius if radius is None else radius
        if np.ndim(length) == 0:
            return self._query(X, _Within(self, float(length), by_distance))
        # A radius for each query: the lists of the largest one, shortened.
        lengths = np.asarray(length, np.float64)
        starts, indices, distances = self._query(X, _Within(self, float(lengths.max()), by_distance))
        queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        near = distances <= lengths[queries]
        starts = np.concatenate([[0], np.cumsum(np.bincount(queries[near], minlength=len(starts) - 1))])
        return starts, indices[near], distances[near]


class _Nearest:
    """The k nearest rows of a fitted model, for each query."""

    def __init__(self, model: RowsModel, k: int) -> None:
        self.model, self.k = model, k

    def __call__(self, rows: Rows, threads: int) -> tuple[Array, Array]:
        return self.model._nearest(rows, self.k, threads, stay=True)


class _Within:
    """The rows of a fitted model within a radius, for each query; lists do not join, so rows must be in memory."""

    needs_memory = True

    def __init__(self, model: RowsModel, radius: float, by_distance: bool) -> None:
        self.model, self.radius, self.by_distance = model, radius, by_distance

    def __call__(self, rows: Rows, threads: int) -> tuple[Array, Array, Array]:
        return self.model._within(rows, self.radius, threads, self.by_distance)


def _split(values: Array, starts: Array) -> Array:
    """Return lists that stand one after the other as an array of arrays."""
    lists = np.empty(len(starts) - 1, dtype=object)
    lists[:] = [values[first:last] for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    return lists


def _check_mode(subject: str, mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f'{subject}: Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead.'
        )
