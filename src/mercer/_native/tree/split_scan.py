"""The uncompiled twin of ``split_scan.pxd``."""

import numpy

from mercer._native.tree import code_order, impurity

_NONE_MISSING = 2


def _judge_runs(runs, first, node, limits):
    """Judge the cut after each run of equal codes (code, rows, weight, sums), with `first` already on the left."""
    rows, left_weight = first[0], first[1]
    node.left[:] = first[2]
    # Rows with equal codes cannot be divided, so cuts lie between runs.
    for cut, run_rows, weight, sums in runs:
        rows, left_weight = rows + run_rows, left_weight + weight
        node.left[:] = numpy.asarray(node.left) + sums
        # After the last row both sides are the node and nothing.
        if rows == node.count:
            return
        node.cut = cut
        impurity.judge(node, limits, left_weight, rows)


def _sum_runs(node, keys):
    """Return a tuple (code, rows, weight, sums) for each code among `keys`, in the order of the codes."""
    runs = {}
    for key in keys:
        p = code_order.read_place(key)
        run = runs.setdefault(int(key) >> 32, [0, 0.0, numpy.zeros(len(node.total))])
        run[0], run[1] = run[0] + 1, run[1] + node.own_weight[p]
        numpy.add.at(run[2], numpy.asarray(node.own_slots[p]), numpy.asarray(node.own_amounts[p]))
    return [(cut, *runs[cut]) for cut in sorted(runs)]


def _scan_keys(node, limits, known):
    """Try every cut between the `known` ordered keys, with the missing rows right and then left."""
    runs, nothing = _sum_runs(node, node.keys[0, :known]), (0, 0.0, numpy.zeros(len(node.total)))
    if known == node.count:
        node.side = _NONE_MISSING
        _judge_runs(runs, nothing, node, limits)
        return
    # All missing rows have one code.
    (missing,) = _sum_runs(node, node.keys[0, known : node.count])
    for side, first in enumerate((nothing, missing[1:])):
        node.side = side
        _judge_runs(runs, first, node, limits)


def _scan_single(codes, node, limits):
    """Judge every cut of rows with these codes by a single sum."""
    quads = numpy.asarray(node.quads)[node.first : node.first + node.count]
    runs = [(int(c), int((codes == c).sum()), *quads[codes == c, 1:3].sum(axis=0)) for c in numpy.unique(codes)]
    _judge_runs(runs, (0, 0.0, 0.0), node, limits)


def gather_node(codes, table, node):
    """Write the keys of the node's rows, known values first; return the number of these, -1 if nothing can be split."""
    codes, missing = (table.coarse, table.missing[1]) if node.is_coarse else (codes, table.missing[0])
    stop, feature = node.start + node.count, node.feature
    known = code_order.gather_keys(
        codes, feature, node.rows, node.start, stop, missing[feature], node.keys[0], node.keys[2]
    )
    return -1 if known == 0 or (known == node.count and node.keys[2, 0] == node.keys[2, 1]) else known


def scan_cuts(codes, matrix, table, limits, node):
    """Try every cut of a node by one column; return whether its codes vary."""
    # Without missing values and with one amount per row, sums are taken by code, without sorting.
    if len(node.quads) and table.missing[0, node.feature] < 0:
        own = numpy.asarray(node.rows)[node.start : node.start + node.count]
        own = numpy.asarray(table.coarse if node.is_coarse else codes)[node.feature, own]
        _scan_single(own, node, limits)
        return bool((own != own[0]).any())
    known = gather_node(codes, table, node)
    if known < 0:
        return False
    code_order.order_keys(node.keys[0], node.keys[1], known, node.keys[2, 0], node.keys[2, 1])
    _scan_keys(node, limits, known)
    return True
