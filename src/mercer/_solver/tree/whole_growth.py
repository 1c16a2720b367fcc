"""Growth of a whole tree: level by level where nodes are large, the rest in native calls of about ten milliseconds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._native.tree import node_search, tree_order
from mercer._solver.tree.assembly import assemble, join_levels, shape_values, take_state
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.growth import CALL_VISITS, EPSILON, Growth, Level
from mercer._solver.tree.search import Room, is_single, make_node, make_records
from mercer._solver.tree.soundness import mark_grown
from mercer._solver.tree.target import ENTROPY, SQUARES, ClassTarget
from mercer._types import Array

__all__ = ["GrowthInterrupt", "grow_whole"]

# Visits (a row in a column) of one native call: some ten milliseconds where there is one sum.
_VISITS = 2**21
# Rows of a tree whose largest number of nodes is worth holding room for: 400 KB.
_FEW_ROWS = 2**12
# Trees without categories have neither indices nor words of them.
_NO_NODES = np.zeros(0, np.int64)


class GrowthInterrupt(KeyboardInterrupt):
    """Ctrl-C while a tree was grown; ``tree`` is what had been grown."""

    def __init__(self, tree: BinaryTree) -> None:
        super().__init__()
        self.tree = tree


def grow_whole(growth: Growth, n_classes: Array, room: Room) -> BinaryTree:
    """Grow a tree, whose root is planted, to its end, and return it; Ctrl-C raises :class:`GrowthInterrupt`."""
    # Categories, constraints and the like need the level-by-level growth.
    if not _is_plain(growth):
        while growth.grow_level():
            pass
        return assemble(take_state(growth), growth.columns.n_features, n_classes)
    waiting = _grow_large(growth)
    thicket = Thicket(growth, room)
    try:
        for number, at in enumerate(waiting):
            if len(at):
                thicket.grow(number, at)
    except KeyboardInterrupt as interrupt:
        # Native calls end with whole nodes: those that still wait to be split are leaves.
        raise GrowthInterrupt(thicket.tree(n_classes)) from interrupt
    return thicket.tree(n_classes)


def _is_plain(growth: Growth) -> bool:
    """Return whether native calls can grow the tree; several threads share the nodes of each level instead.

    Levels of few visits are one call, which threads could not share.
    """
    columns, rules = growth.columns, growth.rules
    alone = growth.threads == 1 or len(growth.levels[0].rows) * rules.max_features <= CALL_VISITS
    known = growth.target.kind in (SQUARES, ENTROPY) and len(columns.kinds) == 0 and len(rules.signs) == 0
    return known and alone and columns.are_values == rules.random


def _grow_large(growth: Growth) -> list[Array]:
    """Split the nodes that are too large for one native call; return the others that can be split, level by level."""
    waiting: list[Array] = []
    while True:
        level = growth.levels[-1]
        at = growth.find_splittable(level)
        if len(level.rows) * growth.rules.max_features <= _VISITS:
            # All nodes together are small enough.
            return [*waiting, at]
        large = (level.stops - level.starts)[at] * growth.rules.max_features > _VISITS
        waiting.append(at[~large])
        if not (large.any() and growth.split_nodes(at[large])):
            return waiting


def _describe_nodes(level: Level) -> dict[str, Array]:
    """Return what :func:`join_levels` tells of a single level that was not divided: rows, weights and values."""
    known = level.known
    n_rows = level.stops - level.starts
    return {"n_rows": n_rows, "weights": known.weights, "values": known.values, "impurity": known.impurity}


@dataclass(eq=False)
class Thicket:
    """The nodes of a tree that native calls grow, in the arrays of ``node_steps.pxd``."""

    growth: Growth
    room: Room
    n_nodes: int = field(init=False)
    links: Array = field(init=False)
    numbers: Array = field(init=False)

    def __post_init__(self) -> None:
        top, rows = self.growth.n_nodes, len(self.growth.levels[0].rows)
        self.n_nodes = top
        # A tree of few rows gets room for as many leaves as rows, that of many for a quarter: most leaves hold several.
        share = 1 if rows <= _FEW_ROWS else 4
        room = top + max(64, 2 * rows // share // self.growth.rules.min_rows_leaf)
        self.links = self.room.take("links", (room, 7), np.int32)
        self.links[:top, 0] = LEAF
        self.numbers = self.room.take("numbers", (room, 2 + self.growth.target.n_numbers))
        # Placeholders: `tree` overwrites these with what the levels hold.
        self.links[:top, 6], self.numbers[:top] = 1, 1.0

    def grow(self, number: int, at: Array) -> None:
        """Grow the nodes `at` of the level `number`, and all below them."""
        level = self.growth.levels[number]
        # The nodes of a level are numbered after those of the levels above.
        first = sum(len(above.starts) for above in self.growth.levels[:number])
        starts, stops = level.starts[at], level.stops[at]
        # The smaller child is split first, so that at most log2(n) < 70 siblings wait besides the given nodes.
        stack = np.empty((len(at) + 70, 5), np.int64)
        for column, values in enumerate((first + at, starts, stops, level.seeds[at], level.depth)):
            stack[: len(at), column] = values
        records, native = self._make_native(level.rows, int((stops - starts).max()))
        native.height, native.n_nodes = len(at), self.n_nodes
        native.hold(stack, self.links, self.numbers)
        try:
            while native.height > 0:
                self.growth.check()
                if native.n_nodes + 2 > len(self.links):
                    self._make_room(native.n_nodes)
                    native.hold(stack, self.links, self.numbers)
                node_search.grow_nodes(*records, native)
        finally:
            self.n_nodes = native.n_nodes

    def _make_room(self, used: int) -> None:
        """Double the room for nodes; the first `used` nodes are kept."""
        room = 2 * len(self.links)
        for name in ("links", "numbers"):
            old = getattr(self, name)
            kept = old[:used].copy()
            new = self.room.take(name, (room, old.shape[1]), old.dtype)
            new[:used] = kept
            setattr(self, name, new)

    def _make_native(self, rows: Array, most: int) -> tuple[tuple[Any, Any, Any, Any, Any, Any], Any]:
        """Return the records that native growth reads, and the record of the growth itself."""
        columns, target, rules = self.growth.columns, self.growth.target, self.growth.rules
        # A logarithm for each class and cut costs as much as half a visit, measured on 12 classes.
        cost = 1.0 if is_single(target, rules) else 2.0 + 0.5 * target.n_slots * (target.kind == ENTROPY)
        limits = (
            # A node is split only if both children can have the least number of rows.
            *(max(rules.min_rows_split, 2 * rules.min_rows_leaf), 2 * rules.min_weight_leaf, rules.max_depth),
            *(target.unit, self.growth.whole_weight, rules.min_decrease, EPSILON, _VISITS / cost),
        )
        if isinstance(target, ClassTarget):
            described = target.labels, np.zeros((0, 0)), target.weight, target.first_slots
        else:
            described = np.zeros((0, 0), np.int32), target.targets, target.weight, np.zeros(0, np.int64)
        kept = self._keep(rows)
        spare = self.room.take("spare", (most,), np.int32), self.room.take("quads", (most * (kept is not None), 4))
        features = np.arange(columns.n_features, dtype=np.int32)
        node = make_node(columns, target, rules, rows, features, most, self.room, kept)
        records = *make_records(columns, target, rules), node
        return records, node_search.Growth(rows, *spare, described, limits)

    def _keep(self, rows: Array) -> Array | None:
        """Return the quads of `rows` (see node_steps.pxd), which are divided with the rows; None if not possible."""
        target = self.growth.target
        # Only where one amount for each row is all that is summed, and weights are whole.
        if not is_single(target, self.growth.rules) or target.scaled is not target.weight:
            return None
        kept = self.room.take("kept", (len(rows), 4))
        kept[:, 0] = 1.0
        kept[:, 1] = target.weight[rows]
        kept[:, 2] = target.amounts[rows, 0]
        kept[:, 3] = 0.0 if isinstance(target, ClassTarget) else target.targets[rows, 0]
        return kept

    def tree(self, n_classes: Array) -> BinaryTree:
        """Return the tree, its nodes numbered depth first."""
        top, count = self.growth.n_nodes, self.n_nodes
        links, levels, columns = self.links[:count], self.growth.levels, self.growth.columns
        above = join_levels(levels) if len(levels) > 1 else _describe_nodes(levels[0])
        # Nodes that were divided level by level have their splits there.
        divided = np.flatnonzero(above["left"] != LEAF) if len(levels) > 1 else _NO_NODES
        if len(divided):
            links[divided, :2] = np.stack([above["left"], above["feature"]], axis=1)[divided]
            # Thresholds and sides of these come from the levels; zeros are valid ranks meanwhile.
            links[divided, 2:5] = 0
        links[:top, 5] = above["n_rows"]
        # Native growth numbers nodes as they are made; the tree needs depth-first numbers.
        left, right, feature, rows = np.empty((4, count), np.int32)
        (places, sizes), depths = np.empty((2, count), np.int64), np.empty(count, np.int64)
        threshold, weights = np.empty(count), np.empty(count)
        described, (missing_left, pure) = (
            np.empty((count, self.growth.target.n_numbers)),
            np.empty((2, count), np.uint8),
        )
        tree_order.order_nodes(
            *(links, self.numbers[:count], columns.table, columns.offsets, columns.are_values, sizes, places),
            tree_order.Nodes(
                (left, right, feature, rows), (threshold, weights, described), (missing_left, pure), depths
            ),
        )
        known = self.growth.target.describe_sums(weights, described, pure.view(np.bool_))
        for name in ("weights", "values", "impurity"):
            getattr(known, name)[places[:top]] = above[name]
        if len(divided):
            threshold[places[divided]] = above["threshold"][divided]
            missing_left[places[divided]] = above["missing_left"][divided]
        tree = BinaryTree(
            n_features=columns.n_features,
            n_classes=n_classes,
            children_left=left,
            children_right=right,
            feature=feature,
            threshold=threshold,
            missing_go_to_left=missing_left,
            impurity=known.impurity,
            n_node_samples=rows,
            weighted_n_node_samples=known.weights,
            value=shape_values(np.ascontiguousarray(known.values), n_classes),
            categories=_NO_NODES,
            words=_NO_NODES,
        )
        # Known here already; a tree from elsewhere finds its depths when they are asked for.
        vars(tree)["depths"] = depths
        return mark_grown(tree)
