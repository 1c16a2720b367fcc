"""What a fitted principal component analysis does: project, restore, and score rows under its Gaussian model."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import few_rows, fitted_source
from mercer._source import Block, open_source
from mercer.errors import DataError

__all__ = ["Projection"]

Array = Any


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transforms by ``components_``, ``mean_`` and, where the class has them, ``scale_`` and whitening.

    The density is that of probabilistic PCA (Tipping and Bishop 1999): a Gaussian with covariance
    W^T diag(max(lambda - sigma^2, 0)) W + sigma^2 I, W the components, sigma^2 the noise variance.
    """

    whiten_floor: float = 0.0

    def transform(self, X: Any) -> Array:
        """Project rows on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores; with ``whiten`` of unit variance, with ``whiten="zca"`` turned back to the features.
        """
        if (rows := few_rows(self, X)) is not None:
            return self._finish(self._centre(rows) @ self.components_.T)
        return fitted_source(self, X, accept_sparse="csr").map(self._scores)

    def inverse_transform(self, X: Any) -> Array:
        """Restore rows from their scores: exact up to what the components left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as :meth:`transform` makes them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
        if X.shape[1] != self._n_features_out:
            message = (
                f"{type(self).__name__}: X has {X.shape[1]} columns, but inverse_transform expects "
                f"{self._n_features_out}, one per component; give what transform returned."
            )
            raise DataError(message)
        return open_source(X, threads=self._threads()).map(lambda block: self._restored(block.X))

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of each row under the probabilistic model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-densities.
        """
        return fitted_source(self, X).map(self._log_densities)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows; `y` is ignored."""
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> Array:
        """Covariance of the probabilistic model, of shape (n_features, n_features); whitening does not change it."""
        check_is_fitted(self)
        variances, noise = self._variances()
        W = self.components_.astype(np.float64)
        covariance = (W.T * (variances - noise)) @ W + noise * np.eye(W.shape[1])
        if (scale := self._scale()) is not None:
            covariance *= np.outer(scale, scale)
        return covariance.astype(self.components_.dtype, copy=False)

    def get_precision(self) -> Array:
        """Inverse of :meth:`get_covariance`, from the components without inverting a matrix."""
        check_is_fitted(self)
        variances, noise = self._variances(floor=True)
        W = self.components_.astype(np.float64)
        rest = 0.0 if W.shape[0] == W.shape[1] else 1.0 / noise
        precision = (W.T * (1.0 / variances - rest)) @ W + rest * np.eye(W.shape[1])
        if (scale := self._scale()) is not None:
            precision /= np.outer(scale, scale)
        return precision.astype(self.components_.dtype, copy=False)

    def _scale(self) -> Array:
        """What centred columns are divided by; None for nothing."""
        return getattr(self, "scale_", None)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[1] if isinstance(self.whiten, str) else self.components_.shape[0]

    def _variances(self, *, floor: bool = False) -> tuple[Array, float]:
        """Variances along the components and across them; with `floor` none is below rounding of the largest."""
        variances, noise = self.explained_variance_.astype(np.float64), float(self.noise_variance_)
        if floor:
            tiny = np.finfo(np.float64).eps * variances.max(initial=noise) or np.finfo(np.float64).tiny
            variances, noise = np.maximum(variances, tiny), max(noise, tiny)
        return np.maximum(variances, self.noise_variance_), noise

    def _centre(self, rows: Array) -> Array:
        rows = rows - self.mean_
        scale = self._scale()
        return rows if scale is None else rows / scale

    def _scores(self, block: Block) -> Array:
        if not block.is_sparse:
            return self._finish(self._centre(block.X) @ self.components_.T)
        scale = self._scale()
        axes = self.components_ if scale is None else self.components_ / scale
        return self._finish(block.matmul(axes.T) - axes @ self.mean_)

    def _finish(self, scores: Array) -> Array:
        if not self.whiten:
            return scores
        scores /= self._deviations()
        return scores @ self.components_ if isinstance(self.whiten, str) else scores

    def _deviations(self) -> Array:
        """Standard deviations that whitening divides by: floored, so that rank-deficient data stays finite."""
        variances = self.explained_variance_
        variances = np.maximum(variances, self.whiten_floor * variances.max(initial=0.0))
        return np.maximum(np.sqrt(variances), np.finfo(variances.dtype).eps)

    def _restored(self, scores: Array) -> Array:
        if isinstance(self.whiten, str):
            scores = scores @ self.components_.T
        if self.whiten:
            scores = scores * self._deviations()
        rows, scale = scores @ self.components_, self._scale()
        return rows + self.mean_ if scale is None else rows * scale + self.mean_

    def _log_densities(self, block: Block) -> Array:
        variances, noise = self._variances(floor=True)
        rows = self._centre(block.X).astype(np.float64, copy=False)
        W = self.components_.astype(np.float64, copy=False)
        scores = rows @ W.T
        squares = (scores**2 / variances).sum(axis=1)
        missing = W.shape[1] - W.shape[0]
        logarithm = np.log(variances).sum()
        if missing:
            # The part off the components is taken row by row: |x|^2 - |scores|^2 would cancel.
            squares += ((rows - scores @ W) ** 2).sum(axis=1) / noise
            logarithm += missing * np.log(noise)
        if (scale := self._scale()) is not None:
            logarithm += 2 * np.log(scale).sum()
        densities = -0.5 * (squares + logarithm + W.shape[1] * np.log(2 * np.pi))
        return densities.astype(block.X.dtype, copy=False)
