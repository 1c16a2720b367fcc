"""Scores of independent components and their sums over a run of blocks, a cache-sized tile of rows at a time.

A component y of a row x is a row of M (x - mean), plus its offset. Of a density with -log p = G the sums need G(y), its
derivative g(y), called the score, and g'(y). Each value is computed once while it is in the cache, and the products
sum_rows g(y_i) y_j are matrix products by BLAS. A tile is stored by components, so that the loops over its rows run
along memory.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from mercer._native.shared import blas, inline

real = cython.fused_type(cython.float, cython.double)

# log 2, which log cosh(u) = |u| + log(1 + exp(-2 |u|)) - log 2 takes off.
LOG_2 = cython.declare(cython.double, 0.6931471805599453)
# Rows whose factors 1 + exp(-2 |u|), each at most 2, are multiplied before one logarithm is taken; 2**512 is finite.
RUN = cython.declare(cython.Py_ssize_t, 512)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _centre_tile(
    X: cython.const[real][:, ::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    mean: cython.const[cython.double][::1],
    tile: cython.double[:, ::1],
) -> cython.void:
    """Write `count` rows, less `mean`, to `tile` in float64."""
    for i in range(count):
        for j in range(X.shape[1]):
            tile[i, j] = cython.cast(cython.double, X[start + i, j]) - mean[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_logs(factors: cython.const[cython.double][::1]) -> cython.double:
    """Return the sum of the logarithms of factors between 1 and 2: one logarithm for 512 of them."""
    first: cython.Py_ssize_t = 0
    total: cython.double = 0.0
    part = cython.declare(cython.double[8])
    while first < factors.shape[0]:
        last = min(first + RUN, factors.shape[0])
        whole = first + (last - first) // 8 * 8
        for lane in range(8):
            part[lane] = 1.0
        # Eight products side by side, which do not wait for each other, as in the sums of ``inline``.
        for i in range(first, whole, 8):
            for lane in range(8):
                part[lane] *= factors[i + lane]
        for i in range(whole, last):
            part[0] *= factors[i]
        for lane in range(4):
            part[lane] *= part[lane + 4]
        total += inline.log((part[0] * part[2]) * (part[1] * part[3]))
        first = last
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _score_tanh(
    y: cython.const[cython.double][::1],
    alpha: cython.double,
    weight: cython.const[cython.double][::1],
    score: cython.double[::1],
    scratch: cython.double[:, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Score one component by G = log cosh(alpha y) / alpha: g = tanh(alpha y), g' = alpha (1 - g^2)."""
    n: cython.Py_ssize_t = score.shape[0]
    size: cython.double
    rest: cython.double
    for i in range(n):
        size = y[i] if y[i] > 0.0 else -y[i]
        # With e = exp(-2 alpha |y|): tanh = (1 - e) / (1 + e) and log cosh = alpha |y| + log(1 + e) - log 2.
        rest = inline.exp(-2.0 * alpha * size)
        scratch[0, i] = size
        scratch[1, i] = 1.0 + rest
        size = (1.0 - rest) / (1.0 + rest)
        # tanh is odd: its sign is that of y.
        score[i] = size if y[i] > 0.0 else -size
    if weight.shape[0] == 0:
        # The logarithms of all rows are one logarithm of a product.
        sums[0] += inline.sum(scratch[0, :n]) + (_sum_logs(scratch[1, :n]) - n * LOG_2) / alpha
        sums[1] += alpha * (n - inline.dot(score, score))
        sums[2] += inline.sum(score)
        return
    # With weights every logarithm is needed by itself.
    for i in range(n):
        scratch[0, i] += (inline.log(scratch[1, i]) - LOG_2) / alpha
        scratch[1, i] = alpha * (1.0 - score[i] * score[i])
    _add_weighted(weight, score, scratch, sums)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _score_exp(
    y: cython.const[cython.double][::1],
    alpha: cython.double,
    weight: cython.const[cython.double][::1],
    score: cython.double[::1],
    scratch: cython.double[:, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Score one component by G = -exp(-alpha y^2 / 2) / alpha: g = y exp(-alpha y^2 / 2)."""
    i: cython.Py_ssize_t
    square: cython.double
    bell: cython.double
    for i in range(score.shape[0]):
        square = alpha * y[i] * y[i]
        bell = inline.exp(-0.5 * square)
        scratch[0, i] = -bell / alpha
        scratch[1, i] = (1.0 - square) * bell
        score[i] = y[i] * bell
    _add_weighted(weight, score, scratch, sums)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _score_cube(
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    score: cython.double[::1],
    scratch: cython.double[:, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Score one component by G = y^4 / 4: g = y^3, g' = 3 y^2."""
    for i in range(score.shape[0]):
        square = y[i] * y[i]
        scratch[0, i] = 0.25 * square * square
        scratch[1, i] = 3.0 * square
        score[i] = square * y[i]
    _add_weighted(weight, score, scratch, sums)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_weighted(
    weight: cython.const[cython.double][::1],
    score: cython.double[::1],
    scratch: cython.double[:, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Add the values, slopes and scores to `sums`, weighted unless `weight` is empty; weights then multiply scores."""
    n: cython.Py_ssize_t = score.shape[0]
    if weight.shape[0] > 0:
        for i in range(n):
            scratch[0, i] *= weight[i]
            scratch[1, i] *= weight[i]
            score[i] *= weight[i]
    sums[0] += inline.sum(scratch[0, :n])
    sums[1] += inline.sum(scratch[1, :n])
    sums[2] += inline.sum(score)


def score_run(
    X: cython.const[real][:, ::1],
    unit: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
    matrix: tuple,
    kind: cython.Py_ssize_t,
    alpha: cython.double,
    tile: cython.double[:, ::1],
    Y: cython.double[:, ::1],
    scores: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    products: cython.double[:, :, ::1],
    sums: cython.double[:, :, ::1],
):
    """Sum the scores of components over a run of blocks, block by block.

    Parameters
    ----------
    X : (n, d) rows of m blocks of `unit` rows, the last maybe shorter
    weight : (n,), or empty
    matrix : M (q, d), mean (d,), offset (q,): the components are M (x - mean) + offset
    kind, alpha : 0 for tanh, 1 for exp, 2 for cube, and the factor of their argument
    tile, Y, scores, scratch : (t, d), (q, t), (p, t), (2, t): scratch; t divides `unit`; the first p of q are scored
    products : (m, p, q), zero: sums of g(y_i) y_j
    sums : (m, p, 3), zero: sums of G, of g' and of g
    """
    M: cython.const[cython.double][:, ::1] = matrix[0]
    mean: cython.const[cython.double][::1] = matrix[1]
    offset: cython.const[cython.double][::1] = matrix[2]
    start: cython.Py_ssize_t = 0
    given: cython.const[cython.double][::1]
    with cython.nogil:
        while start < X.shape[0]:
            block = start // unit
            # A tile ends where its block does, so that each sum belongs to one block.
            stop = min(min(start + tile.shape[0], (block + 1) * unit), X.shape[0])
            count = stop - start
            # Of an empty array every slice is empty: rows without weights.
            given = weight[start:stop]
            _centre_tile(X, start, count, mean, tile)
            blas.multiply_transposed(M, tile[:count], Y)
            # One offset for each component, over the rows of the tile.
            for i in range(M.shape[0]):
                for j in range(count):
                    Y[i, j] += offset[i]
            for i in range(scores.shape[0]):
                if kind == 0:
                    _score_tanh(Y[i], alpha, given, scores[i, :count], scratch, sums[block, i])
                elif kind == 1:
                    _score_exp(Y[i], alpha, given, scores[i, :count], scratch, sums[block, i])
                else:
                    _score_cube(Y[i], given, scores[i, :count], scratch, sums[block, i])
            # sum over rows of g(y_i) y_j, by BLAS.
            blas.add_product_transposed(scores, Y, count, products[block])
            start = stop
