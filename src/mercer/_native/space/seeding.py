"""The passes of k-means++: each row's distance to its nearest centre, with and without candidates."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from mercer._native.shared import blas, inline

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lower_block(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    centres: cython.const[real][:, ::1],
    closest: cython.double[::1],
) -> cython.double:
    """Lower `closest` to the squared distance of each row to the nearest centre; return its weighted sum."""
    total: cython.double = 0.0
    for i in range(X.shape[0]):
        # Several new centres may come at once; `closest` already holds the distance to all centres before.
        for j in range(centres.shape[0]):
            distance = inline.distance_squared(X[i], centres[j])
            closest[i] = distance if distance < closest[i] else closest[i]
        # Summed in the order of rows: the caller adds blocks in a fixed tree.
        total += closest[i] if weight.shape[0] == 0 else weight[i] * closest[i]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def judge_block(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    shift: cython.const[real][::1],
    candidates: cython.const[real][:, ::1],
    norms: cython.double[::1],
    closest: cython.const[cython.double][::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    totals: cython.double[::1],
) -> cython.void:
    """Add to `totals`, per candidate, the weighted sum of min(closest, distance to the candidate)."""
    start: cython.Py_ssize_t = 0
    width: cython.Py_ssize_t = tile.shape[0]
    w: cython.double = 1.0
    for j in range(candidates.shape[0]):
        norms[j] = inline.dot(candidates[j], candidates[j])
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
                totals[j] += w * min(closest[start + i], distance)
        start += count


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
    with cython.nogil:
        for block in range(totals.shape[0]):
            start = block * unit
            stop = min(start + unit, X.shape[0])
            totals[block] = lower_block(X[start:stop], weight[start:stop], centres, closest[start:stop])


def try_candidates(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    shift: cython.const[real][::1],
    candidates: cython.const[real][:, ::1],
    norms: cython.double[::1],
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
    candidates : (c, d), minus `shift`
    norms : (c,) scratch: their squared norms
    closest : (n,)
    tile, products : (t, d), (c, t) scratch; t divides `unit`
    totals : (m, c), added to
    """
    with cython.nogil:
        for block in range(totals.shape[0]):
            start = block * unit
            stop = min(start + unit, X.shape[0])
            judge_block(
                X[start:stop],
                weight[start:stop],
                shift,
                candidates,
                norms,
                closest[start:stop],
                tile,
                products,
                totals[block],
            )
