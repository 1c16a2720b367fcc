"""The log marginal likelihood of a Gaussian process on one tile of rows, its slope and its curvatures.

The covariance is C = c P + diag(v) with P = p(s) a radial kernel of the squared distance s in length scales, c its
amplitude, and v noise, white noise and jitter. With a = C^-1 y, V = C^-1 and C_q the derivative of C by a parameter q,
the slope is (a' C_q a - tr V C_q) / 2 and the curvature that is given is (C_q a)' V (C_r a) / 2. The parameters are

    0: log c, with C_q a = y - v a and tr V C_q = n - sum_i v_i V_ii,
    1: the white noise, with C_q the identity,
    2, ...: log of the length scale, or of each column's, with C_q = c S times squared differences and S = -2 dp/ds.

Rows are few enough that all matrices fit in the second-level cache, and one thread does it all.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline, lapack
else:
    from mercer._native.shared import blas, inline, lapack

NAN = cython.declare(cython.double, float("nan"))
LOG_TWO_PI = cython.declare(cython.double, 1.8378770664093453)


@cython.cclass
class Tile:
    """The arrays of one evaluation.

    Parameters
    ----------
    values : P (n, n), S (n, n), D (n, n)
        The kernel's profile, its slopes and the squared distances; S may be P. D is overwritten.
    given : Z (n, d), Y (k, n), noise (n,)
        Rows in length scales, targets, and what is added to the diagonal before white noise.
    factors : C (n, n), V (n, n), a (k, n)
        The factor of the covariance and its inverse, in their lower triangles, and C^-1 Y.
    results : slope (q,), information (q, q), q = 2 without free length scales, 3 with one, 2 + d with one a column
    room : turned (q k, n), powers (r k, n), products (n, r k), r = 2 d + 1 if q = 2 + d > 3, else 1
        Scratch.
    """

    cython.declare(P=cython.double[:, ::1], S=cython.double[:, ::1], D=cython.double[:, ::1])
    cython.declare(Z=cython.double[:, ::1], Y=cython.double[:, ::1], noise=cython.double[::1])
    cython.declare(C=cython.double[:, ::1], V=cython.double[:, ::1], a=cython.double[:, ::1])
    cython.declare(slope=cython.double[::1], information=cython.double[:, ::1], turned=cython.double[:, ::1])
    cython.declare(powers=cython.double[:, ::1], products=cython.double[:, ::1])

    def __init__(self, values, given, factors, results, room):
        self.P, self.S, self.D = values
        self.Z, self.Y, self.noise = given
        self.C, self.V, self.a = factors
        self.slope, self.information = results
        self.turned, self.powers, self.products = room


def factorise(tile: Tile, amplitude: cython.double, added: cython.double) -> cython.double:
    """Factorise the covariance with `added` on its diagonal beside the noise; return the log-likelihood, NaN if none.

    The profile is one on its diagonal, whatever rounding has made of the distance of a row to itself.
    """
    n: cython.Py_ssize_t = tile.C.shape[0]
    k: cython.Py_ssize_t = tile.Y.shape[0]
    fit: cython.double = 0.0
    volume: cython.double = 0.0
    with cython.nogil:
        for i in range(n):
            for j in range(i):
                tile.C[i, j] = amplitude * tile.P[i, j]
            tile.C[i, i] = amplitude + tile.noise[i] + added
        if lapack.factor_corner(tile.C, 0, n) != 0:
            fit = NAN
        else:
            tile.a[:, :] = tile.Y
            lapack.solve_factored(tile.C, tile.a)
            for i in range(k):
                fit += inline.dot(tile.Y[i], tile.a[i])
            for i in range(n):
                volume += inline.log(tile.C[i, i])
    return -0.5 * fit - k * volume - 0.5 * n * k * LOG_TWO_PI


def differentiate(tile: Tile, amplitude: cython.double, added: cython.double) -> cython.double:
    """Write the slope and the information at the values last factorised; return the sum of C_ii (a_i^2 + k V_ii)."""
    n: cython.Py_ssize_t = tile.C.shape[0]
    k: cython.Py_ssize_t = tile.Y.shape[0]
    squares: cython.double
    charge: cython.double = 0.0
    share: cython.double = 0.0
    trace: cython.double = 0.0
    length: cython.double = 0.0
    with cython.nogil:
        tile.V[:, :] = tile.C
        lapack.invert_factored(tile.V)
        for i in range(n):
            squares = 0.0
            for t in range(k):
                tile.turned[t, i] = tile.Y[t, i] - (tile.noise[i] + added) * tile.a[t, i]
                tile.turned[k + t, i] = tile.a[t, i]
                squares += tile.a[t, i] * tile.a[t, i]
            length += squares
            trace += tile.V[i, i]
            share += (tile.noise[i] + added) * tile.V[i, i]
            charge += (amplitude + tile.noise[i] + added) * (squares + k * tile.V[i, i])
        tile.slope[0] = 0.0
        for t in range(k):
            tile.slope[0] += 0.5 * inline.dot(tile.a[t], tile.turned[t])
        tile.slope[0] -= 0.5 * k * (n - share)
        tile.slope[1] = 0.5 * (length - k * trace)
        if tile.slope.shape[0] == 3:
            turn_by_scale(tile, amplitude)
        elif tile.slope.shape[0] > 3:
            turn_by_columns(tile, amplitude)
        lapack.solve_lower(tile.C, tile.turned)
        correlate(tile, k)
    return charge


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def turn_by_scale(tile: Tile, amplitude: cython.double) -> cython.void:
    """Write C_q a and the slope of one length scale for all columns, which is the last parameter."""
    n: cython.Py_ssize_t = tile.C.shape[0]
    k: cython.Py_ssize_t = tile.Y.shape[0]
    total: cython.double = 0.0
    for i in range(n):
        for j in range(n):
            tile.D[i, j] = amplitude * tile.S[i, j] * tile.D[i, j]
        tile.D[i, i] = 0.0
        for t in range(k):
            tile.turned[2 * k + t, i] = inline.dot(tile.D[i], tile.a[t])
        # The lower triangle counts for the upper one.
        total -= 2.0 * k * inline.dot(tile.V[i, :i], tile.D[i, :i])
    for t in range(k):
        total += inline.dot(tile.a[t], tile.turned[2 * k + t])
    tile.slope[2] = 0.5 * total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def turn_by_columns(tile: Tile, amplitude: cython.double) -> cython.void:
    """Write C_q a and the slopes of a length scale for each column.

    (z_i - z_j)^2 = z_i^2 - 2 z_i z_j + z_j^2 makes products of S with a, z a and z^2 a of the first, and of V S with 1
    and z of the second.
    """
    n: cython.Py_ssize_t = tile.C.shape[0]
    d: cython.Py_ssize_t = tile.Z.shape[1]
    k: cython.Py_ssize_t = tile.Y.shape[0]
    z: cython.double
    for i in range(n):
        for t in range(k):
            tile.powers[t, i] = amplitude * tile.a[t, i]
            for m in range(d):
                z = tile.Z[i, m]
                tile.powers[(1 + m) * k + t, i] = amplitude * z * tile.a[t, i]
                tile.powers[(1 + d + m) * k + t, i] = amplitude * z * z * tile.a[t, i]
    blas.multiply_transposed(tile.S, tile.powers, tile.products)
    for i in range(n):
        for m in range(d):
            z = tile.Z[i, m]
            for t in range(k):
                tile.turned[(2 + m) * k + t, i] = (
                    z * (z * tile.products[i, t] - 2.0 * tile.products[i, (1 + m) * k + t])
                    + tile.products[i, (1 + d + m) * k + t]
                )
    for i in range(n):
        tile.powers[0, i] = 1.0
        for m in range(d):
            tile.powers[1 + m, i] = tile.Z[i, m]
        for j in range(i):
            tile.V[i, j] = amplitude * tile.V[i, j] * tile.S[i, j]
            tile.V[j, i] = tile.V[i, j]
        tile.V[i, i] = 0.0
    blas.multiply_transposed(tile.V, tile.powers[: 1 + d], tile.products)
    for m in range(d):
        z = 0.0
        for i in range(n):
            z += tile.Z[i, m] * (tile.Z[i, m] * tile.products[i, 0] - tile.products[i, 1 + m])
        z = -2.0 * k * z
        for t in range(k):
            z += inline.dot(tile.a[t], tile.turned[(2 + m) * k + t])
        tile.slope[2 + m] = 0.5 * z


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def correlate(tile: Tile, k: cython.Py_ssize_t) -> cython.void:
    """Write half the products of L^-1 C_q a between all pairs of parameters."""
    for q in range(tile.slope.shape[0]):
        for r in range(q + 1):
            total = 0.0
            for t in range(k):
                total += inline.dot(tile.turned[q * k + t], tile.turned[r * k + t])
            tile.information[q, r] = 0.5 * total
            tile.information[r, q] = 0.5 * total
