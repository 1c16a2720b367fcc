"""Growing one tree: the leaf whose split gains most is split next, until none gains or there are enough."""

import heapq
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native import boosting_histogram, boosting_split
from mercer.ensemble._hist_field import Field
from mercer.ensemble._hist_tree import BoostedTree, Branch

__all__ = ["Grower", "Growth", "Limits"]

Array = Any


@dataclass(frozen=True)
class Limits:
    """What a tree may be.

    ``groups`` are the sets of columns that may meet on a path; ``share`` is the part of the columns a split may choose
    from, at random; ``by_category`` is the fewest rows of a category that is placed by itself.
    """

    max_leaves: float = 31
    max_depth: float = math.inf
    min_count: float = 20
    min_curvature: float = 1e-3
    l2: float = 0.0
    share: float = 1.0
    groups: tuple[frozenset[int], ...] | None = None
    by_category: float = 10.0


@dataclass(eq=False)
class _Node:
    """A leaf that may be split."""

    number: int
    depth: int
    words: tuple[int, int]
    lower: float
    upper: float
    groups: tuple[int, ...] | None
    histogram: Array = None
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
        self.bounded = int(monotone.any())
        width = field.bins.width
        self.categorical = field.bins.categorical.astype(np.uint8)
        self.sums, self.order = np.empty((4, width)), np.empty(width, dtype=np.int32)
        self.goes_left = np.zeros(width, dtype=np.uint8)
        self.best, self.places = np.empty(1), np.empty(5, dtype=np.int64)
        self.total, self.scales = np.empty(3), np.empty(2)
        self.every = np.ones(field.d, dtype=np.uint8)
        self.limit_array = np.array([limits.l2, limits.min_count, limits.min_curvature, -math.inf, math.inf])

    def grow(
        self,
        gradients: Array,
        size: float,
        curvature: float,
        rate: float,
        generator: Any,
        drawn: Array | None = None,
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
        """
        field, limits = self.field, self.limits
        # Sums below 2**52 are doubles without rounding: splits that are equal gain the same to the last bit.
        scale, rest_scale = _power(52, size), _power(min(52, 61 - field.shift), curvature)
        self.scales[:] = 1.0 / scale, 1.0 / rest_scale
        self.generator = generator
        branch = Branch(field.bins)
        histogram = field.start(gradients, scale, rest_scale, drawn)
        last = slice(2 * int(field.offsets[0]), 2 * int(field.offsets[1]))
        words = (int(histogram[last][::2].sum()), int(histogram[last][1::2].sum()))
        groups = None if limits.groups is None else tuple(range(len(limits.groups)))
        root = _Node(0, 0, words, -math.inf, math.inf, groups, histogram)
        self._add(branch, root)
        queue: list[tuple[float, int, _Node]] = []
        self._offer(queue, root)
        n_leaves = 1
        while queue and n_leaves < limits.max_leaves:
            node = heapq.heappop(queue)[2]
            n_leaves += 1
            self._part(branch, queue, node, n_leaves < limits.max_leaves)
        for _, _, node in queue:
            field.release(node.histogram)
        tree = branch.finish(rate)
        return Growth(tree, np.flatnonzero(tree.left == 0).astype(np.int32))

    def _measure(self, words: tuple[int, int]) -> tuple[float, float, int]:
        """Gradient, curvature and count of a node."""
        shift = self.field.shift
        return (
            words[0] * float(self.scales[0]),
            (words[1] >> shift) * float(self.scales[1]),
            words[1] & ((1 << shift) - 1),
        )

    def _value(self, node: _Node) -> float:
        gradient, curvature, _ = self._measure(node.words)
        value = -gradient / (curvature + self.limits.l2 + 1e-300)
        return min(max(value, node.lower), node.upper)

    def _add(self, branch: Branch, node: _Node) -> None:
        _, curvature, count = self._measure(node.words)
        node.number = branch.add(self._value(node), curvature, count)

    def _may_split(self, node: _Node) -> bool:
        _, curvature, count = self._measure(node.words)
        limits = self.limits
        return (
            node.depth < limits.max_depth
            and count >= 2 * limits.min_count
            and count >= 2
            and curvature >= 2 * limits.min_curvature
        )

    def _offer(self, queue: list[tuple[float, int, _Node]], node: _Node) -> None:
        """Find the best split of a node that has a histogram; queue it if that gains."""
        if not self._may_split(node):
            self.field.release(node.histogram)
            return
        gradient, curvature, count = self._measure(node.words)
        value = self._value(node)
        l2 = self.limits.l2
        saved = -value * (2 * gradient + (curvature + l2) * value)
        self.total[:] = gradient, curvature, count
        self.limit_array[3:] = node.lower, node.upper
        # Rounding of the sums is no gain.
        self.best[0] = floor = saved + 1e-12 * abs(saved)
        boosting_split.find_split(
            *(node.histogram, self.field.offsets, self._allowed(node), self.categorical, self.monotone),
            self.scales,
            self.field.shift,
            self.total,
            self.limit_array,
            self.bounded,
            self.limits.by_category,
            *(self.sums, self.order, self.goes_left, self.best, self.places),
        )
        feature, number, missing_left, left, rest = self.places.tolist()
        if feature < 0 or self.best[0] <= floor:
            self.field.release(node.histogram)
            return
        gain = float(self.best[0]) - saved
        node.split = (feature, number, bool(missing_left), (left, rest), self.goes_left.copy(), gain)
        heapq.heappush(queue, (-gain, node.number, node))

    def _allowed(self, node: _Node) -> Array:
        """The columns that a node may be split by."""
        allowed = self.every
        if node.groups is not None:
            groups = self.limits.groups or ()
            allowed = np.zeros(self.field.d, dtype=np.uint8)
            allowed[list(frozenset().union(*(groups[one] for one in node.groups)))] = 1
        if self.limits.share < 1.0:
            columns = np.flatnonzero(allowed)
            chosen = self.generator.choice(
                columns, max(1, math.ceil(self.limits.share * len(columns) - 1e-9)), replace=False
            )
            allowed = np.zeros(self.field.d, dtype=np.uint8)
            allowed[chosen] = 1
        return allowed

    def _part(self, branch: Branch, queue: list[tuple[float, int, _Node]], node: _Node, more: bool) -> None:
        """Split a node; offer its children where `more` splits are to come."""
        feature, number, missing_left, left_words, goes_left, gain = node.split
        branch.split(node.number, feature, number, missing_left, goes_left, gain)
        right_words = (node.words[0] - left_words[0], node.words[1] - left_words[1])
        groups = node.groups
        if groups is not None and self.limits.groups is not None:
            groups = tuple(one for one in groups if feature in self.limits.groups[one])
        children = [
            _Node(0, node.depth + 1, words, node.lower, node.upper, groups) for words in (left_words, right_words)
        ]
        self._bound(children, int(self.monotone[feature]))
        for child in children:
            self._add(branch, child)
        counts = [self._measure(child.words)[2] for child in children]
        wanted = [more and self._may_split(child) for child in children]
        small = 0 if counts[0] <= counts[1] else 1
        build = small if any(wanted) else -1
        rows = sum(counts) if self.field.total_count == self.field.n else self.field.n
        built = self.field.split(node.number, children[0].number, rows, feature, goes_left, build)
        if built is None:
            self.field.release(node.histogram)
            return
        children[small].histogram = built
        boosting_histogram.take_difference(node.histogram, built)
        children[1 - small].histogram = node.histogram
        for child in children:
            self._offer(queue, child)

    def _bound(self, children: list[_Node], direction: int) -> None:
        """Keep the values below a split by a constrained column on their sides of the middle."""
        if direction == 0:
            return
        left, right = children
        middle = (self._value(left) + self._value(right)) / 2
        if direction > 0:
            left.upper = right.lower = middle
        else:
            left.lower = right.upper = middle


def _power(bits: int, total: float) -> float:
    """The largest power of two that keeps a sum of sizes below 2**bits."""
    if not 0 < total < math.inf:
        return 1.0
    return 2.0 ** min(bits - 1 - math.frexp(total)[1], 1000)
