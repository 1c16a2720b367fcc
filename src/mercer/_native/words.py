"""The uncompiled twin of ``words.pxd``: whole numbers, hence the same bits."""

__all__ = ["add_row"]


def add_row(bins, row, words, offsets, histogram):
    """Add the words of a row to the bin of each of its columns."""
    for j in range(bins.shape[1]):
        place = 2 * (int(offsets[j]) + int(bins[row, j]))
        histogram[place] += words[row, 0]
        histogram[place + 1] += words[row, 1]
