"""Centring in the feature space of a kernel."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.kernel_choice import KernelChoice, KernelSum, prepare_for_kernel, wide_rows
from mercer._base.parameter import Choice, Function, Integer, Nothing, Real, parameter
from mercer._base.validation import check_finite
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source import Block
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer.errors import DataError
from mercer.kernels import KERNEL_NAMES, Kernel, Precomputed

_DEFINED = "Means are defined by the rows; nothing is optimised."


@plain
@dataclass(frozen=True, eq=False)
class KernelMeans:
    """The mean kernel of each training row with all of them, and the mean of these."""

    rows: Any
    total: float


@dataclass(frozen=True, eq=False)
class _Centred:
    """Kernels of the rows of a block with the training rows, less the means of both, plus the mean of all."""

    kernel: Kernel
    ready: Any
    means: Any
    total: float

    def __call__(self, block: Block) -> np.ndarray:
        if self.ready is None:
            values = np.array(block.dense(), dtype=block.X.dtype)
        else:
            values = self.kernel.between(self.kernel.prepare(block.X, like=self.ready), self.ready)
        values -= values.mean(axis=1, dtype=np.float64, keepdims=True).astype(values.dtype)
        values -= (self.means - self.total).astype(values.dtype)
        return values


class KernelCenterer(KernelChoice, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Kernels of centred features.

    For the features :math:`\Phi(x) - \bar\Phi`, with the mean over the training rows, the kernels are
    :math:`\tilde k(x, x_j) = k(x, x_j) - \tfrac{1}{n} \sum_i k(x, x_i) - \tfrac{1}{n} \sum_i k(x_i, x_j)
    + \tfrac{1}{n^2} \sum_{il} k(x_i, x_l)`.

    Attributes
    ----------
    K_fit_rows_ : ndarray of shape (n,)
        The mean kernel of each training row.
    K_fit_all_ : float
        The mean of all kernels.
    X_fit_ : {ndarray, sparse matrix} of shape (n, d) or None
        The training rows; None where kernels were given.
    kernel_ : Kernel
        The kernel used.

    Notes
    -----
    Costs n^2 kernels at the fit, in tiles that need no n x n memory. Rows in memory.

    References
    ----------
    B. Scholkopf, A. Smola and K.-R. Muller, Nonlinear component analysis as a kernel eigenvalue problem, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import KernelCenterer
    >>> X = np.array([[1.0, -2.0, 2.0], [-2.0, 1.0, 3.0], [4.0, 1.0, -2.0]])
    >>> KernelCenterer().fit_transform(X @ X.T)
    array([[  5.,   0.,  -5.],
           [  0.,  14., -14.],
           [ -5., -14.,  19.]])
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    kernel: Any = parameter(
        Choice(*KERNEL_NAMES) | Function(),
        default="precomputed",
        doc="'precomputed' means that kernels are given, square at the fit; with another kernel, rows are.",
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, after="kernel_params", doc="There for all fits alike."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _objective_moves: ClassVar[str | None] = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "the columns made are kernels with the training rows, in their order",
        "memory": "tiles of kernels of all pairs are passed over, larger than few rows",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "X_fit_": floats("rows, columns", sparse=True, finite=True),
        "K_fit_rows_": floats("rows"),
        "K_fit_all_": floats(),
    }

    @fitting
    def fit(self, K: Any, y: Any = None) -> "KernelCenterer":
        """Find the means.

        Parameters
        ----------
        K : array-like of shape (n, n), the kernels, or rows of shape (n, d) for a kernel that is not precomputed
        """
        # Kernels that were given are read once: a mean is finite only if all values are.
        given = self._is_precomputed
        source = self._open(K, accept_sparse=False if given else "csr", ensure_all_finite=not given)
        rows = source.whole()
        if self._is_precomputed and rows.shape[0] != rows.shape[1]:
            raise DataError(
                f"KernelCenterer: Kernel matrix must be a square matrix. Input is a {rows.shape[0]}x{rows.shape[1]} "
                f"matrix; give k(x, y) of all pairs."
            )
        kernel = self._choose_kernel(rows)
        dtype = source.dtype_name
        outcome = self._drive(
            lambda start: self._solver(kernel, rows, source),
            source,
            fitted=lambda state: {"K_fit_rows_": state.rows.astype(dtype), "K_fit_all_": state.total},
            attributes={"kernel_": kernel, "X_fit_": None if self._is_precomputed else rows, "_dtype": dtype},
        )
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _solver(self, kernel: Kernel, rows: Any, source: Any) -> Solver:
        means = yield from self._means(kernel, rows, source)
        certificate = Certificate.none(_DEFINED)
        yield Step(0.0, means, certificate)
        return Solution(means, True, certificate)

    def _means(self, kernel: Kernel, rows: Any, source: Any) -> Generator[Any, Any, KernelMeans]:
        if isinstance(kernel, Precomputed):
            means = yield Dense(lambda: np.add.reduce(rows, axis=0, dtype=np.float64) / len(rows))
            if not np.isfinite(means).all():
                check_finite(rows, source.threads, self)
        else:
            ready = kernel.prepare(wide_rows(rows))
            # A mean is a kernel sum with the weights 1/n, which runs in tiles and never holds n x n values.
            share = np.full(rows.shape[0], 1.0 / rows.shape[0])
            each = KernelSum(kernel, rows, share, 0.0, ready)
            means = yield Dense(lambda: source.map(lambda block: each.of_rows(wide_rows(block.X))))
        return KernelMeans(means, float(means.mean()))

    def transform(self, K: Any, copy: bool = True) -> np.ndarray:
        """Centre kernels.

        Parameters
        ----------
        K : array-like of shape (m, n), kernels with the training rows, or rows of shape (m, d)
        copy : bool, default=True
            Has no effect: the input is never changed.

        Returns
        -------
        ndarray of shape (m, n)
        """
        check_is_fitted(self)
        source = open_new_rows(self, K, accept_sparse=False if self._is_precomputed else "csr")
        width = self._n_features_out
        require_memory(
            "KernelCenterer", 8.0 * source.n_rows * width, f"{source.n_rows} x {width} kernels", "give fewer rows"
        )
        ready = None if self._is_precomputed else prepare_for_kernel(self, self.kernel_, self.X_fit_)
        centred = _Centred(self.kernel_, ready, self.K_fit_rows_.astype(np.float64), self.K_fit_all_)
        return source.map(centred, out=np.empty((source.n_rows, width), dtype=source.host_dtype))

    @property
    def _n_features_out(self) -> int:
        return int(self.K_fit_rows_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
