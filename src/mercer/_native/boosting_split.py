"""The best split of a node, from its histogram of whole numbers.

A node with gradient G and curvature H whose rows get the value v lowers the loss by -(G v + (H + l2) v^2 / 2), which is
G^2 / (H + l2) / 2 at v = -G / (H + l2). The gain of a split is twice what its children save beyond the node itself.
Among splits of one gain the lowest column and the lowest bin win.
"""

import cython

__all__ = ["find_split"]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _saved(gradient: cython.double, curvature: cython.double, l2: cython.double, value: cython.double) -> cython.double:
    return -value * (2.0 * gradient + (curvature + l2) * value)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _value(
    gradient: cython.double,
    curvature: cython.double,
    l2: cython.double,
    lower: cython.double,
    upper: cython.double,
) -> cython.double:
    value: cython.double = -gradient / (curvature + l2 + 1e-300)
    return min(max(value, lower), upper)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_bins(
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    order: cython.const[cython.int][::1],
    start_gradient: cython.longlong,
    start_rest: cython.longlong,
    scales: cython.const[cython.double][::1],
    shift: cython.int,
    sums: cython.double[:, ::1],
) -> cython.void:
    """Write running sums of gradient, curvature and rows over bins, in `order` if that is not empty."""
    b: cython.Py_ssize_t
    place: cython.Py_ssize_t
    gradient: cython.longlong = start_gradient
    rest: cython.longlong = start_rest
    mask: cython.longlong = (cython.cast(cython.longlong, 1) << shift) - 1
    for b in range(count):
        place = 2 * (first + (order[b] if order.shape[0] > 0 else b))
        gradient += histogram[place]
        rest += histogram[place + 1]
        sums[0, b] = cython.cast(cython.double, gradient) * scales[0]
        sums[1, b] = cython.cast(cython.double, rest >> shift) * scales[1]
        sums[2, b] = cython.cast(cython.double, rest & mask)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _judge(
    sums: cython.double[:, ::1],
    count: cython.Py_ssize_t,
    total: cython.const[cython.double][::1],
    limits: cython.const[cython.double][::1],
    monotone: cython.int,
    bounded: cython.int,
) -> cython.void:
    """Write what both children save, -1 where a split is not allowed.

    `total` has gradient, curvature and rows of the node; `limits` the l2 penalty, the fewest rows and the least
    curvature of a child, and the bounds of its value.
    """
    b: cython.Py_ssize_t
    g: cython.double
    h: cython.double
    c: cython.double
    left: cython.double
    right: cython.double
    l2: cython.double = limits[0]
    if bounded == 0:
        for b in range(count):
            g = sums[0, b]
            h = sums[1, b]
            c = sums[2, b]
            left = g * g / (h + l2)
            right = (total[0] - g) * (total[0] - g) / (total[1] - h + l2)
            c = min(c, total[2] - c)
            h = min(h, total[1] - h)
            sums[3, b] = left + right if (c >= limits[1]) & (h >= limits[2]) else -1.0
        return
    for b in range(count):
        g = sums[0, b]
        h = sums[1, b]
        c = min(sums[2, b], total[2] - sums[2, b])
        sums[3, b] = -1.0
        if c < limits[1] or min(h, total[1] - h) < limits[2]:
            continue
        left = _value(g, h, l2, limits[3], limits[4])
        right = _value(total[0] - g, total[1] - h, l2, limits[3], limits[4])
        if (monotone > 0 and left > right) or (monotone < 0 and left < right):
            continue
        sums[3, b] = _saved(g, h, l2, left) + _saved(total[0] - g, total[1] - h, l2, right)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_categories(
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    scales: cython.const[cython.double][::1],
    shift: cython.int,
    smoothing: cython.double,
    keys: cython.double[::1],
    order: cython.int[::1],
) -> cython.Py_ssize_t:
    """Sort the categories that hold enough rows by gradient over smoothed curvature; how many they are."""
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    key: cython.double
    mask: cython.longlong = (cython.cast(cython.longlong, 1) << shift) - 1
    for b in range(count):
        if cython.cast(cython.double, histogram[2 * (first + b) + 1] & mask) < smoothing:
            continue
        key = cython.cast(cython.double, histogram[2 * (first + b)]) * scales[0]
        key /= cython.cast(cython.double, histogram[2 * (first + b) + 1] >> shift) * scales[1] + smoothing
        k = found
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            order[k] = order[k - 1]
            k -= 1
        keys[k] = key
        order[k] = cython.cast(cython.int, b)
        found += 1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best(
    sums: cython.const[cython.double][:, ::1], count: cython.Py_ssize_t, best: cython.double[::1]
) -> cython.Py_ssize_t:
    """The first bin that saves more than the best so far, which is replaced; -1 if there is none."""
    b: cython.Py_ssize_t
    found: cython.Py_ssize_t = -1
    most: cython.double = best[0]
    for b in range(count):
        if sums[3, b] > most:
            most = sums[3, b]
            found = b
    best[0] = most
    return found


def find_split(
    histogram: cython.const[cython.longlong][::1],
    offsets: cython.const[cython.int][::1],
    allowed: cython.const[cython.uchar][::1],
    categorical: cython.const[cython.uchar][::1],
    monotone: cython.const[cython.int][::1],
    scales: cython.const[cython.double][::1],
    shift: cython.int,
    total: cython.const[cython.double][::1],
    limits: cython.const[cython.double][::1],
    bounded: cython.int,
    smoothing: cython.double,
    sums: cython.double[:, ::1],
    order: cython.int[::1],
    goes_left: cython.uchar[::1],
    best: cython.double[::1],
    places: cython.longlong[::1],
) -> None:
    """Find the split of a node that saves most.

    Parameters
    ----------
    histogram : flat, two words a bin
    offsets : (d + 1,): where the bins of a column begin; the last bin of a column is that of missing values
    allowed, categorical : (d,)
    monotone : (d,): 1 where values may only rise with the column, -1 where they may only fall, else 0
    scales, shift : what a unit of gradient and of curvature is worth, and the bits that count rows
    total, limits, bounded : as in _judge; bounded is 1 where values are clipped or compared
    smoothing : the fewest rows in a category that is placed by itself, and what is added to its curvature
    sums : (4, bins of the widest column), written
    order : (bins of the widest column,), written
    goes_left : (bins of the widest column,), written: which bins of the chosen column go left
    best : (1,): what a split must exceed; what the best one saves is written
    places : (5,), written: column or -1, bin or categories taken, whether missing values go left, and the words of
        the left child
    """
    d: cython.Py_ssize_t = allowed.shape[0]
    j: cython.Py_ssize_t
    b: cython.Py_ssize_t
    first: cython.Py_ssize_t
    count: cython.Py_ssize_t
    found: cython.Py_ssize_t
    chosen: cython.Py_ssize_t = -1
    chosen_bin: cython.Py_ssize_t = 0
    # How the left child is made: bins up to one (0), with the missing ones (1), categories from below (2) or above (3).
    way: cython.Py_ssize_t = 0
    gradient: cython.longlong
    rest: cython.longlong
    mask: cython.longlong = (cython.cast(cython.longlong, 1) << shift) - 1
    with cython.nogil:
        for j in range(d):
            if allowed[j] == 0:
                continue
            first = offsets[j]
            count = offsets[j + 1] - first - 1
            if categorical[j]:
                count = _sort_categories(histogram, first, count + 1, scales, shift, smoothing, sums[3], order)
                if count < 2:
                    continue
                _sum_bins(histogram, first, count - 1, order[:count], 0, 0, scales, shift, sums)
                _judge(sums, count - 1, total, limits, 0, bounded)
                found = _best(sums, (count + 1) // 2, best)
                if found >= 0:
                    chosen, chosen_bin, way = j, found, 2
                for b in range(count // 2):
                    order[b], order[count - 1 - b] = order[count - 1 - b], order[b]
                _sum_bins(histogram, first, count - 1, order[:count], 0, 0, scales, shift, sums)
                _judge(sums, count - 1, total, limits, 0, bounded)
                found = _best(sums, count // 2, best)
                if found >= 0:
                    chosen, chosen_bin, way = j, found, 3
                continue
            gradient = histogram[2 * (first + count)]
            rest = histogram[2 * (first + count) + 1]
            # Where nothing is missing, the last bin has nothing to its right.
            found = count if (rest & mask) > 0 else count - 1
            _sum_bins(histogram, first, found, order[:0], 0, 0, scales, shift, sums)
            _judge(sums, found, total, limits, monotone[j], bounded)
            found = _best(sums, found, best)
            if found >= 0:
                chosen, chosen_bin, way = j, found, 0
            if (rest & mask) > 0:
                _sum_bins(histogram, first, count - 1, order[:0], gradient, rest, scales, shift, sums)
                _judge(sums, count - 1, total, limits, monotone[j], bounded)
                found = _best(sums, count - 1, best)
                if found >= 0:
                    chosen, chosen_bin, way = j, found, 1
        places[0] = chosen
        if chosen >= 0:
            _describe(
                histogram,
                offsets[chosen],
                offsets[chosen + 1] - offsets[chosen] - 1,
                way,
                chosen_bin,
                scales,
                shift,
                total[2],
                smoothing,
                sums[3],
                order,
                goes_left,
                places,
            )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _describe(
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    way: cython.Py_ssize_t,
    chosen: cython.Py_ssize_t,
    scales: cython.const[cython.double][::1],
    shift: cython.int,
    rows: cython.double,
    smoothing: cython.double,
    keys: cython.double[::1],
    order: cython.int[::1],
    goes_left: cython.uchar[::1],
    places: cython.longlong[::1],
) -> cython.void:
    """Write which bins go left, and the words of the left child.

    Missing values of which the node has none go with the more rows.
    """
    b: cython.Py_ssize_t
    gradient: cython.longlong = 0
    rest: cython.longlong = 0
    kept: cython.Py_ssize_t
    mask: cython.longlong = (cython.cast(cython.longlong, 1) << shift) - 1
    for b in range(count + 1):
        goes_left[b] = 1 if way < 2 and b <= chosen and b < count else 0
    if way >= 2:
        kept = _sort_categories(histogram, first, count + 1, scales, shift, smoothing, keys, order)
        for b in range(chosen + 1):
            goes_left[order[b] if way == 2 else order[kept - 1 - b]] = 1
    elif way == 1:
        goes_left[count] = 1
    for b in range(count + 1):
        if goes_left[b]:
            gradient += histogram[2 * (first + b)]
            rest += histogram[2 * (first + b) + 1]
    if (histogram[2 * (first + count) + 1] & mask) == 0:
        goes_left[count] = 1 if 2.0 * cython.cast(cython.double, rest & mask) > rows else 0
    places[1] = chosen
    places[2] = goes_left[count]
    places[3] = gradient
    places[4] = rest
