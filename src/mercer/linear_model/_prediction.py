"""What all linear regressors share: targets in, coefficients stored, predictions out."""

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._base import Estimator, fitted_rows
from mercer._source import open_source

__all__ = ["LinearRegressor"]

# Up to this many numbers a prediction is one product on the calling thread.
_FEW = 2**16


class LinearRegressor(MultiOutputMixin, RegressorMixin, Estimator):
    """Predicts X coef_^T + intercept_."""

    coef_: np.ndarray
    intercept_: Any

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted targets.
        """
        X = fitted_rows(self, X, accept_sparse="csr")
        coef, intercept = self.coef_.T, self.intercept_
        if type(X) is np.ndarray and X.size <= _FEW:
            return X @ coef + intercept
        return open_source(X, threads=self._threads()).map(lambda block: block.matmul(coef) + intercept)

    def _fitted(self, state: Any) -> dict[str, Any]:
        coef, intercept = state.coef.T, state.intercept
        if self._n_targets == 0:
            coef, intercept = coef[0], intercept[0]
        if not self.fit_intercept:
            return {"coef_": coef.astype(self._dtype), "intercept_": 0.0}
        return {"coef_": coef.astype(self._dtype), "intercept_": intercept.astype(self._dtype)[()]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
