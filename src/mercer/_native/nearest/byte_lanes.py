"""The uncompiled twin of ``byte_lanes.pxd``: sums of integers, hence the same bits."""

import numpy


def are_fast():
    """Return whether products of bytes are faster than those of float32 numbers here: uncompiled, they are not."""
    return False


def prefetch_row(X, row):
    """Ask for a row that is measured soon: uncompiled, nobody is asked."""


def scan_bytes(panels, starts, panel, packed, group, limits, hits, fast):
    """Set bit j of hits[q] where row j of a panel reaches the limit of query q of a group; return whether any does."""
    rows, queries = numpy.asarray(panels[panel], numpy.int64), numpy.asarray(packed[group], numpy.int64)
    values = numpy.asarray(starts[panel]) + numpy.einsum("slj,sqj->ql", rows, queries)
    for q in range(queries.shape[1]):
        reaching = numpy.flatnonzero(values[q] >= limits[6 * group + q])
        hits[q] = sum(1 << int(lane) for lane in reaching)
    return bool((numpy.asarray(hits) != 0).any())
