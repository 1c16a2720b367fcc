"""What boosting asks of a loss: first scores, gradients and curvatures of all rows, leaf values and predictions."""

from dataclasses import dataclass, replace

import numpy as np

from mercer._native.boosting import boosting_gradients
from mercer._objective import Huber, Loss
from mercer._objective.constants import compute_mean, compute_quantile
from mercer._plain import plain
from mercer._types import Array


@plain
@dataclass(frozen=True)
class BoostingLoss:
    """A loss of ``mercer.objectives``, at scores (n, k).

    Attributes
    ----------
    loss : Loss
    quantile : float or None
        For Huber's loss: its delta is this quantile of the absolute residuals when a round begins. None keeps delta.
    """

    loss: Loss
    quantile: float | None = None

    @property
    def n_scores(self) -> int:
        """The number of scores of a row, k."""
        return self.loss.n_scores

    @property
    def own_leaves(self) -> bool:
        """Whether a leaf value is optimised on the rows of the leaf, not found by a Newton step."""
        return not self.loss.takes_newton

    @property
    def native(self) -> int:
        """The number in native code of a loss that all rounds share, 0 for none."""
        return 0 if self.quantile is not None else self.loss.native

    def baseline(self, y: Array, weight: Array | None) -> Array:
        """Return the constant scores (k,) of least loss."""
        if self.quantile is not None:
            return np.array([compute_quantile(y, weight, 0.5)])
        return self.loss.find_constant(y, weight)

    def value(self, scores: Array, y: Array) -> Array:
        """Return the loss of each row (n,)."""
        return self.loss.value(scores, y, np, checked=True)

    def renew(self, scores: Array, y: Array, weight: Array | None) -> "BoostingLoss":
        """Return the loss of the next round; most losses do not change."""
        if self.quantile is None:
            return self
        return replace(self, loss=Huber(compute_quantile(np.abs(y - scores[:, 0]), weight, self.quantile)))

    def leaf(self, scores: Array, y: Array, weight: Array | None) -> float:
        """Return the best value of a leaf with these rows, where `own_leaves`."""
        if self.quantile is None:
            return self.loss.find_shift(scores, y, weight)
        # One step from the median towards the minimum (Friedman, 2001, equation 35).
        gap, delta = y - scores[:, 0], self.loss.shape
        middle = compute_quantile(gap, weight, 0.5)
        return middle + compute_mean(np.clip(gap - middle, -delta, delta), weight)

    def inverse_link(self, scores: Array) -> Array:
        """Return the prediction at scores (n, k): the mean, the median, or probabilities (n, classes)."""
        mean = self.loss.mean(scores, np, checked=True)
        if self.loss.target == "numbers":
            return mean[:, 0]
        return mean if self.n_scores > 1 else np.column_stack([1.0 - mean[:, 0], mean[:, 0]])

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
            Written: gradient and curvature, weighted; ones stand for the curvatures of a loss with `own_leaves`.
        totals : (blocks, 1 + 2 k)
            Written: the sums of the loss, and for each score of absolute gradients and of curvatures.
        """
        loss, flat = self.loss, self.own_leaves
        if loss.native:
            boosting_gradients.compute_loss(
                loss.native, loss.shape, flat, scores, y, weight, unit, first, last, gradients, totals
            )
            return
        for block in range(first, last):
            rows = slice(block * unit, min((block + 1) * unit, len(y)))
            z, t = scores[rows], y[rows]
            w = weight[rows, None] if len(weight) else 1.0
            slopes = w * loss.residual(z, t, np, checked=True)
            bends = w * (np.ones_like(z) if flat else loss.curvature(z, t, np, checked=True))
            gradients[:, rows] = np.stack([slopes.T, bends.T], axis=2)
            loss_sum = np.sum(np.ravel(w) * self.value(z, t))
            totals[block] = loss_sum, *np.stack([np.abs(slopes).sum(axis=0), bends.sum(axis=0)], axis=1).ravel()
