"""Newton's method for one linear machine on few rows: many steps in one call.

Minimises J(w) = sum_i c_i loss(m_i) + l2 |w|^2 / 2 over w, with the margins m_i = t_i w . x_i. The shape of the loss is
(tube, width, low, high), see ``_objective/piecewise_losses.py``; its corners lie `tube` beside the centre of a row. A
loss with corners (width zero) is rounded off by a barrier that falls from step to step, see ``_objective/smoothed.py``.
The slopes u_i of the loss are a point of the dual, so that

    min J >= -sum_i c_i conjugate(u_i) - |sum_i c_i t_i u_i x_i|^2 / (2 l2).
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import inline
else:
    from numpy import sqrt

    from mercer._native.shared import inline

# Factor by which the barrier falls once a step promises less than this share of its weight; see ``irls.py``.
_FALL = cython.declare(cython.double, 0.2)
_SETTLED = cython.declare(cython.double, 1e-2)
# Lengths that the line search tries.
_TRIALS = cython.declare(cython.int, 40)
# At the last barrier Newton's method goes on until a step promises less than this share of it, which is rounding.
_ROUNDING = cython.declare(cython.double, 1e-10)


@cython.cclass
class Machine:
    """The rows and losses of a machine, the point that Newton's method has reached, and what it has found.

    Parameters
    ----------
    X : (n, p), rows, with the column of the intercept; sign, centre, weight : (n,), t, the centre and c of each row
    shape : (4,), l2 : the loss and the strength of the penalty
    limits : the gap that is allowed, the decrease of J that is not worth a step, and the last barrier
    current, best : (p,), the point, and the one of the lowest J, in place
    """

    X: cython.const[cython.double][:, ::1]
    sign: cython.const[cython.double][::1]
    centre: cython.const[cython.double][::1]
    weight: cython.const[cython.double][::1]
    shape: cython.const[cython.double][::1]
    current: cython.double[::1]
    best: cython.double[::1]
    # Scratch: slopes and curvatures of the rows (n,), gradient, direction and trial (p,), the Hessian (p, p).
    slopes: cython.double[::1]
    bends: cython.double[::1]
    gradient: cython.double[::1]
    direction: cython.double[::1]
    trial: cython.double[::1]
    hessian: cython.double[:, ::1]
    cython.declare(l2=cython.double, allowed=cython.double, enough=cython.double, last=cython.double)
    cython.declare(value=cython.double, reached=cython.double, below=cython.double)
    objective = cython.declare(cython.double, visibility="public")
    bound = cython.declare(cython.double, visibility="public")
    barrier = cython.declare(cython.double, visibility="public")
    ended = cython.declare(cython.bint, visibility="public")
    odd = cython.declare(cython.bint, visibility="public")

    def __init__(self, rows, shape, l2, limits, current, best, room):
        self.X, self.sign, self.centre, self.weight = rows
        self.shape, self.l2 = shape, l2
        self.allowed, self.enough, self.last = limits
        self.current, self.best = current, best
        self.slopes, self.bends, self.gradient, self.direction, self.trial, self.hessian = room
        self.objective, self.bound, self.barrier = float("inf"), -float("inf"), 0.0
        self.value = self.reached = self.below = 0.0
        self.ended = self.odd = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def round_corner(
    machine: Machine, i: cython.Py_ssize_t, distance: cython.double, low: cython.double, high: cython.double
) -> cython.double:
    """Return the value of a corner that the barrier rounds off; add its slope and curvature to those of row i."""
    b: cython.double = machine.barrier
    span: cython.double = high - low
    reach: cython.double = span * (distance if distance > 0 else -distance)
    # The distance of the slope to the nearer limit, without cancellation.
    small: cython.double = 2.0 * b * span / (2.0 * b + reach + sqrt(4.0 * b * b + reach * reach))
    large: cython.double = span - small
    slope: cython.double = high - small if distance > 0 else low + small
    machine.slopes[i] += slope
    machine.bends[i] += small * small * large * large / (b * (small * small + large * large))
    return slope * distance + b * inline.log(4.0 * (small / span) * (large / span))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rise(machine: Machine, i: cython.Py_ssize_t, depth: cython.double, limit: cython.double) -> cython.double:
    """Return the loss at a `depth` beyond a corner: a parabola, then a line of the slope `limit`; set slope and bend.

    The slope of row i is set without its sign.
    """
    width: cython.double = machine.shape[1]
    if depth <= limit * width:
        machine.slopes[i] = depth / width
        machine.bends[i] = 1.0 / width
        return 0.5 * depth * depth / width
    machine.slopes[i] = limit
    machine.bends[i] = 0.0
    return limit * (depth - 0.5 * limit * width)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_row(machine: Machine, i: cython.Py_ssize_t, margin: cython.double) -> cython.double:
    """Return the loss of row i, add the loss as it is rounded off to `value`, and set its slope and curvature."""
    tube: cython.double = machine.shape[0]
    low: cython.double = machine.shape[2]
    high: cython.double = machine.shape[3]
    distance: cython.double = margin - machine.centre[i]
    under: cython.double = -(distance + tube)
    over: cython.double = distance - tube
    loss: cython.double = 0.0
    machine.slopes[i] = machine.bends[i] = 0.0
    if machine.shape[1] > 0:
        if under > 0:
            loss = rise(machine, i, under, -low)
            machine.slopes[i] = -machine.slopes[i]
        elif over > 0 and high > 0:
            loss = rise(machine, i, over, high)
        machine.value += machine.weight[i] * loss
        return loss
    loss = -low * under if under > 0 else (high * over if over > 0 else 0.0)
    if tube == 0:
        machine.value += machine.weight[i] * round_corner(machine, i, distance, low, high)
    else:
        machine.value += machine.weight[i] * round_corner(machine, i, -under, low, 0.0)
        machine.value += machine.weight[i] * round_corner(machine, i, over, 0.0, high)
    return loss


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_conjugate(machine: Machine, i: cython.Py_ssize_t, slope: cython.double) -> cython.double:
    """Return the conjugate of the loss of row i at a slope between the limits."""
    size: cython.double = slope if slope > 0 else -slope
    return slope * machine.centre[i] + machine.shape[0] * size + 0.5 * machine.shape[1] * slope * slope


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def evaluate(machine: Machine, w: cython.double[::1]) -> cython.void:
    """Compute J, its rounded value, its gradient and Hessian at w, and the lower bound that the slopes give."""
    X: cython.const[cython.double][:, ::1] = machine.X
    H: cython.double[:, ::1] = machine.hessian
    g: cython.double[::1] = machine.gradient
    p: cython.Py_ssize_t = w.shape[0]
    cython.declare(i=cython.Py_ssize_t, a=cython.Py_ssize_t, b=cython.Py_ssize_t, factor=cython.double)
    loss: cython.double = 0.0
    conjugate: cython.double = 0.0
    dual: cython.double = 0.0
    penalty: cython.double = 0.0
    machine.value = 0.0
    for a in range(p):
        g[a] = 0.0
        for b in range(a + 1):
            H[a, b] = 0.0
    for i in range(X.shape[0]):
        loss += machine.weight[i] * measure_row(machine, i, machine.sign[i] * inline.dot(X[i], w))
        conjugate += machine.weight[i] * find_conjugate(machine, i, machine.slopes[i])
        factor = machine.weight[i] * machine.sign[i] * machine.slopes[i]
        if factor != 0.0:
            for a in range(p):
                g[a] += factor * X[i, a]
        factor = machine.weight[i] * machine.bends[i]
        if factor != 0.0:
            for a in range(p):
                for b in range(a + 1):
                    H[a, b] += factor * X[i, a] * X[i, b]
    for a in range(p):
        dual += g[a] * g[a]
        penalty += w[a] * w[a]
        g[a] += machine.l2 * w[a]
        H[a, a] += machine.l2
    penalty *= 0.5 * machine.l2
    machine.reached = loss + penalty
    machine.value += penalty
    machine.below = -conjugate - 0.5 * dual / machine.l2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_ahead(machine: Machine) -> cython.double:
    """Return the lower bound of the slopes that a step along the direction leads to, to first order."""
    X: cython.const[cython.double][:, ::1] = machine.X
    total: cython.double[::1] = machine.trial
    conjugate: cython.double = 0.0
    dual: cython.double = 0.0
    for a in range(total.shape[0]):
        total[a] = 0.0
    for i in range(X.shape[0]):
        slope = machine.slopes[i] + machine.bends[i] * machine.sign[i] * inline.dot(X[i], machine.direction)
        slope = slope if slope > machine.shape[2] else machine.shape[2]
        slope = slope if slope < machine.shape[3] else machine.shape[3]
        conjugate += machine.weight[i] * find_conjugate(machine, i, slope)
        slope *= machine.weight[i] * machine.sign[i]
        for a in range(total.shape[0]):
            total[a] += slope * X[i, a]
    for a in range(total.shape[0]):
        dual += total[a] * total[a]
    return -conjugate - 0.5 * dual / machine.l2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def factor_hessian(H: cython.double[:, ::1], root: cython.double[::1]) -> cython.bint:
    """Replace the lower triangle, scaled to a unit diagonal, by its Cholesky factor; return whether that worked."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    c: cython.Py_ssize_t
    total: cython.double
    for a in range(H.shape[0]):
        root[a] = sqrt(H[a, a])
    for a in range(H.shape[0]):
        for b in range(a + 1):
            total = H[a, b] / (root[a] * root[b])
            for c in range(b):
                total -= H[a, c] * H[b, c]
            if a != b:
                H[a, b] = total / H[b, b]
            elif total > 1e-14:
                H[a, a] = sqrt(total)
            else:
                # The penalty makes the matrix positive definite; only rounding, or NaN, comes here.
                return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_direction(machine: Machine) -> cython.double:
    """Solve for the Newton step; return the slope of the rounded J along it, or one if that failed."""
    H: cython.double[:, ::1] = machine.hessian
    d: cython.double[::1] = machine.direction
    root: cython.double[::1] = machine.trial
    p: cython.Py_ssize_t = d.shape[0]
    total: cython.double = 0.0
    if not factor_hessian(H, root):
        return 1.0
    for a in range(p):
        d[a] = -machine.gradient[a] / root[a]
        for b in range(a):
            d[a] -= H[a, b] * d[b]
        d[a] /= H[a, a]
    for a in range(p - 1, -1, -1):
        for b in range(a + 1, p):
            d[a] -= H[b, a] * d[b]
        d[a] /= H[a, a]
    for a in range(p):
        d[a] /= root[a]
        total += machine.gradient[a] * d[a]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_better(machine: Machine, w: cython.double[::1]) -> cython.void:
    """Keep the lower J and the higher bound."""
    machine.bound = machine.below if machine.below > machine.bound else machine.bound
    if machine.reached < machine.objective:
        machine.objective = machine.reached
        for a in range(w.shape[0]):
            machine.best[a] = w[a]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search(machine: Machine, slope: cython.double) -> cython.bint:
    """Move to the first of ever shorter steps that keeps a share of the promised decrease; return whether one did."""
    turn: cython.int = 0
    step: cython.double = 1.0
    before: cython.double = machine.value
    slack: cython.double = 1e-15 * (before if before > 0 else -before)
    while turn < _TRIALS:
        turn += 1
        for a in range(machine.trial.shape[0]):
            machine.trial[a] = machine.current[a] + step * machine.direction[a]
        evaluate(machine, machine.trial)
        if machine.value <= before + 1e-4 * step * slope + slack:
            for a in range(machine.trial.shape[0]):
                machine.current[a] = machine.trial[a]
            return True
        ahead = 0.0
        for a in range(machine.trial.shape[0]):
            ahead += machine.gradient[a] * machine.direction[a]
        # The secant of the slope at both ends points to the minimum between them.
        share = slope / (slope - ahead) if ahead > 0 else 0.5
        step *= 0.5 if share > 0.5 else (0.1 if share < 0.1 else share)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(machine: Machine) -> cython.double:
    """Lower the barrier until a step is worth taking, and return the slope along it; `ended` or `odd` where none is."""
    cython.declare(done=cython.bint, over=cython.bint, least=cython.double)
    while True:
        slope = find_direction(machine)
        # NaN fails the comparison.
        if not slope <= 0:
            machine.odd = True
            return 0.0
        done = not slope < -(_SETTLED * machine.barrier if machine.barrier > 0 else machine.enough)
        if done and machine.barrier > 0:
            machine.below = look_ahead(machine)
            keep_better(machine, machine.current)
        over = done and not slope < -_ROUNDING * machine.barrier and machine.barrier <= machine.last
        if over or (done and machine.objective - machine.bound <= machine.allowed):
            machine.ended = True
            return slope
        if not (done and machine.barrier > machine.last):
            return slope
        least = _FALL * machine.barrier
        machine.barrier = least if least > machine.last else machine.last
        evaluate(machine, machine.current)
        keep_better(machine, machine.current)


def run_steps(machine: Machine, record: cython.double[:, ::1]) -> cython.Py_ssize_t:
    """Take steps until the gap is reached or `record` (m, 2), J and the gap after each, is full; return their number.

    Where arithmetic fails or no step lowers J, the machine is `odd`: the caller uses another method.
    """
    done: cython.Py_ssize_t = 0
    with cython.nogil:
        evaluate(machine, machine.current)
        keep_better(machine, machine.current)
        while True:
            slope = settle(machine)
            if machine.odd or machine.ended or done == record.shape[0]:
                break
            if not search(machine, slope):
                machine.odd = True
                break
            keep_better(machine, machine.current)
            record[done, 0] = machine.objective
            record[done, 1] = machine.objective - machine.bound
            done += 1
    return done
