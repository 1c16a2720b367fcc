"""Predictions of a Gaussian process classifier: classes, probabilities, the latent function."""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows
from mercer._base.parameter import attribute
from mercer._base.validation import check_rows
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.gaussian_process._covariance import make_covariance, make_default_kernel, takes_vectors
from mercer.gaussian_process._laplace import LaplaceModel, average_sigmoids, predict_latent

__all__ = ["ClassPrediction"]

# Values in a tile of kernel values between rows to predict and points: 16 MB of float64.
_TILE = 2**21


class ClassPrediction(Estimator):
    """The methods of a fitted classifier."""

    multi_class: str = attribute()
    X_train_: Array = attribute()
    classes_: Array = attribute()
    n_classes_: int = attribute()
    kernels_: tuple[Any, ...] = attribute()
    models_: tuple[LaplaceModel, ...] = attribute()

    def _prior(self) -> Any:
        return make_default_kernel(fixed=True) if self.kernel is None else self.kernel

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        rows, _ = self._read_rows(X)
        if self.n_classes_ == 2:
            mean, _ = self._predict_latent(rows, 0, variance=False)
            return self.classes_[(mean > 0).astype(np.intp)]
        if self.multi_class == "one_vs_rest":
            return self.classes_[self._compute_probabilities(rows).argmax(axis=1)]
        return self.classes_[self._count_votes(rows).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        rows, dtype = self._read_rows(X)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            message = (
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
            raise UnsupportedError(message)
        return self._compute_probabilities(rows).astype(dtype, copy=False)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the latent function of two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,)
        """
        rows, dtype = self._read_rows(X)
        if self.n_classes_ > 2:
            message = (
                "Returning the mean and variance of the latent function f is only supported for binary "
                "classification, received "
                f"{self.n_classes_} classes."
            )
            raise UnsupportedError(message)
        mean, variance = self._predict_latent(rows, 0)
        return mean.astype(dtype, copy=False), variance.astype(dtype, copy=False)

    def _points(self) -> Any:
        vectors = takes_vectors(self._prior())
        return self.X_train_.astype(np.float64, copy=False) if vectors else self.X_train_

    def _read_rows(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        if not takes_vectors(self._prior()):
            return np.asarray(X), np.float64
        rows = few_rows(self, X)
        rows = check_rows(self, X, reset=False) if rows is None else rows
        return rows.astype(np.float64, copy=False), rows.dtype

    def _predict_latent(self, X: Any, number: int, variance: bool = True) -> tuple[Array, Array]:
        """Return mean and variance of the latent function of problem `number`, computed tile by tile."""
        model = self.models_[number]
        kernel = make_covariance(self.kernels_[number], type(self).__name__)
        with one_blas_thread():
            points = kernel.prepare(self._points()[model.rows])
            size = max(1, _TILE // len(points))
            parts = [
                predict_latent(model, kernel, points, X[first : first + size], variance)
                for first in range(0, len(X), size)
            ]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]

    def _compute_probabilities(self, X: Any) -> Array:
        """Return the probability of each class: of two classes exactly, else by normalising those against the rest."""
        second = np.stack(
            [average_sigmoids(*self._predict_latent(X, number)) for number in range(len(self.models_))], axis=1
        )
        if second.shape[1] == 1:
            return np.hstack([1.0 - second, second])
        total = second.sum(axis=1, keepdims=True)
        return np.where(total > 0, second / np.where(total > 0, total, 1.0), 1.0 / second.shape[1])

    def _count_votes(self, X: Any) -> Array:
        """Return the votes of the pairs for each class; latent values, scaled below a vote, break ties."""
        votes = np.zeros((len(X), self.n_classes_))
        for number, (i, j) in enumerate(combinations(range(self.n_classes_), 2)):
            mean, _ = self._predict_latent(X, number, variance=False)
            sure = mean / (3.0 * (np.abs(mean) + 1.0)) / len(self.models_)
            votes[:, j] += (mean > 0) + sure
            votes[:, i] += (mean <= 0) - sure
        return votes
