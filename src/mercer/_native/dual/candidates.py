"""The uncompiled twin of ``candidates.pxd``."""

import numpy

__all__ = ["collect", "count", "place"]


def place(kind, k, slope, rise, fall, edges, last):
    """The bin of a coefficient in a list, at most `last`; -1 if it cannot move that way."""
    value = slope[k] + rise[k] if kind % 2 == 0 else -(slope[k] + fall[k])
    if value == numpy.inf:
        return -1
    value = (value - edges[kind, 0]) * edges[kind, 1]
    return int(value) if value < last else last


def count(first, last, split, slope, rise, fall, edges, counts):
    """Add the coefficients from `first` to `last` to the counts (4, bins)."""
    for k in range(first, last):
        for kind in range(2 if k >= split else 0, 4 if k >= split else 2):
            found = place(kind, k, slope, rise, fall, edges, counts.shape[1] - 1)
            if found >= 0:
                counts[kind, found] += 1


def collect(first, last, split, slope, rise, fall, edges, bins, cuts, found, lengths):
    """Write those up to the bin `cuts` (4,) of each list to `found` (4, m), from `first` on, and their numbers."""
    lengths[:] = 0
    for k in range(first, last):
        for kind in range(2 if k >= split else 0, 4 if k >= split else 2):
            if 0 <= place(kind, k, slope, rise, fall, edges, bins - 1) <= cuts[kind]:
                found[kind, first + lengths[kind]] = k
                lengths[kind] += 1
