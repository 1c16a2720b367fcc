"""Find the nearest centre of each row, and add up the rows of each cluster as k-means needs it.

The squared distance of a row to a centre is the sum that ``inline.distance_squared`` takes, and a row belongs to the
lowest of its nearest centres. So a label depends on its row and the centres alone: not on the tile, the block or the
thread. That is also what lets bounds from an earlier search (Hamerly, 2010) skip rows without changing any result.

Few centres of few values are measured against a panel of rows in lanes (see ``lanes.h``). For more of them, scores
||c||^2 / 2 - x . c come from the BLAS, a tile of rows at a time. Their rounding can be bounded; wherever the two best
scores are closer than that bound, the distances in question decide, so that both searches give the same bits.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.libc.stdint import int32_t
    from cython.cimports.mercer._native.shared import blas, inline
    from cython.cimports.mercer._native.space import lanes
else:
    from math import sqrt

    from mercer._native.shared import blas, inline
    from mercer._native.space import lanes

    int32_t = cython.int

real = cython.fused_type(cython.float, cython.double)

# Rows of `scores` and of `squares`: the least value of each row of a tile, and the runner-up.
LEAST = cython.declare(cython.Py_ssize_t, 0)
SECOND = cython.declare(cython.Py_ssize_t, 1)
# Lower bounds are multiplied by these factors, so that they stay below the true value after all rounding: one
# subtraction of float64 here, and the squares and roots that precede the comparison there.
BOUND_ROUNDING = cython.declare(cython.double, 1.0 - 1e-15)
LIMIT_ROUNDING = cython.declare(cython.double, 1.0 - 1e-12)
# A sum of d squares errs by at most d + 8 times this, relative to the sum.
SUM_ROUNDING = cython.declare(cython.double, 2.3e-16)


@cython.final
@cython.cclass
class Rows:
    """What a search writes for each of n rows, and what it knows of them and of the centres.

    Parameters
    ----------
    labels, distances : (n,), written: the nearest centre and the squared distance to it
    lower : (n,) or empty, written: a lower bound on the distance to every other centre
    weight : (n,), or empty when all weights are one
    drift : (k,): for rows of each centre, how far any other centre has moved since the last pass; empty to search all
    half_gap : (k,): half the distance of each centre to its nearest other one
    listed : (m,), the rows of a block to search for
    nearest : (t,) scratch, the centre of least score of each row of a tile, or the nearest one of each lane
    reach : the largest norm among the shifted centres
    rounding : a score's error is at most this times (||x|| + ||c||)^2 / 2
    safe : of rows whose two best scores are further apart than this, only the label is written; infinity for none
    """

    labels: int32_t[::1]
    distances: cython.double[::1]
    lower: cython.double[::1]
    weight: cython.const[cython.double][::1]
    drift: cython.const[cython.double][::1]
    half_gap: cython.const[cython.double][::1]
    listed: int32_t[::1]
    nearest: int32_t[::1]
    reach: cython.double
    rounding: cython.double
    safe: cython.double

    def __init__(self, out, weight, moves, scratch, errors=(0.0, 0.0), safe=float("inf")):
        self.labels, self.distances, self.lower = out
        self.weight = weight
        self.drift, self.half_gap = moves
        self.listed, self.nearest = scratch
        self.reach, self.rounding = errors
        self.safe = safe


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
    """Write, for each column i, the least of offset[j] - products[j, i] over j, its lowest j, and the second least."""
    centre: int32_t
    value: real
    best: real
    for i in range(label.shape[0]):
        label[i] = 0
        least[i] = offset[0] - products[0, i]
        # Larger than any score of finite data, and finite in float32 as well.
        second[i] = 3e38
    for j in range(1, offset.shape[0]):
        centre = cython.cast(int32_t, j)
        for i in range(label.shape[0]):
            # Selections without branches, over consecutive i: the compiler makes vector code of this loop.
            value = offset[j] - products[j, i]
            best = least[i]
            label[i] = centre if value < best else label[i]
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
    """Return the centre nearest to `x` by direct distances, among those whose score is at most `limit`; else 0.

    Scores that overflowed are NaN or infinite, and none is within the limit: the index must be valid all the same.
    """
    label: cython.Py_ssize_t = -1
    best: cython.double = 0.0
    for j in range(offset.shape[0]):
        # Scores are only used to leave centres out; the distances decide.
        if offset[j] - products[j, column] <= limit:
            distance = inline.distance_squared(x, centres[j])
            if label < 0 or distance < best:
                best = distance
                label = j
    return max(label, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_by_products(
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    centres: cython.const[real][:, ::1],
    shift: cython.const[real][::1],
    shifted: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    scores: real[:, ::1],
    rows: Rows,
) -> cython.void:
    """Search for the first `count` rows in ``rows.listed``; row 0 of `X` is row `first` of `rows`."""
    row: cython.Py_ssize_t
    width: cython.Py_ssize_t = tile.shape[0]
    least: cython.double
    for index in range((count + width - 1) // width):
        start = index * width
        stop = min(start + width, count)
        gather(X, rows.listed[start:stop], shift, tile)
        blas.multiply_transposed(shifted, tile[: stop - start], products)
        two_least(products, offset, rows.nearest[: stop - start], scores[LEAST], scores[SECOND])
        for i in range(stop - start):
            row = rows.listed[start + i]
            label = rows.nearest[i]
            least = scores[LEAST, i]
            gap = scores[SECOND, i] - least
            if gap > rows.safe:
                rows.labels[first + row] = cython.cast(int32_t, label)
                continue
            distance = inline.distance_squared(X[row], centres[label])
            # ||x|| <= reach + distance, all relative to the shift.
            error = 0.5 * rows.rounding * (2.0 * rows.reach + sqrt(distance)) * (2.0 * rows.reach + sqrt(distance))
            # Two scores that each err by at most `error` are in doubtful order within twice that.
            if gap <= 2.0 * error:
                label = resolve(X[row], i, least + 2.0 * error, centres, offset, products)
                distance = inline.distance_squared(X[row], centres[label])
                gap = 0.0
            rows.labels[first + row] = cython.cast(int32_t, label)
            rows.distances[first + row] = distance
            if rows.lower.shape[0] > 0:
                # Scores are half of squared distances: the runner-up is farther by twice the gap, less both errors.
                rows.lower[first + row] = sqrt(max(0.0, distance + 2.0 * gap - 4.0 * error))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_by_lanes(
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    points: cython.const[cython.double][:, ::1],
    panel: cython.double[:, ::1],
    squares: cython.double[:, ::1],
    rows: Rows,
) -> cython.void:
    """Search for the first `count` rows in ``rows.listed``; row 0 of `X` is row `first` of `rows`."""
    width: cython.Py_ssize_t = panel.shape[1]
    rounding: cython.double = 1.0 - SUM_ROUNDING * (X.shape[1] + 8)
    for index in range((count + width - 1) // width):
        start = index * width
        for i in range(min(width, count - start)):
            row = rows.listed[start + i]
            for j in range(X.shape[1]):
                panel[j, i] = X[row, j]
        # What the lanes after the last row hold is not used.
        lanes.find_nearest(panel, points, rows.nearest, squares[LEAST], squares[SECOND])
        for i in range(min(width, count - start)):
            row = first + rows.listed[start + i]
            rows.labels[row] = rows.nearest[i]
            rows.distances[row] = squares[LEAST, i]
            if rows.lower.shape[0] > 0:
                rows.lower[row] = sqrt(squares[SECOND, i] * rounding)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_doubtful(
    X: cython.const[real][:, ::1], first: cython.Py_ssize_t, centres: cython.const[real][:, ::1], rows: Rows
) -> cython.Py_ssize_t:
    """List the rows of a block whose nearest centre may have changed; return their number. Update all distances.

    A row keeps its centre c if d(x, c) < max(lower - drift, half_gap[c]) (Hamerly, 2010). `lower` is at most the
    distance to any other centre; by the triangle inequality that distance falls by at most their drift. half_gap[c] is
    half the distance from c to its nearest other centre.
    """
    count: cython.Py_ssize_t = 0
    for i in range(X.shape[0]):
        # Without drifts this is the first pass: every row is listed.
        if rows.drift.shape[0] > 0:
            label = rows.labels[first + i]
            distance = inline.distance_squared(X[i], centres[label])
            rows.distances[first + i] = distance
            # Rounding of the stored bound must not make it too large, so it is shrunk by a factor.
            bound = max(0.0, rows.lower[first + i] * BOUND_ROUNDING - rows.drift[label])
            rows.lower[first + i] = bound
            bound = max(bound, rows.half_gap[label]) * LIMIT_ROUNDING
            # Distances are squared; the bounds are not.
            if distance < bound * bound:
                continue
        rows.listed[count] = cython.cast(int32_t, i)
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
    d: cython.Py_ssize_t = X.shape[1]
    w: cython.double = 1.0
    for i in range(X.shape[0]):
        label = labels[i]
        if weight.shape[0] > 0:
            w = weight[i]
        for j in range(d):
            sums[label, j] += w * X[i, j]
        sums[label, d] += w
        # The last two columns of `sums` hold the weight of the cluster and its cost.
        sums[label, d + 1] += w * distances[i]


def search_by_products(
    X: cython.const[real][:, ::1],
    centres: cython.const[real][:, ::1],
    shift: cython.const[real][::1],
    shifted: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    scores: real[:, ::1],
    rows: Rows,
):
    """Find the centre nearest to each listed row; among equals the lowest.

    Parameters
    ----------
    X : (n, d) rows of a block
    centres : (k, d)
    shift, shifted, offset : (d,), (k, d), (k,): a point amid the centres, the centres minus it, and half the squared
        norms of those; near the data, so that scores do not cancel
    tile, products, scores : (t, d), (k, t), (2, t) scratch
    rows : which rows to search for, and where the answers are written
    """
    with cython.nogil:
        find_by_products(X, 0, rows.listed.shape[0], centres, shift, shifted, offset, tile, products, scores, rows)


def search_by_lanes(
    X: cython.const[real][:, ::1],
    points: cython.const[cython.double][:, ::1],
    panel: cython.double[:, ::1],
    squares: cython.double[:, ::1],
    rows: Rows,
):
    """Find the centre nearest to each listed row; among equals the lowest.

    Parameters
    ----------
    X : (n, d) rows of a block
    points : (k, d), the centres
    panel, squares : (d, t), (2, t) scratch
    rows : which rows to search for, and where the answers are written
    """
    with cython.nogil:
        find_by_lanes(X, 0, rows.listed.shape[0], points, panel, squares, rows)


def assign_by_lanes(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    centres: cython.const[real][:, ::1],
    points: cython.const[cython.double][:, ::1],
    panel: cython.double[:, ::1],
    squares: cython.double[:, ::1],
    rows: Rows,
    sums: cython.double[:, :, ::1],
) -> cython.Py_ssize_t:
    """Assign the rows of a run of blocks, and add them up block by block; return how many were searched for.

    Parameters
    ----------
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    centres : (k, d)
    points, panel, squares : as in `search_by_lanes`
    rows : with ``drift``, labels and bounds are those of the last pass; ``listed`` is (unit,) scratch
    sums : (m, k, d + 2), added to: per block and centre the sum of its rows, their weight, their squared distances
    """
    searched: cython.Py_ssize_t = 0
    with cython.nogil:
        for block in range(sums.shape[0]):
            start = block * unit
            stop = min(start + unit, X.shape[0])
            # Rows whose nearest centre cannot have changed are not searched for.
            count = list_doubtful(X[start:stop], start, centres, rows)
            find_by_lanes(X[start:stop], start, count, points, panel, squares, rows)
            add_members(
                X[start:stop], rows.weight[start:stop], rows.labels[start:stop], rows.distances[start:stop], sums[block]
            )
            searched += count
    return searched


def assign_by_products(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    centres: cython.const[real][:, ::1],
    shift: cython.const[real][::1],
    shifted: cython.const[real][:, ::1],
    offset: cython.const[real][::1],
    tile: real[:, ::1],
    products: real[:, ::1],
    scores: real[:, ::1],
    rows: Rows,
    sums: cython.double[:, :, ::1],
) -> cython.Py_ssize_t:
    """Assign the rows of a run of blocks as `assign_by_lanes` does.

    Parameters
    ----------
    centres, shift, shifted, offset, tile, products, scores : as in `search_by_products`
    X, unit, rows, sums : as in `assign_by_lanes`
    """
    searched: cython.Py_ssize_t = 0
    with cython.nogil:
        for block in range(sums.shape[0]):
            start = block * unit
            stop = min(start + unit, X.shape[0])
            count = list_doubtful(X[start:stop], start, centres, rows)
            find_by_products(X[start:stop], start, count, centres, shift, shifted, offset, tile, products, scores, rows)
            add_members(
                X[start:stop], rows.weight[start:stop], rows.labels[start:stop], rows.distances[start:stop], sums[block]
            )
            searched += count
    return searched


def measure_moves(after: cython.const[real][:, ::1], before: cython.const[real][:, ::1]) -> float:
    """Return the sum over centres of the squared distance from `before` to `after`, both (k, d)."""
    total: cython.double = 0.0
    with cython.nogil:
        for q in range(after.shape[0]):
            total += inline.distance_squared(after[q], before[q])
    return total
