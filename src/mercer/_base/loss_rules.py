"""What the parameter `loss` of an estimator may be: the name of a loss that fits can minimise, or a loss itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Choice, Instance
from mercer._objective import Loss, list_losses
from mercer._source import Block, Source
from mercer._statistic import Statistic
from mercer.errors import DataError

ANY_NAMES = tuple(list_losses())
ANY_LOSSES = Choice(*ANY_NAMES) | Instance(Loss)
NUMBER_LOSSES = Choice(*list_losses("numbers")) | Instance(Loss)


def check_range(model: Any, loss: Loss, source: Source) -> None:
    """Raise DataError if there are targets for which the loss is not defined."""
    if loss.least_target > -np.inf and source.reduce(_OutOfRange(loss)):
        sign, wrong = (">", "targets that are not positive") if loss.above_least else (">=", "negative targets")
        raise DataError(
            f"{type(model).__name__}: the {type(loss).__name__} loss needs y {sign} 0; got {wrong}. Drop their rows."
        )


@dataclass(frozen=True)
class _OutOfRange(Statistic):
    """The number of targets for which the loss is not defined."""

    loss: Loss

    def of(self, block: Block) -> int:
        least = self.loss.least_target
        wrong = block.y <= least if self.loss.above_least else block.y < least
        return int(block.xp.sum(block.xp.astype(wrong, block.xp.int64)))
