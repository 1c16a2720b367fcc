"""What all linear regressors share: targets in, coefficients stored, predictions out."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, open_new_rows
from mercer._base.interface import MultiOutputMixin
from mercer._base.parameter import Integer, Nothing, attribute, parameter
from mercer._base.scoring import RegressorMixin
from mercer._solver import Outcome
from mercer._solver.linear_state import LinearState
from mercer._source import Block, Source, place_of
from mercer._source.device.check import check_targets
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._statistic import Moments
from mercer._statistic.products import Residual
from mercer._stored import Stored, floats, numbers
from mercer.errors import DataError, ModelFileError


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The predictions for the rows of a block."""

    columns: Any
    intercept: Any

    def __call__(self, block: Block) -> Any:
        return block.matmul(self.columns) + self.intercept


def target_columns(y: np.ndarray) -> np.ndarray:
    """Return targets as float64 columns."""
    return np.asarray(y if y.ndim == 2 else y[:, None], dtype=np.float64)


def determination(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return R^2 of a fitted linear model on rows in any place, in two passes."""
    check_is_fitted(model)
    source = model._open(X, y, sample_weight, targets="numbers", reset=False)
    coef = np.atleast_2d(to_numpy(model.coef_)).T.astype(np.float64)
    intercept = np.atleast_1d(to_numpy(model.intercept_)).astype(np.float64) + np.zeros(coef.shape[1])
    left = source.reduce(Residual(coef, np.zeros(coef.shape[0]), intercept)).squares
    total = source.reduce(Moments(diagonal=True)).y_scatter
    # As in scikit-learn, a constant target has R^2 = 1 if predicted exactly and 0 otherwise.
    shares = np.where(total > 0, left / np.where(total > 0, total, 1.0), (left > 0).astype(np.float64))
    return float(np.mean(1.0 - shares))


class SingleTarget:
    """Mixin of regressors with one target a row."""

    def _open_single(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Source:
        options |= {"targets": "numbers", "accept_sparse": "csr", "multi_output": False}
        source = self._open(X, y, sample_weight, **options)  # type: ignore[attr-defined]
        if source.target_shape != ():
            raise DataError(
                f"{type(self).__name__}: y must be one number a row; got rows of shape {source.target_shape}."
            )
        return source

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.multi_output = False
        return tags


class LinearRegressor(MultiOutputMixin, RegressorMixin, Estimator):
    """Predicts X coef_^T + intercept_."""

    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _stored: ClassVar[dict[str, Stored]] = {
        "coef_": numbers("columns | targets, columns"),
        "intercept_": floats(" | targets | 1"),
    }
    fit_intercept: bool = attribute()
    coef_: np.ndarray = attribute()
    intercept_: Any = attribute()
    _takes_sparse = True

    def _check_structure(self) -> None:
        if "coef_" in vars(self) and self.coef_.ndim == 1 and np.size(self.intercept_) != 1:
            raise ModelFileError(
                f"{type(self).__name__}.intercept_ must be one number; the file has {np.size(self.intercept_)}."
            )

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row."""
        if (rows := few_rows(self, X)) is not None:
            return rows @ self.coef_.T + self.intercept_
        # Rows in other places, or many rows, go block by block.
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(_Fitted(self.coef_.T if self.coef_.ndim == 2 else self.coef_, self.intercept_))

    def residuals(self, X: Any, y: Any) -> np.ndarray:
        """Return the targets minus the predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.

        Returns
        -------
        residuals : ndarray of the shape of `y`
        """
        fitted = self.predict(X)
        if not is_on_device(fitted):
            return np.asarray(y) - fitted
        return check_targets(y, fitted.shape[0], "numbers", Placement.of(fitted), type(self).__name__) - fitted

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R^2 = 1 - RSS / TSS, averaged over targets."""
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        return determination(self, X, y, sample_weight)

    def _linear_attributes(self, state: Any, dtype: Any, flat_coef: bool, flat_intercept: bool) -> dict[str, Any]:
        """Return the attributes of a model; one target loses its axis where scikit-learn drops it."""
        # The solvers hold coefficients as (d, n_targets); scikit-learn's attribute is (n_targets, d).
        coef = state.coef.T.astype(dtype)
        intercept = state.intercept.astype(dtype)
        return {
            "coef_": coef[0] if flat_coef else coef,
            "intercept_": 0.0 if not self.fit_intercept else intercept[0] if flat_intercept else intercept,
            "solver_used_": state.method,
        }

    def _complete(self, outcome: Outcome) -> None:
        """Mark a closed form as converged after its one step, even if a watch asked to stop there."""
        if isinstance(outcome.state, LinearState) and outcome.interrupt is None:
            outcome.converged, outcome.reason = True, "converged"
            self.converged_ = True
