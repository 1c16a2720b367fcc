"""Losses with corners, rounded off by a barrier in their dual.

A corner with slopes between `low` and `high` is max_u u t over low <= u <= high, t being the distance from the corner.
Adding a logarithmic barrier to the maximum,

    max_u  u t + b (log(u - low) + log(high - u) - 2 log((high - low) / 2)),

gives a smooth function between the loss minus a multiple of b and the loss. Its derivative u stays inside the slopes,
so it is a point of the dual of the loss itself, whose gap certifies what the smooth problem found. The curvature falls
off with the square of the distance only: Newton's method sees corners from afar, which it does not with a parabola of
fixed width (measured: a tenth of the passes or less to a gap of 1e-8 with hinge and absolute losses).
"""

from dataclasses import dataclass
from typing import Any

from mercer._objective.loss import Loss
from mercer._objective.piecewise_losses import PiecewiseLoss
from mercer._types import Array


@dataclass(frozen=True)
class Smoothed(Loss):
    """A loss of straight lines whose corners are rounded off by a barrier of weight `barrier`."""

    loss: PiecewiseLoss
    barrier: float

    @property
    def target(self) -> str:  # type: ignore[override]
        return self.loss.target

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        return self.loss.n_scores

    @property
    def smoothness(self) -> float:
        low, high = self.loss.limits
        return (high - low) ** 2 / (8.0 * self.barrier)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        return self.loss.targets(y, xp, dtype)

    def round_corners(self, scores: Array, y: Array, xp: Any) -> tuple[Array, Array, Array]:
        """Return the value per row, the residual and the curvature (n, k), in one computation."""
        lower, upper, sign = self.loss.distances(scores, y, xp)
        low, high = self.loss.limits
        if self.loss.tube == 0:
            value, slope, bend = round_corner(lower, low, high, self.barrier, xp)
        else:
            # A tube has two corners, each with slope zero on its inner side, so that their values and slopes add up.
            value, slope, bend = round_corner(lower, low, 0.0, self.barrier, xp)
            other = round_corner(upper, 0.0, high, self.barrier, xp)
            value, slope, bend = value + other[0], slope + other[1], bend + other[2]
        return xp.sum(value, axis=1), sign * slope, bend

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.round_corners(scores, y, xp)[0]

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.round_corners(scores, y, xp)[1]

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        return self.round_corners(scores, y, xp)[2]


def round_corner(distance: Array, low: Array, high: Array, barrier: Array, xp: Any) -> tuple[Array, Array, Array]:
    """Return value, slope and curvature of a rounded corner at the given `distance` from it.

    The slope u solves t + b / (u - low) = b / (high - u); the smaller of u - low and high - u is computed without
    cancellation, whatever the sizes of t and b.
    """
    span = high - low
    # Here t is the distance and b the barrier. With w = high - low,
    # the smaller part s of w solves |t| s (w - s) = b (w - 2 s).
    reach = span * xp.abs(distance)
    # This is the root 2 b w / (2 b + |t| w + sqrt(4 b^2 + t^2 w^2)): all terms are positive, so nothing cancels.
    small = 2.0 * barrier * span / (2.0 * barrier + reach + xp.sqrt(4.0 * barrier * barrier + reach * reach))
    large = span - small
    slope = xp.where(distance > 0, high - small, low + small)
    # The logarithm is zero at t = 0, where both parts are w / 2.
    value = slope * distance + barrier * xp.log(4.0 * (small / span) * (large / span))
    squares = small * small * large * large
    # du/dt = 1 / (b / (u - low)^2 + b / (high - u)^2).
    return value, slope, squares / (barrier * (small * small + large * large))
