"""The uncompiled twin of ``code_order.pxd``."""

import numpy


def gather_keys(codes, feature, rows, start, stop, missing, keys, span):
    """Write a key for each row from `start` to `stop`, those of known values first; return the number of these."""
    values = numpy.asarray(codes)[feature, numpy.asarray(rows)[start:stop]].astype(numpy.int64)
    # Code above, place within the node below: sorting keys sorts by code and keeps the order of rows.
    found = (values << 32) + numpy.arange(len(values))
    known = values != missing
    n_known = int(known.sum())
    keys[:n_known] = found[known]
    # Missing rows fill the end from behind.
    keys[n_known : len(values)] = found[~known][::-1]
    # Beyond all codes where no value is known.
    span[0] = values[known].min(initial=1 << 40)
    span[1] = values[known].max(initial=-1)
    return n_known


def order_keys(keys, spare, n, least, greatest):
    """Sort the first n keys."""
    keys[:n] = numpy.sort(keys[:n])


def read_place(key):
    """Return the index in its node of the row that `key` stands for."""
    return int(key) & 0xFFFFFFFF


def mix(x):
    """Return a pseudorandom integer below 2^32 that depends on `x` alone."""
    x = int(x) & 0xFFFFFFFF
    x ^= x >> 16
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 0x5846CA6B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def draw_feature(order, number, seed):
    """Return feature `number` of a random order: one step of a Fisher-Yates shuffle of `order`."""
    other = number + mix(int(seed) + 0x9E3779B9 * (number + 1)) % (len(order) - number)
    order[number], order[other] = order[other], order[number]
    return int(order[number])


def draw_threshold(seed, feature, low, high):
    """Return a pseudorandom threshold, uniform on [`low`, `high`); `low` where the two are equal."""
    share = mix(int(seed) + 7919 * (int(feature) + 1)) / 4294967296.0
    value = low * (1.0 - share) + high * share
    return low if value >= high or value < low else value


def draw_side(seed, feature):
    """Return the side, 0 right or 1 left, that missing rows take at a random cut."""
    return mix(int(seed) + 104729 * (int(feature) + 1)) & 1


def find_last_below(table, first, last, value):
    """Return the last index i from `first` to `last` with ``table[i] <= value``; it must hold at `first`."""
    return int(first) + max(int(numpy.searchsorted(table[first : last + 1], value, side="right")) - 1, 0)
