"""Losses made of straight lines and parabolas: one formula for all of them.

Left of a lower corner and right of an upper corner the loss rises, first as a parabola of curvature 1 / width, then,
once its slope has reached a limit, as a straight line. Between the corners it is zero:

    loss'(z) = clip((z - lower) / width, -limit, 0) + clip((z - upper) / width, 0, limit)

Width zero gives corners proper. Squared, absolute, Huber, epsilon-insensitive, its square and the pinball loss have
their corners at y - epsilon and y + epsilon; hinge, its square and the perceptron loss are functions of the margin with
one corner and nothing on its right. The family is closed under smoothing: the Moreau envelope of a member with
parameter s has width + s, which gives every proximal map, prox_s(z) = z - s envelope'(z). The conjugate is a parabola
between the limits.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.shared import loss_numbers
from mercer._objective.constants import compute_mean, compute_quantile
from mercer._objective.loss import LabelLoss, Loss
from mercer._plain import plain
from mercer._types import Array


class PiecewiseLoss(Loss):
    """A loss of lines and parabolas."""

    takes_newton: ClassVar[bool] = False
    # Half the distance between the corners; 1 / curvature of the parabolas; the steepest slopes.
    tube: float = 0.0
    width: float = 1.0
    limits: tuple[float, float] = (-np.inf, np.inf)

    @property
    def is_smooth(self) -> bool:
        return self.width > 0

    @property
    def smoothness(self) -> float:
        return 1.0 / self.width if self.width > 0 else np.inf

    @property
    def is_lipschitz(self) -> bool:
        return self.limits[0] > -np.inf and self.limits[1] < np.inf

    def distances(self, scores: Array, y: Array, xp: Any) -> tuple[Array, Array, Array | float]:
        """Return how far scores are above the lower and the upper corner, and the sign that they were multiplied by."""
        above = scores - self.targets(y, xp, scores.dtype)
        return above + self.tube, above - self.tube, 1.0

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.height(scores, y, self.width, xp)

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.slope(scores, y, self.width, xp)

    def height(self, scores: Array, y: Array, width: float, xp: Any) -> Array:
        """Return the value of each row with parabolas of another width at the corners."""
        lower, upper, _ = self.distances(scores, y, xp)
        below, above = xp.clip(-lower, 0.0, None), xp.clip(upper, 0.0, None)
        return xp.sum(_rise(below, -self.limits[0], width, xp) + _rise(above, self.limits[1], width, xp), axis=1)

    def slope(self, scores: Array, y: Array, width: float, xp: Any) -> Array:
        """Return the residual with parabolas of another width at the corners."""
        lower, upper, sign = self.distances(scores, y, xp)
        low, high = self.limits
        # Without a width the corner is sharp, and 0 is a valid subgradient in it.
        if width == 0:
            flat = xp.zeros_like(lower)
            return sign * (xp.where(lower < 0, flat + low, flat) + xp.where(upper > 0, flat + high, flat))
        return sign * (xp.clip(lower / width, low, 0.0) + xp.clip(upper / width, 0.0, high))

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        lower, upper, _ = self.distances(scores, y, xp)
        if self.width == 0:
            return xp.zeros_like(lower)
        low, high = self.limits
        # 1 / width on the parabolas, whose slope reaches its limit at width * limit; zero on lines.
        bent = ((lower <= 0) & (lower > self.width * low)) | ((upper > 0) & (upper < self.width * high))
        return xp.astype(bent, lower.dtype) / self.width

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return dual * corner + width dual^2 / 2 between the limits; the sign of dual selects the corner."""
        lower, upper, sign = self.distances(xp.zeros_like(dual), y, xp)
        slope = sign * dual
        corner = xp.where(slope < 0, -lower, -upper)
        inside = slope * corner + 0.5 * self.width * slope * slope
        # Slopes beyond the limits are never reached, so the supremum is infinite there.
        outside = (slope < self.limits[0]) | (slope > self.limits[1])
        return xp.sum(xp.where(outside, xp.full_like(inside, xp.inf), inside), axis=1)

    def _prox(self, scores: Array, y: Array, step: float, xp: Any) -> Array:
        """Return argmin_u |u - scores|^2 / (2 step) + loss(u, y), in closed form."""
        # A step along the slope of the Moreau envelope, which is the loss with parabolas wider by `step`.
        return scores - step * self.slope(scores, y, self.width + step, xp)

    def start(self, shares: np.ndarray) -> np.ndarray:
        return shares

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        # The conjugate of a loss of straight lines is linear: its limits are the size to take.
        return np.minimum(np.where(sign > 0, self.limits[1], -self.limits[0]), typical if self.width > 0 else np.inf)

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        conjugate = wanted * shares + self.tube * np.abs(wanted) + 0.5 * self.width * wanted**2
        return wanted, np.zeros_like(wanted), float(np.sum(conjugate))


@plain
@dataclass(frozen=True)
class Squared(PiecewiseLoss):
    """The squared loss, (y - z)^2 / 2: minus the log-likelihood of Gaussian noise, and sensitive to every outlier.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Squared
    >>> Squared().value(np.array([[3.0]]), np.array([1.0]))
    array([2.])
    """

    names: ClassVar[tuple[str, ...]] = ("squared", "squared_error")
    native: ClassVar[int] = loss_numbers.SQUARED
    takes_newton: ClassVar[bool] = True

    def find_constant(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return np.array([compute_mean(y, weight)])

    def find_shift(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        return compute_mean(y - scores[:, 0], weight)


@plain
@dataclass(frozen=True)
class Absolute(PiecewiseLoss):
    """The absolute loss, |y - z|: a constant that minimises it is a median.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Absolute
    >>> Absolute().prox(np.array([[3.0], [0.4]]), np.array([0.0, 0.0]), 1.0).ravel()
    array([2., 0.])
    """

    names: ClassVar[tuple[str, ...]] = ("absolute", "absolute_error")
    native: ClassVar[int] = loss_numbers.ABSOLUTE
    width = 0.0
    limits = (-1.0, 1.0)

    def find_shift(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        return compute_quantile(y - scores[:, 0], weight, 0.5)


@plain
@dataclass(frozen=True)
class Huber(PiecewiseLoss):
    """Huber's loss: r^2 / 2 for |r| <= delta, delta |r| - delta^2 / 2 beyond, with r = y - z.

    It tends to the squared loss as delta grows, and divided by delta to the absolute loss as delta falls to zero.

    Parameters
    ----------
    delta : float, default=1.35
        Where the parabola becomes a line; 1.35 standard deviations keep 95 % efficiency under Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Huber
    >>> Huber(1.0).value(np.array([[0.5], [3.0]]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    names: ClassVar[tuple[str, ...]] = ("huber",)
    native: ClassVar[int] = loss_numbers.HUBER
    shape_field: ClassVar[str] = "delta"
    delta: float = 1.35

    @property
    def limits(self) -> tuple[float, float]:  # type: ignore[override]
        return -self.delta, self.delta


@plain
@dataclass(frozen=True)
class EpsilonInsensitive(PiecewiseLoss):
    """The epsilon-insensitive loss, max(0, |y - z| - epsilon): zero in a tube, beside it as steep as the absolute loss.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([[0.3], [2.0]]), np.zeros(2))
    array([0. , 1.5])
    """

    names: ClassVar[tuple[str, ...]] = ("epsilon_insensitive",)
    native: ClassVar[int] = loss_numbers.EPSILON_INSENSITIVE
    shape_field: ClassVar[str] = "epsilon"
    epsilon: float = 0.1
    width = 0.0
    limits = (-1.0, 1.0)

    @property
    def tube(self) -> float:  # type: ignore[override]
        return self.epsilon


@plain
@dataclass(frozen=True)
class SquaredEpsilonInsensitive(PiecewiseLoss):
    """The square of the epsilon-insensitive loss, max(0, |y - z| - epsilon)^2.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(np.array([[0.3], [2.5]]), np.zeros(2))
    array([0., 4.])
    """

    names: ClassVar[tuple[str, ...]] = ("squared_epsilon_insensitive",)
    native: ClassVar[int] = loss_numbers.SQUARED_EPSILON_INSENSITIVE
    shape_field: ClassVar[str] = "epsilon"
    epsilon: float = 0.1
    width = 0.5

    @property
    def tube(self) -> float:  # type: ignore[override]
        return self.epsilon


@plain
@dataclass(frozen=True)
class Pinball(PiecewiseLoss):
    """The pinball loss, q (y - z) for z < y and (1 - q) (z - y) for z > y: a constant that minimises it is a quantile.

    Parameters
    ----------
    quantile : float, default=0.5
        q, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Pinball
    >>> Pinball(0.9).value(np.array([[-1.0], [1.0]]), np.zeros(2)).round(6)
    array([0.9, 0.1])
    """

    names: ClassVar[tuple[str, ...]] = ("pinball", "quantile")
    native: ClassVar[int] = loss_numbers.PINBALL
    shape_field: ClassVar[str] = "quantile"
    quantile: float = 0.5
    width = 0.0

    @property
    def limits(self) -> tuple[float, float]:  # type: ignore[override]
        return -self.quantile, 1.0 - self.quantile

    def find_shift(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        return compute_quantile(y - scores[:, 0], weight, self.quantile)


class _MarginLoss(LabelLoss, PiecewiseLoss):
    """A loss of lines and parabolas of the margin m = t z: it falls until a corner and is zero beyond."""

    corner: float = 1.0
    limits = (-1.0, 0.0)

    def distances(self, scores: Array, y: Array, xp: Any) -> tuple[Array, Array, Array | float]:
        signs = self.signs(y, xp, scores.dtype)
        beyond = signs * scores - self.corner
        return beyond, beyond, signs

    def slope(self, scores: Array, y: Array, width: float, xp: Any) -> Array:
        if width > 0:
            return super().slope(scores, y, width, xp)
        # The steeper slope in the corner: a perceptron learns from scores of zero.
        beyond, _, signs = self.distances(scores, y, xp)
        return signs * xp.where(beyond <= 0, xp.full_like(beyond, self.limits[0]), xp.zeros_like(beyond))

    def start(self, shares: np.ndarray) -> np.ndarray:
        return np.zeros_like(shares)

    def _steepest(self, typical: float) -> float:
        return min(-self.limits[0], typical if self.width > 0 else np.inf)

    def _conjugate_of(self, size: np.ndarray) -> np.ndarray:
        return -size * self.corner + 0.5 * self.width * size**2

    _capacity = LabelLoss._capacity
    _counterweight = LabelLoss._counterweight


@plain
@dataclass(frozen=True)
class Hinge(_MarginLoss):
    """The hinge loss, max(0, 1 - m) of the margin m = t z: that of support vector machines.

    Parameters
    ----------
    n_classes : int, default=2
        With more than two, each class against the rest, added up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Hinge
    >>> Hinge().value(np.array([[2.0], [0.5], [-1.0]]), np.ones(3))
    array([0. , 0.5, 2. ])
    """

    names: ClassVar[tuple[str, ...]] = ("hinge",)
    native: ClassVar[int] = loss_numbers.HINGE
    shape_field: ClassVar[str] = "corner"
    n_classes: int = 2
    width = 0.0


@plain
@dataclass(frozen=True)
class SquaredHinge(_MarginLoss):
    """The squared hinge loss, max(0, 1 - m)^2 of the margin m = t z.

    Parameters
    ----------
    n_classes : int, default=2
        With more than two, each class against the rest, added up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import SquaredHinge
    >>> SquaredHinge().value(np.array([[2.0], [0.5], [-1.0]]), np.ones(3))
    array([0.  , 0.25, 4.  ])
    """

    names: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    native: ClassVar[int] = loss_numbers.SQUARED_HINGE
    n_classes: int = 2
    width = 0.5
    limits = (-np.inf, 0.0)


@plain
@dataclass(frozen=True)
class ModifiedHuber(_MarginLoss):
    """The modified Huber loss of the margin m = t z: max(0, 1 - m)^2 for m >= -1 and -4 m beyond.

    It is the squared hinge, but mistakes cost no more than in proportion; (clip(z, -1, 1) + 1) / 2 is its probability.

    Parameters
    ----------
    n_classes : int, default=2
        With more than two, each class against the rest, added up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import ModifiedHuber
    >>> ModifiedHuber().value(np.array([[2.0], [0.5], [-3.0]]), np.ones(3))
    array([ 0.  ,  0.25, 12.  ])
    """

    names: ClassVar[tuple[str, ...]] = ("modified_huber",)
    native: ClassVar[int] = loss_numbers.MODIFIED_HUBER
    n_classes: int = 2
    width = 0.5
    limits = (-4.0, 0.0)


@plain
@dataclass(frozen=True)
class PerceptronLoss(_MarginLoss):
    """The perceptron loss, max(0, -m) of the margin m = t z: only mistakes cost.

    All scores zero cost nothing, so its minimum says nothing; it is a loss to descend on, mistake by mistake.

    Parameters
    ----------
    n_classes : int, default=2
        With more than two, each class against the rest, added up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import PerceptronLoss
    >>> PerceptronLoss().value(np.array([[2.0], [0.5], [-1.0]]), np.ones(3))
    array([0., 0., 1.])
    """

    names: ClassVar[tuple[str, ...]] = ("perceptron",)
    has_optimum: ClassVar[bool] = False
    native: ClassVar[int] = loss_numbers.HINGE
    shape_field: ClassVar[str] = "corner"
    n_classes: int = 2
    width = 0.0
    corner = 0.0


def _rise(distance: Array, limit: float, width: float, xp: Any) -> Array:
    """Return the loss at a distance from its corner: a parabola up to width * limit, a line beyond."""
    if limit == 0:
        return xp.zeros_like(distance)
    if width == 0:
        return limit * distance
    # With c = min(t, width * limit): c (t - c / 2) / width is t^2 / (2 width) on the parabola and a line beyond.
    bent = xp.clip(distance, None, width * limit)
    return bent * (distance - 0.5 * bent) / width
