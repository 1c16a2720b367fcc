"""The quality of a map from one pass: mean distance to the winner, and how often the second unit is no neighbour."""

from dataclasses import dataclass
from typing import Any

from mercer._solver.centres.centres import Centres
from mercer._source import Block
from mercer._statistic import Statistic, Sums
from mercer._types import Array
from mercer.cluster._centres.centre_model import Lengths


@dataclass(frozen=True)
class MapErrorSums(Sums):
    """Weight of the rows, weight of those whose two nearest units are no neighbours, sum of distances to winners."""

    weight: Any
    torn: Any
    distance: Any


@dataclass(frozen=True)
class MapErrors(Statistic):
    """Per row, the distance to its winner, and whether the second nearest unit is a neighbour of it."""

    centres: Centres
    neighbours: Array

    def of(self, block: Block) -> MapErrorSums:
        xp = block.xp
        lengths = Lengths(self.centres)(block)
        k = lengths.shape[1]
        first = xp.argmin(lengths, axis=1)
        nearest = xp.min(lengths, axis=1)
        # The second-best unit: the winner is set to infinity first.
        others = xp.where(xp.arange(k, device=block.device)[None, :] == first[:, None], xp.inf, lengths)
        second = xp.argmin(others, axis=1)
        together = xp.take(xp.reshape(self.neighbours, (-1,)), first * k + second)
        torn = xp.astype(xp.logical_not(together), block.wide)
        distance = xp.astype(nearest, block.wide)
        return MapErrorSums(block.total_weight(), xp.sum(block.weigh(torn)), xp.sum(block.weigh(distance)))
