"""Candidates for a working set: coefficients counted in bins of what moving them costs, then collected.

There are four lists: the coefficients of the first group (before `split`) to raise and to lower, then those of the
second group. `edges` (4, 2) holds, for each list, the cost where its bins begin and the number of bins in a unit of
cost. Counting in bins finds the cheapest few hundred of 100 000 candidates in two passes, without a sort of all.
"""

import cython

INFINITY = float("inf")


def find_bin(
    kind: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    slope: cython.const[cython.double][::1],
    rise: cython.const[cython.double][::1],
    fall: cython.const[cython.double][::1],
    edges: cython.const[cython.double][:, ::1],
    last: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the bin of coefficient `k` in list `kind`, at most `last`; -1 if it cannot move that way."""
    value: cython.double = slope[k] + rise[k] if kind % 2 == 0 else -(slope[k] + fall[k])
    if value == INFINITY:
        return -1
    value = (value - edges[kind, 0]) * edges[kind, 1]
    return cython.cast(cython.Py_ssize_t, value) if value < last else last


def count(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    split: cython.Py_ssize_t,
    slope: cython.const[cython.double][::1],
    rise: cython.const[cython.double][::1],
    fall: cython.const[cython.double][::1],
    edges: cython.const[cython.double][:, ::1],
    counts: cython.int[:, ::1],
) -> cython.void:
    """Add the coefficients from `first` to `last` to `counts` (4, bins)."""
    for k in range(first, last):
        for kind in range(2 if k >= split else 0, 4 if k >= split else 2):
            place = find_bin(kind, k, slope, rise, fall, edges, counts.shape[1] - 1)
            if place >= 0:
                counts[kind, place] += 1


def collect(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    split: cython.Py_ssize_t,
    slope: cython.const[cython.double][::1],
    rise: cython.const[cython.double][::1],
    fall: cython.const[cython.double][::1],
    edges: cython.const[cython.double][:, ::1],
    bins: cython.Py_ssize_t,
    cuts: cython.const[cython.Py_ssize_t][::1],
    listed: cython.Py_ssize_t[:, ::1],
    lengths: cython.Py_ssize_t[::1],
) -> cython.void:
    """Write the coefficients up to bin `cuts[kind]` of each list to `listed` (4, m), from column `first` on.

    `lengths` (4,) gets the number written to each list.
    """
    for kind in range(4):
        lengths[kind] = 0
    for k in range(first, last):
        for kind in range(2 if k >= split else 0, 4 if k >= split else 2):
            place = find_bin(kind, k, slope, rise, fall, edges, bins - 1)
            if 0 <= place <= cuts[kind]:
                listed[kind, first + lengths[kind]] = k
                lengths[kind] += 1
