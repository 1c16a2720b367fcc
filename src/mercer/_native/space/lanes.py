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


def find_nearest(panel, points, nearest, least, second):
    """Write the nearest of `points` to each lane, among equals the lowest, and the two least squared distances."""
    squares = numpy.empty((points.shape[0], panel.shape[1]))
    with numpy.errstate(all="ignore"):
        for q in range(points.shape[0]):
            # Eight running sums and their tree, as inline.distance_squared has them.
            part = numpy.zeros((8, panel.shape[1]))
            for j in range(panel.shape[0]):
                step = numpy.asarray(panel)[j] - points[q, j]
                part[j % 8] += step * step
            four = part[:4] + part[4:]
            squares[q] = (four[0] + four[2]) + (four[1] + four[3])
    nearest[:], least[:], second[:] = 0, squares[0], numpy.inf
    for q in range(1, points.shape[0]):
        less = squares[q] < least
        other = numpy.where(less, least, squares[q])
        nearest[:] = numpy.where(less, q, nearest)
        least[:] = numpy.where(less, squares[q], least)
        second[:] = numpy.where(other < second, other, second)
