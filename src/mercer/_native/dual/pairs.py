"""The uncompiled twin of ``pairs.pxd``: the same operations and the same choices, hence the same bits."""

import numpy

# The greatest curvature that is told from others: what a float holds.
_STEEPEST = 1e38


def update(up, down, size, slope, rise, first, last):
    """Add size (up - down) to slopes from `first` to `last`; return where slope + rise is least, -1 if nowhere."""
    part = slice(first, last)
    slope[part] += size * (numpy.float64(up[part]) - numpy.float64(down[part]))
    values = slope[part] + rise[part]
    if not (values < numpy.inf).any():
        return -1
    return first + int(numpy.argmin(numpy.where(values < numpy.inf, values, numpy.inf)))


def partner(row, diagonal, slope, fall, own, least, flat, first, last, best):
    """Return the partner of greatest promise, above best[0], of a coefficient, or -1.

    Raise best[0] to its promise and best[1] to the largest gap.
    """
    part = slice(first, last)
    # What the step gains for each unit: lowering j gains slope_j + fall_j, raising the first coefficient costs `least`.
    gap = slope[part] + fall[part] - least
    if last <= first:
        return -1
    best[1] = max(best[1], float(gap.max()))
    # The curvature of the step along the pair; the clip keeps the reciprocal finite in float32.
    curvature = numpy.clip(own + diagonal[part] - 2.0 * numpy.float64(row[part]), flat, _STEEPEST)
    # A reciprocal in float32 is enough to choose a partner, and the compiled twin has twice as many lanes for it.
    promise = numpy.float64(numpy.float32(1.0) / numpy.float32(curvature))
    # gap^2 / curvature is twice the fall of the objective, if no bound is in the way.
    promise = numpy.where(gap > 0.0, gap * gap * promise, -numpy.inf)
    found = int(numpy.argmax(promise))
    if not promise[found] > best[0]:
        return -1
    best[0] = promise[found]
    return first + found
