# cython: infer_types=True
"""Losses of a block of scores: their weighted sum, with the scores overwritten by the weighted residuals."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline, row_losses
else:
    from mercer._native.shared import inline, row_losses


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def meet_rows(
    loss: cython.int,
    shape: cython.double,
    scores: cython.double[::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
) -> cython.double:
    """Return the weighted sum of the losses; scores become weighted slopes."""
    weighted: cython.bint = weight.shape[0] > 0
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
    for first in range(0, scores.shape[0], 64):
        count = min(scores.shape[0] - first, 64)
        for i in range(count):
            z[i] = scores[first + i]
            t[i] = y[first + i]
        row_losses.measure_run(loss, shape, t, z, count, value, slope, bend)
        if weighted:
            for i in range(count):
                value[i] *= weight[first + i]
                slope[i] *= weight[first + i]
        for i in range(count):
            scores[first + i] = slope[i]
        whole = count - count % 8
        for i in range(0, whole, 8):
            for lane in range(8):
                part[lane] += value[i + lane]
        for i in range(whole, count):
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
        total = meet_rows(loss, shape, scores, y, weight)
    return total


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
