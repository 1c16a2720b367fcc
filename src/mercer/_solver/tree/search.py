"""The native search for splits that suits a tree: all cuts or random ones, sums or medians, numbers or categories."""

import math
import threading
from typing import Any

import numpy as np

from mercer._native.tree import category_splits, median_splits, random_splits, random_values, splits
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.target import ABSOLUTE, SQUARES

__all__ = ["Room", "is_single", "scratch_of", "search_categories", "search_part", "settings_of"]

Array = Any
# Numbers in a histogram: it stays in the second cache.
_CELLS = 2**15
# Few rows are read at once: the native code's number of them, and room to round it up.
_FEW = 256 + 16
# Up to this many categories every set of them is tried: 2^9 sets.
_MOST_SETS = 10


def settings_of(columns: Columns, target: Any, rules: Any) -> Array:
    """What a native search must know besides rows and sums."""
    return np.array(
        [
            *(rules.min_rows_leaf, rules.min_weight_leaf / target.weight_step, target.n_outputs, target.kind),
            *(rules.max_features, rules.coarse_rows if columns.coarse.size else np.inf, target.exact_squares),
            *(target.bounded_slot, np.nan, _MOST_SETS, rules.random, target.order_slot),
        ]
    )


def is_single(target: Any, rules: Any) -> bool:
    """Whether nodes are judged by a single sum, squared, and nothing else."""
    return target.n_slots == 1 and target.slots.shape[1] == 1 and target.kind == SQUARES and len(rules.signs) == 0


class Room(threading.local):
    """Arrays that one tree after the other grows in, on each thread its own: fresh memory costs more than its use."""

    def take(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """An array of that name, with anything in it."""
        size, old = math.prod(shape), vars(self).get(name)
        if old is None or len(old) < size or old.dtype != dtype:
            old = vars(self)[name] = np.empty(size, dtype)
        return old[:size].reshape(shape)


def scratch_of(columns: Columns, target: Any, rules: Any, most: int, n_features: int, room: Room) -> tuple[Array, ...]:
    """Room for the search of nodes of up to `most` rows."""
    single = is_single(target, rules)
    simple = single and not (columns.missing >= 0).any()
    outputs, own = target.slots.shape[1], 0 if simple else most
    order, sums = np.empty(n_features, np.int32), np.empty((4, target.n_slots + 8))
    quads = room.take("quads", (most * single, 4))
    kept = np.empty((own, outputs), np.int32), np.empty((own, outputs)), np.empty(own), quads
    if columns.are_values:
        return room.take("values", (most,)), order, *kept, sums
    # Large nodes are not put in order where coarse steps will do.
    ordered = int(min(most, max(rules.coarse_rows, _FEW))) if simple and columns.coarse.size else most
    keys, few = room.take("keys", (3, max(ordered, 2)), np.int64), np.empty((2, _FEW), np.int32)
    return keys, order, few, *kept, sums, np.empty(_CELLS)


def search_part(columns: Columns, target: Any, rules: Any, level: Any, at: Array, features: Array, best: Array) -> None:
    """Write the best split of some nodes by some features to `best`: gain, feature, cut, side and a fifth number."""
    nodes = level.rows, level.starts[at], level.stops[at], level.seeds[at]
    most = int((nodes[2] - nodes[1]).max())
    limits = rules.signs, level.bounds[at], settings_of(columns, target, rules)
    sums = target.slots, target.amounts, target.scaled
    if target.kind == ABSOLUTE:
        _search_medians(columns, target, rules, nodes, features, limits, best)
    elif columns.are_values:
        scratch = scratch_of(columns, target, rules, most, len(features), Room())
        random_values.search_random_values(
            *(columns.codes, columns.matrix, *nodes, features, *sums, *limits, *scratch, best)
        )
    elif rules.random:
        outputs = target.slots.shape[1]
        own = np.empty((most, outputs), np.int32), np.empty((most, outputs)), np.empty(most)
        keys, order = np.empty((3, max(most, 2)), np.int64), np.empty(len(features), np.int32)
        random_splits.search_random_splits(
            *(columns.codes, columns.missing[0], columns.table, columns.offsets, *nodes, features, columns.kinds),
            *(*sums, *limits, keys, order, *own, np.empty((3, target.n_slots + 8)), best),
        )
    else:
        splits.search_splits(
            *(columns.codes, columns.matrix, columns.coarse, columns.coarse_matrix, columns.missing, *nodes, features),
            *(columns.kinds, *sums, *limits, *scratch_of(columns, target, rules, most, len(features), Room()), best),
        )


def _search_medians(
    columns: Columns, target: Any, rules: Any, nodes: Any, features: Array, limits: Any, best: Array
) -> None:
    most, outputs = max(2, int((nodes[2] - nodes[1]).max())), target.n_outputs
    keys, order, sums = np.empty((3, most), np.int64), np.empty(len(features), np.int32), target.n_slots + 8
    median_splits.search_median_splits(  # type: ignore[call-arg]
        *(columns.codes, columns.missing[0], columns.table if rules.random else columns.table[:0], columns.offsets),
        *(*nodes, features, target.ranks, target.amounts, target.scaled, *limits, keys, order),
        *(np.empty((outputs, most), np.int32), np.empty((outputs, most)), np.empty((most, outputs)), np.empty(most)),
        *(np.empty((3, sums)), np.empty((2, outputs, 2, most + 1)), best),
    )


def search_categories(columns: Columns, target: Any, rules: Any, level: Any, at: Array, best: Array) -> Array:
    """Put splits by categories where they are better; return for each node which codes are seen (2) and go left (3)."""
    nodes = level.rows, level.starts[at], level.stops[at], level.seeds[at]
    most = int(columns.n_codes[columns.kinds > 0].max())
    goes = np.zeros((len(at), most), np.uint8)
    settings = np.array(
        [
            *(rules.min_rows_leaf, rules.min_weight_leaf / target.weight_step, target.n_outputs, target.kind),
            *(rules.max_features, np.inf, False, target.bounded_slot, np.nan, _MOST_SETS, rules.random),
            target.order_slot,
        ]
    )
    category_splits.search_category_splits(
        *(columns.codes, columns.missing[0], *nodes, columns.kinds, target.slots, target.amounts, target.scaled),
        *(level.bounds[at], settings, np.empty(columns.n_features, np.int32), np.zeros((3, most), np.int32)),
        *(np.empty((5, target.n_slots + 8)), np.empty((most, target.n_slots + 3)), goes, best),
    )
    return goes
