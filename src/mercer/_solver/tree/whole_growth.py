"""Growth of a whole tree: best first, or level by level where nodes are large and the rest in native calls.

Native calls take about ten milliseconds. Threads share the columns and nodes of the first levels; then each grows whole
branches. Trees that know no targets, which tell rows apart, grow many in one call.
"""

import heapq
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from mercer._native.records import GROWN_NODE, QUAD, WAITING, lend
from mercer._native.tree import node_search, tree_order
from mercer._solver.tree.assembly import GrowthState, assemble, join_levels, shape_values, take_state
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.columns import hold_matrix
from mercer._solver.tree.growth import CALL_VISITS, EPSILON, Growth, Rules
from mercer._solver.tree.search import Room, describe_search, find_node, is_single
from mercer._solver.tree.soundness import mark_grown
from mercer._solver.tree.target import ENTROPY, NO_TARGET, SQUARES, ClassTarget
from mercer._source.threads import run_numbered
from mercer._types import Array

# Visits (a row in a column) of one native call: some ten milliseconds where there is one sum.
_VISITS = 2**21
# The smaller child is split first, so that at most log2(n) < 70 siblings wait besides the nodes that are given.
_SIBLINGS = 70
# Branches for each thread: some are much smaller than others, and all threads shall end at about the same time.
_BRANCHES = 4
# Trees without categories have neither indices nor words of them.
_NO_NODES = np.zeros(0, np.int64)


# What native growth reads: codes by columns and by rows; records of table, target, limits and node.
Searched = tuple[Any, Any, Any, Any, Any, Any]


class GrowthInterrupt(KeyboardInterrupt):
    """Ctrl-C while a tree was grown; ``tree`` is what had been grown."""

    def __init__(self, tree: BinaryTree) -> None:
        super().__init__()
        self.tree = tree


def grow_whole(growth: Growth, n_classes: Array, room: Room) -> BinaryTree:
    """Grow a tree, which has begun, to its end, and return it; Ctrl-C raises :class:`GrowthInterrupt`."""
    # Categories, constraints and the like need the level-by-level growth.
    if not can_grow_whole(growth):
        while growth.grow_level():
            pass
        return assemble(take_state(growth), growth.columns.n_features, n_classes)
    is_small = not _shares(growth) and len(growth.rows) * growth.rules.max_features <= _VISITS
    # A root of a single class is a leaf, whose one sum is not that of two classes, which native growth reads.
    is_small = is_small and growth.target.n_numbers != 1
    waiting = [] if is_small else _grow_large(growth)
    branches = BranchGrowth(growth, room, 0 if is_small else growth.n_nodes)
    try:
        if is_small:
            branches.grow_from_roots()
        elif _shares(growth):
            branches.grow_branches(waiting)
        else:
            branches.grow_in_turn(waiting)
    except KeyboardInterrupt as interrupt:
        # Native calls end with whole nodes: those that still wait to be split are leaves.
        raise GrowthInterrupt(branches.tree(n_classes)) from interrupt
    return branches.tree(n_classes)


def can_grow_whole(growth: Growth) -> bool:
    """Return whether native calls can grow the branches of the tree."""
    columns, rules = growth.columns, growth.rules
    known = growth.target.kind in (SQUARES, ENTROPY) and len(columns.kinds) == 0 and len(rules.signs) == 0
    return known and columns.are_values == rules.random


def _shares(growth: Growth) -> bool:
    """Return whether threads share the growth; handing out a few visits would take longer than making them."""
    return growth.threads > 1 and len(growth.rows) * growth.rules.max_features > CALL_VISITS


def _grow_large(growth: Growth) -> list[Array]:
    """Split the nodes that are too large for one call or thread; return the others that can be split, by levels."""
    waiting: list[Array] = []
    most = float(_VISITS)
    if _shares(growth):
        most = min(most, len(growth.rows) * growth.rules.max_features / (_BRANCHES * growth.threads))
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


@dataclass(eq=False)
class NodeTable:
    """The nodes that native calls have made, records of ``growth_records``, in arrays that grow as they fill up."""

    room: Room
    name: str
    n_nodes: int
    nodes: Array
    described: Array

    @classmethod
    def make(cls, growth: Growth, room: Room, name: str, top: int, rows: int) -> Self:
        """Return a table of `top` nodes, with room for those that `rows` rows will probably make."""
        # Without targets nearly every row gets a leaf of its own; most leaves of other trees hold several.
        share = 4 if growth.rules.judged else 1
        length = top + max(64, 2 * rows // share // growth.rules.min_rows_leaf)
        nodes = room.take(f"{name} nodes", (length,), GROWN_NODE)
        described = room.take(f"{name} described", (length, growth.target.n_numbers))
        # Placeholders: `BranchGrowth.tree` overwrites these with what the levels hold.
        nodes["left"][:top], nodes["pure"][:top], nodes["weight"][:top], described[:top] = LEAF, 1, 1.0, 1.0
        return cls(room, name, top, nodes, described)

    def make_room(self, needed: int) -> None:
        """Double the room for nodes until `needed` fit; the nodes so far are kept."""
        length = len(self.nodes)
        while length < needed:
            length *= 2
        for name in ("nodes", "described") if length > len(self.nodes) else ():
            old = getattr(self, name)
            kept = old[: self.n_nodes].copy()
            new = self.room.take(f"{self.name} {name}", (length, *old.shape[1:]), old.dtype)
            new[: self.n_nodes] = kept
            setattr(self, name, new)

    def add_branch(self, root: int, nodes: Array, described: Array) -> None:
        """Add the nodes of a branch, whose first one takes the place of `root`."""
        first, added = self.n_nodes, len(nodes) - 1
        self.make_room(first + added)
        # The children of the branch are numbered from 1 on.
        nodes["left"] += np.where(nodes["left"] == LEAF, 0, first - 1).astype(np.int32)
        self.nodes[root] = nodes[0]
        self.nodes[first : first + added], self.described[first : first + added] = nodes[1:], described[1:]
        self.n_nodes += added


@dataclass(eq=False)
class BranchGrowth:
    """The branches of a tree that native calls grow; `top` nodes have been made level by level."""

    growth: Growth
    room: Room
    top: int
    table: NodeTable = field(init=False)
    is_stopped: bool = False

    def __post_init__(self) -> None:
        self.table = NodeTable.make(self.growth, self.room, "tree", self.top, len(self.growth.rows))

    def _number(self, level: int) -> int:
        """Return the number of the first node of a level: nodes are numbered after those of the levels above."""
        return sum(len(above.starts) for above in self.growth.levels[:level])

    def grow_from_roots(self) -> None:
        """Grow whole trees from their roots on."""
        rows, stack = self.growth.rows, np.empty(len(self.growth.seeds) + _SIBLINGS, WAITING)
        searched, native = self._make_native(rows, len(rows), 0.0)
        native.hold(lend(stack), lend(self.table.nodes), self.table.described, 0, 0)
        node_search.plant_roots(searched[-1], native, self.growth.starts, self.growth.seeds)
        self._run(self.table, searched, native, stack)

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
                grown[number] = table.nodes[: table.n_nodes].copy(), table.described[: table.n_nodes].copy()

        try:
            run_numbered(grow, len(branches), self.growth.threads)
        finally:
            self.is_stopped = True
            for number in sorted(grown):
                level, node = branches[number]
                self.table.add_branch(self._number(level) + node, *grown[number])

    def _grow(self, table: NodeTable, rows: Array, nodes: tuple[Any, ...], most: int) -> None:
        """Grow nodes of up to `most` rows of `rows`; `nodes` are the fields of those that wait to be split."""
        height = len(nodes[0])
        stack = np.empty(height + _SIBLINGS, WAITING)
        for name, values in zip(WAITING.names or (), nodes, strict=True):
            stack[name][:height] = values
        searched, native = self._make_native(rows, most, self.growth.whole_weight)
        native.hold(lend(stack), lend(table.nodes), table.described, height, table.n_nodes)
        self._run(table, searched, native, stack)

    def _run(self, table: NodeTable, searched: Searched, native: Any, stack: Array) -> None:
        """Call native growth until no node waits to be split; the table grows as it fills up."""
        height, table.n_nodes = native.count_nodes()
        try:
            while height > 0 and not self.is_stopped:
                self.growth.check()
                if table.n_nodes + 2 > len(table.nodes):
                    table.make_room(table.n_nodes + 2)
                    native.hold(lend(stack), lend(table.nodes), table.described, height, table.n_nodes)
                height, table.n_nodes = node_search.grow_nodes(*searched, native)
        finally:
            height, table.n_nodes = native.count_nodes()

    def _make_native(self, rows: Array, most: int, whole: float) -> tuple[Searched, Any]:
        """Return the records that native growth reads, and the record of the growth of a tree of weight `whole`."""
        columns, target, rules = self.growth.columns, self.growth.target, self.growth.rules
        # A logarithm for each class and cut costs as much as half a visit, measured on 12 classes.
        cost = 1.0 if is_single(target, rules) else 2.0 + 0.5 * target.n_slots * (target.kind == ENTROPY)
        limits = SimpleNamespace(
            # A node is split only if both children can have the least number of rows.
            min_rows=max(rules.min_rows_split, 2 * rules.min_rows_leaf),
            min_weight=2 * rules.min_weight_leaf,
            max_depth=rules.max_depth,
            unit=target.unit,
            whole_weight=whole,
            min_decrease=rules.min_decrease,
            rounding=EPSILON,
            max_visits=_VISITS / cost,
        )
        kept = self._keep(rows)
        spare, quads = self.room.take("spare", (most,), np.int32), most * (kept is not None)
        node = find_node(columns, target, rules, rows, most, self.room, kept)
        spare_quads = lend(self.room.take("spare quads", (quads,), QUAD))
        return (*describe_search(columns, target, rules), node), node_search.Growth(
            rows, spare, spare_quads, target, limits
        )

    def _keep(self, rows: Array) -> Array | None:
        """Return the quads of `rows` (see ``growth_records``), divided with the rows; None if not possible."""
        target = self.growth.target
        # Only where one amount for each row is all that is summed, and weights are whole.
        if not is_single(target, self.growth.rules) or target.scaled is not target.weight:
            return None
        kept = self.room.take("kept", (len(rows),), QUAD)
        kept["one"], kept["weight"], kept["amount"] = 1.0, target.weight[rows], target.amounts[rows, 0]
        kept["target"] = 0.0 if isinstance(target, ClassTarget) else target.targets[rows, 0]
        return kept

    def tree(self, n_classes: Array) -> BinaryTree:
        """Return the tree, its nodes numbered depth first."""
        above = self._read_levels() if self.top else None
        made, places, _ = self.order_nodes()
        described, pure, depths = made.pop("described"), made.pop("pure"), made.pop("depths")
        known = self.growth.target.describe_sums(made.pop("weighted_n_node_samples"), described, pure.view(np.bool_))
        if above is not None:
            for name in ("weights", "values", "impurity"):
                getattr(known, name)[places[: self.top]] = above[name]
            divided = np.flatnonzero(above["left"] != LEAF)
            made["threshold"][places[divided]] = above["threshold"][divided]
            made["missing_go_to_left"][places[divided]] = above["missing_left"][divided]
        tree = BinaryTree(
            n_features=self.growth.columns.n_features,
            n_classes=n_classes,
            **made,
            impurity=known.impurity,
            weighted_n_node_samples=known.weights,
            value=shape_values(np.ascontiguousarray(known.values), n_classes),
            categories=_NO_NODES,
            words=_NO_NODES,
        )
        # Known here already; a tree from elsewhere finds its depths when they are asked for.
        vars(tree)["depths"] = depths
        return mark_grown(tree)

    def _read_levels(self) -> dict[str, Array]:
        """Return what the levels hold of the first nodes, and complete the records of these."""
        above, nodes = join_levels(self.growth.levels), self.table.nodes
        divided = np.flatnonzero(above["left"] != LEAF)
        nodes["left"][divided], nodes["feature"][divided] = above["left"][divided], above["feature"][divided]
        # Thresholds and sides of these come from the levels; zeros are valid ranks meanwhile.
        for name in ("greatest_left", "least_right", "side"):
            nodes[name][divided] = 0
        nodes["rows"][: self.top] = above["n_rows"]
        return above

    def order_nodes(self, n_trees: int = 1) -> tuple[dict[str, Array], Array, Array]:
        """Return the arrays of trees that were grown together, the place of each grown node, and its nodes below.

        The first `n_trees` nodes are the roots. Native growth numbers nodes as they are made; here they are numbered
        depth first, one tree after the other.
        """
        count, columns = self.table.n_nodes, self.growth.columns
        nodes, described = self.table.nodes[:count], self.table.described[:count]
        (places, sizes), integers = np.empty((2, count), np.int64), np.empty((4, count), np.int32)
        made: dict[str, Array] = {
            **dict(zip(("children_left", "children_right", "feature", "n_node_samples"), integers, strict=True)),
            "threshold": np.empty(count),
            "weighted_n_node_samples": np.empty(count),
            "missing_go_to_left": np.empty(count, np.uint8),
            "described": np.empty(described.shape),
            "pure": np.empty(count, np.uint8),
            "depths": np.empty(count, np.int64),
        }
        table = columns.table, columns.offsets, columns.are_values
        tree_order.order_nodes(lend(nodes), described, *table, n_trees, sizes, places, tree_order.Nodes(made))
        return made, places, sizes


def grow_best_first(growth: Growth, max_leaves: int | None) -> GrowthState:
    """Split, again and again, the leaf whose split lowers the weighted impurity most; of equal ones the oldest.

    The two children of a node make a level of their own. The random draws of a node depend on the path from the root
    alone, so that a tree that never reaches `max_leaves` is the one that grows level by level.
    """
    # A heap of (-gain, level, index in its level, split) for every leaf that can be split. Levels are numbered in the
    # order of growth, so that of equal gains the oldest leaf comes first, and two arrays are never compared.
    waiting: list[tuple[float, int, int, Array]] = []
    _offer(growth, 0, waiting)
    leaves = 1
    while waiting and (max_leaves is None or leaves < max_leaves):
        # The largest decrease first; the heap orders by its negative.
        _, number, place, best = heapq.heappop(waiting)
        level, at = growth.levels[number], np.array([place])
        # The two children make a level of their own, so that one routine divides rows in both ways of growth.
        growth.levels.append(growth.divide(level, at, best, growth.n_nodes))
        growth.n_nodes += 2
        leaves += 1
        _offer(growth, len(growth.levels) - 1, waiting)
    return take_state(growth)


def _offer(growth: Growth, number: int, waiting: list[tuple[float, int, int, Array]]) -> None:
    """Push the best split of each node of the level `number` on the heap `waiting`."""
    level = growth.levels[number]
    at = growth.find_splittable(level)
    if len(at) == 0:
        return
    best = growth.search(level, at)
    for i, place in enumerate(at.tolist()):
        if best["feature"][i] >= 0:
            heapq.heappush(waiting, (-float(best["gain"][i]), number, place, best[i : i + 1]))


# Arrays of the nodes of trees, by the names of `BinaryTree`.
Nodes = dict[str, Array]


def grow_apart(
    X: Array, rows: Array, seeds: Array, drawn: Array | None, max_depth: int, room: Room
) -> tuple[Array, Nodes]:
    """Return the number of nodes of each tree, and their arrays, one tree after the other.

    Right children count from the root of their tree; a left child is the next node. A node is split at a random value
    of a random column, of those that vary in it, until its rows are alone or equal.

    Parameters
    ----------
    X : (n, d)
    rows : (trees, m), the rows of each tree
    seeds : (trees,), below 2^32
    drawn : (trees, k) or None
        The columns that each tree may split; None for all.
    max_depth : int
    room : Room
        Scratch arrays that the calls of one thread share.
    """
    n_trees, m = rows.shape
    growth = Growth(hold_matrix(X, drawn), NO_TARGET, Rules(max_depth=max_depth, random=True, judged=False))
    growth.begin_trees(rows.astype(np.int32).ravel(), m * np.arange(n_trees + 1), seeds)
    branches = BranchGrowth(growth, room, 0)
    branches.grow_from_roots()
    nodes, _, sizes = branches.order_nodes(n_trees)
    sizes = sizes[:n_trees].copy()
    begins, right = np.repeat((np.cumsum(sizes) - sizes).astype(np.int32), sizes), nodes["children_right"]
    del nodes["children_left"]
    nodes["children_right"] = np.where(right >= 0, right - begins, LEAF)
    return sizes, nodes
