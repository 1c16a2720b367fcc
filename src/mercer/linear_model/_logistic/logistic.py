"""Logistic regression for two classes, softmax regression for more."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, fitting, seed_sequence
from mercer._base.linear.classifier import LinearClassifier, label_classes
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, Seed, parameter
from mercer._objective import Logistic, Softmax
from mercer._solver import Solver
from mercer._solver.composite.choice import WIDEST_HESSIAN
from mercer._solver.lbfgs import lbfgs
from mercer._solver.linear_problem import LinearProblem
from mercer._solver.newton import newton_cg, newton_cholesky
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._source.threads import one_blas_thread
from mercer.errors import DataError
from mercer.linear_model._inference.inference import Inferring
from mercer.linear_model._logistic.penalty import check_solver, read_penalty, strengths
from mercer.linear_model._logistic.separability import warn_if_separable
from mercer.linear_model._solvers.composite.proximal_newton import proximal_newton
from mercer.linear_model._solvers.stochastic.average_gradient import average_gradient
from mercer.linear_model._solvers.stochastic.dual_coordinate import dual_coordinate
from mercer.linear_model._solvers.stochastic.finite_sum import PenalisedLoss


class LogisticRegression(LinearClassifier, Inferring):
    """Logistic regression; softmax regression for three classes or more.

    Minimises, over the coefficients W (``coef_``) and the intercepts b (``intercept_``),

        J(W, b) = (1 / S) (sum_i s_i loss(W x_i + b, y_i) + (1 / C) (r |W|_1 + (1 - r) / 2 |W|_2^2))

    with s_i the weights of the rows (``sample_weight`` times ``class_weight``), S their sum and r = ``l1_ratio``. For
    two classes loss(z, y) = log(1 + exp(z)) - y z, minus the log-likelihood of P(y = 1) = 1 / (1 + exp(-z)); for more,
    loss(z, y) = log(sum_j exp(z_j)) - z_y, that of P(j) = exp(z_j) / sum_m exp(z_m).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        W; one row for two classes, whose score speaks for the second.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b; zero without `fit_intercept`.
    solver_used_ : str
        What ran: "lbfgs", "newton-cholesky", "newton-cg", "proximal-newton", "dual-coordinate", "sag" or "saga".
    n_iter_ : ndarray of shape (1,)
        Steps taken.
    history_ : dict of ndarray
        J (``objective``), its largest gradient entry and its duality gap, after each step.
    converged_ : bool
        Whether the stopping rule was met.
    certificate_ : Certificate
        A duality gap: J is at most that far above its minimum. Without a penalty, the largest entry of the gradient.

    Notes
    -----
    Exact up to `tol`. One step of "lbfgs" is one pass, n d k multiplications twice; its metric is a pass of n d^2 / 2,
    taken for up to 512 columns: for two classes after every three steps and, where d is at most 48, n at most 2^15 and
    n (d + 1)^2 at most 2^21, at every step, which is Newton's method; for more classes k n d^2 / 2, after 15 steps or
    more and then at intervals that double. Extra memory is a few k d numbers per thread and, for "newton-cholesky" and
    l1, the (k d)^2 Hessian, for "lbfgs" of several classes k d^2 numbers; "sag" and "saga" also remember n k residuals.
    Runs over NumPy arrays, memory maps, frames and CSR rows, which are never made dense. Separable classes without a
    penalty have no finite optimum: a warning says so. There is no ``partial_fit``: the loss of rows seen before is not
    a function of finitely many sums.

    References
    ----------
    Liu, Nocedal (1989), On the limited memory BFGS method. Boehning (1992), Multinomial logistic regression algorithm.
    Yuan, Ho, Lin (2012), An improved GLMNET for l1-regularized logistic regression. Defazio, Bach, Lacoste-Julien
    (2014), SAGA. Yu, Huang, Lin (2011), Dual coordinate descent methods for logistic regression.

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegression
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> bool(model.certificate_.value < 1e-3), round(model.score(X, y), 3)
    (True, 0.958)
    """

    penalty: Any = parameter(
        Choice("l1", "l2", "elasticnet", "deprecated") | Nothing(),
        default="deprecated",
        kw_only=False,
        doc="Deprecated by scikit-learn 1.8: use `l1_ratio`, and ``C=np.inf`` for no penalty.",
    )
    C: float = parameter(
        Real(0, math.inf, "right"),
        default=1.0,
        doc="Inverse strength of the penalty; ``np.inf`` (which is allowed) means none.",
    )
    l1_ratio: float | None = parameter(
        Real(0, 1) | Nothing(),
        default=0.0,
        doc="Share of the l1 penalty: 0 is l2 (ridge), 1 is l1 (lasso), between is the elastic net.",
    )
    dual: bool = parameter(
        Boolean(),
        default=False,
        doc='Solve the dual, by coordinate ascent; for ``solver="liblinear"`` with an l2 penalty only.',
    )
    tol: float = parameter(
        Real(0, math.inf, "left"),
        default=1e-4,
        doc="The fit ends when every entry of the (least sub-)gradient of J is at most this and the duality gap at "
        'most ``certificate_.tolerance``; "lbfgs" and the Newton methods also ask that the next step promise '
        'less than ``tol / 100``, which holds whatever the scale of columns; "sag" and "saga", that an epoch '
        "change no parameter by more than `tol` times the largest.",
    )
    fit_intercept: bool = parameter(
        Boolean(), default=True, doc='Whether to learn b; the penalty leaves it out, except with "liblinear".'
    )
    intercept_scaling: float = parameter(
        Real(0, math.inf, "neither"),
        default=1,
        doc='With "liblinear" the intercept is the weight of a constant column of this value, under penalty like '
        "the others.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        doc='Weights of the classes; "balanced" makes them inverse to the class frequencies.',
    )
    random_state: Any = parameter(
        Seed(), default=None, doc='Decides the order of rows in "sag", "saga" and the dual of "liblinear".'
    )
    solver: str = parameter(
        Choice("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga", "auto"),
        default="lbfgs",
        doc='- "lbfgs": L-BFGS in the metric of the data, so that badly scaled columns cost nothing extra (l2 or '
        "none);\n"
        '- "newton-cholesky", "newton-cg": Newton\'s method by the full Hessian, or by products with it (l2 '
        "or none);\n"
        '- "liblinear": two classes, intercept under penalty: Newton (l2), dual coordinate ascent (l2, '
        "``dual=True``), proximal Newton (l1);\n"
        '- "sag", "saga": stochastic average gradients with a step per column; "saga" takes every penalty;\n'
        '- "auto": "lbfgs", or "proximal-newton" for a penalty with an l1 part. ``solver_used_`` says which.',
    )
    max_iter: int = parameter(
        Integer(0), default=100, doc="The most steps (passes over the rows, for the stochastic solvers)."
    )
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        doc='Whether to start from the last fit\'s solution ("liblinear" always starts afresh).',
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _takes_sparse = True
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LogisticRegression":
        """Fit the model."""
        C, ratio = read_penalty(self)
        check_solver(self, C, ratio)
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        classes, source = label_classes(self, source)
        self._check_class_count(len(classes))
        loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
        total = source.total_weight()
        penalty = strengths(self, C, ratio, source.n_features, total)
        problem = LinearProblem(loss, penalty, total, self.fit_intercept, self.tol)
        used, solve = self._choose(problem, source)
        # The solver's own dense algebra on one BLAS thread: the bits do not depend on the machine's cores.
        with one_blas_thread():
            outcome = self._drive(
                solve,
                source,
                fitted=partial(read_parameters, dtype=source.host_dtype),
                max_steps=max(1, self.max_iter),
                attributes={"classes_": classes, "solver_used_": used},
            )
        self.n_iter_ = np.array([outcome.state.n_steps], dtype=np.int32)  # type: ignore[assignment]
        if problem.penalty.is_zero:
            warn_if_separable(self, source, outcome.state.parameters, "give a finite C")
        self._conclude(outcome)
        return self

    def _check_class_count(self, n_classes: int) -> None:
        if self.solver == "liblinear" and n_classes > 2:
            raise DataError(
                f"{type(self).__name__}: The 'liblinear' solver does not support multiclass classification "
                f"(n_classes >= 3). Only binary classification is supported. The type of the target is multiclass; got "
                f"{n_classes} classes. Use another solver, or wrap the estimator in a OneVsRestClassifier."
            )

    def _choose(self, problem: LinearProblem, source: Source) -> tuple[str, Callable[[Any], Solver]]:
        """Return the name of the method, and a function from a state to resume from to the solver."""
        used = self._method(problem)
        if used in ("newton-cholesky", "proximal-newton"):
            # Proximal Newton needs the Hessian of its working set only, of bounded size.
            n_bytes = 16.0 * min(math.prod(problem.shape), 4096) ** 2 * (1 + source.threads)
            if used == "newton-cholesky":
                n_bytes = 16.0 * math.prod(problem.shape) ** 2 * (1 + source.threads)
            require_memory(type(self).__name__, n_bytes, "the Hessian", "use solver='lbfgs'")
        simple = {
            "lbfgs": lbfgs,
            "newton-cg": newton_cg,
            "newton-cholesky": newton_cholesky,
            "proximal-newton": proximal_newton,
        }
        begin = self._start(problem)
        if used in simple:
            return used, lambda state: simple[used](problem, begin if state is None else state, self.max_iter)
        self._needs_memory(source, f"solver={self.solver!r}", "use solver='lbfgs'")
        # The residual, slope and order of every row.
        n_bytes = 24.0 * source.n_rows * problem.shape[0]
        require_memory(type(self).__name__, n_bytes, "the table of residuals", "use solver='lbfgs'")
        rows, seed = source.n_rows, tuple(seed_sequence(self.random_state).generate_state(4).tolist())
        if used == "dual-coordinate":
            return used, lambda state: dual_coordinate(problem, state, self.max_iter, rows, seed)
        total = PenalisedLoss(problem)
        return used, lambda state: average_gradient(total, begin if state is None else state, self.max_iter, seed, used)

    def _method(self, problem: LinearProblem) -> str:
        if self.solver == "auto":
            small = math.prod(problem.shape) <= WIDEST_HESSIAN
            smooth = "newton-cholesky" if small and problem.penalty.is_zero else "lbfgs"
            return "proximal-newton" if problem.penalty.has_l1 else smooth
        if self.solver == "liblinear":
            primal = "proximal-newton" if problem.penalty.has_l1 else "newton-cg"
            return "dual-coordinate" if self.dual else primal
        return self.solver

    def _start(self, problem: LinearProblem) -> np.ndarray:
        """Return zeros, or the last solution; softmax parameters are shifted to sum to zero over the classes."""
        start = problem.start()
        if not (self.warm_start and hasattr(self, "coef_")) or self.solver == "liblinear":
            return start
        last = self.densify().coef_ if not isinstance(self.coef_, np.ndarray) else self.coef_
        if last.shape != (start.shape[0], start.shape[1] - 1):
            raise DataError(
                f"{type(self).__name__}: Initialization coef is of shape {last.shape}, expected shape "
                f"{(start.shape[0], start.shape[1] - 1)}. Set warm_start=False to start afresh."
            )
        start[:, :-1] = to_numpy(last)
        if self.fit_intercept:
            start[:, -1] = to_numpy(self.intercept_)
        # Softmax is unchanged by a shift of all classes; the l2 penalty is least where they sum to zero.
        if isinstance(problem.loss, Softmax) and not problem.penalty.has_l1:
            start -= start.mean(axis=0)
        return start

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        if source.y is None:
            return None
        classes, xp = source.send(given["classes_"]), source.xp
        return xp.take(classes, xp.astype(source.y, xp.int64))

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if self.solver not in ("sag", "saga"):
            return Estimator._check_exceptions
        reason = "a row given twice is visited twice an epoch: the same optimum, approached to tol by another path"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.solver in ("sag", "saga") or self.dual:
            tags.array_api_support = False
        if self.solver == "liblinear":
            tags.classifier_tags.multi_class = False
        return tags


def read_parameters(state: Any, dtype: np.dtype) -> dict[str, Any]:
    """Return the coefficients (k, d) and intercepts (k,) of a state with parameters (k, d + 1)."""
    parameters = state.parameters.astype(dtype)
    return {"coef_": parameters[:, :-1].copy(), "intercept_": parameters[:, -1].copy()}
