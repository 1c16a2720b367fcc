"""Growing one tree: the leaf whose split gains most is split next, until none gains or there are enough."""

import heapq
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.ensemble._hist_field import Field
from mercer.ensemble._hist_team import Team
from mercer.ensemble._hist_tree import BoostedTree, Branch

__all__ = ["Grower", "Growth", "Limits"]

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


@dataclass(eq=False, slots=True)
class _Node:
    """A leaf that may be split: its words, what they mean, and the place of its histogram."""

    number: int
    depth: int
    words: tuple[int, int]
    gradient: float
    curvature: float
    count: int
    value: float
    bounds: tuple[float, float]
    groups: tuple[int, ...] | None
    slot: int = -1
    split: Any = None


class Growth:
    """A tree, and where its leaves' rows are."""

    def __init__(self, tree: BoostedTree, leaves: Array) -> None:
        self.tree, self.leaves = tree, leaves


class Grower:
    """Grows trees on the rows of a field.

    Parameters
    ----------
    field : Field
    limits : Limits
    monotone : (d,), int32
        1 where values may only rise with a column, -1 where they may only fall.
    """

    def __init__(self, field: Field, limits: Limits, monotone: Array) -> None:
        self.field, self.limits, self.monotone = field, limits, monotone
        rules = (limits.l2, limits.min_count, limits.min_curvature, limits.by_category, 0.0)
        self.rules = np.array(rules, dtype=np.float64)
        self.team = Team(field, monotone, self.rules)
        self.scales, self.units = np.empty(2), np.empty(2)
        # Few columns of all rows of both children are added instead of all columns of the smaller child, which has a
        # third of the rows as a rule; a row costs as much as a handful of columns by itself.
        self.direct = limits.share < 0.35 - 5 / field.d

    def grow(
        self,
        gradients: Array,
        size: float,
        curvature: float,
        rate: float,
        generator: Any,
        drawn: Array | None = None,
        chance: float = 0.0,
    ) -> Growth:
        """Grow a tree.

        Parameters
        ----------
        gradients : (n, 2)
        size, curvature : float
            The sums of the gradients' sizes and of the curvatures, from which the units of the words follow.
        rate : float
            What the values are multiplied with.
        generator : numpy Generator
            Chooses columns where only a share of them is asked.
        drawn : (n,) or None
            How often each row was drawn, where only some learn.
        chance : float
            What a category gains by chance.
        """
        # Sums below 2**52 are doubles without rounding: splits that are equal gain the same to the last bit.
        self.scales[:] = _power(52, size), _power(min(52, 61 - self.field.shift), curvature)
        self.units[:] = 1.0 / self.scales
        self.worth = self.units.tolist()
        self.rules[4] = self.limits.category_price * chance
        self.generator = generator
        with self.team.gathered():
            tree = self._grown(gradients, drawn).finish(rate)
        return Growth(tree, np.flatnonzero(tree.left == 0).astype(np.int32))

    def _grown(self, gradients: Array, drawn: Array | None) -> Branch:
        team, limits, branch = self.team, self.limits, Branch(self.field.bins)
        team.restrict(None)
        words = team.start(gradients, self.scales, self.units, drawn, not self.direct)
        groups = None if limits.groups is None else tuple(range(len(limits.groups)))
        root = self._node(branch, 0, words, (-math.inf, math.inf), groups)
        queue: list[tuple[float, int, _Node]] = []
        root.slot = team.slot()
        self._offer(queue, -1, root.slot, (root,))
        n_leaves = 1
        while queue and n_leaves < limits.max_leaves:
            node = heapq.heappop(queue)[2]
            n_leaves += 1
            self._part(branch, queue, node, n_leaves < limits.max_leaves)
        for _, _, node in queue:
            team.release(node.slot)
        return branch

    def _node(
        self,
        branch: Branch,
        depth: int,
        words: tuple[int, int],
        bounds: tuple[float, float],
        groups: tuple[int, ...] | None,
    ) -> _Node:
        """A new leaf."""
        gradient, curvature, count = self._measure(words)
        value = self._value(gradient, curvature, bounds)
        number = branch.add(value, curvature, count)
        return _Node(number, depth, words, gradient, curvature, count, value, bounds, groups)

    def _measure(self, words: tuple[int, int]) -> tuple[float, float, int]:
        """Gradient, curvature and count of some rows."""
        shift = self.field.shift
        return words[0] * self.worth[0], (words[1] >> shift) * self.worth[1], words[1] & ((1 << shift) - 1)

    def _value(self, gradient: float, curvature: float, bounds: tuple[float, float]) -> float:
        value = -gradient / (curvature + self.limits.l2 + 1e-300)
        return min(max(value, bounds[0]), bounds[1])

    def _may_split(self, node: _Node) -> bool:
        limits = self.limits
        return (
            node.depth < limits.max_depth
            and node.count >= 2 * limits.min_count
            and node.count >= 2
            and node.curvature >= 2 * limits.min_curvature
        )

    def _offer(self, queue: list[tuple[float, int, _Node]], whole: int, built: int, nodes: tuple[_Node, ...]) -> None:
        """Find the best splits of two nodes, or of the root, whose rows were added; queue those that gain."""
        team, wanted, savings = self.team, [-1, -1], [0.0, 0.0]
        for side, node in enumerate(nodes):
            if not self._may_split(node):
                continue
            savings[side] = saved = -node.value * (2 * node.gradient + (node.curvature + self.limits.l2) * node.value)
            # Rounding of the sums is no gain.
            floor = saved + 1e-12 * abs(saved)
            team.nodes[side] = node.gradient, node.curvature, node.count, *node.bounds, floor
            self._allow(side, node)
            wanted[side] = node.slot
            if self.direct:
                team.build(node.number, min(node.count, self.field.n))
                team.search(-1, node.slot, *((node.slot, -1) if side == 0 else (-1, node.slot)))
        if not self.direct:
            team.search(whole, built, *wanted)
        for side, node in enumerate(nodes):
            if wanted[side] >= 0:
                best, node.split = team.choose(side, node.slot)
                if node.split[0] >= 0:
                    gain = best - savings[side]
                    node.split = (*node.split, gain)
                    heapq.heappush(queue, (-gain, node.number, node))
                    continue
            team.release(node.slot)

    def _columns(self, groups: tuple[int, ...] | None) -> Array:
        """The columns that may follow on a path."""
        if groups is None or self.limits.groups is None:
            return np.arange(self.field.d)
        return np.array(sorted(frozenset().union(*(self.limits.groups[one] for one in groups))), dtype=np.int64)

    def _allow(self, side: int, node: _Node) -> None:
        """Say by which columns a node may be split."""
        if node.groups is None and self.limits.share == 1.0:
            return
        columns = self._columns(node.groups)
        if self.limits.share < 1.0:
            count = max(1, math.ceil(self.limits.share * len(columns) - 1e-9))
            columns = self.generator.choice(columns, count, replace=False)
        self.team.allowed[side] = 0
        self.team.allowed[side, columns] = 1
        if self.direct:
            self.team.restrict(columns)

    def _part(self, branch: Branch, queue: list[tuple[float, int, _Node]], node: _Node, more: bool) -> None:
        """Split a node; offer its children where `more` splits are to come."""
        feature, number, missing_left, left_words, goes_left, gain = node.split
        branch.split(node.number, feature, number, missing_left, goes_left, gain)
        right_words = (node.words[0] - left_words[0], node.words[1] - left_words[1])
        groups = node.groups
        if groups is not None and self.limits.groups is not None:
            groups = tuple(one for one in groups if feature in self.limits.groups[one])
            self.team.restrict(self._columns(groups))
        children = self._children(branch, node, (left_words, right_words), int(self.monotone[feature]), groups)
        small = 0 if children[0].count <= children[1].count else 1
        build = small if more and (self._may_split(children[0]) or self._may_split(children[1])) else -1
        # Where rows stand for several, there are fewer than are counted.
        rows = (min(node.count, self.field.n), min(children[small].count, self.field.n))
        self.team.split(node.number, children[0].number, rows, feature, goes_left, -1 if self.direct else build)
        if build < 0:
            self.team.release(node.slot)
            return
        children[small].slot, children[1 - small].slot = self.team.slot(), node.slot
        self._offer(queue, node.slot, children[small].slot, children)

    def _children(
        self,
        branch: Branch,
        node: _Node,
        words: tuple[tuple[int, int], tuple[int, int]],
        direction: int,
        groups: tuple[int, ...] | None,
    ) -> tuple[_Node, _Node]:
        """The children of a split, whose values keep to their sides of the middle below a constrained column."""
        bounds = [node.bounds, node.bounds]
        if direction:
            values = [self._value(*self._measure(part)[:2], node.bounds) for part in words]
            middle = sum(values) / 2
            bounds = [(node.bounds[0], middle), (middle, node.bounds[1])][:: 1 if direction > 0 else -1]
        left, right = (
            self._node(branch, node.depth + 1, part, bound, groups) for part, bound in zip(words, bounds, strict=True)
        )
        return left, right


def _power(bits: int, total: float) -> float:
    """The largest power of two that keeps a sum of sizes below 2**bits."""
    if not 0 < total < math.inf:
        return 1.0
    return 2.0 ** min(bits - 1 - math.frexp(total)[1], 1000)
