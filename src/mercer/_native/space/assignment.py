"""Rows to their nearest centres: the search, and the sums that k-means takes over each cluster.

Scores ||c||^2 / 2 - x . c come from the BLAS, a tile of rows at a time. Their rounding can be bounded; wherever the two
best scores are closer than that bound, the distances in question are taken directly, in float64. So a label depends on
its row and the centres alone: not on the tile, the BLAS, the block or the thread. That is also what lets bounds from an
earlier search (Hamerly, 2010) skip rows without changing any result.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.libc.stdint import int32_t
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from math import sqrt

    from mercer._native.shared import blas, inline

    int32_t = cython.int

__all__ = ["assign_run", "search", "search_directly"]

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(
    X: cython.const[real][:, ::1],
    rows: cython.const[int32_t][::1],
    shift: cython.const[real][::1],
    tile: real[:, ::1],
) -> cython.void:
    """Copy the listed rows, minus `shift`, to the first lines of `tile`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(X.shape[1]):
            tile[i, j] = X[row, j] - shift[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def two_least(
    products: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    label: int32_t[::1],
    least: real[::1],
    second: real[::1],
) -> cython.void:
    """Of offset[j] - products[j, i]: the least over j, its lowest j, and the runner-up, for each column i."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    number: int32_t
    value: real
    best: real
    for i in range(label.shape[0]):
        label[i] = 0
        least[i] = offset[0] - products[0, i]
        second[i] = 3e38
    for j in range(1, offset.shape[0]):
        number = cython.cast(int32_t, j)
        for i in range(label.shape[0]):
            value = offset[j] - products[j, i]
            best = least[i]
            label[i] = number if value < best else label[i]
            least[i] = value if value < best else best
            value = best if value < best else value
            second[i] = value if value < second[i] else second[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve(
    x: cython.const[real][::1],
    column: cython.Py_ssize_t,
    limit: cython.double,
    centres: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    products: cython.const[real][:, ::1],
) -> cython.Py_ssize_t:
    """Return the centre nearest to `x` by direct distances, among those whose score is at most `limit`."""
    j: cython.Py_ssize_t
    label: cython.Py_ssize_t = -1
    distance: cython.double
    best: cython.double = 0.0
    for j in range(offset.shape[0]):
        if offset[j] - products[j, column] <= limit:
            distance = inline.distance_squared(x, centres[j])
            if label < 0 or distance < best:
                best = distance
                label = j
    return label


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(
    X: cython.const[real][:, ::1],
    rows: cython.const[int32_t][::1],
    centres: cython.const[real][:, ::1],
    shift: cython.const[real][::1],
    shifted: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    reach: cython.double,
    rounding: cython.double,
    labels: int32_t[::1],
    distances: cython.double[::1],
    lower: cython.double[::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    found: int32_t[::1],
    scores: real[:, ::1],
) -> cython.void:
    """What `search` does."""
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    index: cython.Py_ssize_t
    label: cython.Py_ssize_t
    width: cython.Py_ssize_t = tile.shape[0]
    error: cython.double
    gap: cython.double
    least: cython.double
    distance: cython.double
    for index in range((rows.shape[0] + width - 1) // width):
        start = index * width
        stop = min(start + width, rows.shape[0])
        gather(X, rows[start:stop], shift, tile)
        blas.multiply_transposed(shifted, tile[: stop - start], products)
        two_least(products, offset, found[: stop - start], scores[0], scores[1])
        for i in range(stop - start):
            row = rows[start + i]
            label = found[i]
            least = scores[0, i]
            gap = scores[1, i] - least
            distance = inline.distance_squared(X[row], centres[label])
            # ||x|| <= reach + distance, all relative to the shift.
            error = 0.5 * rounding * (2.0 * reach + sqrt(distance)) * (2.0 * reach + sqrt(distance))
            if gap <= 2.0 * error:
                label = resolve(X[row], i, least + 2.0 * error, centres, offset, products)
                distance = inline.distance_squared(X[row], centres[label])
                gap = 0.0
            labels[row] = cython.cast(int32_t, label)
            distances[row] = distance
            if lower.shape[0] > 0:
                lower[row] = sqrt(max(0.0, distance + 2.0 * gap - 4.0 * error))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_doubtful(
    X: cython.const[real][:, ::1],
    centres: cython.const[real][:, ::1],
    drift: cython.const[cython.double][::1],
    half_gap: cython.const[cython.double][::1],
    labels: cython.const[int32_t][::1],
    distances: cython.double[::1],
    lower: cython.double[::1],
    rows: int32_t[::1],
) -> cython.Py_ssize_t:
    """List in `rows` the rows whose nearest centre may have changed; return how many. Distances are those of now."""
    i: cython.Py_ssize_t
    label: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    bound: cython.double
    for i in range(X.shape[0]):
        if drift.shape[0] > 0:
            label = labels[i]
            distances[i] = inline.distance_squared(X[i], centres[label])
            # The factors keep the bounds on the safe side of all rounding done on them.
            lower[i] = max(0.0, lower[i] * (1.0 - 1e-15) - drift[label])
            bound = max(lower[i], half_gap[label]) * (1.0 - 1e-12)
            if distances[i] < bound * bound:
                continue
        rows[count] = cython.cast(int32_t, i)
        count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_members(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    labels: cython.const[int32_t][::1],
    distances: cython.const[cython.double][::1],
    sums: cython.double[:, ::1],
) -> cython.void:
    """Add each row, times its weight, to its cluster's row of `sums`; then its weight, and its cost."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    label: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    w: cython.double = 1.0
    for i in range(X.shape[0]):
        label = labels[i]
        if weight.shape[0] > 0:
            w = weight[i]
        for j in range(d):
            sums[label, j] += w * X[i, j]
        sums[label, d] += w
        sums[label, d + 1] += w * distances[i]


def search(
    X: cython.const[real][:, ::1],
    rows: cython.const[int32_t][::1],
    centres: cython.const[real][:, ::1],
    shift: cython.const[real][::1],
    shifted: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    reach: cython.double,
    rounding: cython.double,
    labels: int32_t[::1],
    distances: cython.double[::1],
    lower: cython.double[::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    found: int32_t[::1],
    scores: real[:, ::1],
):
    """Find the centre nearest to each listed row; among equals the lowest.

    Parameters
    ----------
    X : (n, d) rows of a block
    rows : which of them to search for
    centres : (k, d)
    shift, shifted, offset : (d,), (k, d), (k,): a point amid the centres, the centres minus it, and half the squared
        norms of those; near the data, so that scores do not cancel
    reach : the largest norm among `shifted`
    rounding : a score's error is at most this times (||x|| + ||c||)^2 / 2
    labels, distances : (n,), written for the listed rows: the nearest centre and the squared distance to it
    lower : (n,) or empty, written: a lower bound on the distance to every other centre
    tile, products, found, scores : (t, d), (k, t), (t,), (2, t) scratch
    """
    with cython.nogil:
        find(
            X, rows, centres, shift, shifted, offset, reach, rounding,
            labels, distances, lower, tile, products, found, scores,
        )  # fmt: skip


def assign_run(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    centres: cython.const[real][:, ::1],
    shift: cython.const[real][::1],
    shifted: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    reach: cython.double,
    rounding: cython.double,
    drift: cython.const[cython.double][::1],
    half_gap: cython.const[cython.double][::1],
    labels: int32_t[::1],
    distances: cython.double[::1],
    lower: cython.double[::1],
    rows: int32_t[::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    found: int32_t[::1],
    scores: real[:, ::1],
    sums: cython.double[:, :, ::1],
) -> cython.Py_ssize_t:
    """Assign the rows of a run of blocks, and add them up block by block; return how many were searched for.

    Parameters
    ----------
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    weight : (n,), or empty when all weights are one
    centres, shift, shifted, offset, reach, rounding, tile, products, found, scores : as in `search`
    drift : (k,): for rows of each centre, how far any other centre has moved since the last pass; empty to search all
    half_gap : (k,): half the distance to the nearest other centre
    labels, distances : (n,), written; with `drift`, labels are those of the last pass
    lower : (n,), lowered; or empty
    rows : (unit,) scratch
    sums : (m, k, d + 2), added to: per block and centre the sum of its rows, their weight, their squared distances
    """
    block: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    count: cython.Py_ssize_t
    searched: cython.Py_ssize_t = 0
    with cython.nogil:
        for block in range(sums.shape[0]):
            start = block * unit
            stop = min(start + unit, X.shape[0])
            count = list_doubtful(
                X[start:stop], centres, drift, half_gap, labels[start:stop], distances[start:stop],
                lower[start:stop], rows,
            )  # fmt: skip
            find(
                X[start:stop], rows[:count], centres, shift, shifted, offset, reach, rounding, labels[start:stop],
                distances[start:stop], lower[start:stop], tile, products, found, scores,
            )  # fmt: skip
            add_members(X[start:stop], weight[start:stop], labels[start:stop], distances[start:stop], sums[block])
            searched += count
    return searched


def search_directly(
    X: cython.const[real][:, ::1],
    centres: cython.const[real][:, ::1],
    labels: int32_t[::1],
    distances: cython.double[::1],
):
    """Find the centre nearest to each row by all distances in turn: the definition of `search`, and for few rows."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    distance: cython.double
    with cython.nogil:
        for i in range(X.shape[0]):
            labels[i] = 0
            distances[i] = inline.distance_squared(X[i], centres[0])
            for j in range(1, centres.shape[0]):
                distance = inline.distance_squared(X[i], centres[j])
                if distance < distances[i]:
                    distances[i] = distance
                    labels[i] = cython.cast(int32_t, j)
