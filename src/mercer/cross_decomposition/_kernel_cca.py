"""Kernel canonical correlation analysis: correlated functions of two tables."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from mercer._base import Estimator, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.kernel_choice import KernelChoice, KernelSum, wide_rows
from mercer._base.parameter import Choice, Function, Integer, Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.tiled_matrix import kernel_matrix
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, part
from mercer._types import Array, Rows
from mercer.cross_decomposition._latent import check_components, correlate_scores
from mercer.errors import DataError, UnsupportedError
from mercer.kernels import KERNEL_NAMES, Kernel, Precomputed, as_kernel

STATEMENT = (
    "Largest |K_x K_y b - r K_x (K_x + n alpha I) a| / |K_x (K_x + n alpha I) a| over the pairs, and the same with the "
    "tables exchanged; K are the centred kernels."
)


@plain
@dataclass(frozen=True)
class KernelPairs:
    """Dual coefficients of pairs of functions, their correlations, and what centring needs."""

    x_coef: Array
    y_coef: Array
    correlations: Array
    x_means: Array
    y_means: Array
    residual: float


class KernelCCA(KernelChoice, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Canonical correlation analysis in the feature spaces of two kernels.

    Functions :math:`f(x) = \sum_i a_i k(x_i, x)` and :math:`g(y) = \sum_i b_i l(y_i, y)` with the greatest covariance
    for their size,

    .. math:: \max_{a, b} \; a^T K_x K_y b \quad \text{subject to} \quad
        a^T (K_x^2 + n \alpha K_x) a = b^T (K_y^2 + n \alpha K_y) b = 1,

    where the kernels are centred. Without :math:`\alpha` every pair of tables has correlation one in feature spaces of
    n dimensions or more. With linear kernels this is :class:`CCA` with :math:`\alpha I` added to both covariances.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        The maxima, falling, in [0, 1].
    x_dual_coef_, y_dual_coef_ : ndarray of shape (n, n_components)
        The coefficients a and b; scores are in units by which both constraints hold, times the root of n.
    X_fit_, y_fit_ : ndarray
        The rows.
    kernel_, y_kernel_ : Kernel
        The kernels used.
    x_kernel_means_, y_kernel_means_ : ndarray of shape (n,)
        The mean kernel of each row with all rows.
    history_ : dict of ndarray
        ``objective``, the sum of the correlations.
    certificate_ : Certificate
        ``"residual"`` of the generalised eigenproblem.

    Notes
    -----
    Two eigendecompositions of n x n matrices, about 20 n^3 operations and 48 n^2 bytes. Rows in memory.

    References
    ----------
    S. Akaho, A kernel method for canonical correlation analysis, 2001. F. Bach and M. Jordan, Kernel independent
    component analysis, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cross_decomposition import CCA, KernelCCA
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, size=(300, 2))
    >>> Y = np.column_stack([(X**2).sum(axis=1), random.normal(size=300)])
    >>> CCA(1).fit(X, Y).correlations_.round(1)
    array([0.1])
    >>> test = random.uniform(-1, 1, size=(300, 2))
    >>> hidden = np.column_stack([(test**2).sum(axis=1), random.normal(size=300)])
    >>> bool(KernelCCA(1, gamma=1.0, alpha=0.01).fit(X, Y).score(test, hidden) > 0.9)
    True
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_components: int = parameter(Integer(1), default=2, kw_only=False, doc="Pairs of functions.")
    y_kernel: Any = parameter(
        Choice(*(name for name in KERNEL_NAMES if name != "precomputed")) | Function() | Nothing(),
        default=None,
        after="kernel_params",
        doc="The kernel of Y; None means the same as `kernel`, with 1 / q for gamma where none is given.",
    )
    alpha: float = parameter(
        Real(0, closed="neither"), default=0.1, doc="Regularisation, in units of the mean squared feature."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _documents = {
        "kernel": "The kernel of X by name, as an object of :mod:`mercer.kernels`, or a function of two rows.",
    }

    _objective_moves: ClassVar[str | None] = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the kernels of all pairs of rows are n^2 numbers, forecast before they are taken"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "y_kernel_": part("Kernel"),
        "X_fit_": floats("rows, columns", sparse=True, finite=True),
        "y_fit_": floats("rows, *"),
        "x_dual_coef_": floats("rows, components"),
        "y_dual_coef_": floats("rows, components"),
        "correlations_": floats("components"),
        "x_kernel_means_": floats("rows"),
        "y_kernel_means_": floats("rows"),
    }
    _depends_on_units = ("columns", "scale", "target place")

    @fitting
    def fit(self, X: Any, y: Any = None) -> "KernelCCA":
        """Find the pairs of functions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or (n, n) with ``kernel="precomputed"``
            Rows of the first table.
        y : array-like of shape (n,) or (n, q)
            Rows of the second table.
        """
        if self._is_precomputed and self.y_kernel is None:
            raise UnsupportedError(
                "KernelCCA: y_kernel must be given with kernel='precomputed'; set y_kernel='linear' or another."
            )
        source = self._open(X, y, targets="numbers", accept_sparse="csr", ensure_min_samples=2)
        check_components("KernelCCA", self.n_components, source.n_rows)
        rows = source.whole()
        targets = np.ascontiguousarray(source.y if source.y.ndim == 2 else source.y[:, None], dtype=rows.dtype)
        kernels = self._choose_kernel(rows), self._choose_target_kernel(targets)
        known = {"kernel_": kernels[0], "y_kernel_": kernels[1], "X_fit_": rows.copy(), "y_fit_": targets.copy()}
        solve = partial(self._solver, rows, targets, kernels)
        fitted = partial(self._describe_pairs, dtype=source.host_dtype)
        outcome = self._drive(solve, source, fitted=fitted, attributes=known)
        self._conclude(outcome)
        return self

    def _choose_target_kernel(self, targets: Array) -> Kernel:
        asked = self.kernel if self.y_kernel is None else self.y_kernel
        parameters = self.kernel_params if self.y_kernel is None else None
        return as_kernel(
            asked,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            rows=targets,
            parameters=parameters,
            pairs=True,
        )

    def _solver(self, rows: Array, targets: Array, kernels: tuple[Kernel, Kernel], state: KernelPairs | None) -> Solver:
        if state is None:
            n, threads = rows.shape[0], self._threads()
            require_memory(
                "KernelCCA", 48.0 * n * n, f"two {n} x {n} matrices of kernels", "give fewer rows, or use CCA"
            )
            K = yield Dense(lambda: _fill_kernels(kernels[0], rows, threads))
            L = yield Dense(lambda: _fill_kernels(kernels[1], targets, threads))
            state = yield Dense(partial(_find_functions, K, L, self.n_components, self.alpha), n > 200)
            yield Step(float(state.correlations.sum()), state, _certify(state))
        return Solution(state, True, _certify(state))

    def _describe_pairs(self, state: KernelPairs, dtype: Any) -> dict[str, Any]:
        arrays = {
            "x_dual_coef_": state.x_coef,
            "y_dual_coef_": state.y_coef,
            "correlations_": state.correlations,
            "x_kernel_means_": state.x_means,
            "y_kernel_means_": state.y_means,
        }
        return {name: np.ascontiguousarray(value, dtype=dtype) for name, value in arrays.items()}

    @property
    def _n_features_out(self) -> int:
        return int(self.x_dual_coef_.shape[1])

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return the values of the functions at rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or (m, n) with ``kernel="precomputed"``
            Rows.
        y : array-like of shape (m,) or (m, q), default=None
            Rows of the second table.

        Returns
        -------
        x_scores : ndarray of shape (m, n_components)
        y_scores : ndarray of shape (m, n_components)
            With `y` only.
        """
        source = open_new_rows(self, X, accept_sparse="csr")
        coef, means = self.x_dual_coef_, self.x_kernel_means_
        x_scores = source.map(KernelSum(self.kernel_, self.X_fit_, coef, -(means @ coef)))
        if y is None:
            return x_scores
        y = check_array(y, ensure_2d=False, dtype=[np.float64, np.float32], input_name="y")
        y = y if y.ndim == 2 else y[:, None]
        if y.shape[1] != self.y_fit_.shape[1]:
            raise DataError(
                f"KernelCCA: y has {y.shape[1]} columns, but the model was fitted to {self.y_fit_.shape[1]}; give the "
                f"columns of the fit."
            )
        coef, means = self.y_dual_coef_, self.y_kernel_means_
        return x_scores, KernelSum(self.y_kernel_, self.y_fit_, coef, -(means @ coef)).of_rows(y)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean correlation, over the pairs, between the functions at rows of both tables.

        Parameters
        ----------
        X, y
            Rows; those that the model was not fitted to give an honest estimate.
        """
        return float(np.mean(correlate_scores(*self.transform(X, y))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _fill_kernels(kernel: Kernel, rows: Rows, threads: int) -> Array:
    """Return the kernels of all pairs of rows in float64."""
    if isinstance(kernel, Precomputed):
        return np.array(rows.toarray() if is_sparse_matrix(rows) else rows, dtype=np.float64)
    return kernel_matrix(kernel, kernel.prepare(wide_rows(rows)), threads)


def _find_functions(K: Array, L: Array, k: int, alpha: float) -> KernelPairs:
    """Solve the regularised eigenproblem through the eigenvectors of both centred kernels.

    With K = U diag(v) U^T, the change of variables a = U (v (v + n alpha))^(-1/2) s makes the constraint |s| = 1 and
    the covariance s^T diag(v / (v + n alpha))^(1/2) U^T (the same of L) s'.
    """
    n = len(K)
    sides = []
    for matrix in (K, L):
        means = matrix.mean(axis=0)
        # Rows of centred features have kernels k(x, z) - m(x) - m(z) + mean of m.
        centred = matrix - means[:, None] - means[None, :] + means.mean()
        # NumPy's calls of LAPACK free the interpreter; SciPy's keep it, and so Ctrl-C waiting, to their end.
        values, vectors = np.linalg.eigh(centred)
        # All directions are kept: a threshold would drop some for one rounding and not for another.
        sides.append((centred, means, np.maximum(values[::-1], 0.0), vectors[:, ::-1]))
    (K, x_means, v, U), (L, y_means, w, V) = sides
    between = np.sqrt(v / (v + n * alpha))[:, None] * (U.T @ V) * np.sqrt(w / (w + n * alpha))
    left, r, right = np.linalg.svd(between, full_matrices=False)
    k = min(k, len(r))
    # The same as U (v (v + n alpha))^(-1/2) s, but small eigenvalues v do not multiply rounding errors.
    size = np.maximum(r[:k], 1e-12)
    a = (U / (v + n * alpha)) @ (U.T @ (V @ (np.sqrt(w / (w + n * alpha))[:, None] * right[:k].T))) / size
    b = (V / (w + n * alpha)) @ (V.T @ (U @ (np.sqrt(v / (v + n * alpha))[:, None] * left[:, :k]))) / size
    signs = np.where(a[np.abs(a).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0) if k else np.empty(0)
    a, b, r = a * signs, b * signs, np.clip(r[:k], 0.0, 1.0)
    Ka, Lb = K @ a, L @ b
    residual = 0.0
    for matrix, own, other in ((K, Ka, Lb), (L, Lb, Ka)):
        size = matrix @ own + n * alpha * own
        gaps = np.linalg.norm(matrix @ other - r * size, axis=0) / np.linalg.norm(size, axis=0)
        residual = max(residual, float(gaps.max(initial=0.0)))
    root = np.sqrt(n)
    # The offset of a score is that of centred kernels: sum_i a_i (k(x_i, x) - m(x_i)), less the mean over all rows;
    # a has sum zero, so that the other two terms of the centring drop out.
    return KernelPairs(a * root, b * root, r, x_means, y_means, residual)


def _certify(state: KernelPairs) -> Certificate:
    return Certificate.of("residual", state.residual, 1e-6, STATEMENT)
