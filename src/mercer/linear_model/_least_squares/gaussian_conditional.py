"""Regression by a joint Gaussian of inputs and targets, conditioned on the inputs."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.sparse import csr_array, hstack
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver import Dense, Solution, Solver, Step
from mercer._solver.linear_state import gradient_certificate
from mercer._solver.request import HEAVY
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic.moments import Moments, MomentSums, targets
from mercer._statistic.statistic import Statistic
from mercer._stored import Stored, flags, floats, integers, part
from mercer.errors import DataError

_TOLERANCE = 1e-8


@plain
@dataclass(frozen=True)
class GaussianState:
    """Weight, mean and scatter of inputs and targets side by side; coefficients (d, k) and the scatter about them."""

    weight: float
    mean: Any
    scatter: Any
    coef: Any
    rest: Any
    rank: int


class GaussianConditionalRegressor(LinearRegressor):
    """Regression by conditioning a joint Gaussian of inputs and targets.

    If (x, t) is Gaussian with means m_x, m_t and covariance blocks C_xx, C_xt, C_tt, then t given x is Gaussian with

        mean  m_t + C_tx C_xx^-1 (x - m_x)    and covariance  C_tt - C_tx C_xx^-1 C_xt,

    the same for every x. Means and covariances of the rows are put in their places. The mean is then that of least
    squares with an intercept; what is new is the covariance of several targets, and that rows can come in batches.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        C_tx C_xx^-1.
    intercept_ : float or ndarray of shape (n_targets,)
        m_t - C_tx C_xx^-1 m_x.
    location_ : ndarray of shape (n_features + n_targets,)
        The means of inputs and targets.
    covariance_ : ndarray of shape (n_features + n_targets, n_features + n_targets)
        Their joint covariance.
    conditional_covariance_ : ndarray of shape (n_targets, n_targets)
        The covariance of the targets of a row whose inputs are known.
    rank_ : int
        Directions in which the inputs vary.
    n_samples_seen_ : float
        Total weight of the rows, of all batches.
    history_, converged_, n_iter_, certificate_
        How the fit went. The certificate is the norm of the gradient of least squares over |X| |y|.

    Notes
    -----
    One pass, n (d + k)^2 multiplications, O((d + k)^2) memory; rows in any place. Forming covariances squares the
    condition number of the rows: for nearly collinear inputs LinearRegression keeps more digits.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import GaussianConditionalRegressor
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(2000, 1))
    >>> t = x @ [[1.0, 2.0]] + random.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], size=2000)
    >>> GaussianConditionalRegressor().fit(x, t).conditional_covariance_.round(2)
    array([[0.93, 0.49],
           [0.49, 1.04]])
    """

    ddof: int = parameter(
        Integer(0, 1),
        default=1,
        doc="What is taken off the total weight before covariances are divided by it: 0 for the most likely ones, 1 "
        "for unbiased ones. The coefficients do not depend on it.",
    )
    tol: float = parameter(
        Real(0),
        default=1e-14,
        doc="Directions of the inputs with less than this share of the largest variance count as constant.",
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="Has no effect: a closed form ends by itself. Kept so that estimators can be exchanged.",
    )

    fit_intercept = True

    _stored: ClassVar[dict[str, Stored]] = {
        "location_": floats("joint"),
        "covariance_": floats("joint, joint"),
        "conditional_covariance_": floats("targets, targets"),
        "rank_": integers(low=0),
        "_seen": part("GaussianState"),
        "_flat": flags(),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianConditionalRegressor":
        """Fit the model."""
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        return self._learn(source, None)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianConditionalRegressor":
        """Add rows to those seen before; all batches together give the fit to all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        """
        seen = vars(self).get("_seen")
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr", reset=seen is None)
        if seen is not None and (source.target_shape == ()) != self._flat:
            raise DataError(
                f"GaussianConditionalRegressor: y must have the shape it had before, one number for each row or a "
                f"matrix; got {source.target_shape} a row. Reshape it, or call fit."
            )
        return self._learn(source, seen)

    def _learn(self, source: Source, seen: GaussianState | None) -> "GaussianConditionalRegressor":
        width = source.n_features + source.n_targets
        require_memory("GaussianConditionalRegressor", 32 * width**2, "the joint covariance", "select columns")
        fitted = partial(self._read_state, dtype=source.host_dtype, flat=source.target_shape == ())
        outcome = self._drive(lambda start: _condition(seen, source.n_features, self.tol), source, fitted=fitted)
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        if self.rank_ < source.n_features:
            warnings.warn(
                f"GaussianConditionalRegressor: {source.n_features} columns vary in {self.rank_} directions only, so "
                f"many coefficients fit equally well and those of least norm were taken; drop columns, or use Ridge.",
                LinAlgWarning,
                stacklevel=6,
            )
        self._conclude(outcome)
        return self

    def _read_state(self, state: GaussianState, dtype: np.dtype, flat: bool) -> dict[str, Any]:
        """Return the fitted attributes; if `flat`, the targets have no axis."""
        d = state.coef.shape[0]
        # The moments are sums; ddof = 1 gives the unbiased covariance.
        freedom = max(state.weight - self.ddof, np.finfo(np.float64).tiny)
        coef, intercept = state.coef.T, state.mean[d:] - state.mean[:d] @ state.coef
        return {
            "coef_": (coef[0] if flat else coef).astype(dtype),
            "intercept_": dtype.type(intercept[0]) if flat else intercept.astype(dtype),
            "location_": state.mean.astype(dtype),
            "covariance_": (state.scatter / freedom).astype(dtype),
            "conditional_covariance_": (state.rest / freedom).astype(dtype),
            "rank_": state.rank,
            "n_samples_seen_": state.weight,
            "solver_used_": "joint moments",
            "_seen": state,
            "_flat": flat,
        }

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the targets of each row.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return the standard deviations of the targets too, the same for every row.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Conditional means.
        deviation : ndarray of the shape of y
            Conditional standard deviations, with `return_std`.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        check_is_fitted(self)
        deviation = np.sqrt(np.diagonal(self.conditional_covariance_))
        return mean, np.broadcast_to(deviation[0] if self._flat else deviation, mean.shape).copy()


def _condition(seen: GaussianState | None, n_features: int, tol: float) -> Solver:
    joint = yield JointMoments()
    sums = MomentSums(float(joint.weight), np.array(joint.mean), np.array(joint.scatter))
    if seen is not None:
        # Moments of batches merge exactly, so partial fits equal one fit.
        sums = MomentSums(seen.weight, seen.mean, seen.scatter) + sums
    coef, rest, rank = yield Dense(partial(_solve, sums.scatter, n_features, tol), n_features > HEAVY)
    state = GaussianState(sums.weight, sums.mean, sums.scatter, coef, rest, rank)
    # E(y | x) has coefficients S_xx^-1 S_xy; the gradient S_xy - S_xx coef certifies them.
    inner, cross = sums.scatter[:n_features, :n_features], sums.scatter[:n_features, n_features:]
    squares = float(np.trace(inner)), float(np.trace(sums.scatter[n_features:, n_features:]))
    certificate = gradient_certificate(cross - inner @ coef, *squares, _TOLERANCE)
    yield Step(float(np.trace(rest)), state, certificate)
    return Solution(state, True, certificate)


def _solve(scatter: np.ndarray, n_features: int, tol: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return coefficients, the scatter of the targets that they leave, and the rank of the inputs.

    Columns are brought to one scale first, so that their units do not decide which directions count.
    """
    inner, cross = scatter[:n_features, :n_features], scatter[:n_features, n_features:]
    spread = np.sqrt(np.diagonal(inner))
    scale = np.where(spread > 0, spread, 1.0)
    values, directions = np.linalg.eigh(inner / scale / scale[:, None])
    kept = values > max(tol, n_features * np.finfo(np.float64).eps) * max(values[-1], 0.0)
    # coef = Sxx^+ Sxy, and the rest is the Schur complement Syy - Syx Sxx^+ Sxy.
    along = directions[:, kept].T @ (cross / scale[:, None])
    coef = directions[:, kept] @ (along / values[kept, None]) / scale[:, None]
    rest = scatter[n_features:, n_features:] - along.T @ (along / values[kept, None])
    # Rounding must not make a variance negative.
    np.fill_diagonal(rest, np.maximum(np.diagonal(rest), 0.0))
    return coef, (rest + rest.T) / 2.0, int(kept.sum())


@dataclass(frozen=True)
class JointMoments(Statistic):
    """Weight, mean and scatter of the columns [X, y]."""

    def of(self, block: Block) -> MomentSums:
        return Moments().of(_join_columns(block))

    def on(self, block: Block) -> Any:
        """Sum by the compiled twin of the moments, if the rows allow it."""
        return Moments().on(_join_columns(block))


def _join_columns(block: Block) -> Block:
    xp, y = block.xp, targets(block)
    if block.is_sparse:
        rows = csr_array(hstack([block.X.astype(np.float64, copy=False), csr_array(y)], format="csr"))
    else:
        rows = xp.concat([xp.astype(block.X, y.dtype, copy=False), y], axis=1)
    return type(block)(rows, block.start, None, block.weight, xp, block.wide)
