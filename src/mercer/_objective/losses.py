"""Losses of linear scores, as array-API functions of a block's scores.

Scores have shape (n, k): k = 1 for the logistic loss, one column per class for softmax. Each loss gives its value per
row, its residual (the derivative with respect to the scores), its curvature (the second derivative) and its conjugate.
The compiled twins of the two sums that every pass needs are in ``_native/losses.py``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native import gradients
from mercer._native import losses as native_losses

__all__ = ["Logistic", "Loss", "Softmax"]

Array = Any
_NO_WEIGHT = np.empty(0)
# Rows whose scores are made at once: a divisor of every block's rows, and few enough to stay in the cache.
_TILE = 256


class Loss:
    """A convex loss of scores; subclasses are frozen dataclasses."""

    @property
    def n_scores(self) -> int:
        """Scores per row."""
        raise NotImplementedError  # each loss below defines its own

    @property
    def n_classes(self) -> int:
        """Classes that the scores tell apart."""
        raise NotImplementedError  # each loss below defines its own

    def value(self, scores: Array, y: Array, xp: Any) -> Array:
        """The loss of each row."""
        raise NotImplementedError  # each loss below defines its own

    def mean(self, scores: Array, xp: Any) -> Array:
        """The expected target given the scores, of the shape of the scores: what residuals are taken from."""
        raise NotImplementedError  # each loss below defines its own

    def residual(self, scores: Array, y: Array, xp: Any) -> Array:
        """Derivative of the loss with respect to the scores: mean minus target."""
        return self.mean(scores, xp) - self.targets(y, xp, scores.dtype)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        """The targets in the shape of the scores, in `dtype`, which is float64 where none is given."""
        raise NotImplementedError  # each loss below defines its own

    def sum_with_residual(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Weighted sum of the losses; `scores` (float64, NumPy) become the weighted residuals. Compiled."""
        raise NotImplementedError  # each loss below defines its own

    def add_gradients(
        self,
        X: np.ndarray,
        unit: int,
        y: np.ndarray,
        weight: np.ndarray | None,
        parameters: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add to `out` (m, k, d + 2), for m blocks of `unit` rows, the gradient by `parameters` (k, d + 1) and, last in
        the first row, the weighted sum of the losses. Compiled.
        """
        raise NotImplementedError  # each loss below defines its own


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(z)) - y z for y in {0, 1}: minus the log-likelihood of P(y = 1) = 1 / (1 + exp(-z))."""

    n_scores = 1
    n_classes = 2

    def value(self, scores: Array, y: Array, xp: Any) -> Array:
        z = scores[:, 0]
        return xp.maximum(z, xp.zeros_like(z)) + xp.log1p(xp.exp(-xp.abs(z))) - y * z

    def mean(self, scores: Array, xp: Any) -> Array:
        small = xp.exp(-xp.abs(scores))
        return xp.where(scores < 0, small, xp.ones_like(small)) / (1.0 + small)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        return xp.astype(y, xp.float64 if dtype is None else dtype, copy=False)[:, None]

    def curvature(self, scores: Array, xp: Any) -> Array:
        """p (1 - p), of shape (n, 1); at most 1/4 (Boehning and Lindsay, 1988)."""
        p = self.mean(scores, xp)
        return p * (1.0 - p)

    # Second derivative at z = 0, where fits start.
    start_curvature = 0.25

    def conjugate(self, mean: Array, xp: Any) -> Array:
        """The conjugate at ``mean - y``: p log p + (1 - p) log(1 - p), for p in [0, 1]."""
        return _negative_entropy(mean[:, 0], xp) + _negative_entropy(1.0 - mean[:, 0], xp)

    def sum_with_residual(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        flat = scores.reshape(-1)
        if weight is None:
            return native_losses.logistic(flat, y)
        return native_losses.weighted_logistic(flat, y, weight)

    def add_gradients(
        self,
        X: np.ndarray,
        unit: int,
        y: np.ndarray,
        weight: np.ndarray | None,
        parameters: np.ndarray,
        out: np.ndarray,
    ) -> None:
        weight = _NO_WEIGHT if weight is None else weight
        gradients.logistic_run(
            X, unit, y, weight, np.ascontiguousarray(parameters[0]), np.empty(_TILE), out.reshape(len(out), -1)
        )


@dataclass(frozen=True)
class Softmax(Loss):
    """log(sum_j exp(z_j)) - z_y for y in {0, ..., K - 1}: minus the log-likelihood of P(j) ~ exp(+z_j)."""

    n_classes: int = 3

    @property
    def n_scores(self) -> int:
        return self.n_classes

    def value(self, scores: Array, y: Array, xp: Any) -> Array:
        most = xp.max(scores, axis=1, keepdims=True)
        shifted = scores - most
        chosen = xp.sum(shifted * self.targets(y, xp, scores.dtype), axis=1)
        return xp.log(xp.sum(xp.exp(shifted), axis=1)) - chosen

    def mean(self, scores: Array, xp: Any) -> Array:
        parts = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return parts / xp.sum(parts, axis=1, keepdims=True)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        numbers = xp.arange(self.n_classes, dtype=y.dtype, device=y.device)
        return xp.astype(y[:, None] == numbers[None, :], xp.float64 if dtype is None else dtype)

    @property
    def start_curvature(self) -> float:
        """1 / K: at z = 0 the second derivative is (I - 11^T / K) / K."""
        return 1.0 / self.n_classes

    def conjugate(self, mean: Array, xp: Any) -> Array:
        """The conjugate at ``mean - onehot(y)``: sum_j p_j log p_j, for p in the simplex."""
        return xp.sum(_negative_entropy(mean, xp), axis=1)

    def sum_with_residual(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        weight = _NO_WEIGHT if weight is None else weight
        return native_losses.softmax(scores, scores.reshape(-1), y, weight, np.empty(scores.shape[0]))

    def add_gradients(
        self,
        X: np.ndarray,
        unit: int,
        y: np.ndarray,
        weight: np.ndarray | None,
        parameters: np.ndarray,
        out: np.ndarray,
    ) -> None:
        scores = np.empty((_TILE, self.n_classes))
        gradients.softmax_run(
            X,
            unit,
            y,
            _NO_WEIGHT if weight is None else weight,
            np.ascontiguousarray(parameters[:, :-1]),
            np.ascontiguousarray(parameters[:, -1]),
            np.empty((_TILE, X.shape[1])),
            scores,
            scores.reshape(-1),
            np.empty(_TILE),
            out,
        )


def _negative_entropy(p: Array, xp: Any) -> Array:
    """P log p, 0 at 0."""
    return p * xp.log(xp.where(p > 0, p, xp.ones_like(p)))
