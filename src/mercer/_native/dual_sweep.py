"""The uncompiled twin of ``dual_sweep.pxd``: the same operations, hence the same bits."""

import numpy

__all__ = ["add", "mark", "mirror"]


def mark(b, lower, upper, kink, slope, first, last, split, rise, fall, ends):
    """Write what is added to slopes when coefficients from `first` to `last` rise and fall, and the ends they reach."""
    middle = max(first, min(split, last))
    for group, part in enumerate((slice(first, middle), slice(middle, last))):
        rise[part] = numpy.where(b[part] >= upper[part], numpy.inf, numpy.where(b[part] >= 0.0, kink, -kink))
        fall[part] = numpy.where(b[part] <= lower[part], -numpy.inf, numpy.where(b[part] > 0.0, kink, -kink))
        ends[2 * group] = numpy.min(slope[part] + rise[part], initial=numpy.inf)
        ends[2 * group + 1] = numpy.max(slope[part] + fall[part], initial=-numpy.inf)


def add(table, slots, change, first, last, slope):
    """Add the rows of `table` in `slots`, each times its change, to `slope`, in columns from `first` to `last`."""
    part = slice(first, last)
    rows, whole = table[slots, part].astype(numpy.float64), len(slots) - len(slots) % 4
    for r in range(0, whole, 4):
        (a, b, c, d), (p, s, t, u) = rows[r : r + 4], change[r : r + 4]
        slope[part] += (p * a + s * b) + (t * c + u * d)
    for r in range(whole, len(slots)):
        slope[part] += change[r] * rows[r]


def mirror(K, top, bottom, left, right):
    """Copy a block of `K` to its mirror image."""
    K[left:right, top:bottom] = K[top:bottom, left:right].T
