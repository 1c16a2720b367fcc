"""Sums of a radial profile over all rows of a tree, at tiles of near points, to a stated error.

The tree is that of ``row_tree``; a tile is a box of points at which sums are wanted. A node whose profile hardly varies
over a tile is not opened: half of what it varies by, times the weight of all rows, is no more than the error allowed,
so that all nodes treated so together err by no more than that. Near nodes are met first, which makes the sums so far,
and with them a relative allowance, large soon. Distances are measured in bandwidths, differences before they are
scaled, so that nothing is lost far from the origin.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import inline
else:
    from math import sqrt

    from mercer._native.shared import inline

__all__ = ["sum_slopes", "sum_tiles"]

real = cython.fused_type(cython.float, cython.double)

# The profiles by number.
GAUSSIAN = cython.declare(cython.int, 0)
TOPHAT = cython.declare(cython.int, 1)
EPANECHNIKOV = cython.declare(cython.int, 2)
EXPONENTIAL = cython.declare(cython.int, 3)
LINEAR = cython.declare(cython.int, 4)
HALF_PI = cython.declare(cython.double, 1.5707963267948966)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def sine(x: cython.double) -> cython.double:
    """Return sin(x) for x in [0, pi / 2], to an error of x 2^-53, by its series."""
    z: cython.double = x * x
    tail: cython.double = 1.0 - z / 420.0 * (1.0 - z / 506.0)
    tail = 1.0 - z / 210.0 * (1.0 - z / 272.0 * (1.0 - z / 342.0 * tail))
    return x * (1.0 - z / 6.0 * (1.0 - z / 20.0 * (1.0 - z / 42.0 * (1.0 - z / 72.0 * (1.0 - z / 110.0 * (
        1.0 - z / 156.0 * tail))))))  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def profile(
    kind: cython.int, shift: cython.double, square: cython.double[::1], value: cython.double[::1]
) -> cython.void:
    """Write the profile at the square roots of `square`; Gaussian and exponential ones times exp(shift)."""
    j: cython.Py_ssize_t
    r: cython.double
    if kind == GAUSSIAN:
        for j in range(square.shape[0]):
            value[j] = inline.exp(shift - 0.5 * square[j])
    elif kind == TOPHAT:
        for j in range(square.shape[0]):
            value[j] = 1.0 if square[j] < 1.0 else 0.0
    elif kind == EPANECHNIKOV:
        for j in range(square.shape[0]):
            value[j] = 1.0 - square[j] if square[j] < 1.0 else 0.0
    elif kind == EXPONENTIAL:
        for j in range(square.shape[0]):
            value[j] = inline.exp(shift - sqrt(square[j]))
    elif kind == LINEAR:
        for j in range(square.shape[0]):
            r = sqrt(square[j])
            value[j] = 1.0 - r if r < 1.0 else 0.0
    else:
        # cos(pi r / 2) = sin(pi (1 - r) / 2), which keeps its digits as r nears one.
        for j in range(square.shape[0]):
            r = 1.0 - sqrt(square[j])
            r = r if r > 0.0 else 0.0
            value[j] = sine(HALF_PI * r)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slope(kind: cython.int, square: cython.double[::1], value: cython.double[::1]) -> cython.void:
    """Turn the profile k(r) in `value` into -k'(r) / r, zero where that is not defined."""
    j: cython.Py_ssize_t
    r: cython.double
    least: cython.double
    for j in range(square.shape[0]):
        r = sqrt(square[j])
        least = r if r > 0.0 else 1.0
        if kind == TOPHAT:
            value[j] = 0.0
        elif kind == EPANECHNIKOV:
            value[j] = 2.0 if r < 1.0 else 0.0
        elif kind == EXPONENTIAL:
            value[j] = value[j] / least if r > 0.0 else 0.0
        elif kind == LINEAR:
            value[j] = 1.0 / least if 0.0 < r < 1.0 else 0.0
        elif kind != GAUSSIAN:
            # -d/dr cos(pi r / 2) = (pi / 2) sin(pi r / 2).
            value[j] = HALF_PI * sine(HALF_PI * r) / least if 0.0 < r < 1.0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def box_gap(
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    tile_lower: cython.const[cython.double][::1],
    tile_upper: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
) -> cython.double:
    """Return the least squared distance between two boxes."""
    j: cython.Py_ssize_t
    step: cython.double
    total: cython.double = 0.0
    for j in range(lower.shape[0]):
        step = max(0.0, max(lower[j] - tile_upper[j], tile_lower[j] - upper[j])) * inverse[j]
        total += step * step
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def box_span(
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    tile_lower: cython.const[cython.double][::1],
    tile_upper: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
) -> cython.double:
    """Return the greatest squared distance between two boxes."""
    j: cython.Py_ssize_t
    step: cython.double
    total: cython.double = 0.0
    for j in range(lower.shape[0]):
        step = max(upper[j] - tile_lower[j], tile_upper[j] - lower[j]) * inverse[j]
        total += step * step
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lay_out(
    X: cython.const[real][:, ::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, panel: cython.double[:, ::1]
) -> cython.void:
    """Copy rows to the columns of `panel`, where the distances of all of them to a point are one loop."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for i in range(end - begin):
        for j in range(X.shape[1]):
            panel[j, i] = X[begin + i, j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(
    point: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    panel: cython.double[:, ::1],
    square: cython.double[::1],
) -> cython.void:
    """Write the squared distance of a point to each column of `panel`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    at: cython.double
    unit: cython.double
    step: cython.double
    for i in range(square.shape[0]):
        square[i] = 0.0
    for j in range(point.shape[0]):
        at = point[j]
        unit = inverse[j]
        for i in range(square.shape[0]):
            step = (at - panel[j, i]) * unit
            square[i] += step * step


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_children(
    node: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    lower: cython.const[cython.double][:, ::1],
    upper: cython.const[cython.double][:, ::1],
    tile_lower: cython.const[cython.double][::1],
    tile_upper: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    stack: cython.Py_ssize_t[::1],
) -> cython.void:
    """Put the two children of a node on the stack, the nearer on top."""
    left: cython.Py_ssize_t = 2 * node + 1
    near: cython.double = box_gap(lower[left], upper[left], tile_lower, tile_upper, inverse)
    far: cython.double = box_gap(lower[left + 1], upper[left + 1], tile_lower, tile_upper, inverse)
    stack[depth] = left if near > far else left + 1
    stack[depth + 1] = left + 1 if near > far else left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_leaf(
    kind: cython.int,
    shift: cython.double,
    weight: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    points: cython.const[cython.double][:, ::1],
    begin: cython.Py_ssize_t,
    apart: cython.bint,
    panel: cython.double[:, ::1],
    square: cython.double[::1],
    value: cython.double[::1],
    sums: cython.double[::1],
) -> cython.double:
    """Add to the sum at each point those over the rows in `panel`; return the least of all sums."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    least: cython.double = 1.7976931348623157e308
    for i in range(points.shape[0]):
        measure(points[i], inverse, panel, square)
        profile(kind, shift, square, value)
        if apart:
            for j in range(square.shape[0]):
                value[j] = value[j] if square[j] > 0.0 else 0.0
        if weight.shape[0] > 0:
            sums[i] += inline.dot(weight[begin : begin + value.shape[0]], value)
        else:
            sums[i] += inline.sum(value)
        least = sums[i] if sums[i] < least else least
    return least


def sum_tiles(
    kind: cython.int,
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    bounds: cython.const[cython.Py_ssize_t][:, ::1],
    lower: cython.const[cython.double][:, ::1],
    upper: cython.const[cython.double][:, ::1],
    mass: cython.const[cython.double][::1],
    points: cython.const[cython.double][:, ::1],
    tiles: cython.const[cython.Py_ssize_t][:, ::1],
    tile_lower: cython.const[cython.double][:, ::1],
    tile_upper: cython.const[cython.double][:, ::1],
    shift: cython.double,
    rtol: cython.double,
    atol: cython.double,
    apart: cython.bint,
    panel: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    stack: cython.Py_ssize_t[::1],
    sums: cython.double[::1],
):
    """Write the weighted sum of exp(shift) times the profile over all rows, at each point of some tiles.

    Parameters
    ----------
    kind : which profile
    X, weight : (n, d), (n,): rows in the order of the tree, and weights; empty when all are one
    inverse : (d,), one over the bandwidth of each column
    bounds, lower, upper, mass : the nodes of the tree: rows, boxes, weights
    points : (m, d), tile by tile
    tiles, tile_lower, tile_upper : (t, 2), (t, d): the points and boxes of the tiles
    shift : added to the exponents of the Gaussian and the exponential profile
    rtol, atol : no sum errs by more than rtol times itself plus atol; negative to meet every row
    apart : whether rows that are equal to a point are left out of its sum
    panel, scratch, stack : (d, l), (3, l), (64,), scratch; l rows at most in a leaf
    sums : (m,), written
    """
    tile: cython.Py_ssize_t
    first: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    half: cython.double
    least: cython.double
    surplus: cython.double
    with cython.nogil:
        for tile in range(tiles.shape[0]):
            first = tiles[tile, 0]
            stop = tiles[tile, 1]
            for i in range(first, stop):
                sums[i] = 0.0
            least = 0.0
            surplus = 0.0
            stack[0] = 0
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                begin = bounds[node, 0]
                end = bounds[node, 1]
                scratch[2, 0] = box_gap(lower[node], upper[node], tile_lower[tile], tile_upper[tile], inverse)
                if not apart or scratch[2, 0] > 0.0:
                    scratch[2, 1] = box_span(lower[node], upper[node], tile_lower[tile], tile_upper[tile], inverse)
                    profile(kind, shift, scratch[2, :2], scratch[1, :2])
                    half = 0.5 * (scratch[1, 0] - scratch[1, 1])
                    if half * mass[0] <= rtol * (least - surplus) + atol:
                        half *= mass[node]
                        for i in range(first, stop):
                            sums[i] += half + mass[node] * scratch[1, 1]
                        least += half + mass[node] * scratch[1, 1]
                        surplus += half
                        continue
                if 2 * node + 2 < bounds.shape[0]:
                    put_children(node, depth, lower, upper, tile_lower[tile], tile_upper[tile], inverse, stack)
                    depth += 2
                    continue
                lay_out(X, begin, end, panel)
                least = add_leaf(
                    kind, shift, weight, inverse, points[first:stop], begin, apart, panel,
                    scratch[0, : end - begin], scratch[1, : end - begin], sums[first:stop],
                )  # fmt: skip


def sum_slopes(
    kind: cython.int,
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    bounds: cython.const[cython.Py_ssize_t][:, ::1],
    lower: cython.const[cython.double][:, ::1],
    upper: cython.const[cython.double][:, ::1],
    mass: cython.const[cython.double][::1],
    points: cython.const[cython.double][:, ::1],
    shift: cython.const[cython.double][::1],
    sums: cython.const[cython.double][::1],
    panel: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    stack: cython.Py_ssize_t[::1],
    slopes: cython.double[:, ::1],
):
    """Write the weighted sum of exp(shift) times the gradient of the profile over all rows, at each point.

    Parameters
    ----------
    points, shift, sums : (m, d), (m,), (m,): points, what was added to exponents there, and what `sum_tiles` found
    slopes : (m, d), written
    others : as in `sum_tiles`. Rows of which the profile is lost in the rounding of the sum are left out.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    node: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    total: cython.double
    with cython.nogil:
        for i in range(points.shape[0]):
            for j in range(points.shape[1]):
                slopes[i, j] = 0.0
            stack[0] = 0
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                begin = bounds[node, 0]
                end = bounds[node, 1]
                scratch[2, 0] = box_gap(lower[node], upper[node], points[i], points[i], inverse)
                profile(kind, shift[i], scratch[2, :1], scratch[1, :1])
                if scratch[1, 0] * mass[0] <= 1e-17 * sums[i]:
                    continue
                if 2 * node + 2 < bounds.shape[0]:
                    put_children(node, depth, lower, upper, points[i], points[i], inverse, stack)
                    depth += 2
                    continue
                lay_out(X, begin, end, panel)
                measure(points[i], inverse, panel, scratch[0, : end - begin])
                profile(kind, shift[i], scratch[0, : end - begin], scratch[1, : end - begin])
                slope(kind, scratch[0, : end - begin], scratch[1, : end - begin])
                for j in range(points.shape[1]):
                    total = 0.0
                    for k in range(end - begin):
                        total += (
                            (panel[j, k] - points[i, j])
                            * scratch[1, k]
                            * (weight[begin + k] if weight.shape[0] > 0 else 1.0)
                        )
                    slopes[i, j] += total * inverse[j] * inverse[j]
