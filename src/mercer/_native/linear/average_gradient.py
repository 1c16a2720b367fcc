"""Stochastic average gradients: one step of SAG or SAGA for each row visited, dense or CSR.

With g_i = s_i / S times the derivative of the loss of row i, `table` remembers each g_i and `average` is the sum of
g_i x_i. At a visit g_i changes by `change`; a step of size `step` follows average + share change x_i (SAGA, share n),
or the average that has the change in it already (SAG, share 0), and the proximal map of the penalty ends it.
Parameters are (k, d + 1), the intercept last. Losses: 0 logistic, 1 softmax, 2 squared (y real).

A column absent from a CSR row takes the step of its remembered average only; it makes up for those steps, all at once,
when it is next met. That needs an average that stays as it is in between, hence rows as they are stored: rows less
their mean are in ``centred_gradient.py``.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

__all__ = ["visit_dense", "visit_sparse"]

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


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
    x: cython.const[cython.double][::1],
    w: cython.double[::1],
    average: cython.double[::1],
    step: cython.const[cython.double][::1],
    threshold: cython.const[cython.double][::1],
    keep: cython.const[cython.double][::1],
    push: cython.double,
    change: cython.double,
) -> cython.void:
    """Step along push x + average, then the proximal map; the average takes the change in."""
    j: cython.Py_ssize_t
    moved: cython.double
    size: cython.double
    # Two loops: one that writes both arrays needs too many checks for overlap to be vectorised.
    for j in range(x.shape[0]):
        moved = w[j] - step[j] * (push * x[j] + average[j])
        size = (moved if moved > 0 else -moved) - threshold[j]
        size = (size if size > 0 else 0.0) * keep[j]
        w[j] = size if moved > 0 else -size
    for j in range(x.shape[0]):
        average[j] += change * x[j]


def visit_dense(
    X: cython.const[real][:, ::1],
    mean: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    loss: cython.int,
    share: cython.double,
    fit_intercept: cython.bint,
    step: cython.const[cython.double][::1],
    threshold: cython.const[cython.double][::1],
    keep: cython.const[cython.double][::1],
    w: cython.double[:, ::1],
    average: cython.double[:, ::1],
    table: cython.double[:, ::1],
    scores: cython.double[::1],
    row: cython.double[::1],
):
    """Visit the rows of `order`, each less `mean`; `scores` is room for k numbers, `row` for d.

    The proximal map takes `threshold` = step l1 off, then multiplies by `keep` = 1 / (1 + step l2).
    """
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    j: cython.Py_ssize_t
    last: cython.Py_ssize_t = X.shape[1]
    change: cython.double
    push: cython.double
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            for j in range(last):
                row[j] = X[i, j] - mean[j]
            for c in range(w.shape[0]):
                scores[c] = inline.dot(row, w[c, :last]) + w[c, last]
            residuals(scores, y[i], loss)
            for c in range(w.shape[0]):
                change = weight[i] * scores[c] - table[i, c]
                table[i, c] += change
                push = change if share == 0.0 else share * change
                update(row, w[c], average[c], step, threshold, keep, push, change)
                if fit_intercept:
                    w[c, last] -= step[last] * (push + average[c, last])
                    average[c, last] += change


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


def visit_sparse(
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
    """Visit the rows of `order`, with work proportional to their stored values; `seen` is room for one per column."""
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    j: cython.Py_ssize_t
    e: cython.Py_ssize_t
    last: cython.Py_ssize_t = w.shape[1] - 1
    change: cython.double
    push: cython.double
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
                push = change if share == 0.0 else share * change
                for e in range(pointers[i], pointers[i + 1]):
                    j = columns[e]
                    w[c, j] = catch_up(w[c, j], average[c, j] + push * data[e], step[j], l1[j], l2[j], 1)
                    average[c, j] += change * data[e]
                if fit_intercept:
                    w[c, last] -= step[last] * (push + average[c, last])
                    average[c, last] += change
            for e in range(pointers[i], pointers[i + 1]):
                seen[columns[e]] = at + 1
        for j in range(last):
            for c in range(w.shape[0]):
                w[c, j] = catch_up(w[c, j], average[c, j], step[j], l1[j], l2[j], order.shape[0] - seen[j])
