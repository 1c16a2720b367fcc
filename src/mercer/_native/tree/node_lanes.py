"""The uncompiled twin of ``node_lanes.pxd``."""

import numpy


def order_keys(keys, n, least, greatest):
    """Sort the first n keys of ``keys[0]``."""
    keys[0, :n] = numpy.sort(keys[0, :n])


def order_few(few, quads, first, n, pairs):
    """Sort the first n codes of ``few[0]`` into ``few[1]``, and write weight and amount of each row to `pairs`."""
    order = numpy.argsort(few[0, :n], kind="stable")
    few[1, :n] = few[0, order]
    pairs[0 : 2 * n : 2], pairs[1 : 2 * n : 2] = quads["weight"][first + order], quads["amount"][first + order]


def sum_by_code(codes, feature, by_rows, rows, start, n, quads, first, cells):
    """Sum the quads of n rows by their codes into `cells`."""
    own = (codes[:, feature] if by_rows else codes[feature])[rows[start : start + n]]
    for place, name in enumerate(("one", "weight", "amount", "target")):
        cells[place:1024:4] = numpy.bincount(own, quads[name][first : first + n], 256)


def find_range(values, n, ends):
    """Write the least and the greatest of the first n values to `ends`; return the number of NaN among them."""
    known = values[:n][values[:n] == values[:n]]
    ends[0], ends[1] = known.min(initial=numpy.inf), known.max(initial=-numpy.inf)
    return n - len(known)


def sum_quads(values, n, threshold, quads, first, sums):
    """Write to `sums` the sum of the quads from `first` on whose values are at most `threshold`."""
    left = first + numpy.flatnonzero(values[:n] <= threshold)
    sums[:4] = [quads[name][left].sum() for name in ("one", "weight", "amount", "target")]


def sum_steps(codes, feature, rows, start, n, quads, first, shift, steps, d):
    """Sum weight and amount of n rows by the steps of the d columns from `feature` on."""
    count = 256 >> shift
    for k in range(d):
        own = codes[rows[start : start + n], feature + k] >> shift
        for place, name in enumerate(("weight", "amount")):
            cells = slice(2 * count * k + place, 2 * count * (k + 1), 2)
            steps[cells] = numpy.bincount(own, quads[name][first : first + n], count)


def add_up(steps, cells, n, weights, sums):
    """Write the weight and the sum before each of n steps, whose cells begin at `cells`, and after the last."""
    for place, total in enumerate((weights, sums)):
        steps[total] = 0.0
        steps[total + 1 : total + n + 1] = numpy.cumsum(steps[cells + place : cells + 2 * n : 2])


def has_better(steps, weights, sums, n, bound):
    """Return whether a cut between steps may be worth more than `bound`."""
    w, s = steps[weights + 1 : weights + n], steps[sums + 1 : sums + n]
    v, r = steps[weights + n] - w, steps[sums + n] - s
    return bool((s * s * v + r * r * w > bound * (w * v)).any())


def mark_steps(steps, weights, sums, n, bound, low, high, marks):
    """Mark the steps with rows inside which a cut may be worth `bound` or more; return whether there are any."""
    before, totals = steps[weights : weights + n], steps[sums : sums + n]
    weight, sum = numpy.diff(steps[weights : weights + n + 1]), numpy.diff(steps[sums : sums + n + 1])
    p = (sum - low * weight) / (high - low)
    marks[:n] = 0
    for extra, ratio in ((p, high), (weight - p, low)):
        w, s = before + extra, totals + ratio * extra
        v, r = steps[weights + n] - w, steps[sums + n] - s
        marks[:n] |= (s * s * v + r * r * w >= bound * (w * v)) & (weight > 0.0)
    return bool(marks[:n].any())


def list_marked(codes, feature, rows, start, n, shift, marks, keys):
    """Write the places of the rows in marked steps to ``keys[0]``; return their number."""
    places = numpy.flatnonzero(marks[codes[rows[start : start + n], feature] >> shift])
    keys[0, : len(places)] = places
    return len(places)
