"""Chunks of stochastic passes over CSR rows: SAG, SAGA, and coordinate ascent in the logistic dual.

A column absent from a row only takes the step of its remembered average; those steps are made up for, all at once, when
the column is next met. Otherwise as ``stochastic.py``.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import inline
else:
    from mercer._native import inline

__all__ = ["average_gradients", "logistic_dual"]

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def catch_up(
    w: cython.double,
    average: cython.double,
    step: cython.double,
    l1: cython.double,
    l2: cython.double,
    times: cython.Py_ssize_t,
) -> cython.double:
    """Return w after `times` steps along a constant average, each with its proximal map."""
    turn: cython.Py_ssize_t = 0
    size: cython.double
    shrunk: cython.double
    if times == 0:
        return w
    if l1 == 0.0 and l2 == 0.0:
        return w - times * step * average
    if l1 == 0.0:
        # w r^m - step a (r + ... + r^m) with r = 1 / (1 + step l2)
        shrunk = -inline.expm1(-times * inline.log1p(step * l2))
        return w * (1.0 - shrunk) - average * shrunk / l2
    while turn < times:
        turn += 1
        size = w - step * average
        shrunk = (size if size > 0 else -size) - step * l1
        shrunk = (shrunk if shrunk > 0 else 0.0) / (1.0 + step * l2)
        if shrunk == 0.0 and w == 0.0:
            return 0.0
        w = shrunk if size > 0 else -shrunk
    return w


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


def average_gradients(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
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
    seen: cython.Py_ssize_t[::1],
):
    """Take one SAG step (share 0) or SAGA step (share n) for each row in `order`; `seen` is room for one per column."""
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    j: cython.Py_ssize_t
    e: cython.Py_ssize_t
    last: cython.Py_ssize_t = w.shape[1] - 1
    change: cython.double
    with cython.nogil:
        for j in range(last):
            seen[j] = 0
        for at in range(order.shape[0]):
            i = order[at]
            for c in range(w.shape[0]):
                scores[c] = w[c, last]
            for e in range(pointers[i], pointers[i + 1]):
                j = columns[e]
                for c in range(w.shape[0]):
                    w[c, j] = catch_up(w[c, j], average[c, j], step[j], l1[j], l2[j], at - seen[j])
                    scores[c] += data[e] * w[c, j]
                seen[j] = at
            residuals(scores, y[i], loss)
            for c in range(w.shape[0]):
                change = weight[i] * scores[c] - table[i, c]
                table[i, c] += change
                # The row's columns take share * change * x now; their step along the average is made up for later.
                for e in range(pointers[i], pointers[i + 1]):
                    j = columns[e]
                    w[c, j] -= step[j] * share * change * data[e]
                    w[c, j] = catch_up(
                        w[c, j], average[c, j] + (change * data[e] if share == 0.0 else 0.0), step[j], l1[j], l2[j], 1
                    )
                    average[c, j] += change * data[e]
                if share == 0.0:
                    average[c, last] += change
                if fit_intercept:
                    w[c, last] -= step[last] * (share * change + average[c, last])
                if share != 0.0:
                    average[c, last] += change
            for e in range(pointers[i], pointers[i + 1]):
                seen[columns[e]] = at + 1
        for j in range(last):
            for c in range(w.shape[0]):
                w[c, j] = catch_up(w[c, j], average[c, j], step[j], l1[j], l2[j], order.shape[0] - seen[j])


def logistic_dual(
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
    """Maximise the logistic dual in each coordinate of `order`; see ``stochastic.logistic_dual``."""
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    last: cython.Py_ssize_t = w.shape[0] - 1
    square: cython.double
    before: cython.double
    score: cython.double
    change: cython.double
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            if bound[i] > 0:
                square = scale * scale
                score = w[last]
                for e in range(pointers[i], pointers[i + 1]):
                    square += data[e] * data[e]
                    score += data[e] * w[columns[e]]
                before = bound[i] * inline.expit(logits[i])
                logits[i] = solve_dual(y[i] * score - before * square, bound[i] * square)
                change = y[i] * (bound[i] * inline.expit(logits[i]) - before)
                for e in range(pointers[i], pointers[i + 1]):
                    w[columns[e]] += change * data[e]
                w[last] += change * scale * scale


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
