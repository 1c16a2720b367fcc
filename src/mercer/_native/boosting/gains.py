"""The uncompiled twin of ``gains.pxd``: the same sums of whole numbers and the same formulas, hence the same bits."""

import numpy

__all__ = ["describe_cut", "search_column"]


def _parts(histogram, first, order):
    """Gradients and rests of some bins of a column."""
    places = 2 * (first + numpy.asarray(order, dtype=numpy.int64))
    return histogram[places], histogram[places + 1]


def _savings(histogram, first, order, start, node, limits, monotone, bounded, scales, shift):
    """What both children of each cut save, -1 where it is not allowed."""
    gradient, rest = (numpy.cumsum(part) + begin for part, begin in zip(_parts(histogram, first, order), start))
    g, h, c = gradient * scales[0], (rest >> shift) * scales[1], (rest & ((1 << shift) - 1)).astype(float)
    l2, lower, upper = limits[0], node[3], node[4]
    others = node[0] - g, node[1] - h
    with numpy.errstate(all="ignore"):
        found = g * g / (h + l2) + others[0] * others[0] / (others[1] + l2)
        allowed = (numpy.minimum(c, node[2] - c) >= limits[1]) & (numpy.minimum(h, others[1]) >= limits[2])
    if bounded:
        left, right = (numpy.clip(-x / (y + l2 + 1e-300), lower, upper) for x, y in ((g, h), others))
        allowed &= (left <= right) if monotone > 0 else (left >= right) if monotone < 0 else True
        found = sum(-v * (2.0 * x + (y + l2) * v) for v, x, y in ((left, g, h), (right, *others)))
    return numpy.where(allowed, found, -1.0)


def _sorted_categories(histogram, first, count, scales, shift, smoothing):
    gradient, rest = _parts(histogram, first, range(count))
    kept = numpy.flatnonzero((rest & ((1 << shift) - 1)) >= smoothing)
    keys = gradient[kept] * scales[0] / ((rest[kept] >> shift) * scales[1] + smoothing)
    return kept[numpy.argsort(keys, kind="stable")]


def search_column(
    histograms,
    slot,
    first,
    count,
    categorical,
    monotone,
    nodes,
    side,
    limits,
    bounded,
    units,
    shift,
    room,
    places,
    member,
    best,
    column,
):
    """The cut of a column that saves most: 4 times its bin, or the categories taken, plus its way; -1 if none does."""
    histogram, node, most, price = histograms[slot], nodes[side], nodes[side, 5], 0.0
    mask = (1 << shift) - 1
    missing = [int(histogram[2 * (first + count) + part]) for part in range(2)]
    if categorical:
        kept = _sorted_categories(histogram, first, count + 1, units, shift, limits[3])
        tries = [(kept[:-1], (0, 0), (len(kept) + 1) // 2, 2), (kept[::-1][:-1], (0, 0), len(kept) // 2, 3)]
        tries = tries if len(kept) > 1 else []
        price = limits[6] * max(len(kept) - 4, 0)
    elif missing[1] & mask:
        tries = [(range(count), (0, 0), count, 0), (range(count - 1), missing, count - 1, 1)]
    else:
        tries = [(range(count - 1), (0, 0), count - 1, 0)]
    chosen = -1
    most += price
    for bins, start, looked, way in tries:
        direction = 0 if categorical else monotone
        found = _savings(histogram, first, bins, start, node, limits, direction, bounded, units, shift)[:looked]
        if len(found) and found.max() > most:
            most = found.max()
            chosen = 4 * int(found.argmax()) + way
    best[side, column] = most - price
    return chosen


def describe_cut(
    histograms, slot, first, count, cut, rows, limits, units, shift, room, places, tables, numbers, node, place
):
    """Write which bins go left; and the bin, whether missing values go left, and the words of the left child."""
    histogram, goes_left = histograms[slot], tables[node]
    chosen, way = divmod(int(cut), 4)
    goes_left[:] = 0
    if way >= 2:
        kept = _sorted_categories(histogram, first, count + 1, units, shift, limits[3])
        goes_left[(kept if way == 2 else kept[::-1])[: chosen + 1]] = 1
    else:
        goes_left[: min(chosen + 1, count)] = 1
        goes_left[count] = way
    left = numpy.flatnonzero(goes_left[: count + 1])
    gradient, rest = (int(part.sum()) for part in _parts(histogram, first, left))
    if (int(histogram[2 * (first + count) + 1]) & ((1 << shift) - 1)) == 0:
        goes_left[count] = 1 if 2.0 * (rest & ((1 << shift) - 1)) > rows else 0
    numbers[node, place : place + 4] = chosen, goes_left[count], gradient, rest
