"""The E step of a mixture over a run of blocks: scores of features, responsibilities, and the features they weigh.

The components' log densities are linear in features of a row: one, the row, and its squares or products of pairs. Two
products by BLAS, a tile of rows at a time, give all scores and all sums; the features of a tile lie one below the
other, so that all between the two products runs along rows in full registers. Responsibilities exist for a tile only.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from mercer._native.shared import blas, inline

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _multiply_rows(
    first: cython.const[cython.double][::1],
    second: cython.const[cython.double][::1],
    count: cython.Py_ssize_t,
    out: cython.double[::1],
) -> cython.void:
    for i in range(count):
        out[i] = first[i] * second[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_features(
    X: cython.const[real][:, ::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    shift: cython.const[cython.double][::1],
    form: cython.Py_ssize_t,
    features: cython.double[:, ::1],
) -> cython.void:
    """Write the features of rows `start` to `start + count`: ones, columns less `shift`, and by `form` nothing (0), the
    sum of their squares (1), their squares (2), or the products of all pairs, the first not after the second (3).
    """
    d: cython.Py_ssize_t = X.shape[1]
    place: cython.Py_ssize_t = d + 1
    for i in range(count):
        features[0, i] = 1.0
        for j in range(d):
            features[j + 1, i] = cython.cast(cython.double, X[start + i, j]) - shift[j]
    # Loops run along the tile, whose values lie side by side, for each column in turn.
    # Spherical components need the squared length only.
    if form == 1:
        for i in range(count):
            features[place, i] = 0.0
        for j in range(1, d + 1):
            for i in range(count):
                features[place, i] += features[j, i] * features[j, i]
    # Diagonal components need the square of every column.
    elif form == 2:
        for j in range(1, d + 1):
            _multiply_rows(features[j], features[j], count, features[place])
            place += 1
    # Full covariances need the products of all pairs i <= j.
    elif form == 3:
        for j in range(1, d + 1):
            for other in range(j, d + 1):
                _multiply_rows(features[j], features[other], count, features[place])
                place += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_largest(
    scores: cython.const[cython.double][:, ::1], count: cython.Py_ssize_t, most: cython.double[::1]
) -> cython.void:
    """Write the largest score of each row of the data, which is a column here."""
    for i in range(count):
        # The largest score is taken off before exp: no overflow, and the sum is at least one.
        most[i] = scores[0, i]
    for q in range(1, scores.shape[0]):
        for i in range(count):
            most[i] = scores[q, i] if scores[q, i] > most[i] else most[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _share_softly(
    scores: cython.double[:, ::1],
    count: cython.Py_ssize_t,
    size: cython.const[cython.double][::1],
    most: cython.double[::1],
    total: cython.double[::1],
) -> cython.double:
    """Turn scores into responsibilities times the rows' sizes; return the sum of size times log of summed exp."""
    for i in range(count):
        total[i] = 0.0
    # The largest score is taken off first, so that no exponential overflows.
    for q in range(scores.shape[0]):
        for i in range(count):
            scores[q, i] = inline.exp(scores[q, i] - most[i])
        for i in range(count):
            total[i] += scores[q, i]
    for i in range(count):
        # log sum exp(score) = most + log(total); `most` is reused for the row's part of the bound.
        most[i] = size[i] * (most[i] + inline.log(total[i]))
        # Each responsibility is the exponential times size over the sum.
        total[i] = size[i] / total[i]
    for q in range(scores.shape[0]):
        for i in range(count):
            scores[q, i] *= total[i]
    return inline.sum(most[:count])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _share_wholly(
    scores: cython.double[:, ::1],
    count: cython.Py_ssize_t,
    size: cython.const[cython.double][::1],
    most: cython.double[::1],
    total: cython.double[::1],
) -> cython.double:
    """Assign each row to its best component (the first among equals); return the sum of size times the best score."""
    for i in range(count):
        total[i] = size[i]
    for q in range(scores.shape[0]):
        for i in range(count):
            # `total` is what is left of the row's size: the first component of the largest score takes all, and equals
            # after it zero.
            share = total[i] if scores[q, i] == most[i] else 0.0
            scores[q, i] = share
            total[i] -= share
    for i in range(count):
        most[i] *= size[i]
    return inline.sum(most[:count])


def expect_run(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    theta: cython.const[cython.double][:, ::1],
    shift: cython.const[cython.double][::1],
    form: cython.Py_ssize_t,
    hard: cython.bint,
    features: cython.double[:, ::1],
    scores: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    sums: cython.double[:, :, ::1],
    bounds: cython.double[::1],
):
    """Compute the responsibilities of k components for a run of blocks, and the features they weigh, per block.

    Parameters
    ----------
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    weight : (n,), or empty when all weights are one
    theta : (k, p): what each component multiplies the features by
    shift : (d,), taken off the rows
    form : 0, 1, 2 or 3: which features there are besides one and the row; see _fill_features
    hard : whether each row goes to its best component alone
    features, scores, scratch : (p, t), (k, t), (3, t); t divides `unit`
    sums : (m, k, p), zero: per component the features weighed by responsibility and weight
    bounds : (m,), zero: the weighted sum of log(sum of exp(score)); when hard, of the largest score
    """
    start: cython.Py_ssize_t = 0
    with cython.nogil:
        while start < X.shape[0]:
            # t divides `unit`: a tile never crosses the end of a block.
            block = start // unit
            count = min(features.shape[1], X.shape[0] - start)
            _fill_features(X, start, count, shift, form, features)
            blas.multiply(theta, features, count, scores)
            _find_largest(scores, count, scratch[0])
            # Rows without weights weigh one.
            for i in range(count):
                scratch[2, i] = weight[start + i] if weight.shape[0] > 0 else 1.0
            if hard:
                bounds[block] += _share_wholly(scores, count, scratch[2], scratch[0], scratch[1])
            else:
                bounds[block] += _share_softly(scores, count, scratch[2], scratch[0], scratch[1])
            # sums += responsibilities x features^T, by BLAS: the M step needs nothing else of the rows.
            blas.add_product_transposed(scores, features, count, sums[block])
            start += count


def score_rows(
    X: cython.const[real][:, ::1],
    theta: cython.const[cython.double][:, ::1],
    shift: cython.const[cython.double][::1],
    form: cython.Py_ssize_t,
    features: cython.double[:, ::1],
    scores: cython.double[:, ::1],
    out: cython.double[:, ::1],
):
    """Write the score of each row for each component to `out`, (n, k); the rest as in `expect_run`."""
    start: cython.Py_ssize_t = 0
    with cython.nogil:
        while start < X.shape[0]:
            count = min(features.shape[1], X.shape[0] - start)
            _fill_features(X, start, count, shift, form, features)
            blas.multiply(theta, features, count, scores)
            for i in range(count):
                for q in range(scores.shape[0]):
                    out[start + i, q] = scores[q, i]
            start += count
