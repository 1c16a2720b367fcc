"""Histograms of gradients in whole numbers, and the rows of a leaf, kept in order block by block.

Each row carries two 64-bit words: its gradient as a multiple of a quantum, and its curvature as a multiple of another
above the bits that count it. A histogram is two words for each bin of each column. Sums of whole numbers do not depend
on their order: any number of threads, and any cut of the rows, gives the same bits; and the histogram of a node less
that of one child is exactly that of the other.

Blocks have at most 2**16 rows. Within a block the rows of a node are consecutive in `order`, which holds their places
in the block, from begin[node, block] to stop[node, block].
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import words as pairs
else:
    from mercer._native import words as pairs

__all__ = ["add_histogram", "quantise_run", "split_run", "take_difference"]

code = cython.fused_type(cython.uchar, cython.ushort)


def quantise_run(
    gradients: cython.const[cython.double][:, ::1],
    counts: cython.const[cython.longlong][::1],
    scale: cython.double,
    rest_scale: cython.double,
    shift: cython.int,
    bins: cython.const[code][:, ::1],
    offsets: cython.const[cython.int][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    words: cython.longlong[:, ::1],
    order: cython.ushort[::1],
    histogram: cython.longlong[::1],
) -> None:
    """Turn gradients and curvatures into words, put the rows of some blocks in order, and add them to a histogram.

    Parameters
    ----------
    gradients : (n, 2): gradient and curvature of each row
    counts : (n,) or (0,): how many rows each stands for; one each if empty
    scale, rest_scale : multiples of a gradient and of a curvature that are rounded to whole numbers
    shift : bits of the second word that count rows
    bins : (n, d)
    offsets : (d,): where the bins of a column begin
    unit : rows in a block
    words : (n, 2), written
    order : (n,), written
    histogram : flat, two words a bin, added to
    """
    n: cython.Py_ssize_t = bins.shape[0]
    block: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    row: cython.Py_ssize_t
    value: cython.double
    curvature: cython.longlong
    count: cython.longlong
    with cython.nogil:
        for block in range(first_block, last_block):
            start = block * unit
            stop = min(start + unit, n)
            for row in range(start, stop):
                count = counts[row] if counts.shape[0] > 0 else 1
                # Rounded before it is repeated: a row that stands for two has the words of two rows.
                value = gradients[row, 0] / max(count, 1) * scale
                value = value + 0.5 if value >= 0.0 else value - 0.5
                words[row, 0] = count * cython.cast(cython.longlong, value)
                curvature = cython.cast(cython.longlong, gradients[row, 1] / max(count, 1) * rest_scale + 0.5)
                words[row, 1] = ((count * curvature) << shift) + count
                order[row] = cython.cast(cython.ushort, row - start)
            pairs.add_rows(bins, start, words, order, start, stop, offsets, histogram)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _part(
    column: cython.const[code][::1],
    order: cython.ushort[::1],
    start: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    goes_left: cython.const[cython.uchar][::1],
    spare: cython.ushort[::1],
) -> cython.Py_ssize_t:
    """Put the rows that go left before those that go right, both in their order; where the right ones begin."""
    k: cython.Py_ssize_t
    middle: cython.Py_ssize_t = first
    others: cython.Py_ssize_t = 0
    place: cython.ushort
    left: cython.Py_ssize_t
    for k in range(first, last):
        place = order[k]
        left = goes_left[column[start + place]]
        order[middle] = place
        spare[others] = place
        middle += left
        others += 1 - left
    for k in range(others):
        order[middle + k] = spare[k]
    return middle


def split_run(
    bins: cython.const[code][:, ::1],
    words: cython.const[cython.longlong][:, ::1],
    order: cython.ushort[::1],
    begin: cython.int[:, ::1],
    stop: cython.int[:, ::1],
    node: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    column: cython.const[code][::1],
    goes_left: cython.const[cython.uchar][::1],
    offsets: cython.const[cython.int][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    build: cython.Py_ssize_t,
    spare: cython.ushort[::1],
    histogram: cython.longlong[::1],
) -> None:
    """Part the rows of a node in some blocks, and add those of one child to a histogram.

    Parameters
    ----------
    bins, words, order, offsets, unit : as in :func:`quantise_run`
    begin, stop : (nodes, blocks): where a node's rows are in a block; written for the children
    node : the node that is split
    left : its left child; the right one is next
    column, goes_left : (n,): the bins of the column asked, and whether a bin of it goes left
    build : the child whose rows are added: 0 left, 1 right, -1 none
    spare : (unit,), written
    histogram : added to
    """
    block: cython.Py_ssize_t
    start: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    rows: cython.Py_ssize_t
    n: cython.Py_ssize_t = bins.shape[0]
    with cython.nogil:
        for block in range(first_block, last_block):
            start = block * unit
            rows = min(unit, n - start)
            middle = begin[node, block]
            if middle < stop[node, block]:
                middle = _part(
                    column,
                    order[start : start + rows],
                    start,
                    begin[node, block],
                    stop[node, block],
                    goes_left,
                    spare,
                )
            begin[left, block] = begin[node, block]
            stop[left, block] = cython.cast(cython.int, middle)
            begin[left + 1, block] = cython.cast(cython.int, middle)
            stop[left + 1, block] = stop[node, block]
            if build >= 0:
                pairs.add_rows(
                    bins,
                    start,
                    words,
                    order,
                    start + begin[left + build, block],
                    start + stop[left + build, block],
                    offsets,
                    histogram,
                )


def add_histogram(total: cython.longlong[::1], part: cython.longlong[::1]) -> None:
    """Add a histogram to another, and empty it."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(total.shape[0]):
            total[i] += part[i]
            part[i] = 0


def take_difference(whole: cython.longlong[::1], part: cython.const[cython.longlong][::1]) -> None:
    """Take one child's histogram off its parent's, which leaves the other child's."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(whole.shape[0]):
            whole[i] -= part[i]
