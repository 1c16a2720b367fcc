"""Exact solutions of many small quadratic programs over nonnegative vectors that share one matrix.

Row w of W minimises w^T G w / 2 - p . w over w >= 0, with p the same row of P less a number. Coordinate descent finds
the entries that are zero within some sweeps and then needs hundreds to settle the others where components are alike.
Here those others, the passive ones, are the solution of a linear system, by Cholesky. Lawson and Hanson (1974), from
a start that is not zero: a step that would make an entry negative ends there and drops it, and an entry at zero that
would lower the objective joins.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
    from cython.cimports.mercer._native.shared import inline
else:
    from math import fabs, sqrt

    from mercer._native.shared import inline

# A slope below this share of the terms that it is the sum of is zero: some thousand roundings.
_ZERO = cython.declare(cython.double, 1e-12)
# A pivot below this share of its diagonal entry is zero: the passive components are linearly dependent.
_SINGULAR = cython.declare(cython.double, 1e-12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_slope(
    G: cython.const[cython.double][:, ::1],
    p: cython.const[cython.double][::1],
    w: cython.const[cython.double][::1],
    t: cython.Py_ssize_t,
) -> cython.double:
    """Return minus the gradient in coordinate t, p_t - (G w)_t, or zero where rounding alone can give as much."""
    slope: cython.double = p[t]
    size: cython.double = fabs(p[t])
    for r in range(G.shape[0]):
        slope -= G[t, r] * w[r]
        size += fabs(G[t, r]) * w[r]
    return slope if fabs(slope) > _ZERO * size else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_entry(
    G: cython.const[cython.double][:, ::1],
    p: cython.const[cython.double][::1],
    w: cython.const[cython.double][::1],
    check_all: cython.bint,
) -> cython.Py_ssize_t:
    """Return the entry at zero that lowers the objective most, or -1 if none does.

    With `check_all` -2 says that an entry above zero has a slope; without, these have just been solved for.
    """
    best: cython.Py_ssize_t = -1
    most: cython.double = 0.0
    for t in range(G.shape[0]):
        # A component without curvature does not change the product: it stays.
        if G[t, t] <= 0 or (w[t] > 0 and not check_all):
            continue
        slope = find_slope(G, p, w, t)
        if w[t] > 0 and slope != 0:
            return -2
        # Twice the fall of the objective by this coordinate alone is slope^2 / G_tt.
        if slope > 0 and slope * slope > most * G[t, t]:
            most, best = slope * slope / G[t, t], t
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve_passive(
    G: cython.const[cython.double][:, ::1],
    p: cython.const[cython.double][::1],
    passive: cython.const[cython.Py_ssize_t][::1],
    L: cython.double[:, ::1],
    z: cython.double[::1],
) -> cython.bint:
    """Solve the linear system of the passive entries by Cholesky, G = L L^T; return whether it is regular."""
    m: cython.Py_ssize_t = passive.shape[0]
    for i in range(m):
        for j in range(i):
            L[i, j] = (G[passive[i], passive[j]] - inline.dot(L[i, :j], L[j, :j])) / L[j, j]
        pivot = G[passive[i], passive[i]] - inline.dot(L[i, :i], L[i, :i])
        if not pivot > _SINGULAR * G[passive[i], passive[i]]:
            return False
        L[i, i] = sqrt(pivot)
        # Forward substitution along the way: row i of L is complete.
        z[i] = (p[passive[i]] - inline.dot(L[i, :i], z[:i])) / L[i, i]
    for i in range(m - 1, -1, -1):
        z[i] /= L[i, i]
        for j in range(i):
            z[j] -= L[i, j] * z[i]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_to(
    w: cython.double[::1], passive: cython.const[cython.Py_ssize_t][::1], z: cython.const[cython.double][::1]
) -> cython.bint:
    """Move the passive entries to z, or as far as none is negative; return whether z was reached."""
    length: cython.double = 1.0
    last: cython.Py_ssize_t = -1
    for i in range(passive.shape[0]):
        t = passive[i]
        # Entry t reaches zero at the share w / (w - z) of the step.
        if z[i] <= 0 and w[t] <= length * (w[t] - z[i]):
            length = w[t] / (w[t] - z[i]) if w[t] > 0 else 0.0
            last = t
    for i in range(passive.shape[0]):
        t = passive[i]
        w[t] = z[i] if last < 0 else w[t] + length * (z[i] - w[t])
        w[t] = w[t] if w[t] > 0 else 0.0
    if last >= 0:
        w[last] = 0.0
    return last < 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve_row(
    G: cython.const[cython.double][:, ::1],
    p: cython.const[cython.double][::1],
    w: cython.double[::1],
    passive: cython.Py_ssize_t[::1],
    scratch: cython.double[:, ::1],
    rounds: cython.Py_ssize_t,
) -> cython.bint:
    """Solve one row from w, which is overwritten; return whether it was solved within some rounds."""
    k: cython.Py_ssize_t = G.shape[0]
    entry: cython.Py_ssize_t = find_entry(G, p, w, True)
    while entry != -1 and rounds > 0:
        rounds -= 1
        m = 0
        for t in range(k):
            if (w[t] > 0 or t == entry) and G[t, t] > 0:
                passive[m] = t
                m += 1
        if not solve_passive(G, p, passive[:m], scratch[:k], scratch[k]):
            return False
        # After a shortened step the rest of the passive entries is solved for again before another one joins.
        entry = find_entry(G, p, w, False) if step_to(w, passive[:m], scratch[k]) else -2
    return entry == -1


def solve_rows(
    P: cython.const[cython.double][:, ::1],
    G: cython.const[cython.double][:, ::1],
    l1: cython.double,
    W: cython.double[:, ::1],
    passive: cython.Py_ssize_t[::1],
    scratch: cython.double[:, ::1],
    rounds: cython.Py_ssize_t,
    solved: cython.char[::1],
) -> None:
    """Minimise w^T G w / 2 - (p - l1) . w over w >= 0 in every row of `W`, from its entries, which are overwritten.

    `passive` has k entries and `scratch` k + 2 rows of k. `solved` receives 1 for a row that was solved within `rounds`
    linear systems, and 0 for one that was not, as where the components are linearly dependent: its entries are
    feasible, and no worse than those given.
    """
    n: cython.Py_ssize_t = W.shape[0]
    k: cython.Py_ssize_t = W.shape[1]
    with cython.nogil:
        for row in range(n):
            for t in range(k):
                scratch[k + 1, t] = P[row, t] - l1
            solved[row] = solve_row(G, scratch[k + 1], W[row], passive, scratch, rounds)
