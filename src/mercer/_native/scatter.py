"""Sums of squares and products of columns over one block of rows, centred and weighted on the way, in float64."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import panels
else:
    from mercer._native import panels

__all__ = ["add_scatter", "column_sums", "packed_size", "padded_width", "unfold"]

real = cython.fused_type(cython.float, cython.double)

# Rows packed at once: 128 rows of a panel of 16 columns are half of a first-level cache.
TILE = cython.declare(cython.Py_ssize_t, 128)


def padded_width(d: cython.Py_ssize_t) -> int:
    """Return how many rows and columns `add_scatter` needs for sums over d columns."""
    return (d + panels.width() - 1) // panels.width() * panels.width()


def packed_size(d: cython.Py_ssize_t) -> int:
    """Return the length of the scratch array that `add_scatter` needs for d columns."""
    return TILE * ((d + panels.width() - 1) // panels.width() * panels.width())


def column_sums(X: cython.const[real][:, ::1], weight: cython.const[cython.double][::1], out: cython.double[::1]):
    """Add to `out` the sum of each column, weighted unless `weight` is empty."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    share: cython.double = 1.0
    with cython.nogil:
        for i in range(X.shape[0]):
            if weight.shape[0] > 0:
                share = weight[i]
            for j in range(X.shape[1]):
                out[j] += share * cython.cast(cython.double, X[i, j])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pack(
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
    offset: cython.Py_ssize_t,
    shift: cython.const[cython.double][::1],
    root: cython.const[cython.double][::1],
    packed: cython.double[::1],
) -> cython.void:
    """Lay out rows, centred and scaled, in panels, from column `offset` on; padding must be zero already."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    place: cython.Py_ssize_t
    width: cython.Py_ssize_t = panels.width()
    share: cython.double = 1.0
    start = 0
    while start < X.shape[1]:
        # Up to the end of the panel that column `start` falls into.
        stop = min(X.shape[1], start + width - (start + offset) % width)
        for i in range(rows):
            if root.shape[0] > 0:
                share = root[first + i]
            place = ((start + offset) // width * rows + i) * width + (start + offset) % width
            for j in range(stop - start):
                packed[place + j] = share * (
                    cython.cast(cython.double, X[first + i, start + j]) - shift[start + offset + j]
                )
        start = stop


def add_scatter(
    X: cython.const[real][:, ::1],
    Y: cython.const[cython.double][:, ::1],
    shift: cython.const[cython.double][::1],
    root: cython.const[cython.double][::1],
    packed: cython.double[::1],
    out: cython.double[:, ::1],
):
    """Add to `out` the sum over rows of root^2 (z - shift)(z - shift)^T, where z is a row of X followed by one of Y.

    Parameters
    ----------
    X : (n, d) rows
    Y : (n, k) more columns of the same rows; k may be 0
    shift : (d + k,) what is taken off
    root : (n,) roots of the weights, or empty
    packed : (packed_size(d + k),) scratch
    out : (padded_width(d + k), the same), added to at and right of the diagonal
    """
    first: cython.Py_ssize_t = 0
    rows: cython.Py_ssize_t
    n: cython.Py_ssize_t = X.shape[0]
    with cython.nogil:
        while first < n:
            rows = min(TILE, n - first)
            if first == 0 or rows < TILE:
                packed[:] = 0.0
            _pack(X, first, rows, 0, shift, root, packed)
            _pack(Y, first, rows, X.shape[1], shift, root, packed)
            panels.products(packed, rows, out)
            first += rows


def unfold(sums: cython.const[cython.double][:, ::1], out: cython.double[:, ::1]):
    """Write the leading part of a matrix known at and right of its diagonal to `out`, and its mirror image."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    across: cython.Py_ssize_t
    down: cython.Py_ssize_t
    n: cython.Py_ssize_t = out.shape[0]
    with cython.nogil:
        # By squares that fit into the first-level cache, since one of the two sides is walked down its columns.
        for down in range(0, n, 32):
            for across in range(down, n, 32):
                for i in range(down, min(down + 32, n)):
                    for j in range(max(across, i), min(across + 32, n)):
                        out[i, j] = sums[i, j]
                        out[j, i] = sums[i, j]
