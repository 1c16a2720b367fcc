"""Losses that no single row can dominate: 0-1 and Tukey's. Not convex, hence to judge models by, not to fit them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mercer._objective.loss import LabelLoss, Loss
from mercer._plain import plain
from mercer._types import Array


@plain
@dataclass(frozen=True)
class ZeroOne(LabelLoss):
    """The 0-1 loss, one for a mistake: a margin m = t z that is not positive; of several scores, a smaller than others.

    Its derivative is zero wherever there is one, which is why fits use surrogates that bound it from above.

    Parameters
    ----------
    n_classes : int, default=2

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import ZeroOne
    >>> ZeroOne().value(np.array([[2.0], [0.5], [-1.0]]), np.ones(3))
    array([0., 0., 1.])
    """

    n_classes: int = 2
    is_convex: ClassVar[bool] = False
    has_optimum: ClassVar[bool] = False

    @property
    def is_smooth(self) -> bool:
        return False

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        # With two classes there is one score, whose sign decides; a score of zero counts as an error.
        if self.n_classes == 2:
            return xp.astype((self.signs(y, xp, scores.dtype) * scores)[:, 0] <= 0, scores.dtype)
        return xp.astype(xp.argmax(scores, axis=1) != xp.astype(y, xp.int64), scores.dtype)

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.zeros_like(scores)

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        return xp.zeros_like(scores)


@plain
@dataclass(frozen=True)
class Tukey(Loss):
    """Tukey's biweight, (c^2 / 6) (1 - (1 - (r / c)^2)^3) for |r| <= c and c^2 / 6 beyond, with r = y - z.

    Near zero it is r^2 / 2; beyond c a row costs the same however far off it is.

    Parameters
    ----------
    cutoff : float, default=4.685
        c; 4.685 standard deviations keep 95 % efficiency under Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Tukey
    >>> Tukey(3.0).value(np.array([[3.0], [300.0]]), np.zeros(2))
    array([1.5, 1.5])
    """

    cutoff: float = 4.685
    is_convex: ClassVar[bool] = False
    has_optimum: ClassVar[bool] = False

    def _share(self, scores: Array, y: Array, xp: Any) -> tuple[Array, Array]:
        """Return r = z - y, and 1 - (r / c)^2, not below zero."""
        above = scores - self.targets(y, xp, scores.dtype)
        return above, xp.clip(1.0 - (above / self.cutoff) ** 2, 0.0, None)

    @property
    def smoothness(self) -> float:
        return 1.0

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.cutoff**2 / 6.0 * (1.0 - self._share(scores, y, xp)[1][:, 0] ** 3)

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        above, share = self._share(scores, y, xp)
        return xp.clip(above, -self.cutoff, self.cutoff) * share**2

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        """Return the second derivative, which may be negative: the loss is not convex."""
        _, share = self._share(scores, y, xp)
        return share * (5.0 * share - 4.0)
