"""Fisher's discriminant in the feature space of a kernel."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, softmax

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.kernel_choice import KernelChoice, KernelSum, prepare_for_kernel, wide_rows
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_labels
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import HEAVY, Dense
from mercer._solver.tiled_cholesky import factorise
from mercer._solver.tiled_matrix import kernel_matrix, multiply
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels import Kernel, Precomputed, warn_of_scale

_STATEMENT = "The directions are the leading eigenvectors of a dense matrix, exact to rounding."


@plain
@dataclass(frozen=True, eq=False)
class KernelDiscriminantState:
    """Coefficients of the directions, their ratios, and the means, within-class covariance and shares of classes."""

    dual: Any
    ratios: Any
    means: Any
    within: Any
    shares: Any


class KernelDiscriminantAnalysis(
    KernelChoice, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, LimitedEstimator
):
    r"""Fisher's discriminant in the feature space of a kernel.

    Finds directions :math:`\sum_i a_i \Phi(x_i)` along which class means are far apart beside the spread within
    classes: the leading solutions of :math:`M a = \rho (N + \mu I) a`, with M the scatter of the class means of kernel
    columns and N the sum over classes of their scatter. For two classes :math:`a = (N + \mu I)^{-1} (m_2 - m_1)`. Rows
    are classified by Gaussian classes with one covariance in these coordinates.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n, n_components)
        The coefficients a of the directions.
    ratios_ : ndarray of shape (n_components,)
        rho of each direction.
    means_, covariance_, priors_ : ndarray
        Of the classes in these coordinates: means, the covariance within classes, and shares.
    X_fit_ : {ndarray, sparse matrix} of shape (n, d)
        The rows.
    kernel_ : Kernel
        The kernel used.

    Notes
    -----
    Costs about 2.5 n^3; memory 24 n^2 bytes. Weights are repetitions. Rows in memory.

    References
    ----------
    S. Mika, G. Ratsch, J. Weston, B. Scholkopf and K.-R. Muller, Fisher discriminant analysis with kernels, 1999.

    Examples
    --------
    >>> from mercer.discriminant_analysis import KernelDiscriminantAnalysis
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.3, noise=0.1, random_state=0)
    >>> KernelDiscriminantAnalysis(gamma=1.0).fit(X, ring).score(X, ring)
    1.0
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_components: int | None = parameter(
        Integer(1) | Nothing(), default=None, kw_only=False, doc="Directions to keep; None means one less than classes."
    )
    mu: float = parameter(
        Real(0, math.inf, "neither"),
        default=1e-3,
        after="kernel_params",
        doc="What is added to the diagonal of N: keeps coefficients small.",
    )

    _documents = {
        "max_time": "There for all fits alike.",
    }

    _objective_moves: ClassVar[str | None] = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the kernels of all pairs of rows are n^2 numbers, forecast before they are taken"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "X_fit_": floats("rows, columns", sparse=True, finite=True),
        "dual_coef_": floats("rows, axes"),
        "ratios_": floats("axes"),
        "means_": floats("classes, axes"),
        "covariance_": floats("axes, axes"),
        "priors_": floats("classes"),
    }
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelDiscriminantAnalysis":
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or (n, n) with ``kernel="precomputed"``
        """
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        check_labels(source.y)
        rows, weight = source.whole(), source.weight
        # Rows of weight zero do not make a class.
        seen = source.y if weight is None else source.y[weight > 0]
        classes = np.unique(seen)
        if len(classes) < 2:
            raise DataError(
                f"{type(self).__name__}: at least 2 classes are needed, but the data contains only one class: "
                f"{classes[0]!r}. Add rows of another."
            )
        kernel = self._choose_kernel(rows)
        warn_of_scale(type(self).__name__, kernel, rows)
        known = {"classes_": classes, "kernel_": kernel, "X_fit_": rows}
        member = source.y[:, None] == classes[None]
        outcome = self._drive(
            lambda start: self._solver(kernel, rows, member, weight),
            source,
            fitted=partial(_list_attributes, dtype=source.dtype_name),
            attributes=known,
        )
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _solver(self, kernel: Kernel, rows: Array, member: Array, weight: Array) -> Solver:
        n, count = rows.shape[0], member.shape[1] - 1
        count = count if self.n_components is None else min(count, self.n_components)
        require_memory(type(self).__name__, 24.0 * n * n, f"the {n} x {n} kernels", "give fewer rows, or use Nystroem")
        K = yield Dense(lambda: self._fill_kernels(kernel, rows))
        state = yield Dense(lambda: self._directions(K, member, weight, count), heavy=n > HEAVY)
        certificate = Certificate.none(_STATEMENT)
        yield Step(float(np.sum(state.ratios)), state, certificate)
        return Solution(state, True, certificate)

    def _fill_kernels(self, kernel: Kernel, rows: Array) -> Array:
        """Return the kernels of all pairs of rows, in float64."""
        if isinstance(kernel, Precomputed):
            return np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64, order="C")
        return kernel_matrix(kernel, kernel.prepare(wide_rows(rows)), self._threads())

    def _directions(self, K: Array, member: Array, weight: Array, count: int) -> Any:
        """Solve in coordinates u = a / root of the weight, in which a weight is a repetition; K is overwritten."""
        threads = self._threads()
        roots = np.ones(len(K)) if weight is None else np.sqrt(weight)
        K *= roots[:, None]
        K *= roots[None, :]
        # Columns of U = `units` are orthonormal indicators of the classes: K U U^T are class means of kernel columns.
        sizes = (roots**2) @ member
        units = member * roots[:, None] / np.sqrt(sizes)
        across = multiply(K, units, threads)
        within = K - across @ units.T
        # N = K (I - U U^T) K^T, the scatter within classes of kernel columns; the projector is its own square.
        within = multiply(within, np.ascontiguousarray(within.T), threads)
        # N has rank n - k at most: mu on its diagonal makes the quotient a^T M a / a^T N a bounded.
        within[np.diag_indices(len(within))] += self.mu
        if failed := factorise(within, threads):
            raise DataError(
                f"{type(self).__name__}: the scatter within classes plus mu must be positive definite; its leading "
                f"minor of order {failed} is not, with mu={self.mu!r} and weights of up to "
                f"{float(roots.max()) ** 2:.3g}. Divide sample_weight by its mean, or raise mu."
            )
        # Class means of kernel columns from their common mean, times roots of class sizes: columns of the root of M.
        gaps = across - (across @ np.sqrt(sizes))[:, None] * np.sqrt(sizes) / sizes.sum()
        # With N = L L^T directions are L^-T times the left singular vectors of L^-1 gaps; quotients are squared values.
        turn, values, _ = np.linalg.svd(solve_triangular(within, gaps, lower=True), full_matrices=False)
        u = solve_triangular(within, turn[:, :count], lower=True, trans="T")
        scores = K @ u
        means = (units.T @ scores) / np.sqrt(sizes)[:, None]
        # Later classes lie on the positive side, which no repetition of rows changes.
        order = np.arange(len(sizes)) - (len(sizes) - 1) / 2.0
        signs = np.where(order @ means < 0, -1.0, 1.0)
        u, scores, means = u * signs, scores * signs, means * signs
        # Scores about the means of their classes; weights are in the roots.
        spread = scores - roots[:, None] * (member @ means)
        covariance = spread.T @ spread / sizes.sum()
        return KernelDiscriminantState(roots[:, None] * u, values[:count] ** 2, means, covariance, sizes / sizes.sum())

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or with ``kernel="precomputed"`` (m, n)
        """
        if (rows := few_rows(self, X)) is not None:
            return self._sum().of_rows(rows)
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(self._sum())

    def _sum(self) -> KernelSum:
        others = None if self._is_precomputed else prepare_for_kernel(self, self.kernel_, self.X_fit_)
        return KernelSum(self.kernel_, self.X_fit_, self.dual_coef_, 0.0, others)

    def _joint(self, X: Any) -> Array:
        """Return the log of the joint density of class and row, up to a constant for each row."""
        scores = self.transform(X)
        covariance = self.covariance_.astype(np.float64)
        # A direction in which classes have no spread tells them apart for certain; its scale keeps numbers finite.
        floor = 1e-10 * max(float(np.trace(covariance)), float(np.abs(self.means_).max()) ** 2, 1e-300)
        inverse = np.linalg.inv(covariance + floor * np.eye(len(covariance)))
        gaps = scores[:, None, :] - self.means_[None]
        squares = np.einsum("ijk,kl,ijl->ij", gaps, inverse, gaps)
        return (np.log(self.priors_)[None, :] - 0.5 * squares).astype(scores.dtype)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-odds of the second of two classes, or a score a class, of shape (m,) or (m, n_classes)."""
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each row, of shape (m, n_classes)."""
        return softmax(self._joint(X), axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class for each row, of shape (m, n_classes)."""
        return log_softmax(self._joint(X), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, of shape (m,)."""
        numbers = self._joint(X).argmax(axis=1)
        return self.classes_[numbers]

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])


def _list_attributes(state: KernelDiscriminantState, dtype: str) -> dict[str, Any]:
    """Return the fitted attributes of a state, as arrays of `dtype`."""
    arrays = {"dual_coef_": state.dual, "ratios_": state.ratios, "means_": state.means}
    arrays |= {"covariance_": state.within, "priors_": state.shares}
    return {name: np.asarray(value).astype(dtype) for name, value in arrays.items()}
