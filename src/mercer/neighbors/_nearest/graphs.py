"""Graphs of neighbours as functions."""

from typing import Any

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Rows
from mercer.errors import DataError, ParameterError
from mercer.neighbors._nearest.graph_search import is_sorted, sort_graph
from mercer.neighbors._nearest.nearest_neighbors import NearestNeighbors


def kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float | None = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Rows:
    """Return the graph of the k nearest rows of each row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d), or a fitted NearestNeighbors
        The rows; those of the fit.
    n_neighbors : int
        The number of neighbours.
    mode : {'connectivity', 'distance'}, default='connectivity'
        Whether entries are ones or distances.
    metric, p, metric_params : as in :class:`NearestNeighbors`
    include_self : bool or 'auto', default=False
        Whether a row is its own first neighbour; ``'auto'`` means for ``mode='connectivity'``.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    graph : CSR matrix of shape (n, n)

    Examples
    --------
    >>> from mercer.neighbors import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 1, mode="distance").toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]
    """
    options = {"metric": metric, "p": p, "metric_params": metric_params, "n_jobs": n_jobs}
    model = _open_model("kneighbors_graph", X, {"n_neighbors": n_neighbors}, options)
    return model.kneighbors_graph(_choose_queries(model, include_self, mode), n_neighbors, mode)


def radius_neighbors_graph(
    X: Any,
    radius: float,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float | None = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Rows:
    """Return the graph of the rows within a radius of each row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d), or a fitted NearestNeighbors
        The rows; those of the fit.
    radius : float
        Rows at exactly this distance count.
    mode : {'connectivity', 'distance'}, default='connectivity'
        Whether entries are ones or distances.
    metric, p, metric_params : as in :class:`NearestNeighbors`
    include_self : bool or 'auto', default=False
        Whether a row is its own neighbour; ``'auto'`` means for ``mode='connectivity'``.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    graph : CSR matrix of shape (n, n)

    Examples
    --------
    >>> from mercer.neighbors import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    options = {"metric": metric, "p": p, "metric_params": metric_params, "n_jobs": n_jobs}
    model = _open_model("radius_neighbors_graph", X, {"radius": radius}, options)
    return model.radius_neighbors_graph(_choose_queries(model, include_self, mode), radius, mode)


def sort_graph_by_row_values(graph: Any, copy: bool = False, warn_when_not_sorted: bool = True) -> Rows:
    """Return a graph whose rows are sorted by their values, and by columns among equal values.

    Parameters
    ----------
    graph : sparse matrix of shape (m, n)
        Distances to neighbours.
    copy : bool, default=False
        Whether the graph is left as it is; if False, a CSR graph is sorted in place.
    warn_when_not_sorted : bool, default=True
        Whether a graph that is not sorted gives an EfficiencyWarning.

    Returns
    -------
    graph : CSR matrix of shape (m, n)

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mercer.neighbors import sort_graph_by_row_values
    >>> graph = csr_array([[0.0, 3.0, 1.0], [2.0, 0.0, 1.0]])
    >>> sort_graph_by_row_values(graph, warn_when_not_sorted=False).data.tolist()
    [1.0, 3.0, 1.0, 2.0]
    """
    if not is_sparse_matrix(graph):
        raise TypeError(f"sort_graph_by_row_values: Input graph must be a sparse matrix, got {graph!r} instead.")
    # The other formats drop stored zeros, which here are the distances of equal rows.
    if graph.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(
            f"sort_graph_by_row_values: Sparse matrix in {graph.format!r} format is not supported due to its handling "
            f"of explicit zeros. Convert the graph to CSR."
        )
    if graph.format == "csr" and is_sorted(graph):
        return graph
    if graph.format != "csr" and not copy:
        raise DataError(
            f"sort_graph_by_row_values: The input graph is not in CSR format; got {graph.format!r}. Use copy=True to "
            f"allow the conversion to CSR format."
        )
    sorted_graph = sort_graph(graph.tocsr(), warn=warn_when_not_sorted)
    if copy:
        return sorted_graph
    graph.data[:], graph.indices[:] = sorted_graph.data, sorted_graph.indices
    # Columns no longer rise within a row, and SciPy must not rely on it.
    graph.has_sorted_indices = False
    return graph


def _open_model(subject: str, X: Any, question: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return a fitted model, which must have the metric that was asked for, or one fitted to `X`."""
    if not hasattr(X, "kneighbors_graph") and not hasattr(X, "radius_neighbors_graph"):
        return NearestNeighbors(**question, **options).fit(X)
    for name in ("metric", "metric_params", "p"):
        own = getattr(X, name)
        if own != options[name]:
            raise ParameterError(
                f"{subject}: Got {options[name]} for {name}, while the estimator has {own} for the same parameter. "
                f"Give both the same."
            )
    return X


def _choose_queries(model: Any, include_self: Any, mode: str) -> Any:
    """Return the rows of the fit where they count as their own neighbours, else None."""
    if isinstance(include_self, str) and include_self == "auto":
        include_self = mode == "connectivity"
    return model._fit_X if include_self else None
