"""Values of radial kernels between rows, from dot products in registers.

The profiles by number are those of ``kernel_values``, and their arithmetic is that of ``inline``, but for the Gaussian
in float, which has its own in gaussian.h.
"""

import cython

from mercer._native.dual import row_dots
from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)
# Where values are made: the rows `chosen` from `first` to `last`, the columns from `begin` to `end`; the panel that
# holds the column `begin`, the column of the table that it is written to, and the first of eight rows of scratch.
Extent = cython.struct(
    first=cython.Py_ssize_t,
    last=cython.Py_ssize_t,
    begin=cython.Py_ssize_t,
    end=cython.Py_ssize_t,
    panel=cython.Py_ssize_t,
    offset=cython.Py_ssize_t,
    scratch=cython.Py_ssize_t,
)


def gather(
    X: cython.const[real][:, ::1],
    indices: cython.const[cython.Py_ssize_t][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    out: real[:, ::1],
    place: cython.Py_ssize_t,
) -> cython.void:
    """Copy `count` rows `indices[first:]` to `out`, from row `place` on; repeat the last up to a multiple of eight."""
    for i in range((count + 7) // 8 * 8):
        row = indices[first + (i if i < count else count - 1)]
        for j in range(X.shape[1]):
            out[place + i, j] = X[row, j]


def pack(
    X: cython.const[real][:, ::1],
    indices: cython.const[cython.Py_ssize_t][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    panels: real[:, :, ::1],
    begin: cython.Py_ssize_t,
) -> cython.void:
    """Lay out the `count` rows `indices[first:]` in panels, from the panel `begin` on."""
    width = panels.shape[2]
    for i in range((count + width - 1) // width * width):
        row = indices[first + (i if i < count else count - 1)]
        for j in range(X.shape[1]):
            panels[begin + i // width, j, i % width] = X[row, j]


def pack_columns(
    X: cython.const[real][:, ::1],
    squares: cython.const[real][::1],
    indices: cython.const[cython.Py_ssize_t][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    panels: real[:, :, ::1],
    others: real[::1],
) -> cython.void:
    """Lay out the rows `indices[first:last]` at the same places of panels, and their squared lengths in `others`."""
    pack(X, indices, first, last - first, panels, first // panels.shape[2])
    for k in range(first, last):
        others[k] = squares[indices[k]]


def distance(square: real, other: real, dot: real) -> real:
    """Return the squared distance, clipped at zero, since rounding may leave it below."""
    # A literal would widen floats to double, at twice the time.
    zero: real = 0
    s: real = (square + other) - (dot + dot)
    return s if s > zero else zero


def profile(
    kind: cython.int,
    shape: cython.double,
    scale: cython.double,
    factor: cython.double,
    square: real,
    others: cython.const[real][::1],
    dots: cython.const[real][::1],
    out: real[::1],
) -> cython.void:
    """Write `factor` times the kernel values of one row with others to `out`, from squared lengths and dot products."""
    a: real = shape
    c: real = scale
    f: real = factor
    one: real = 1
    three: real = 3
    r: real
    if kind == 0:
        for j in range(out.shape[0]):
            out[j] = f * distance(square, others[j], dots[j])
    elif kind == 1:
        # As powers of two, exp(s) = 2^(s / log 2). `dots` has room up to the end of a panel, so whole vectors are read.
        if real is cython.float:
            row_dots.gaussian(square, others, dots, -1.4426950408889634 * scale, f, out)
        else:
            for j in range(out.shape[0]):
                out[j] = f * inline.exp(-c * distance(square, others[j], dots[j]))
    elif kind == 2:
        for j in range(out.shape[0]):
            out[j] = f * inline.exp(-c * row_dots.root(distance(square, others[j], dots[j])))
    elif kind == 3:
        for j in range(out.shape[0]):
            r = c * row_dots.root(distance(square, others[j], dots[j]))
            out[j] = f * ((one + r) * inline.exp(-r))
    elif kind == 4:
        for j in range(out.shape[0]):
            r = c * row_dots.root(distance(square, others[j], dots[j]))
            out[j] = f * ((one + r + r * r / three) * inline.exp(-r))
    elif kind == 5:
        for j in range(out.shape[0]):
            out[j] = f * inline.exp(-a * inline.log1p(c * distance(square, others[j], dots[j])))


def fill(
    form: cython.const[cython.double][::1],
    X: cython.const[real][:, ::1],
    squares: cython.const[real][::1],
    chosen: cython.const[cython.Py_ssize_t][::1],
    slots: cython.const[cython.Py_ssize_t][::1],
    columns: cython.const[cython.Py_ssize_t][::1],
    panels: cython.const[real][:, :, ::1],
    others: cython.const[real][::1],
    extent: Extent,
    left: real[:, ::1],
    tile: real[:, ::1],
    table: real[:, ::1],
) -> cython.void:
    """Write the kernel values of some rows with some columns, both of them rows of `X`, to a table.

    `form` (4,) is kind, shape, scale and factor of the kernel. `chosen` and `slots` give the rows, and the rows of the
    table that they go to; `columns` the others, which lie in panels; `squares` and `others` are squared lengths of the
    rows of `X` and of the columns. `extent` says which of them. `left` (8, d) and `tile` (8, m) are scratch.
    """
    m: cython.Py_ssize_t = extent.end - extent.begin
    stop: cython.Py_ssize_t = extent.panel + (m + panels.shape[2] - 1) // panels.shape[2]
    lowest: cython.Py_ssize_t = X.shape[0]
    highest: cython.Py_ssize_t = -1
    for j in range(extent.begin, extent.end):
        lowest = min(lowest, columns[j])
        highest = max(highest, columns[j])
    for i in range(extent.first, extent.last, 8):
        count = min(8, extent.last - i)
        gather(X, chosen, i, count, left, extent.scratch)
        row_dots.multiply(left, extent.scratch, panels, extent.panel, stop, tile)
        for r in range(count):
            row = chosen[i + r]
            place = slots[i + r]
            profile(
                cython.cast(cython.int, form[0]), form[1], form[2], form[3], squares[row],
                others[extent.begin : extent.end], tile[extent.scratch + r],
                table[place, extent.offset : extent.offset + m],
            )  # fmt: skip
            # The distance of a row to itself is zero, whatever rounding has made of it.
            if lowest <= row <= highest:
                for j in range(m):
                    if columns[extent.begin + j] == row:
                        table[place, extent.offset + j] = form[3]
