"""Sum a radial profile over all rows of a tree, for tiles of nearby points, to a stated error.

``box_tree.split`` builds the tree; a tile is a box of points at which sums are wanted. A node is not opened if half the
variation of the profile over it, times the weight of all rows, is at most the error allowed: then all such nodes
together err by no more than that. Near nodes are met first, so that the sums, and with them a relative error allowed,
grow early. Differences are divided by bandwidths only after they are taken, so that no digits are lost far from the
origin.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import inline
else:
    from math import sqrt

    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)

# Indices of the profiles; any higher index is the cosine.
GAUSSIAN = cython.declare(cython.int, 0)
TOPHAT = cython.declare(cython.int, 1)
EPANECHNIKOV = cython.declare(cython.int, 2)
EXPONENTIAL = cython.declare(cython.int, 3)
LINEAR = cython.declare(cython.int, 4)
HALF_PI = cython.declare(cython.double, 1.5707963267948966)
# Columns of `bounds`: the first row of a node, and the row after its last.
BEGIN = cython.declare(cython.Py_ssize_t, 0)
END = cython.declare(cython.Py_ssize_t, 1)
# Rows of `scratch`: squared distances and profiles of the rows of a leaf; least and greatest squares of a node.
SQUARE = cython.declare(cython.Py_ssize_t, 0)
VALUE = cython.declare(cython.Py_ssize_t, 1)
SPAN = cython.declare(cython.Py_ssize_t, 2)
# A node that adds less than this fraction of the sum (a tenth of float64's rounding) cannot change it.
NEGLIGIBLE = cython.declare(cython.double, 1e-17)


@cython.final
@cython.cclass
class Tree:
    """The nodes of a tree of n rows, the profile that is summed over them, and scratch.

    Parameters
    ----------
    kind, weight : which profile; (n,), weights in the order of the tree, empty when all are one
    inverse : (d,), one over the bandwidth of each column
    bounds, lower, upper, mass : (m, 2), (m, d), (m, d), (m,): rows, boxes and weights of the nodes
    panel, scratch, stack : (d, l), (3, l), (64,) scratch; l rows at most in a leaf
    """

    kind: cython.int
    weight: cython.const[cython.double][::1]
    inverse: cython.const[cython.double][::1]
    bounds: cython.const[cython.Py_ssize_t][:, ::1]
    lower: cython.const[cython.double][:, ::1]
    upper: cython.const[cython.double][:, ::1]
    mass: cython.const[cython.double][::1]
    panel: cython.double[:, ::1]
    scratch: cython.double[:, ::1]
    stack: cython.Py_ssize_t[::1]

    def __init__(self, kind, weight, inverse, nodes, scratch):
        self.kind, self.weight, self.inverse = kind, weight, inverse
        self.bounds, self.lower, self.upper, self.mass = nodes
        self.panel, self.scratch, self.stack = scratch


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def sine(x: cython.double) -> cython.double:
    """Return sin(x) for `x` in [0, pi / 2] by its Taylor series, with an error of at most x 2^-53."""
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
    """Turn the profile k(r) in `value` into -k'(r) / r, and into zero where that is undefined (Gaussian: unchanged)."""
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
    tree: Tree,
    node: cython.Py_ssize_t,
    tile_lower: cython.const[cython.double][::1],
    tile_upper: cython.const[cython.double][::1],
) -> cython.double:
    """Return the least squared distance between the box of a node and a tile."""
    total: cython.double = 0.0
    for j in range(tile_lower.shape[0]):
        step = max(0.0, max(tree.lower[node, j] - tile_upper[j], tile_lower[j] - tree.upper[node, j])) * tree.inverse[j]
        total += step * step
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def box_span(
    tree: Tree,
    node: cython.Py_ssize_t,
    tile_lower: cython.const[cython.double][::1],
    tile_upper: cython.const[cython.double][::1],
) -> cython.double:
    """Return the greatest squared distance between the box of a node and a tile."""
    total: cython.double = 0.0
    for j in range(tile_lower.shape[0]):
        step = max(tree.upper[node, j] - tile_lower[j], tile_upper[j] - tree.lower[node, j]) * tree.inverse[j]
        total += step * step
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lay_out(
    X: cython.const[real][:, ::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, panel: cython.double[:, ::1]
) -> cython.void:
    """Copy rows to the columns of `panel`, so that one vector loop computes the distances of all to a point."""
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
    """Write the squared distance of `point`, in bandwidths, to each column of `panel`."""
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
    tree: Tree,
    node: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    tile_lower: cython.const[cython.double][::1],
    tile_upper: cython.const[cython.double][::1],
) -> cython.void:
    """Put the two children of a node on the stack, the nearer on top."""
    left: cython.Py_ssize_t = 2 * node + 1
    right: cython.Py_ssize_t = left + 1
    near: cython.double = box_gap(tree, left, tile_lower, tile_upper)
    far: cython.double = box_gap(tree, right, tile_lower, tile_upper)
    tree.stack[depth] = left if near > far else right
    tree.stack[depth + 1] = right if near > far else left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_leaf(
    tree: Tree,
    begin: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    shift: cython.double,
    points: cython.const[cython.double][:, ::1],
    apart: cython.bint,
    sums: cython.double[::1],
) -> cython.double:
    """Add the profile summed over the `size` rows in the panel to the sum at each point; return the least sum."""
    least: cython.double = 1.7976931348623157e308
    square: cython.double[::1] = tree.scratch[SQUARE, :size]
    value: cython.double[::1] = tree.scratch[VALUE, :size]
    for i in range(points.shape[0]):
        measure(points[i], tree.inverse, tree.panel, square)
        profile(tree.kind, shift, square, value)
        if apart:
            for j in range(size):
                value[j] = value[j] if square[j] > 0.0 else 0.0
        if tree.weight.shape[0] > 0:
            sums[i] += inline.dot(tree.weight[begin : begin + size], value)
        else:
            sums[i] += inline.sum(value)
        least = sums[i] if sums[i] < least else least
    return least


def sum_tiles(
    X: cython.const[real][:, ::1],
    tree: Tree,
    points: cython.const[cython.double][:, ::1],
    tiles: cython.const[cython.Py_ssize_t][:, ::1],
    tile_lower: cython.const[cython.double][:, ::1],
    tile_upper: cython.const[cython.double][:, ::1],
    shift: cython.double,
    rtol: cython.double,
    atol: cython.double,
    apart: cython.bint,
    sums: cython.double[::1],
):
    """Write sum_j w_j exp(shift) k(|x - x_j|) over all rows j, for each point x of some tiles.

    Parameters
    ----------
    X : (n, d), rows in the order of the tree
    points : (m, d), tile by tile
    tiles, tile_lower, tile_upper : (t, 2), (t, d), (t, d): the points and boxes of the tiles
    shift : added to the exponents of the Gaussian and exponential profiles, against underflow
    rtol, atol : no sum errs by more than rtol times itself plus atol; negative to compute every distance
    apart : whether rows equal to a point are left out of its sum
    sums : (m,), written
    """
    span: cython.double[::1] = tree.scratch[SPAN, :2]
    value: cython.double[::1] = tree.scratch[VALUE, :2]
    with cython.nogil:
        for tile in range(tiles.shape[0]):
            first = tiles[tile, BEGIN]
            stop = tiles[tile, END]
            for i in range(first, stop):
                sums[i] = 0.0
            # The least sum of the tile so far, and a bound on how much unopened nodes may have added in excess to it.
            least = 0.0
            surplus = 0.0
            tree.stack[0] = 0
            depth = 1
            while depth > 0:
                depth -= 1
                node = tree.stack[depth]
                begin = tree.bounds[node, BEGIN]
                end = tree.bounds[node, END]
                span[0] = box_gap(tree, node, tile_lower[tile], tile_upper[tile])
                if not apart or span[0] > 0.0:
                    span[1] = box_span(tree, node, tile_lower[tile], tile_upper[tile])
                    profile(tree.kind, shift, span, value)
                    half = 0.5 * (value[0] - value[1])  # the error of the midpoint
                    if half * tree.mass[0] <= rtol * (least - surplus) + atol:  # true sums >= least - surplus
                        half *= tree.mass[node]
                        for i in range(first, stop):
                            sums[i] += half + tree.mass[node] * value[1]
                        least += half + tree.mass[node] * value[1]
                        surplus += half
                        continue
                if 2 * node + 2 < tree.bounds.shape[0]:
                    put_children(tree, node, depth, tile_lower[tile], tile_upper[tile])
                    depth += 2
                    continue
                lay_out(X, begin, end, tree.panel)
                least = add_leaf(tree, begin, end - begin, shift, points[first:stop], apart, sums[first:stop])


def sum_slopes(
    X: cython.const[real][:, ::1],
    tree: Tree,
    points: cython.const[cython.double][:, ::1],
    shift: cython.const[cython.double][::1],
    sums: cython.const[cython.double][::1],
    slopes: cython.double[:, ::1],
):
    """Write the gradient of sum_j w_j exp(shift) k(|x - x_j|) at each point x.

    Parameters
    ----------
    X, tree : as in `sum_tiles`
    points, shift, sums : (m, d), (m,), (m,): points, the shift of their exponents, and what `sum_tiles` wrote
    slopes : (m, d), written; rows whose profile is below the rounding of the sum are left out
    """
    total: cython.double
    weighted: cython.bint = tree.weight.shape[0] > 0
    square: cython.double[::1] = tree.scratch[SQUARE]
    value: cython.double[::1] = tree.scratch[VALUE]
    with cython.nogil:
        for i in range(points.shape[0]):
            for j in range(points.shape[1]):
                slopes[i, j] = 0.0
            tree.stack[0] = 0
            depth = 1
            while depth > 0:
                depth -= 1
                node = tree.stack[depth]
                begin = tree.bounds[node, BEGIN]
                size = tree.bounds[node, END] - begin
                square[0] = box_gap(tree, node, points[i], points[i])
                profile(tree.kind, shift[i], square[:1], value[:1])
                if value[0] * tree.mass[0] <= NEGLIGIBLE * sums[i]:
                    continue
                if 2 * node + 2 < tree.bounds.shape[0]:
                    put_children(tree, node, depth, points[i], points[i])
                    depth += 2
                    continue
                lay_out(X, begin, begin + size, tree.panel)
                measure(points[i], tree.inverse, tree.panel, square[:size])
                profile(tree.kind, shift[i], square[:size], value[:size])
                slope(tree.kind, square[:size], value[:size])
                for j in range(points.shape[1]):
                    total = 0.0
                    for k in range(size):
                        total += (
                            (tree.panel[j, k] - points[i, j]) * value[k] * (tree.weight[begin + k] if weighted else 1.0)
                        )
                    slopes[i, j] += total * tree.inverse[j] * tree.inverse[j]
