"""The uncompiled twin of ``scan.pxd``: its scores differ from compiled ones by rounding, which limits allow for."""

import numpy


def lowest_bit(bits):
    """Return the place of the lowest bit that is set."""
    return (int(bits) & -int(bits)).bit_length() - 1


def measure_four(X, queries, query, rows, squares):
    """Write the squared distances from a query to four rows, summed in the order of columns."""
    chosen, totals = numpy.asarray(X)[numpy.asarray(rows)].astype(numpy.float64), numpy.zeros(4)
    with numpy.errstate(all="ignore"):
        for column, value in zip(chosen.T, queries[query], strict=True):
            totals += (column - value) ** 2
    squares[:] = totals


def scan_panel(panels, panel, packed, group, limits, hits):
    """Set bit j of hits[q] where row j of a panel scores below the limit of query q of a group."""
    lines, queries = numpy.asarray(panels[panel]), numpy.asarray(packed[group])
    scores = lines[-1] + queries.T @ lines[:-1]
    for q in range(queries.shape[1]):
        below = numpy.flatnonzero(scores[q] < limits[6 * group + q])
        hits[q] = sum(1 << int(lane) for lane in below)
