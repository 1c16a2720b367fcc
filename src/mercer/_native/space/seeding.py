"""The passes of k-means++ over blocks: each row's distance to its nearest centre, with and without candidates."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from mercer._native.shared import blas, inline

__all__ = ["keep_nearest", "try_candidates"]

real = cython.fused_type(cython.float, cython.double)


def keep_nearest(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    centres: cython.const[real][:, ::1],
    closest: cython.double[::1],
    totals: cython.double[::1],
):
    """Lower `closest` to each row's squared distance to the nearest new centre; write its weighted sum by block.

    Parameters
    ----------
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    weight : (n,), or empty when all weights are one
    centres : (k, d)
    closest : (n,), lowered
    totals : (m,), written
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    block: cython.Py_ssize_t
    distance: cython.double
    total: cython.double
    with cython.nogil:
        for block in range(totals.shape[0]):
            total = 0.0
            for i in range(block * unit, min((block + 1) * unit, X.shape[0])):
                for j in range(centres.shape[0]):
                    distance = inline.distance_squared(X[i], centres[j])
                    closest[i] = distance if distance < closest[i] else closest[i]
                total += closest[i] if weight.shape[0] == 0 else weight[i] * closest[i]
            totals[block] = total


def try_candidates(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    shift: cython.const[real][::1],
    candidates: cython.const[real][:, ::1],
    norms: cython.const[cython.double][::1],
    closest: cython.const[cython.double][::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    totals: cython.double[:, ::1],
):
    """Add to `totals`, per block and candidate, the weighted sum of min(closest, distance to the candidate).

    Parameters
    ----------
    X, unit, weight : as in `keep_nearest`
    shift : (d,), subtracted from the rows
    candidates, norms : (c, d), (c,): the candidates minus `shift`, and their squared norms
    closest : (n,)
    tile, products : (t, d), (c, t) scratch; t divides `unit`
    totals : (m, c), added to
    """
    start: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    width: cython.Py_ssize_t = tile.shape[0]
    own: cython.double
    w: cython.double = 1.0
    distance: cython.double
    with cython.nogil:
        while start < X.shape[0]:
            count = min(width, X.shape[0] - start)
            for i in range(count):
                for j in range(X.shape[1]):
                    tile[i, j] = X[start + i, j] - shift[j]
            blas.multiply_transposed(candidates, tile[:count], products)
            for i in range(count):
                own = inline.dot(tile[i], tile[i])
                if weight.shape[0] > 0:
                    w = weight[start + i]
                # |x - c|^2 = |x|^2 - 2 x . c + |c|^2; cancellation may make it negative. Only the choice among
                # candidates uses it.
                for j in range(candidates.shape[0]):
                    distance = max(0.0, own - 2.0 * products[j, i] + norms[j])
                    totals[start // unit, j] += w * min(closest[start + i], distance)
            start += count
