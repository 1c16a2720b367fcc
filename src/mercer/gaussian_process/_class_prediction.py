"""Predictions of a Gaussian process classifier: classes, probabilities, the latent function."""

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, open_new_rows
from mercer._base.model_placement import check_placement
from mercer._base.parameter import attribute
from mercer._base.validation import check_rows
from mercer._source import place_of
from mercer._source.placement import Placement, is_on_device
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.gaussian_process._covariance import make_covariance, make_default_kernel, takes_vectors
from mercer.gaussian_process._device_laplace import average_sigmoids_on_device, predict_latent_on_device
from mercer.gaussian_process._laplace import LaplaceModel, average_sigmoids, predict_latent

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
        xp, rows, _ = self._read_rows(X)
        if self.n_classes_ == 2:
            mean, _ = self._predict_latent(xp, rows, 0, variance=False)
            chosen = xp.astype(mean > 0, xp.int64)
        elif self.multi_class == "one_vs_rest":
            chosen = xp.argmax(self._compute_probabilities(xp, rows), axis=1)
        else:
            chosen = xp.argmax(self._count_votes(xp, rows), axis=1)
        return xp.take(self.classes_, chosen, axis=0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        xp, rows, dtype = self._read_rows(X)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise UnsupportedError(
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
        return xp.astype(self._compute_probabilities(xp, rows), dtype, copy=False)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the latent function of two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,)
        """
        xp, rows, dtype = self._read_rows(X)
        if self.n_classes_ > 2:
            raise UnsupportedError(
                "Returning the mean and variance of the latent function f is only supported for binary "
                "classification, received "
                f"{self.n_classes_} classes."
            )
        mean, variance = self._predict_latent(xp, rows, 0)
        return xp.astype(mean, dtype, copy=False), xp.astype(variance, dtype, copy=False)

    def _points(self, number: int) -> Any:
        """Return the rows of problem `number`, vectors in the widest type of where they are."""
        rows = self.models_[number].rows
        if is_on_device(self.X_train_):
            placement = Placement.of(self.X_train_)
            return placement.xp.astype(placement.xp.take(self.X_train_, rows, axis=0), placement.wide)
        points = self.X_train_[rows]
        return points.astype(np.float64, copy=False) if takes_vectors(self._prior()) else points

    def _read_rows(self, X: Any) -> tuple[Any, Any, Any]:
        """Return the namespace of rows to predict, the rows in its widest type, and the type of the answer."""
        check_is_fitted(self)
        if not takes_vectors(self._prior()):
            return np, np.asarray(X), np.float64
        if place_of(X) == "device":
            source = open_new_rows(self, X)
            return source.xp, source.xp.astype(source.whole(), source.placement.wide), source.dtype
        rows = few_rows(self, X)
        if rows is None:
            check_placement(self, X)
            rows = check_rows(self, X, reset=False)
        return np, rows.astype(np.float64, copy=False), rows.dtype

    def _predict_latent(self, xp: Any, X: Any, number: int, variance: bool = True) -> tuple[Array, Array]:
        """Return mean and variance of the latent function of problem `number`, computed tile by tile."""
        model = self.models_[number]
        kernel = make_covariance(self.kernels_[number], type(self).__name__)
        if xp is not np:
            return predict_latent_on_device(model, kernel, xp, self._points(number), X, variance)
        with one_blas_thread():
            points = kernel.prepare(self._points(number))
            size = max(1, _TILE // len(points))
            parts = [
                predict_latent(model, kernel, points, X[first : first + size], variance)
                for first in range(0, len(X), size)
            ]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]

    def _compute_probabilities(self, xp: Any, X: Any) -> Array:
        """Return the probability of each class: of two classes exactly, else by normalising those against the rest."""
        average = average_sigmoids if xp is np else partial(average_sigmoids_on_device, xp)
        second = xp.stack(
            [average(*self._predict_latent(xp, X, number)) for number in range(len(self.models_))], axis=1
        )
        if second.shape[1] == 1:
            return xp.concat([1.0 - second, second], axis=1)
        total = xp.sum(second, axis=1, keepdims=True)
        one = xp.ones_like(second)
        return xp.where(total > 0, second / xp.where(total > 0, total, one), one / second.shape[1])

    def _count_votes(self, xp: Any, X: Any) -> Array:
        """Return the votes of the pairs for each class; latent values, scaled below a vote, break ties."""
        votes = [0.0] * self.n_classes_
        for number, (i, j) in enumerate(combinations(range(self.n_classes_), 2)):
            mean, _ = self._predict_latent(xp, X, number, variance=False)
            sure = mean / (3.0 * (xp.abs(mean) + 1.0)) / len(self.models_)
            second = xp.astype(mean > 0, mean.dtype)
            votes[j] = votes[j] + (second + sure)
            votes[i] = votes[i] + (1.0 - second - sure)
        return xp.stack(votes, axis=1)
