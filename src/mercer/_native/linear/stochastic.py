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
    from cython.cimports.mercer._native.linear import row_steps, shuffles
    from cython.cimports.mercer._native.shared import inline, row_losses
else:
    from mercer._native.linear import row_steps, shuffles
    from mercer._native.shared import inline, row_losses

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)
# Below this scale the coefficients are multiplied out: an average is a difference of values 1 / scale times as large.
_LEAST_SCALE = cython.declare(cython.double, 1e-6)


@cython.cclass
class Method:
    """The loss, the schedule of learning rates and the penalties l1 |w| + l2 |w|^2 / 2 + tilt b, with b the intercept.

    `other` is the target of rows of other classes than a score's: 0 for losses of labels, -1 for those of numbers.
    `power` is the exponent of inverse scaling, `origin` the step that "optimal" starts from, `average` the step from
    which parameters are averaged, or zero for never.
    """

    cython.declare(loss=cython.int, schedule=cython.int, shape=cython.double, power=cython.double, origin=cython.double)
    cython.declare(fit_intercept=cython.bint, l1=cython.double, l2=cython.double, average=cython.double)
    cython.declare(other=cython.double, tilt=cython.double)

    def __init__(self, loss, shape, other, schedule, power, origin, fit_intercept, l1, l2, average, tilt):
        self.loss, self.shape, self.other, self.schedule = loss, shape, other, schedule
        self.power, self.origin, self.fit_intercept = power, origin, fit_intercept
        self.l1, self.l2, self.average, self.tilt = l1, l2, average, tilt


@cython.cclass
class Score:
    """One linear score on its way through an epoch.

    `owed` and `lag` are empty without an l1 penalty and without averages. Rows of the class `positive` have the target
    1 and others `Method.other`; if it is negative, targets are used as they are. Calls change the arrays in place, and
    the public attributes: `step` is the next step, counted from one; `losses` and `losses_at_zero` are weighted sums
    over the rows met, and `weight` is the sum of their weights.
    """

    v: cython.double[::1]
    owed: cython.double[::1]
    lag: cython.double[::1]
    rate = cython.declare(cython.double, visibility="public")
    positive: cython.double
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
class Rule:
    """When the descent of one score ends, and what its orders are drawn from: two words and the number of the epoch.

    It ends after `patience` epochs that were no better than the `best` by `tol`, unless an adaptive rate above `lowest`
    can be lowered. Where the loss is `unbounded`, an epoch is `odd` if the mean loss at zero scores is above `reach`,
    or the losses rise above `far` times it.
    """

    cython.declare(judged=cython.bint, tol=cython.double, patience=cython.double, adaptive=cython.bint)
    cython.declare(lowest=cython.double, unbounded=cython.bint, reach=cython.double, far=cython.double)
    cython.declare(shuffled=cython.bint, first=cython.ulonglong, second=cython.ulonglong)
    best = cython.declare(cython.double, visibility="public")
    stale = cython.declare(cython.double, visibility="public")
    last = cython.declare(cython.double, visibility="public")
    epoch = cython.declare(cython.ulonglong, visibility="public")
    ended = cython.declare(cython.bint, visibility="public")
    odd = cython.declare(cython.bint, visibility="public")

    def __init__(self, tol, patience, adaptive, lowest, limits, words):
        self.judged, self.tol = tol is not None, 0.0 if tol is None else tol
        self.patience, self.adaptive, self.lowest = patience, adaptive, lowest
        self.unbounded, self.reach, self.far = limits
        self.shuffled = words is not None
        self.first, self.second = (0, 0) if words is None else words
        self.best, self.stale, self.last = float("inf"), 0.0, float("nan")
        self.epoch, self.ended, self.odd = 0, False, False


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
def multiply_all(score: Score, factor: cython.double) -> cython.void:
    """Multiply v and the account of the l1 penalty, which is in its units; zero takes infinite values to zero too."""
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
    target: cython.double = y if score.positive < 0 else (1.0 if y == score.positive else method.other)
    score.losses += size * row_losses.find_value(method.loss, method.shape, target, z)
    score.losses_at_zero += size * row_steps.find_loss_at_zero(method.loss, method.shape, target)
    score.weight += size
    return size * row_steps.find_push(method.loss, method.shape, method.schedule, rate, target, z, length)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish_step(method: Method, score: Score, total: cython.double, rate: cython.double) -> cython.void:
    """Move the intercept by `total` and its tilt, average, and let the l1 penalty of the step fall due."""
    if method.fit_intercept:
        score.intercept += total - rate * method.tilt
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_steps(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    visits: Visits,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    method: Method,
    score: Score,
    pushes: cython.double[::1],
) -> cython.void:
    """Take the steps of :func:`visit_rows`."""
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
    cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t, e=cython.Py_ssize_t, at=cython.Py_ssize_t)
    cython.declare(eta=cython.double, product=cython.double, length=cython.double, total=cython.double)
    while first < end:
        stop = first + pushes.shape[0] if first + pushes.shape[0] < end else end
        eta = row_steps.find_rate(method.schedule, method.power, method.origin, score.rate, score.step)
        for at in range(first, stop):
            i = order[at]
            product = 0.0
            length = 0.0
            if dense:
                if at + visits.distance < ahead.shape[0]:
                    j = ahead[at + visits.distance]
                    inline.prefetch(data, j * d, (j + 1) * d)
                product = row_steps.multiply_row(data, i * d, v)
                if method.schedule >= row_steps.PASSIVE_AGGRESSIVE:
                    length = inline.dot(data[i * d : (i + 1) * d], data[i * d : (i + 1) * d])
            else:
                for e in range(pointers[i], pointers[i + 1]):
                    j = columns[e]
                    if owed.shape[0] > 0:
                        row_steps.penalise(j, v, owed, lag, score.due, score.mass)
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
                row_steps.penalise(j, v, owed, lag, score.due, score.mass)
        first = stop


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
    with cython.nogil:
        take_steps(data, columns, pointers, visits, begin, end, method, score, pushes)


def draw_order(
    rows: cython.const[cython.Py_ssize_t][::1],
    order: cython.Py_ssize_t[::1],
    first: cython.ulonglong,
    second: cython.ulonglong,
    epoch: cython.ulonglong,
):
    """Write `rows` to `order` in the random order that two words and the number of an epoch determine."""
    with cython.nogil:
        shuffles.shuffle_rows(rows, order, shuffles.mix(first + epoch), second)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_epoch(method: Method, score: Score) -> cython.double:
    """Apply the l1 penalty that is due, multiply the scale in, and return the penalty of the parameters."""
    cython.declare(j=cython.Py_ssize_t, squares=cython.double, sizes=cython.double)
    squares = sizes = 0.0
    for j in range(score.owed.shape[0]):
        row_steps.penalise(j, score.v, score.owed, score.lag, score.due, score.mass)
    for j in range(score.v.shape[0]):
        score.v[j] = score.scale * score.v[j]
        squares += score.v[j] * score.v[j]
        sizes += score.v[j] if score.v[j] > 0 else -score.v[j]
    for j in range(score.owed.shape[0]):
        score.owed[j] = score.scale * score.owed[j]
    score.due = score.scale * score.due
    score.scale = 1.0
    return method.l1 * sizes + 0.5 * method.l2 * squares + method.tilt * score.intercept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def apply_rule(rule: Rule, score: Score, objective: cython.double, penalised: cython.bint) -> cython.void:
    """Count epochs without progress; where they are too many, lower an adaptive rate, or else end the descent."""
    stuck: cython.bint = rule.judged and objective > rule.best - rule.tol
    rule.stale = rule.stale + 1.0 if stuck else 0.0
    rule.best = objective if objective < rule.best else rule.best
    rule.last = objective
    if rule.stale >= rule.patience:
        if rule.adaptive and score.rate > rule.lowest:
            score.rate = score.rate / 5.0
            rule.stale = 0.0
        else:
            rule.ended = True
    # No update and no penalty: all later epochs would be the same.
    if score.updates == 0.0 and not penalised:
        rule.ended = True


def run_epochs(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    rows: cython.const[cython.Py_ssize_t][::1],
    order: cython.Py_ssize_t[::1],
    visits: Visits,
    method: Method,
    score: Score,
    rule: Rule,
    pushes: cython.double[::1],
    record: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Run epochs until the rule ends them or `record` (m, 2), objectives and updates, is full; return their number.

    `order` is the array that `visits` reads. An epoch that is `rule.odd` is not counted: the caller looks at it.
    """
    done: cython.Py_ssize_t = 0
    cython.declare(objective=cython.double, at_zero=cython.double)
    with cython.nogil:
        while done < record.shape[0]:
            if rule.shuffled:
                shuffles.shuffle_rows(rows, order, shuffles.mix(rule.first + rule.epoch), rule.second)
            score.losses = score.losses_at_zero = score.updates = score.weight = 0.0
            take_steps(data, columns, pointers, visits, 0, order.shape[0], method, score, pushes)
            objective = close_epoch(method, score)
            objective += score.losses / (score.weight if score.weight > 0.0 else 1.0)
            at_zero = score.losses_at_zero / (score.weight if score.weight > 0.0 else 1.0)
            # NaN fails every comparison.
            rule.odd = not (-1e300 < objective < 1e300 and -1e300 < score.intercept < 1e300)
            if rule.unbounded and (at_zero > rule.reach or (rule.last > rule.far * at_zero and objective > rule.last)):
                rule.odd = True
            if rule.odd:
                break
            record[done, 0] = objective
            record[done, 1] = score.updates
            rule.epoch += 1
            done += 1
            apply_rule(rule, score, objective, method.l1 > 0.0 or method.l2 > 0.0)
            if rule.ended:
                break
    return done
