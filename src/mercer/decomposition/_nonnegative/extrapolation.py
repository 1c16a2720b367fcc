"""Extrapolation of factors that are updated in turn (Ang and Gillis, 2019).

A round starts from F + b (F - E), with F the factors of the last round and E those before it, and negative entries set
to zero. The length b grows while the objective falls. Where it would rise, the round is dropped, the next one starts
from F itself, whose descent is certain, and b is smaller from then on. So the objective never rises.
"""

from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._types import Array

# The first length, as a share of the last move; this and the factors below are those of the paper for exact updates.
_FIRST = 0.5
# Growth of the length after a round that lowered the objective.
_GROWTH = 1.05
# Growth of the bound of the length after such a round.
_GROWTH_OF_BOUND = 1.01
# Divisor of the length after a round that was dropped.
_SHRINKAGE = 1.5


@plain
@dataclass(frozen=True, eq=False)
class Extrapolation:
    """The factors of the round before the last, how far to go on from them, and the objective not to be exceeded.

    ``length`` is that of the next round, ``following`` the one after it, ``bound`` the largest that is tried.
    """

    W: Array
    T: Array
    length: float = 0.0
    following: float = _FIRST
    bound: float = 1.0
    objective: float = np.inf

    def grow(self, W: Array, T: Array, objective: float) -> "Extrapolation":
        """Return what follows a round that moved from `W` and `T` and lowered the objective to `objective`."""
        length = min(self.bound, self.following)
        bound = min(1.0, _GROWTH_OF_BOUND * self.bound)
        return Extrapolation(W, T, length, min(self.bound, _GROWTH * length), bound, objective)

    def shrink(self) -> "Extrapolation":
        """Return what follows a round that was dropped: one without extrapolation."""
        return Extrapolation(self.W, self.T, 0.0, self.length / _SHRINKAGE, self.length, self.objective)


def extrapolate(now: Array, before: Array, length: float, out: Array) -> None:
    """Write the point beyond `now` on the line from `before`, without its negative entries, to `out`."""
    if length == 0:
        out[...] = now
        return
    np.subtract(now, before, out=out)
    out *= length
    out += now
    np.maximum(out, 0.0, out=out)
