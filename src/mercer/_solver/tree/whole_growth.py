"""Growth of a whole tree: level by level where nodes are large, the rest in native calls of about ten milliseconds.

Threads share the columns and nodes of the first levels; then each grows whole branches.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from mercer._native.tree import node_search, tree_order
from mercer._solver.tree.assembly import assemble, join_levels, shape_values, take_state
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.growth import CALL_VISITS, EPSILON, Growth, Level
from mercer._solver.tree.search import Room, is_single, make_node, make_records
from mercer._solver.tree.soundness import mark_grown
from mercer._solver.tree.target import ENTROPY, SQUARES, ClassTarget
from mercer._source.threads import run_numbered
from mercer._types import Array

# Visits (a row in a column) of one native call: some ten milliseconds where there is one sum.
_VISITS = 2**21
# Branches for each thread: some are much smaller than others, and all threads shall end at about the same time.
_BRANCHES = 4
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
    if not can_grow_whole(growth):
        while growth.grow_level():
            pass
        return assemble(take_state(growth), growth.columns.n_features, n_classes)
    waiting = _grow_large(growth)
    thicket = Thicket(growth, room)
    try:
        if _shares(growth):
            thicket.grow_branches(waiting)
        else:
            thicket.grow_in_turn(waiting)
    except KeyboardInterrupt as interrupt:
        # Native calls end with whole nodes: those that still wait to be split are leaves.
        raise GrowthInterrupt(thicket.tree(n_classes)) from interrupt
    return thicket.tree(n_classes)


def can_grow_whole(growth: Growth) -> bool:
    """Return whether native calls can grow the branches of the tree."""
    columns, rules = growth.columns, growth.rules
    known = growth.target.kind in (SQUARES, ENTROPY) and len(columns.kinds) == 0 and len(rules.signs) == 0
    return known and columns.are_values == rules.random


def _shares(growth: Growth) -> bool:
    """Return whether threads share the growth; handing out a few visits would take longer than making them."""
    return growth.threads > 1 and len(growth.levels[0].rows) * growth.rules.max_features > CALL_VISITS


def _grow_large(growth: Growth) -> list[Array]:
    """Split the nodes that are too large for one call or thread; return the others that can be split, by levels."""
    waiting: list[Array] = []
    most = float(_VISITS)
    if _shares(growth):
        most = min(most, len(growth.levels[0].rows) * growth.rules.max_features / (_BRANCHES * growth.threads))
    while True:
        level = growth.levels[-1]
        at = growth.find_splittable(level)
        if len(level.rows) * growth.rules.max_features <= most:
            # All nodes together are small enough.
            return [*waiting, at]
        large = (level.stops - level.starts)[at] * growth.rules.max_features > most
        waiting.append(at[~large])
        if not (large.any() and growth.split_nodes(at[large])):
            return waiting


def _describe_nodes(level: Level) -> dict[str, Array]:
    """Return what :func:`join_levels` tells of a single level that was not divided: rows, weights and values."""
    known = level.known
    n_rows = level.stops - level.starts
    return {"n_rows": n_rows, "weights": known.weights, "values": known.values, "impurity": known.impurity}


@dataclass(eq=False)
class NodeTable:
    """The nodes that native calls have made, in the arrays of ``node_steps.pxd``, which grow as they fill up."""

    room: Room
    name: str
    n_nodes: int
    links: Array
    numbers: Array

    @classmethod
    def make(cls, growth: Growth, room: Room, name: str, top: int, rows: int) -> Self:
        """Return a table of `top` nodes, with room for those that `rows` rows will probably make."""
        # A tree of few rows gets room for as many leaves as rows, that of many for a quarter: most leaves hold several.
        share = 1 if rows <= _FEW_ROWS else 4
        length = top + max(64, 2 * rows // share // growth.rules.min_rows_leaf)
        links = room.take(f"{name} links", (length, 7), np.int32)
        numbers = room.take(f"{name} numbers", (length, 2 + growth.target.n_numbers))
        links[:top, 0] = LEAF
        # Placeholders: `Thicket.tree` overwrites these with what the levels hold.
        links[:top, 6], numbers[:top] = 1, 1.0
        return cls(room, name, top, links, numbers)

    def make_room(self, needed: int) -> None:
        """Double the room for nodes until `needed` fit; the nodes so far are kept."""
        length = len(self.links)
        while length < needed:
            length *= 2
        for name in ("links", "numbers") if length > len(self.links) else ():
            old = getattr(self, name)
            kept = old[: self.n_nodes].copy()
            new = self.room.take(f"{self.name} {name}", (length, old.shape[1]), old.dtype)
            new[: self.n_nodes] = kept
            setattr(self, name, new)

    def graft(self, root: int, links: Array, numbers: Array) -> None:
        """Add the nodes of a branch, whose first one takes the place of `root`."""
        first, added = self.n_nodes, len(links) - 1
        self.make_room(first + added)
        # The children of the branch are numbered from 1 on.
        links[:, 0] += np.where(links[:, 0] == LEAF, 0, first - 1).astype(np.int32)
        self.links[root, :5], self.numbers[root, 0] = links[0, :5], numbers[0, 0]
        self.links[first : first + added], self.numbers[first : first + added] = links[1:], numbers[1:]
        self.n_nodes += added


@dataclass(eq=False)
class Thicket:
    """The branches of a tree that native calls grow."""

    growth: Growth
    room: Room
    table: NodeTable = field(init=False)
    is_stopped: bool = False

    def __post_init__(self) -> None:
        rows = len(self.growth.levels[0].rows)
        self.table = NodeTable.make(self.growth, self.room, "tree", self.growth.n_nodes, rows)

    def _number(self, level: int) -> int:
        """Return the number of the first node of a level: nodes are numbered after those of the levels above."""
        return sum(len(above.starts) for above in self.growth.levels[:level])

    def grow_in_turn(self, waiting: list[Array]) -> None:
        """Grow the nodes ``waiting[k]`` of each level k, and all below them."""
        for number, at in enumerate(waiting):
            if len(at):
                level = self.growth.levels[number]
                spans = level.starts[at], level.stops[at]
                stack = (self._number(number) + at, *spans, level.seeds[at], level.depth)
                self._grow(self.table, level.rows, stack, int((spans[1] - spans[0]).max()))

    def grow_branches(self, waiting: list[Array]) -> None:
        """Grow what :meth:`grow_in_turn` does, each node by one of the threads; those of most rows first."""
        levels = self.growth.levels
        branches = [(number, int(node)) for number, at in enumerate(waiting) for node in at]
        branches.sort(key=lambda branch: int(levels[branch[0]].starts[branch[1]] - levels[branch[0]].stops[branch[1]]))
        grown: dict[int, tuple[Array, Array]] = {}

        def grow(number: int) -> None:
            level, node = levels[branches[number][0]], branches[number][1]
            rows = level.rows[level.starts[node] : level.stops[node]]
            table = NodeTable.make(self.growth, self.room, "branch", 1, len(rows))
            stack = np.zeros(1, np.int64), 0, len(rows), level.seeds[node], level.depth
            try:
                self._grow(table, rows, stack, len(rows))
            except BaseException:
                # The other threads end with their next native call, so that Ctrl-C does not wait for whole branches.
                self.is_stopped = True
                raise
            finally:
                # The thread uses the room of the table for its next branch.
                grown[number] = table.links[: table.n_nodes].copy(), table.numbers[: table.n_nodes].copy()

        try:
            run_numbered(grow, len(branches), self.growth.threads)
        finally:
            self.is_stopped = True
            for number in sorted(grown):
                level, node = branches[number]
                self.table.graft(self._number(level) + node, *grown[number])

    def _grow(self, table: NodeTable, rows: Array, nodes: tuple[Any, ...], most: int) -> None:
        """Grow nodes of up to `most` rows of `rows`; `nodes` are the columns of the stack in node_steps.pxd."""
        # The smaller child is split first, so that at most log2(n) < 70 siblings wait besides the given nodes.
        stack = np.empty((len(nodes[0]) + 70, 5), np.int64)
        for column, values in enumerate(nodes):
            stack[: len(nodes[0]), column] = values
        records, native = self._make_native(rows, most)
        native.height, native.n_nodes = len(nodes[0]), table.n_nodes
        native.hold(stack, table.links, table.numbers)
        try:
            while native.height > 0 and not self.is_stopped:
                self.growth.check()
                if native.n_nodes + 2 > len(table.links):
                    table.n_nodes = native.n_nodes
                    table.make_room(native.n_nodes + 2)
                    native.hold(stack, table.links, table.numbers)
                node_search.grow_nodes(*records, native)
        finally:
            table.n_nodes = native.n_nodes

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
        top, count = self.growth.n_nodes, self.table.n_nodes
        links, numbers = self.table.links[:count], self.table.numbers[:count]
        levels, columns = self.growth.levels, self.growth.columns
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
            *(links, numbers, columns.table, columns.offsets, columns.are_values, sizes, places),
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
