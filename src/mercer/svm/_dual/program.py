"""The dual of every support vector machine, as one quadratic program over a coefficient per row.

    minimise  1/2 b' (K + ridge) b + linear' b + kink sum |b|    with  lower <= b <= upper

and the sum of b (or, in two groups, both sums) kept at that of the start. A classifier has linear = -y and coefficients
of the sign of y, a regression linear = -y and the kink epsilon, a one-class machine linear = 0 and sum one. With
`slope` = K b + linear the optimality conditions say that a value c, the offset, lies between what lowering any
coefficient gains and what raising any other costs; then the decision function is f(x) = sum_j b_j k(x_j, x) - c.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._native.dual import pair_descent as native
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class DualProgram:
    """The dual program of one machine.

    Attributes
    ----------
    rows : ndarray of shape (m,), intp
        Index of the row of the source that each coefficient belongs to.
    linear, lower, upper, start : ndarray of shape (m,)
    kink : float
    split : int
        Where the second group of coefficients begins; m if there is one group.
    ridge : ndarray of shape (m,) or None
        Added to the diagonal of K, where the loss is the squared slack.
    families : tuple of int
        Identifiers of the first `first` rows and of the rest: programs with the same identifier share these rows.
    first : int
    """

    rows: Array
    linear: Array
    lower: Array
    upper: Array
    start: Array
    kink: float = 0.0
    split: int = -1
    ridge: Array = None
    families: tuple[int, ...] = ()
    first: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """The groups of coefficients, each with a fixed sum."""
        whole = len(self)
        if self.split in (-1, whole):
            return (slice(0, whole),)
        return slice(0, self.split), slice(self.split, whole)

    @property
    def end_of_first(self) -> int:
        """Where the first group ends."""
        return self.groups[0].stop

    def part(self, chosen: Array) -> "DualProgram":
        """Return the program of the coefficients `chosen`, in rising order; all others are fixed."""
        ridge = None if self.ridge is None else self.ridge[chosen]
        first = int(np.searchsorted(chosen, self.end_of_first))
        linear, lower, upper = self.linear[chosen], self.lower[chosen], self.upper[chosen]
        return DualProgram(self.rows[chosen], linear, lower, upper, self.start[chosen], self.kink, first, ridge)

    def moves(self, b: Array) -> tuple[Array, Array]:
        """Return the terms added to each slope if its coefficient rises, and if it falls; infinite at a bound."""
        rise, fall = np.empty(len(b)), np.empty(len(b))
        native.mark_moves(b, self.lower, self.upper, self.kink, rise, fall)
        return rise, fall

    def count_free(self, b: Array) -> int:
        """Return how many coefficients are neither at a bound nor at the kink."""
        free = (b > self.lower) & (b < self.upper)
        return int(np.count_nonzero(free if self.kink == 0 else free & (b != 0)))

    def _measure(self, b: Array, slope: Array) -> list[list[float]]:
        """Return, for each group, the greatest gain of lowering and the least cost of raising a coefficient.

        Then the sum of the costs that are gains too, as those of free coefficients are, and their number.
        """
        measures = np.empty((len(self.groups), 4))
        for group, measure in zip(self.groups, measures, strict=True):
            native.measure(b, slope, self.lower, self.upper, self.kink, group.start, group.stop, measure)
        return measures.tolist()

    def violation(self, b: Array, slope: Array) -> float:
        """Return the largest violation of the optimality conditions by a pair of coefficients; at least zero."""
        return max(0.0, *(highest - lowest for highest, lowest, _, _ in self._measure(b, slope)))

    def objective(self, b: Array, slope: Array) -> float:
        """Return the value of the program."""
        return native.measure_value(b, slope, self.linear, self.kink)

    def offsets(self, b: Array, slope: Array) -> Array:
        """Return the offset c of each group: the mean over free coefficients, or the middle of its interval."""
        offsets = []
        for low, high, total, count in self._measure(b, slope):
            if count > 0:
                offsets.append(total / count)
                continue
            ends = [end for end in (low, high) if math.isfinite(end)]
            offsets.append(sum(ends) / max(len(ends), 1))
        return np.array(offsets)

    def gap(self, b: Array, slope: Array) -> float:
        """Return how far the value can be above the optimum: primal minus dual, at the present offset.

        For any c the optimum is at least value - (b' slope + kink |b|) + min over the box of v' (slope - c) + kink |v|,
        plus c times the sum of b. Infinite where a box is and its row is beyond the offset.
        """
        total = 0.0
        for group, c in zip(self.groups, self.offsets(b, slope), strict=True):
            total += native.measure_gap(b, slope, self.lower, self.upper, self.kink, c, group.start, group.stop)
        return max(total, 0.0)

    @cached_property
    def widths(self) -> float:
        """The sum of the lengths of all boxes, by which a violation bounds the gap."""
        return float((self.upper - self.lower).sum())
