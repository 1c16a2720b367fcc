"""The uncompiled twin of ``lanes.pxd``: the same sums in the same order, hence the same bits."""

import numpy


def square(panels, panel, point, out):
    """Write the squared distance of `point` to each lane of a panel."""
    total = numpy.zeros(panels.shape[2])
    for j in range(panels.shape[1]):
        step = numpy.asarray(panels)[panel, j] - point[j]
        total = total + step * step
    out[:] = total


def lower(keys, start, values, bound):
    """Lower the keys from `start` on to `values`; return whether any is then below `bound`."""
    part = slice(start, start + values.shape[0])
    keys[part] = numpy.where(values < keys[part], values, keys[part])
    return bool((keys[part] < bound).any())


def cheaper(values, sizes, start, size, bound):
    """Return whether any Ward cost, value times n m / (n + m), may be below `bound`; n is `size`, m from `sizes`."""
    others = numpy.asarray(sizes)[start : start + values.shape[0]]
    with numpy.errstate(all="ignore"):
        # Without the division; the margin covers the rounding of both forms.
        return bool((values * (size * others) < bound * (1 + 1e-12) * (size + others)).any())
