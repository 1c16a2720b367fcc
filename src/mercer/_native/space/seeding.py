"""The passes of k-means++: each row's distance to its nearest centre, with and without candidates, and the draws."""

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
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    distance: cython.double
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
    count: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    width: cython.Py_ssize_t = tile.shape[0]
    own: cython.double
    w: cython.double = 1.0
    distance: cython.double
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
    block: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
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
    block: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def draw_rows(
    weight: cython.const[cython.double][::1],
    closest: cython.const[cython.double][::1],
    places: cython.const[cython.double][::1],
    total: cython.double,
    ends: cython.double[::1],
    drawn: cython.Py_ssize_t[::1],
) -> cython.void:
    """Write the row at each of `places` along the masses w_i closest_i, whose sum is `total`."""
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    last: cython.Py_ssize_t = 0
    mass: cython.double
    running: cython.double = 0.0
    for i in range(closest.shape[0]):
        mass = closest[i] if weight.shape[0] == 0 else weight[i] * closest[i]
        running += mass
        ends[i] = running
        last = i if mass > 0.0 else last
    for t in range(places.shape[0]):
        low = 0
        high = closest.shape[0]
        # The first row whose masses up to and with its own exceed the place.
        while low < high:
            middle = (low + high) // 2
            if ends[middle] > places[t] * total:
                high = middle
            else:
                low = middle + 1
        # Rounding may lead past the last row of positive mass, or to a row without mass: take the next possible row.
        while low < last and not (closest[low] if weight.shape[0] == 0 else weight[low] * closest[low]) > 0.0:
            low += 1
        drawn[t] = min(low, last)


def draw_centres(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    places: cython.const[cython.double][:, ::1],
    chosen: cython.Py_ssize_t[::1],
    drawn: cython.Py_ssize_t[::1],
    closest: cython.double[::1],
    ends: cython.double[::1],
    candidates: real[:, ::1],
    norms: cython.double[::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    totals: cython.double[:, ::1],
):
    """Draw the centres of k-means++ after the first, each the best of some rows: all passes over few rows in one call.

    Parameters
    ----------
    X, weight : as in `keep_nearest`, of one block
    places : (k - 1, c): where along the masses the candidates of each centre lie, in [0, 1)
    chosen : (k,): the row of the first centre; those of the others are written
    drawn, closest, ends : (c,), (n,), (n,) scratch; `closest` holds infinity
    candidates, norms, tile, products, totals : (c, d), (c,), (t, d), (c, t), (1, c) scratch, as in `try_candidates`
    """
    step: cython.Py_ssize_t
    count: cython.Py_ssize_t
    t: cython.Py_ssize_t
    j: cython.Py_ssize_t
    best: cython.Py_ssize_t
    total: cython.double = 0.0
    with cython.nogil:
        for step in range(1, chosen.shape[0]):
            # The sum for the first centre is taken here; later ones are known from the choice of their candidate.
            if step == 1:
                total = lower_block(X, weight, X[chosen[0] : chosen[0] + 1], closest)
            else:
                lower_block(X, weight, X[chosen[step - 1] : chosen[step - 1] + 1], closest)
            # If every row sits on a centre already, there are fewer positions than centres: the first is taken again.
            count = 1
            drawn[0] = chosen[0]
            if total > 0.0:
                count = drawn.shape[0]
                draw_rows(weight, closest, places[step - 1], total, ends, drawn)
            for t in range(count):
                totals[0, t] = 0.0
                for j in range(X.shape[1]):
                    candidates[t, j] = X[drawn[t], j] - X[drawn[0], j]
            judge_block(X, weight, X[drawn[0]], candidates[:count], norms, closest, tile, products, totals[0])
            best = 0
            for t in range(1, count):
                best = t if totals[0, t] < totals[0, best] else best
            total = totals[0, best]
            chosen[step] = drawn[best]
