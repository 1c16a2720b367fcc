"""Moments of rows and targets together: all that a joint Gaussian needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from mercer._source import Block
from mercer._statistic.moments import Moments, MomentSums, targets
from mercer._statistic.statistic import Statistic


@dataclass(frozen=True)
class JointMoments(Statistic):
    """Weight, mean and scatter of the columns [X, y]."""

    def of(self, block: Block) -> MomentSums:
        return Moments().of(_join_columns(block))

    def on(self, block: Block) -> Any:
        """Sum by the compiled twin of the moments, if the rows allow it."""
        return Moments().on(_join_columns(block))


def _join_columns(block: Block) -> Block:
    xp, y = block.xp, targets(block)
    if block.is_sparse:
        rows = csr_array(hstack([block.X.astype(np.float64, copy=False), csr_array(y)], format="csr"))
    else:
        rows = xp.concat([xp.astype(block.X, y.dtype, copy=False), y], axis=1)
    return type(block)(rows, block.start, None, block.weight, xp, block.wide)
