"""Losses that grow exponentially: Poisson's for counts, and the exponential loss of boosting."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.shared import row_losses
from mercer._objective.loss import LabelLoss, Loss
from mercer._plain import plain
from mercer._types import Array


@plain
@dataclass(frozen=True)
class Poisson(Loss):
    """The Poisson loss, exp(z) - y z for y >= 0: minus the log-likelihood of counts with mean exp(z), but log y!.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Poisson
    >>> Poisson().value(np.array([[0.0]]), np.array([2.0]))
    array([1.])
    """

    names: ClassVar[tuple[str, ...]] = ("poisson",)
    native: ClassVar[int] = row_losses.POISSON
    rests_at_zero: ClassVar[bool] = False
    least_target: ClassVar[float] = 0.0

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.exp(scores[:, 0]) - self.targets(y, xp, scores.dtype)[:, 0] * scores[:, 0]

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.exp(scores) - self.targets(y, xp, scores.dtype)

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.exp(scores)

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return m log m - m at m = dual + y, for m >= 0."""
        mean = dual[:, 0] + self.targets(y, xp, dual.dtype)[:, 0]
        # m log m is zero at m = 0; the logarithm of one stands in for that of zero.
        inside = mean * xp.log(xp.where(mean > 0, mean, xp.ones_like(mean))) - mean
        return xp.where(mean < 0, xp.full_like(mean, xp.inf), inside)

    def start(self, shares: np.ndarray) -> np.ndarray:
        # The best constant is the logarithm of the mean count; the bound keeps counts of zero only from minus infinity.
        return np.log(np.maximum(shares, 1e-10))

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        return shares

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        mean = np.maximum(shares + wanted, 0.0)
        conjugate = mean * np.log(np.where(mean > 0, mean, 1.0)) - mean
        return mean, -np.ones_like(mean), float(np.sum(conjugate))


@plain
@dataclass(frozen=True)
class Exponential(LabelLoss):
    """The exponential loss, exp(-m) of the margin m = t z: what AdaBoost descends on.

    Parameters
    ----------
    n_classes : int, default=2
        With more than two, each class against the rest, added up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Exponential
    >>> Exponential().value(np.array([[0.0], [2.0]]), np.ones(2)).round(4)
    array([1.    , 0.1353])
    """

    names: ClassVar[tuple[str, ...]] = ("exponential",)
    native: ClassVar[int] = row_losses.EXPONENTIAL
    n_classes: int = 2

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.sum(self._curvature(scores, y, xp), axis=1)

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return -self.signs(y, xp, scores.dtype) * self._curvature(scores, y, xp)

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.exp(-self.signs(y, xp, scores.dtype) * scores)

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return a log a - a at a = -t dual, for a >= 0."""
        size = -self.signs(y, xp, dual.dtype) * dual
        # a log a is zero at a = 0; the logarithm of one stands in for that of zero.
        inside = size * xp.log(xp.where(size > 0, size, xp.ones_like(size))) - size
        return xp.sum(xp.where(size < 0, xp.full_like(size, xp.inf), inside), axis=1)

    def _conjugate_of(self, size: np.ndarray) -> np.ndarray:
        return size * np.log(np.where(size > 0, size, 1.0)) - size
