"""The rows of a node sorted by their codes in one column, and the random draws of a node.

A key is code 2^32 + i for row i of the node: keys are distinct, and sorting them sorts the rows stably by code.
"""

import cython

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)


def gather_keys(
    codes: cython.const[code][:, ::1],
    feature: cython.Py_ssize_t,
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    missing: cython.longlong,
    keys: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """Write a key for each row from `start` to `stop` to ``keys[0]``, known values first; return the number of these.

    ``keys[2]`` receives the least and the greatest known code.
    """
    # Keys of known values fill ``keys[0, :known]``, those of missing values ``keys[0, unknown:]``; they meet.
    known: cython.Py_ssize_t = 0
    unknown: cython.Py_ssize_t = stop - start
    least: cython.longlong = 1099511627776
    greatest: cython.longlong = -1
    for i in range(start, stop):
        value = cython.cast(cython.longlong, codes[feature, rows[i]])
        if value == missing:
            unknown -= 1
            keys[0, unknown] = (value << 32) + (i - start)
            continue
        least = value if value < least else least
        greatest = value if value > greatest else greatest
        keys[0, known] = (value << 32) + (i - start)
        known += 1
    keys[2, 0] = least
    keys[2, 1] = greatest
    return known


def read_place(key: cython.longlong) -> cython.Py_ssize_t:
    """Return the index in its node of the row that `key` stands for."""
    return key & 0xFFFFFFFF


def mix(x: cython.longlong) -> cython.longlong:
    """Return a pseudorandom integer below 2^32 that depends on `x` alone; the products stay below 2^63."""
    x = x & 0xFFFFFFFF
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x = x ^ (x >> 15)
    x = (x * 0x5846CA6B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def draw_feature(order: cython.int[::1], number: cython.Py_ssize_t, seed: cython.longlong) -> cython.int:
    """Return feature `number` of a random order: one step of a Fisher-Yates shuffle of `order`.

    ``order[:number]`` are the features drawn before, and a feature drawn is swapped into ``order[number]``.
    """
    step: cython.longlong = 0x9E3779B9
    other: cython.Py_ssize_t = number + mix(seed + step * (number + 1)) % (order.shape[0] - number)
    feature: cython.int = order[other]
    order[other] = order[number]
    order[number] = feature
    return feature


def restore_features(order: cython.int[::1], drawn: cython.Py_ssize_t, seed: cython.longlong) -> cython.void:
    """Undo the `drawn` swaps that :func:`draw_feature` has made in `order` with this seed, the last one first.

    To copy all features for each node would take longer than the search where a few of thousands are drawn.
    """
    step: cython.longlong = 0x9E3779B9
    number: cython.Py_ssize_t = drawn
    while number > 0:
        number -= 1
        other: cython.Py_ssize_t = number + mix(seed + step * (number + 1)) % (order.shape[0] - number)
        feature: cython.int = order[other]
        order[other] = order[number]
        order[number] = feature


def draw_threshold(
    seed: cython.longlong, feature: cython.Py_ssize_t, low: cython.double, high: cython.double
) -> cython.double:
    """Return a pseudorandom threshold, uniform on [`low`, `high`); `low` where the two are equal."""
    share: cython.double = mix(seed + 7919 * (feature + 1)) / 4294967296.0
    value: cython.double = low * (1.0 - share) + high * share
    # Rounding may reach `high`, and then no row would go right.
    return low if value >= high or value < low else value


def draw_side(seed: cython.longlong, feature: cython.Py_ssize_t) -> cython.int:
    """Return the side, 0 right or 1 left, that missing rows take at a random cut."""
    return mix(seed + 104729 * (feature + 1)) & 1


def find_last_below(
    table: cython.const[cython.double][::1], first: cython.Py_ssize_t, last: cython.Py_ssize_t, value: cython.double
) -> cython.Py_ssize_t:
    """Return the last index i from `first` to `last` with ``table[i] <= value``; it must hold at `first`."""
    # The answer is always in [first, last].
    while first < last:
        middle = (first + last + 1) // 2
        if table[middle] <= value:
            first = middle
        else:
            last = middle - 1
    return first
