"""Random orders of rows from a seed and a number, drawn in native code: an epoch over few rows is shorter than NumPy's.

The hash `mix` of 32 bits maps consecutive counters to numbers that look independent; it was found by a search for low
bias (C. Wellons, 2018). Only 32 bits of each word count, so that uncompiled Python gives the same orders.
"""

import cython

# Multipliers of the hash, both odd and below 2^31.
FACTOR = 0x7FEB352D
SECOND_FACTOR = 0x5846CA6B


def mix(x: cython.ulonglong) -> cython.ulonglong:
    """Return a pseudorandom integer below 2^32 that depends on the lower 32 bits of `x` alone."""
    low: cython.ulonglong = 0xFFFFFFFF
    x = x & low
    x = x ^ (x >> 16)
    x = (x * FACTOR) & low
    x = x ^ (x >> 15)
    x = (x * SECOND_FACTOR) & low
    return x ^ (x >> 16)


def draw_below(
    first: cython.ulonglong, second: cython.ulonglong, counter: cython.ulonglong, limit: cython.ulonglong
) -> cython.Py_ssize_t:
    """Return an integer below `limit` that the two words of a key and a counter determine."""
    # 2^32 divided by the golden ratio spreads consecutive counters over all words.
    golden: cython.ulonglong = 0x9E3779B9
    # Scaling a number of 32 bits prefers some values by a factor of at most 1 + limit / 2^32, 1.0005 for 2^21 rows.
    return (mix(mix(first + golden * (counter + 1)) ^ second) * limit) >> 32


def shuffle_rows(
    rows: cython.const[cython.Py_ssize_t][::1],
    order: cython.Py_ssize_t[::1],
    first: cython.ulonglong,
    second: cython.ulonglong,
) -> cython.void:
    """Write `rows` to `order` in a random order (Fisher and Yates), determined by the two words of a key."""
    n: cython.Py_ssize_t = rows.shape[0]
    # The inside-out form: the row at a random place before i moves to place i, and the next row takes its place.
    for i in range(n):
        j = draw_below(first, second, i, i + 1)
        order[i] = order[j]
        order[j] = rows[i]
