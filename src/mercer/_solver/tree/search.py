"""The native search for splits that suits a tree: all cuts or random ones, sums or medians, values or categories."""

import math
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np

from mercer._native.records import CATEGORY, QUAD, lend, make_records
from mercer._native.tree import node_search
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.target import ABSOLUTE, SQUARES
from mercer._types import Array

# Numbers in a histogram: 256 KiB, which stay in the second-level cache.
_CELLS = 2**15
# Rows of a node that are read at once: 256, as in the native code, and 15 more that it reads beyond the end.
_FEW = 256 + 16
# Numbers that a search through steps needs for each column; see ``step_scan``.
_STEP_NUMBERS = 512 + 528
# Up to this number of categories every set of them is tried: 2^9 sets.
_MOST_SETS = 10
_NO_COLUMNS = np.empty((0, 0), np.int32)
# The kinds of search, as ``growth_records`` numbers them.
_ALL_CUTS = 0
_RANDOM_CUTS = 1
_MEDIAN_CUTS = 2
_CATEGORY_SETS = 3
_ANY_CUT = 4


class Room(threading.local):
    """Arrays that each thread reuses from tree to tree: allocating fresh memory costs more than using it."""

    def take(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Return the array `name` with this shape; its content is arbitrary."""
        # Each look at the attributes of a thread costs as much as an allocation of some bytes: one is enough.
        size, kept = math.prod(shape), self.__dict__
        old = kept.get(name)
        if old is None or len(old) < size or old.dtype != dtype:
            old = kept[name] = np.empty(size, dtype)
        return old[:size].reshape(shape)


def is_single(target: Any, rules: Any) -> bool:
    """Return whether the worth of a node is s^2 / w of a single sum s, without monotone constraints."""
    return target.n_slots == 1 and target.slots.shape[1] == 1 and target.kind == SQUARES and len(rules.signs) == 0


def can_use_steps(target: Any, rules: Any, n_features: int) -> bool:
    """Return whether the best cuts of large nodes can be found through steps; see ``step_scan``.

    Every feature must be looked at. Steps hold weights and no numbers of rows, so that a least number of rows in a leaf
    needs weights of one.
    """
    whole = rules.max_features == n_features and not rules.random and rules.coarse_rows == np.inf
    if not (whole and is_single(target, rules)):
        return False
    return rules.min_rows_leaf == 1 or bool((target.scaled == 1.0).all())


def describe_search(
    columns: Columns, target: Any, rules: Any, categories: bool = False
) -> tuple[Any, Any, Any, Any, Any]:
    """Return the arguments of a native search: codes by columns and by rows; records of table, target and limits."""
    scan = (_RANDOM_CUTS if rules.judged else _ANY_CUT) if rules.random else _ALL_CUTS
    if categories or target.kind == ABSOLUTE:
        scan = _CATEGORY_SETS if categories else _MEDIAN_CUTS
    # Coarse codes are for large nodes of complete searches; elsewhere no node is large enough.
    coarse_rows = rules.coarse_rows if columns.coarse.size and scan == _ALL_CUTS else np.inf
    limits = node_search.Limits(rules, target, scan, coarse_rows, _MOST_SETS)
    return columns.codes, columns.matrix, node_search.Table(columns), node_search.Target(target), limits


def find_node(columns: Columns, target: Any, rules: Any, rows: Array, most: int, room: Room, kept: Array | None) -> Any:
    """Return what :func:`make_node` does for all features; a thread has one for all trees of one kind.

    Making the record takes as long as the growth of a tree of 50 rows.
    """
    kind = (
        *(target.kind, target.slots.shape[1], target.n_slots, is_single(target, rules), kept is None),
        *(rules.random, rules.judged, rules.coarse_rows, columns.n_features, columns.have_steps),
        *(columns.coarse.size > 0, bool((columns.missing >= 0).any())),
    )
    nodes = room.__dict__.setdefault("search nodes", {})
    found = nodes.get(kind)
    if found is None or found[0] < most:
        features = np.arange(columns.n_features, dtype=np.int32)
        found = nodes[kind] = (most, make_node(columns, target, rules, rows, features, most, room, kept))
    node = found[1]
    node.hold_rows(rows)
    if columns.drawn is not None:
        node.hold_columns(columns.drawn)
    if kept is not None:
        node.hold_quads(lend(kept))
    return node


def make_node(
    columns: Columns, target: Any, rules: Any, rows: Array, features: Array, most: int, room: Room, kept: Any = None
) -> Any:
    """Return the record of a search of nodes of up to `most` rows, with scratch; `kept` are quads kept beside rows."""
    single = is_single(target, rules)
    simple = single and not (columns.missing >= 0).any()
    outputs, own = target.slots.shape[1], most * (rules.judged and not simple)
    is_random = rules.random and target.kind != ABSOLUTE
    # Large nodes are not put in order where coarse steps will do.
    ordered = int(min(most, max(rules.coarse_rows, _FEW))) if simple and columns.coarse.size else most
    medians = None
    if target.kind == ABSOLUTE:
        medians = node_search.Medians(
            np.empty((outputs, most), np.int32),
            np.empty((outputs, most)),
            np.empty((2, outputs, 2, most + 1)),
            np.empty((2, outputs)),
        )
    total, left = np.empty((2, target.n_slots))
    scratch = SimpleNamespace(
        order=np.empty(len(features), np.int32),
        columns=_NO_COLUMNS,
        total=total,
        left=left,
        sums=np.empty(4),
        own_slots=np.empty((own, outputs), np.int32),
        own_amounts=np.empty((own, outputs)),
        own_weight=np.empty(own),
        quads=lend(room.take("quads", (most * single,), QUAD) if kept is None else kept),
        keys=room.take("keys", (3, 2 if is_random else max(ordered, 2)), np.int64),
        few=np.empty((2, _FEW), np.int32),
        cells=np.empty(0 if is_random else _CELLS),
        values=room.take("values", (most * is_random,)),
        steps=room.take("steps", (_STEP_NUMBERS * len(features) * columns.have_steps,)),
        marks=np.empty(256, np.uint8),
    )
    return node_search.Node(rows, features, scratch, kept is not None, medians)


def search_part(columns: Columns, target: Any, rules: Any, level: Any, at: Array, features: Array, best: Array) -> None:
    """Write the best split of the nodes `at` by `features` to `best`, records of ``growth_records``."""
    starts, stops = level.starts[at], level.stops[at]
    node = make_node(columns, target, rules, level.rows, features, int((stops - starts).max()), Room())
    searched = describe_search(columns, target, rules)
    node_search.search_nodes(*searched, node, starts, stops, level.seeds[at], level.bounds[at], lend(best))


def search_categories(columns: Columns, target: Any, rules: Any, level: Any, at: Array, best: Array) -> Array:
    """Replace splits in `best` by splits by categories that are better.

    Return an array (nodes, codes): 0 for codes that a node has not seen, 2 for those that go right, 3 for left.
    """
    most, slots, d = int(columns.n_codes[columns.kinds > 0].max()), target.n_slots, columns.n_features
    goes, sums = np.zeros((len(at), most), np.uint8), np.empty((most, slots))
    sets = node_search.Sets(
        np.zeros((3, most), np.int32), lend(make_records(most, CATEGORY)), sums, np.empty((2, slots)), goes
    )
    # Sums are taken by categories, without the rows' own sums, keys and values.
    integers, numbers = np.empty((0, 0), np.int32), np.empty((0, 0))
    total, left = np.empty((2, slots))
    scratch = SimpleNamespace(
        order=np.empty(d, np.int32),
        columns=_NO_COLUMNS,
        total=total,
        left=left,
        sums=np.empty(4),
        own_slots=integers,
        own_amounts=numbers,
        few=integers,
        keys=np.empty((0, 0), np.int64),
        **{name: numbers[0:0].ravel() for name in ("own_weight", "cells", "values", "steps")},
        quads=lend(make_records(0, QUAD)),
        marks=np.empty(0, np.uint8),
    )
    node = node_search.Node(level.rows, np.arange(d, dtype=np.int32), scratch, sets=sets)
    searched = describe_search(columns, target, rules, categories=True)
    seeds, bounds = level.seeds[at], level.bounds[at]
    node_search.search_nodes(*searched, node, level.starts[at], level.stops[at], seeds, bounds, lend(best))
    return goes
