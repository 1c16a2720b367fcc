"""Growth of a whole tree: level by level where nodes are large, and the rest in native calls that ask nobody."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mercer._native import random_values, splits
from mercer.tree._assembly import assemble, assemble_nodes, nodes_of, state_of
from mercer.tree._binary_tree import LEAF, BinaryTree
from mercer.tree._growth import EPSILON, Growth
from mercer.tree._search import Room, scratch_of, settings_of
from mercer.tree._target import ENTROPY, SQUARES, ClassTarget

__all__ = ["grow_whole"]

Array = Any
# Visits (a row in a column) of one native call: some 20 milliseconds.
_VISITS = 2**22


def grow_whole(growth: Growth, n_classes: Array, room: Room, goes_on: Callable[[], bool] = lambda: True) -> BinaryTree:
    """The tree that a planted growth becomes; whoever stops it by `goes_on` gets it as it then is."""
    if not _is_plain(growth):
        while goes_on() and growth.grow_level():
            pass
        return assemble(state_of(growth), growth.columns.n_features, n_classes)
    waiting = _grow_large(growth, goes_on)
    thicket = Thicket(growth, room)
    for number, at in enumerate(waiting):
        if len(at):
            thicket.grow(number, at, goes_on)
    return assemble_nodes(thicket.nodes(), np.zeros(0, np.int64), growth.columns.n_features, n_classes)


def _is_plain(growth: Growth) -> bool:
    """Whether native calls can do it all. Of one tree on several threads levels are shared out instead."""
    columns, rules = growth.columns, growth.rules
    known = growth.target.kind in (SQUARES, ENTROPY) and len(columns.kinds) == 0 and len(rules.signs) == 0
    return known and growth.threads == 1 and columns.are_values == rules.random


def _grow_large(growth: Growth, goes_on: Callable[[], bool]) -> list[Array]:
    """Split the nodes that are too large for one call; return those that are left to split in each level."""
    waiting = []
    while True:
        level = growth.levels[-1]
        at = growth.splittable(level)
        large = (level.stops - level.starts)[at] * growth.rules.max_features > _VISITS
        waiting.append(at[~large])
        if not (large.any() and goes_on() and growth.split_nodes(at[large])):
            return waiting


@dataclass(eq=False)
class Thicket:
    """The nodes of a growth that goes on in native calls, in the arrays of ``node_steps``."""

    growth: Growth
    room: Room
    state: Array = field(init=False)
    links: Array = field(init=False)
    numbers: Array = field(init=False)

    def __post_init__(self) -> None:
        top, rows = self.growth.n_nodes, len(self.growth.levels[0].rows)
        self.state = np.array([0, top, 0], np.int64)
        room = top + max(64, min(2 * rows, rows // 2 // self.growth.rules.min_rows_leaf))
        self.links = self.room.take("links", (room, 7), np.int32)
        self.links[:top, 0] = LEAF
        self.numbers = self.room.take("numbers", (room, 2 + self.growth.target.n_numbers))

    def grow(self, number: int, at: Array, goes_on: Callable[[], bool]) -> None:
        """Grow the nodes `at` of a level, and all below them."""
        level = self.growth.levels[number]
        first = sum(len(one.starts) for one in self.growth.levels[:number])
        starts, stops = level.starts[at], level.stops[at]
        # Of two children the smaller is split first: the stack holds one node for each halving.
        stack = np.empty((len(at) + 70, 5), np.int64)
        columns = first + at, starts, stops, level.seeds[at], np.full(len(at), level.depth)
        stack[: len(at)] = np.stack(columns, axis=1)
        self.state[0] = len(at)
        work = self._work(level.rows, int((stops - starts).max()))
        while self.state[0] > 0 and goes_on():
            if self.state[1] + 2 > len(self.links):
                self._make_room()
            work(self.state, stack, self.links, self.numbers)

    def _make_room(self) -> None:
        used, room = int(self.state[1]), 2 * len(self.links)
        for name in ("links", "numbers"):
            old = getattr(self, name)
            kept = old[:used].copy()
            new = self.room.take(name, (room, old.shape[1]), old.dtype)
            new[:used] = kept
            setattr(self, name, new)

    def _work(self, rows: Array, most: int) -> Callable[..., None]:
        """The native call that suits the columns, with everything but the tree."""
        columns, target, rules = self.growth.columns, self.growth.target, self.growth.rules
        features, spare = np.arange(columns.n_features, dtype=np.int32), self.room.take("spare", (most,), np.int32)
        limits = np.array(
            [
                *(max(rules.min_rows_split, 2 * rules.min_rows_leaf), 2 * rules.min_weight_leaf, rules.max_depth),
                *(target.unit, self.growth.whole_weight, rules.min_decrease, EPSILON, _VISITS),
            ]
        )
        sums = target.slots, target.amounts, target.scaled
        if isinstance(target, ClassTarget):
            seen = target.labels, np.zeros((0, 0)), target.weight, target.first_slots
        else:
            seen = np.zeros((0, 0), np.int32), target.targets, target.weight, np.zeros(0, np.int64)
        settings = settings_of(columns, target, rules)
        scratch = scratch_of(columns, target, rules, most, len(features), self.room)
        kept = self._keep(rows, scratch[5 if columns.are_values else 6])
        rest = *sums, rules.signs, *seen, settings, limits, *scratch, spare
        if columns.are_values:
            return partial(random_values.grow_random_nodes, columns.codes, columns.matrix, rows, kept, features, *rest)
        codes = columns.codes, columns.matrix, columns.coarse, columns.coarse_matrix, columns.missing, columns.edges
        return partial(splits.grow_nodes, *codes, rows, kept, features, columns.kinds, *rest)

    def _keep(self, rows: Array, quads: Array) -> Array:
        """What rows keep beside them: nothing but room for a search, or what nodes would fetch again and again."""
        target = self.growth.target
        self.state[2] = len(quads) > 0 and target.scaled is target.weight
        if not self.state[2]:
            return quads
        kept = self.room.take("kept", (len(rows), 4))
        kept[:, 0] = 1.0
        kept[:, 1] = target.weight[rows]
        kept[:, 2] = target.amounts[rows, 0]
        kept[:, 3] = 0.0 if isinstance(target, ClassTarget) else target.targets[rows, 0]
        return kept

    def nodes(self) -> dict[str, Array]:
        """All nodes, in the form of those of levels."""
        top, count = self.growth.n_nodes, int(self.state[1])
        nodes, links, numbers = nodes_of(self.growth.levels), self.links[:count], self.numbers[:count]
        known = self.growth.target.described(numbers[top:, 1].copy(), numbers[top:, 2:], links[top:, 6] != 0)
        below = {
            **{name: getattr(known, name) for name in ("weights", "values", "impurity", "pure")},
            "n_rows": links[top:, 5],
        }
        nodes = {
            name: np.concatenate([values, below[name] if name in below else np.empty(count - top, values.dtype)])
            for name, values in nodes.items()
        }
        leaf, inner = top + np.flatnonzero(links[top:, 0] == LEAF), np.flatnonzero(links[:, 0] != LEAF)
        for name, value in (("left", LEAF), ("right", LEAF), ("feature", -2), ("threshold", -2.0), ("missing_left", 0)):
            nodes[name][leaf] = value
        nodes["categories"][top:] = -1
        left, feature, lower, upper, side = links[inner, :5].T.astype(np.int64)
        nodes["left"][inner], nodes["right"][inner], nodes["feature"][inner] = left, left + 1, feature
        is_random = self.growth.columns.are_values
        nodes["threshold"][inner] = (
            numbers[inner, 0] if is_random else self.growth.columns.thresholds(feature, lower, upper)
        )
        heavier = nodes["weights"][left] > nodes["weights"][left + 1]
        nodes["missing_left"][inner] = np.where(side == 2, heavier, side)
        return nodes
