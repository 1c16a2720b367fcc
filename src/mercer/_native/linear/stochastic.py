"""Stochastic gradient steps: one pass over rows in a given order, dense or CSR, for one linear score.

The coefficients are w = scale v, so that shrinking all of them by an l2 penalty costs one multiplication. An l1 penalty
is cumulative: `due` is the total by which every coefficient should have moved towards zero so far, and `owed` the
signed amount by which each has moved, both in units of v. A column absent from CSR rows so makes up for all missed
steps at once when it is next met. The average of w over n steps is (mass v - lag) / n, where mass sums the scales and
lag sums the changes of v, each times the mass before the change (Xu, 2011): columns not met cost nothing.

Dense rows come as one flat array with empty `columns` and `pointers`; CSR rows come as their three arrays.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

__all__ = ["Method", "Score", "Visits", "visit_rows"]

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)
# Losses of a row: with m = y z (a margin) or r = z - y (a residual), `shape` is the corner of the hinge (1; 0 for the
# perceptron), delta of Huber's loss, or epsilon. The square of the last loss is 7.
_HINGE = cython.declare(cython.int, 0)
_SQUARED_HINGE = cython.declare(cython.int, 1)
_LOGISTIC = cython.declare(cython.int, 2)
_MODIFIED_HUBER = cython.declare(cython.int, 3)
_SQUARED = cython.declare(cython.int, 4)
_HUBER = cython.declare(cython.int, 5)
_EPSILON_INSENSITIVE = cython.declare(cython.int, 6)
# Schedules of the learning rate: 0 is constant, 3 and 4 are passive-aggressive steps of kind I and II.
_OPTIMAL = cython.declare(cython.int, 1)
_INVERSE_SCALING = cython.declare(cython.int, 2)
_PASSIVE_AGGRESSIVE = cython.declare(cython.int, 3)
# Steeper slopes are clipped, so that one huge row gives large coefficients and not infinite ones.
_STEEPEST = cython.declare(cython.double, 1e12)
# Below this scale the coefficients are multiplied out: the average is a difference of values 1 / scale times as large,
# so a smaller scale would cost more than six of its sixteen digits.
_LEAST_SCALE = cython.declare(cython.double, 1e-6)


@cython.cclass
class Method:
    """The loss, the schedule of learning rates and the penalties l1 |w| + l2 |w|^2 / 2.

    `power` is the exponent of inverse scaling, `origin` the step that "optimal" starts from, `average` the step from
    which parameters are averaged, or zero for never.
    """

    cython.declare(loss=cython.int, schedule=cython.int, shape=cython.double, power=cython.double, origin=cython.double)
    cython.declare(fit_intercept=cython.bint, l1=cython.double, l2=cython.double, average=cython.double)

    def __init__(self, loss, schedule, shape, power, origin, fit_intercept, l1, l2, average):
        self.loss, self.schedule, self.shape = loss, schedule, shape
        self.power, self.origin, self.fit_intercept = power, origin, fit_intercept
        self.l1, self.l2, self.average = l1, l2, average


@cython.cclass
class Score:
    """One linear score on its way through an epoch.

    `owed` and `lag` are empty without an l1 penalty and without averages. Rows of the class `positive` have the target
    1 and others -1; if it is negative, targets are used as they are. Calls change the arrays in place, and the public
    attributes: `step` is the next step, counted from one; `losses` and `losses_at_zero` are weighted sums over the rows
    met, and `weight` is the sum of their weights.
    """

    v: cython.double[::1]
    owed: cython.double[::1]
    lag: cython.double[::1]
    cython.declare(rate=cython.double, positive=cython.double)
    intercept = cython.declare(cython.double, visibility="public")
    scale = cython.declare(cython.double, visibility="public")
    step = cython.declare(cython.double, visibility="public")
    due = cython.declare(cython.double, visibility="public")
    mass = cython.declare(cython.double, visibility="public")
    average_intercept = cython.declare(cython.double, visibility="public")
    losses = cython.declare(cython.double, visibility="public")
    losses_at_zero = cython.declare(cython.double, visibility="public")
    updates = cython.declare(cython.double, visibility="public")
    weight = cython.declare(cython.double, visibility="public")

    def __init__(self, v, owed, lag, rate, positive):
        self.v, self.owed, self.lag, self.rate, self.positive = v, owed, lag, rate, positive
        self.intercept = self.due = self.mass = self.average_intercept = 0.0
        self.losses = self.losses_at_zero = self.updates = self.weight = 0.0
        self.scale = self.step = 1.0


@cython.cclass
class Visits:
    """Targets, weights (empty for weights of one), and the rows in the order of visits.

    No processor foresees a random order, so visit t asks for the row ``ahead[t + distance]`` of the same rows.
    """

    y: cython.const[cython.double][::1]
    weight: cython.const[cython.double][::1]
    order: cython.const[cython.Py_ssize_t][::1]
    ahead: cython.const[cython.Py_ssize_t][::1]
    distance: cython.Py_ssize_t

    def __init__(self, y, weight, order, ahead, distance):
        self.y, self.weight, self.order, self.ahead, self.distance = y, weight, order, ahead, distance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_loss(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the loss at the score z of a row with target y."""
    m: cython.double = y * z
    r: cython.double = y - z if y > z else z - y
    if loss == _HINGE:
        return shape - m if m < shape else 0.0
    if loss == _SQUARED_HINGE:
        return (1.0 - m) * (1.0 - m) if m < 1.0 else 0.0
    if loss == _LOGISTIC:
        return inline.log1pexp(-m)
    if loss == _MODIFIED_HUBER:
        return 0.0 if m >= 1.0 else ((1.0 - m) * (1.0 - m) if m >= -1.0 else -4.0 * m)
    if loss == _SQUARED:
        return 0.5 * r * r
    if loss == _HUBER:
        return 0.5 * r * r if r <= shape else shape * (r - 0.5 * shape)
    r = r - shape if r > shape else 0.0
    return r if loss == _EPSILON_INSENSITIVE else r * r


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_slope(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the derivative of the loss by the score z; at the corner of a hinge, the steeper of both."""
    m: cython.double = y * z
    r: cython.double = z - y
    if loss == _HINGE:
        return -y if m <= shape else 0.0
    if loss == _SQUARED_HINGE:
        return -2.0 * y * (1.0 - m) if m < 1.0 else 0.0
    if loss == _LOGISTIC:
        return -y * inline.expit(-m)
    if loss == _MODIFIED_HUBER:
        return 0.0 if m >= 1.0 else (-2.0 * y * (1.0 - m) if m >= -1.0 else -4.0 * y)
    if loss == _SQUARED:
        return r
    if loss == _HUBER:
        return r if -shape <= r <= shape else (shape if r > 0 else -shape)
    if -shape <= r <= shape:
        return 0.0
    if loss == _EPSILON_INSENSITIVE:
        return 1.0 if r > 0 else -1.0
    return 2.0 * (r - shape) if r > 0 else 2.0 * (r + shape)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_push(
    method: Method, rate: cython.double, y: cython.double, z: cython.double, length: cython.double
) -> cython.double:
    """Return the factor of a row in the step of the coefficients; `length` is the row's squared norm.

    A gradient step has the factor -rate slope. Passive-aggressive steps (Crammer et al., 2006) go just as far as makes
    the loss zero, loss / |x|^2, but at most `rate` (kind I), or are softened: loss / (|x|^2 + 1 / (2 rate)) (kind II).
    """
    steep: cython.double
    if method.schedule < _PASSIVE_AGGRESSIVE:
        steep = find_slope(method.loss, method.shape, y, z)
        steep = _STEEPEST if steep > _STEEPEST else (-_STEEPEST if steep < -_STEEPEST else steep)
        return -rate * steep
    steep = find_loss(method.loss, method.shape, y, z)
    if method.schedule == _PASSIVE_AGGRESSIVE:
        steep = 0.0 if length == 0.0 else steep / length
        steep = rate if steep > rate else steep
    else:
        steep = steep / (length + 0.5 / rate)
    if method.loss == _HINGE:
        return steep * y
    return -steep if y < z else steep


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_rate(method: Method, rate: cython.double, t: cython.double) -> cython.double:
    """Return the learning rate of step t: `rate`, rate / t^power, or 1 / (alpha (origin + t - 1)) with alpha `rate`."""
    if method.schedule == _OPTIMAL:
        return 1.0 / (rate * (method.origin + t - 1.0))
    if method.schedule == _INVERSE_SCALING:
        return rate * inline.exp(-method.power * inline.log(t))
    return rate


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def multiply_row(data: cython.const[real][::1], first: cython.Py_ssize_t, v: cython.double[::1]) -> cython.double:
    """Return the dot product of v with the dense row that starts at `first`, over eight accumulators."""
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    part = cython.declare(cython.double[8])
    whole: cython.Py_ssize_t = v.shape[0] - v.shape[0] % 8
    for lane in range(8):
        part[lane] = 0.0
    for j in range(0, whole, 8):
        for lane in range(8):
            part[lane] += data[first + j + lane] * v[j + lane]
    for j in range(whole, v.shape[0]):
        part[j - whole] += data[first + j] * v[j]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def penalise(
    j: cython.Py_ssize_t, v: cython.double[::1], owed: cython.double[::1], lag: cython.double[::1], score: Score
) -> cython.void:
    """Move a coefficient towards zero, at most to it, by the part of `score.due` that has not been paid."""
    before: cython.double = v[j]
    after: cython.double = before
    if before > 0:
        after = before - (score.due + owed[j])
        after = after if after > 0 else 0.0
    elif before < 0:
        after = before + (score.due - owed[j])
        after = after if after < 0 else 0.0
    v[j] = after
    owed[j] += after - before
    if lag.shape[0] > 0:
        lag[j] += score.mass * (after - before)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def multiply_all(score: Score, factor: cython.double) -> cython.void:
    """Multiply v and the account of the l1 penalty, which is in its units; zero takes infinite values to zero too."""
    j: cython.Py_ssize_t
    # The sum of all steps, mass v - lag, goes into the lag alone, so that the mass starts again at zero.
    for j in range(score.lag.shape[0]):
        score.lag[j] -= score.mass * score.v[j]
    score.mass = 0.0
    for j in range(score.v.shape[0]):
        score.v[j] = score.v[j] * factor if factor > 0.0 else 0.0
    for j in range(score.owed.shape[0]):
        score.owed[j] = score.owed[j] * factor if factor > 0.0 else 0.0
    score.due = score.due * factor if factor > 0.0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shrink(score: Score, factor: cython.double) -> cython.void:
    """Multiply the coefficients by `factor`, or set them to zero if it is negative: shrinking ends at zero."""
    if factor <= 0.0:
        multiply_all(score, 0.0)
        return
    score.scale *= factor
    if score.scale < _LEAST_SCALE:
        multiply_all(score, score.scale)
        score.scale = 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def meet_row(
    method: Method,
    score: Score,
    y: cython.double,
    size: cython.double,
    product: cython.double,
    length: cython.double,
    rate: cython.double,
) -> cython.double:
    """Add the losses of a row of weight `size` to the sums; return its factor, given v . x and |x|^2, in the step."""
    z: cython.double = score.scale * product + score.intercept
    target: cython.double = y if score.positive < 0 else (1.0 if y == score.positive else -1.0)
    score.losses += size * find_loss(method.loss, method.shape, target, z)
    score.losses_at_zero += size * find_loss(method.loss, method.shape, target, 0.0)
    score.weight += size
    return size * find_push(method, rate, target, z, length)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish_step(method: Method, score: Score, total: cython.double, rate: cython.double) -> cython.void:
    """Move the intercept by `total`, take the point into the average, and let the step's l1 penalty fall due."""
    if method.fit_intercept:
        score.intercept += total
    if 0.0 < method.average <= score.step:
        score.mass += score.scale
        score.average_intercept += (score.intercept - score.average_intercept) / (score.step - method.average + 1.0)
    score.due += rate * method.l1 / score.scale
    score.step += 1.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def move(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    row: cython.Py_ssize_t,
    push: cython.double,
    v: cython.double[::1],
    lag: cython.double[::1],
    score: Score,
) -> cython.void:
    """Add `push` times a row to the coefficients w = scale v; its share of earlier averages goes into the lag."""
    d: cython.Py_ssize_t = v.shape[0]
    e: cython.Py_ssize_t
    factor: cython.double = push / score.scale
    lags: cython.bint = lag.shape[0] > 0 and score.mass != 0.0
    if pointers.shape[0] == 0:
        for e in range(d):
            v[e] += factor * data[row * d + e]
        factor = score.mass * push / score.scale
        for e in range(d if lags else 0):
            lag[e] += factor * data[row * d + e]
        return
    for e in range(pointers[row], pointers[row + 1]):
        v[columns[e]] += factor * data[e]
    if lags:
        factor *= score.mass
        for e in range(pointers[row], pointers[row + 1]):
            lag[columns[e]] += factor * data[e]


def visit_rows(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    visits: Visits,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    method: Method,
    score: Score,
    pushes: cython.double[::1],
):
    """Take a step for each batch of the visits from `begin` to `end`; `pushes` is scratch of the size of a batch."""
    v: cython.double[::1] = score.v
    owed: cython.double[::1] = score.owed
    lag: cython.double[::1] = score.lag
    y: cython.const[cython.double][::1] = visits.y
    weight: cython.const[cython.double][::1] = visits.weight
    order: cython.const[cython.Py_ssize_t][::1] = visits.order
    ahead: cython.const[cython.Py_ssize_t][::1] = visits.ahead
    dense: cython.bint = pointers.shape[0] == 0
    d: cython.Py_ssize_t = v.shape[0]
    first: cython.Py_ssize_t = begin
    stop: cython.Py_ssize_t
    cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t, e=cython.Py_ssize_t, at=cython.Py_ssize_t)
    cython.declare(eta=cython.double, product=cython.double, length=cython.double, total=cython.double)
    with cython.nogil:
        while first < end:
            stop = first + pushes.shape[0] if first + pushes.shape[0] < end else end
            eta = find_rate(method, score.rate, score.step)
            for at in range(first, stop):
                i = order[at]
                product = 0.0
                length = 0.0
                if dense:
                    if at + visits.distance < ahead.shape[0]:
                        j = ahead[at + visits.distance]
                        inline.prefetch(data, j * d, (j + 1) * d)
                    product = multiply_row(data, i * d, v)
                    if method.schedule >= _PASSIVE_AGGRESSIVE:
                        length = inline.dot(data[i * d : (i + 1) * d], data[i * d : (i + 1) * d])
                else:
                    for e in range(pointers[i], pointers[i + 1]):
                        j = columns[e]
                        if owed.shape[0] > 0:
                            penalise(j, v, owed, lag, score)
                        product += data[e] * v[j]
                        length += cython.cast(cython.double, data[e]) * cython.cast(cython.double, data[e])
                total = meet_row(method, score, y[i], weight[i] if weight.shape[0] > 0 else 1.0, product, length, eta)
                pushes[at - first] = total / (stop - first)
            if method.l2 > 0.0:
                shrink(score, 1.0 - eta * method.l2)
            total = 0.0
            for at in range(first, stop):
                if pushes[at - first] != 0.0:
                    move(data, columns, pointers, order[at], pushes[at - first], v, lag, score)
                    total += pushes[at - first]
                    score.updates += 1.0
            finish_step(method, score, total, eta)
            if dense:
                for j in range(owed.shape[0]):
                    penalise(j, v, owed, lag, score)
            first = stop
