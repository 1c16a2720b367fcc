"""Locally linear embedding and its modified, Hessian and tangent-space forms."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, eye_array

from mercer._base import check_new_rows, fitting
from mercer._base.parameter import Choice, Integer, Nothing, Real, Seed, parameter
from mercer._solver.neighbours import nearest_rows
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.manifold._embedding import EigenMap, EigenMapState, smallest_eigenvectors, solve_at_once
from mercer.manifold._neighbour_graph import check_neighbours

STATEMENT = "Largest |M v - lambda v| over the eigenvectors v, relative to the largest entry of the matrix M."


def find_weights(queries: Array, rows: Array, indices: Array, reg: float) -> Array:
    """Return for each query the weights, of sum one, by which its neighbours restore it best.

    They solve (G + reg tr(G) I) w = 1, up to scale, with the products G of the differences to the neighbours.
    """
    gaps = rows[indices] - queries[:, None, :]
    G = gaps @ gaps.transpose(0, 2, 1)
    traces = np.trace(G, axis1=1, axis2=2)
    k = indices.shape[1]
    G[:, np.arange(k), np.arange(k)] += np.where(traces > 0, reg * traces, reg)[:, None]
    try:
        weights = np.linalg.solve(G, np.ones((len(queries), k, 1)))[:, :, 0]
    except np.linalg.LinAlgError as error:
        raise ParameterError(
            f"reg must be large enough for more neighbours than columns, or equal ones; got {reg:g}. Raise reg."
        ) from error
    return weights / weights.sum(axis=1, keepdims=True)


def build_standard(X: Array, indices: Array, reg: float) -> csr_array:
    """Return (I - W)^T (I - W) with the weights W of the neighbours: Roweis and Saul's method."""
    n, k = indices.shape
    weights = find_weights(X, X, indices, reg)
    pointers = np.arange(0, n * k + 1, k)
    W = csr_array((weights.ravel(), indices.ravel().astype(np.int32), pointers.astype(np.int32)), shape=(n, n))
    rest = csr_array(eye_array(n, format="csr")) - W
    return csr_array(rest.T @ rest)


def _sum_blocks(blocks: Array, indices: Array, n: int) -> csr_array:
    """Add a small matrix for each neighbourhood at the rows and columns of its members."""
    k = indices.shape[1]
    rows = np.repeat(indices, k, axis=1).ravel()
    columns = np.tile(indices, (1, k)).ravel()
    return csr_array((blocks.ravel(), (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n))


def _local_axes(X: Array, indices: Array) -> Array:
    """Return, for each neighbourhood, the left singular vectors of its centred members: coordinates in its plane."""
    members = X[indices]
    members = members - members.mean(axis=1, keepdims=True)
    if members.shape[1] > members.shape[2]:
        return np.linalg.svd(members, full_matrices=False)[0]
    _, vectors = np.linalg.eigh(members @ members.transpose(0, 2, 1))
    return vectors[:, :, ::-1]


def build_tangent(X: Array, indices: Array, n_components: int) -> csr_array:
    """Return the matrix of local tangent space alignment: what each plane leaves of its members' coordinates."""
    n, k = indices.shape
    axes = _local_axes(X, indices)[:, :, :n_components]
    basis = np.concatenate([np.full((n, k, 1), 1.0 / math.sqrt(k)), axes], axis=2)
    blocks = np.eye(k) - basis @ basis.transpose(0, 2, 1)
    return _sum_blocks(blocks, indices, n)


def build_hessian(X: Array, indices: Array, n_components: int, tol: float) -> csr_array:
    """Return the sum of squared second derivatives, estimated in the plane of each neighbourhood."""
    n, k = indices.shape
    products = n_components * (n_components + 1) // 2
    if k <= n_components + products:
        raise ParameterError(
            f"LocallyLinearEmbedding: for method='hessian', n_neighbors must be greater than "
            f"n_components * (n_components + 3) / 2 = {n_components + products}; got {k}. Raise n_neighbors."
        )
    # Coordinates of the neighbours in the plane of each neighbourhood.
    axes = _local_axes(X, indices)[:, :, :n_components]
    pairs = [(i, j) for i in range(n_components) for j in range(i, n_components)]
    squares = np.stack([axes[:, :, i] * axes[:, :, j] for i, j in pairs], axis=2)
    # Columns: constant, linear and quadratic functions; the last ones, made orthogonal, measure second derivatives.
    functions = np.concatenate([np.ones((n, k, 1)), axes, squares], axis=2)
    Q = np.linalg.qr(functions)[0][:, :, n_components + 1 :]
    sums = Q.sum(axis=1, keepdims=True)
    # Each function is scaled to sum one, as in Donoho and Grimes (2003).
    W = Q / np.where(np.abs(sums) < tol, 1.0, sums)
    return _sum_blocks(W @ W.transpose(0, 2, 1), indices, n)


def build_modified(X: Array, indices: Array, n_components: int, tol: float) -> csr_array:
    """Return the matrix of modified locally linear embedding: several independent weights for each row."""
    n, k = indices.shape
    if k < n_components:
        raise ParameterError(
            f"LocallyLinearEmbedding: modified LLE requires n_neighbors >= n_components; got {k} and {n_components}. "
            f"Raise n_neighbors."
        )
    gaps = X[indices] - X[:, None, :]
    values, vectors = np.linalg.eigh(gaps @ gaps.transpose(0, 2, 1))
    values, vectors = np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]
    rank = min(X.shape[1], k)
    # A ridge, since there may be more neighbours than dimensions.
    ridge = 1e-3 * values.sum(axis=1)
    ones = vectors.sum(axis=1)
    weights = np.einsum("nij,nj->ni", vectors, ones / (values + ridge[:, None]))
    weights /= weights.sum(axis=1, keepdims=True)
    # How many directions carry next to no variance: that many weights are independent.
    sizes = np.maximum(_count_weights(values[:, :rank], n_components) + k - rank, 1)
    blocks, edges = np.empty((n, k, k)), np.empty((n, k))
    for row in range(n):
        size = sizes[row]
        V = vectors[row, :, k - size :]
        # A Householder reflection makes the weights sum to one.
        alpha = np.linalg.norm(V.sum(axis=0)) / math.sqrt(size)
        h = alpha - V.sum(axis=0)
        length = np.linalg.norm(h)
        h = h / length if length >= tol else np.zeros(size)
        W = V - 2.0 * np.outer(V @ h, h) + (1.0 - alpha) * weights[row, :, None]
        blocks[row], edges[row] = W @ W.T, W.sum(axis=1)
    own = np.repeat(np.arange(n, dtype=np.int32), k)
    links = csr_array((edges.ravel(), (own, indices.ravel().astype(np.int32))), shape=(n, n))
    diagonal = csr_array((sizes.astype(float), (np.arange(n), np.arange(n))), shape=(n, n))
    return csr_array(_sum_blocks(blocks, indices, n) - links - links.T + diagonal)


def _count_weights(values: Array, n_components: int) -> Array:
    """Return how many directions of each neighbourhood count as flat: their share is at most the median one."""
    shares = values[:, n_components:].sum(axis=1) / np.maximum(values[:, :n_components].sum(axis=1), 1e-300)
    limit = np.median(shares)
    sums = np.maximum(np.cumsum(values, axis=1), 1e-300)
    ratios = sums[:, -1:] / sums[:, :-1] - 1.0
    return np.sum(ratios < limit, axis=1)


class LocallyLinearEmbedding(EigenMap):
    r"""Locally linear embedding: coordinates in which each row is the same combination of its nearest rows.

    Weights :math:`w_{ij}` of sum one restore each row from its k nearest rows; the coordinates minimise

    .. math:: \sum_i \Big| y_i - \sum_j w_{ij} y_j \Big|^2 \quad \text{subject to} \quad Y^T Y = I, \; 1^T Y = 0,

    and are the eigenvectors of :math:`M = (I - W)^T (I - W)` with the least eigenvalues. Other methods have other
    matrices M: several weights for each row (``"modified"``), squared second derivatives (``"hessian"``), and
    coordinates in the tangent plane of each neighbourhood (``"ltsa"``).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates: orthonormal columns. The entry of largest magnitude of each is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Of M, rising.
    reconstruction_error_ : float
        Their sum.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The rows.
    history_ : dict of ndarray
        ``objective``, the reconstruction error.
    certificate_ : Certificate
        ``"residual"`` of the eigenvectors.

    Notes
    -----
    The search for neighbours, O(n k^3) for the weights, and a sparse factorisation. A new row gets the coordinates of
    its nearest rows, combined by the weights that restore it. ``method="hessian"`` takes the quadratic functions alone,
    as Donoho and Grimes do; scikit-learn adds all functions orthogonal to these.

    References
    ----------
    S. Roweis and L. Saul, Nonlinear dimensionality reduction by locally linear embedding, 2000. D. Donoho and C.
    Grimes, Hessian eigenmaps, 2003. Z. Zhang and J. Wang, MLLE: modified locally linear embedding using multiple
    weights, 2006. Z. Zhang and H. Zha, Principal manifolds via local tangent space alignment, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import LocallyLinearEmbedding
    >>> angle = np.linspace(0, 4, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Y = LocallyLinearEmbedding(n_components=1, method="ltsa").fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Y, angle)[0, 1]) > 0.999)
    True
    """

    n_neighbors: int = parameter(Integer(1), default=5, doc="Nearest rows of a row.")
    reg: float = parameter(
        Real(0), default=1e-3, after="n_components", doc="Ridge of the weights, times the trace of the local products."
    )
    eigen_solver: str = parameter(
        Choice("auto", "arpack", "dense"),
        default="auto",
        doc="Lanczos' method with a factorisation of M, or a dense decomposition; 'auto' takes the second up to 200 "
        "rows.",
    )
    tol: float = parameter(Real(0), default=1e-6, doc="Of Lanczos' method.")
    max_iter: int = parameter(Integer(1), default=100, doc="Most iterations of Lanczos' method.")
    method: str = parameter(Choice("standard", "hessian", "modified", "ltsa"), default="standard", doc="The matrix M.")
    hessian_tol: float = parameter(
        Real(0), default=1e-4, doc='Of ``method="hessian"``: sums below this are not divided by.'
    )
    modified_tol: float = parameter(
        Real(0), default=1e-12, doc='Of ``method="modified"``: a reflection shorter than this is left out.'
    )
    neighbors_algorithm: str = parameter(
        Choice("auto", "brute", "kd_tree", "ball_tree"),
        default="auto",
        doc="Has no effect: the search is exact in any case.",
    )
    random_state: Any = parameter(
        Seed(), default=None, doc="Has no effect: the first vector of Lanczos' method is always the same."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _law_exceptions: ClassVar[dict[str, str]] = EigenMap._law_exceptions | {
        "row order": "rows in separate clusters make several eigenvalues of zero, whose vectors may be rotated"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "X_fit_": floats("rows, columns", finite=True),
        "reconstruction_error_": floats(),
    }
    _depends_on_units = ("columns",)

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> "LocallyLinearEmbedding":
        """Find the coordinates."""
        source = self._open(X)
        rows = source.whole()
        if self.n_components > rows.shape[1]:
            raise ParameterError(
                f"LocallyLinearEmbedding: output dimension must be less than or equal to input dimension: n_components "
                f"is {self.n_components} and n_features = {rows.shape[1]}. Lower n_components."
            )
        check_neighbours("LocallyLinearEmbedding", self.n_neighbors, rows.shape[0])
        wide = np.ascontiguousarray(rows, dtype=np.float64)
        dtype = source.host_dtype
        known = {"X_fit_": rows.copy()}
        find = partial(self._find, wide)
        solve = solve_at_once(find, lambda state: float(state.values.sum()), STATEMENT, source.n_rows)
        outcome = self._drive(solve, source, fitted=partial(self._describe, dtype=dtype), attributes=known)
        self._conclude(outcome)
        return self

    def _find(self, X: Array) -> EigenMapState:
        """Build M, and find its eigenvectors of least eigenvalues beside the constant one."""
        k, q = self.n_neighbors, self.n_components
        indices = nearest_rows(X, X, k, leave_out_self=True, threads=self._threads())[1]
        builders = {
            "standard": lambda: build_standard(X, indices, self.reg),
            "hessian": lambda: build_hessian(X, indices, q, self.hessian_tol),
            "modified": lambda: build_modified(X, indices, q, self.modified_tol),
            "ltsa": lambda: build_tangent(X, indices, q),
        }
        M = builders[self.method]()
        try:
            values, vectors, residual = smallest_eigenvectors(
                M, q + 1, solver=self.eigen_solver, tol=self.tol, max_iter=self.max_iter
            )
        except RuntimeError as error:
            raise DataError(
                f"LocallyLinearEmbedding: Error in determining null-space with ARPACK: the matrix is singular "
                f"({error}). Use eigen_solver='dense', or raise n_neighbors or reg."
            ) from error
        # The first eigenvector is constant and says nothing.
        return EigenMapState(vectors[:, 1 : q + 1], values[1 : q + 1], residual)

    def _describe(self, state: EigenMapState, dtype: Any) -> dict[str, Any]:
        return {
            "embedding_": state.embedding.astype(dtype),
            "eigenvalues_": state.values.astype(dtype),
            "reconstruction_error_": float(state.values.sum()),
        }

    def transform(self, X: Any) -> Array:
        """Place rows by the weights that restore them from their nearest rows of the fit.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            Rows; one that equals a row of the fit gets its coordinates.
        """
        rows = np.ascontiguousarray(check_new_rows(self, X), dtype=np.float64)
        fitted = np.ascontiguousarray(self.X_fit_, dtype=np.float64)
        distances, indices = nearest_rows(rows, fitted, self.n_neighbors, threads=self._threads())
        weights = find_weights(rows, fitted, indices, self.reg)
        same = distances[:, 0] == 0
        # A row of the fit is restored by itself.
        weights[same] = np.arange(self.n_neighbors) == 0
        placed = np.einsum("nk,nkq->nq", weights, self.embedding_[indices].astype(np.float64))
        return placed.astype(self.embedding_.dtype)


def locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    eigen_solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    method: str = "standard",
    hessian_tol: float = 1e-4,
    modified_tol: float = 1e-12,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[Array, float]:
    """Compute a locally linear embedding of rows; see :class:`LocallyLinearEmbedding`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_neighbors, n_components, reg, eigen_solver, tol, max_iter, method, hessian_tol, modified_tol, random_state, n_jobs
        As the class has them.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
    error : float
        The reconstruction error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import locally_linear_embedding
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> locally_linear_embedding(X, n_neighbors=6, n_components=2)[0].shape
    (50, 2)
    """
    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors,
        n_components=n_components,
        reg=reg,
        eigen_solver=eigen_solver,
        tol=tol,
        max_iter=max_iter,
        method=method,
        hessian_tol=hessian_tol,
        modified_tol=modified_tol,
        random_state=random_state,
        n_jobs=n_jobs,
    ).fit(X)
    return model.embedding_, model.reconstruction_error_
