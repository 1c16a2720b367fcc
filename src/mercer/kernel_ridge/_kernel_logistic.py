"""Kernel logistic regression: logistic and softmax regression in the feature space of a kernel."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.kernel_choice import KernelChoice, KernelSum, one_order, prepare_for_kernel, wide_rows
from mercer._base.linear.classifier import label_classes
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._objective import Logistic, Softmax
from mercer._objective.penalties import ElasticNetPenalty
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.lbfgs import lbfgs
from mercer._solver.linear_problem import LinearProblem
from mercer._solver.newton import newton_cholesky
from mercer._solver.request import HEAVY, Dense
from mercer._solver.tiled_matrix import kernel_matrix
from mercer._source import open_source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels import Precomputed, warn_of_scale

# The most parameters for which "auto" chooses Newton's method: its Hessian has a row for each.
_WIDEST_HESSIAN = 1500


class KernelLogisticRegression(KernelChoice, ClassifierMixin, LimitedEstimator):
    r"""Logistic regression in the feature space of a kernel, with probabilities.

    Minimises, over the coefficients a (``dual_coef_``) and the intercept b of :math:`f(x) = \sum_j a_j k(x, x_j) + b`,

    .. math:: C \sum_i w_i \log(1 + e^{-y_i f(x_i)}) + \tfrac{1}{2} a^T K a

    for two classes (y = -1, 1), and the softmax loss with a function f for each class for more. With the linear kernel
    this is :class:`mercer.linear_model.LogisticRegression`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (1 or n_classes, n)
        The coefficients a.
    intercept_ : ndarray of shape (1 or n_classes,)
    X_fit_ : {ndarray, sparse matrix} of shape (n, d)
        The rows.
    kernel_ : Kernel
        The kernel used.
    solver_used_ : str
        What minimised.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; the certificate is the ``"duality gap"``.

    Notes
    -----
    The kernels are decomposed once (9 n^3, 24 n^2 bytes), which gives coordinates in feature space; a linear model is
    fitted there, by Newton's method (r^3 a step, r the rank) or L-BFGS (n r). Convex. Weights are repetitions. Rows in
    memory.

    References
    ----------
    J. Zhu and T. Hastie, Kernel logistic regression and the import vector machine, 2005.

    Examples
    --------
    >>> from mercer.kernel_ridge import KernelLogisticRegression
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.3, noise=0.1, random_state=0)
    >>> KernelLogisticRegression(gamma=1.0).fit(X, ring).score(X, ring)
    1.0
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    C: float = parameter(
        Real(0, math.inf, "neither"), default=1.0, kw_only=False, doc="Weight of the loss against the penalty."
    )
    fit_intercept: bool = parameter(
        Boolean(), default=True, after="kernel_params", doc="Whether to fit b, which is not penalised."
    )
    class_weight: Any = parameter(
        Instance(dict) | Choice("balanced") | Nothing(),
        default=None,
        doc="Weights of the classes; 'balanced' makes them inverse to the class frequencies.",
    )
    solver: str = parameter(
        Choice("auto", "newton", "lbfgs"), default="auto", doc="'auto' is 'newton' for up to 1500 parameters."
    )
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="Ends when the duality gap, or the gradient, is this small, as in logistic regression.",
    )
    max_iter: int = parameter(Integer(1), default=200, doc="Most steps.")

    _documents = {
        "gamma": "The factor gamma of kernels by name; None means 1 / d.",
        "coef0": "The constant of polynomial and sigmoid kernels.",
        "kernel_params": "Further arguments of a kernel function.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the kernel values of all pairs of rows are n^2 floats, forecast before they are computed"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "X_fit_": floats("rows, columns", sparse=True, finite=True),
        "dual_coef_": floats("scores, rows"),
        "intercept_": floats("scores"),
    }
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelLogisticRegression":
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or (n, n) with ``kernel="precomputed"``
        """
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        rows = source.whole()
        kernel = self._choose_kernel(rows)
        warn_of_scale(type(self).__name__, kernel, rows)
        # Labels are checked before the kernels are computed, which may take long.
        label_classes(self, source)
        matrix = Dense(lambda: self._fill_kernels(kernel, rows)).answer(source)
        # The kernels are filled by this fit's threads; LAPACK, which cannot be cut into pieces, runs aside.
        heavy = len(matrix) > HEAVY
        features, back = Dense(lambda: self._compute_coordinates(matrix), heavy).answer(source)
        classes, hidden = label_classes(self, open_source(features, source.y, source.weight, source.threads))
        # Callbacks are shown the rows as they were given, not their coordinates.
        hidden.whole = source.whole  # type: ignore[method-assign]
        problem = self._make_problem(classes, hidden)
        # Newton's method factorises a matrix of all coefficients by all.
        small = math.prod(problem.shape) <= _WIDEST_HESSIAN
        used = ("newton" if small else "lbfgs") if self.solver == "auto" else self.solver
        solve = newton_cholesky if used == "newton" else lbfgs
        known = {"classes_": classes, "kernel_": kernel, "X_fit_": rows, "solver_used_": used}
        outcome = self._drive(
            lambda state: solve(problem, problem.start() if state is None else state, self.max_iter),
            hidden,
            fitted=partial(_list_attributes, back, source.host_dtype),
            max_steps=self.max_iter,
            attributes=known,
        )
        self._conclude(outcome)
        return self

    def _make_problem(self, classes: Array, hidden: Any) -> LinearProblem:
        """Return the penalised loss of a linear model of the coordinates `hidden`."""
        loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
        total = hidden.total_weight()
        strength = np.full(hidden.n_features + 1, 1.0 / (self.C * total))
        strength[-1] = 0.0
        return LinearProblem(loss, ElasticNetPenalty(0.0 * strength, strength), total, self.fit_intercept, self.tol)

    def _fill_kernels(self, kernel: Any, rows: Array) -> Array:
        """Return the kernels of all pairs of rows, in float64."""
        n, threads = rows.shape[0], self._threads()
        require_memory(type(self).__name__, 24.0 * n * n, f"the {n} x {n} kernels", "give fewer rows, or use Nystroem")
        if isinstance(kernel, Precomputed):
            return np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64, order="C")
        return kernel_matrix(kernel, kernel.prepare(wide_rows(rows)), threads)

    def _compute_coordinates(self, matrix: Array) -> tuple[Array, Array]:
        """Return coordinates F of the rows in feature space, and B with a = B c for coefficients c of a linear model.

        With K = U V U', F = U sqrt(V) has F F' = K, and B = U / sqrt(V); eigenvalues that are rounding are left out.
        """
        values, vectors = find_eigenpairs(matrix)
        if values[0] < -1e-6 * max(float(values[-1]), 1e-300):
            raise DataError(
                f"{type(self).__name__}: the kernel must be positive semidefinite; its smallest eigenvalue on these "
                f"rows is {values[0]:.3g}. Use a Mercer kernel."
            )
        # Smaller eigenvalues are rounding; the largest is kept even where all are zero.
        kept = values > len(matrix) * np.finfo(np.float64).eps * max(float(values[-1]), 1e-300)
        kept[-1] = True
        roots = np.sqrt(np.maximum(values[kept], np.finfo(np.float64).tiny))
        return np.ascontiguousarray(vectors[:, kept] * roots), vectors[:, kept] / roots

    def _labels(self, source: Any, given: dict[str, Any]) -> Any:
        return given["classes_"][np.asarray(source.y).astype(np.int64)] if source.y is not None else None

    def _scores(self, X: Any) -> Array:
        weights = self.dual_coef_.T if hasattr(self, "dual_coef_") else None
        if (rows := few_rows(self, X)) is not None:
            return self._make_sum(weights).of_rows(rows)
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(self._make_sum(weights))

    def _make_sum(self, weights: Array) -> KernelSum:
        others = None if self._is_precomputed else prepare_for_kernel(self, self.kernel_, self.X_fit_)
        return KernelSum(self.kernel_, self.X_fit_, weights, self.intercept_, others)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f: for two classes one value for each row, positive for the second class; else one for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or with ``kernel="precomputed"`` (m, n)
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each row, of shape (m, n_classes)."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return np.concatenate([expit(-scores), expit(scores)], axis=1)
        return softmax(scores, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class for each row, of shape (m, n_classes)."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return np.concatenate([log_expit(-scores), log_expit(scores)], axis=1)
        return log_softmax(scores, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, of shape (m,)."""
        scores = self._scores(X)
        codes = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def _list_attributes(back: Array, dtype: Any, state: Any) -> dict[str, Any]:
    """Return the fitted attributes of a `state` in `dtype`; `back` is B, which takes it to dual coefficients."""
    with one_order(back.size):
        dual = np.ascontiguousarray(state.parameters[:, :-1] @ back.T)
    return {"dual_coef_": dual.astype(dtype), "intercept_": state.parameters[:, -1].astype(dtype)}
