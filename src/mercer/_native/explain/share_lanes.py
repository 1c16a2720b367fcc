"""The uncompiled twin of ``share_lanes.pxd``.

The masks of a level are two rows of `masks`: which rows keep to the path at the edge into the level, and which go left
at its node; -1 for yes, 0 for no.
"""

import numpy

# Rows of a block, as in share_lanes.h.
LANES = 16


def send(x, column, threshold, masks, level):
    """Write which rows go left at the node of `level`."""
    masks[2 * level + 1] = -(x[column] <= threshold).astype(int)


def keep(masks, before, level, side):
    """Write which rows keep to the path at a child of the node of `level`; `side` is 0 for the left child, else -1."""
    masks[2 * level + 2] = masks[2 * before] & (masks[2 * level + 1] ^ side)


def split(products, at, spare, masks, before, level, tables, place, points):
    """Multiply the products at a node into those at its children: the left one's at `spare`, the other's in place."""
    own = _read(tables, place, points, 0, 4)
    above = products[at, : points * LANES].reshape(points, LANES)
    kept, left = masks[2 * before] != 0, masks[2 * level + 1] != 0
    to_left = numpy.where(kept, numpy.where(left, own[0], own[1]), tables[place])
    to_right = numpy.where(kept, numpy.where(left, own[2], own[3]), tables[place + 1])
    products[spare, : points * LANES] = (above * to_left).ravel()
    products[at, : points * LANES] = (above * to_right).ravel()


def join(products, at, spare, masks, before, level, tables, place, points, shares, column, change):
    """Add up the sums at the children of a node, and add to the shares of its column; keep changes if there is room."""
    own_left, other, own_right = _read(tables, place, points, 4, 3)
    g, h = (products[where, : points * LANES].reshape(points, LANES) for where in (spare, at))
    left = masks[2 * level + 1] != 0
    moved = numpy.where(left, own_left, other) * g + numpy.where(left, other, own_right) * h
    _add(products, at, g + h, numpy.where(masks[2 * before] != 0, moved, 0.0), shares, column, change)


def end(products, at, masks, before, level, tables, place, points, shares, column, change):
    """Do what `split` and `join` do at a node whose children are leaves."""
    sum_left, sum_right, moved_left, moved_right = _read(tables, place, points, 0, 4)
    above = products[at, : points * LANES].reshape(points, LANES)
    kept, left = masks[2 * before] != 0, masks[2 * level + 1] != 0
    moved = above * numpy.where(kept, numpy.where(left, moved_left, moved_right), 0.0)
    sums = above * numpy.where(kept, numpy.where(left, sum_left, sum_right), tables[place])
    _add(products, at, sums, moved, shares, column, change)


def pair(change, masks, level, effects, own, other, points, shares, cell):
    """Add the changes, times the effect of the column of the edge into `level`, to the shares of a pair of columns."""
    kept, total = masks[2 * level] != 0, numpy.zeros(LANES)
    for q in range(points):
        total += change[q * LANES : (q + 1) * LANES] * numpy.where(kept, effects[own + q], effects[other + q])
    shares[cell] += total


def _read(tables, place, points, first, count):
    """Return `count` rows of the table at `place`, from row `first` on."""
    start = place + 2 + first * points
    return tables[start : start + count * points].reshape(count, points, 1)


def _add(products, at, sums, moved, shares, column, change):
    """Keep the sums at a node, and add the changes (points, LANES) to the shares of its column."""
    total = numpy.zeros(LANES)
    for part in moved:
        total += part
    shares[column] += total
    products[at, : sums.size] = sums.ravel()
    change[: moved.size] = moved.ravel()[: len(change)]
