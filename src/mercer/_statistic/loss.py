"""The loss of a linear model over the rows, its gradient, its Hessian, and products with its Hessian.

Parameters are one matrix (k, d + 1): a row of coefficients and an intercept for each score. Scores are X W^T + b; the
gradient of sum_i s_i loss(scores_i, y_i) is R^T [X, 1] with R the weighted residuals, and its Hessian
sum_i s_i C_i (x) [x_i, 1][x_i, 1]^T with C_i the k x k second derivative of the loss.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._objective import Loss, PiecewiseLoss, Smoothed
from mercer._source import Block
from mercer._source.block import DenseBlock
from mercer._statistic.moments import Moments
from mercer._statistic.statistic import Statistic, Sums, fold_sums
from mercer._types import Array, Rows

# Numbers in the tables of a run of blocks at most; beyond, a block takes so long that runs gain nothing.
_LARGEST_TABLE = 2**20


@dataclass(frozen=True)
class LossSums(Sums):
    """Weighted sum of the losses, and its gradient (k, d + 1)."""

    value: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class LinearStatistic(Statistic):
    """A statistic of the scores that parameters give."""

    loss: Loss
    parameters: Array

    def scores(self, block: Block) -> Array:
        """Return X W^T + b, of shape (n, k), float64."""
        weights, intercept = self.parameters[:, :-1], self.parameters[:, -1]
        return block.matmul(weights.T) + intercept[None, :]


class LossGradient(LinearStatistic):
    """Value and gradient of the summed loss."""

    def of(self, block: Block) -> LossSums:
        xp = block.xp
        scores = self.scores(block)
        value = xp.sum(block.weigh(self.loss.value(scores, block.y, xp, checked=True)))
        residual = block.weigh(self.loss.residual(scores, block.y, xp, checked=True))
        return LossSums(float(value), _multiply_rows(block, residual))

    def on(self, block: Block) -> LossSums:
        """Compute the gradient by compiled code if there is some and scores are NumPy arrays; rows may be sparse."""
        if not self.loss.has_native:
            return self.of(block)
        return self._of_sparse(block) if block.is_sparse else super().on(block)

    def on_run(self, block: Block, unit: int) -> LossSums:
        return super().on_run(block, unit) if self.loss.has_native else self._by_parts(block, unit)

    def _of_sparse(self, block: Block) -> LossSums:
        scores = self.scores(block)
        value = self.loss.sum_with_residual(scores, block.y, block.weight)
        return LossSums(value, _multiply_rows(block, scores))

    def native_run(self, block: Block, unit: int) -> LossSums:
        n_blocks, (k, width) = -(-block.n // unit), self.parameters.shape
        if n_blocks > 1 and n_blocks * k * (width + 1) > _LARGEST_TABLE:
            return self._by_parts(block, unit, self.native)
        table = np.zeros((n_blocks, k, width + 1))
        self.loss.add_gradients(block.X, unit, block.y, block.weight, self.parameters, table)
        total = fold_sums(table)
        return LossSums(float(total[0, width]), total[:, :width].copy())


@dataclass(frozen=True)
class SmoothedSums(Sums):
    """Weighted sums of the smoothed losses, of the losses and of their conjugates at the smoothed residuals, and the
    gradient of the first (k, d + 1).
    """

    value: float
    loss: float
    conjugate: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class SmoothedGradient(Statistic):
    """Value and gradient of a loss with corners rounded off, with the value and the dual value of the loss itself.

    Corners are rounded off by a barrier, or else by parabolas of that width, its Moreau envelope: closer to
    the loss for the same curvature, but with none far from corners. With a direction (k, d + 1), residuals are those
    that a step along it leads to, to first order, kept to the slopes of the loss: after a Newton step they meet the
    conditions of the dual exactly, however round the corners.
    """

    loss: PiecewiseLoss
    parameters: Array
    barrier: float
    direction: Array = None
    envelope: bool = False

    def of(self, block: Block) -> SmoothedSums:
        xp = block.xp
        scores = block.matmul(self.parameters[:, :-1].T) + self.parameters[:, -1][None, :]
        if self.envelope:
            value = self.loss.height(scores, block.y, self.barrier, xp)
            residual = self.loss.slope(scores, block.y, self.barrier, xp)
        else:
            value, residual, bend = Smoothed(self.loss, self.barrier).round_corners(scores, block.y, xp)
        loss = self.loss.value(scores, block.y, xp, checked=True)
        if self.direction is not None:
            change = block.matmul(self.direction[:, :-1].T) + self.direction[:, -1][None, :]
            # `limits` are the least and largest slope by the distance, which is `sign` times the score up to a
            # constant.
            sign = self.loss.distances(scores, block.y, xp)[2]
            residual = sign * xp.clip(sign * (residual + bend * change), *self.loss.limits)
        conjugate = self.loss.conjugate(residual, block.y, xp, checked=True)
        height, total, dual = (float(xp.sum(block.weigh(part))) for part in (value, loss, conjugate))
        return SmoothedSums(height, total, dual, _multiply_rows(block, block.weigh(residual)))


@dataclass(frozen=True, eq=False)
class LossCurvature(LinearStatistic):
    """The Hessian of the summed loss by some columns and the intercept, for k scores and m columns a square matrix of
    k (m + 1) rows, parameters in C order.
    """

    columns: Array = None

    def of(self, block: Block) -> Array:
        xp, scores = block.xp, self.scores(block)
        rows = block.X if self._takes_all(block) else self._choose_columns(block)
        if self.loss.is_separable:
            bends = block.weigh(self.loss.find_model_curvature(scores, block.y, xp))
            return _diagonal([_gram(block, rows, bends[:, i : i + 1]) for i in range(bends.shape[1])], xp)
        p = self.loss.mean(scores, xp)
        k = p.shape[1]
        parts = {}
        for i in range(k):
            for j in range(i, k):
                # The Hessian of softmax in the scores is diag(p) - p p^T; it is symmetric, so that half of its blocks
                # suffice.
                factor = p[:, i : i + 1] * ((1.0 if i == j else 0.0) - p[:, j : j + 1])
                parts[i, j] = parts[j, i] = _gram(block, rows, block.weigh(factor))
        return xp.concat([xp.concat([parts[i, j] for j in range(k)], axis=1) for i in range(k)], axis=0)

    def on_run(self, block: Block, unit: int) -> Array:
        """Compute the Hessian of one score by compiled moments: it is the second moment of [x, 1], weighted."""
        if not self._is_of_moments(block):
            return super().on_run(block, unit)
        bends = self.loss.find_model_curvature(self.scores(block), block.y, np)[:, 0]
        return _sum_moments(block, unit, bends)

    def on(self, block: Block) -> Array:
        return self.on_run(block, max(1, block.n)) if self._is_of_moments(block) else super().on(block)

    def _is_of_moments(self, block: Block) -> bool:
        single = self.loss.is_separable and self.loss.n_scores == 1
        return single and block.is_native and self._takes_all(block)

    def _takes_all(self, block: Block) -> bool:
        return self.columns is None or self.columns.shape[0] == block.X.shape[1]

    def _choose_columns(self, block: Block) -> Array:
        return block.X[:, self.columns] if block.xp is np else block.xp.take(block.X, self.columns, axis=1)


@dataclass(frozen=True, eq=False)
class ClassCurvature(LinearStatistic):
    """The blocks on the diagonal of the Hessian of the summed cross-entropy, (k, d + 1, d + 1): one for each class.

    The block of class j is sum_i s_i p_ij (1 - p_ij) [x_i, 1][x_i, 1]^T.
    """

    def of(self, block: Block) -> Array:
        p = self.loss.mean(self.scores(block), block.xp)
        bends = block.weigh(p * (1.0 - p))
        return block.xp.stack([_gram(block, block.X, bends[:, j : j + 1]) for j in range(p.shape[1])])

    def on_run(self, block: Block, unit: int) -> Array:
        """Compute the blocks by compiled moments: they are second moments of [x, 1], weighted."""
        if not block.is_native:
            return super().on_run(block, unit)
        p = self.loss.mean(self.scores(block), np)
        bends = p * (1.0 - p)
        return np.stack([_sum_moments(block, unit, np.ascontiguousarray(bends[:, j])) for j in range(p.shape[1])])

    def on(self, block: Block) -> Array:
        return self.on_run(block, max(1, block.n)) if block.is_native else super().on(block)


def _sum_moments(block: Block, unit: int, bends: Array) -> Array:
    """Return sum_i s_i bends_i [x_i, 1][x_i, 1]^T over a run of blocks, by compiled code."""
    weighted = DenseBlock(block.X, block.start, np.ones(block.n), block.weigh(bends))
    sums = Moments(centre=False).on_run(weighted, unit)
    # The targets of ones are the column of the intercept: their cross moments are its row of the Hessian.
    d = block.X.shape[1]
    hessian = np.empty((d + 1, d + 1), sums.scatter.dtype)
    hessian[:d, :d], hessian[:d, d:] = sums.scatter, sums.cross
    hessian[d:, :d], hessian[d:, d:] = sums.cross.T, sums.y_scatter[:, None]
    return hessian


def _diagonal(parts: list[Array], xp: Any) -> Array:
    """Return a matrix with some square matrices on its diagonal and zeros elsewhere."""
    if len(parts) == 1:
        return parts[0]
    zero = xp.zeros_like(parts[0])
    rows = [xp.concat([part if i == j else zero for j in range(len(parts))], axis=1) for i, part in enumerate(parts)]
    return xp.concat(rows, axis=0)


def _gram(block: Block, rows: Rows, factor: Array) -> Array:
    """Return sum_i factor_i [x_i, 1][x_i, 1]^T, with `factor` (n, 1); symmetric."""
    xp = block.xp
    if xp is np and not block.is_sparse:
        # Straight pieces of a loss bend nowhere: their rows are left out.
        bent = np.flatnonzero(factor[:, 0])
        if 2 * len(bent) < block.n:
            rows, factor = rows[bent], factor[bent]
    if block.is_sparse:
        scaled = rows.multiply(factor).tocsr()
        inner, edge = (rows.T @ scaled).toarray(), (scaled.T @ np.ones((block.n, 1)))
    elif bool(xp.all(factor >= 0)):
        # Roots on both factors keep the product symmetric, which lets the BLAS form one triangle only.
        root = xp.sqrt(factor)
        scaled = rows * root
        inner, edge = scaled.T @ scaled, scaled.T @ root
    else:
        scaled = rows * factor
        inner, edge = xp.matmul(rows.T, scaled), xp.sum(scaled, axis=0)[:, None]
    corner = xp.reshape(xp.sum(factor), (1, 1))
    return xp.concat([xp.concat([inner, edge], axis=1), xp.concat([edge.T, corner], axis=1)], axis=0)


@dataclass(frozen=True, eq=False)
class CurvatureProduct(LinearStatistic):
    """The Hessian of the summed loss times a direction (k, d + 1), without forming it."""

    direction: Array

    def of(self, block: Block) -> Array:
        xp, scores = block.xp, self.scores(block)
        change = block.matmul(self.direction[:, :-1].T) + self.direction[:, -1][None, :]
        if self.loss.is_separable:
            change = self.loss.find_model_curvature(scores, block.y, xp) * change
        else:
            p = self.loss.mean(scores, xp)
            # (diag(p) - p p^T) c = p (c - p.c), without the k x k matrix.
            change = p * (change - xp.sum(p * change, axis=1, keepdims=True))
        return _multiply_rows(block, block.weigh(change))


@dataclass(frozen=True, eq=False)
class Mistakes(Statistic):
    """The number of rows that the linear scores of `parameters` (k, d + 1) misclassify."""

    parameters: Array

    def of(self, block: Block) -> int:
        xp = block.xp
        scores = block.matmul(self.parameters[:, :-1].T) + self.parameters[:, -1][None, :]
        right = (scores[:, 0] > 0) == (block.y > 0) if scores.shape[1] == 1 else xp.argmax(scores, axis=1) == block.y
        return block.n - int(xp.sum(xp.astype(right, xp.int64)))


def _multiply_rows(block: Block, residual: Array) -> Array:
    """Return R^T [X, 1]: the gradient by coefficients and, last, by intercepts."""
    xp = block.xp
    by_coefficients = block.transpose_matmul(residual).T
    return xp.concat([by_coefficients, xp.sum(residual, axis=0)[:, None]], axis=1)
