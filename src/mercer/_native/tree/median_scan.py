"""The uncompiled twin of ``median_scan.pxd``: it sorts the targets of a side where the other keeps Fenwick trees."""

import numpy

from mercer._native.tree import code_order, impurity, split_scan


def _sum_distances(node, own, output):
    """Return the sum of w_i |y_i - median| over the rows `own`, and the median."""
    weight = numpy.asarray(node.own_weight)[own]
    amounts = numpy.asarray(node.own_amounts)[own, output]
    order = numpy.argsort(numpy.asarray(node.medians.places)[output, own], kind="stable")
    weight, amounts = weight[order], amounts[order]
    at = int(numpy.flatnonzero(2.0 * numpy.cumsum(weight) >= weight.sum())[0])
    median, below, sum_below = amounts[at] / weight[at], weight[:at].sum(), amounts[:at].sum()
    return (median * below - sum_below) + ((amounts.sum() - sum_below) - median * (weight.sum() - below)), median


def rank_targets(target, node, medians):
    """Rank the targets of a node, and return its worth without a split."""
    own = numpy.asarray(node.rows)[node.start : node.start + node.count]
    worth = 0.0
    for o, ranks in enumerate(numpy.asarray(target.ranks)):
        order = numpy.argsort(ranks[own], kind="stable")
        node.medians.places[o, order] = numpy.arange(node.count)
        worth -= _sum_distances(node, numpy.arange(node.count), o)[0]
    return worth


def _judge_medians(node, limits, is_left):
    """Judge the cut that has the rows with `is_left` on the left."""
    left, right = numpy.flatnonzero(is_left), numpy.flatnonzero(~is_left)
    weights = [numpy.asarray(node.own_weight)[side].sum() for side in (left, right)]
    worth = 0.0
    # The worth of a cut is minus the summed absolute deviations from the medians of both sides.
    for o in range(len(node.medians.places)):
        distance, high = _sum_distances(node, right, o)
        worth -= distance
        distance, low = _sum_distances(node, left, o)
        worth -= distance
    # Monotone constraints compare means of the sides: the medians stand in for them.
    node.left[0] = low * weights[0]
    node.total[0] = high * weights[1] + node.left[0]
    if impurity.may_split(node, limits, weights[0], len(left)):
        impurity.keep_better(node, worth)


def _scan_medians(node, limits, known, only, only_side):
    """Try every cut between the `known` ordered keys, with the missing rows right and then left.

    Unless `only` is negative, the cut after that code is the only one tried, with the missing rows on `only_side`.
    """
    places = numpy.array([code_order.read_place(key) for key in node.keys[0, : node.count]])
    codes = numpy.asarray(node.keys[0, :known]) >> 32
    # Missing rows are tried on the right and then on the left; without any there is one way.
    for side in range(2 if known < node.count else 1):
        if only >= 0 and known < node.count and side != only_side:
            continue
        node.side = side if known < node.count else 2
        cuts = numpy.unique(codes)
        # With missing rows on the right even the cut after the last known code divides something.
        cuts = cuts if known < node.count and side == 0 else cuts[:-1]
        for cut in cuts if only < 0 else cuts[cuts <= only][-1:]:
            is_left = numpy.full(node.count, side == 1)
            is_left[places[:known]] = codes <= cut
            node.cut = int(cut)
            _judge_medians(node, limits, is_left)


def scan_median_cuts(codes, table, limits, node, medians):
    """Try every cut by one column, or one drawn at random, judged by medians; return whether the codes vary."""
    known, before = split_scan.gather_node(codes, table, node), node.best_worth
    if known < 0:
        return False
    threshold, only, side = 0.0, -1, 0
    if limits.is_random:
        offset = int(table.offsets[node.feature])
        # The drawn threshold lies between the least and greatest value of the node; codes stand for sorted values.
        first, last = offset + int(node.keys[2, 0]), offset + int(node.keys[2, 1])
        threshold = code_order.draw_threshold(node.seed, node.feature, table.values[first], table.values[last])
        only = code_order.find_last_below(table.values, first, last, threshold) - offset
        side = code_order.draw_side(node.seed, node.feature) if first < last else 0
    code_order.order_keys(node.keys[0], node.keys[1], known, node.keys[2, 0], node.keys[2, 1])
    _scan_medians(node, limits, known, only, side)
    if node.best_worth > before:
        node.best_threshold = threshold
    return True
