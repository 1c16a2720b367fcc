"""The native search for splits that suits a tree: all cuts or random ones, sums or medians, numbers or categories."""

from typing import Any

import numpy as np

from mercer._native import category_splits, median_splits, random_splits, random_values, splits
from mercer.tree._columns import Columns
from mercer.tree._target import ABSOLUTE

__all__ = ["search_categories", "search_part"]

Array = Any
# Numbers in a histogram: it stays in the second cache.
_CELLS = 2**15
# Up to this many categories every set of them is tried: 2^9 sets.
_MOST_SETS = 10


def search_part(columns: Columns, target: Any, rules: Any, level: Any, at: Array, features: Array, best: Array) -> None:
    """Write the best split of some nodes by some features to `best`: gain, feature, cut, side and a fifth number."""
    nodes = level.rows, level.starts[at], level.stops[at], level.seeds[at]
    most = int((nodes[2] - nodes[1]).max())
    settings = np.array(
        [
            *(rules.min_rows_leaf, rules.min_weight_leaf / target.weight_step, target.n_outputs, target.kind),
            *(rules.max_features, rules.coarse_rows if columns.coarse.size else np.inf, target.exact_squares),
            *(target.bounded_slot, np.nan, _MOST_SETS, rules.random, target.order_slot),
        ]
    )
    limits = rules.signs, level.bounds[at], settings
    keys, order = np.empty((3, max(most, 2)), np.int64), np.empty(len(features), np.int32)
    sums = np.empty((3, target.n_slots + 8))
    outputs = target.slots.shape[1]
    own = np.empty((most, outputs), np.int32), np.empty((most, outputs)), np.empty(most)
    if target.kind == ABSOLUTE:
        _search_medians(columns, target, rules, nodes, features, limits, keys, order, sums, best)
    elif columns.are_values:
        random_values.search_random_values(
            *(columns.codes, columns.matrix, *nodes, features, target.slots, target.amounts, target.scaled, *limits),
            *(np.empty(most), order, *own, sums, best),
        )
    elif rules.random:
        random_splits.search_random_splits(
            *(columns.codes, columns.missing[0], columns.table, columns.offsets, *nodes, features, columns.kinds),
            *(target.slots, target.amounts, target.scaled, *limits, keys, order, *own, sums, best),
        )
    else:
        splits.search_splits(
            *(columns.codes, columns.coarse, columns.missing, *nodes, features, columns.kinds, target.slots),
            *(target.amounts, target.scaled, *limits, keys, order, *own, sums, np.empty(_CELLS), best),
        )


def _search_medians(
    columns: Columns,
    target: Any,
    rules: Any,
    nodes: Any,
    features: Array,
    limits: Any,
    keys: Array,
    order: Array,
    sums: Array,
    best: Array,
) -> None:
    most, outputs = keys.shape[1], target.n_outputs
    median_splits.search_median_splits(  # type: ignore[call-arg]
        *(columns.codes, columns.missing[0], columns.table if rules.random else columns.table[:0], columns.offsets),
        *(*nodes, features, target.ranks, target.amounts, target.scaled, *limits, keys, order),
        *(np.empty((outputs, most), np.int32), np.empty((outputs, most)), np.empty((most, outputs)), np.empty(most)),
        *(sums, np.empty((2, outputs, 2, most + 1)), best),
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
