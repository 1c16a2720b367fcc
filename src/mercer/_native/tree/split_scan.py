"""The uncompiled twin of ``split_scan.pxd``."""

import numpy

from mercer._native.tree import code_order, impurity

__all__ = ["gather_few", "order_more", "scan_cells", "scan_few", "scan_keys", "scan_single_cells", "scan_single_keys"]


def _judge_runs(runs, first, known, count, total, left, place, settings, bounds, best):
    """Judge the cuts after each run of one code: (code, rows, weight, sums), with `first` already on the left."""
    rows, left_weight = first[0], first[1]
    left[:] = first[2]
    for cut, number, weight, sums in runs:
        rows, left_weight = rows + number, left_weight + weight
        left[:] = numpy.asarray(left) + sums
        if rows == count:
            return
        place[2], place[5] = cut, settings[8]
        impurity.judge(left, total, left_weight, rows, count, place, settings, bounds, best)


def _runs(keys, known, slots, amounts, weight, n_slots):
    """Rows of one code summed, in the order of codes."""
    found = {}
    for key in keys[:known]:
        p = code_order.place_of(key)
        run = found.setdefault(int(key) >> 32, [0, 0.0, numpy.zeros(n_slots)])
        run[0], run[1] = run[0] + 1, run[1] + weight[p]
        numpy.add.at(run[2], numpy.asarray(slots[p]), numpy.asarray(amounts[p]))
    return [(cut, *found[cut]) for cut in sorted(found)]


def scan_keys(keys, known, count, slots, amounts, weight, total, left, place, settings, bounds, best):
    """Try every cut between rows in the order of their codes, with the missing ones right and then left."""
    runs = _runs(keys, known, slots, amounts, weight, len(total))
    missing = [0, 0.0, numpy.zeros(len(total))]
    for key in keys[known:count]:
        p = code_order.place_of(key)
        missing[0], missing[1] = missing[0] + 1, missing[1] + weight[p]
        numpy.add.at(missing[2], numpy.asarray(slots[p]), numpy.asarray(amounts[p]))
    nothing = (0, 0.0, numpy.zeros(len(total)))
    for side in range(2 if known < count else 1):
        place[3] = side if known < count else 2
        first = missing if side else nothing
        _judge_runs(runs, first, known, count, total, left, place, settings, bounds, best)


def scan_cells(keys, known, count, least, span, slots, amounts, weight, total, left, cells, *limits):
    """As :func:`scan_keys`: sums are exact, so that their order is all the same."""
    scan_keys(keys, known, count, slots, amounts, weight, total, left, *limits)


def _scan_single(codes, count, quads, total, left, place, settings, bounds, best):
    codes, quads = numpy.asarray(codes), numpy.asarray(quads)[:count]
    runs = [(c, (codes == c).sum(), *quads[codes == c, 1:3].sum(axis=0)) for c in numpy.unique(codes)]
    _judge_runs(runs, (0, 0.0, 0.0), count, count, total, left, place, settings, bounds, best)


def scan_single_keys(keys, count, quads, total, left, place, settings, bounds, best):
    """As :func:`scan_keys` where there is a single sum, squared, and nothing missing."""
    codes = numpy.empty(count, numpy.int64)
    codes[numpy.asarray(keys[:count]) & 0xFFFFFFFF] = numpy.asarray(keys[:count]) >> 32
    _scan_single(codes, count, quads, total, left, place, settings, bounds, best)


def gather_few(codes, matrix, feature, rows, start, count, few):
    """Write the codes of a few rows to the first row of `few`; whether they vary."""
    few[0, :count] = numpy.asarray(codes)[feature, numpy.asarray(rows)[start : start + count]]
    return bool((few[0, :count] != few[0, 0]).any())


def order_more(few, count, keys, spare):
    """Sort keys of the codes in the first row of `few`, where there are too many for counting."""
    keys[:count] = numpy.sort((numpy.asarray(few[0, :count]).astype(numpy.int64) << 32) + numpy.arange(count))


def scan_few(few, pairs, count, quads, total, left, place, settings, bounds, best):
    """As :func:`scan_single_keys` for a few rows, whose codes are in the first row of `few`."""
    _scan_single(few[0, :count], count, quads, total, left, place, settings, bounds, best)


def scan_single_cells(coarse, coarse_matrix, feature, rows, start, count, quads, total, left, cells, *limits):
    """As :func:`scan_cells` where there is a single sum, squared, and nothing missing; whether the codes vary."""
    codes = numpy.asarray(coarse)[feature, numpy.asarray(rows)[start : start + count]]
    _scan_single(codes, count, quads, total, left, *limits)
    return bool((codes != codes[0]).any())
