"""Scores: the derivative g of G = -log p for the density p that a component is taken to have.

``tanh`` is the density 1 / cosh(y) with heavy tails; ``logistic`` the one that Bell and Sejnowski's sigmoid stands for,
which is ``tanh`` at half the argument and twice the value; ``cube`` the light tails of exp(-y^4 / 4); ``exp`` the
contrast -exp(-y^2 / 2), which is bounded and hence no density: it is used with orthogonal matrices only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError

# The numbers by which native code knows the scores.
KINDS = {"tanh": 0, "exp": 1, "cube": 2}
# Points of the Gauss-Hermite rule for expectations under a Gaussian: exact to rounding for the scores above.
_POINTS = 200


@dataclass(frozen=True)
class Score:
    """A contrast G with its two derivatives, by name; `alpha` multiplies the argument."""

    kind: str
    alpha: float = 1.0

    def of(self, Y: Array, xp: Any) -> tuple[Array, Array, Array]:
        """Return G(y), g(y) and g'(y) of every value."""
        if self.kind == "cube":
            squares = Y * Y
            return 0.25 * squares * squares, squares * Y, 3.0 * squares
        if self.kind == "exp":
            squares = self.alpha * Y * Y
            bell = xp.exp(-0.5 * squares)
            return -bell / self.alpha, Y * bell, (1.0 - squares) * bell
        size = xp.abs(self.alpha * Y)
        # log cosh without overflow: |u| + log(1 + exp(-2 |u|)) - log 2.
        value = (size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)) / self.alpha
        score = xp.tanh(self.alpha * Y)
        return value, score, self.alpha * (1.0 - score * score)

    @property
    def has_native(self) -> bool:
        return True

    @property
    def heavy_sign(self) -> float:
        """The sign of the curvature of a source with heavy tails."""
        return -1.0 if self.kind == "cube" else 1.0

    def gaussian(self) -> "GaussianReference":
        """Return what this contrast is under a standard Gaussian."""
        return _integrate(self)


@dataclass(frozen=True)
class UserScore(Score):
    """A function of scikit-learn's form: from values to g and g', or to g and the mean of g' along the last axis."""

    function: Callable[..., Any] = math.tanh
    arguments: tuple[tuple[str, Any], ...] = ()

    def of(self, Y: Array, xp: Any) -> tuple[Array, Array, Array]:
        # scikit-learn hands over components as rows, and takes the mean of g' along them or g' itself.
        result = self.function(np.asarray(Y).T, **dict(self.arguments))
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise DataError(
                f"fun must return two arrays, the values of g and of its derivative; got {type(result).__name__}. "
                f"Return (g, dg)."
            )
        score, slope = (np.asarray(part, dtype=np.float64) for part in result)
        if score.shape != Y.T.shape or slope.shape not in ((Y.shape[1],), Y.T.shape):
            raise DataError(
                f"fun must return g of the shape {Y.T.shape} that it was given, and its derivative of that shape or "
                f"its mean over the last axis; got {score.shape} and {slope.shape}. Compute both value by value."
            )
        slope = np.broadcast_to(slope[:, None], score.shape) if slope.ndim == 1 else slope
        # G itself is not known; it enters no fixed-point step.
        return np.zeros(Y.shape), score.T, slope.T

    @property
    def has_native(self) -> bool:
        return False


@dataclass(frozen=True)
class GaussianReference:
    """What a contrast is under a standard Gaussian: the mean of G, the deviation of the curvature, its roughness."""

    mean: float
    deviation: float
    roughness: float


def make_score(name: str, alpha: float = 1.0) -> Score:
    """Return the score of a name; ``"logistic"`` is the tanh of half the argument."""
    return Score("tanh", 0.5 * alpha) if name == "logistic" else Score(name, alpha)


@cache
def _integrate(score: Score) -> GaussianReference:
    """Integrate over a standard Gaussian.

    The curvature of a source of unit variance is estimated by the mean of f(y) = g'(y) + c y^2 - g(y) y with the mean
    of y^2 known to be one. Of f, the parts along 1 and y^2 - 1 vanish, because the sources are scaled to mean zero and
    variance one. What is left has a standard deviation per row, and a mean square of its derivative, which says how
    fast the mean of f changes with the direction of the projection.
    """
    # Gauss-Hermite quadrature for a standard normal variable.
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    weights = weights / weights.sum()
    value, _, _ = score.of(points, np)

    def curvature(at: Array) -> Array:
        _, slope, curve = score.of(at, np)
        return curve - slope * at

    # y^2 - 1 is the second Hermite polynomial, of squared length 2.
    f, h = curvature(points), points**2 - 1.0
    along = float(weights @ (f * h)) / 2.0
    rest = f - float(weights @ f) - along * h
    step = 1e-5
    # The derivative of what is left, by central differences.
    change = (curvature(points + step) - curvature(points - step)) / (2.0 * step) - 2.0 * along * points
    variance = float(weights @ rest**2)
    return GaussianReference(float(weights @ value), math.sqrt(variance), float(weights @ change**2) / variance)
