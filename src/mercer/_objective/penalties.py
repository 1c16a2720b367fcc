"""Penalties on the size of coefficients: l1, l2, both, of groups, and powers.

The elastic net is one record of an l1 and an l2 strength for each column, so that an unpenalised intercept is a column
of strength zero, and ridge and lasso are its corners.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer._objective.constants import HALVINGS
from mercer._objective.penalty import Penalty, StrengthPenalty
from mercer._plain import plain


@plain
@dataclass(frozen=True, eq=False)
class ElasticNetPenalty(Penalty):
    """The elastic net, sum_j l1_j |w_j| + l2_j w_j^2 / 2, the strengths alike for all rows of `w` (k, d).

    Parameters
    ----------
    l1, l2 : float or ndarray of shape (d,)
        Strengths, for all columns or for each.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import ElasticNetPenalty
    >>> ElasticNetPenalty(l1=1.0, l2=1.0).prox(np.array([[3.0, -0.5]]), 1.0) + 0.0
    array([[1., 0.]])
    """

    l1: Any = 0.5
    l2: Any = 0.5
    is_separable: ClassVar[bool] = True

    @property
    def elastic(self) -> "ElasticNetPenalty":
        return self

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        return not self.has_l1

    @property
    def has_gap(self) -> bool:  # type: ignore[override]
        return bool(np.all((np.asarray(self.l1) > 0) | (np.asarray(self.l2) > 0)))

    @cached_property
    def has_l1(self) -> bool:
        """Whether any column has a corner at zero."""
        return bool(np.any(self.l1))

    @cached_property
    def is_zero(self) -> bool:
        """Whether nothing is penalised."""
        return not (np.any(self.l1) or np.any(self.l2))

    def value(self, w: np.ndarray) -> float:
        """Return the penalty at `w`."""
        smooth = 0.5 * float(np.vdot(self.l2 * w, w))
        return smooth + float(np.sum(self.l1 * np.abs(w))) if self.has_l1 else smooth

    def smooth_gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the derivative of the quadratic part."""
        return self.l2 * w

    gradient = smooth_gradient

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Return the second derivative of the quadratic part."""
        return np.diag(np.broadcast_to(np.asarray(self.l2, dtype=np.float64), w.shape))

    def smoothness(self, n_features: int) -> float:
        return float(np.max(self.l2))

    def least_subgradient(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the least subgradient of (smooth part with `gradient`) + l1 part: zero exactly at the optimum."""
        if not self.has_l1:
            return gradient
        # At w_j = 0 the subgradients are g + [-l1, l1]; the one nearest to zero is g shrunk by l1.
        inside = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where(w != 0, gradient + self.l1 * np.sign(w), inside)

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Return argmin_u |u - w|^2 / (2 step) + penalty(u): shrink towards zero by l1, then divide by 1 + step l2."""
        return np.sign(w) * np.maximum(np.abs(w) - step * self.l1, 0.0) / (1.0 + step * self.l2)

    @cached_property
    def unbounded(self) -> np.ndarray:
        """The columns without a quadratic part."""
        return np.flatnonzero(np.asarray(self.l2) == 0)

    @cached_property
    def _half_inverse(self) -> np.ndarray:
        l2 = np.asarray(self.l2, dtype=np.float64)
        return np.where(l2 > 0, 0.5 / np.where(l2 > 0, l2, 1.0), 0.0)

    def conjugate(self, u: np.ndarray) -> float:
        """Return sup_w <u, w> - penalty(w); infinite if a column with no quadratic part has |u| above its l1."""
        # The conjugate of l1 |w| + l2 w^2 / 2 is max(|u| - l1, 0)^2 / (2 l2).
        excess = np.maximum(np.abs(u) - self.l1, 0.0) if self.has_l1 else u
        if len(self.unbounded):
            # One strength for all columns, or one for each.
            touched = excess[..., self.unbounded] if np.ndim(self.l2) else excess
            if touched.any():
                return np.inf
        weights = self._half_inverse
        weights = weights if weights.size == u.size else np.broadcast_to(weights, u.shape)
        return float(np.vdot(excess * excess, weights))

    def dual_scale(self, u: np.ndarray) -> float:
        if not len(self.unbounded):
            return 1.0
        bound = np.broadcast_to(np.where(np.asarray(self.l2) == 0, self.l1, np.inf), u.shape)
        over = np.abs(u) > bound
        # A little less than the ratio: an entry that rounding left above its bound would make the conjugate infinite.
        return float(np.min(bound[over] / np.abs(u[over]))) * (1.0 - 1e-15) if over.any() else 1.0

    def scaled(self, factor: float) -> "ElasticNetPenalty":
        return ElasticNetPenalty(factor * np.asarray(self.l1), factor * np.asarray(self.l2))

    def check(self, n_features: int) -> None:
        for name in ("l1", "l2"):
            strength = np.asarray(getattr(self, name))
            # NaN fails the comparison as well, because `>=` is false for it.
            if strength.shape not in ((), (n_features,)) or not (strength >= 0).all():
                raise ValueError(
                    f"ElasticNetPenalty: {name} must be a non-negative number, or one for each of {n_features} "
                    f"columns; got {getattr(self, name)!r}."
                )


class _OneStrength(StrengthPenalty):
    """A corner of the elastic net."""

    is_separable: ClassVar[bool] = True

    @property
    def has_gap(self) -> bool:  # type: ignore[override]
        return self.strength > 0

    def value(self, w: np.ndarray) -> float:
        return self.elastic.value(w)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.elastic.gradient(w)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        return self.elastic.curvature(w)

    def smoothness(self, n_features: int) -> float:
        return self.elastic.smoothness(n_features)

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        return self.elastic.prox(w, step)

    def conjugate(self, u: np.ndarray) -> float:
        return self.elastic.conjugate(u)

    def dual_scale(self, u: np.ndarray) -> float:
        return self.elastic.dual_scale(u)


@plain
@dataclass(frozen=True)
class L1(_OneStrength):
    """The l1 penalty, strength sum_j |w_j|: it sets coefficients to zero.

    Parameters
    ----------
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import L1
    >>> L1(2.0).prox(np.array([[3.0, -5.0, 1.0]]), 1.0) + 0.0
    array([[ 1., -3.,  0.]])
    """

    strength: float = 1.0

    @cached_property
    def elastic(self) -> ElasticNetPenalty:  # type: ignore[override]
        return ElasticNetPenalty(self.strength, 0.0)


@plain
@dataclass(frozen=True)
class L2(_OneStrength):
    """The l2 penalty, strength |w|^2 / 2: it shrinks all coefficients by a factor.

    Parameters
    ----------
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import L2
    >>> L2(2.0).value(np.array([[3.0, 4.0]]))
    25.0
    """

    strength: float = 1.0
    is_smooth: ClassVar[bool] = True

    @cached_property
    def elastic(self) -> ElasticNetPenalty:  # type: ignore[override]
        return ElasticNetPenalty(0.0, self.strength)


@plain
@dataclass(frozen=True, eq=False)
class GroupL1(StrengthPenalty):
    """The group lasso, strength sum_g root(size of g) |w_g|_2: it sets whole groups of columns to zero.

    Each column of a group stands for its coefficients of all scores.

    Parameters
    ----------
    groups : array-like of shape (d,)
        The number of the group that each column is in.
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import GroupL1
    >>> round(GroupL1([0, 0, 1]).value(np.array([[3.0, 4.0, 2.0]])), 4)
    9.0711
    """

    groups: Any
    strength: float = 1.0

    @property
    def has_gap(self) -> bool:  # type: ignore[override]
        return self.strength > 0

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.unique(np.asarray(self.groups), return_inverse=True)[1]

    def _norms(self, w: np.ndarray) -> np.ndarray:
        return np.sqrt(np.bincount(self._numbers, np.sum(w * w, axis=0)))

    @cached_property
    def _prices(self) -> np.ndarray:
        return self.strength * np.sqrt(np.bincount(self._numbers))

    def value(self, w: np.ndarray) -> float:
        return float(np.vdot(self._prices, self._norms(w)))

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Shrink each group towards zero by its penalty, as a vector."""
        norms = self._norms(w)
        # The proximal map of c |w_g| is w_g max(1 - step c / |w_g|, 0).
        kept = np.maximum(1.0 - step * self._prices / np.where(norms > 0, norms, 1.0), 0.0)
        return w * kept[self._numbers]

    def conjugate(self, u: np.ndarray) -> float:
        """Zero where the norm of every group is within its price, infinite elsewhere."""
        return 0.0 if (self._norms(u) <= self._prices * (1.0 + 1e-12)).all() else np.inf

    def dual_scale(self, u: np.ndarray) -> float:
        norms = self._norms(u)
        over = norms > self._prices
        # The dual norm of a group is its Euclidean norm;
        # the group that exceeds its price by the largest factor decides.
        return float(np.min(self._prices[over] / norms[over])) if over.any() else 1.0

    def check(self, n_features: int) -> None:
        if np.asarray(self.groups).shape != (n_features,):
            raise ValueError(
                f"GroupL1: groups must have one number for each of {n_features} columns; got shape "
                f"{np.asarray(self.groups).shape}."
            )


@plain
@dataclass(frozen=True)
class PowerPenalty(StrengthPenalty):
    """The l_q penalty, strength sum_j |w_j|^q / q, for q in (0, 2].

    q = 2 is l2, q = 1 is l1. Below one it favours few large coefficients over many small ones, and is not convex: a fit
    then ends where no small move helps, which need not be the best place, and no duality gap bounds how far off it is.

    Parameters
    ----------
    q : float, default=1.5
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import PowerPenalty
    >>> PowerPenalty(0.5).prox(np.array([[4.0, 1.0]]), 1.0).round(3)
    array([[3.463, 0.   ]])
    """

    q: float = 1.5
    strength: float = 1.0
    is_separable: ClassVar[bool] = True

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        return self.q >= 1

    @property
    def has_gap(self) -> bool:  # type: ignore[override]
        return self.q >= 1 and self.strength > 0

    def value(self, w: np.ndarray) -> float:
        return self.strength / self.q * float(np.sum(np.abs(w) ** self.q))

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Find the root of u + price u^(q - 1) = |w| by bisection; for q < 1, zero where that costs less."""
        price = np.broadcast_to(np.asarray(step * self.strength, dtype=np.float64), w.shape)
        size = np.abs(w)
        if self.q == 1:
            # Soft thresholding, the closed form at q = 1.
            return np.sign(w) * np.maximum(size - price, 0.0)
        # For q < 1 the left side has its minimum here, and the outer root, if any, is to its right.
        low = (price * max(1.0 - self.q, 0.0)) ** (1.0 / (2.0 - self.q)) if self.q < 2 else np.zeros_like(size)
        low = np.minimum(low, size)
        high = size
        with np.errstate(divide="ignore"):
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                beyond = middle + price * middle ** (self.q - 1.0) > size
                low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        root = 0.5 * (low + high)
        if self.q < 1:
            # For q < 1 the prox jumps: the outer root is a local minimum only, and zero may be lower.
            better = 0.5 * (root - size) ** 2 + price / self.q * root**self.q < 0.5 * size**2
            root = np.where(better, root, 0.0)
        return np.sign(w) * root

    def conjugate(self, u: np.ndarray) -> float:
        """Return strength sum_j |u_j / strength|^p / p, with 1/p + 1/q = 1."""
        if self.q == 1:
            return 0.0 if (np.abs(u) <= self.strength).all() else np.inf
        # p is the conjugate exponent of q; at q = 1 the conjugate is the indicator of a box.
        p = self.q / (self.q - 1.0)
        return self.strength / p * float(np.sum(np.abs(u / self.strength) ** p))

    def dual_scale(self, u: np.ndarray) -> float:
        most = float(np.max(np.abs(u), initial=0.0))
        return self.strength / most * (1.0 - 1e-15) if self.q == 1 and most > self.strength else 1.0

    def check(self, n_features: int) -> None:
        if not 0 < self.q <= 2:
            raise ValueError(f"PowerPenalty: q must be a number in (0, 2]; got {self.q!r}.")
