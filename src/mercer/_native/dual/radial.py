"""The uncompiled twin of ``radial.pxd``: equal to it up to the rounding of the dot products."""

import cython
import numpy

from mercer._native.shared import inline

# Where values are computed; radial.pxd says what each number is.
Extent = cython.struct(
    first=cython.Py_ssize_t,
    last=cython.Py_ssize_t,
    begin=cython.Py_ssize_t,
    end=cython.Py_ssize_t,
    panel=cython.Py_ssize_t,
    offset=cython.Py_ssize_t,
    scratch=cython.Py_ssize_t,
)


def gather(X, indices, first, count, out, place):
    """Copy `count` rows `indices[first:]` to `out`, from row `place` on; repeat the last up to a multiple of eight."""
    for i in range((count + 7) // 8 * 8):
        out[place + i] = X[indices[first + min(i, count - 1)]]


def pack(X, indices, first, count, panels, begin):
    """Lay out the `count` rows `indices[first:]` in panels, from the panel `begin` on."""
    width = panels.shape[2]
    for i in range((count + width - 1) // width * width):
        panels[begin + i // width, :, i % width] = X[indices[first + min(i, count - 1)]]


def pack_columns(X, squares, indices, first, last, panels, others):
    """Lay out the rows `indices[first:last]` at the same places of panels, and their squared lengths in `others`."""
    pack(X, indices, first, last - first, panels, first // panels.shape[2])
    others[first:last] = squares[indices[first:last]]


def multiply(left, first, panels, begin, end, out):
    """Write the dot products of eight rows, from row `first` on, with the panels `begin` to `end` to the same rows."""
    width = panels.shape[2]
    for panel in range(begin, end):
        place = (panel - begin) * width
        out[first : first + 8, place : place + width] = left[first : first + 8] @ panels[panel]


def profile(kind, shape, scale, factor, square, others, dots, out):
    """Write `factor` times the values of one row with others to `out`, from squared lengths and dot products."""
    a, c, f = (out.dtype.type(one) for one in (shape, scale, factor))
    # s = |x|^2 + |y|^2 - 2 x.y, cut at zero, which rounding may leave it below.
    s = numpy.maximum((square + others) - (dots[: len(out)] + dots[: len(out)]), 0).astype(out.dtype)
    t = c * numpy.sqrt(s)
    if kind == 0:
        values = s
    elif kind == 1:
        values = inline.exp(-c * s)
    elif kind == 5:
        values = inline.exp(-a * inline.log1p(c * s))
    else:
        values = {2: 1, 3: 1 + t, 4: 1 + t + t * t / 3}[kind] * inline.exp(-t)
    out[...] = f * values


def fill(form, X, squares, chosen, slots, columns, panels, others, extent, left, tile, table):
    """Write the kernel values of some rows with some columns, both of them rows of `X`, to a table."""
    m, others = extent.end - extent.begin, others[extent.begin : extent.end]
    stop = extent.panel + -(-m // panels.shape[2])
    # Eight rows at a time, as the compiled twin has scratch for.
    for i in range(extent.first, extent.last, 8):
        count = min(8, extent.last - i)
        gather(X, chosen, i, count, left, extent.scratch)
        multiply(left, extent.scratch, panels, extent.panel, stop, tile)
        for r in range(count):
            row, out = chosen[i + r], table[slots[i + r], extent.offset : extent.offset + m]
            profile(int(form[0]), *form[1:], squares[row], others, tile[extent.scratch + r], out)
            # The value of a row with itself is `factor`, free of rounding.
            out[columns[extent.begin : extent.end] == row] = form[3]
