"""Values of Mercer kernels from a tile of dot products, in place.

A tile holds the dot products of some rows with others, as a BLAS leaves them. Radial kernels are functions of the
squared distance s = x.x + y.y - 2 x.y, which rounding may leave below zero: it is cut there. One pass over the tile, in
the arithmetic of ``inline.pxd``, so that the values have the same bits at every CPU level.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.dual import radial as rows
    from cython.cimports.mercer._native.dual import row_dots
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.dual import radial as rows
    from mercer._native.dual import row_dots
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)

# The radial profiles by number; mercer.kernels names them in the same order.
SQUARE = cython.declare(cython.int, 0)
GAUSSIAN = cython.declare(cython.int, 1)
EXPONENTIAL = cython.declare(cython.int, 2)
MATERN_3 = cython.declare(cython.int, 3)
MATERN_5 = cython.declare(cython.int, 4)
QUADRATIC = cython.declare(cython.int, 5)
# 1.5 * 2^52: adding it leaves no bits for a fraction, so that taking it away again leaves the nearest integer.
ROUNDER = cython.declare(cython.double, 6755399441055744.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def profile(kind: cython.int, shape: cython.double, scale: cython.double, s: real[::1]) -> cython.void:
    """Turn squared distances into values of a radial kernel."""
    r: real
    a: real = shape
    c: real = scale
    # With r = sqrt(s) the profiles are exp(-c s), exp(-c r), (1 + c r) exp(-c r) and (1 + c r + (c r)^2 / 3) exp(-c r).
    if kind == GAUSSIAN:
        for j in range(s.shape[0]):
            s[j] = inline.exp(-c * s[j])
    elif kind == EXPONENTIAL:
        for j in range(s.shape[0]):
            s[j] = inline.exp(-c * row_dots.root(s[j]))
    elif kind == MATERN_3:
        for j in range(s.shape[0]):
            r = c * row_dots.root(s[j])
            s[j] = (1 + r) * inline.exp(-r)
    elif kind == MATERN_5:
        for j in range(s.shape[0]):
            r = c * row_dots.root(s[j])
            s[j] = (1 + r + r * r / 3) * inline.exp(-r)
    # The rational quadratic (1 + c s)^-a, as an exponential of a logarithm.
    elif kind == QUADRATIC:
        for j in range(s.shape[0]):
            s[j] = inline.exp(-a * inline.log1p(c * s[j]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slope(kind: cython.int, shape: cython.double, scale: cython.double, s: real[::1]) -> cython.void:
    """Turn squared distances s into -2 dk/ds, zero where a kernel has a cusp."""
    r: real
    a: real = shape
    c: real = scale
    if kind == GAUSSIAN:
        for j in range(s.shape[0]):
            s[j] = 2 * c * inline.exp(-c * s[j])
    elif kind == EXPONENTIAL:
        for j in range(s.shape[0]):
            r = row_dots.root(s[j])
            # The slope is infinite at distance zero, where the caller needs zero: the difference of the rows is zero
            # too.
            s[j] = c * inline.exp(-c * r) / (r if r > 0 else 1) if r > 0 else 0
    elif kind == MATERN_3:
        for j in range(s.shape[0]):
            # d/ds of (1 + r) exp(-r) with r = c sqrt(s) is -c^2 exp(-r) / 2: no division by the distance is left.
            s[j] = c * c * inline.exp(-c * row_dots.root(s[j]))
    elif kind == MATERN_5:
        for j in range(s.shape[0]):
            r = c * row_dots.root(s[j])
            s[j] = c * c / 3 * (1 + r) * inline.exp(-r)
    elif kind == QUADRATIC:
        for j in range(s.shape[0]):
            s[j] = 2 * a * c * inline.exp(-(a + 1) * inline.log1p(c * s[j]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def square_distances(square: real, others: cython.const[real][::1], tile: real[::1]) -> cython.void:
    """Turn the dot products of one row with others into squared distances."""
    for j in range(tile.shape[0]):
        # Rounding may make the distance of near rows negative.
        s = (square + others[j]) - 2 * tile[j]
        tile[j] = s if s > 0 else 0


def radial(
    kind: cython.int,
    shape: cython.double,
    scale: cython.double,
    squares: cython.const[real][::1],
    others: cython.const[real][::1],
    tile: real[:, ::1],
):
    """Turn dot products into values of a radial kernel.

    Parameters
    ----------
    kind : which profile: with s the squared distance and r its root, 0: s; 1: exp(-scale s); 2: exp(-scale r);
        3: (1 + t) exp(-t), t = scale r; 4: (1 + t + t^2 / 3) exp(-t); 5: (1 + scale s)^-shape
    shape, scale : of the profile
    squares, others : (n,), (m,): squared lengths of the rows and of the others
    tile : (n, m), dot products, overwritten
    """
    with cython.nogil:
        for i in range(tile.shape[0]):
            square_distances(squares[i], others, tile[i])
            profile(kind, shape, scale, tile[i])


def radial_rows(
    form: cython.const[cython.double][::1],
    X: cython.const[real][:, ::1],
    squares: cython.const[real][::1],
    chosen: cython.const[cython.Py_ssize_t][::1],
    columns: cython.const[cython.Py_ssize_t][::1],
    slots: cython.const[cython.Py_ssize_t][::1],
    offset: cython.Py_ssize_t,
    left: real[:, ::1],
    panels: real[:, :, ::1],
    others: real[::1],
    tile: real[:, ::1],
    table: real[:, ::1],
):
    """Write a radial kernel between rows of `X` to a table: product, profile and copy in one.

    Parameters
    ----------
    form : (4,): kind, shape and scale of the profile, as of `radial`, and a factor of all values
    X, squares : (n, d), (n,): rows and their squared lengths
    chosen, slots : (q,): indices of rows, and the rows of `table` that their values go to
    columns : (m,): indices of the other rows; their values go to the columns of `table` from `offset` on
    left, panels, others, tile : (8, d), (m / w, d, w), (m,), (8, m) scratch, m rounded up to a multiple of the width w
        of a panel: 128 bytes
    table : written
    """
    extent = cython.declare(rows.Extent)
    extent.first, extent.last, extent.begin, extent.end = 0, chosen.shape[0], 0, columns.shape[0]
    extent.panel, extent.offset, extent.scratch = 0, offset, 0
    with cython.nogil:
        rows.pack_columns(X, squares, columns, 0, columns.shape[0], panels, others)
        rows.fill(form, X, squares, chosen, slots, columns, panels, others, extent, left, tile, table)


def slopes(
    kind: cython.int,
    shape: cython.double,
    scale: cython.double,
    squares: cython.const[real][::1],
    others: cython.const[real][::1],
    tile: real[:, ::1],
):
    """Turn dot products into -2 dk/ds, s the squared distance, of a radial kernel; arguments as of `radial`."""
    with cython.nogil:
        for i in range(tile.shape[0]):
            square_distances(squares[i], others, tile[i])
            slope(kind, shape, scale, tile[i])


def powers(gamma: cython.double, coef0: cython.double, degree: cython.Py_ssize_t, tile: real[:, ::1]):
    """Turn dot products t into (gamma t + coef0)^degree, by squaring."""
    base: real
    value: real
    factor: real = gamma
    shift: real = coef0
    with cython.nogil:
        for i in range(tile.shape[0]):
            # The degrees that people use have loops of their own, without the inner loop, which are vectorised.
            if degree == 2:
                for j in range(tile.shape[1]):
                    base = factor * tile[i, j] + shift
                    tile[i, j] = base * base
            elif degree == 3:
                for j in range(tile.shape[1]):
                    base = factor * tile[i, j] + shift
                    tile[i, j] = base * base * base
            else:
                for j in range(tile.shape[1]):
                    base = factor * tile[i, j] + shift
                    value = 1
                    left = degree
                    while left > 0:
                        # Binary powers: the bits of the degree from the lowest on.
                        value = value * base if left % 2 == 1 else value
                        base = base * base
                        left = left // 2
                    tile[i, j] = value


def tangents(gamma: cython.double, coef0: cython.double, tile: real[:, ::1]):
    """Turn dot products t into tanh(gamma t + coef0)."""
    factor: real = gamma
    shift: real = coef0
    with cython.nogil:
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                tile[i, j] = inline.tanh(factor * tile[i, j] + shift)


def exponentials(scale: cython.double, tile: real[:, ::1]):
    """Turn each element t of a tile into exp(-scale t)."""
    factor: real = scale
    with cython.nogil:
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                tile[i, j] = inline.exp(-factor * tile[i, j])


def add_absolute(rows: cython.const[real][:, ::1], columns: cython.const[real][:, ::1], tile: real[:, ::1]):
    """Write sums of absolute differences of rows (n, d) and others, given as the columns of (d, m), to `tile`."""
    with cython.nogil:
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                tile[i, j] = 0
            # Columns outside, others inside: the inner loop runs along memory and keeps one number of the row.
            for k in range(rows.shape[1]):
                at = rows[i, k]
                for j in range(tile.shape[1]):
                    gap = at - columns[k, j]
                    tile[i, j] += gap if gap > 0 else -gap


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def cosine(x: cython.double) -> cython.double:
    """Return cos(x), to an absolute error of some 2^-53 (1 + |x|), which rounding x itself has made as large.

    With n the nearest integer to x / pi and r = x - n pi, taken off in three parts, cos(x) = (-1)^n sin(pi / 2 - |r|),
    by the series of the sine.
    """
    # The nearest integer to x / pi, without a branch; see ROUNDER.
    n: cython.double = (x * 0.3183098861837907 + ROUNDER) - ROUNDER
    # pi in three parts (Cody and Waite): the product of n with the first has few enough bits to be exact for moderate
    # n.
    r: cython.double = ((x - n * 3.1415926534682512) - n * 1.21542009963449e-10) - n * 1.6667485837041758e-19
    # n is odd where it differs from twice its half.
    half: cython.double = (n * 0.5 + ROUNDER) - ROUNDER
    odd: cython.double = n - 2.0 * half
    y: cython.double = 1.5707963267948966 - (r if r > 0.0 else -r)
    # Arguments above 2^51 have no fraction left to speak of; they stay in range.
    y = y if y > -1.5707963267948966 else -1.5707963267948966
    z: cython.double = y * y
    # The Taylor series of sin(y) for |y| <= pi / 2, to y^21, from the highest term down.
    tail: cython.double = 2.8114572543455206e-15 + z * (-8.22063524662433e-18 + z * 1.9572941063391263e-20)
    tail = -2.505210838544172e-08 + z * (1.6059043836821613e-10 + z * (-7.647163731819816e-13 + z * tail))
    tail = 0.008333333333333333 + z * (-0.0001984126984126984 + z * (2.7557319223985893e-06 + z * tail))
    return (1.0 - 2.0 * odd * odd) * (y + y * z * (-0.16666666666666666 + z * tail))


def waves(factor: cython.double, offset: cython.const[real][::1], tile: real[:, ::1]):
    """Turn each element t of a tile into factor cos(t + offset), with the offset of its column."""
    with cython.nogil:
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                tile[i, j] = factor * cosine(cython.cast(cython.double, tile[i, j]) + offset[j])
