"""Stochastic gradient steps: one pass over rows in a given order, dense or CSR, for one linear score.

The coefficients are w = scale v, so that shrinking all of them by an l2 penalty costs one multiplication. An l1 penalty
is cumulative: `due` is what every coefficient should have been moved towards zero so far and `owed` what each has been,
with a sign, both in units of v. So a column absent from CSR rows can make up for any number of steps at once when it is
next met. The average of w over n steps is (mass v - lag) / n, where mass sums the scales and lag the changes of v, each
times the mass that came before it (Xu, 2011); again only columns that are met cost anything.

`carry` holds what goes on from call to call: intercept, scale, number of the next step, due, mass, average intercept,
sum of losses, sum of losses at score zero, number of updates, sum of weights. Empty `owed`, `lag` and `weight` mean no
l1 penalty, no average, weights of one.

Losses: 0 hinge and perceptron (corner at `shape`), 1 squared hinge, 2 logistic, 3 modified Huber, 4 squared, 5 Huber,
6 epsilon-insensitive, 7 its square (with `shape` for delta or epsilon). Schedules: 0 constant, 1 optimal, 2 inverse
scaling, 3 and 4 passive-aggressive I and II.
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
def value(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the loss of a score."""
    m: cython.double = y * z
    r: cython.double = y - z if y > z else z - y
    if loss == 0:
        return shape - m if m < shape else 0.0
    if loss == 1:
        return (1.0 - m) * (1.0 - m) if m < 1.0 else 0.0
    if loss == 2:
        return inline.log1pexp(-m)
    if loss == 3:
        return 0.0 if m >= 1.0 else ((1.0 - m) * (1.0 - m) if m >= -1.0 else -4.0 * m)
    if loss == 4:
        return 0.5 * r * r
    if loss == 5:
        return 0.5 * r * r if r <= shape else shape * (r - 0.5 * shape)
    r = r - shape if r > shape else 0.0
    return r if loss == 6 else r * r


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slope(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the derivative of the loss by the score; at the corner of a hinge, the steeper one."""
    m: cython.double = y * z
    r: cython.double = z - y
    if loss == 0:
        return -y if m <= shape else 0.0
    if loss == 1:
        return -2.0 * y * (1.0 - m) if m < 1.0 else 0.0
    if loss == 2:
        return -y * inline.expit(-m)
    if loss == 3:
        return 0.0 if m >= 1.0 else (-2.0 * y * (1.0 - m) if m >= -1.0 else -4.0 * y)
    if loss == 4:
        return r
    if loss == 5:
        return r if -shape <= r <= shape else (shape if r > 0 else -shape)
    if -shape <= r <= shape:
        return 0.0
    if loss == 6:
        return 1.0 if r > 0 else -1.0
    return 2.0 * (r - shape) if r > 0 else 2.0 * (r + shape)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(
    loss: cython.int,
    shape: cython.double,
    schedule: cython.int,
    rate: cython.double,
    y: cython.double,
    z: cython.double,
    length: cython.double,
) -> cython.double:
    """Return what a row is multiplied by before it is added to the coefficients; `length` is its squared norm."""
    steep: cython.double
    if schedule < 3:
        steep = slope(loss, shape, y, z)
        # Beyond 1e12 a step is clipped, so that one huge row gives large numbers and not infinite ones.
        steep = 1e12 if steep > 1e12 else (-1e12 if steep < -1e12 else steep)
        return -rate * steep
    steep = value(loss, shape, y, z)
    if schedule == 3:
        steep = 0.0 if length == 0.0 else steep / length
        steep = rate if steep > rate else steep
    else:
        steep = steep / (length + 0.5 / rate)
    if loss == 0:
        return steep * y
    return -steep if y < z else steep


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rate_at(
    schedule: cython.int, rate: cython.double, power: cython.double, origin: cython.double, t: cython.double
) -> cython.double:
    """Return the learning rate of step t: for "optimal", `rate` is alpha and `origin` the step it pretends to be at."""
    if schedule == 1:
        return 1.0 / (rate * (origin + t - 1.0))
    if schedule == 2:
        return rate * inline.exp(-power * inline.log(t))
    return rate


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def product(x: cython.const[real][::1], v: cython.double[::1]) -> cython.double:
    """Return the dot product of a row of either precision with coefficients in float64."""
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    part = cython.declare(cython.double[8])
    whole: cython.Py_ssize_t = x.shape[0] - x.shape[0] % 8
    for lane in range(8):
        part[lane] = 0.0
    for j in range(0, whole, 8):
        for lane in range(8):
            part[lane] += x[j + lane] * v[j + lane]
    for j in range(whole, x.shape[0]):
        part[j - whole] += x[j] * v[j]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add(x: cython.const[real][::1], v: cython.double[::1], factor: cython.double) -> cython.void:
    """Add a multiple of a row."""
    j: cython.Py_ssize_t
    for j in range(x.shape[0]):
        v[j] += factor * x[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def penalise(
    j: cython.Py_ssize_t,
    v: cython.double[::1],
    owed: cython.double[::1],
    lag: cython.double[::1],
    due: cython.double,
    mass: cython.double,
) -> cython.void:
    """Move a coefficient towards zero, at most to it, by what is due and has not been paid."""
    before: cython.double = v[j]
    after: cython.double = before
    if before > 0:
        after = before - (due + owed[j])
        after = after if after > 0 else 0.0
    elif before < 0:
        after = before + (due - owed[j])
        after = after if after < 0 else 0.0
    v[j] = after
    owed[j] += after - before
    if lag.shape[0] > 0:
        lag[j] += mass * (after - before)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(v: cython.double[::1], lag: cython.double[::1], carry: cython.double[::1]) -> cython.void:
    """Put the whole sum of the steps into the lag, so that the mass starts again at zero."""
    j: cython.Py_ssize_t
    for j in range(lag.shape[0]):
        lag[j] -= carry[4] * v[j]
    carry[4] = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shrink(
    factor: cython.double,
    v: cython.double[::1],
    owed: cython.double[::1],
    lag: cython.double[::1],
    carry: cython.double[::1],
) -> cython.void:
    """Multiply the coefficients by a factor; zero if it is negative, since shrinking ends there."""
    j: cython.Py_ssize_t
    scale: cython.double
    if factor <= 0.0:
        settle(v, lag, carry)
        for j in range(v.shape[0]):
            v[j] = 0.0
        for j in range(owed.shape[0]):
            owed[j] = 0.0
        carry[3] = 0.0
        return
    carry[1] *= factor
    # Before the scale costs digits (the average is a difference of numbers 1 / scale larger), it goes back into v.
    if carry[1] < 1e-6:
        settle(v, lag, carry)
        scale = carry[1]
        for j in range(v.shape[0]):
            v[j] *= scale
        for j in range(owed.shape[0]):
            owed[j] *= scale
        carry[1] = 1.0
        carry[3] *= scale


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish_step(
    fit_intercept: cython.bint,
    total: cython.double,
    rate: cython.double,
    l1: cython.double,
    average: cython.double,
    carry: cython.double[::1],
) -> cython.void:
    """Move the intercept, take the average in, and let the l1 penalty of the step fall due."""
    if fit_intercept:
        carry[0] += total
    if 0.0 < average <= carry[2]:
        carry[4] += carry[1]
        carry[5] += (carry[0] - carry[5]) / (carry[2] - average + 1.0)
    carry[3] += rate * l1 / carry[1]
    carry[2] += 1.0


def visit_dense(
    X: cython.const[real][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    ahead: cython.const[cython.Py_ssize_t][::1],
    distance: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    positive: cython.double,
    loss: cython.int,
    shape: cython.double,
    schedule: cython.int,
    rate: cython.double,
    power: cython.double,
    origin: cython.double,
    fit_intercept: cython.bint,
    l1: cython.double,
    l2: cython.double,
    average: cython.double,
    v: cython.double[::1],
    owed: cython.double[::1],
    lag: cython.double[::1],
    carry: cython.double[::1],
    pushes: cython.double[::1],
):
    """Step once for each batch of rows from `begin` to `end` of `order`; `pushes` is room for a batch, its size.

    Rows in random order are no pattern that hardware foresees, so each visit asks for the row that stands `distance`
    later in `ahead`, which has the rows of `order` in any order. With `positive` >= 0, y are class numbers and the
    target is 1 for that class and -1 for others.
    """
    first: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    batch: cython.Py_ssize_t = pushes.shape[0]
    eta: cython.double
    target: cython.double
    z: cython.double
    size: cython.double
    total: cython.double
    with cython.nogil:
        first = begin
        while first < end:
            stop = first + batch if first + batch < end else end
            eta = rate_at(schedule, rate, power, origin, carry[2])
            for at in range(first, stop):
                i = order[at]
                if at + distance < ahead.shape[0]:
                    inline.prefetch(X[ahead[at + distance]], 0, X.shape[1])
                target = y[i] if positive < 0 else (1.0 if y[i] == positive else -1.0)
                size = weight[i] if weight.shape[0] > 0 else 1.0
                z = carry[1] * product(X[i], v) + carry[0]
                carry[6] += size * value(loss, shape, target, z)
                carry[7] += size * value(loss, shape, target, 0.0)
                carry[9] += size
                total = inline.dot(X[i], X[i]) if schedule >= 3 else 0.0
                pushes[at - first] = size * push(loss, shape, schedule, eta, target, z, total) / (stop - first)
            if l2 > 0.0:
                shrink(1.0 - eta * l2, v, owed, lag, carry)
            total = 0.0
            for at in range(first, stop):
                if pushes[at - first] != 0.0:
                    add(X[order[at]], v, pushes[at - first] / carry[1])
                    if lag.shape[0] > 0 and carry[4] != 0.0:
                        add(X[order[at]], lag, carry[4] * pushes[at - first] / carry[1])
                    total += pushes[at - first]
                    carry[8] += 1.0
            finish_step(fit_intercept, total, eta, l1, average, carry)
            for j in range(owed.shape[0]):
                penalise(j, v, owed, lag, carry[3], carry[4])
            first = stop


def visit_sparse(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    positive: cython.double,
    loss: cython.int,
    shape: cython.double,
    schedule: cython.int,
    rate: cython.double,
    power: cython.double,
    origin: cython.double,
    fit_intercept: cython.bint,
    l1: cython.double,
    l2: cython.double,
    average: cython.double,
    v: cython.double[::1],
    owed: cython.double[::1],
    lag: cython.double[::1],
    carry: cython.double[::1],
    pushes: cython.double[::1],
):
    """Do what :func:`visit_dense` does, with work proportional to the stored values."""
    first: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    e: cython.Py_ssize_t
    batch: cython.Py_ssize_t = pushes.shape[0]
    eta: cython.double
    target: cython.double
    z: cython.double
    size: cython.double
    total: cython.double
    factor: cython.double
    with cython.nogil:
        first = begin
        while first < end:
            stop = first + batch if first + batch < end else end
            eta = rate_at(schedule, rate, power, origin, carry[2])
            for at in range(first, stop):
                i = order[at]
                target = y[i] if positive < 0 else (1.0 if y[i] == positive else -1.0)
                size = weight[i] if weight.shape[0] > 0 else 1.0
                z = 0.0
                total = 0.0
                for e in range(pointers[i], pointers[i + 1]):
                    j = columns[e]
                    if owed.shape[0] > 0:
                        penalise(j, v, owed, lag, carry[3], carry[4])
                    z += data[e] * v[j]
                    total += cython.cast(cython.double, data[e]) * cython.cast(cython.double, data[e])
                z = carry[1] * z + carry[0]
                carry[6] += size * value(loss, shape, target, z)
                carry[7] += size * value(loss, shape, target, 0.0)
                carry[9] += size
                pushes[at - first] = size * push(loss, shape, schedule, eta, target, z, total) / (stop - first)
            if l2 > 0.0:
                shrink(1.0 - eta * l2, v, owed, lag, carry)
            total = 0.0
            for at in range(first, stop):
                if pushes[at - first] != 0.0:
                    i = order[at]
                    factor = pushes[at - first] / carry[1]
                    for e in range(pointers[i], pointers[i + 1]):
                        v[columns[e]] += factor * data[e]
                    if lag.shape[0] > 0 and carry[4] != 0.0:
                        factor *= carry[4]
                        for e in range(pointers[i], pointers[i + 1]):
                            lag[columns[e]] += factor * data[e]
                    total += pushes[at - first]
                    carry[8] += 1.0
            finish_step(fit_intercept, total, eta, l1, average, carry)
            first = stop
