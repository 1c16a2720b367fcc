"""The uncompiled twin of ``radial.pxd``: equal to it up to the rounding of the dot products."""

import numpy

from mercer._native.shared import inline

__all__ = ["fill", "gather", "multiply", "pack", "pack_columns", "profile"]


def gather(X, numbers, first, count, out):
    """Copy `count` rows of some numbers, from the one at `first` on, to `out`; up to a multiple of eight, the last."""
    for i in range((count + 7) // 8 * 8):
        out[i] = X[numbers[first + min(i, count - 1)]]


def pack(X, numbers, first, count, panels, begin):
    """Lay out `count` rows of some numbers, from the one at `first` on, in panels from the one at `begin` on."""
    width = panels.shape[2]
    for i in range((count + width - 1) // width * width):
        panels[begin + i // width, :, i % width] = X[numbers[first + min(i, count - 1)]]


def pack_columns(X, squares, numbers, first, last, panels, others):
    """Lay out rows, `numbers` from `first` to `last`, at the same places of panels, and their squared lengths."""
    pack(X, numbers, first, last - first, panels, first // panels.shape[2])
    others[first:last] = squares[numbers[first:last]]


def multiply(left, first, panels, begin, end, out):
    """Write the dot products of eight rows, from `first` on, with the panels from `begin` to `end` to `out`."""
    width = panels.shape[2]
    for panel in range(begin, end):
        place = (panel - begin) * width
        out[:8, place : place + width] = left[first : first + 8] @ panels[panel]


def profile(kind, shape, scale, factor, square, others, dots, out):
    """Write `factor` times the values of one row with others to `out`, from squared lengths and dot products."""
    a, c, f = (out.dtype.type(one) for one in (shape, scale, factor))
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


def fill(
    form,
    X,
    squares,
    chosen,
    first,
    last,
    columns,
    begin,
    end,
    panels,
    panel,
    others,
    slots,
    offset,
    left,
    tile,
    table,
):
    """Write the values of rows, `chosen` from `first` to `last`, with others, `columns` from `begin` to `end`."""
    m = end - begin
    for i in range(first, last, 8):
        count = min(8, last - i)
        gather(X, chosen, i, count, left)
        multiply(left, 0, panels, panel, panel + -(-m // panels.shape[2]), tile)
        for r in range(count):
            row, out = chosen[i + r], table[slots[i + r], offset : offset + m]
            profile(int(form[0]), *form[1:], squares[row], others[begin:end], tile[r], out)
            out[columns[begin:end] == row] = form[3]
