"""Moments of labelled rows: shares of classes, their mean sums, and the scatter that metrics are made of."""

from dataclasses import dataclass
from typing import ClassVar

from mercer._objective import Loss
from mercer._source import Block
from mercer._statistic.moments import Moments, MomentSums
from mercer._statistic.statistic import Statistic
from mercer._types import Array


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
    """Moments of the rows together with the targets that `loss` makes of their labels."""

    loss: Loss
    diagonal: bool = False
    sums_all_values: ClassVar[bool] = True

    def of(self, block: Block) -> MomentSums:
        return Moments(diagonal=self.diagonal).of(self._attach_targets(block))

    def on(self, block: Block) -> MomentSums:
        """Compute the moments by their compiled twin, where the rows allow it."""
        return Moments(diagonal=self.diagonal).on(self._attach_targets(block))

    def on_run(self, block: Block, unit: int) -> MomentSums:
        return Moments(diagonal=self.diagonal).on_run(self._attach_targets(block), unit)

    def _attach_targets(self, block: Block) -> Block:
        y = self.loss.targets(block.y, block.xp, block.wide)
        return type(block)(block.X, block.start, y, block.weight, block.xp, block.wide)

    def read(self, sums: MomentSums) -> LabelledMoments:
        """Make moments of the sums over the rows."""
        weight = sums.weight
        cross = sums.cross.T / weight + sums.y_mean[:, None] * sums.mean[None, :]
        return LabelledMoments(sums.mean, sums.y_mean, cross, sums.scatter / weight)
