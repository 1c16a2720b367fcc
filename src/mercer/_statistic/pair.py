"""Two statistics in one pass over the rows."""

from dataclasses import dataclass
from typing import Any

from mercer._source import Block
from mercer._statistic.statistic import Statistic, Sums


@dataclass(frozen=True)
class PairSums(Sums):
    """The sums of both."""

    first: Any
    second: Any


@dataclass(frozen=True, eq=False)
class Pair(Statistic):
    """Two statistics computed in one pass: both are summed over a block before the next one is read."""

    first: Statistic
    second: Statistic

    def of(self, block: Block) -> PairSums:
        return PairSums(self.first.of(block), self.second.of(block))

    def on(self, block: Block) -> PairSums:
        return PairSums(self.first.on(block), self.second.on(block))

    def on_run(self, block: Block, unit: int) -> PairSums:
        return self._by_parts(block, unit, self.on)
