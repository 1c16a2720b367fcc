"""The uncompiled twin of ``words.pxd``: whole numbers, hence the same bits."""

__all__ = ["add_rows"]


def add_rows(bins, start, words, order, first, last, offsets, histogram):
    """Add to the bin of each of their columns the words of the rows that `order` counts from row `start` on."""
    for k in range(first, last):
        row = start + int(order[k])
        for j in range(bins.shape[1]):
            place = 2 * (int(offsets[j]) + int(bins[row, j]))
            histogram[place] += words[row, 0]
            histogram[place + 1] += words[row, 1]
