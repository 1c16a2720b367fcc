"""Penalties on coefficients: value, derivative, proximal map and conjugate.

One record holds them all: an l1 and an l2 strength for each column, so that an unpenalised intercept is a column of
strength zero, and ridge, lasso and elastic net are its corners.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["ElasticNet"]


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """sum_j l1_j |w_j| + l2_j w_j^2 / 2, the strengths alike for all rows of `w` (k, p)."""

    l1: np.ndarray
    l2: np.ndarray

    @cached_property
    def has_l1(self) -> bool:
        """Whether any column has a corner at zero."""
        return bool(self.l1.any())

    @cached_property
    def is_zero(self) -> bool:
        """Whether nothing is penalised."""
        return not (self.l1.any() or self.l2.any())

    def value(self, w: np.ndarray) -> float:
        """The penalty at `w`."""
        smooth = 0.5 * float(np.vdot(self.l2 * w, w))
        return smooth + float(np.sum(self.l1 * np.abs(w))) if self.has_l1 else smooth

    def smooth_gradient(self, w: np.ndarray) -> np.ndarray:
        """The derivative of the quadratic part."""
        return self.l2 * w

    def least_subgradient(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The subgradient of least size of (smooth part with `gradient`) + l1 part: zero exactly at the optimum."""
        if not self.has_l1:
            return gradient
        inside = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where(w != 0, gradient + self.l1 * np.sign(w), inside)

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """argmin_u |u - w|^2 / (2 step) + penalty(u): shrink towards zero by l1, then divide by 1 + step l2."""
        return np.sign(w) * np.maximum(np.abs(w) - step * self.l1, 0.0) / (1.0 + step * self.l2)

    @cached_property
    def unbounded(self) -> np.ndarray:
        """The columns without a quadratic part."""
        return np.flatnonzero(self.l2 == 0)

    @cached_property
    def _half_inverse(self) -> np.ndarray:
        return np.where(self.l2 > 0, 0.5 / np.where(self.l2 > 0, self.l2, 1.0), 0.0)

    def conjugate(self, u: np.ndarray) -> float:
        """sup_w <u, w> - penalty(w); infinite where a column with no quadratic part has |u| above its l1."""
        excess = np.maximum(np.abs(u) - self.l1, 0.0) if self.has_l1 else u
        if excess[:, self.unbounded].any():
            return np.inf
        return float(np.vdot(excess * excess, np.broadcast_to(self._half_inverse, u.shape)))
