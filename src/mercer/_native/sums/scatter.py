"""Means and sums of squares and products of columns over a run of blocks, centred and weighted, in float64."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sums import panels
else:
    from mercer._native.sums import panels

real = cython.fused_type(cython.float, cython.double)

# Rows packed at once: 128 rows of a panel of 16 columns are half of a first-level cache.
TILE = cython.declare(cython.Py_ssize_t, 128)


def pad_width(d: cython.Py_ssize_t) -> int:
    """Return how many rows and columns `add_scatter` needs for sums over d columns."""
    return (d + panels.width() - 1) // panels.width() * panels.width()


def count_packed(d: cython.Py_ssize_t) -> int:
    """Return the length of the scratch array that `add_scatter` needs for d columns."""
    return TILE * ((d + panels.width() - 1) // panels.width() * panels.width())


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _column_sums(
    X: cython.const[real][:, ::1], weight: cython.const[cython.double][::1], out: cython.double[::1]
) -> cython.void:
    """Add to `out` the sum of each column, weighted unless `weight` is empty."""
    share: cython.double = 1.0
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
    width: cython.Py_ssize_t = panels.width()
    share: cython.double = 1.0
    start = 0
    while start < X.shape[1]:
        # Up to the end of the panel that column `start` falls into.
        stop = min(X.shape[1], start + width - (start + offset) % width)
        for i in range(rows):
            if root.shape[0] > 0:
                share = root[first + i]
            # A panel holds `width` columns of all rows, row by row.
            place = ((start + offset) // width * rows + i) * width + (start + offset) % width
            for j in range(stop - start):
                packed[place + j] = share * (
                    cython.cast(cython.double, X[first + i, start + j]) - shift[start + offset + j]
                )
        start = stop


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_scatter(
    X: cython.const[real][:, ::1],
    Y: cython.const[cython.double][:, ::1],
    shift: cython.const[cython.double][::1],
    root: cython.const[cython.double][::1],
    packed: cython.double[::1],
    out: cython.double[:, ::1],
) -> cython.void:
    """Add to `out`, at and right of its diagonal, the sum of root^2 (z - shift)(z - shift)^T over rows z = [x, y]."""
    first: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = X.shape[0]
    while first < n:
        rows = min(TILE, n - first)
        # Padding must be zero: a short tile would otherwise keep rows of the tile before.
        if first == 0 or rows < TILE:
            packed[:] = 0.0
        # Both tables are packed side by side, so one product gives X^T X, X^T Y and Y^T Y.
        _pack(X, first, rows, 0, shift, root, packed)
        _pack(Y, first, rows, X.shape[1], shift, root, packed)
        panels.products(packed, rows, out)
        first += rows


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merge(
    first: cython.double[:, ::1],
    second: cython.const[cython.double][:, ::1],
    mean: cython.double[::1],
    step: cython.double[::1],
    weight: cython.double,
    other: cython.double,
) -> cython.void:
    """Merge two scatters, at and right of the diagonal, by the term between their means; `step` enters as the second
    mean and leaves as its distance from the first (Chan, Golub and LeVeque, 1983).
    """
    n: cython.Py_ssize_t = mean.shape[0]
    # Two empty parts have no mean.
    if weight + other == 0.0:
        return
    # S = S1 + S2 + w1 w2 / (w1 + w2) step step', and the mean moves by the second share of the step.
    share = other / (weight + other)
    for i in range(n):
        step[i] -= mean[i]
    for i in range(n):
        factor = (weight * share) * step[i]
        for j in range(i, n):
            first[i, j] = (first[i, j] + second[i, j]) + factor * step[j]
    for i in range(n):
        mean[i] += share * step[i]


def merge_moments(
    first: cython.double[:, ::1],
    second: cython.const[cython.double][:, ::1],
    mean: cython.double[::1],
    step: cython.double[::1],
    weight: cython.double,
    other: cython.double,
):
    """Merge the moments of two sets of rows into `first` and `mean`.

    Parameters
    ----------
    first, second : (w, w): scatters, read and written at and right of the diagonal
    mean, step : (w,): the first mean, written; the second, which becomes the step between them
    weight, other : the weights of both sets
    """
    with cython.nogil:
        _merge(first, second, mean, step, weight, other)


def moments_run(
    X: cython.const[real][:, ::1],
    Y: cython.const[cython.double][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    root: cython.const[cython.double][::1],
    centre: cython.bint,
    packed: cython.double[::1],
    totals: cython.double[::1],
    means: cython.double[:, ::1],
    sums: cython.double[:, :, ::1],
):
    """Sum the moments of the rows [x, y] of a run of blocks along the tree of blocks, into the first places.

    Parameters
    ----------
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    Y : (n, k) more columns of the same rows; k may be 0
    weight, root : (n,), and its square root; or empty
    centre : whether means are taken off
    packed : (count_packed(d + k),) scratch
    totals : (m,): the weight of each block; overwritten by partial sums
    means : (m, d + k), zero; the mean is left in the first row
    sums : (m, pad_width(d + k), the same), zero; the scatter is left in the first, at and right of the diagonal
    """
    step: cython.Py_ssize_t = 1
    d: cython.Py_ssize_t = X.shape[1]
    with cython.nogil:
        for block in range(totals.shape[0]):
            start = block * unit
            stop = min(start + unit, X.shape[0])
            if centre and totals[block] > 0.0:
                _column_sums(X[start:stop], weight[start:stop], means[block, :d])
                _column_sums(Y[start:stop], weight[start:stop], means[block, d:])
                for i in range(means.shape[1]):
                    means[block, i] /= totals[block]
            _add_scatter(X[start:stop], Y[start:stop], means[block], root[start:stop], packed, sums[block])
        # Pairs of neighbours, then pairs of pairs: the shape of the tree depends on the number of blocks only, and so
        # do the bits.
        while step < totals.shape[0]:
            block = 0
            while block + step < totals.shape[0]:
                other = block + step
                _merge(sums[block], sums[other], means[block], means[other], totals[block], totals[other])
                totals[block] += totals[other]
                block += 2 * step
            step *= 2


def unfold(sums: cython.const[cython.double][:, ::1], out: cython.double[:, ::1]):
    """Write the leading part of a matrix known at and right of its diagonal to `out`, and its mirror image."""
    n: cython.Py_ssize_t = out.shape[0]
    with cython.nogil:
        # By squares that fit into the first-level cache, since one of the two sides is walked down its columns.
        for down in range(0, n, 32):
            for across in range(down, n, 32):
                for i in range(down, min(down + 32, n)):
                    for j in range(max(across, i), min(across + 32, n)):
                        out[i, j] = sums[i, j]
                        out[j, i] = sums[i, j]
