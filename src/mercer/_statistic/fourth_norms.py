"""Fourth powers of the lengths of rows about their class means: what Ledoit and Wolf's shrinkage is made of."""

from dataclasses import dataclass
from typing import Any

from mercer._source import Block
from mercer._statistic.statistic import Statistic
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class FourthNorms(Statistic):
    """For each class, sum_i w_i |(x_i - centre) * scale|^4 over its rows; of rows without labels, one sum.

    Parameters
    ----------
    centres, scales : array of shape (k, d)
        Of each class.
    classes : array of shape (k,) or None
        Their labels; None means one class of all rows.
    """

    centres: Array
    scales: Array
    classes: Array = None

    def of(self, block: Block) -> Array:
        xp = block.xp
        if self.classes is None:
            squares = _squares(block.centre(self.centres[0, :]) * self.scales[0, :], xp)
            return xp.reshape(xp.sum(block.weigh(squares * squares)), (1,))
        # Rows of a class that is not known, having weight zero, count for the class in whose place it would be.
        numbers = xp.clip(xp.searchsorted(self.classes, block.y), 0, self.classes.shape[0] - 1)
        rows = block.centre(xp.take(self.centres, numbers, axis=0)) * xp.take(self.scales, numbers, axis=0)
        squares = _squares(rows, xp)
        return block.group(numbers, self.classes.shape[0]).sums(block.weigh(squares * squares), block.wide)


def _squares(rows: Array, xp: Any) -> Array:
    return xp.sum(rows * rows, axis=1)
