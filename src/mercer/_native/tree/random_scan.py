"""The uncompiled twin of ``random_scan.pxd``."""

import numpy

from mercer._native.tree import code_order, impurity


def _scan_random(node, limits):
    """Judge one random cut of ``node.values``; return whether they vary."""
    values = numpy.asarray(node.values[: node.count])
    known = ~numpy.isnan(values)
    low, high = values[known].min(initial=numpy.inf), values[known].max(initial=-numpy.inf)
    # Where all values are known and equal there is no cut; with missing values they can be divided from the known ones.
    if not known.any() or (known.all() and low == high):
        return False
    threshold, before = code_order.draw_threshold(node.seed, node.feature, low, high), node.best_worth
    node.cut, node.side = 0, 2
    if not known.all():
        # With one known value the only cut is between it and the missing rows, which go right.
        node.side = 0 if low == high else code_order.draw_side(node.seed, node.feature)
    is_left = numpy.where(known, values <= threshold, node.side == 1)
    # Sums of contiguous quads, where one amount per row is all there is.
    if len(node.quads) and known.all():
        quads = numpy.asarray(node.quads)[node.first : node.first + node.count]
        weight, node.left[0] = quads[is_left, 1].sum(), quads[is_left, 2].sum()
    else:
        own = numpy.flatnonzero(is_left)
        weight, node.left[:] = numpy.asarray(node.own_weight)[own].sum(), 0.0
        numpy.add.at(node.left, numpy.asarray(node.own_slots)[own], numpy.asarray(node.own_amounts)[own])
    impurity.judge(node, limits, weight, int(is_left.sum()))
    if node.best_worth > before:
        node.best_threshold = threshold
    return True


def scan_random_codes(codes, table, limits, node):
    """Try one random cut of a column: of its values, or of those that codes stand for, then kept also as a code."""
    own = numpy.asarray(codes)[node.feature, numpy.asarray(node.rows)[node.start : node.start + node.count]]
    if own.dtype.kind == "f":
        node.values[: node.count] = own
        return _scan_random(node, limits)
    first, last, before = int(table.offsets[node.feature]), int(table.offsets[node.feature + 1]) - 1, node.best_worth
    values = numpy.asarray(table.values)[first + own.astype(numpy.int64)]
    node.values[: node.count] = numpy.where(own == table.missing[0, node.feature], numpy.nan, values)
    is_varied = _scan_random(node, limits)
    if node.best_worth > before:
        # The random threshold as a code: that of the greatest value below it.
        node.best_cut = code_order.find_last_below(table.values, first, last, node.best_threshold) - first
    return is_varied
