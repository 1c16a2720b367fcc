"""What linear models with a posterior of their coefficients share: priors, and predictions with deviations."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import open_new_rows
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Boolean, Integer, Nothing, Real, parameter
from mercer._source import Block
from mercer._stored import Stored, floats


class PosteriorRegressor(LinearRegressor):
    """A linear model y ~ N(b + x . w, 1 / alpha) with a posterior N(coef_, S) of w."""

    max_iter: int = parameter(Integer(1), default=300, doc="The most steps.")
    tol: float = parameter(Real(0), default=1e-3)
    alpha_1: float = parameter(
        Real(0, closed="left"),
        default=1e-6,
        doc="Shape of the Gamma prior on alpha: alpha_1 log alpha - alpha_2 alpha is added to the log evidence.",
    )
    alpha_2: float = parameter(Real(0, closed="left"), default=1e-6, doc="Rate of the prior on alpha.")
    lambda_1: float = parameter(Real(0, closed="left"), default=1e-6, doc="Shape of the Gamma prior on lambda.")
    lambda_2: float = parameter(Real(0, closed="left"), default=1e-6, doc="Rate of the prior on lambda.")
    compute_score: bool = parameter(
        Boolean(), default=False, doc="Whether to keep the log evidence of each step in ``scores_``."
    )
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    verbose: bool = parameter(Boolean() | Integer(0), default=False)
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(),
        "X_offset_": floats("columns"),
        "X_scale_": floats("columns"),
        "scores_": floats("*"),
    }

    @abstractmethod
    def _describe_posterior(self) -> tuple[np.ndarray, float]:
        """Return the covariance of all coefficients, and the weight of the rows."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return the standard deviation of the prediction too: of the noise, 1 / alpha, of the
            coefficients, x S x^T with x centred, and of the intercept, 1 / (alpha n).

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The mean of the predictive distribution.
        deviation : ndarray of shape (n_samples,)
            Its standard deviation, with `return_std`.
        """
        if not return_std:
            return super().predict(X)
        check_is_fitted(self)
        covariance, weight = self._describe_posterior()
        # The noise of the target and that of the mean of y, which the intercept carries.
        floor = (1.0 + (1.0 / weight if self.fit_intercept else 0.0)) / self.alpha_
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(Predictive(self.coef_, self.intercept_, self.X_offset_, covariance, floor))

    def log_likelihood(self, X: Any, y: Any) -> float:
        """Return the log density of targets at the posterior mean, sum_i log N(y_i; prediction_i, 1 / alpha_).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        value : float
        """
        residual = self.residuals(X, y).astype(np.float64)
        constant = len(residual) * math.log(self.alpha_ / (2 * math.pi))
        return 0.5 * (constant - self.alpha_ * float(residual @ residual))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@dataclass(frozen=True, eq=False)
class Predictive:
    """Mean and standard deviation of the predictions for the rows of a block."""

    coef: Any
    intercept: Any
    offset: Any
    covariance: Any
    floor: float

    def __call__(self, block: Block) -> tuple[Any, Any]:
        xp = block.xp
        mean = block.matmul(self.coef) + self.intercept
        rows = block.centre(self.offset)
        variance = xp.sum((rows @ xp.astype(self.covariance, rows.dtype, copy=False)) * rows, axis=1) + self.floor
        return mean, xp.astype(xp.sqrt(variance), mean.dtype, copy=False)
