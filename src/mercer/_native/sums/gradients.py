"""Losses of scores and their gradients: of scores that are known, and of a run of blocks of rows.

A run of blocks needs each row twice, for a score and for a gradient, while it is in the cache.

Scores of several columns and their gradients are products by BLAS, a tile of rows at a time, in float64 whatever the
rows; one column is done by hand, since its cost is reading the rows once.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline, row_losses
else:
    from mercer._native.shared import blas, inline, row_losses

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def score(x: cython.const[real][::1], w: cython.const[cython.double][::1]) -> cython.double:
    """Return x . w over the length of x, by eight running sums added pairwise."""
    # Eight running sums fill the vector registers; their order of addition is fixed, and so are the bits.
    part = cython.declare(cython.double[8])
    whole = x.shape[0] - x.shape[0] % 8
    for lane in range(8):
        part[lane] = 0.0
    for j in range(0, whole, 8):
        for lane in range(8):
            part[lane] += cython.cast(cython.double, x[j + lane]) * w[j + lane]
    for j in range(whole, x.shape[0]):
        part[j - whole] += cython.cast(cython.double, x[j]) * w[j]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_rows(
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    factors: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> cython.void:
    """Add to `out` the sum of `count` rows, each times its factor; four at a time, to move `out` less often."""
    i: cython.Py_ssize_t = 0
    d = X.shape[1]
    # The additions of one entry keep the order of the rows, as if they were added one by one.
    while i + 4 <= count:
        for j in range(d):
            out[j] = (
                ((out[j] + factors[i] * X[first + i, j]) + factors[i + 1] * X[first + i + 1, j])
                + factors[i + 2] * X[first + i + 2, j]
            ) + factors[i + 3] * X[first + i + 3, j]
        i += 4
    while i < count:
        for j in range(d):
            out[j] += factors[i] * X[first + i, j]
        i += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def meet_rows(
    loss: cython.int,
    shape: cython.double,
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    residuals: cython.double[::1],
) -> cython.double:
    """Return the weighted sum of the losses of some rows, whose scores `residuals` become weighted slopes."""
    # Eight running sums fill the vector registers; their order of addition is fixed, and so are the bits.
    part = cython.declare(cython.double[8])
    # Runs of 64 rows on the stack, where no other pointer reaches them, so that loops over them vectorise.
    z = cython.declare(cython.double[64])
    t = cython.declare(cython.double[64])
    value = cython.declare(cython.double[64])
    slope = cython.declare(cython.double[64])
    bend = cython.declare(cython.double[64])
    for lane in range(8):
        part[lane] = 0.0
    for first in range(0, count, 64):
        run = min(count - first, 64)
        for i in range(run):
            z[i] = residuals[first + i]
            t[i] = y[start + first + i]
        row_losses.measure_run(loss, shape, t, z, run, value, slope, bend)
        if weight.shape[0] > 0:
            for i in range(run):
                value[i] *= weight[start + first + i]
                slope[i] *= weight[start + first + i]
        for i in range(run):
            residuals[first + i] = slope[i]
        whole = run - run % 8
        for i in range(0, whole, 8):
            for lane in range(8):
                part[lane] += value[i + lane]
        for i in range(whole, run):
            part[i - whole] += value[i]
    # Pairwise, always in this order: the same bits on every CPU.
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


def sum_rows(
    loss: cython.int,
    shape: cython.double,
    scores: cython.double[::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
) -> cython.double:
    """Return the weighted sum of a loss of one score, see ``row_losses``; scores become weighted slopes.

    An empty `weight` means ones.
    """
    with cython.nogil:
        total = meet_rows(loss, shape, y, weight, 0, scores.shape[0], scores)
    return total


def row_run(
    loss: cython.int,
    shape: cython.double,
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    w: cython.const[cython.double][::1],
    residuals: cython.double[::1],
    sums: cython.double[:, ::1],
):
    """Compute the losses of one score of a run of blocks and their gradients, block by block.

    Parameters
    ----------
    loss, shape : the number of the loss and its parameter; see ``row_losses``
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    y : (n,)
    weight : (n,), or empty when all weights are one
    w : (d + 1,): coefficients and, last, the intercept
    residuals : (t,) scratch for a tile of rows; t divides `unit`
    sums : (m, d + 2), zero: the gradient by coefficients, by the intercept, and the sum of the losses
    """
    start = 0
    d = X.shape[1]
    tile = residuals.shape[0]
    with cython.nogil:
        while start < X.shape[0]:
            # t divides `unit`: a tile never crosses the end of a block, and sums per block do not depend on who
            # computes them.
            block = start // unit
            count = min(tile, X.shape[0] - start)
            # All scores of the tile first: the rows are still in the cache when `add_rows` needs them again.
            for i in range(count):
                residuals[i] = score(X[start + i], w) + w[d]
            total = meet_rows(loss, shape, y, weight, start, count, residuals)
            add_rows(X, start, count, residuals, sums[block])
            sums[block, d] += inline.sum(residuals[:count])
            sums[block, d + 1] += total
            start += count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def exponentiate(scores: cython.double[:, ::1], flat: cython.double[::1], most: cython.double[::1]) -> cython.void:
    """Turn scores into exp(score - most of its row); `flat` is `scores` as one row, whose loop vectorises at any k."""
    top: cython.double
    # Differences to the largest score of a row cannot overflow exp, and their sum is at least one.
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for j in range(1, scores.shape[1]):
            top = scores[i, j] if scores[i, j] > top else top
        for j in range(scores.shape[1]):
            scores[i, j] -= top
        most[i] = top
    for j in range(flat.shape[0]):
        flat[j] = inline.exp(flat[j])


def softmax(
    scores: cython.double[:, ::1],
    flat: cython.double[::1],
    y: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    part: cython.double[::1],
) -> cython.double:
    """Return the weighted sum of log(sum_j exp(z_j)) - z_y; overwrite scores by weight (probability - target).

    `flat` is `scores` seen as one row, `part` room for one number per row; an empty `weight` means ones.
    """
    i: cython.Py_ssize_t
    size: cython.double
    sum_exp: cython.double
    total: cython.double = 0.0
    weighted: cython.bint = weight.shape[0] > 0
    with cython.nogil:
        # The target's score is needed as it is, before the scores become exponentials.
        for i in range(scores.shape[0]):
            total -= (weight[i] if weighted else 1.0) * scores[i, y[i]]
        exponentiate(scores, flat, part)
        for i in range(scores.shape[0]):
            size = weight[i] if weighted else 1.0
            sum_exp = 0.0
            for j in range(scores.shape[1]):
                sum_exp += scores[i, j]
            total += size * (part[i] + inline.log(sum_exp))
            # One division a row, in place of one a class.
            sum_exp = size / sum_exp
            for j in range(scores.shape[1]):
                scores[i, j] *= sum_exp
            scores[i, y[i]] -= size
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def centre_tile(
    X: cython.const[real][:, ::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    mean: cython.const[cython.double][::1],
    tile: cython.double[:, ::1],
) -> cython.void:
    """Copy rows, less `mean` unless it is empty, to the first lines of `tile`."""
    for i in range(count):
        if mean.shape[0] > 0:
            for j in range(X.shape[1]):
                tile[i, j] = cython.cast(cython.double, X[start + i, j]) - mean[j]
        else:
            for j in range(X.shape[1]):
                tile[i, j] = X[start + i, j]


def softmax_run(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    y: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    W: cython.const[cython.double][:, ::1],
    intercept: cython.const[cython.double][::1],
    tile: cython.double[:, ::1],
    scores: cython.double[:, ::1],
    flat: cython.double[::1],
    most: cython.double[::1],
    sums: cython.double[:, :, ::1],
):
    """Compute the softmax losses of a run of blocks and their gradients, block by block.

    Parameters
    ----------
    X, unit, weight : as in `row_run`
    y : (n,), from 0 to k - 1
    W, intercept : (k, d), (k,)
    tile, scores, flat, most : (t, d), (t, k), the same as one row, (t,) scratch; t divides `unit`
    sums : (m, k, d + 2), zero: per class the gradient by coefficients, by its intercept, and (in the first) the losses
    """
    start = 0
    d = X.shape[1]
    k = W.shape[0]
    size: cython.double = 1.0
    total: cython.double
    sum_exp: cython.double
    no_mean: cython.const[cython.double][::1] = weight[:0]
    with cython.nogil:
        while start < X.shape[0]:
            block = start // unit
            count = min(tile.shape[0], X.shape[0] - start)
            centre_tile(X, start, count, no_mean, tile)
            blas.multiply_transposed(tile[:count], W, scores)
            total = 0.0
            for i in range(count):
                for j in range(k):
                    scores[i, j] += intercept[j]
                if weight.shape[0] > 0:
                    size = weight[start + i]
                # The target's score is needed as it is, before the scores become exponentials.
                # The loss is log(sum exp(z)) - z_y, so the score of the target is subtracted.
                total -= size * scores[i, y[start + i]]
            exponentiate(scores[:count], flat[: count * k], most)
            for i in range(count):
                if weight.shape[0] > 0:
                    size = weight[start + i]
                sum_exp = 0.0
                for j in range(k):
                    sum_exp += scores[i, j]
                # The largest score was taken off before the exponentials: it is added back.
                total += size * (most[i] + inline.log(sum_exp))
                sum_exp = size / sum_exp
                for j in range(k):
                    scores[i, j] *= sum_exp
                # Derivatives of the loss by the scores: weight (probability - target).
                scores[i, y[start + i]] -= size
                for j in range(k):
                    sums[block, j, d] += scores[i, j]
            blas.add_transposed_product(scores[:count], tile[:count], sums[block])
            sums[block, 0, d + 1] += total
            start += count


def residual_run(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    Y: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    coef: cython.const[cython.double][:, ::1],
    mean: cython.const[cython.double][::1],
    y_mean: cython.const[cython.double][::1],
    tile: cython.double[:, ::1],
    values: cython.double[:, ::1],
    sums: cython.double[:, :, ::1],
):
    """Compute residuals r = (y - y_mean) - (x - mean) . coef of a run of blocks, and their products with the rows.

    Parameters
    ----------
    X, unit, weight : as in `row_run`
    Y, coef, y_mean : (n, k), (k, d), (k,)
    mean : (d,)
    tile, values : (t, d), (t, k) scratch; t divides `unit`
    sums : (m, k, d + 2), zero: per target the weighted sums of r (x - mean), of r, and of r^2
    """
    start = 0
    d = X.shape[1]
    size = 1.0
    with cython.nogil:
        while start < X.shape[0]:
            block = start // unit
            count = min(tile.shape[0], X.shape[0] - start)
            centre_tile(X, start, count, mean, tile)
            blas.multiply_transposed(tile[:count], coef, values)
            for i in range(count):
                if weight.shape[0] > 0:
                    size = weight[start + i]
                for j in range(Y.shape[1]):
                    # Centred targets and rows: the intercept needs no column of its own.
                    r = (Y[start + i, j] - y_mean[j]) - values[i, j]
                    # The weight enters once: w r times r and w r times the row.
                    values[i, j] = size * r
                    sums[block, j, d] += values[i, j]
                    sums[block, j, d + 1] += r * values[i, j]
            blas.add_transposed_product(values[:count], tile[:count], sums[block])
            start += count
