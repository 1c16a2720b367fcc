"""Kernel principal component analysis: principal components of the features of a kernel."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.kernel_choice import KernelChoice, KernelSum, one_order, prepare_for_kernel, wide_rows
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.relay import relay
from mercer._solver.request import HEAVY_SPECTRUM, Dense
from mercer._solver.tiled_cholesky import factor, solve
from mercer._solver.tiled_matrix import KernelStrips, kernel_matrix, multiply
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.decomposition._block_krylov import KrylovState, block_krylov, centre, multiply_centred
from mercer.errors import DataError, UnsupportedError
from mercer.kernels import KERNEL_NAMES, Kernel, Linear, Precomputed, warn_of_scale

STATEMENT = (
    "Largest norm of the centred kernels times an eigenvector less its eigenvalue times it, over the largest "
    "eigenvalue."
)
# The tolerance of block products if tol is 0: the error of eigenvalues is about its square.
TOLERANCE = 1e-7


@plain
@dataclass(frozen=True, eq=False)
class KernelPCAState:
    """Means of the kernels and the leading eigenpairs of the centred ones; with block products also their basis."""

    means: Any
    total: float
    values: Any
    vectors: Any
    residual: float
    krylov: Any = None


def by_blocks(rounds: Generator[Any, Any, KrylovState], state: KernelPCAState, tol: float, fixed: bool) -> Solver:
    """Solve by rounds of block products, a step per round; `fixed` says that the user gave the number of rounds."""

    def complete(step: Step) -> Step:
        return replace(step, state=_add_pairs(state, step.state), certificate=_certify(step.state.residual, tol))

    state = _add_pairs(state, (yield from relay(rounds, complete)))
    done = state.residual <= tol or fixed or state.krylov.block.shape[1] == 0
    return Solution(state, done, _certify(state.residual, tol))


def _add_pairs(state: KernelPCAState, krylov: KrylovState) -> KernelPCAState:
    """Return `state` with the eigenpairs of a round of block products."""
    return replace(state, values=krylov.values, vectors=krylov.vectors, residual=krylov.residual, krylov=krylov)


def _certify(residual: float, tol: float) -> Certificate:
    """Return the certificate of eigenvectors whose largest relative residual is `residual`."""
    return Certificate.of("residual", residual, tol, STATEMENT)


def conclude(state: KernelPCAState, tol: float) -> Solver:
    """Yield the one step of a direct decomposition, and return it; exact to rounding, which grows with n."""
    bound = max(tol, 1e3 * len(state.means) * np.finfo(np.float64).eps)
    certificate = _certify(state.residual, bound)
    yield Step(float(np.maximum(state.values, 0.0).sum()), state, certificate)
    return Solution(state, True, certificate)


def is_narrow(kernel: Kernel, rows: Array, n_components: int | None) -> bool:
    """Return whether the rows themselves hold all components: dense rows of few columns, and the linear kernel."""
    n, d = rows.shape
    return (
        type(kernel) is Linear and not is_sparse_matrix(rows) and d < n and (n_components is None or n_components <= d)
    )


def decompose_rows(rows: Array, n_components: int | None) -> KernelPCAState:
    """Return the components of the linear kernel without a matrix of pairs.

    With X the centred rows, the centred kernels are X X^T: their eigenvectors are the left singular vectors of X, and
    their eigenvalues the squares of the singular values. All others are zero.
    """
    wide = wide_rows(rows)
    mean = wide.mean(axis=0)
    means, X = wide @ mean, wide - mean
    vectors, lengths, _ = np.linalg.svd(X, full_matrices=False)
    values, vectors = lengths[:n_components] ** 2, vectors[:, :n_components]
    left = X @ (X.T @ vectors) - vectors * values
    residual = float(np.linalg.norm(left, axis=0).max(initial=0.0) / max(float(values.max(initial=0.0)), 1e-300))
    return KernelPCAState(means, float(mean @ mean), values, vectors, residual)


def fill_kernels(kernel: Kernel, rows: Array, threads: int) -> Array:
    """Return the kernels of all pairs in float64, (n, n), or a copy of the given ones."""
    if isinstance(kernel, Precomputed):
        return np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64, order="C")
    return kernel_matrix(kernel, kernel.prepare(wide_rows(rows)), threads)


def strip_kernels(kernel: Kernel, rows: Array, threads: int) -> tuple[Callable[[Array], Array], Array]:
    """Return the product of the centred kernels with a block, and the mean kernel of each row; pairs are kept once."""
    kernels, n = KernelStrips.of(kernel, kernel.prepare(wide_rows(rows)), threads), rows.shape[0]
    product = partial(kernels.multiply, threads=threads)
    return partial(multiply_centred, product), product(np.full((n, 1), 1.0 / n))[:, 0]


def find_last_axes(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the `count` largest eigenvalues of a symmetric matrix, in rising order, and their vectors."""
    n = len(matrix)
    # Divide and conquer is the faster where all vectors are asked for.
    return find_eigenpairs(matrix, n - count, driver="evd" if count == n else "evr")


def largest_residual(matrix: Array, values: Array, vectors: Array, threads: int) -> float:
    """Return the largest relative residual of the first and the last hundred eigenvectors."""
    some = np.unique(np.r_[: min(100, len(values)), max(0, len(values) - 100) : len(values)])
    left = multiply(matrix, np.ascontiguousarray(vectors[:, some]), threads) - vectors[:, some] * values[some]
    return float(np.linalg.norm(left, axis=0).max() / max(float(np.abs(values).max()), 1e-300))


def clear_rounding(subject: str, values: Array, dtype: str) -> Array:
    """Return eigenvalues with rounding errors set to zero; raise if negative ones show a kernel that is not PSD."""
    largest, precision = float(values.max()), 1e-12 if dtype == "float64" else 2e-7
    lowest = float(values.min())
    if lowest < -1e-5 * max(largest, 1e-300) and lowest < -1e-10:
        raise DataError(
            f"{subject}: There are significant negative eigenvalues: the smallest is {lowest:.3g} and the largest "
            f"{largest:.3g}. Either the matrix is not PSD, or there was an issue while computing the "
            f"eigendecomposition of the matrix; use a Mercer kernel, or fewer components."
        )
    return np.where(values > precision * largest, values, 0.0)


class KernelPCA(KernelChoice, ClassNamePrefixFeaturesOutMixin, TransformerMixin, LimitedEstimator):
    r"""Principal components in the feature space of a kernel.

    The kernels of the n rows, centred in feature space, :math:`\tilde K = (I - 1 1^T / n) K (I - 1 1^T / n)`, have the
    eigenvalues v and eigenvectors u; the components of a row are its projections on the axes
    :math:`\sum_i u_i \Phi(x_i) / \sqrt{v}`, which have unit length.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernels, in falling order: n times the variance of each component.
    eigenvectors_ : ndarray of shape (n, n_components)
    X_fit_ : {ndarray, sparse matrix} of shape (n, d)
        The rows.
    dual_coef_, X_transformed_fit_ : ndarray of shape (n, d), (n, n_components)
        With ``fit_inverse_transform=True``: coefficients of the way back, and the components of the rows.
    kernel_ : Kernel
        The kernel used.
    gamma_ : float or None
        gamma, or 1 / d where none was given.
    kernel_means_ : ndarray of shape (n,)
        The mean kernel of each row with all rows.
    solver_used_ : str
        What found the eigenvectors.
    history_ : dict of ndarray
        Per round: ``objective``, the sum of the eigenvalues found.
    certificate_ : Certificate
        ``"residual"`` of the eigenvectors.

    Notes
    -----
    Memory 8 n^2 bytes, and half of that by 'randomized', which keeps each pair of rows once. A round of 'randomized'
    costs n^2 (n_components + 10), 'dense' about 9 n^3. For the linear kernel of d < n dense columns, 'auto' and 'dense'
    decompose the rows instead of the matrix of pairs: 4 n d^2 multiplications and 8 n d bytes. A kernel that is not
    positive semidefinite is refused where its negative eigenvalues are seen. Rows in memory.

    References
    ----------
    B. Scholkopf, A. Smola and K.-R. Muller, Nonlinear component analysis as a kernel eigenvalue problem, 1998.

    Examples
    --------
    >>> from mercer.decomposition import KernelPCA
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> first = KernelPCA(1, kernel="rbf", gamma=2.0).fit_transform(X)[:, 0]
    >>> bool(first[ring == 0].max() < first[ring == 1].min() or first[ring == 1].max() < first[ring == 0].min())
    True
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_components: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="Components to keep; None means all whose eigenvalue is not zero.",
    )
    kernel: Any = parameter(Choice(*KERNEL_NAMES) | Function(), default="linear")
    alpha: float = parameter(Real(0), default=1.0, after="kernel_params", doc="Ridge of the inverse transform.")
    fit_inverse_transform: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether to learn, by kernel ridge regression, the way back from components to rows.",
    )
    eigen_solver: str = parameter(
        Choice("auto", "dense", "arpack", "randomized"),
        default="auto",
        doc="'randomized' multiplies by blocks of columns until residuals are small, 'arpack' by single columns; "
        "'auto' is 'randomized' where few of many components are wanted, else 'dense'.",
    )
    tol: float = parameter(
        Real(0),
        default=0,
        doc="Residual, relative to the largest eigenvalue, at which 'randomized' and 'arpack' end; 0 means 1e-7, "
        "which gives eigenvalues to rounding, and machine precision for 'arpack'.",
    )
    max_iter: int | None = parameter(
        Integer(1) | Nothing(), default=None, doc="Most rounds of 'randomized' (None: 300) or iterations of 'arpack'."
    )
    iterated_power: Any = parameter(
        Integer(0) | Choice("auto"),
        default="auto",
        doc="Of 'randomized': a number of rounds to stop after; 'auto' means to go on until `tol` is met.",
    )
    remove_zero_eig: bool = parameter(
        Boolean(), default=False, doc="Whether to drop components whose eigenvalue is zero."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first block.")
    copy_X: bool = parameter(
        Boolean(), default=True, doc="Has no effect: rows are never overwritten. ``X_fit_`` is a copy of them if True."
    )

    _documents = {
        "max_time": "Seconds after which 'randomized' ends with what it has.",
    }

    _objective_moves: ClassVar[str | None] = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the kernels of all pairs of rows are n^2 numbers, forecast before they are taken"
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "gamma_": floats(" | none"),
        "X_fit_": floats("rows, columns", sparse=True, finite=True),
        "eigenvalues_": floats("components"),
        "eigenvectors_": floats("rows, components"),
        "kernel_means_": floats("rows"),
        "X_transformed_fit_": floats("rows, components"),
        "dual_coef_": floats("rows, columns"),
    }

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """A linear kernel has no length."""
        return ("columns",) if self.kernel == "linear" else ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None) -> "KernelPCA":
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or (n, n) with ``kernel="precomputed"``
        """
        if self.fit_inverse_transform and self._is_precomputed:
            raise UnsupportedError(
                "KernelPCA: Cannot fit_inverse_transform with a precomputed kernel; give rows and a kernel."
            )
        source = self._open(X, accept_sparse="csr")
        rows = source.whole()
        kernel = self._choose_kernel(rows)
        warn_of_scale(type(self).__name__, kernel, rows)
        self._check_shape(rows)
        dtype, used = source.dtype_name, self._resolve(rows, kernel)
        gamma = 1.0 / rows.shape[1] if self.gamma is None else self.gamma
        known = {"kernel_": kernel, "gamma_": gamma, "X_fit_": rows.copy() if self.copy_X else rows}
        known |= {"solver_used_": used, "_dtype": dtype}
        solve, fitted = partial(self._solver, rows, kernel, used), partial(self._attributes_of, dtype=dtype)
        outcome = self._drive(solve, source, fitted=fitted, attributes=known)
        if self.fit_inverse_transform:
            self._learn_inverse(source, rows, dtype)
        self._conclude(outcome, cure="raise max_iter or tol")
        return self

    def _check_shape(self, rows: Array) -> None:
        if self._is_precomputed and rows.shape[0] != rows.shape[1]:
            raise DataError(
                f"{type(self).__name__}: Precomputed metric requires shape (n_queries, n_indexed); kernels must be a "
                f"square matrix, got shape {rows.shape}."
            )

    def _resolve(self, rows: Array, kernel: Kernel) -> str:
        if self.eigen_solver != "auto":
            return self.eigen_solver
        if is_narrow(kernel, rows, self.n_components):
            return "dense"
        n = rows.shape[0]
        wanted = n if self.n_components is None else min(n, self.n_components)
        # Up to 300 rows a dense decomposition takes milliseconds; above a fifth of the components, blocks gain nothing.
        return "randomized" if n > 300 and 5 * wanted < n else "dense"

    def _solver(self, rows: Array, kernel: Kernel, used: str, state: KernelPCAState | None) -> Solver:
        n, threads = rows.shape[0], self._threads()
        if used == "dense" and is_narrow(kernel, rows, self.n_components):
            solved = yield Dense.over(lambda: decompose_rows(rows, self.n_components), 16 * rows.size)
            return (yield from conclude(solved, self.tol))
        strips = used == "randomized" and not self._is_precomputed
        copies = 0.5 if strips else 3.0 if used == "dense" else 1.0
        require_memory(
            type(self).__name__, copies * 8.0 * n * n, f"the {n} x {n} kernels", "give fewer rows, or use Nystroem"
        )
        if strips:
            product, means = yield Dense(lambda: strip_kernels(kernel, rows, threads))
            first = KernelPCAState(means, float(means.mean()), None, None, np.inf)
            return (yield from self._by_blocks(product, n, first if state is None else state))
        matrix = yield Dense(lambda: fill_kernels(kernel, rows, threads))
        means, total = yield Dense(lambda: centre(matrix))
        count = n if self.n_components is None else min(n, self.n_components)
        first = KernelPCAState(means, total, None, None, np.inf)
        if used == "randomized":
            product = partial(multiply, matrix, threads=threads)
            return (yield from self._by_blocks(product, n, first if state is None else state))
        values, vectors = yield Dense(lambda: self._decompose(matrix, count, used), heavy=n > HEAVY_SPECTRUM)
        left = yield Dense(lambda: largest_residual(matrix, values, vectors, threads))
        return (yield from conclude(replace(first, values=values, vectors=vectors, residual=left), self.tol))

    def _by_blocks(self, product: Callable[[Array], Array], n: int, state: KernelPCAState) -> Solver:
        count = n if self.n_components is None else min(n, self.n_components)
        seed, tol, limit = seed_sequence(self.random_state), self.tol or TOLERANCE, self.max_iter or 300
        fixed = self.iterated_power != "auto"
        if fixed:
            limit, tol = self.iterated_power + 1, 0.0
        rounds = block_krylov(product, n, count, tol, limit, seed, state.krylov)
        return (yield from by_blocks(rounds, state, tol, fixed))

    def _decompose(self, matrix: Array, count: int, used: str) -> tuple[Array, Array]:
        if used == "arpack" and count < (n := len(matrix)):
            start = np.random.default_rng(seed_sequence(self.random_state)).uniform(-1.0, 1.0, n)
            product = LinearOperator((n, n), lambda x: multiply(matrix, x.reshape(n, -1), self._threads()), dtype=float)
            values, vectors = eigsh(product, count, which="LA", tol=self.tol, maxiter=self.max_iter, v0=start)
        else:
            values, vectors = find_last_axes(matrix, count)
        return values[::-1], vectors[:, ::-1]

    def _attributes_of(self, state: KernelPCAState, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes of a state, as arrays of `dtype`; the largest entry of an axis is positive."""
        values = clear_rounding(type(self).__name__, np.array(state.values), dtype)
        vectors = np.array(state.vectors)
        places = np.abs(vectors).argmax(axis=0)
        vectors *= np.where(vectors[places, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
        if self.remove_zero_eig or self.n_components is None:
            values, vectors = values[values > 0], vectors[:, values > 0]
        return {
            "eigenvalues_": values.astype(dtype),
            "eigenvectors_": vectors.astype(dtype),
            "kernel_means_": np.asarray(state.means).astype(dtype),
        }

    def _axes(self) -> tuple[Array, Array]:
        """Return the coefficients of the axes, (n, k), and the offsets that centre projections, (k,)."""
        kept = self.eigenvalues_ > 0
        axes = np.zeros_like(self.eigenvectors_)
        axes[:, kept] = self.eigenvectors_[:, kept] / np.sqrt(self.eigenvalues_[kept])
        # Eigenvectors of centred kernels sum to zero; enforcing it makes two terms of the centring vanish exactly.
        axes -= axes.mean(axis=0)
        with one_order(axes.size):
            return axes, -(self.kernel_means_ @ axes)

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or with ``kernel="precomputed"`` (m, n)
        """
        check_is_fitted(self)
        axes, offset = self._axes()
        others = None if self._is_precomputed else prepare_for_kernel(self, self.kernel_, self.X_fit_)
        project = KernelSum(self.kernel_, self.X_fit_, axes, offset, others)
        if (rows := few_rows(self, X)) is not None:
            return project.of_rows(rows)
        return open_new_rows(self, X, accept_sparse="csr").map(project)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Find the components and return those of the rows.

        Parameters
        ----------
        **params : dict
            Passed to ``fit``.
        """
        self.fit(X, **params)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows whose components are about `X`: kernel ridge regression from components to rows."""
        check_is_fitted(self)
        if not self.fit_inverse_transform or not hasattr(self, "dual_coef_"):
            raise NotFittedError(
                "KernelPCA: the fit_inverse_transform parameter was not set to True when instantiating and hence the "
                "inverse transform is not available; got False. Set it, and fit again."
            )
        X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
        if X.shape[1] != self.X_transformed_fit_.shape[1]:
            raise DataError(
                f"KernelPCA: inverse_transform takes the {self.X_transformed_fit_.shape[1]} columns that transform "
                f"gives; X has {X.shape[1]} columns."
            )
        return KernelSum(self.kernel_, self.X_transformed_fit_, self.dual_coef_).of_rows(X)

    def _learn_inverse(self, source: Source, rows: Array, dtype: str) -> None:
        """Solve for the map from scores back to rows by kernel ridge regression: (K + alpha I) coefficients = rows."""
        scores = (self.eigenvectors_ * np.sqrt(self.eigenvalues_)).astype(np.float64)

        def coefficients() -> Array:
            matrix = kernel_matrix(self.kernel_, self.kernel_.prepare(scores), self._threads())
            matrix[np.diag_indices(len(matrix))] += self.alpha
            factor(matrix, self._threads())
            return solve(matrix, wide_rows(rows.toarray() if hasattr(rows, "toarray") else rows))

        self.X_transformed_fit_ = scores.astype(dtype)
        self.dual_coef_ = Dense(coefficients).answer(source).astype(dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.eigenvalues_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
