"""The uncompiled twin of ``code_order.pxd``."""

import numpy

__all__ = ["drawn", "drawn_threshold", "gather_keys", "last_below", "mixed", "order_keys", "place_of"]


def gather_keys(codes, feature, rows, start, stop, missing, keys, span):
    """Write a key for each row from `start` to `stop`, known values first; return how many are known."""
    values = numpy.asarray(codes)[feature, numpy.asarray(rows)[start:stop]].astype(numpy.int64)
    found = (values << 32) + numpy.arange(len(values))
    known = values != missing
    n_known = int(known.sum())
    keys[:n_known] = found[known]
    keys[n_known : len(values)] = found[~known][::-1]
    span[0] = values[known].min(initial=1 << 40)
    span[1] = values[known].max(initial=-1)
    return n_known


def order_keys(keys, spare, n, least, greatest):
    """Sort the first n keys."""
    keys[:n] = numpy.sort(keys[:n])


def place_of(key):
    """The place in its node of the row that a key stands for."""
    return int(key) & 0xFFFFFFFF


def mixed(x):
    """A number below 2^32 made of another, as if at random."""
    x = int(x) & 0xFFFFFFFF
    x ^= x >> 16
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 0x5846CA6B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def drawn(order, number, seed):
    """The feature that comes at a place of a random order; `order` holds those that came before, and then the rest."""
    other = number + mixed(int(seed) + 0x9E3779B9 * (number + 1)) % (len(order) - number)
    order[number], order[other] = order[other], order[number]
    return int(order[number])


def drawn_threshold(seed, feature, low, high):
    """A number from `low` on and below `high`, as if drawn evenly."""
    share = mixed(int(seed) + 7919 * (int(feature) + 1)) / 4294967296.0
    value = low * (1.0 - share) + high * share
    return low if value >= high or value < low else value


def last_below(table, first, last, value):
    """The last place from `first` to `last` whose number is at most `value`; the first one always is."""
    return int(first) + max(int(numpy.searchsorted(table[first : last + 1], value, side="right")) - 1, 0)
