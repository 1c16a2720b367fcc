"""Stochastic average gradients: one step of SAG or SAGA for each row visited, dense or CSR.

With g_i = s_i / S times the derivative of the loss of row i, `table` remembers each g_i and `average` is the sum of
g_i x_i. At a visit g_i changes by `change`; a step of size `step` follows average + share change x_i (SAGA, share n),
or the average that has the change in it already (SAG, share 0), and the proximal map of the penalty ends it.
Parameters are (k, d + 1), the intercept last.

A column absent from a CSR row takes the step of its remembered average only; it makes up for those steps, all at once,
when it is next met. That needs an average that stays as it is in between, hence rows as they are stored: rows less
their mean are in ``centred_gradient.py``.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)
# Losses as Python code numbers them; 1 is softmax.
_LOGISTIC = cython.declare(cython.int, 0)
_SQUARED = cython.declare(cython.int, 2)


@cython.cclass
class Method:
    """The loss, the step of each parameter (d + 1,), and the strengths of the penalties l1 |w| + l2 w^2 / 2 (d + 1,).

    `share` is n for SAGA, 0 for SAG. The proximal map of dense rows takes `threshold` = step l1 off, then multiplies by
    `keep` = 1 / (1 + step l2).
    """

    cython.declare(loss=cython.int, share=cython.double, fit_intercept=cython.bint)
    step: cython.const[cython.double][::1]
    l1: cython.const[cython.double][::1]
    l2: cython.const[cython.double][::1]
    threshold: cython.const[cython.double][::1]
    keep: cython.const[cython.double][::1]

    def __init__(self, loss, share, fit_intercept, step, l1, l2):
        self.loss, self.share, self.fit_intercept = loss, share, fit_intercept
        self.step, self.l1, self.l2 = step, l1, l2
        self.threshold, self.keep = step * l1, 1.0 / (1.0 + step * l2)


@cython.cclass
class State:
    """What visits change in place: parameters, the sum of remembered gradients, and the remembered derivatives.

    `w` and `average` are (k, d + 1), `table` is (n, k), `scores` is scratch of k values.
    """

    w: cython.double[:, ::1]
    average: cython.double[:, ::1]
    table: cython.double[:, ::1]
    scores: cython.double[::1]

    def __init__(self, w, average, table, scores):
        self.w, self.average, self.table, self.scores = w, average, table, scores


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def residuals(scores: cython.double[::1], y: cython.double, loss: cython.int) -> cython.void:
    """Overwrite the scores of one row by the derivatives of its loss."""
    most: cython.double = scores[0]
    total: cython.double = 0.0
    if loss == _LOGISTIC:
        scores[0] = inline.expit(scores[0]) - y
    elif loss == _SQUARED:
        scores[0] -= y
    else:
        # Differences to the largest score cannot overflow exp.
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
    """Move w along -(push x + average), apply the proximal map, and add `change` times x to the average."""
    # Two loops: one that writes both arrays needs too many checks for overlap to be vectorised.
    for j in range(x.shape[0]):
        moved = w[j] - step[j] * (push * x[j] + average[j])
        size = (moved if moved > 0 else -moved) - threshold[j]
        size = (size if size > 0 else 0.0) * keep[j]
        w[j] = size if moved > 0 else -size
    for j in range(x.shape[0]):
        average[j] += change * x[j]


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
    # An l1 penalty has no closed form across a change of sign: step by step, at most until the value rests at zero.
    while turn < times:
        turn += 1
        size = w - step * average
        shrunk = (size if size > 0 else -size) - step * l1
        shrunk = (shrunk if shrunk > 0 else 0.0) / (1.0 + step * l2)
        # The average is constant between visits, so that zero, once it is a fixed point, stays one.
        if shrunk == 0.0 and w == 0.0:
            return 0.0
        w = shrunk if size > 0 else -shrunk
    return w


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def remember(state: State, row: cython.Py_ssize_t, k: cython.Py_ssize_t, weight: cython.double) -> cython.double:
    """Put the derivative of score `k` of a row, which ``state.scores`` holds, into the table; return the change."""
    change: cython.double = weight * state.scores[k] - state.table[row, k]
    state.table[row, k] += change
    return change


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def move_intercept(
    method: Method, state: State, k: cython.Py_ssize_t, push: cython.double, change: cython.double
) -> cython.void:
    """Move the intercept of score `k`, which has a column of ones and no penalty."""
    last: cython.Py_ssize_t = state.w.shape[1] - 1
    if method.fit_intercept:
        state.w[k, last] -= method.step[last] * (push + state.average[k, last])
        state.average[k, last] += change


def visit_dense(
    X: cython.const[real][:, ::1],
    mean: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    method: Method,
    state: State,
    row: cython.double[::1],
):
    """Visit the rows of `order`, each less `mean`; `row` is scratch of d values."""
    last: cython.Py_ssize_t = X.shape[1]
    w: cython.double[:, ::1] = state.w
    average: cython.double[:, ::1] = state.average
    scores: cython.double[::1] = state.scores
    step: cython.const[cython.double][::1] = method.step
    threshold: cython.const[cython.double][::1] = method.threshold
    keep: cython.const[cython.double][::1] = method.keep
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            for j in range(last):
                row[j] = X[i, j] - mean[j]
            for k in range(w.shape[0]):
                scores[k] = inline.dot(row, w[k, :last]) + w[k, last]
            residuals(scores, y[i], method.loss)
            for k in range(w.shape[0]):
                change = remember(state, i, k, weight[i])
                # SAG steps along the new average, in which the row's change counts once; SAGA takes it n times, so that
                # the step is an unbiased estimate of the gradient.
                push = change if method.share == 0.0 else method.share * change
                update(row, w[k], average[k], step, threshold, keep, push, change)
                move_intercept(method, state, k, push, change)


def visit_sparse(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    method: Method,
    state: State,
    seen: cython.Py_ssize_t[::1],
):
    """Visit the rows of `order`, with work proportional to their stored values.

    `seen` is scratch of d values: after how many visits of this call each column was last brought up to date.
    """
    last: cython.Py_ssize_t = state.w.shape[1] - 1
    w: cython.double[:, ::1] = state.w
    average: cython.double[:, ::1] = state.average
    scores: cython.double[::1] = state.scores
    step: cython.const[cython.double][::1] = method.step
    l1: cython.const[cython.double][::1] = method.l1
    l2: cython.const[cython.double][::1] = method.l2
    with cython.nogil:
        for j in range(last):
            seen[j] = 0
        for at in range(order.shape[0]):
            i = order[at]
            for k in range(w.shape[0]):
                scores[k] = w[k, last]
            # The score needs the parameters of this visit: columns of the row first take the steps that they missed.
            for e in range(pointers[i], pointers[i + 1]):
                j = columns[e]
                for k in range(w.shape[0]):
                    w[k, j] = catch_up(w[k, j], average[k, j], step[j], l1[j], l2[j], at - seen[j])
                    scores[k] += data[e] * w[k, j]
                seen[j] = at
            residuals(scores, y[i], method.loss)
            for k in range(w.shape[0]):
                change = remember(state, i, k, weight[i])
                push = change if method.share == 0.0 else method.share * change
                for e in range(pointers[i], pointers[i + 1]):
                    j = columns[e]
                    # One step along the average as it was before this visit; only then does the average take the change
                    # in.
                    w[k, j] = catch_up(w[k, j], average[k, j] + push * data[e], step[j], l1[j], l2[j], 1)
                    average[k, j] += change * data[e]
                move_intercept(method, state, k, push, change)
            for e in range(pointers[i], pointers[i + 1]):
                seen[columns[e]] = at + 1
        # Columns that the last rows left out take the steps that they still miss: a call leaves all parameters current.
        for j in range(last):
            for k in range(w.shape[0]):
                w[k, j] = catch_up(w[k, j], average[k, j], step[j], l1[j], l2[j], order.shape[0] - seen[j])
