"""The sums of one batch of rows, which are added to those of earlier calls."""

from dataclasses import dataclass, fields

from mercer._plain import plain
from mercer._source import Block
from mercer._statistic.labels import RowCounts, Rows
from mercer._statistic.moments import Moments, MomentSums
from mercer._statistic.statistic import Statistic, Sums


@plain
@dataclass(frozen=True)
class BatchSums(Sums):
    """Moments of rows (and targets), and how many rows there were."""

    moments: MomentSums
    counts: RowCounts

    def plainly(self) -> "BatchSums":
        """Return the sums with moments as plain arrays, also where native code left them packed."""
        parts = (getattr(self.moments, part.name) for part in fields(MomentSums))
        return BatchSums(MomentSums(*parts), self.counts)


@dataclass(frozen=True)
class Batch(Statistic):
    """Centred moments and counts in one pass, so that an iterator that can be read only once will do."""

    def of(self, block: Block) -> BatchSums:
        return BatchSums(Moments().of(block), Rows().of(block))

    def on(self, block: Block) -> BatchSums:
        return BatchSums(Moments().on(block), Rows().of(block))

    def on_run(self, block: Block, unit: int) -> BatchSums:
        return BatchSums(Moments().on_run(block, unit), Rows().of(block))
