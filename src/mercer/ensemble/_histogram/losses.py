"""Losses of boosting: the best constant score, gradients and curvatures at scores, and optimal leaf values.

The formulas are those of :mod:`mercer.objectives`; the loss of a fit is the sum over its rows. Squared, logistic and
softmax losses have compiled twins, which work on all blocks of a fit; the others run in NumPy, block by block.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, logsumexp, softmax

from mercer._native.boosting import boosting_gradients
from mercer._plain import plain
from mercer._types import Array

# Keeps shares of classes away from 0 and 1, where the log-odds are infinite.
_TINY = np.finfo(np.float64).eps


@dataclass(frozen=True)
class BoostingLoss:
    """A loss of scores (n, k); subclasses are frozen dataclasses.

    Attributes
    ----------
    n_scores : int
        The number of scores of a row, k.
    own_leaves : bool
        Whether a leaf value is optimised on the rows of the leaf, not found by a Newton step.
    native : int
        The code of the compiled twin in slopes.pxd, 0 for none.
    """

    n_scores: int = 1
    own_leaves: ClassVar[bool] = False
    native: ClassVar[int] = 0

    def baseline(self, y: Array, weight: Array | None) -> Array:
        """Return the constant scores (k,) of least loss."""
        raise NotImplementedError  # each loss defines its own

    def value(self, scores: Array, y: Array) -> Array:
        """Return the loss of each row (n,)."""
        raise NotImplementedError  # each loss defines its own

    def differentiate(self, scores: Array, y: Array) -> tuple[Array, Array]:
        """Return gradient and curvature (n,) of the loss in its one score."""
        raise NotImplementedError  # each loss without a compiled twin defines its own

    def renew(self, scores: Array, y: Array, weight: Array | None) -> "BoostingLoss":
        """Return the loss of the next round; most losses do not change."""
        return self

    def leaf(self, scores: Array, y: Array, weight: Array | None) -> float:
        """Return the best value of a leaf with these rows, where `own_leaves`."""
        raise NotImplementedError  # each loss with own_leaves defines its own

    def inverse_link(self, scores: Array) -> Array:
        """Return the prediction at scores (n, k): the mean, the median, or probabilities (n, classes)."""
        return scores[:, 0]

    def mean(self, scores: Array, y: Array, weight: Array | None) -> float:
        """Return the weighted mean loss."""
        return float(np.average(self.value(scores, y), weights=weight))

    def run(
        self, scores: Array, y: Array, weight: Array, unit: int, first: int, last: int, gradients: Array, totals: Array
    ) -> None:
        """Write gradients, curvatures and their sums for blocks `first` to before `last`.

        Parameters
        ----------
        scores : (n, k)
        y, weight : (n,)
            No weights mean one each.
        unit : int
            Rows in a block.
        first, last : int
        gradients : (k, n, 2)
            Written: gradient and curvature, weighted.
        totals : (blocks, 1 + 2 k)
            Written: the sums of the loss, and for each score of absolute gradients and of curvatures.
        """
        if self.native:
            boosting_gradients.compute_loss(self.native, scores, y, weight, unit, first, last, gradients, totals)
            return
        for block in range(first, last):
            rows = slice(block * unit, min((block + 1) * unit, len(y)))
            z, t = scores[rows], y[rows]
            w = weight[rows] if len(weight) else 1.0
            # Losses without a compiled twin have one score, so that only the first one is written.
            slope, curvature = self.differentiate(z, t)
            gradients[0, rows, 0] = w * slope
            gradients[0, rows, 1] = w * curvature
            loss = np.sum(w * self.value(z, t))
            totals[block] = loss, np.abs(gradients[0, rows, 0]).sum(), gradients[0, rows, 1].sum()


@plain
@dataclass(frozen=True)
class SquaredLoss(BoostingLoss):
    """(z - y)^2 / 2."""

    native: ClassVar[int] = 1

    def baseline(self, y: Array, weight: Array | None) -> Array:
        return np.array([compute_mean(y, weight)])

    def value(self, scores: Array, y: Array) -> Array:
        return 0.5 * (scores[:, 0] - y) ** 2


@plain
@dataclass(frozen=True)
class QuantileLoss(BoostingLoss):
    """q max(y - z, 0) + (1 - q) max(z - y, 0)."""

    quantile: float = 0.5
    own_leaves: ClassVar[bool] = True
    scale: ClassVar[float] = 1.0

    def baseline(self, y: Array, weight: Array | None) -> Array:
        return np.array([compute_quantile(y, weight, self.quantile)])

    def value(self, scores: Array, y: Array) -> Array:
        gap = y - scores[:, 0]
        return self.scale * np.where(gap > 0, self.quantile * gap, (self.quantile - 1) * gap)

    def differentiate(self, scores: Array, y: Array) -> tuple[Array, Array]:
        slope = np.where(y > scores[:, 0], -self.quantile, 1 - self.quantile)
        # The loss has no curvature: with ones, splits separate the signs of residuals by least squares, and `leaf`
        # finds the values.
        return self.scale * slope, np.ones_like(slope)

    def leaf(self, scores: Array, y: Array, weight: Array | None) -> float:
        return compute_quantile(y - scores[:, 0], weight, self.quantile)


@plain
@dataclass(frozen=True)
class AbsoluteLoss(QuantileLoss):
    """|z - y|."""

    # |r| is twice the loss of the median.
    scale: ClassVar[float] = 2.0


@plain
@dataclass(frozen=True)
class HuberLoss(BoostingLoss):
    """r^2 / 2 for residuals |r| <= limit, and limit (|r| - limit / 2) beyond.

    The limit is the quantile of the absolute residuals when a round begins.
    """

    quantile: float = 0.9
    limit: float = 1.0
    own_leaves: ClassVar[bool] = True

    def renew(self, scores: Array, y: Array, weight: Array | None) -> "HuberLoss":
        return replace(self, limit=compute_quantile(np.abs(y - scores[:, 0]), weight, self.quantile))

    def baseline(self, y: Array, weight: Array | None) -> Array:
        return np.array([compute_quantile(y, weight, 0.5)])

    def value(self, scores: Array, y: Array) -> Array:
        size = np.abs(y - scores[:, 0])
        return np.where(size <= self.limit, 0.5 * size**2, self.limit * (size - 0.5 * self.limit))

    def differentiate(self, scores: Array, y: Array) -> tuple[Array, Array]:
        slope = np.clip(scores[:, 0] - y, -self.limit, self.limit)
        # As for quantiles: `leaf` finds the values, so that the curvature serves the search of splits only.
        return slope, np.ones_like(slope)

    def leaf(self, scores: Array, y: Array, weight: Array | None) -> float:
        # One step from the median towards the minimum (Friedman, 2001, equation 35).
        gap = y - scores[:, 0]
        middle = compute_quantile(gap, weight, 0.5)
        return middle + compute_mean(np.clip(gap - middle, -self.limit, self.limit), weight)


@plain
@dataclass(frozen=True)
class PoissonLoss(BoostingLoss):
    """exp(z) - y z: the score is the logarithm of the mean."""

    def baseline(self, y: Array, weight: Array | None) -> Array:
        return np.array([np.log(compute_mean(y, weight))])

    def value(self, scores: Array, y: Array) -> Array:
        return np.exp(scores[:, 0]) - y * scores[:, 0]

    def differentiate(self, scores: Array, y: Array) -> tuple[Array, Array]:
        mean = np.exp(scores[:, 0])
        return mean - y, mean

    def inverse_link(self, scores: Array) -> Array:
        return np.exp(scores[:, 0])


@plain
@dataclass(frozen=True)
class GammaLoss(PoissonLoss):
    """z + y exp(-z): the score is the logarithm of the mean."""

    def value(self, scores: Array, y: Array) -> Array:
        return scores[:, 0] + y * np.exp(-scores[:, 0])

    def differentiate(self, scores: Array, y: Array) -> tuple[Array, Array]:
        ratio = y * np.exp(-scores[:, 0])
        return 1.0 - ratio, ratio


@plain
@dataclass(frozen=True)
class LogisticLoss(BoostingLoss):
    """log(1 + exp(z)) - y z for y in {0, 1}."""

    native: ClassVar[int] = 2

    def baseline(self, y: Array, weight: Array | None) -> Array:
        share = np.clip(compute_mean(y, weight), _TINY, 1 - _TINY)
        return np.array([np.log(share / (1 - share))])

    def value(self, scores: Array, y: Array) -> Array:
        return np.logaddexp(0.0, scores[:, 0]) - y * scores[:, 0]

    def inverse_link(self, scores: Array) -> Array:
        share = expit(scores[:, 0])
        return np.column_stack([1.0 - share, share])


@plain
@dataclass(frozen=True)
class ExponentialLoss(LogisticLoss):
    """y exp(-z) + (1 - y) exp(z) for y in {0, 1}: the loss of AdaBoost, whose score is half the log-odds."""

    native: ClassVar[int] = 0

    def baseline(self, y: Array, weight: Array | None) -> Array:
        # The minimiser of p exp(-z) + (1 - p) exp(z) is half the log-odds.
        return 0.5 * super().baseline(y, weight)

    def value(self, scores: Array, y: Array) -> Array:
        return y * np.exp(-scores[:, 0]) + (1 - y) * np.exp(scores[:, 0])

    def differentiate(self, scores: Array, y: Array) -> tuple[Array, Array]:
        right, wrong = y * np.exp(-scores[:, 0]), (1 - y) * np.exp(scores[:, 0])
        return wrong - right, wrong + right

    def inverse_link(self, scores: Array) -> Array:
        return super().inverse_link(2.0 * scores)


@plain
@dataclass(frozen=True)
class SoftmaxLoss(BoostingLoss):
    """log(sum_j exp(z_j)) - z_y for y in {0, ..., K - 1}."""

    n_scores: int = 3
    native: ClassVar[int] = 3

    def baseline(self, y: Array, weight: Array | None) -> Array:
        shares = np.bincount(y.astype(int), weights=weight, minlength=self.n_scores)
        logs = np.log(np.clip(shares / shares.sum(), _TINY, 1.0))
        # A common shift changes no probability; scores that sum to zero are the symmetric choice.
        return logs - logs.mean()

    def value(self, scores: Array, y: Array) -> Array:
        return logsumexp(scores, axis=1) - scores[np.arange(len(y)), y.astype(int)]

    def inverse_link(self, scores: Array) -> Array:
        return softmax(scores, axis=1)


def compute_mean(values: Array, weight: Array | None) -> float:
    """Return the mean; weights are repetitions."""
    return float(np.average(values, weights=weight))


def compute_quantile(values: Array, weight: Array | None, share: float) -> float:
    """Return the value below which `share` of the weight lies; the mean of two where both qualify."""
    order = np.argsort(values, kind="stable")
    values = values[order]
    reached = np.arange(1.0, len(values) + 1) if weight is None else np.cumsum(weight[order])
    goal = share * reached[-1]
    # Cumulative weights are rounded; allow for it when locating the quantile.
    near = 1e-12 * reached[-1]
    low = min(int(np.searchsorted(reached, goal - near)), len(values) - 1)
    high = min(int(np.searchsorted(reached, goal + near)), len(values) - 1)
    return float(0.5 * (values[low] + values[high]))
