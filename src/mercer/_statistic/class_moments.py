"""Moments of labelled rows: shares of classes, their mean sums, and the scatter that metrics are made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._objective import Loss
from mercer._source import Block
from mercer._statistic.moments import Moments
from mercer._statistic.statistic import Statistic, Sums

__all__ = ["LabelledMoments", "LabelledScatter", "LabelledSums"]

Array = Any


@dataclass(frozen=True, eq=False)
class LabelledMoments:
    """Mean row, share of each target, mean of target times row (k, d), and mean centred second moments.

    ``scatter`` is a matrix, or a vector where only its diagonal was asked for.
    """

    mean: Array
    shares: Array
    cross: Array
    scatter: Array


@dataclass(frozen=True, eq=False)
class LabelledScatter(Statistic):
    """Moments of the rows together with the targets that `loss` makes of their labels.

    Dense rows are centred block by block; sparse ones, which centring would fill, are summed about zero.
    """

    loss: Loss
    diagonal: bool = False

    def of(self, block: Block) -> Any:
        targets = self.loss.targets(block.y, block.xp)
        if not block.is_sparse:
            labelled = type(block)(block.X, block.start, targets, block.weight, block.xp)
            return Moments(diagonal=self.diagonal).of(labelled)
        targets = block.weighted(targets)
        weight = block.weighted(np.ones((block.n, 1)))
        if self.diagonal:
            second = (block.X.multiply(block.X).T @ weight)[:, 0]
        else:
            second = (block.X.T @ block.X.multiply(weight)).toarray()
        rows = block.transpose_matmul(weight)[:, 0]
        return LabelledSums(block.total_weight(), rows, targets.sum(axis=0), block.transpose_matmul(targets).T, second)

    def read(self, sums: Any) -> LabelledMoments:
        """Make moments of the sums over the rows."""
        weight = sums.weight
        if isinstance(sums, LabelledSums):
            mean = sums.rows / weight
            square = mean * mean if self.diagonal else mean[:, None] * mean[None, :]
            return LabelledMoments(mean, sums.targets / weight, sums.cross / weight, sums.second / weight - square)
        cross = sums.cross.T / weight + sums.y_mean[:, None] * sums.mean[None, :]
        return LabelledMoments(sums.mean, sums.y_mean, cross, sums.scatter / weight)


@dataclass(frozen=True)
class LabelledSums(Sums):
    """Sums about zero: total weight, rows, targets, target times row, and second moments."""

    weight: float
    rows: Array
    targets: Array
    cross: Array
    second: Array
