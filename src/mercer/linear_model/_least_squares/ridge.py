"""Ridge regression: least squares with a quadratic penalty, by every classical method."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning

from mercer._base import Estimator, fitting, seed_sequence
from mercer._base.batches import forget_batches
from mercer._base.linear.prediction import target_columns
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._solver import Outcome, Solver
from mercer._solver.linear_state import LinearState
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, texts
from mercer.errors import ParameterError
from mercer.linear_model._inference.inference import Inferring
from mercer.linear_model._least_squares.running import RunningRegressor
from mercer.linear_model._solvers.closed_form.conjugate_gradient import by_conjugate_gradient
from mercer.linear_model._solvers.closed_form.dual_equations import by_dual_equations
from mercer.linear_model._solvers.closed_form.lsqr import LsqrState, by_lsqr
from mercer.linear_model._solvers.closed_form.nonnegative import by_nonnegative_sweeps
from mercer.linear_model._solvers.closed_form.normal_equations import (
    by_eigenvectors,
    by_normal_equations,
    by_orthogonal_triangle,
)
from mercer.linear_model._solvers.stochastic.average_gradient import AverageState, average_gradient
from mercer.linear_model._solvers.stochastic.finite_sum import RidgeTargets

# The smaller side up to which 'auto' solves sparse rows in closed form: half a second of Cholesky, 30 MB.
_GRAM_SIZE = 2000
# Reciprocal conditions at which the normal equations are corrected, and given up; see normal_equations.
_REFINE_BELOW = 1e-5
_SINGULAR = 1e-13


class Ridge(Inferring, RunningRegressor):
    """Ridge regression: least squares with a quadratic penalty.

    Minimises, for each target,

        sum_i w_i (y_i - b - x_i . c)^2 + alpha |c|^2

    over the coefficients c (``coef_``) and the intercept b (``intercept_``, not penalised), with w the
    ``sample_weight``. The penalty is per data set: for a penalty per row see :func:`alpha_per_sample`, for the
    maximum a posteriori form :func:`alpha_from_variances`, for the form |c|^2 <= t :func:`alpha_for_norm`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    n_iter_ : ndarray of shape (n_targets,)
        Steps for each target; one for closed forms.
    solver_ : str
        The solver in scikit-learn's words.
    solver_used_ : str
        The method that gave the answer: ``"cholesky"``, ``"svd"``, ``"lsqr"``, ``"sparse_cg"``, ``"sag"``, ``"saga"``
        or ``"active set"``; of ``partial_fit`` also ``"eigh"``.
    n_samples_seen_ : int or float
        Total weight of the rows of all calls of ``partial_fit``.
    history_, converged_, certificate_
        How the fit went; see the tour. The certificate is the norm g of the gradient X^T W r - alpha c (with
        ``positive``, the violation of the optimality conditions) over |X| |y|; g^2 / alpha is the duality gap.

    Notes
    -----
    'cholesky' costs n d^2 multiplications and O(d^2) memory for n >= d, n^2 d and O(n^2) otherwise; 'svd' twice that.
    A step of 'sparse_cg' or 'lsqr' is one pass. Closed forms are exact to rounding: where the normal equations lose
    digits the answer is corrected by the residuals of the data. Rows: NumPy, frames, memory maps, SciPy sparse (never
    made dense; not with 'svd').

    References
    ----------
    A. E. Hoerl and R. W. Kennard, Ridge regression, 1970. C. C. Paige and M. A. Saunders, LSQR, 1982. M. Schmidt and
    others, Minimizing finite sums with the stochastic average gradient, 2017.

    Examples
    --------
    >>> from mercer.linear_model import Ridge
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(Ridge(alpha=0.1).fit(X, y).score(X, y), 4)
    0.5126
    """

    alpha: Any = parameter(
        Real(0, squared=False) | Array(), default=1.0, kw_only=False, doc="The penalty, or one for each target."
    )
    max_iter: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        after="copy_X",
        doc="The most steps of an iterative solver. None means 1000 epochs for 'sag' and 'saga', 15000 sweeps with "
        "``positive``, and ten times the smaller side of X otherwise.",
    )
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="Iterative solvers end when the gradient of each target is ``tol`` times what it was at zero; 'lsqr' "
        "also when the residual is ``tol`` times |y|. Closed forms do not use it.",
    )
    solver: str = parameter(
        Choice("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
        default="auto",
        doc="The method. 'cholesky' solves the normal equations, of the rows if these are fewer than the columns; "
        "'svd' takes the singular values of the triangle of the rows, for ill-conditioned data; 'sparse_cg' is "
        "conjugate gradients and 'lsqr' LSQR, one pass each step; 'sag' and 'saga' visit one row at a time. "
        "'lbfgs' is the name under which scikit-learn fits with ``positive``; here that is an active-set "
        "method. 'auto' is 'cholesky', and 'sparse_cg' for sparse rows with both sides above 2000.",
    )
    positive: bool = parameter(Boolean(), default=False, doc="Whether the coefficients must not be negative.")
    random_state: Any = parameter(Seed(), default=None, doc="The seed of 'sag' and 'saga'.")
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _stored: ClassVar[dict[str, Stored]] = {
        "solver_": texts(),
    }
    _depends_on_units = ("columns", "scale")

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if self.solver not in ("sag", "saga"):
            return Estimator._check_exceptions
        reason = "rows are visited at random, so a weight equals repetitions within tol and not to the last digits"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Ridge":
        """Fit the model.

        Parameters
        ----------
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        """
        self._check_solver()
        sparse = False if self.solver == "svd" else "csr"
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse=sparse)
        forget_batches(self)
        outcome = self._learn(source)
        self._describe(outcome.state, source)
        self._conclude(outcome, self._cure)
        return self

    def _learn(self, source: Source) -> Outcome:
        alpha = self._penalties(source.n_targets)
        self.solver_ = self._resolve_solver(source)
        flat = len(alpha) == 1, source.target_shape == ()
        fitted = partial(self._read_state, dtype=source.dtype_name, flat=flat)
        outcome = self._drive(lambda start: self._solver(source, alpha, start), source, fitted=fitted)
        self._complete(outcome)
        self.n_iter_ = np.broadcast_to(getattr(outcome.state, "steps", 1), alpha.shape).astype(np.int32)  # type: ignore[assignment]
        return outcome

    def _check_sums_suffice(self) -> None:
        self._check_solver()
        if self.solver not in ("auto", "cholesky", "lbfgs"):
            raise ParameterError(
                f"Ridge: partial_fit works from sums, which solver='auto' or 'cholesky' can use; got {self.solver!r}. "
                f"Set solver='auto', or call fit."
            )

    def _check_solver(self) -> None:
        if self.solver == "lbfgs" and not self.positive:
            raise ParameterError(
                "Ridge: 'lbfgs' solver can be used only when positive=True; got False. Set solver='auto'."
            )
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ParameterError(
                f"Ridge: solver='{self.solver}' does not support positive fitting; use solver='auto' or 'lbfgs', or "
                f"positive=False."
            )

    def _penalties(self, n_targets: int) -> np.ndarray:
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)).ravel()
        if alpha.shape[0] not in (1, n_targets):
            raise ParameterError(
                f"Ridge: Number of targets and number of penalties do not correspond: {alpha.shape[0]} != {n_targets}; "
                f"give one alpha, or one for each target."
            )
        if not (alpha >= 0).all() or not np.isfinite(alpha).all():
            raise ParameterError(f"Ridge: every alpha must be a number in [0, inf); got {self.alpha!r}.")
        return np.broadcast_to(alpha, (n_targets,)).copy()

    def _resolve_solver(self, source: Source) -> str:
        """Return the solver that 'auto' stands for."""
        if self.solver != "auto":
            return self.solver
        if self.positive:
            return "lbfgs"
        if source.is_sparse and min(_rows(source), source.n_features) > _GRAM_SIZE:
            return "sparse_cg"
        return "cholesky"

    def _solver(self, source: Source, alpha: np.ndarray, start: Any) -> Solver:
        centre, tol = self.fit_intercept, self.tol
        smaller = min(_rows(source), source.n_features)
        if self.solver_ in ("lsqr", "sag", "saga"):
            self._needs_memory(source, f"solver={self.solver_!r}", "use solver='cholesky' or 'sparse_cg'")
        match self.solver_:
            case "lbfgs":
                self._forecast("the scatter of the columns", 16 * source.n_features**2)
                return by_nonnegative_sweeps(alpha, centre, tol, self.max_iter or 15_000, start)
            case "sparse_cg":
                # The smaller side of the table is the space in which the steps are taken.
                wide = _rows(source) < source.n_features
                return by_conjugate_gradient(alpha, centre, tol, self.max_iter or 10 * smaller + 10, wide, start)
            case "lsqr":
                y = target_columns(source.y)
                return by_lsqr(alpha, y, centre, tol, self.max_iter or 10 * smaller + 10, start)
            case "sag" | "saga" as method:
                self._forecast("the table of residuals", 24 * source.n_rows * len(alpha))
                begin = np.zeros((len(alpha), source.n_features + 1)) if start is None else start
                seed = tuple(seed_sequence(self.random_state).generate_state(4).tolist())
                total = RidgeTargets(alpha, centre, tol)
                return average_gradient(total, begin, self.max_iter or 1000, seed, method)
            case "svd":
                self._forecast("the triangle of the rows", 40 * smaller * source.n_features)
                return by_orthogonal_triangle(alpha, centre, tol, cutoff=_cutoff(source))
        return self._solve_closed_form(source, alpha, start)

    def _solve_closed_form(self, source: Source, alpha: np.ndarray, start: Any) -> Solver:
        """Solve the normal equations of the smaller side, or use another solver if they are singular."""
        centre, tol = self.fit_intercept, self.tol

        def otherwise(moments: Any = None) -> Solver:
            if source.place == "sums":
                return by_eigenvectors(alpha, moments, tol, cutoff=_cutoff(source))
            if source.is_sparse:
                self._needs_memory(source, "ridge of sparse columns that others determine", "raise alpha")
                y = target_columns(source.y)
                return by_lsqr(alpha, y, centre, tol, 10 * min(source.n_rows, source.n_features) + 10, start)
            return by_orthogonal_triangle(alpha, centre, tol, cutoff=_cutoff(source), moments=moments)

        if isinstance(start, LsqrState):
            return otherwise()
        # Fewer rows than columns: w = X^T a with (X X^T + alpha I) a = y, a smaller system.
        if source.place == "memory" and source.n_rows < source.n_features:
            self._forecast("the Gram matrix of the rows", 16 * source.n_rows**2)
            y = target_columns(source.y)
            return by_dual_equations(alpha, y, source.weight, centre, tol, otherwise)
        self._forecast("the scatter of the columns", 24 * source.n_features**2)
        # From sums alone residuals cannot be computed, so nothing is refined.
        refine_below = 0.0 if source.place == "sums" else _REFINE_BELOW
        return by_normal_equations(
            alpha, centre, tol, refine_below=refine_below, give_up_below=_SINGULAR, otherwise=otherwise
        )

    def _forecast(self, purpose: str, n_bytes: float) -> None:
        require_memory("Ridge", n_bytes, purpose, "use solver='lsqr' or 'sparse_cg', which form no such matrix")

    def _read_state(self, state: Any, dtype: str, flat: tuple[bool, bool]) -> dict[str, Any]:
        """Return the fitted attributes; `flat` says whether coefficients and intercept lose the axis of targets."""
        if isinstance(state, AverageState):
            parameters = state.parameters.T
            state = LinearState(parameters[:-1], parameters[-1], state.method)
        return self._linear_attributes(state, dtype, *flat)

    def _describe(self, state: Any, source: Source) -> None:
        """Say so when the equations were singular and another solver had to take over."""
        if self.solver_ == "cholesky" and state.method != "cholesky":
            cure = "" if source.place == "sums" else f", or choose solver='{state.method}' to silence this"
            message = (
                f"Ridge: the normal equations are singular to rounding, so solver='{state.method}' was used instead of "
                f"'cholesky'; raise alpha (now {self.alpha!r}){cure}."
            )
            self.solver_ = state.method
            warnings.warn(message, LinAlgWarning, stacklevel=5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd"
        if self.solver in ("lsqr", "sag", "saga"):
            tags.array_api_support = False
        return tags


def _cutoff(source: Source) -> float:
    """Return the relative size below which singular values of unpenalised targets may be rounding alone."""
    return max(_rows(source), source.n_features) * np.finfo(np.float64).eps


def _rows(source: Source) -> int:
    """Return the number of rows; a stream that does not know it yet is taken to have as many as columns."""
    return source.known_rows or source.n_features
