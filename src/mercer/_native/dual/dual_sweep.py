"""The uncompiled twin of ``dual_sweep.pxd``: the same operations, hence the same bits."""

import numpy


def mark(b, lower, upper, kink, slope, first, last, split, rise, fall, ends):
    """Write `rise` and `fall` of coefficients from `first` to `last`, and cost and gain bounds to `ends`."""
    middle = max(first, min(split, last))
    for group, part in enumerate((slice(first, middle), slice(middle, last))):
        rise[part] = numpy.where(b[part] >= upper[part], numpy.inf, numpy.where(b[part] >= 0.0, kink, -kink))
        fall[part] = numpy.where(b[part] <= lower[part], -numpy.inf, numpy.where(b[part] > 0.0, kink, -kink))
        ends[2 * group] = numpy.min(slope[part] + rise[part], initial=numpy.inf)
        ends[2 * group + 1] = numpy.max(slope[part] + fall[part], initial=-numpy.inf)


def _lane_sum(terms):
    """Return the sum of terms in eight lanes, which are added in pairs."""
    lanes = numpy.zeros(8)
    for start in range(0, len(terms), 8):
        lanes[: len(terms) - start] += terms[start : start + 8]
    a, b, c, d, e, f, g, h = lanes
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


def measure(b, slope, lower, upper, kink, first, last, found):
    """Write the greatest gain, the least cost, the sum of costs that are gains too, and their number."""
    b, slope, lower, upper = (one[first:last] for one in (b, slope, lower, upper))
    gain = numpy.where(b > lower, slope + numpy.where(b > 0.0, kink, -kink), -numpy.inf)
    cost = numpy.where(b < upper, slope + numpy.where(b >= 0.0, kink, -kink), numpy.inf)
    found[0], found[1] = numpy.max(gain, initial=-numpy.inf), numpy.min(cost, initial=numpy.inf)
    found[2], found[3] = _lane_sum(numpy.where(gain == cost, cost, 0.0)), numpy.sum(gain == cost)


def gap(b, slope, lower, upper, kink, offset, first, last):
    """Return the sum of b (slope - c) + kink |b| less the least of v (slope - c) + kink |v| over each row's box."""
    b, slope, lower, upper = (one[first:last] for one in (b, slope, lower, upper))
    excess = slope - offset
    with numpy.errstate(invalid="ignore"):
        low, high = (end * (excess + numpy.where(end > 0.0, kink, -kink)) for end in (lower, upper))
        least = numpy.where(high < low, high, low)
        # The least over a box lies at one of its ends or, within it, at the kink, where the value is zero.
        least = numpy.where((lower < 0.0) & (upper > 0.0) & (least > 0.0), 0.0, least)
        # Infinite bounds times zero: rows whose slope vanishes have the least value zero.
        least = numpy.where(numpy.isnan(low) | numpy.isnan(high), 0.0, least)
    return float(_lane_sum((b * excess + kink * abs(b)) - least))


def value(b, slope, linear, kink):
    """Return the sum of b (slope + linear) / 2 + kink |b|."""
    return float(_lane_sum(0.5 * b * (slope + linear) + kink * abs(b)))


def add(table, slots, change, begin, end, first, last, slope):
    """Add rows `slots[begin:end]` of `table`, each times its change, to `slope`, in columns from `first` to `last`."""
    part, change = slice(first, last), change[begin:end]
    rows, whole = table[slots[begin:end], part].astype(numpy.float64), len(change) - len(change) % 4
    for r in range(0, whole, 4):
        (a, b, c, d), (p, s, t, u) = rows[r : r + 4], change[r : r + 4]
        # Four rows at a time, in the order of additions of the compiled twin.
        slope[part] += (p * a + s * b) + (t * c + u * d)
    for r in range(whole, len(change)):
        slope[part] += change[r] * rows[r]


def mirror(K, top, bottom, left, right):
    """Copy a block of `K` to its mirror image."""
    K[left:right, top:bottom] = K[top:bottom, left:right].T


def sink(values, places, at, end, value, place):
    """Put a value at node `at` of a heap of `end` values, greatest on top, and move it down below greater ones."""
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and (values[child + 1], places[child + 1]) > (values[child], places[child]):
            child += 1
        if (value, place) > (values[child], places[child]):
            break
        values[at], places[at] = values[child], places[child]
        at = child
        child = 2 * at + 1
    values[at], places[at] = value, place


def heap(values, places, count):
    """Make a heap of the first `count` values."""
    for k in range(count // 2 - 1, -1, -1):
        sink(values, places, k, count, values[k], places[k])


def sort_heap(values, places, count):
    """Sort a heap in rising order of value, then of place."""
    for k in range(count - 1, 0, -1):
        value, place = values[k], places[k]
        values[k], places[k] = values[0], places[0]
        sink(values, places, 0, k, value, place)
