"""Coordinate ascent in the dual of an l2-penalised linear model: chunks of a pass over dense or CSR rows.

A row has one dual variable, the slope s of its loss, taken in the row's own direction: with t = 1 or -1 (a label's
sign; one for numbers) the loss is a function of m = t z. With g_i = -c_i t_i s_i and rows less some row r, the score is
z = sum_j g_j ((x_j - r) . (x - r) + k) + b, where k is the square of a constant column. It is made of four parts that
visits keep up to date, v = sum_j g_j x_j, sum_j g_j, v . r and b, so that rows are used as they are:

    z = v . x + (sum_j g_j) lift - v . r + b,        lift = k + r . r - r . x

Maximising in one coordinate is a proximal step of the loss: s becomes the slope at m - c q (s - s_old), where
q = |x - r|^2 + k.

The shape of a loss of lines and parabolas is (tube, width, low, high), see ``_objective/piecewise_losses.py``; its
corners lie `tube` beside the row's centre. Width -1 stands for the logistic loss, log(1 + exp(-m)).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

__all__ = ["ascend", "ascend_sparse"]

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)
# How many visits ahead a row is asked for.
_AHEAD = cython.declare(cython.Py_ssize_t, 3)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve_logistic(margin: cython.double, square: cython.double) -> cython.double:
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
def step_to(
    m: cython.double,
    centre: cython.double,
    step: cython.double,
    shape: cython.const[cython.double][::1],
    slope: cython.double,
) -> cython.double:
    """Return the slope that is best for a row, given the others'."""
    far: cython.double = m + step * slope
    width: cython.double = shape[1] + step
    found: cython.double
    if shape[1] < 0:
        return -inline.expit(solve_logistic(far, step))
    # A row of zeros meets a corner proper: any quotient of the right sign is clipped to the limit.
    width = width if width > 1e-300 else 1e-300
    far -= centre
    if far + shape[0] < 0:
        found = (far + shape[0]) / width
        return found if found > shape[2] else shape[2]
    if far - shape[0] > 0 and shape[3] > 0:
        found = (far - shape[0]) / width
        return found if found < shape[3] else shape[3]
    return 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_slack(
    m: cython.double,
    centre: cython.double,
    shape: cython.const[cython.double][::1],
    slope: cython.double,
) -> cython.double:
    """Return how far inside the scores that a slope is right for m lies; minus how far outside."""
    below: cython.double = m - centre + shape[0]
    above: cython.double = m - centre - shape[0]
    gap: cython.double
    if slope == 0:
        return below if shape[3] == 0 or below < -above else -above
    if slope <= shape[2]:
        return shape[1] * slope - below
    if slope >= shape[3] and slope > 0:
        return above - shape[1] * slope
    gap = (below if slope < 0 else above) - shape[1] * slope
    return gap if gap < 0 else -gap


def ascend(
    X: cython.const[real][:, ::1],
    sign: cython.const[cython.double][::1],
    centre: cython.const[cython.double][::1],
    factor: cython.const[cython.double][::1],
    square: cython.const[cython.double][::1],
    lift: cython.const[cython.double][::1],
    shape: cython.const[cython.double][::1],
    highest: cython.double,
    order: cython.const[cython.Py_ssize_t][::1],
    settled: cython.double,
    slopes: cython.double[::1],
    w: cython.double[::1],
    kept: cython.uchar[::1],
) -> cython.double:
    """Maximise the dual in each coordinate of `order`; return the largest violation that was met.

    Parameters
    ----------
    X : (n, d)
    sign, centre, factor, square, lift : (n,): t, the middle of the loss, c, q and the lift of each row
    shape : (4,), of the loss
    highest : k + r . r
    settled : rows whose slope is right by more than this are marked for leaving out
    slopes, w : (n,), (d + 3,), in place: s; v, the sum of g, v . r and b
    kept : as long as `order`: whether a row is worth another visit
    """
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    whole: cython.Py_ssize_t = d - d % 8
    m: cython.double
    step: cython.double
    slack: cython.double
    change: cython.double
    worst: cython.double = 0.0
    part = cython.declare(cython.double[8])
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            # Rows come in random order, which no processor foresees.
            if at + _AHEAD < order.shape[0]:
                inline.prefetch(X[order[at + _AHEAD]], 0, d)
            if factor[i] > 0:
                for lane in range(8):
                    part[lane] = 0.0
                for j in range(0, whole, 8):
                    for lane in range(8):
                        part[lane] += X[i, j + lane] * w[j + lane]
                for j in range(whole, d):
                    part[j - whole] += X[i, j] * w[j]
                m = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))
                m = sign[i] * (m + w[d] * lift[i] - w[d + 1] + w[d + 2])
                step = factor[i] * square[i]
                change = step_to(m, centre[i], step, shape, slopes[i]) - slopes[i]
                slack = find_slack(m, centre[i], shape, slopes[i]) if shape[1] >= 0 else -step * abs(change)
                kept[at] = slack <= settled
                worst = -slack if -slack > worst else worst
                if change != 0:
                    slopes[i] += change
                    change *= -factor[i] * sign[i]
                    for j in range(d):
                        w[j] += change * X[i, j]
                    w[d] += change
                    w[d + 1] += change * (highest - lift[i])
            else:
                kept[at] = 0
    return worst


def ascend_sparse(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    sign: cython.const[cython.double][::1],
    centre: cython.const[cython.double][::1],
    factor: cython.const[cython.double][::1],
    square: cython.const[cython.double][::1],
    lift: cython.const[cython.double][::1],
    shape: cython.const[cython.double][::1],
    highest: cython.double,
    order: cython.const[cython.Py_ssize_t][::1],
    settled: cython.double,
    slopes: cython.double[::1],
    w: cython.double[::1],
    kept: cython.uchar[::1],
) -> cython.double:
    """Maximise the dual in each coordinate of `order`; see ``ascend``."""
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    d: cython.Py_ssize_t = w.shape[0] - 3
    m: cython.double
    step: cython.double
    slack: cython.double
    change: cython.double
    worst: cython.double = 0.0
    part = cython.declare(cython.double[4])
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            if at + _AHEAD < order.shape[0]:
                j = order[at + _AHEAD]
                inline.prefetch(data, pointers[j], pointers[j + 1])
            if factor[i] > 0:
                for lane in range(4):
                    part[lane] = 0.0
                stop = pointers[i + 1]
                e = pointers[i]
                while e + 4 <= stop:
                    for lane in range(4):
                        part[lane] += data[e + lane] * w[columns[e + lane]]
                    e += 4
                while e < stop:
                    part[0] += data[e] * w[columns[e]]
                    e += 1
                m = (part[0] + part[2]) + (part[1] + part[3])
                m = sign[i] * (m + w[d] * lift[i] - w[d + 1] + w[d + 2])
                step = factor[i] * square[i]
                change = step_to(m, centre[i], step, shape, slopes[i]) - slopes[i]
                slack = find_slack(m, centre[i], shape, slopes[i]) if shape[1] >= 0 else -step * abs(change)
                kept[at] = slack <= settled
                worst = -slack if -slack > worst else worst
                if change != 0:
                    slopes[i] += change
                    change *= -factor[i] * sign[i]
                    for e in range(pointers[i], pointers[i + 1]):
                        w[columns[e]] += change * data[e]
                    w[d] += change
                    w[d + 1] += change * (highest - lift[i])
            else:
                kept[at] = 0
    return worst
