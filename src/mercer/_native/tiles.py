"""The uncompiled twin of ``tiles.pxd``: equal to it up to the rounding of sums in another order."""

import numpy

__all__ = ["nearest", "pack", "packed_size"]


def packed_size(k, d):
    """Length of the array that `pack` fills for k centres of d features, of either type."""
    return k * (d + 1)


def pack(centres, offset, packed):
    """Lay out the centres, and what to subtract their products from, for `nearest`."""
    k, d = centres.shape
    table = packed[: k * (d + 1)].reshape(k, d + 1)
    table[:, :d] = centres
    table[:, d] = offset


def nearest(X, packed, k, label, least):
    """Write the least offset[j] - x . centres[j] over j, and its lowest j, for each row x of `X`."""
    d = X.shape[1]
    table = numpy.asarray(packed)[: k * (d + 1)].reshape(k, d + 1)
    values = table[:, d] - numpy.asarray(X) @ table[:, :d].T
    label[:] = values.argmin(axis=1)
    least[:] = values.min(axis=1)
