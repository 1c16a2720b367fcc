"""Isotonic regression: least squares among functions that never fall, or never rise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, check_new_rows, fitting
from mercer._base.interface import TransformerMixin
from mercer._base.parameter import Boolean, Choice, Nothing, Real, parameter
from mercer._base.scoring import RegressorMixin
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, flags, floats
from mercer._types import Array
from mercer.errors import DataError

# Rows from which on sorting them takes longer than Ctrl-C may wait.
_MANY = 2**17
# Rounding of running sums of the residuals, as a share of the sum of the absolute targets.
_ROUNDING = 1e-10
STATEMENT = (
    "Largest running sum of weighted residuals that lets a block be split with gain, or does not end at zero, as a "
    "share of the weighted sum of the distances of the targets from their mean."
)


@plain
@dataclass(frozen=True, eq=False)
class IsotonicState:
    """The points between which the fit is interpolated, in rising order of x."""

    x: Array
    y: Array


class IsotonicRegression(TransformerMixin, RegressorMixin, Estimator):
    """Isotonic regression: the best fit that never falls.

    Of one column x and targets y with weights s (``sample_weight``) it minimises

        sum_i s_i (y_i - f(x_i))^2    subject to    f(x_i) <= f(x_j) wherever x_i <= x_j

    (or the reverse with ``increasing=False``) and ``y_min <= f <= y_max``. The solution is constant on blocks of
    neighbours; the value of a block is its weighted mean. Between the points of the fit f is linear.

    Attributes
    ----------
    X_min_, X_max_ : float
        The ends of the column in the fit.
    X_thresholds_, y_thresholds_ : ndarray of shape (n_thresholds,)
        The points between which f is linear.
    increasing_ : bool
        Whether f rises.
    history_, converged_, certificate_
        How the fit went: one step, whose objective is the mean squared error. The certificate holds the conditions of
        the blocks: no block gains by being split, and each has its mean.

    Notes
    -----
    Sorts the rows, then pools neighbours that violate the order in one pass: n log n operations. Rows with equal x are
    one point with their weighted mean. Rows in memory. Values of x that differ by less than the smallest normal number
    are one.

    References
    ----------
    M. Ayer, H. D. Brunk, G. M. Ewing, W. T. Reid and E. Silverman, An empirical distribution function for sampling with
    incomplete information, 1955. J. de Leeuw, K. Hornik and P. Mair, Isotone optimization in R, 2009.

    Examples
    --------
    >>> from mercer.isotonic import IsotonicRegression
    >>> IsotonicRegression().fit([1, 2, 3, 4], [1.0, 3.0, 2.0, 4.0]).predict([1, 2, 3, 3.5]).tolist()
    [1.0, 2.5, 2.5, 3.25]
    """

    # Rows to predict are called T, as in scikit-learn; nobody routes them.
    __metadata_request__predict = {"T": UNUSED}
    __metadata_request__transform = {"T": UNUSED}

    y_min: float | None = parameter(Real() | Nothing(), default=None, doc="The least value of the fit, if any.")
    y_max: float | None = parameter(Real() | Nothing(), default=None, doc="The largest value of the fit, if any.")
    increasing: Any = parameter(
        Boolean() | Choice("auto"),
        default=True,
        doc="Whether the fit rises; 'auto' takes the sign of Spearman's correlation.",
    )
    out_of_bounds: str = parameter(
        Choice("nan", "clip", "raise"),
        default="nan",
        doc="What is predicted outside of the column of the fit: NaN, the value at the nearer end, or an error.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "X_min_": floats(),
        "X_max_": floats(),
        "X_thresholds_": floats("points", finite=True),
        "y_thresholds_": floats("points", finite=True),
        "increasing_": flags(),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "IsotonicRegression":
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, 1)
            One column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.

        Returns
        -------
        self : IsotonicRegression
        """
        source = self._open(_as_column(X), y, sample_weight, targets="numbers", multi_output=False)
        x, targets, weight = source.whole()[:, 0], np.asarray(source.y, dtype=np.float64), source.weight
        rises = self._find_direction(x, targets)
        outcome = self._drive(
            lambda start: fit_steps(x, targets, weight, rises, self.y_min, self.y_max),
            source,
            fitted=partial(list_attributes, dtype=source.dtype_name),
            max_steps=1,
            attributes={"increasing_": rises},
        )
        if outcome.interrupt is None:
            self.converged_ = outcome.converged = True
        self._conclude(outcome)
        return self

    def _find_direction(self, x: Array, y: Array) -> bool:
        if self.increasing != "auto":
            return bool(self.increasing)
        from sklearn.isotonic import check_increasing

        return bool(check_increasing(x, y))

    def predict(self, T: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        T : array-like of shape (n_samples,) or (n_samples, 1)
            One column.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._interpolate(T)

    def transform(self, T: Any) -> np.ndarray:
        """Return the predictions.

        Parameters
        ----------
        T : array-like of shape (n_samples,) or (n_samples, 1)
            One column.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._interpolate(T)

    def _interpolate(self, T: Any) -> np.ndarray:
        check_is_fitted(self)
        x = check_new_rows(self, _as_column(T))[:, 0].astype(self.X_thresholds_.dtype, copy=False)
        outside = (x < self.X_min_) | (x > self.X_max_)
        if self.out_of_bounds == "raise" and outside.any():
            raise DataError(
                f"IsotonicRegression: with out_of_bounds='raise' values must be in [{self.X_min_:g}, {self.X_max_:g}], "
                f"where the fit was; got {x[outside][0]:g}. Set out_of_bounds='clip'."
            )
        values = np.interp(x, self.X_thresholds_, self.y_thresholds_).astype(x.dtype, copy=False)
        if self.out_of_bounds == "nan" and len(self.X_thresholds_) > 1:
            values[outside] = np.nan
        return values

    @property
    def f_(self) -> Callable[[Any], np.ndarray]:
        """The function that was fitted."""
        check_is_fitted(self)
        return self._interpolate

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the column that ``transform`` makes.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Has no effect.

        Returns
        -------
        ndarray of str of shape (1,)
        """
        check_is_fitted(self)
        return np.asarray(["isotonicregression0"], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def fit_steps(
    x: Array, y: Array, weight: Array | None, rises: bool, low: float | None = None, high: float | None = None
) -> Solver[IsotonicState]:
    """Find the fit, which is one step."""
    call = partial(pool_blocks, x, y, weight, rises, (low, high))
    state, objective, certificate = yield Dense(call, heavy=len(x) > _MANY)
    yield Step(objective, state, certificate)
    return Solution(state, bool(certificate.satisfied), certificate)


def pool_blocks(
    x: Array, y: Array, weight: Array | None, rises: bool, bounds: tuple[float | None, float | None]
) -> tuple[IsotonicState, float, Certificate]:
    """Sort the rows and pool neighbours that violate the order; return the fit, its mean squared error and its proof.

    A bounded fit is the fit without bounds, cut off at them.
    """
    points, targets, weights, within = join_ties(x, y, weight)
    fitted = isotonic_regression(targets, weights=weights, increasing=rises).x
    certificate = certify_blocks(targets, weights, fitted if rises else -fitted, rises)
    low, high = bounds
    fitted = np.clip(fitted, -math.inf if low is None else low, math.inf if high is None else high)
    state = keep_ends(points, fitted)
    return state, (within + float(weights @ (targets - fitted) ** 2)) / float(weights.sum()), certificate


def list_attributes(state: IsotonicState, dtype: str) -> dict[str, Any]:
    """Return the fitted attributes of the points, in the precision of the rows."""
    x, y = state.x.astype(dtype), state.y.astype(dtype)
    return {"X_thresholds_": x, "y_thresholds_": y, "X_min_": x[0], "X_max_": x[-1]}


def join_ties(x: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array, float]:
    """Return distinct points in rising order, the mean target and the weight of each, and the scatter about the means.

    Rows that weigh nothing are left out.
    """
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        x, y, weight = x[kept], y[kept], weight[kept]
    order = np.argsort(x)
    points = x[order].astype(np.float64, copy=False)
    starts = np.append(True, np.diff(points) >= np.finfo(np.float64).tiny)
    if starts.all():
        return points, y[order], np.ones(len(x)) if weight is None else weight[order], 0.0
    # The order among equal values decides the rounding of their sums: that of the rows, on any processor.
    order = np.argsort(x, kind="stable")
    y, weights = y[order], np.ones(len(x)) if weight is None else weight[order]
    first = np.flatnonzero(starts)
    total = np.add.reduceat(weights, first)
    mean = np.add.reduceat(weights * y, first) / total
    gaps = y - mean[np.cumsum(starts) - 1]
    return points[first], mean, total, float(weights @ gaps**2)


def keep_ends(x: Array, y: Array) -> IsotonicState:
    """Return the points without those inside of a block: interpolation between its ends gives the same."""
    kept = np.ones(len(x), dtype=bool)
    kept[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    return IsotonicState(x[kept], y[kept])


def certify_blocks(y: Array, weight: Array, fitted: Array, rises: bool) -> Certificate:
    """Certify that no block gains by being split: inside, no first part lies below the rest; at its end they are equal.

    The residuals of a block, in the order of the points, must have running sums of at least zero that end at zero.
    `fitted` rises, for a falling fit with the signs changed.
    """
    y = y if rises else -y
    running = np.cumsum(weight * (y - fitted))
    last = np.flatnonzero(np.append(fitted[1:] != fitted[:-1], True))
    # The running sums before each block are those at the end of the block before it: zero, up to rounding.
    violation = max(float(np.max(-running, initial=0.0)), float(np.max(np.abs(running[last]))))
    scale = float(weight @ np.abs(y - np.average(y, weights=weight)))
    falls = float(np.max(fitted[:-1] - fitted[1:], initial=0.0)) * float(weight.sum())
    return Certificate.of("residual", max(violation, falls) / scale if scale else 0.0, _ROUNDING, STATEMENT)


def _as_column(X: Any) -> Any:
    """Return a vector as a table of one column; tables of more columns are refused."""
    shape = np.shape(X)
    if len(shape) == 1:
        return np.asarray(X).reshape(-1, 1)
    if len(shape) != 2 or shape[1] != 1:
        raise DataError(
            f"IsotonicRegression: Isotonic regression input X should be a 1d array or 2d array with 1 feature; got the "
            f"shape {shape}. Choose one column."
        )
    return X
