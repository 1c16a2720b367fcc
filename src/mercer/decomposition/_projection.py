"""Projection, restoration and likelihood of rows by a fitted principal component analysis."""

import math
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from mercer._base import open_new_rows
from mercer._base.linear_map import LinearMap, MethodOnBlock
from mercer._source import Block
from mercer._source.namespace import multiply_within_rows, namespace_of
from mercer._source.placement import Placement
from mercer._stored import Stored, floats, size
from mercer._types import Array


class Projection(LinearMap):
    """Transforms by ``components_``, ``mean_`` and, where the class has them, ``scale_`` and whitening.

    The density is that of probabilistic PCA (Tipping and Bishop 1999): a Gaussian with covariance
    W^T diag(max(lambda - sigma^2, 0)) W + sigma^2 I, W the components, sigma^2 the noise variance.
    """

    whiten_floor: float = 0.0

    _stored: ClassVar[dict[str, Stored]] = {
        "explained_variance_ratio_": floats("components"),
        "noise_variance_": floats(),
        "n_components_": size("components"),
    }

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row under the probabilistic model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-densities.
        """
        return open_new_rows(self, X, logarithms=True).map(MethodOnBlock.of(self, "_log_densities"))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows; `y` is ignored."""
        densities = self.score_samples(X)
        return float(namespace_of(densities).mean(densities))

    def get_covariance(self) -> Array:
        """Return the covariance of the probabilistic model, (n_features, n_features); whitening does not change it."""
        check_is_fitted(self)
        variances, noise = self._variances()
        scale = self._scale()
        return self._expand(variances - noise, noise, None if scale is None else _wide(scale))

    def get_precision(self) -> Array:
        """Return the inverse of :meth:`get_covariance`, from the components without inverting a matrix."""
        check_is_fitted(self)
        variances, noise = self._variances(floor=True)
        rest = 0.0 if self.components_.shape[0] == self.components_.shape[1] else 1.0 / noise
        scale = self._scale()
        return self._expand(1.0 / variances - rest, rest, None if scale is None else 1.0 / _wide(scale))

    def _expand(self, along: Array, across: float, scale: Array) -> Array:
        """Return W^T diag(along) W + across I, rows and columns times `scale`, in the type of the components."""
        xp, W = namespace_of(self.components_), _wide(self.components_)
        matrix = (W.T * along) @ W + across * xp.eye(W.shape[1], dtype=W.dtype, device=W.device)
        if scale is not None:
            matrix = matrix * (scale[:, None] * scale[None, :])
        return xp.astype(matrix, self.components_.dtype, copy=False)

    def _scale(self) -> Array:
        """Return the divisor of the centred columns, (d,), or None."""
        return getattr(self, "scale_", None)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[1] if isinstance(self.whiten, str) else self.components_.shape[0]

    def _variances(self, *, floor: bool = False) -> tuple[Array, float]:
        """Return the variances along and across the components; with `floor` none is below rounding of the largest."""
        variances, noise = _wide(self.explained_variance_), float(self.noise_variance_)
        xp = namespace_of(variances)
        if floor:
            kind = xp.finfo(variances.dtype)
            largest = max(float(xp.max(variances)), noise) if variances.shape[0] else noise
            noise = max(noise, tiny := float(kind.eps) * largest or float(kind.smallest_normal))
            variances = xp.clip(variances, tiny, None)
        return xp.clip(variances, float(self.noise_variance_), None), noise

    def _centre(self, rows: Array) -> Array:
        rows = rows - self.mean_
        scale = self._scale()
        return rows if scale is None else rows / scale

    def _map_few(self, rows: Array) -> Array:
        return self._finish(self._centre(rows) @ self.components_.T)

    def _scores(self, block: Block) -> Array:
        if not block.is_sparse:
            return self._finish(block.xp.matmul(self._centre(block.X), self.components_.T))
        scale = self._scale()
        axes = self.components_ if scale is None else self.components_ / scale
        return self._finish(block.matmul(axes.T) - axes @ self.mean_)

    def _finish(self, scores: Array) -> Array:
        if not self.whiten:
            return scores
        scores /= self._deviations()
        return namespace_of(scores).matmul(scores, self.components_) if isinstance(self.whiten, str) else scores

    def _deviations(self) -> Array:
        """Return the standard deviations that whitening divides by, at least eps: rank-deficient data stays finite."""
        variances = self.explained_variance_
        xp = namespace_of(variances)
        if self.whiten_floor and variances.shape[0]:
            variances = xp.maximum(variances, self.whiten_floor * xp.max(variances))
        return xp.clip(xp.sqrt(variances), float(xp.finfo(variances.dtype).eps), None)

    def _restore(self, scores: Array) -> Array:
        matmul = namespace_of(scores).matmul
        if isinstance(self.whiten, str):
            scores = matmul(scores, self.components_.T)
        if self.whiten:
            scores = scores * self._deviations()
        rows, scale = matmul(scores, self.components_), self._scale()
        return rows + self.mean_ if scale is None else rows * scale + self.mean_

    def _log_densities(self, block: Block) -> Array:
        xp = block.xp
        variances, noise = self._variances(floor=True)
        rows = xp.astype(self._centre(block.X), block.wide, copy=False)
        W = xp.astype(self.components_, block.wide, copy=False)
        scores = rows @ W.T
        squares = multiply_within_rows(scores / variances, scores, xp)
        # Directions outside the components have the noise variance.
        missing = W.shape[1] - W.shape[0]
        logarithm = float(xp.sum(xp.log(variances)))
        if missing:
            # The part outside the components is computed row by row: |x|^2 - |scores|^2 would cancel.
            squares = squares + multiply_within_rows(rest := rows - scores @ W, rest, xp) / noise
            logarithm += missing * math.log(noise)
        # Rows were divided by the scales: the density of the rows themselves has their Jacobian.
        if (scale := self._scale()) is not None:
            logarithm += 2 * float(xp.sum(xp.log(xp.astype(scale, block.wide, copy=False))))
        densities = -0.5 * (squares + logarithm + W.shape[1] * math.log(2 * math.pi))
        return xp.astype(densities, block.X.dtype, copy=False)


def _wide(array: Array) -> Array:
    """Return `array` in the widest type that its device has."""
    return namespace_of(array).astype(array, Placement.of(array).wide, copy=False)
