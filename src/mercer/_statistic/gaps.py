"""Count the missing entries of each column."""

from dataclasses import dataclass

import numpy as np

from mercer._source import Block
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array


@dataclass(frozen=True)
class GapSums(Sums):
    """The number of missing entries of each column, of infinite entries, and of rows."""

    missing: Array
    infinite: float
    n_rows: int


@dataclass(frozen=True)
class Gaps(Statistic):
    """How many entries of each column are missing (NaN)."""

    def of(self, block: Block) -> GapSums:
        values = block.X.data if block.is_sparse else block.X
        infinite = float(np.isinf(values).sum())
        if block.is_sparse:
            places = block.X.indices[np.isnan(values)]
            return GapSums(np.bincount(places, minlength=block.X.shape[1]).astype(np.int64), infinite, block.n)
        return GapSums(np.isnan(values).sum(axis=0), infinite, block.n)
