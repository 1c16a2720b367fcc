"""Growth of a whole tree: level by level where nodes are large, and the rest in native calls that ask nobody."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mercer._native.tree import node_rows, random_values, splits
from mercer._solver.tree.assembly import assemble, nodes_of, shaped, state_of
from mercer._solver.tree.binary_tree import LEAF, UNDEFINED, BinaryTree
from mercer._solver.tree.growth import EPSILON, Growth
from mercer._solver.tree.search import Room, is_single, scratch_of, settings_of
from mercer._solver.tree.target import ENTROPY, SQUARES, ClassTarget

__all__ = ["grow_whole"]

Array = Any
# Visits (a row in a column) of one native call: some ten milliseconds where there is one sum.
_VISITS = 2**21


def grow_whole(growth: Growth, n_classes: Array, room: Room) -> BinaryTree:
    """The tree that a planted growth becomes."""
    if not _is_plain(growth):
        while growth.grow_level():
            pass
        return assemble(state_of(growth), growth.columns.n_features, n_classes)
    waiting = _grow_large(growth)
    thicket = Thicket(growth, room)
    for number, at in enumerate(waiting):
        if len(at):
            thicket.grow(number, at)
    return thicket.tree(n_classes)


def _is_plain(growth: Growth) -> bool:
    """Whether native calls can do it all. Of one tree on several threads levels are shared out instead."""
    columns, rules = growth.columns, growth.rules
    known = growth.target.kind in (SQUARES, ENTROPY) and len(columns.kinds) == 0 and len(rules.signs) == 0
    return known and growth.threads == 1 and columns.are_values == rules.random


def _grow_large(growth: Growth) -> list[Array]:
    """Split the nodes that are too large for one call; return those that are left to split in each level."""
    waiting = []
    while True:
        level = growth.levels[-1]
        at = growth.splittable(level)
        large = (level.stops - level.starts)[at] * growth.rules.max_features > _VISITS
        waiting.append(at[~large])
        if not (large.any() and growth.split_nodes(at[large])):
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
        # What levels know of these is put in its place at the end.
        self.links[:top, 6], self.numbers[:top] = 1, 1.0

    def grow(self, number: int, at: Array) -> None:
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
        while self.state[0] > 0:
            self.growth.check()
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
        # A logarithm for each class and cut costs as much as half a visit, measured on 12 classes.
        cost = 1.0 if is_single(target, rules) else 2.0 + 0.5 * target.n_slots * (target.kind == ENTROPY)
        features, spare = np.arange(columns.n_features, dtype=np.int32), self.room.take("spare", (most,), np.int32)
        limits = np.array(
            [
                *(max(rules.min_rows_split, 2 * rules.min_rows_leaf), 2 * rules.min_weight_leaf, rules.max_depth),
                *(target.unit, self.growth.whole_weight, rules.min_decrease, EPSILON, _VISITS / cost),
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

    def tree(self, n_classes: Array) -> BinaryTree:
        """The tree, its nodes numbered depth first."""
        top, count = self.growth.n_nodes, int(self.state[1])
        links, above = self.links[:count], nodes_of(self.growth.levels)
        divided = np.flatnonzero(above["left"] != LEAF)
        links[divided, :2] = np.stack([above["left"], above["feature"]], axis=1)[divided]
        links[divided, 2:5] = 0
        links[:top, 5] = above["n_rows"]
        places, right = self._places(links[:, 0])
        order = np.empty(count, np.int64)
        order[places] = np.arange(count)
        links, numbers, right = links.take(order, axis=0), self.numbers.take(order, axis=0), right.take(order)
        known = self.growth.target.described(numbers[:, 1].copy(), numbers[:, 2:], links[:, 6] != 0)
        for name in ("weights", "values", "impurity"):
            getattr(known, name)[places[:top]] = above[name]
        is_inner = links[:, 0] != LEAF
        inner = np.flatnonzero(is_inner)
        threshold, missing_left = np.full(count, float(UNDEFINED)), np.zeros(count, np.uint8)
        split = links.take(inner, axis=0)
        threshold[inner] = self._thresholds(split, numbers[:, 0].take(inner))
        heavier = known.weights.take(inner + 1) > known.weights.take(right.take(inner))
        missing_left[inner] = np.where(split[:, 4] == 2, heavier, split[:, 4])
        threshold[places[divided]] = above["threshold"][divided]
        missing_left[places[divided]] = above["missing_left"][divided]
        return BinaryTree(
            n_features=self.growth.columns.n_features,
            n_classes=n_classes,
            children_left=np.where(is_inner, np.arange(1, count + 1, dtype=np.int32), np.int32(LEAF)),
            children_right=np.where(is_inner, right, LEAF).astype(np.int32),
            feature=np.where(is_inner, links[:, 1], np.int32(UNDEFINED)),
            threshold=threshold,
            missing_go_to_left=missing_left,
            impurity=known.impurity,
            n_node_samples=links[:, 5].copy(),
            weighted_n_node_samples=known.weights,
            value=shaped(np.ascontiguousarray(known.values), n_classes),
            categories=np.zeros(0, np.int64),
            words=np.zeros(0, np.int64),
        )

    @staticmethod
    def _places(left: Array) -> tuple[Array, Array]:
        """The number of each node, and that of its right child, when nodes are counted depth first."""
        left = left.astype(np.int64)
        places = np.empty_like(left)
        node_rows.number_nodes(left, left + 1, np.empty_like(left), places)
        return places, places[left + 1]

    def _thresholds(self, links: Array, drawn: Array) -> Array:
        if self.growth.columns.are_values:
            return drawn
        return self.growth.columns.thresholds(links[:, 1], links[:, 2], links[:, 3])
