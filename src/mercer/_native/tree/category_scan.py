"""Splits of a node's rows into two sets of categories of one column, judged by sums.

With one sum for each category (two classes, or one target) the categories are ordered by their means: the best of all
sets is then the first categories of that order (Breiman). With more classes every set is tried if there are few
categories. If there are many, they are ordered along the first principal component of their class shares
(Coppersmith, Hong and Hosking), and the first categories of that order are nearly always the best set. Missing values
are one more category.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.tree import code_order, impurity
from mercer._native.tree import growth_records as records
from mercer._native.tree.code_order import code

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Limits, Node, Sets, Table, Target

# Which sets are tried: the first categories of the order, every set, or one drawn at random.
RUNS = 0
ALL_SETS = 1
RANDOM_SET = 2
# Power iterations for the principal component: the order hardly changes after a few.
TURNS = 30


def sum_categories(codes: cython.const[code][:, ::1], target: Target, node: Node, sets: Sets) -> cython.Py_ssize_t:
    """Sum the rows of each category that is present; return the number of these categories.

    ``sets.cells[c]`` and ``sets.sums[c]`` belong to the category ``sets.names[c]``. ``sets.where`` is zero for all
    codes before and after.
    """
    present: cython.Py_ssize_t = 0
    feature: cython.Py_ssize_t = node.feature
    for i in range(node.start, node.start + node.count):
        row = node.rows[i]
        own = cython.cast(cython.int, codes[feature, row])
        # One plus the cell of the category; zero if this is the first row of the category.
        c = sets.where[own]
        if c == 0:
            sets.names[present] = own
            sets.cells[present].rows = 0.0
            sets.cells[present].weight = 0.0
            for s in range(sets.sums.shape[1]):
                sets.sums[present, s] = 0.0
            present += 1
            c = present
            sets.where[own] = cython.cast(cython.int, c)
        sets.cells[c - 1].rows += 1.0
        sets.cells[c - 1].weight += target.weight[row]
        for o in range(target.slots.shape[1]):
            sets.sums[c - 1, target.slots[row, o]] += target.amounts[row, o]
    # Only the entries used are reset: a column may have many more categories than a node has rows.
    for i in range(present):
        sets.where[sets.names[i]] = 0
    return present


def set_component_keys(node: Node, sets: Sets, present: cython.Py_ssize_t) -> cython.void:
    """Set each category's key to its coordinate along the first principal component of the means.

    With m_c = s_c / w_c - s / w, the mean of category c less that of the node, the component is the leading eigenvector
    of sum_c w_c m_c m_c^T. Power iteration finds it: a <- sum_c w_c (m_c . a) m_c, scaled to length one.
    """
    n: cython.Py_ssize_t = node.total.shape[0]
    turns: cython.int = 0
    along: cython.double
    length: cython.double
    # Unequal entries to start from: the entries of m_c sum to zero for each output, so m_c . (1, ..., 1) = 0.
    for s in range(n):
        sets.axis[s] = 1.0 / (1.0 + s)
    while turns < TURNS:
        turns += 1
        for s in range(n):
            sets.image[s] = 0.0
        for c in range(present):
            along = 0.0
            for s in range(n):
                along += (sets.sums[c, s] / sets.cells[c].weight - node.total[s] / node.weight) * sets.axis[s]
            sets.cells[c].key = along
            for s in range(n):
                sets.image[s] += (
                    sets.cells[c].weight
                    * along
                    * (sets.sums[c, s] / sets.cells[c].weight - node.total[s] / node.weight)
                )
        length = 0.0
        for s in range(n):
            length += sets.image[s] * sets.image[s]
        # All categories have the mean of the node: every key is zero, and the order is that of the names.
        if length == 0.0:
            return
        length = length**0.5
        for s in range(n):
            sets.axis[s] = sets.image[s] / length


def comes_before(sets: Sets, a: cython.int, b: cython.int) -> cython.bint:
    """Return whether category `a` comes before `b`: by key and, where keys are equal, by name."""
    if sets.cells[a].key != sets.cells[b].key:
        return sets.cells[a].key < sets.cells[b].key
    return sets.names[a] < sets.names[b]


def sort_categories(sets: Sets, present: cython.Py_ssize_t) -> cython.void:
    """Write the indices of the categories that are present to ``sets.order``, sorted by key, with a heap sort."""
    end: cython.Py_ssize_t = present
    start: cython.Py_ssize_t = present // 2
    for i in range(present):
        sets.order[i] = cython.cast(cython.int, i)
    # While `start` falls to 0 the heap is built, from its last parent to its root. Then ``order[:end]`` is a heap with
    # the last category at its root, and ``order[end:]`` is sorted and comes after it.
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            held = sets.order[end]
            sets.order[end] = sets.order[0]
            sets.order[0] = held
        root = start
        held = sets.order[root]
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and comes_before(sets, sets.order[child], sets.order[child + 1]):
                child += 1
            if not comes_before(sets, held, sets.order[child]):
                break
            sets.order[root] = sets.order[child]
            root = child
        sets.order[root] = held


def is_in_set(node: Node, sets: Sets, mode: cython.int, number: cython.Py_ssize_t, c: cython.Py_ssize_t) -> cython.bint:
    """Return whether category c of the order is in the set with index `number`.

    In mode RUNS the set holds the first `number` categories; in ALL_SETS those whose bits are set in `number`. In
    RANDOM_SET the node's seed draws it; it holds the first category and not the second, so that neither side is empty.
    """
    if mode == RUNS:
        return c < number
    if mode == ALL_SETS:
        return ((number >> c) & 1) != 0
    return c == 0 if c < 2 else (code_order.mix(node.seed + sets.names[sets.order[c]]) & 1) != 0


def try_sets(node: Node, limits: Limits, sets: Sets, present: cython.Py_ssize_t, mode: cython.int) -> cython.Py_ssize_t:
    """Judge sets of the categories that are present.

    Return the index of the set that is better than the best split so far, -1 if none is.
    """
    chosen: cython.Py_ssize_t = -1
    last: cython.Py_ssize_t = present
    one: cython.Py_ssize_t = 1
    rows: cython.double = 0.0
    left_weight: cython.double = 0.0
    if mode == ALL_SETS:
        # The last category stays right: a set and its complement are one split.
        last = one << (present - 1)
    elif mode == RANDOM_SET:
        last = 2
    for s in range(node.total.shape[0]):
        node.left[s] = 0.0
    for number in range(1, last):
        if mode != RUNS:
            rows = 0.0
            left_weight = 0.0
            for s in range(node.total.shape[0]):
                node.left[s] = 0.0
        # A run has one category more than the run before it.
        for c in range(number - 1 if mode == RUNS else 0, number if mode == RUNS else present):
            if is_in_set(node, sets, mode, number, c):
                category = sets.order[c]
                rows += sets.cells[category].rows
                left_weight += sets.cells[category].weight
                for s in range(node.total.shape[0]):
                    node.left[s] += sets.sums[category, s]
        before = node.best_worth
        impurity.judge(node, limits, left_weight, rows)
        if node.best_worth > before:
            chosen = number
    return chosen


def mark_set(
    node: Node,
    sets: Sets,
    present: cython.Py_ssize_t,
    mode: cython.int,
    chosen: cython.Py_ssize_t,
    missing: cython.int,
) -> cython.void:
    """Mark each category in ``sets.goes``: 0 if absent, 2 if it goes right, 3 if it goes left.

    Missing rows go where the category `missing`, which stands for them, goes.
    """
    for c in range(sets.goes.shape[1]):
        sets.goes[node.index, c] = 0
    for c in range(present):
        sets.goes[node.index, sets.names[sets.order[c]]] = 3 if is_in_set(node, sets, mode, chosen, c) else 2
    for c in range(present):
        if sets.names[c] == missing:
            node.best_side = sets.goes[node.index, missing] & 1


def scan_sets(
    codes: cython.const[code][:, ::1], table: Table, target: Target, limits: Limits, node: Node, sets: Sets
) -> cython.bint:
    """Try splits by sets of the categories of one column; return whether at least two categories are present."""
    slot: cython.Py_ssize_t = limits.order_slot
    present: cython.Py_ssize_t = sum_categories(codes, target, node, sets)
    mode: cython.int = RUNS
    if present < 2:
        return False
    if limits.is_random:
        mode = RANDOM_SET
    elif slot < 0 and present <= limits.most_sets:
        mode = ALL_SETS
    for i in range(present):
        sets.cells[i].key = sets.sums[i, slot] / sets.cells[i].weight if slot >= 0 else 0.0
    if slot < 0 and mode == RUNS:
        set_component_keys(node, sets, present)
    sort_categories(sets, present)
    node.cut = -1
    node.side = records.NONE_MISSING
    # Categories have no order, but the bounds that splits higher in the tree have set must hold (sign 0).
    node.sign = records.NO_ORDER if node.low == -node.high and node.high > 1e308 else 0
    chosen = try_sets(node, limits, sets, present, mode)
    if chosen >= 0:
        mark_set(node, sets, present, mode, chosen, table.missing[0, node.feature])
    return True
