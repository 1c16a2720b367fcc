"""Losses whose scores are log-probabilities of classes: logistic for two, softmax for more.

The compiled twins of the two sums that every pass needs are in ``_native/sums/gradients.py``.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.shared import loss_numbers
from mercer._native.sums import gradients
from mercer._objective.constants import compute_mean
from mercer._objective.loss import TILE, LabelLoss
from mercer._plain import plain
from mercer._types import Array

_NO_WEIGHT = np.empty(0)
# Keeps shares of classes away from 0 and 1, where the log-odds are infinite.
_EPSILON = np.finfo(np.float64).eps
# The least positive number with all its digits: smaller probabilities count as it.
_TINY = float(np.finfo(np.float64).tiny)


class _ClassLoss(LabelLoss):
    """A loss with means: the probabilities that the scores give."""

    @property
    def is_lipschitz(self) -> bool:
        return True

    def _mean(self, scores: Array, xp: Any) -> Array:
        """Return the expected target given the scores, of the shape of the scores; residuals are mean minus target."""
        raise NotImplementedError  # both losses below define their own

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        """Return the derivative of the loss by the scores: mean minus target."""
        return self._mean(scores, xp) - self.targets(y, xp, scores.dtype)

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        """Return p (1 - p), which is at most 1/4 (Boehning and Lindsay, 1988); of softmax, the diagonal."""
        p = self._mean(scores, xp)
        return p * (1.0 - p)


@plain
@dataclass(frozen=True)
class Logistic(_ClassLoss):
    """The logistic loss, log(1 + exp(z)) - y z for y in {0, 1}.

    It is minus the log-likelihood of P(y = 1) = 1 / (1 + exp(-z)); in terms of the margin m = t z with t = 2 y - 1 it
    is log(1 + exp(-m)), and log2(1 + exp(-m)) = 1.4427 log(1 + exp(-m)) bounds the 0-1 loss from above.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Logistic
    >>> Logistic().value(np.array([[0.0]]), np.array([1.0])).round(4)
    array([0.6931])
    """

    names: ClassVar[tuple[str, ...]] = ("logistic", "log_loss")
    native: ClassVar[int] = loss_numbers.LOGISTIC
    n_classes = 2
    # Second derivative at z = 0, where fits start.
    start_curvature = 0.25

    @property
    def smoothness(self) -> float:
        return 0.25

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        z = scores[:, 0]
        return xp.maximum(z, xp.zeros_like(z)) + xp.log1p(xp.exp(-xp.abs(z))) - y * z

    def _mean(self, scores: Array, xp: Any) -> Array:
        small = xp.exp(-xp.abs(scores))
        return xp.where(scores < 0, small, xp.ones_like(small)) / (1.0 + small)

    def link(self, mean: Array, xp: Any) -> Array:
        return xp.log(mean / (1.0 - mean))

    def find_constant(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        share = np.clip(compute_mean(y, weight), _EPSILON, 1 - _EPSILON)
        return np.array([np.log(share / (1 - share))])

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return p log p + (1 - p) log(1 - p) at p = dual + y, for p in [0, 1]."""
        p = dual[:, 0] + self.targets(y, xp, dual.dtype)[:, 0]
        inside = _negative_entropy(p, xp) + _negative_entropy(1.0 - p, xp)
        # Outside of [0, 1] nothing bounds dual z - loss(z), so the conjugate is infinite.
        return xp.where((p < 0) | (p > 1), xp.full_like(p, xp.inf), inside)

    def balance(
        self, excess: np.ndarray, shares: np.ndarray, typical: float
    ) -> tuple[float, np.ndarray, np.ndarray, float]:
        """Mix with one constant probability: the least share of it that can make up for the excess."""
        share, over = float(shares[0]), float(excess[0])
        given, wanted = (1.0 - share - over, share + over), (1.0 - share, share)
        if math.isfinite(over):
            mix, last, entropy = _mix_two(given, wanted)
            return mix, np.array([last]), np.array([-1.0]), entropy
        mix, row, entropy = _mixture(np.array(given), np.array(wanted))
        return mix, row[1:], np.array([-1.0]), entropy


@plain
@dataclass(frozen=True)
class Softmax(_ClassLoss):
    """The cross-entropy, log(sum_j exp(z_j)) - z_y for y in {0, ..., K - 1}.

    It is minus the log-likelihood of P(j) = exp(z_j) / sum_m exp(z_m).

    Parameters
    ----------
    n_classes : int, default=3
        K.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Softmax
    >>> Softmax(3).value(np.zeros((1, 3)), np.array([1])).round(4)
    array([1.0986])
    """

    native: ClassVar[int] = loss_numbers.SOFTMAX
    n_classes: int = 3
    is_separable = False

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        return self.n_classes

    @property
    def has_native(self) -> bool:
        return True

    @property
    def smoothness(self) -> float:
        return 0.5

    @property
    def start_curvature(self) -> float:
        """1 / K: at z = 0 the second derivative is (I - 11^T / K) / K."""
        return 1.0 / self.n_classes

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        # log sum exp(z) = m + log sum exp(z - m): with m the largest score, no exponential overflows.
        most = xp.max(scores, axis=1, keepdims=True)
        shifted = scores - most
        chosen = xp.sum(shifted * self.targets(y, xp, scores.dtype), axis=1)
        return xp.log(xp.sum(xp.exp(shifted), axis=1)) - chosen

    def _mean(self, scores: Array, xp: Any) -> Array:
        parts = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return parts / xp.sum(parts, axis=1, keepdims=True)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        classes = xp.arange(self.n_classes, dtype=y.dtype, device=y.device)
        return xp.astype(y[:, None] == classes[None, :], xp.float64 if dtype is None else dtype)

    def link(self, mean: Array, xp: Any) -> Array:
        logs = xp.log(mean)
        # A common shift changes no probability; scores that sum to zero are the symmetric choice.
        return logs - xp.mean(logs, axis=-1, keepdims=True)

    def find_constant(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        shares = np.bincount(y.astype(int), weights=weight, minlength=self.n_classes)
        return self.link(np.clip(shares / shares.sum(), _EPSILON, 1.0), np)

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        """Return sum_j p_j log p_j at p = dual + onehot(y), for p in the simplex."""
        p = dual + self.targets(y, xp, dual.dtype)
        # The sum of the probabilities is one only up to rounding.
        outside = xp.any(p < 0, axis=1) | (xp.abs(xp.sum(p, axis=1) - 1.0) > 1e-9)
        inside = xp.sum(_negative_entropy(p, xp), axis=1)
        return xp.where(outside, xp.full_like(inside, xp.inf), inside)

    def _prox(self, scores: Array, y: Array, step: float, xp: Any) -> Array:
        """Raise: the scores of a row do not separate, and no closed form is known."""
        raise NotImplementedError(
            "Softmax: the proximal map of the cross-entropy has no closed form; use its gradient."
        )

    def balance(
        self, excess: np.ndarray, shares: np.ndarray, typical: float
    ) -> tuple[float, np.ndarray, np.ndarray, float]:
        """Mix with one constant row of probabilities: the least share of it that can make up for the excess."""
        mix, row, entropy = _mixture(shares + excess, shares)
        return mix, row, -np.ones_like(row), entropy

    def sum_with_residual(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        weight = _NO_WEIGHT if weight is None else weight
        return gradients.softmax(scores, scores.reshape(-1), y, weight, np.empty(scores.shape[0]))

    def add_gradients(
        self,
        X: np.ndarray,
        unit: int,
        y: np.ndarray,
        weight: np.ndarray | None,
        parameters: np.ndarray,
        out: np.ndarray,
    ) -> None:
        scores = np.empty((TILE, self.n_classes))
        gradients.softmax_run(
            X,
            unit,
            y,
            _NO_WEIGHT if weight is None else weight,
            np.ascontiguousarray(parameters[:, :-1]),
            np.ascontiguousarray(parameters[:, -1]),
            np.empty((TILE, X.shape[1])),
            scores,
            # The residuals take the place of the scores: two views of the same memory.
            scores.reshape(-1),
            np.empty(TILE),
            out,
        )


def _mixture(given: np.ndarray, wanted: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Return the least e and the row r of probabilities with (1 - e) given + e r = wanted, and sum r log r."""
    given = np.maximum(given, _TINY)
    # r = given + (wanted - given) / e must not be negative: e >= (given - wanted) / given in every entry.
    mix = min(1.0, float((np.maximum(given - wanted, 0.0) / given).max()))
    row = np.maximum(given + (wanted - given) / mix, 0.0) if mix > 0 else wanted
    return mix, row, float((row * np.log(np.where(row > 0, row, 1.0))).sum())


def _mix_two(given: tuple[float, float], wanted: tuple[float, float]) -> tuple[float, float, float]:
    """Return what :func:`_mixture` does for two finite entries, of the row the last: arrays take ten times as long."""
    lows = max(given[0], _TINY), max(given[1], _TINY)
    pairs = ((lows[0], wanted[0]), (lows[1], wanted[1]))
    mix = min(1.0, max(max(low - goal, 0.0) / low for low, goal in pairs))
    first, last = (max(low + (goal - low) / mix, 0.0) for low, goal in pairs) if mix > 0 else wanted
    logarithms = np.log(np.array([first if first > 0 else 1.0, last if last > 0 else 1.0])).tolist()
    return mix, last, first * logarithms[0] + last * logarithms[1]


def _negative_entropy(p: Array, xp: Any) -> Array:
    """Return p log p, with 0 at 0."""
    return p * xp.log(xp.where(p > 0, p, xp.ones_like(p)))
