"""Losses that grow exponentially: Poisson's, gamma, Tweedie's, log-cosh, and the exponential loss of boosting."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.shared import loss_numbers
from mercer._objective.class_losses import Logistic
from mercer._objective.constants import compute_mean
from mercer._objective.loss import LabelLoss, Loss
from mercer._plain import plain
from mercer._types import Array


class _LogMean(Loss):
    """A loss of targets that are not negative, whose score is the logarithm of their mean."""

    rests_at_zero: ClassVar[bool] = False
    predicts_exponentials: ClassVar[bool] = True
    least_target: ClassVar[float] = 0.0

    def _mean(self, scores: Array, xp: Any) -> Array:
        return xp.exp(scores)

    def link(self, mean: Array, xp: Any) -> Array:
        return xp.log(mean)

    def find_constant(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return np.array([np.log(compute_mean(y, weight))])

    def start(self, shares: np.ndarray) -> np.ndarray:
        # The best constant is the logarithm of the mean; if all targets are zero it is minus infinity, and some number
        # far below has to do.
        return np.log(np.where(shares > 0, shares, 1e-10))


@plain
@dataclass(frozen=True)
class Poisson(_LogMean):
    """The Poisson loss, exp(z) - y z for y >= 0: minus the log-likelihood of counts with mean exp(z), but log y!.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Poisson
    >>> Poisson().value(np.array([[0.0]]), np.array([2.0]))
    array([1.])
    """

    names: ClassVar[tuple[str, ...]] = ("poisson",)
    native: ClassVar[int] = loss_numbers.POISSON

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

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        return shares

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        mean = np.maximum(shares + wanted, 0.0)
        conjugate = mean * np.log(np.where(mean > 0, mean, 1.0)) - mean
        return mean, -np.ones_like(mean), float(np.sum(conjugate))


@plain
@dataclass(frozen=True)
class Gamma(_LogMean):
    """The gamma loss, z + y exp(-z) for y > 0: minus the log-likelihood of a gamma law of mean exp(z), but a constant.

    A relative error costs the same at any size of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Gamma
    >>> Gamma().value(np.array([[0.0]]), np.array([2.0]))
    array([2.])
    """

    names: ClassVar[tuple[str, ...]] = ("gamma",)
    native: ClassVar[int] = loss_numbers.GAMMA
    above_least: ClassVar[bool] = True

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        return scores[:, 0] + self.targets(y, xp, scores.dtype)[:, 0] * xp.exp(-scores[:, 0])

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return 1.0 - self._curvature(scores, y, xp)

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.targets(y, xp, scores.dtype) * xp.exp(-scores)

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return c log (c / y) - c at c = 1 - dual, for c >= 0."""
        rest = 1.0 - dual[:, 0]
        ratio = rest / self.targets(y, xp, dual.dtype)[:, 0]
        # c log c is zero at c = 0; the logarithm of one stands in for that of zero.
        inside = rest * xp.log(xp.where(ratio > 0, ratio, xp.ones_like(ratio))) - rest
        return xp.where(rest < 0, xp.full_like(rest, xp.inf), inside)

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        # Residuals are below 1; the same size will do on the other side, where nothing bounds them.
        return np.ones_like(shares)

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        # Residuals 1 - c with c in proportion to the target, as they are where all scores are alike.
        rest = np.maximum(1.0 - wanted, 0.0)
        conjugate = rest * np.log(np.where(rest > 0, rest / shares, 1.0)) - rest
        return np.ones_like(rest), -rest / shares, float(np.sum(conjugate))

    def find_shift(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        return float(np.log(compute_mean(y * np.exp(-scores[:, 0]), weight)))


@plain
@dataclass(frozen=True)
class Tweedie(_LogMean):
    """Tweedie's loss, exp((2 - p) z) / (2 - p) - y exp((1 - p) z) / (1 - p): half the deviance of power p.

    The variance of a target is in proportion to the power p of its mean exp(z): 1 is Poisson's law, 2 the gamma law, 3
    the inverse Gaussian. Between 1 and 2 are sums of gamma-distributed amounts, or zero. It is
    convex for p in [1, 2]; elsewhere a fit may end in a local minimum.

    Parameters
    ----------
    power : float, default=1.5
        p: 0, at least 1, or below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Tweedie
    >>> Tweedie(1.5).value(np.array([[0.0]]), np.array([2.0]))
    array([6.])
    """

    power: float = 1.5
    names: ClassVar[tuple[str, ...]] = ("tweedie",)
    shape_field: ClassVar[str] = "power"
    has_conjugate: ClassVar[bool] = False

    @property
    def native(self) -> int:  # type: ignore[override]
        return {1.0: loss_numbers.POISSON, 2.0: loss_numbers.GAMMA}.get(self.power, loss_numbers.TWEEDIE)

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        return 1 <= self.power <= 2

    @property
    def least_target(self) -> float:  # type: ignore[override]
        return 0.0 if self.power >= 1 else -np.inf

    @property
    def above_least(self) -> bool:  # type: ignore[override]
        return self.power >= 2

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        z, y, p = scores[:, 0], self.targets(y, xp, scores.dtype)[:, 0], self.power
        if p in (1, 2):
            return xp.exp(z) - y * z if p == 1 else z + y * xp.exp(-z)
        return xp.exp((2.0 - p) * z) / (2.0 - p) - y * xp.exp((1.0 - p) * z) / (1.0 - p)

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        y = self.targets(y, xp, scores.dtype)
        return xp.exp((2.0 - self.power) * scores) - y * xp.exp((1.0 - self.power) * scores)

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        y, first, second = self.targets(y, xp, scores.dtype), 2.0 - self.power, 1.0 - self.power
        return first * xp.exp(first * scores) - second * y * xp.exp(second * scores)

    def find_model_curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        # Where the loss is not convex, the expected curvature (Fisher's), which is positive for every power.
        return self._curvature(scores, y, xp) if self.is_convex else xp.exp((2.0 - self.power) * scores)


@plain
@dataclass(frozen=True)
class LogCosh(Loss):
    """The log-cosh loss, log cosh(z - y): half the square of small residuals, and the size of large ones less log 2.

    It bends everywhere, unlike Huber's loss, and is as steep as the absolute loss far out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import LogCosh
    >>> LogCosh().value(np.array([[0.1], [10.0]]), np.zeros(2)).round(4).tolist()
    [0.005, 9.3069]
    """

    names: ClassVar[tuple[str, ...]] = ("log_cosh",)
    native: ClassVar[int] = loss_numbers.LOG_COSH
    takes_newton: ClassVar[bool] = False

    @property
    def smoothness(self) -> float:
        return 1.0

    @property
    def is_lipschitz(self) -> bool:
        return True

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        size = xp.abs(scores[:, 0] - self.targets(y, xp, scores.dtype)[:, 0])
        # log cosh(r) = |r| + log(1 + exp(-2 |r|)) - log 2, which cannot overflow.
        return size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.tanh(scores - self.targets(y, xp, scores.dtype))

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        return 1.0 - self._residual(scores, y, xp) ** 2

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return y u + ((1 + u) log(1 + u) + (1 - u) log(1 - u)) / 2 for |u| <= 1."""
        u = dual[:, 0]
        inside = self.targets(y, xp, dual.dtype)[:, 0] * u
        for part in (1.0 + u, 1.0 - u):
            # Zero times its logarithm is zero; the logarithm of one stands in for that of zero.
            inside = inside + 0.5 * part * xp.log(xp.where(part > 0, part, xp.ones_like(part)))
        return xp.where(xp.abs(u) > 1, xp.full_like(u, xp.inf), inside)

    def start(self, shares: np.ndarray) -> np.ndarray:
        return shares

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        return np.ones_like(shares)

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        conjugate = self._conjugate(np.clip(wanted, -1.0, 1.0)[:, None], shares, np)
        return wanted, np.zeros_like(wanted), float(np.sum(conjugate))


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
    native: ClassVar[int] = loss_numbers.EXPONENTIAL
    n_classes: int = 2

    def _mean(self, scores: Array, xp: Any) -> Array:
        # The score of least expected loss is half the log-odds.
        return Logistic()._mean(2.0 * scores, xp)

    def link(self, mean: Array, xp: Any) -> Array:
        return 0.5 * xp.log(mean / (1.0 - mean))

    def find_constant(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return 0.5 * Logistic().find_constant(y, weight)

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
