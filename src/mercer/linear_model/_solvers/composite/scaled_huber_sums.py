"""Huber's loss with its scale as a parameter: sums for the value, the gradient and the Hessian.

For a residual r and a scale v the loss is v (1 + H(r / v)), with H(t) = t^2 for |t| <= epsilon and
2 epsilon |t| - epsilon^2 beyond. With u = clip(r / v, -epsilon, epsilon) it is v (1 - u^2) + 2 u r, its derivative by
the score is -2 u, that by the scale 1 - u^2. With t = r / v, rows with |t| < epsilon alone bend, by (2 / v) [1, t]
[1, t]^T; for the others (2 / v) epsilon / |t| is the bend by the score of a parabola that touches the loss from above.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Block
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array


@dataclass(frozen=True)
class ScaledHuberSums(Sums):
    """Weighted sums of the losses and of u^2, and the gradient by coefficients and intercept (d + 1,)."""

    value: float
    squares: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class ScaledHuber(Statistic):
    """Value and gradient at parameters (d + 1,) and a scale."""

    parameters: Array
    scale: float
    epsilon: float

    def of(self, block: Block) -> ScaledHuberSums:
        xp = block.xp
        scaled = _scale_residuals(block, self.parameters, self.scale)
        inner = _clip(scaled, self.epsilon, xp)
        both = inner * inner
        value = self.scale * (1.0 - both + 2.0 * inner * scaled)
        slope = block.weigh(-2.0 * inner)
        gradient = xp.concat([block.transpose_matmul(slope), xp.reshape(_sum(slope, xp), (1,))])
        squares = _sum(block.weigh(both), xp)
        return ScaledHuberSums(float(_sum(block.weigh(value), xp)), float(squares), gradient)


@dataclass(frozen=True, eq=False)
class ScaledHuberCurvature(Statistic):
    """The Hessian by coefficients, intercept and scale (d + 2), times scale / 2; if `cautious`, parabolas that touch
    the loss from above take the place of its straight pieces.
    """

    parameters: Array
    scale: float
    epsilon: float
    cautious: bool = False

    def of(self, block: Block) -> Array:
        xp = block.xp
        scaled = _scale_residuals(block, self.parameters, self.scale)
        size = xp.abs(scaled)
        bent = size < self.epsilon
        if self.cautious:
            # epsilon / |t|, one for rows within epsilon: the weights of reweighted least squares.
            bends = block.weigh(self.epsilon / xp.clip(size, self.epsilon, None))
        else:
            bends = block.weigh(xp.astype(bent, scaled.dtype))
        by_scale = xp.where(bent, scaled, xp.zeros_like(scaled))
        rows = block.X
        # Rows that do not bend add nothing.
        if xp is np and not self.cautious:
            chosen = bends.nonzero()[0]
            rows, by_scale, bends = rows[chosen], by_scale[chosen], bends[chosen]
        root = xp.sqrt(bends)[:, None]
        # The last two columns: intercept and scale.
        edge = xp.stack([xp.ones_like(by_scale), by_scale], axis=1) * root
        heavy = rows.multiply(root).tocsr() if block.is_sparse else rows * root
        inner, side, corner = heavy.T @ heavy, heavy.T @ edge, edge.T @ edge
        inner = inner.toarray() if block.is_sparse else inner
        return xp.concat([xp.concat([inner, side], axis=1), xp.concat([side.T, corner], axis=1)], axis=0)


def _clip(values: Array, bound: float, xp: Any) -> Array:
    """Return values kept within -bound and bound; NumPy's own function takes twice as long for few values."""
    return np.minimum(np.maximum(values, -bound), bound) if xp is np else xp.clip(values, -bound, bound)


def _sum(values: Array, xp: Any) -> Array:
    """Return the sum of all values; NumPy's own function inspects its arguments for as long as it adds few values."""
    return np.add.reduce(values) if xp is np else xp.sum(values)


def _scale_residuals(block: Block, parameters: Array, scale: float) -> Array:
    """Return residuals in units of the scale."""
    scores = block.matmul(parameters[:-1]) + parameters[-1]
    return (block.xp.astype(block.y, scores.dtype) - scores) / scale
