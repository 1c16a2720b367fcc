"""The uncompiled twin of ``category_scan.pxd``."""

import math

import numpy

from mercer._native.tree import code_order, impurity

_NO_ORDER = 2
_TURNS = 30


def _sum_categories(codes, target, node):
    """Return the categories that are present, in the order of first rows, and rows, weight, key and sums of each."""
    cells = {}
    for row in node.rows[node.start : node.start + node.count]:
        cell = cells.setdefault(int(codes[node.feature, row]), [0.0, 0.0, 0.0, numpy.zeros(len(node.total))])
        cell[0], cell[1] = cell[0] + 1.0, cell[1] + float(target.weight[row])
        numpy.add.at(cell[3], numpy.asarray(target.slots[row]), numpy.asarray(target.amounts[row]))
    return list(cells), list(cells.values())


def _set_component_keys(node, cells):
    """Set each category's key to its coordinate along the first principal component of the means; see the twin."""
    # Power iteration from a start that is orthogonal to no coordinate axis.
    axis = [1.0 / (1.0 + s) for s in range(len(node.total))]
    # A category's mean amounts about those of the node.
    means = [[float(cell[3][s] / cell[1] - node.total[s] / node.weight) for s in range(len(axis))] for cell in cells]
    for _ in range(_TURNS):
        image = [0.0] * len(axis)
        for cell, mean in zip(cells, means):
            along = 0.0
            for s, value in enumerate(mean):
                along += value * axis[s]
            cell[2] = along
            for s, value in enumerate(mean):
                image[s] += cell[1] * along * value
        length = 0.0
        for value in image:
            length += value * value
        # All categories have the same means: every order is as good.
        if length == 0.0:
            return
        axis = [value / math.sqrt(length) for value in image]


def _list_sets(node, limits, names):
    """Yield the sets to try: lists that tell for each category, in sorted order, whether it goes left."""
    n = len(names)
    if limits.is_random:
        # The first category goes left and the second right, so that neither side is empty.
        yield [True, False, *((code_order.mix(node.seed + name) & 1) != 0 for name in names[2:])]
    elif limits.order_slot >= 0 or n > limits.most_sets:
        yield from ([c < number for c in range(n)] for number in range(1, n))
    else:
        yield from ([bool((number >> c) & 1) for c in range(n)] for number in range(1, 1 << (n - 1)))


def scan_sets(codes, table, target, limits, node, sets):
    """Try splits by sets of the categories of one column; return whether at least two categories are present."""
    names, cells = _sum_categories(codes, target, node)
    # With one category there is nothing to divide.
    if len(names) < 2:
        return False
    # With two classes or one target, the order by the mean of one slot contains the best set (Fisher, 1958).
    if limits.order_slot >= 0:
        for cell in cells:
            cell[2] = cell[3][limits.order_slot] / cell[1]
    elif not limits.is_random and len(names) > limits.most_sets:
        _set_component_keys(node, cells)
    order = sorted(range(len(names)), key=lambda c: (cells[c][2], names[c]))
    names, cells = [names[c] for c in order], [cells[c] for c in order]
    node.cut, node.side = -1, 2
    node.sign = _NO_ORDER if node.low == -node.high and node.high > 1e308 else 0
    # Every set is judged as a cut whose left side holds the categories of the set.
    for is_left in _list_sets(node, limits, names):
        chosen, before = [cell for cell, goes in zip(cells, is_left) if goes], node.best_worth
        node.left[:] = sum(cell[3] for cell in chosen)
        impurity.judge(node, limits, sum(cell[1] for cell in chosen), sum(cell[0] for cell in chosen))
        if node.best_worth > before:
            sets.goes[node.index] = 0
            # 2 marks a category that the node has seen, and the lowest bit says whether it goes left.
            sets.goes[node.index, names] = numpy.add(2, is_left)
            missing = table.missing[0, node.feature]
            # Missing values that are a category of the node go where that category goes.
            if missing in names:
                node.best_side = int(sets.goes[node.index, missing]) & 1
    return True
