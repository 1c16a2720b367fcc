"""Spectral embedding (Laplacian eigenmaps): coordinates that vary least along the edges of a graph."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, laplacian
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import check_new_rows, fitting
from mercer._base.parameter import Choice, Function, Integer, Nothing, Real, Seed, parameter
from mercer._solver.neighbours import nearest_rows
from mercer._solver.request import run_large
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers
from mercer._types import Array, Rows
from mercer.errors import DataError, UnsupportedError
from mercer.manifold._embedding import EigenMap, EigenMapState, fix_signs, smallest_eigenvectors, solve_at_once
from mercer.manifold._neighbour_graph import check_neighbours, find_neighbours

STATEMENT = (
    "Largest |L v - lambda v| over the eigenvectors v of the normalised Laplacian L, relative to its largest entry."
)
# Eigenvalues are looked for near this: the Laplacian itself is singular, and could not be factored at zero.
_SHIFT = -1e-5


class SpectralEmbedding(EigenMap):
    r"""Laplacian eigenmaps: coordinates that vary least between rows that are alike.

    With affinities :math:`a_{ij}` and degrees :math:`d_i = \sum_j a_{ij}` the coordinates minimise

    .. math:: \sum_{ij} a_{ij} |y_i - y_j|^2 \quad \text{subject to} \quad Y^T D Y = I, \; 1^T D Y = 0,

    and are :math:`D^{-1/2}` times the eigenvectors of :math:`L = I - D^{-1/2} A D^{-1/2}` with the least eigenvalues,
    without the first one, which is constant.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates. The entry of largest magnitude of each column is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the Laplacian, rising.
    affinity_matrix_ : {ndarray, sparse matrix} of shape (n_samples, n_samples)
        The affinities.
    n_neighbors_ : int
        With ``affinity="nearest_neighbors"``.
    gamma_ : float
        With ``affinity="rbf"``.
    history_ : dict of ndarray
        ``objective``, the sum of the eigenvalues.
    certificate_ : Certificate
        ``"residual"`` of the eigenvectors.

    Notes
    -----
    New rows are placed by Nystroem's formula, the mean of the coordinates of the rows they are alike to, divided by one
    less the eigenvalue; not for given affinities. A graph that is not connected is warned of: its first coordinates
    tell its parts from one another.

    References
    ----------
    M. Belkin and P. Niyogi, Laplacian eigenmaps for dimensionality reduction and data representation, 2003. Y. Bengio
    and others, Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import SpectralEmbedding
    >>> angle = np.linspace(0, 4, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Y = SpectralEmbedding(1, n_neighbors=6).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Y, np.cos(np.pi * angle / 4))[0, 1]) > 0.999)
    True
    """

    n_components: int = parameter(Integer(1), default=2, kw_only=False)
    affinity: Any = parameter(
        Choice("nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors") | Function(),
        default="nearest_neighbors",
        doc="The graph: nearest rows, Gaussian kernels, given affinities, given distances, or a function of the rows.",
    )
    gamma: float | None = parameter(Real(0) | Nothing(), default=None, doc="Of Gaussian kernels; None means 1 / d.")
    random_state: Any = parameter(
        Seed(), default=None, doc="Has no effect: the first vector of the solver is always the same."
    )
    eigen_solver: str | None = parameter(
        Choice("arpack", "lobpcg", "amg", "dense") | Nothing(),
        default=None,
        doc="'arpack' is Lanczos' method with a factorisation; 'lobpcg' stands for the same, and 'amg' is not here. "
        "None takes a dense decomposition up to 200 rows.",
    )
    eigen_tol: Any = parameter(
        Real(0) | Choice("auto"), default="auto", doc="Of Lanczos' method; 'auto' means machine precision."
    )
    n_neighbors: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Nearest rows of a row, itself counted; None means a tenth of the rows.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _stored: ClassVar[dict[str, Stored]] = {
        "gamma_": floats(" | none"),
        "affinity_matrix_": floats("rows, rows", sparse=True),
        "_X_fit": floats("rows, columns | none", sparse=True, finite=True),
        "_reaches": floats("rows | none"),
        "n_neighbors_": integers(" | none", low=0),
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> "SpectralEmbedding":
        """Find the coordinates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or (n_samples, n_samples) for given affinities
            or distances
            Rows, affinities or distances.
        """
        _refuse_multigrid("SpectralEmbedding", self.eigen_solver)
        source = self._open(X, accept_sparse="csr", ensure_min_samples=2)
        rows = source.whole()
        A, known = self._make_graph(rows)
        known |= {"affinity_matrix_": A, "_X_fit": None if self._is_given else rows.copy()}
        find = partial(_find_coordinates, A, self.n_components, self.eigen_solver, self.eigen_tol, True, True)
        solve = solve_at_once(find, lambda state: float(state.values.sum()), STATEMENT, rows.shape[0])
        fitted = partial(self._describe, dtype=source.host_dtype)
        for name in ("n_neighbors_", "gamma_"):
            self.__dict__.pop(name, None)
        outcome = self._drive(solve, source, fitted=fitted, attributes=known)
        self._conclude(outcome)
        return self

    @property
    def _is_given(self) -> bool:
        return self.affinity in ("precomputed", "precomputed_nearest_neighbors")

    def _describe(self, state: EigenMapState, dtype: Any) -> dict[str, Any]:
        return {"embedding_": state.embedding.astype(dtype), "eigenvalues_": state.values.astype(dtype)}

    def _make_graph(self, rows: Rows) -> tuple[Rows, dict[str, Any]]:
        """Return the affinities, and what was chosen for them."""
        n = rows.shape[0]
        if callable(self.affinity):
            return _read_affinities("SpectralEmbedding", self.affinity(rows), n), {}
        if self.affinity == "precomputed":
            return _check_affinities("SpectralEmbedding", rows), {}
        if self.affinity == "rbf":
            gamma = 1.0 / rows.shape[1] if self.gamma is None else self.gamma
            require_memory("SpectralEmbedding", 24.0 * n * n, f"the {n} x {n} affinities", "use nearest_neighbors")
            # One product and one exponential of n^2 values.
            return run_large(lambda: rbf_kernel(rows, gamma=gamma), 2 * n * n), {"gamma_": gamma}
        count = max(n // 10, 1) if self.n_neighbors is None else self.n_neighbors
        if self.affinity == "nearest_neighbors":
            check_neighbours("SpectralEmbedding", count - 1, n)
            options: dict[str, Any] = {"metric": "euclidean", "p": 2, "parameters": None, "threads": self._threads()}
            near = find_neighbours(rows, rows, count - 1, own=True, **options) if count > 1 else _no_neighbours(n)
            return _link(near[1], n, own=True), {"n_neighbors_": count, "_reaches": _reaches(near[0], n)}
        near = find_neighbours(rows, rows, count, own=False, metric="precomputed", p=2, parameters=None, threads=1)
        return _link(near[1], n, own=False), {}

    @one_blas_thread()
    def transform(self, X: Any) -> Array:
        """Place rows by Nystroem's formula.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            Rows; one that equals a row of the fit is not counted as alike to it, as in the fit.
        """
        check_is_fitted(self)
        if self._is_given or callable(self.affinity):
            raise UnsupportedError(
                f"SpectralEmbedding: transform needs rows and affinity='rbf' or 'nearest_neighbors'; got "
                f"affinity={self.affinity!r}. Fit the map to rows."
            )
        rows = check_new_rows(self, X, accept_sparse="csr")
        affinities = self._relate(rows)
        degrees = affinities.sum(axis=1)
        placed = affinities @ self.embedding_ / np.where(degrees > 0, degrees, 1.0)[:, None]
        # An eigenvalue of one belongs to rows without edges, which are alike to none.
        rest = 1.0 - self.eigenvalues_
        return (placed / np.where(np.abs(rest) > 1e-12, rest, np.inf)).astype(self.embedding_.dtype)

    def _relate(self, rows: Rows) -> Array:
        """Return the affinities of new rows to those of the fit, as the graph of the fit would have them."""
        new, old = (
            np.ascontiguousarray(table.toarray() if is_sparse_matrix(table) else table, dtype=np.float64)
            for table in (rows, self._X_fit)
        )
        if "gamma_" in vars(self):
            gaps = euclidean_distances(new, old, squared=True)
            sizes = np.sum(new * new, axis=1)[:, None] + np.sum(old * old, axis=1)[None, :]
            # Rounding leaves a share of 1e-16 of the sizes in the distance of equal rows.
            return np.where(gaps <= 1e-13 * sizes, 0.0, np.exp(-self.gamma_ * gaps))
        count = self.n_neighbors_ - 1
        # One more than wanted: the row of the fit that equals a new row is left out.
        distances, indices = nearest_rows(new, old, min(count + 1, len(old)), threads=self._threads())
        affinities = np.zeros((len(new), len(old)))
        for row in range(len(new)):
            others = indices[row][distances[row] > 0][:count]
            gaps = np.sqrt(np.sum((old - new[row]) ** 2, axis=1))
            affinities[row] = 0.5 * ((gaps <= self._reaches * (1 + 1e-12)) & (gaps > 0))
            affinities[row, others] += 0.5
        return affinities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given
        return tags


def _no_neighbours(n: int) -> tuple[Array, Array]:
    return np.empty((n, 0)), np.empty((n, 0), np.int64)


def _reaches(distances: Array, n: int) -> Array:
    """Return the distance of the farthest neighbour of each row."""
    return distances[:, -1] if distances.shape[1] else np.zeros(n)


def _link(indices: Array, n: int, *, own: bool) -> csr_array:
    """Return the symmetric graph of neighbours: 1 where both are neighbours of one another, 0.5 where one is."""
    columns = indices.astype(np.int32)
    if own:
        columns = np.concatenate([columns, np.arange(n, dtype=np.int32)[:, None]], axis=1)
    k = columns.shape[1]
    graph = csr_array((np.full(n * k, 0.5), columns.ravel(), np.arange(0, n * k + 1, k, dtype=np.int32)), shape=(n, n))
    # The sum of two matrices has its places in order and no place twice.
    return csr_array(graph + graph.T)


def _read_affinities(subject: str, given: Any, n: int) -> Rows:
    """Return what a function of the user's gave as affinities of all pairs of `n` rows."""
    A = given if is_sparse_matrix(given) else np.asarray(given)
    if A.shape != (n, n) or A.dtype.kind not in "biuf":
        raise DataError(
            f"{subject}: affinity must return numbers of shape {(n, n)}, one for each pair of rows; got "
            f"{A.dtype.name} of shape {A.shape}. Return their similarities."
        )
    return A


def _check_affinities(subject: str, A: Rows) -> Rows:
    if A.shape[0] != A.shape[1]:
        raise DataError(
            f"{subject}: array must be 2-dimensional and square: affinities have one row and column per thing; got "
            f"shape {A.shape}. Give affinities of all pairs."
        )
    least = A.data.min(initial=0.0) if is_sparse_matrix(A) else A.min(initial=0.0)
    if least < 0:
        raise DataError(
            f"{subject}: affinities must not be negative; got {least:.3g}. Give similarities, such as exp(-D**2)."
        )
    # A comparison takes a tenth of the time of the differences.
    if not is_sparse_matrix(A) and np.array_equal(A, A.T):
        return A
    gap = abs(A - A.T)
    if gap.max() > 1e-10 * max(abs(A).max(), 1e-300):
        warnings.warn(
            f"{subject}: Array is not symmetric, and will be converted to symmetric by average with its transpose; "
            f"give 0.5 * (A + A.T) to be sure.",
            UserWarning,
            stacklevel=2,
        )
        return 0.5 * (A + A.T)
    return A


def _refuse_multigrid(subject: str, solver: str | None) -> None:
    if solver == "amg":
        raise UnsupportedError(
            f"{subject}: The eigen_solver was set to 'amg', but pyamg is not available to mercer; use "
            f"eigen_solver='arpack'."
        )


def _find_coordinates(A: Rows, k: int, solver: str | None, tol: Any, normed: bool, drop_first: bool) -> EigenMapState:
    """Return the eigenvectors of the Laplacian of a graph as coordinates."""
    graph = csr_array(A) if is_sparse_matrix(A) else np.asarray(A, dtype=np.float64)
    # A dense graph without zeros, such as one of Gaussian affinities, has one part.
    whole = not is_sparse_matrix(graph) and float(graph.min(initial=1.0)) > 0
    parts = 1 if whole else connected_components(graph, directed=False)[0]
    if parts > 1:
        warnings.warn(
            f"SpectralEmbedding: Graph is not fully connected, spectral embedding may not work as expected: it has "
            f"{parts} parts. Raise n_neighbors, or lower gamma, or map the parts apart.",
            UserWarning,
            stacklevel=2,
        )
    L, roots = laplacian(graph.astype(np.float64), normed=normed, return_diag=True)
    roots = np.asarray(roots, dtype=np.float64)
    if normed:
        # Rows without any edge have a zero on the diagonal, which would make them eigenvectors of their own.
        L = _set_diagonal(L)
    options: dict[str, Any] = {"tol": 0.0 if tol == "auto" else tol, "shift": _SHIFT, "may_be_separate": True}
    method = {None: "auto", "lobpcg": "arpack"}.get(solver, solver)
    skip = int(drop_first)
    values, vectors, residual = smallest_eigenvectors(L, k + skip, solver=method or "auto", **options)
    if normed:
        vectors = vectors / np.where(roots > 0, roots, 1.0)[:, None]
    return EigenMapState(fix_signs(vectors)[:, skip : k + skip], values[skip : k + skip], residual)


def _set_diagonal(L: Rows) -> Rows:
    """Return a normalised Laplacian with ones on its diagonal."""
    if not is_sparse_matrix(L):
        np.fill_diagonal(L, 1.0)
        return L
    L = csr_array(L)
    L.setdiag(1.0)
    return L


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: str | None = None,
    random_state: Any = None,
    eigen_tol: Any = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Array:
    """Compute the eigenvectors of the Laplacian of a graph with the least eigenvalues.

    Parameters
    ----------
    adjacency : {array-like, sparse matrix} of shape (n, n)
        Symmetric affinities, not negative.
    n_components : int, default=8
        Coordinates.
    eigen_solver : {None, 'arpack', 'lobpcg', 'dense'}, default=None
    random_state : object
        Has no effect: the first vector of the solver is always the same.
    eigen_tol : float or 'auto', default='auto'
    norm_laplacian : bool, default=True
        Whether to normalise the Laplacian by the degrees.
    drop_first : bool, default=True
        Whether to leave the first eigenvector out, which is constant in a connected graph.

    Returns
    -------
    ndarray of shape (n, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import spectral_embedding
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> first = spectral_embedding(path, n_components=1)[:, 0]
    >>> bool(np.all(np.diff(first) < 0) or np.all(np.diff(first) > 0))
    True
    """
    _refuse_multigrid("spectral_embedding", eigen_solver)
    A = check_array(adjacency, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="adjacency")
    A = _check_affinities("spectral_embedding", A)
    state = _find_coordinates(A, n_components, eigen_solver, eigen_tol, norm_laplacian, drop_first)
    return state.embedding.astype(A.dtype)
