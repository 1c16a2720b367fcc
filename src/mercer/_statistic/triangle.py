"""The triangular factor of the rows: X = Q R without Q, one block at a time.

Each block is reduced to its triangle by Householder reflections, and two triangles merge into that of both stacked
(TSQR: Demmel, Grigori, Hoemmen and Langou, 2012). Nothing is squared, so the factor has the condition number of X and
not its square; memory is that of a few triangles.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Block
from mercer._statistic.moments import targets
from mercer._statistic.statistic import Statistic

__all__ = ["Triangle", "TriangleSums"]

Array = Any


@dataclass(frozen=True)
class TriangleSums:
    """The factor R of the columns [1, X - shift, y - y_shift], each row times the root of its weight."""

    factor: Array
    xp: Any = np

    def __add__(self, other: "TriangleSums") -> "TriangleSums":
        return TriangleSums(_triangle(self.xp.concat([self.factor, other.factor]), self.xp), self.xp)


@dataclass(frozen=True)
class Triangle(Statistic):
    """The triangular factor of the rows and targets.

    Parameters
    ----------
    shift, y_shift : array
        Taken off first. With the means, columns far from zero keep their digits; the column of ones takes off what
        rounding left in them.
    centre : bool
        Whether to put the column of ones first.
    """

    shift: Array
    y_shift: Array
    centre: bool = True

    def of(self, block: Block) -> TriangleSums:
        xp = block.xp
        columns = [block.centred(self.shift), targets(block) - self.y_shift]
        if self.centre:
            columns.insert(0, xp.ones((block.n, 1), dtype=xp.float64))
        rows = xp.concat(columns, axis=1)
        if block.weight is not None:
            rows = rows * xp.sqrt(block.weight)[:, None]
        return TriangleSums(_triangle(rows, xp), xp)


def _triangle(rows: Array, xp: Any) -> Array:
    if rows.shape[0] <= 1:
        return rows
    return np.linalg.qr(rows, mode="r") if xp is np else xp.linalg.qr(rows)[1]
