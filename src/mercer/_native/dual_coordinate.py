"""Coordinate ascent in the dual of l2-penalised logistic regression: chunks of a pass over dense or CSR rows.

The intercept stands last in the parameters, as the weight of a constant column of value `scale`.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import inline
else:
    from mercer._native import inline

__all__ = ["logistic_dual", "logistic_dual_sparse"]

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


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


def logistic_dual_sparse(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    y: cython.const[cython.double][::1],
    bound: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    scale: cython.double,
    logits: cython.double[::1],
    w: cython.double[::1],
):
    """Maximise the logistic dual in each coordinate of `order`; see ``logistic_dual``."""
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    last: cython.Py_ssize_t = w.shape[0] - 1
    square: cython.double
    before: cython.double
    score: cython.double
    change: cython.double
    value: cython.double
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            if bound[i] > 0:
                square = scale * scale
                score = w[last]
                for e in range(pointers[i], pointers[i + 1]):
                    value = cython.cast(cython.double, data[e])
                    square += value * value
                    score += value * w[columns[e]]
                before = bound[i] * inline.expit(logits[i])
                logits[i] = solve_dual(y[i] * score - before * square, bound[i] * square)
                change = y[i] * (bound[i] * inline.expit(logits[i]) - before)
                for e in range(pointers[i], pointers[i + 1]):
                    w[columns[e]] += change * data[e]
                w[last] += change * scale * scale
