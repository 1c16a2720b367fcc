"""What Lasso and ElasticNet share: the choice of solver, the warm start and the attributes."""

import warnings
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mercer._base import fitting, seed_sequence
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._native.linear import descent as native
from mercer._solver import Certificate, Outcome, Solution, Solver
from mercer._solver.metric import WIDEST_GRAM
from mercer._solver.relay import relay
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments, MomentSums
from mercer._statistic.products import Residual
from mercer._stored import Stored, floats
from mercer.errors import DataError
from mercer.linear_model._least_squares.least_squares import LinearRegression
from mercer.linear_model._least_squares.ridge import Ridge
from mercer.linear_model._solvers.lasso.coordinate_descent import (
    STATEMENT,
    DescentPlan,
    DescentState,
    check_sums,
    coordinate_descent,
)

_COEF_TO_SOLVER_USED = r"""coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        The same, with zeros left out.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap: the objective exceeds its minimum by this at most.
    n_iter_ : int or list of int
        Sweeps, for each target.
    solver_used_ : str
        ``"gram"`` or ``"working sets"``; ``"cholesky"`` and the like for closed forms."""

_DUAL_GAP_TO_NOTES = r"""dual_gap_ : float
        The duality gap of the model at ``alpha_``.
    n_iter_ : int
        Sweeps to the model at ``alpha_``, from that at an earlier penalty.
    solver_used_ : str
        ``"gram"`` or ``"working sets"``.
    history_, converged_, certificate_
        How the fit went; see the tour. A step is a penalty, its objective the mean error over the folds; the
        certificate is the duality gap of the model at ``alpha_``, and ``converged_`` covers the folds as well.

    Notes
    -----
    The folds walk down the path side by side, one penalty at a time, each from its last coefficients, on all threads.
    Up to 512 columns each row is summed up once, in the scatter of the fold that tests it, and the scatters of all
    other folds add up to the one that a fold trains on: with k folds the cost of one scatter, not of k. Beyond, the
    folds share the rows, which are never copied. Rows: NumPy, frames, memory maps, SciPy sparse (never made dense)."""

# The texts by the names that the docstrings of the classes use: a range of parameters or attributes.
SHARED = {
    "coef_to_solver_used": _COEF_TO_SOLVER_USED,
    "dual_gap_to_notes": _DUAL_GAP_TO_NOTES,
}


def suits_gram(source: Source, precompute: Any, subject: str) -> bool:
    """Return whether to descend on the scatter of all columns."""
    wanted = not isinstance(precompute, bool | str | None) or precompute is True
    if source.place == "memory" and not wanted and source.n_features > WIDEST_GRAM:
        return False
    require_memory(subject, 24 * source.n_features**2, "the scatter of the columns", "select columns, or load the rows")
    return True


def descent_seed(selection: str, random_state: Any) -> tuple[int, ...] | None:
    """Return the seed of a random order of coordinates; None for the order of columns."""
    if selection == "cyclic":
        return None
    return tuple(seed_sequence(random_state).generate_state(4).tolist())


class DescentRegressor(LinearRegressor):
    """Least squares with an l1 and an l2 penalty, by coordinate descent."""

    alpha: float = parameter(Real(0, squared=False), default=1.0, kw_only=False)
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    precompute: Any = parameter(
        Boolean() | Array(),
        default=False,
        doc="True descends on the Gram matrix of the columns; an array is that matrix, X^T X of centred (and "
        "weighted) columns. False leaves the choice to the cost; see Notes.",
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="The most sweeps over the coordinates, for each target.")
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="Descent ends when the duality gap is ``tol`` |y|^2 / n (y centred) and no coefficient moved by more "
        "than ``tol`` times the largest.",
    )
    warm_start: bool = parameter(
        Boolean(), default=False, doc="Whether to begin with the coefficients of the last fit."
    )
    positive: bool = parameter(Boolean(), default=False, doc="Whether the coefficients must not be negative.")
    random_state: Any = parameter(Seed(), default=None, doc="The seed, with ``selection='random'``.")
    selection: str = parameter(
        Choice("cyclic", "random"),
        default="cyclic",
        doc="Whether a sweep visits the coordinates in turn, or as many drawn at random.",
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    # Whether the penalty bounds the coefficients of a column for all targets together.
    _joint: ClassVar[bool] = False
    _grows_with: ClassVar[dict[str, int]] = {"alpha": -1}
    _stored: ClassVar[dict[str, Stored]] = {
        "dual_gap_": floats(" | *"),
    }
    _depends_on_units = ("columns", "scale", "target")

    @property
    def _mixing(self) -> float:
        """The share of the l1 part in the penalty."""
        raise NotImplementedError  # each class below defines its own

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> Any:
        """Fit the model.

        Parameters
        ----------
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        check_input : bool, default=True
            Has no effect: rows are always checked. Kept so that scikit-learn's calls run.
        """
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        # scikit-learn flattens coefficients for one target, and the intercept for a flat y.
        flat = source.n_targets == 1, source.target_shape == ()
        outcome = self._descend(source, flat)
        if isinstance(outcome.state, DescentState):
            sweeps = outcome.state.sweeps.tolist()
            self.n_iter_ = sweeps[0] if flat[0] else sweeps
        self._conclude(outcome, "raise max_iter or tol")
        return self

    def _descend(self, source: Source, flat: tuple[bool, bool]) -> Outcome:
        """Fit to a source; `flat` says whether coefficients and intercept lose the axis of targets."""
        if self.alpha == 0:
            # scikit-learn's words, so that filters for them still work.
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression "
                "estimator, whose closed form was used.",
                UserWarning,
                stacklevel=5,
            )
        begin = self._begin(source)
        fitted = partial(self._read_state, dtype=source.dtype_name, flat=flat)
        outcome = self._drive(lambda start: self._solver(source, begin, start), source, fitted=fitted)
        self._complete(outcome)
        return outcome

    @property
    def sparse_coef_(self) -> csr_array:
        """The coefficients as a sparse array."""
        return csr_array(np.atleast_2d(self.coef_))

    def _begin(self, source: Source) -> np.ndarray:
        """Return the coefficients to begin with, (n_features, n_targets)."""
        shape = (source.n_targets, source.n_features)
        if not self.warm_start or not hasattr(self, "coef_"):
            return np.zeros(shape[::-1])
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=np.float64))
        if coef.shape != shape:
            raise DataError(
                f"{type(self).__name__}: warm_start needs coefficients of shape {shape}, as the data have it; got "
                f"{coef.shape}. Fit with warm_start=False first."
            )
        # Coefficients of another fit may be negative.
        return np.maximum(coef.T, 0.0) if self.positive else coef.T.copy()

    def _solver(self, source: Source, begin: np.ndarray, start: Any) -> Solver:
        if self.alpha == 0 or self._mixing == 0:
            return solve_closed_form(self, source, None if isinstance(start, DescentState) else start)
        name = type(self).__name__
        gram, on_gram = None, suits_gram(source, self.precompute, name)
        if isinstance(self.precompute, np.ndarray | list | tuple) or hasattr(self.precompute, "__array__"):
            # As in scikit-learn, the matrix belongs to weights that sum to the number of rows.
            share = source.total_weight() / source.n_rows if source.has_weight else 1.0
            gram = np.ascontiguousarray(self.precompute, dtype=np.float64) * share
        plan = DescentPlan(
            name, self.fit_intercept, self.positive, self.tol, self.max_iter, on_gram, gram,
            source.host_dtype == np.float32, descent_seed(self.selection, self.random_state), self._joint,
        )  # fmt: skip
        return coordinate_descent(plan, self.alpha, self._mixing, begin, start)

    def _read_state(self, state: Any, dtype: str, flat: tuple[bool, bool]) -> dict[str, Any]:
        """Return the fitted attributes; `flat` says whether coefficients and intercept lose the axis of targets."""
        attributes = self._linear_attributes(state, dtype, *flat)
        gaps = state.gaps / state.total if isinstance(state, DescentState) else np.full(state.coef.shape[1], np.nan)
        return attributes | {"dual_gap_": float(gaps[0]) if flat[0] else gaps}


def solve_closed_form(model: Any, source: Source, start: Any) -> Generator[Any, Any, Solution]:
    """Solve without an l1 penalty, by least squares or ridge, for the objective and the duality gap of `model`."""
    moments = yield Moments(model.fit_intercept, diagonal=True)
    check_sums(type(model).__name__, moments)
    total, parameters = moments.weight, {"fit_intercept": model.fit_intercept, "positive": model.positive}
    if model.alpha == 0:
        solver = LinearRegression(**parameters)._solver(source, start)
    else:
        ridge = Ridge(tol=min(model.tol, 1e-10), **parameters)
        ridge.solver_ = ridge._resolve_solver(source)
        # The lasso's objective has a mean, ridge a sum: alpha times the total weight.
        solver = ridge._solver(source, np.full(source.n_targets, total * model.alpha), start)
    # The steps report the lasso's objective, (1 / 2n) |r|^2.
    solution = yield from relay(solver, lambda step: replace(step, objective=step.objective / (2.0 * total)))
    return (yield from _judge(model, solution, moments))


def _judge(model: Any, solution: Solution, moments: MomentSums) -> Generator[Any, Any, Solution]:
    """Return a solution without an l1 penalty with its duality gap, or, without any penalty, its gradient."""
    state, total, l2 = solution.state, moments.weight, moments.weight * model.alpha
    sums = yield Residual(state.coef, moments.mean, moments.y_mean)
    columns = zip(np.ascontiguousarray(state.coef.T), np.ascontiguousarray(sums.product.T), sums.squares, strict=True)
    # Without a penalty the residual is orthogonal to the columns, and thus feasible, up to rounding.
    gaps = np.array([
        native.duality_gap(w, slopes, float(squares), 0.0, l2, model.positive, 0.0, 0.0) if l2 else abs(w @ slopes)
        for w, slopes, squares in columns
    ])  # fmt: skip
    objectives = 0.5 * sums.squares + 0.5 * l2 * np.sum(state.coef**2, axis=0)
    certificate = solution.certificate
    if l2:
        # tol is relative to the mean square of the targets.
        goal = model.tol * float(moments.y_scatter.sum()) / total
        certificate = Certificate.of("duality gap", float(gaps.sum()) / total, goal, STATEMENT)
    steps = np.full(len(gaps), getattr(state, "steps", 1))
    final = DescentState(state.coef, state.intercept, steps, gaps, objectives, total, state.method, 0, True, 0, ())
    return Solution(final, solution.converged, certificate)
