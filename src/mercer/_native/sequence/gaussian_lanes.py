"""The uncompiled twin of ``gaussian_lanes.pxd``: equal to it up to the rounding of sums in another order."""

import numpy


def score_columns(X, means, factors, offsets, out):
    """Write the log densities of rows with independent columns to `out`."""
    X, means, factors, offsets = (numpy.asarray(table) for table in (X, means, factors, offsets))
    gaps = numpy.isnan(X)
    steps = (numpy.where(gaps, 0.0, X)[:, :, None] - means) * factors * ~gaps[:, :, None]
    out[:, :] = offsets[0] + gaps @ offsets[1:] - 0.5 * (steps * steps).sum(axis=1)


def score_triangles(X, means, factors, offsets, scratch, out):
    """Write the log densities of rows to `out`; factors are lower triangles."""
    X, means, factors, offsets = (numpy.asarray(table) for table in (X, means, factors, offsets))
    steps, place, total = X[:, :, None] - means, 0, 0.0
    for j in range(X.shape[1]):
        along = (steps[:, : j + 1] * factors[place : place + j + 1]).sum(axis=1)
        total, place = total + along * along, place + j + 1
    out[:, :] = offsets[0] - 0.5 * total


def sum_column(X, start, rows, j, shares, mean, mass, first, second):
    """Add the moments of column j over some rows."""
    x, share = numpy.asarray(X)[start : start + rows, j], numpy.asarray(shares)[start : start + rows]
    share, x = share[~numpy.isnan(x)], x[~numpy.isnan(x)]
    steps = x[:, None] - numpy.asarray(mean)
    for out, power in ((mass, 0), (first, 1), (second, 2)):
        out[:] = numpy.asarray(out) + (share * steps**power).sum(axis=0)


def sum_pair(X, start, rows, i, j, shares, means, second):
    """Add the product of columns i and j over some rows."""
    x, share, means = (
        numpy.asarray(X)[start : start + rows],
        numpy.asarray(shares)[start : start + rows],
        numpy.asarray(means),
    )
    second[:] = numpy.asarray(second) + (share * (x[:, i, None] - means[i]) * (x[:, j, None] - means[j])).sum(axis=0)
