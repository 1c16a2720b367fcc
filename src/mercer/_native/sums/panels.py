"""The uncompiled twin of ``panels.pxd``: equal to it up to the rounding of sums in another order."""

import numpy


def width():
    """Return the number of columns of a panel."""
    return 4


def products(packed, rows, out):
    """Add the products of all columns of the packed tile to the panels of `out` at and right of the diagonal."""
    n_panels = out.shape[0] // width()
    tile = numpy.asarray(packed)[: n_panels * rows * width()].reshape(n_panels, rows, width())
    columns = tile.transpose(1, 0, 2).reshape(rows, -1)
    out[:, :] = numpy.asarray(out) + columns.T @ columns
