"""Newton's method for logistic regression of two classes on few rows: many steps in one call.

Minimises J(w, b) = sum_i c_i loss(w . x_i + b, y_i) + sum_j l2_j w_j^2 / 2 over w and b, with sum_i c_i = 1 and the
logistic loss. The bound on J less its minimum is that of ``_solver/linear_problem.py``: the residuals of the rows are
mixed with a constant one until they sum to zero, as a free intercept asks of a point of the dual.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import blas, inline, lapack
else:
    from numpy import sqrt

    from mercer._native.shared import blas, inline, lapack

# Added to the unit diagonal of a Hessian whose columns may depend on one another; see ``_solver/metric.py``.
LIFT = cython.declare(cython.double, 1e-12)
# The share of the promised decrease, and that of the slope, that a step must reach; see ``_solver/line_search.py``.
DECREASE = cython.declare(cython.double, 1e-4)
FLATNESS = cython.declare(cython.double, 0.9)
# The share of the tolerance that the next step must promise less than; see ``_solver/lbfgs.py``.
PROMISE = cython.declare(cython.double, 0.01)
# The least probability that is mixed; see ``_objective/class_losses.py``.
TINY = cython.declare(cython.double, 2.2250738585072014e-308)


@cython.cclass
class Machine:
    """The rows of a problem, the point that is reached, and what is known there.

    Parameters
    ----------
    rows : X (n, d); y (n,), 0 or 1; c (n,), the weights of the rows, with sum one
    moments : mean (d,), cross (d,), the mean of y x, and the mean of y
    l2 : (d + 1,), the strengths of the penalty
    rules : whether there is an intercept, whether it is free of penalty, and whether anything is penalised
    limits : the largest entry of the gradient and the largest gap that are allowed
    current : (d + 1,), the coefficients and the intercept, in place
    room : scaled (n, d + 1), scores (n,), gradient, trial, dual (d + 1,), direction (1, d + 1), hessian (d + 1, d + 1)
    """

    X: cython.const[cython.double][:, ::1]
    y: cython.const[cython.double][::1]
    c: cython.const[cython.double][::1]
    mean: cython.const[cython.double][::1]
    cross: cython.const[cython.double][::1]
    l2: cython.const[cython.double][::1]
    current: cython.double[::1]
    scaled: cython.double[:, ::1]
    scores: cython.double[::1]
    gradient: cython.double[::1]
    trial: cython.double[::1]
    dual: cython.double[::1]
    direction: cython.double[:, ::1]
    hessian: cython.double[:, ::1]
    cython.declare(has_intercept=cython.bint, is_free=cython.bint, penalised=cython.bint)
    cython.declare(share=cython.double, tol=cython.double, allowed=cython.double)
    # J, the largest entry of its gradient and the gap where the rows were last measured.
    objective = cython.declare(cython.double, visibility="public")
    violation = cython.declare(cython.double, visibility="public")
    gap = cython.declare(cython.double, visibility="public")
    # Whether that is the minimum, and whether a whole step did not do: the caller searches along it.
    solved = cython.declare(cython.bint, visibility="public")
    odd = cython.declare(cython.bint, visibility="public")

    def __init__(self, rows, moments, l2, rules, limits, current, room):
        self.X, self.y, self.c = rows
        self.mean, self.cross, self.share = moments
        self.l2, self.current = l2, current
        self.has_intercept, self.is_free, self.penalised = rules
        self.tol, self.allowed = limits
        self.scaled, self.scores, self.gradient, self.trial, self.dual, self.direction, self.hessian = room
        self.objective = self.violation = self.gap = 0.0
        self.solved = self.odd = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(machine: Machine, w: cython.double[::1]) -> cython.void:
    """Compute J, its gradient and Hessian and the gap at w."""
    X: cython.const[cython.double][:, ::1] = machine.X
    H: cython.double[:, ::1] = machine.hessian
    g: cython.double[::1] = machine.gradient
    S: cython.double[:, ::1] = machine.scaled
    n: cython.Py_ssize_t = X.shape[0]
    d: cython.Py_ssize_t = X.shape[1]
    cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t, z=cython.double, p=cython.double)
    cython.declare(residual=cython.double, root=cython.double)
    loss: cython.double = 0.0
    along: cython.double = 0.0
    penalty: cython.double = 0.0
    for i in range(n):
        machine.scores[i] = inline.dot(X[i], w[:d]) + w[d]
    g[:] = 0.0
    for i in range(n):
        z = machine.scores[i]
        p = inline.expit(z)
        loss += machine.c[i] * (inline.log1pexp(z) - machine.y[i] * z)
        residual = machine.c[i] * (p - machine.y[i])
        root = sqrt(machine.c[i] * p * (1.0 - p))
        for j in range(d):
            g[j] += residual * X[i, j]
            S[i, j] = root * X[i, j]
        g[d] += residual
        S[i, d] = root if machine.has_intercept else 0.0
    if not machine.has_intercept:
        g[d] = 0.0
    H[:, :] = 0.0
    blas.add_transposed_product(S, S, H)
    if not machine.has_intercept:
        # The gradient is zero in this direction, so any positive value will do.
        H[d, d] = 1.0
    machine.violation = 0.0
    for j in range(d + 1):
        machine.dual[j] = g[j]
        along += w[j] * g[j]
        penalty += 0.5 * machine.l2[j] * w[j] * w[j]
        g[j] += machine.l2[j] * w[j]
        H[j, j] += machine.l2[j]
        # NaN stays the largest, and no comparison with it holds.
        if not (g[j] if g[j] > 0 else -g[j]) <= machine.violation:
            machine.violation = g[j] if g[j] > 0 else -g[j]
    machine.objective = loss + penalty
    machine.gap = bound_gap(machine, along - loss) if machine.penalised else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bound_gap(machine: Machine, conjugate: cython.double) -> cython.double:
    """Return the gap of the dual point, whose mean conjugate is given; the point itself is in `dual`."""
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = machine.X.shape[1]
    # Shares of both classes as the model gives them, and as the rows have them.
    first: cython.double = 1.0 - machine.share - machine.dual[d]
    last: cython.double = machine.share + machine.dual[d]
    mix: cython.double = 0.0
    if machine.is_free:
        first = first if first > TINY else TINY
        last = last if last > TINY else TINY
        mix = (first - (1.0 - machine.share)) / first
        mix = (last - machine.share) / last if last - machine.share > 0 else (mix if mix > 0 else 0.0)
        mix = mix if mix < 1.0 else 1.0
        if mix > 0:
            first = first + (1.0 - machine.share - first) / mix
            last = last + (machine.share - last) / mix
            first = first if first > 0 else 0.0
            last = last if last > 0 else 0.0
        conjugate *= 1.0 - mix
        conjugate += mix * (first * inline.log(first) if first > 0 else 0.0)
        conjugate += mix * (last * inline.log(last) if last > 0 else 0.0)
        for j in range(d):
            machine.dual[j] = (1.0 - mix) * machine.dual[j] + mix * (last * machine.mean[j] - machine.cross[j])
        machine.dual[d] = 0.0
    for j in range(d + 1):
        if machine.l2[j] > 0:
            conjugate += 0.5 * machine.dual[j] * machine.dual[j] / machine.l2[j]
    conjugate += machine.objective
    # Rounding may leave it just below zero.
    return 0.0 if conjugate < 0 else conjugate


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_direction(machine: Machine) -> cython.double:
    """Solve for Newton's step; return the slope of J along it, or one where the Hessian has no factor."""
    H: cython.double[:, ::1] = machine.hessian
    root: cython.double[::1] = machine.dual
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double = 0.0
    for j in range(root.shape[0]):
        root[j] = 1.0 / sqrt(H[j, j]) if H[j, j] > 0 else 1.0
    for j in range(root.shape[0]):
        for k in range(j + 1):
            H[j, k] *= root[j] * root[k]
        H[j, j] += LIFT
        machine.direction[0, j] = -machine.gradient[j] * root[j]
    if lapack.factor_corner(H, 0, H.shape[0]) != 0:
        return 1.0
    lapack.solve_factored(H, machine.direction)
    for j in range(root.shape[0]):
        machine.direction[0, j] *= root[j]
        total += machine.gradient[j] * machine.direction[0, j]
    return total


def run_steps(machine: Machine, record: cython.double[:, ::1]) -> cython.Py_ssize_t:
    """Take whole steps until the minimum is reached or `record` (m, 3) is full; return their number.

    The record holds J, the largest entry of its gradient and the gap after each step. The measures of the machine are
    those of its current point, unless it is `odd`.
    """
    done: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    slope: cython.double
    ahead: cython.double
    before: cython.double
    with cython.nogil:
        measure(machine, machine.current)
        while True:
            slope = find_direction(machine)
            # NaN fails the comparison.
            if not slope <= 0:
                machine.odd = True
                break
            if machine.gap <= machine.allowed and machine.violation <= machine.tol:
                if -0.5 * slope <= PROMISE * machine.tol:
                    machine.solved = True
                    break
            if done == record.shape[0]:
                break
            for j in range(machine.trial.shape[0]):
                machine.trial[j] = machine.current[j] + machine.direction[0, j]
            before = machine.objective
            measure(machine, machine.trial)
            ahead = inline.dot(machine.gradient, machine.direction[0])
            if not (machine.objective <= before + DECREASE * slope and ahead >= FLATNESS * slope):
                machine.odd = True
                break
            machine.current[:] = machine.trial
            record[done, 0] = machine.objective
            record[done, 1] = machine.violation
            record[done, 2] = machine.gap
            done += 1
    return done
