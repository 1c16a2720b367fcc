"""Passes over the coefficients of a dual program, over rows of its kernel matrix, and heaps of candidates."""

import cython

from mercer._native.dual import pair_steps

real = cython.fused_type(cython.float, cython.double)
INFINITY = float("inf")


def mark(
    b: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    kink: cython.double,
    slope: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    split: cython.Py_ssize_t,
    rise: cython.double[::1],
    fall: cython.double[::1],
    ends: cython.double[::1],
) -> cython.void:
    """Write `rise` and `fall`, what is added to slopes when coefficients rise and fall, from `first` to `last`.

    `ends` (4,) gets the least cost of raising and the greatest gain of lowering a coefficient, of the first group
    (below `split`) and of the second.
    """
    middle = max(first, min(split, last))
    for group in range(2):
        least = INFINITY
        most = -INFINITY
        for k in range(middle if group else first, last if group else middle):
            pair_steps.mark(k, b, lower, upper, kink, rise, fall)
            cost = slope[k] + rise[k]
            gain = slope[k] + fall[k]
            least = cost if cost < least else least
            most = gain if gain > most else most
        ends[2 * group] = least
        ends[2 * group + 1] = most


def add(
    table: cython.const[real][:, ::1],
    slots: cython.const[cython.Py_ssize_t][::1],
    change: cython.const[cython.double][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    slope: cython.double[::1],
) -> cython.void:
    """Add the rows `slots[begin:end]` of `table`, each times its change, to `slope`, in columns `first` to `last`."""
    whole: cython.Py_ssize_t = end - (end - begin) % 4
    for r in range(begin, whole, 4):
        a = slots[r]
        b = slots[r + 1]
        c = slots[r + 2]
        d = slots[r + 3]
        p = change[r]
        s = change[r + 1]
        t = change[r + 2]
        u = change[r + 3]
        for k in range(first, last):
            slope[k] += (p * table[a, k] + s * table[b, k]) + (t * table[c, k] + u * table[d, k])
    for r in range(whole, end):
        a = slots[r]
        p = change[r]
        for k in range(first, last):
            slope[k] += p * table[a, k]


def mirror(
    K: real[:, ::1],
    top: cython.Py_ssize_t,
    bottom: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
) -> cython.void:
    """Copy a block of `K` to its mirror image, in tiles of 16 x 16.

    Each cache line of a tile is read once and written once. Where rows have a power of two of columns, the lines of one
    column share their places in the cache, which holds fewer than sixteen of them.
    """
    tile = cython.declare(cython.double[256])
    for column in range(left, right, 16):
        wide = min(16, right - column)
        for row in range(top, bottom, 16):
            high = min(16, bottom - row)
            for i in range(high):
                for j in range(wide):
                    tile[16 * i + j] = K[row + i, column + j]
            for j in range(wide):
                for i in range(high):
                    K[column + j, row + i] = tile[16 * i + j]


def sink(
    values: cython.double[::1],
    places: cython.Py_ssize_t[::1],
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    value: cython.double,
    place: cython.Py_ssize_t,
) -> cython.void:
    """Put a value at node `at` of a heap of `end` values, greatest on top, and move it down below greater ones."""
    child: cython.Py_ssize_t = 2 * at + 1
    while child < end:
        if child + 1 < end and (
            values[child + 1] > values[child]
            or (values[child + 1] == values[child] and places[child + 1] > places[child])
        ):
            child += 1
        if value > values[child] or (value == values[child] and place > places[child]):
            break
        values[at] = values[child]
        places[at] = places[child]
        at = child
        child = 2 * at + 1
    values[at] = value
    places[at] = place


def heap(values: cython.double[::1], places: cython.Py_ssize_t[::1], count: cython.Py_ssize_t) -> cython.void:
    """Make a heap of the first `count` values."""
    for k in range(count // 2 - 1, -1, -1):
        sink(values, places, k, count, values[k], places[k])


def sort_heap(values: cython.double[::1], places: cython.Py_ssize_t[::1], count: cython.Py_ssize_t) -> cython.void:
    """Sort a heap in rising order of value, then of place."""
    for k in range(count - 1, 0, -1):
        value = values[k]
        place = places[k]
        values[k] = values[0]
        places[k] = places[0]
        sink(values, places, 0, k, value, place)
