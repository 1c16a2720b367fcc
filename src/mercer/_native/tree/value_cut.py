"""The uncompiled twin of ``value_cut.pxd``."""

import numpy

__all__ = ["find_range", "sum_left"]


def find_range(values, n, ends):
    """Write the least and the greatest of the first n values; return how many are missing."""
    own = numpy.asarray(values[:n])
    missing = numpy.isnan(own)
    ends[0] = own[~missing].min(initial=numpy.inf)
    ends[1] = own[~missing].max(initial=-numpy.inf)
    return int(missing.sum())


def sum_left(values, n, threshold, quads, sums):
    """Write the sums of the quads whose values, none of them missing, are at most the threshold."""
    sums[:4] = numpy.asarray(quads[:n])[numpy.asarray(values[:n]) <= threshold].sum(axis=0)
