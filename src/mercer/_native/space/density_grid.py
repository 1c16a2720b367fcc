"""Interpolation by polynomials in each cell of a lattice: row weights go to its nodes, values are computed from them.

Each cell has p Chebyshev nodes a side. The share of a row in a node is the product over columns of the node's Lagrange
polynomial, by the barycentric formula; at a node itself, where that divides by zero, it is one or zero.
"""

import cython

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def share(
    x: cython.double,
    nodes: cython.const[cython.double][::1],
    barycentric: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> cython.void:
    """Write the value at `x` of each node's Lagrange polynomial: one at that node and zero at the others."""
    at: cython.Py_ssize_t = -1
    total: cython.double = 0.0
    # Barycentric formula: l_a(x) = (w_a / (x - x_a)) / sum_b w_b / (x - x_b).
    for a in range(nodes.shape[0]):
        if x == nodes[a]:
            at = a
    for a in range(nodes.shape[0]):
        # At a node the formula divides by zero; there the polynomial is one and all others are zero.
        out[a] = barycentric[a] / (x - nodes[a]) if at < 0 else 0.0
        total += out[a]
    if at >= 0:
        out[at] = total = 1.0
    for a in range(nodes.shape[0]):
        out[a] /= total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def locate(
    x: cython.const[real][::1],
    origin: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    shape: cython.const[cython.Py_ssize_t][::1],
    nodes: cython.const[cython.double][::1],
    barycentric: cython.const[cython.double][::1],
    shares: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Write the shares of `x` in the nodes of its cell, a line per column; return the cell, -1 outside the lattice."""
    j: cython.Py_ssize_t
    step: cython.Py_ssize_t
    cell: cython.Py_ssize_t = 0
    place: cython.double
    for j in range(x.shape[0]):
        place = (x[j] - origin[j]) * inverse[j]
        # Written so that NaN is outside too.
        if not (place >= 0.0 and place <= shape[j]):
            return -1
        # The upper edge of the lattice belongs to the last cell.
        step = min(cython.cast(cython.Py_ssize_t, place), shape[j] - 1)
        # Within a cell, coordinates run from -1 to 1, as Chebyshev nodes do.
        share(2.0 * (place - step) - 1.0, nodes, barycentric, shares[j])
        cell = cell * shape[j] + step
    return cell


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unfold(shares: cython.const[cython.double][:, ::1], out: cython.double[::1]) -> cython.void:
    """Write all products of one share per column, of size p^d, the last column running fastest."""
    width: cython.Py_ssize_t = shares.shape[1]
    size: cython.Py_ssize_t = 1
    out[0] = 1.0
    for j in range(shares.shape[0] - 1, -1, -1):
        for a in range(width - 1, -1, -1):
            for b in range(size):
                # Line 0 holds the products so far, from which all lines are made: so it is overwritten last.
                out[a * size + b] = shares[j, a] * out[b]
        size *= width


def distribute_weights(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    origin: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    shape: cython.const[cython.Py_ssize_t][::1],
    nodes: cython.const[cython.double][::1],
    barycentric: cython.const[cython.double][::1],
    shares: cython.double[:, ::1],
    product: cython.double[::1],
    charges: cython.double[:, ::1],
    near: cython.double[::1],
):
    """Add the weight of each row to the nodes of its cell (`charges`) and to the cell's total (`near`).

    Parameters
    ----------
    X, weight : (n, d), (n,): rows inside the lattice, and weights; empty when all are one
    origin, inverse, shape : (d,): the lowest corner, one over the sides of a cell, and the cells along each column
    nodes, barycentric : (p,)
    shares, product : (d, p), (p^d,), scratch
    charges, near : (cells, p^d), (cells,), added to
    """
    w: cython.double = 1.0
    with cython.nogil:
        for i in range(X.shape[0]):
            # A row spreads its weight over the p^d nodes of its cell by the product of its shares along the columns.
            cell = locate(X[i], origin, inverse, shape, nodes, barycentric, shares)
            unfold(shares, product)
            if weight.shape[0] > 0:
                w = weight[i]
            near[cell] += w
            for k in range(product.shape[0]):
                charges[cell, k] += w * product[k]


def read_off(
    points: cython.const[cython.double][:, ::1],
    origin: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    shape: cython.const[cython.Py_ssize_t][::1],
    nodes: cython.const[cython.double][::1],
    barycentric: cython.const[cython.double][::1],
    potential: cython.const[cython.double][:, ::1],
    near: cython.const[cython.double][::1],
    shares: cython.double[:, ::1],
    product: cython.double[::1],
    sums: cython.double[::1],
    reached: cython.double[::1],
):
    """Write the interpolated value at each point, and the weight within reach of its cell; -1 outside the lattice."""
    total: cython.double
    with cython.nogil:
        for i in range(points.shape[0]):
            cell = locate(points[i], origin, inverse, shape, nodes, barycentric, shares)
            # Outside the lattice nothing is interpolated; -1 tells the caller so.
            if cell < 0:
                sums[i] = 0.0
                reached[i] = -1.0
                continue
            unfold(shares, product)
            total = 0.0
            for k in range(product.shape[0]):
                total += product[k] * potential[cell, k]
            sums[i] = total
            reached[i] = near[cell]
