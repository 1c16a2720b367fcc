"""The uncompiled twin of ``row_dots.pxd``: equal to it up to the rounding of the dot products."""

import numpy


def multiply(left, first, panels, begin, end, out):
    """Write the dot products of eight rows, from row `first` on, with the panels `begin` to `end` to the same rows."""
    width = panels.shape[2]
    for panel in range(begin, end):
        place = (panel - begin) * width
        out[first : first + 8, place : place + width] = left[first : first + 8] @ panels[panel]


def root(x):
    """Return the square root of a number in its type."""
    return numpy.sqrt(x)
