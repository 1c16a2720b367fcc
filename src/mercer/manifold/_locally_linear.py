"""Locally linear embedding and its modified, Hessian and tangent-space forms."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import check_new_rows, fitting
from mercer._base.parameter import Choice, Integer, Nothing, Real, Seed, parameter
from mercer._solver.neighbours import nearest_rows
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.manifold._embedding import EigenMap, EigenMapState, smallest_eigenvectors, solve_at_once
from mercer.manifold._local_weights import build_hessian, build_modified, build_standard, build_tangent, find_weights
from mercer.manifold._neighbour_graph import check_neighbours

STATEMENT = "Largest |M v - lambda v| over the eigenvectors v, relative to the largest entry of the matrix M."


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
        check_is_fitted(self)
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
