"""Huber regression: squared errors, absolute errors for outliers, and the scale that separates the two."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.linear.prediction import LinearRegressor, SingleTarget
from mercer._base.parameter import Boolean, Integer, Nothing, Real, parameter
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, flags, floats
from mercer.linear_model._solvers.composite.scaled_huber import HuberProblem, HuberState, minimise_scaled_huber


class HuberRegressor(SingleTarget, LinearRegressor):
    """Linear regression that outliers do not sway, by Huber's loss with its scale.

    Minimises, over coefficients w (``coef_``), intercept b (``intercept_``) and scale v (``scale_``),

        J(w, b, v) = sum_i s_i v (1 + H((y_i - w . x_i - b) / v)) + alpha |w|^2

    with s the ``sample_weight``, H(t) = t^2 for |t| <= epsilon and 2 epsilon |t| - epsilon^2 beyond. The scale makes
    the fit, and what counts as an outlier, independent of the units of y.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    scale_ : float
        The scale, in units of y.
    outliers_ : ndarray of shape (n_samples,)
        Which rows are more than `epsilon` scales off; of rows in memory or on a device.
    n_iter_ : int
        Steps taken.
    history_, converged_, certificate_
        How the fit went. The certificate is a duality gap: J is at most that far above its minimum. Without a penalty
        it is the gradient.

    Notes
    -----
    Newton's method on w, b and v together: some eight steps, each two passes over the rows, n d and n d^2 / 2
    multiplications, and d^2 numbers of memory. Exact up to `tol`. Rows in any place; sparse ones stay sparse. If a
    plane meets all rows, the scale stops at 1e-10 deviations of y.

    References
    ----------
    P. J. Huber, Robust Statistics, 1981. A. B. Owen, A robust hybrid of lasso and ridge regression, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import HuberRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3.0 * X[:, 0] + np.tile([0.1, -0.1], 10)
    >>> y[-1] += 1000.0
    >>> model = HuberRegressor().fit(X, y)
    >>> round(float(model.coef_[0]), 2), int(model.outliers_.sum())
    (3.0, 1)
    """

    epsilon: float = parameter(
        Real(1),
        default=1.35,
        doc="How many scales off a row must be to count as an outlier; 1.35 keeps 95 % efficiency under Gaussian "
        "noise.",
    )
    max_iter: int = parameter(Integer(0), default=100, doc="The most steps.")
    alpha: float = parameter(Real(0), default=0.0001, doc="Strength of the l2 penalty.")
    warm_start: bool = parameter(Boolean(), default=False, doc="Whether to start from the last fit's solution.")
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    tol: float = parameter(
        Real(0),
        default=1e-05,
        doc="The fit ends when the duality gap is at most this share of J; without a penalty, when no entry of the "
        "gradient (per unit of weight and deviation of its column) is above it.",
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _stored: ClassVar[dict[str, Stored]] = {
        "scale_": floats(),
        "outliers_": flags("rows"),
    }
    _absences: ClassVar[dict[str, str]] = {
        "outliers_": "outliers_ is kept only of rows in memory or on a device; compare the absolute residuals of "
        "others with epsilon * scale_."
    }
    _depends_on_units = ("columns", "scale", "place", "target")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "HuberRegressor":
        """Fit the model."""
        source = self._open_single(X, y, sample_weight)
        n_bytes = 16.0 * source.n_features**2 * (1 + source.threads)
        require_memory(
            "HuberRegressor", n_bytes, "the Hessian", "use GeneralizedLinearEstimator(loss='huber', solver='fista')"
        )
        problem = HuberProblem(float(self.epsilon), float(self.alpha), self.fit_intercept, self.tol)
        begin = self._last(source)
        outcome = self._drive(
            lambda state: minimise_scaled_huber(problem, begin if state is None else state, self.max_iter),
            source,
            fitted=partial(self._read_state, dtype=source.host_dtype),
            max_steps=max(1, self.max_iter),
        )
        # A refit on rows elsewhere must not keep the outliers of the last rows.
        self.__dict__.pop("outliers_", None)
        if source.place in ("memory", "device"):
            self.outliers_ = source.map(_Outlying(outcome.state.parameters, outcome.state.scale * self.epsilon))
        self._conclude(outcome)
        return self

    def _last(self, source: Source) -> HuberState | None:
        """Return the last solution, if the fit should start from it."""
        if not (self.warm_start and hasattr(self, "coef_")) or self.coef_.shape != (source.n_features,):
            return None
        parameters = np.append(to_numpy(self.coef_), to_numpy(self.intercept_)).astype(np.float64)
        return HuberState(parameters, float(self.scale_), 0)

    def _read_state(self, state: HuberState, dtype: np.dtype) -> dict[str, Any]:
        """Return the coefficients, the intercept and the scale."""
        parameters = state.parameters.astype(dtype)
        intercept = parameters[-1] if self.fit_intercept else 0.0
        return {"coef_": parameters[:-1].copy(), "intercept_": intercept, "scale_": float(state.scale)}


@dataclass(frozen=True, eq=False)
class _Outlying:
    """Whether the absolute residual of each row of a block exceeds `reach`."""

    parameters: Any
    reach: float

    def __call__(self, block: Block) -> Any:
        scores = block.matmul(self.parameters[:-1]) + self.parameters[-1]
        return block.xp.abs(block.xp.astype(block.y, scores.dtype) - scores) > self.reach
