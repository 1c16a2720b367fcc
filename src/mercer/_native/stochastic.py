"""Chunks of stochastic passes over dense rows: SAG, SAGA, and coordinate ascent in the logistic dual.

Parameters are (k, d + 1), the intercept last. Losses: 0 logistic, 1 softmax, 2 squared (y real).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import inline
else:
    from mercer._native import inline

__all__ = ["average_gradients", "logistic_dual"]

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def product(x: cython.const[real][::1], w: cython.const[cython.double][::1]) -> cython.double:
    """Return x . w over the length of x, by eight running sums."""
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    part = cython.declare(cython.double[8])
    whole: cython.Py_ssize_t = x.shape[0] - x.shape[0] % 8
    for lane in range(8):
        part[lane] = 0.0
    for j in range(0, whole, 8):
        for lane in range(8):
            part[lane] += x[j + lane] * w[j + lane]
    for j in range(whole, x.shape[0]):
        part[j - whole] += x[j] * w[j]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def residuals(scores: cython.double[::1], y: cython.double, loss: cython.int) -> cython.void:
    """Turn the scores of one row into the derivative of its loss."""
    j: cython.Py_ssize_t
    most: cython.double = scores[0]
    total: cython.double = 0.0
    if loss == 0:
        scores[0] = inline.expit(scores[0]) - y
    elif loss == 2:
        scores[0] -= y
    else:
        for j in range(1, scores.shape[0]):
            most = scores[j] if scores[j] > most else most
        for j in range(scores.shape[0]):
            scores[j] = inline.exp(scores[j] - most)
            total += scores[j]
        for j in range(scores.shape[0]):
            scores[j] /= total
        scores[cython.cast(cython.Py_ssize_t, y)] -= 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def update(
    x: cython.const[real][::1],
    w: cython.double[::1],
    average: cython.double[::1],
    step: cython.const[cython.double][::1],
    l1: cython.const[cython.double][::1],
    l2: cython.const[cython.double][::1],
    change: cython.double,
    share: cython.double,
) -> cython.void:
    """Step along share * change * x + average, then the proximal map; the average takes the change in."""
    j: cython.Py_ssize_t
    moved: cython.double
    size: cython.double
    for j in range(x.shape[0]):
        moved = w[j] - step[j] * (share * change * x[j] + average[j])
        size = (moved if moved > 0 else -moved) - step[j] * l1[j]
        size = (size if size > 0 else 0.0) / (1.0 + step[j] * l2[j])
        w[j] = size if moved > 0 else -size
    for j in range(x.shape[0]):
        average[j] += change * x[j]


def average_gradients(
    X: cython.const[real][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    loss: cython.int,
    share: cython.double,
    fit_intercept: cython.bint,
    step: cython.const[cython.double][::1],
    l1: cython.const[cython.double][::1],
    l2: cython.const[cython.double][::1],
    w: cython.double[:, ::1],
    average: cython.double[:, ::1],
    table: cython.double[:, ::1],
    scores: cython.double[::1],
):
    """Take one SAG step (share 0) or SAGA step (share n) for each row in `order`.

    `weight` is s_i / S, so that `average`, the sum of the remembered gradients, is that of the mean loss; `table` holds
    the remembered residuals, `step` the step of each column.
    """
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    last: cython.Py_ssize_t = X.shape[1]
    change: cython.double
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            for c in range(w.shape[0]):
                scores[c] = product(X[i], w[c]) + w[c, last]
            residuals(scores, y[i], loss)
            for c in range(w.shape[0]):
                change = weight[i] * scores[c] - table[i, c]
                table[i, c] += change
                if share == 0.0:
                    take_in(X[i], average[c], change)
                    update(X[i], w[c], average[c], step, l1, l2, 0.0, 0.0)
                    average[c, last] += change
                    change = 0.0
                else:
                    update(X[i], w[c], average[c], step, l1, l2, change, share)
                if fit_intercept:
                    w[c, last] -= step[last] * (share * change + average[c, last])
                    if share != 0.0:
                        average[c, last] += change


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_in(x: cython.const[real][::1], average: cython.double[::1], change: cython.double) -> cython.void:
    """Add change * x to the average."""
    j: cython.Py_ssize_t
    for j in range(x.shape[0]):
        average[j] += change * x[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve_dual(margin: cython.double, square: cython.double) -> cython.double:
    """Return the root t of t + margin + square / (1 + exp(-t)): Newton, or bisection where that gains more."""
    low: cython.double = -margin - square
    high: cython.double = -margin
    t: cython.double = 0.5 * (low + high)
    last: cython.double = square
    p: cython.double
    value: cython.double
    slope: cython.double
    turn: cython.int = 0
    while turn < 100 and (last > 1e-13 or last < -1e-13):
        turn += 1
        p = inline.expit(t)
        value = t + margin + square * p
        slope = 1.0 + square * p * (1.0 - p)
        if value > 0:
            high = t
        else:
            low = t
        # Far from zero the slope is 1 and Newton leaps from one end of the bracket to the other.
        if 2.0 * (value if value > 0 else -value) > (last if last > 0 else -last) * slope:
            last = 0.5 * (high - low) if value < 0 else 0.5 * (low - high)
            t = 0.5 * (low + high)
        else:
            last = -value / slope
            t += last
    return t


def logistic_dual(
    X: cython.const[real][:, ::1],
    y: cython.const[cython.double][::1],
    bound: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    scale: cython.double,
    logits: cython.double[::1],
    w: cython.double[::1],
):
    """Maximise the logistic dual in each coordinate of `order`: a_i = bound_i / (1 + exp(-logit_i)), y in {-1, 1}.

    w is the sum of y_i a_i [x_i, scale^2], so that its last entry is an intercept under penalty; scale 0 means none.
    """
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    last: cython.Py_ssize_t = X.shape[1]
    square: cython.double
    before: cython.double
    change: cython.double
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            if bound[i] > 0:
                square = inline.dot(X[i], X[i]) + scale * scale
                before = bound[i] * inline.expit(logits[i])
                change = y[i] * (product(X[i], w) + w[last]) - before * square
                logits[i] = solve_dual(change, bound[i] * square)
                change = y[i] * (bound[i] * inline.expit(logits[i]) - before)
                for j in range(last):
                    w[j] += change * X[i, j]
                w[last] += change * scale * scale
