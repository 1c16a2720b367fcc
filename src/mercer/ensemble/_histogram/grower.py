"""Growing one tree: the leaf whose split gains most is split next, until none gains or there are enough."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.boosting import leaves
from mercer.ensemble._histogram.field import Field
from mercer.ensemble._histogram.team import Team
from mercer.ensemble._histogram.tree import BoostedTree, read_tree

__all__ = ["Grower", "Limits"]

Array = Any


@dataclass(frozen=True)
class Limits:
    """What a tree may be.

    ``groups`` are the sets of columns that may meet on a path; ``share`` is the part of the columns a split may choose
    from, at random; ``by_category`` is the fewest rows of a category that is placed by itself, ``category_price`` what
    a split must gain for each category, in units of what one gains by chance.
    """

    max_leaves: float = 31
    max_depth: float = math.inf
    min_count: float = 20
    min_curvature: float = 1e-3
    l2: float = 0.0
    share: float = 1.0
    groups: tuple[frozenset[int], ...] | None = None
    by_category: float = 10.0
    category_price: float = 0.0


class Grower:
    """Grows trees on the rows of a field.

    Parameters
    ----------
    field : Field
    limits : Limits
    monotone : (d,), int32
        1 where values may only rise with a column, -1 where they may only fall.

    Attributes
    ----------
    sown : bool
        Whether a tree has begun and is to be grown.
    """

    def __init__(self, field: Field, limits: Limits, monotone: Array) -> None:
        self.field, self.limits = field, limits
        rules = (limits.l2, limits.min_count, limits.min_curvature, limits.by_category, limits.max_depth)
        # The last is the price of a category, which depends on the gradients.
        self.rules = np.array([*rules, limits.max_leaves, 0.0], dtype=np.float64)
        self.team = Team(field, monotone, self.rules)
        self.every, self.nodes, self.sown = np.arange(field.d), 0, False
        self.asks = limits.groups is not None or limits.share < 1.0
        self.team.restrict(0, self.every)
        self.groups: dict[int, tuple[int, ...]] = {}
        # Few columns of all rows of both children are added instead of all columns of the smaller child, which has a
        # third of the rows as a rule; a row costs as much as a handful of columns by itself.
        self.direct = limits.share < 0.35 - 5 / field.d

    def sow(self, output: int, size: float, curvature: float, chance: float = 0.0) -> None:
        """Let the team begin with the rows of a tree.

        Parameters
        ----------
        output : int
            The score that it is for.
        size, curvature : float
            The sums of the gradients' sizes and of the curvatures, from which the units of the words follow.
        chance : float
            What a category gains by chance.
        """
        team = self.team
        # Sums below 2**52 are doubles without rounding: splits that are equal gain the same to the last bit.
        for place, scale in enumerate((_power(52, size), _power(min(52, 61 - self.field.shift), curvature))):
            team.scales[place], team.units[place] = scale, 1.0 / scale
        self.rules[-1] = self.limits.category_price * chance
        if self.asks:
            team.restrict(0, self.every)
        team.sow(output, self.direct)
        self.sown = True

    def grow(self, generator: Any) -> None:
        """Grow the tree; a numpy Generator chooses columns where only a share of them is asked."""
        self.generator, self.groups = generator, {}
        self.nodes = self.team.grow(self.direct, self._name_columns if self.asks else None)
        self.sown = False

    def values(self, rate: float) -> Array:
        """The values of the nodes of the tree just grown, times a rate; a root alone adds nothing."""
        return rate * self.team.reals[: self.nodes, leaves.VALUE] if self.nodes > 1 else np.zeros(1)

    def leaves(self) -> Array:
        """The numbers of its leaves."""
        return np.flatnonzero(self.team.numbers[: self.nodes, leaves.LEFT] == 0)

    def tree(self, values: Array) -> BoostedTree:
        """The tree itself, with these values."""
        chosen = slice(self.nodes)
        return read_tree(
            self.team.numbers[chosen], self.team.reals[chosen], self.team.tables[chosen], self.field.bins, values
        )

    def _name_columns(self, parent: int, left: int, feature: int, *wanted: int) -> None:
        """Say by which columns the children of a split, or the root, may be split."""
        columns = self.every
        if self.limits.groups is not None:
            columns = self._meeting(parent, left, feature)
        if not self.direct:
            self.team.restrict(0, columns if parent >= 0 else self.every)
        for side in range(2):
            if wanted[side]:
                drawn = self._drawn(columns)
                self.team.allowed[side] = 0
                self.team.allowed[side, drawn] = 1
                if self.direct:
                    self.team.restrict(side, drawn)

    def _meeting(self, parent: int, left: int, feature: int) -> Array:
        """The columns that may follow on the path to a split by a column, or to the root."""
        groups = self.limits.groups or ()
        kept = tuple(range(len(groups)))
        if parent >= 0:
            kept = tuple(one for one in self.groups[parent] if feature in groups[one])
        self.groups[left] = self.groups[left + 1] = kept
        return np.array(sorted(frozenset().union(*(groups[one] for one in kept))), dtype=np.int64)

    def _drawn(self, columns: Array) -> Array:
        """A share of some columns."""
        if self.limits.share == 1.0:
            return columns
        count = max(1, math.ceil(self.limits.share * len(columns) - 1e-9))
        return self.generator.choice(columns, count, replace=False)


def _power(bits: int, total: float) -> float:
    """The largest power of two that keeps a sum of sizes below 2**bits."""
    if not 0 < total < math.inf:
        return 1.0
    return 2.0 ** min(bits - 1 - math.frexp(total)[1], 1000)
