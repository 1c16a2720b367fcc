"""Nearest rows by other norms than the Euclidean one, down a tree of boxes, and by tables of any distances.

The p-norm of x is (sum |x_j|^p)^(1/p), the largest |x_j| for infinite p. In d dimensions it is at least the Euclidean
norm for p <= 2, and at least d^(1/p - 1/2) times it for p > 2. So the Euclidean gap to a box, times that factor, bounds
the distance to every row inside it, and one tree of boxes serves every norm.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY, fabs, pow
    from cython.cimports.mercer._native.nearest import heaps
    from cython.cimports.mercer._native.space import space
else:
    from math import fabs, pow
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.nearest import heaps
    from mercer._native.space import space

real = cython.fused_type(cython.float, cython.double)

# Columns of `nodes`.
FIRST_LEAF = cython.declare(cython.Py_ssize_t, 0)
N_LEAVES = cython.declare(cython.Py_ssize_t, 1)


@cython.final
@cython.cclass
class Norm:
    """A norm, and a tree of boxes that is searched by it for one query at a time.

    Parameters
    ----------
    nodes, boxes, order : (2 m - 1, 2), (2 m - 1, 2, d), (n,): the tree, and the row at each of its places
    scratch : box (2, d) of the query, stack and gaps (128,), distances to the rows of a leaf (32,)
    power : p, at least one; infinity for the largest difference
    factor : the p-norm is at least the root of this times the square of the Euclidean norm; a little less, for rounding
    """

    nodes: cython.const[cython.int][:, ::1]
    boxes: cython.const[cython.double][:, :, ::1]
    order: cython.const[cython.int][::1]
    box: cython.double[:, ::1]
    stack: cython.int[::1]
    gaps: cython.double[::1]
    near: cython.double[::1]
    power: cython.double
    factor: cython.double

    def __init__(self, nodes, boxes, order, scratch, power, factor):
        self.nodes, self.boxes, self.order = nodes, boxes, order
        self.box, self.stack, self.gaps, self.near = scratch
        self.power, self.factor = power, factor


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_leaf(
    leaves: cython.const[real][:, :, ::1],
    leaf: cython.Py_ssize_t,
    queries: cython.const[cython.double][:, ::1],
    query: cython.Py_ssize_t,
    power: cython.double,
    near: cython.double[::1],
) -> cython.void:
    """Write the p-norms of the differences between a query and the rows of a leaf."""
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    value: cython.double
    step: cython.double
    near[:] = 0.0
    for j in range(queries.shape[1]):
        value = queries[query, j]
        if power == 1.0:
            for lane in range(32):
                near[lane] += fabs(cython.cast(cython.double, leaves[leaf, j, lane]) - value)
        elif power == INFINITY:
            for lane in range(32):
                step = fabs(cython.cast(cython.double, leaves[leaf, j, lane]) - value)
                near[lane] = step if step > near[lane] else near[lane]
        else:
            for lane in range(32):
                near[lane] += pow(fabs(cython.cast(cython.double, leaves[leaf, j, lane]) - value), power)
    if power != 1.0 and power != INFINITY:
        for lane in range(32):
            near[lane] = pow(near[lane], 1.0 / power)


def search_norm(
    queries: cython.const[cython.double][:, ::1],
    own: cython.const[cython.Py_ssize_t][::1],
    leaves: cython.const[real][:, :, ::1],
    norm: Norm,
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
):
    """Find the k nearest rows of each query by a p-norm, in order.

    Parameters
    ----------
    queries, own : (b, d), (b,): `own` is a row that is not a neighbour of the query, or -1
    leaves : (m, d, 32), the rows of the tree
    distances, indices : (b, k), heaps as `heaps` says; written, the nearest row first; distances are not squared
    """
    i: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    node: cython.Py_ssize_t
    place: cython.Py_ssize_t
    top: cython.Py_ssize_t
    near: cython.double[::1] = norm.near
    order: cython.const[cython.int][::1] = norm.order
    with cython.nogil:
        for i in range(queries.shape[0]):
            space.enclose(queries, i, i + 1, norm.box)
            norm.stack[0] = 0
            norm.gaps[0] = space.box_gap(norm.boxes, 0, norm.box)
            top = 1
            while top > 0:
                node = norm.stack[top - 1]
                if norm.gaps[top - 1] * norm.factor > distances[i, 0] * distances[i, 0]:
                    top -= 1
                    continue
                if norm.nodes[node, N_LEAVES] > 1:
                    top = space.descend(norm.boxes, norm.nodes, norm.box, top, norm.stack, norm.gaps)
                    continue
                top -= 1
                measure_leaf(leaves, norm.nodes[node, FIRST_LEAF], queries, i, norm.power, near)
                place = norm.nodes[node, FIRST_LEAF] * space.width()
                for lane in range(min(space.width(), order.shape[0] - place)):
                    if near[lane] <= distances[i, 0] and order[place + lane] != own[i]:
                        heaps.offer(distances, indices, i, near[lane], order[place + lane])
            heaps.sort_line(distances, indices, i)


def search_table(
    table: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    own: cython.const[cython.Py_ssize_t][::1],
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
):
    """Offer the rows from `first` on to the heaps of some queries, by a table of distances; heaps are not sorted.

    Parameters
    ----------
    table : (b, c), the distances from b queries to c rows
    own : (b,), a row that is not a neighbour of the query, or -1
    distances, indices : (b, k), heaps
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for i in range(table.shape[0]):
            for j in range(table.shape[1]):
                if table[i, j] <= distances[i, 0] and first + j != own[i]:
                    heaps.offer(distances, indices, i, table[i, j], first + j)


def sort_table(distances: cython.double[:, ::1], indices: cython.Py_ssize_t[:, ::1]):
    """Sort the heap of each query: the nearest row first."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(distances.shape[0]):
            heaps.sort_line(distances, indices, i)
