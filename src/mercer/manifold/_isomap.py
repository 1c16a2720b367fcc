"""Isomap: classical scaling of distances along the rows."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from mercer._base import check_new_rows, fitting
from mercer._base.parameter import Choice, Function, Integer, Nothing, Options, Real, Text, parameter
from mercer._native.nearest import shortest_paths
from mercer._solver.request import run_aside
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import one_blas_thread, run_numbered
from mercer._stored import Stored, floats
from mercer._types import Array, Rows
from mercer.errors import DataError, ParameterError
from mercer.manifold._embedding import EigenMap, EigenMapState, centre_squares, largest_eigenvectors, solve_at_once
from mercer.manifold._neighbour_graph import (
    check_neighbours,
    connect_parts,
    find_neighbours,
    find_within,
    is_euclidean,
    make_graph,
)
from mercer.neighbors import NearestNeighbors

STATEMENT = (
    "Largest |B v - lambda v| over the eigenvectors v, relative to the largest entry of B, the centred squared lengths "
    "of shortest paths."
)
# Rows and edges that one native call visits: some 40 ms, at 8 ns each.
_VISITS = 5e6


class Isomap(EigenMap):
    r"""Isometric mapping: classical scaling of the lengths of shortest paths between rows.

    Each row is joined to its nearest rows; the distance of two rows is the length of the shortest path between them,
    which follows the surface on which the rows lie. :class:`ClassicalMDS` of these distances gives the coordinates.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates. The entry of largest magnitude of each column is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred squared distances, falling.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        Lengths of shortest paths.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows.
    history_ : dict of ndarray
        ``objective``, the reconstruction error.
    certificate_ : Certificate
        ``"residual"`` of the eigenvectors.

    Notes
    -----
    Memory 24 n^2 bytes. Shortest paths take O(n^2 (k + log n)). A graph that is not connected is joined by the shortest
    edges between its parts, with a warning that says how many parts there are. A new row reaches the others through its
    nearest rows.

    References
    ----------
    J. Tenenbaum, V. de Silva and J. Langford, A global geometric framework for nonlinear dimensionality reduction,
    2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import Isomap
    >>> angle = np.linspace(0, 4, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Y = Isomap(n_components=1).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Y, angle)[0, 1]) > 0.9999)
    True
    """

    n_neighbors: int | None = parameter(
        Integer(1) | Nothing(), default=5, doc="Nearest rows that a row is joined to; None with `radius`."
    )
    radius: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="A row is joined to all rows within this distance, in the place of `n_neighbors`.",
    )
    eigen_solver: str = parameter(
        Choice("auto", "arpack", "dense"),
        default="auto",
        after="n_components",
        doc="Lanczos' method, or a dense decomposition; 'auto' takes the second up to 200 rows.",
    )
    tol: float = parameter(Real(0), default=0, doc="Of Lanczos' method; 0 means machine precision.")
    max_iter: int | None = parameter(Integer(1) | Nothing(), default=None, doc="Most iterations of Lanczos' method.")
    path_method: str = parameter(
        Choice("auto", "FW", "D"),
        default="auto",
        doc="How shortest paths are found: by Floyd and Warshall's method or by Dijkstra's; 'auto' chooses by size.",
    )
    neighbors_algorithm: str = parameter(
        Choice("auto", "brute", "kd_tree", "ball_tree"),
        default="auto",
        doc="Has no effect: the search is exact in any case.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    metric: Any = parameter(
        Text() | Function(), default="minkowski", doc='The distance between rows, or ``"precomputed"``.'
    )
    p: float = parameter(Real(1), default=2, doc="Of Minkowski's metric.")
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="Further arguments of the metric."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "dist_matrix_": floats("rows, rows"),
        "X_fit_": floats("rows, columns", sparse=True),
        "_square_means": floats("rows"),
        "_error": floats(),
        "_directions": floats("rows, components"),
    }
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> "Isomap":
        """Find the coordinates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or (n_samples, n_samples) with
            ``metric="precomputed"``
            Rows, or distances; sparse ones are a graph of neighbours.
        """
        if (self.n_neighbors is None) == (self.radius is None):
            raise ParameterError(
                f"Isomap: Both n_neighbors and radius are provided, or neither: got n_neighbors={self.n_neighbors} and "
                f"radius={self.radius}. Use Isomap(radius=1.0, n_neighbors=None) for neighbours within a distance."
            )
        source = self._open(X, accept_sparse="csr")
        rows = source.whole()
        n = rows.shape[0]
        if self.n_neighbors is not None:
            check_neighbours("Isomap", self.n_neighbors, n)
        # Lengths of paths, their squares and the centred matrix.
        require_memory("Isomap", 24.0 * n * n, f"the {n} x {n} lengths of shortest paths", "give fewer rows")
        graph = self._join(rows)
        paths = _measure_paths(graph, self.path_method, self._threads())
        dtype = source.host_dtype
        known = {"dist_matrix_": paths.astype(dtype, copy=False), "X_fit_": rows.copy()}
        find = partial(_decompose, paths, self.n_components, self.eigen_solver, self.tol, self.max_iter)
        solve = solve_at_once(find, lambda state: float(state.extra[-1]), STATEMENT, source.n_rows)
        outcome = self._drive(solve, source, fitted=partial(self._describe, dtype=dtype), attributes=known)
        self._conclude(outcome)
        return self

    def _join(self, rows: Rows) -> csr_array:
        """Return the graph of neighbours, connected."""
        given = self.metric == "precomputed"
        options = {"own": True, "metric": self.metric, "p": self.p, "parameters": self.metric_params}
        if self.n_neighbors is not None:
            distances, indices = find_neighbours(rows, rows, self.n_neighbors, threads=self._threads(), **options)
        else:
            distances, indices = find_within(rows, rows, self.radius or 0.0, **options)
        graph = make_graph(distances, indices, rows.shape[0])
        if given and is_sparse_matrix(rows) and (count := connected_components(graph, directed=False)[0]) > 1:
            raise DataError(
                f"Isomap: The number of connected components of the neighbors graph is {count} > 1. The graph cannot "
                f"be completed with metric='precomputed'. Raise the number of neighbors, or give all distances."
            )

        def between(first: Array, second: Array) -> Array:
            if given:
                return rows[np.ix_(first, second)]
            if is_euclidean(self.metric, self.p, self.metric_params):
                return pairwise_distances(rows[first], rows[second])
            more = ({"p": self.p} if self.metric == "minkowski" else {}) | (self.metric_params or {})
            return pairwise_distances(rows[first], rows[second], metric=self.metric, **more)

        return connect_parts("Isomap", graph, between)

    @property
    def nbrs_(self) -> Any:
        """The search for neighbours, fitted to the rows."""
        check_is_fitted(self)
        options = {"n_neighbors": self.n_neighbors, "radius": self.radius, "p": self.p}
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        search = NearestNeighbors(metric=self.metric, metric_params=self.metric_params, **given)
        return search.fit(self.X_fit_)

    def _describe(self, state: EigenMapState, dtype: Any) -> dict[str, Any]:
        return {
            "embedding_": state.embedding.astype(dtype),
            "eigenvalues_": state.values.astype(dtype),
            "_square_means": state.extra[:-1],
            "_error": float(state.extra[-1]),
            "_directions": state.embedding / np.where(state.values > 0, state.values, np.inf),
        }

    def transform(self, X: Any) -> Array:
        """Place rows: the shortest paths from them lead through their nearest rows of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), or (m, n_samples) with ``metric="precomputed"``
            Rows.
        """
        rows = check_new_rows(self, X, accept_sparse="csr")
        options = {"own": False, "metric": self.metric, "p": self.p, "parameters": self.metric_params}
        if self.n_neighbors is not None:
            distances, indices = find_neighbours(
                rows, self.X_fit_, self.n_neighbors, threads=self._threads(), **options
            )
        else:
            distances, indices = find_within(rows, self.X_fit_, self.radius or 0.0, **options)
        paths = np.empty((rows.shape[0], len(self.embedding_)))
        for row in range(len(paths)):
            # The shortest path from a new row leads through one of its neighbours.
            paths[row] = np.min(self.dist_matrix_[indices[row]] + distances[row][:, None], axis=0, initial=np.inf)
        if not np.isfinite(paths).all():
            raise DataError(
                f"Isomap: a row has no row of the fit within radius={self.radius}; raise radius and fit again."
            )
        # Gower's formula: coordinates from squared distances less their means, as in classical scaling.
        return (-0.5 * (paths**2 - self._square_means) @ self._directions).astype(self.embedding_.dtype)

    def reconstruction_error(self) -> float:
        """Return |B - B_k|_F / n, where B are the centred squared distances and B_k those of the coordinates."""
        check_is_fitted(self)
        return self._error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _measure_paths(graph: csr_array, method: str, threads: int) -> Array:
    """Return the lengths of the shortest paths between all rows, (n, n); infinite where there is no path."""
    n = graph.shape[0]
    # SciPy's own rule for "auto": with a quarter of all edges or more, Floyd's and Warshall's method is the faster.
    if method == "FW" or (method == "auto" and graph.nnz >= n * n / 4):
        # This method has no part that is a result by itself.
        return run_aside(lambda: shortest_path(graph, method=method, directed=False))
    starts, targets, lengths = _list_edges(graph)
    paths = np.empty((n, n))
    # A search visits each row once and each edge in both directions. Ctrl-C is noticed between two calls.
    count = max(1, int(_VISITS / (n + len(targets))))

    def search(item: int) -> None:
        part = paths[item * count : (item + 1) * count]
        scratch = np.empty(n), np.empty(n, np.intc), np.zeros(n, np.intc)
        shortest_paths.measure_paths(item * count, starts, targets, lengths, *scratch, part)

    run_numbered(search, -(-n // count), threads)
    return paths


def _list_edges(graph: csr_array) -> tuple[Array, Array, Array]:
    """Return where the edges of each row begin, the rows they lead to and their lengths; edges lead both ways."""
    one_way = graph.tocoo()
    begin, end = (np.concatenate(pair) for pair in (one_way.coords, one_way.coords[::-1]))
    lengths = np.concatenate([one_way.data, one_way.data])
    # Two rows that are near to each other are joined twice: the shorter edge is kept.
    order = np.lexsort((lengths, end, begin))
    begin, end, lengths = begin[order], end[order], lengths[order]
    kept = np.concatenate([[True], (np.diff(begin) != 0) | (np.diff(end) != 0)]) if len(order) else order.astype(bool)
    starts = np.concatenate([[0], np.cumsum(np.bincount(begin[kept], minlength=graph.shape[0]))])
    return starts.astype(np.intp), end[kept].astype(np.intc), lengths[kept].astype(np.float64)


def _decompose(paths: Array, k: int, solver: str, tol: float, max_iter: int | None) -> EigenMapState:
    """Return coordinates; ``extra`` has the mean square of each column, and the reconstruction error."""
    B, means = centre_squares(paths)
    values, vectors, residual = largest_eigenvectors(B, k, solver=solver, tol=tol, max_iter=max_iter)
    left = max(0.0, float(np.vdot(B, B)) - float(values @ values))
    values = np.pad(values, (0, k - len(values)))
    embedding = np.pad(vectors, ((0, 0), (0, k - vectors.shape[1]))) * np.sqrt(np.maximum(values, 0.0))
    return EigenMapState(embedding, values, residual, np.append(means, np.sqrt(left) / len(B)))
