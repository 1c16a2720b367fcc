"""Coordinate descent for least squares of several targets, whose penalty bounds each column's coefficients together.

Minimised is |Y - X W|^2 / 2 + l1 sum_j |W_j|_2 + l2 |W|^2 / 2, with W_j the coefficients of column j for all targets.
Rows carry the roots of their weights, and columns and targets have their means taken off. Arrays of coefficients have a
row for each target; Q is (X^T R)^T with R = Y - X W.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import inline
else:
    from math import sqrt

    from mercer._native.shared import inline

# What the gap is where sweeps ended without one.
NONE = cython.declare(cython.double, 1e308)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gap_of(
    W: cython.const[cython.double][:, ::1],
    Q: cython.const[cython.double][:, ::1],
    squares: cython.double,
    l1: cython.double,
    l2: cython.double,
) -> cython.double:
    """Return the duality gap; see ``duality_gap``."""
    j: cython.Py_ssize_t
    t: cython.Py_ssize_t
    slope: cython.double
    size: cython.double
    own: cython.double
    over: cython.double
    with_slope: cython.double
    with_own: cython.double
    one_norm: cython.double = 0.0
    two_norm: cython.double = 0.0
    product: cython.double = 0.0
    top: cython.double = 0.0
    smooth: cython.double = 0.0
    scale: cython.double = 1.0
    for j in range(W.shape[1]):
        size = 0.0
        over = 0.0
        own = 0.0
        with_slope = 0.0
        with_own = 0.0
        for t in range(W.shape[0]):
            # The design with the rows sqrt(l2) I added makes the l2 penalty a part of the squares.
            slope = Q[t, j] - l2 * W[t, j]
            size += W[t, j] * W[t, j]
            own += slope * slope
            over += Q[t, j] * Q[t, j]
            with_slope += W[t, j] * slope
            with_own += W[t, j] * Q[t, j]
        two_norm += size
        size = sqrt(size)
        own = sqrt(own)
        over = sqrt(over) - l1
        one_norm += size
        product += with_slope
        top = own if own > top else top
        over = over if over > 0 else 0.0
        if l2 > 0:
            # The residual itself is feasible too; see the gap of one target in descent.py.
            smooth += l1 * size + 0.5 * l2 * size * size - with_own + over * over / (2.0 * l2)
    squares += l2 * two_norm
    if squares > 0:
        scale = (squares + product) / squares
        scale = scale if scale > 0 else 0.0
    if top > 0 and scale * top > l1:
        scale = l1 / top
    gap = 0.5 * squares * (1.0 - scale) * (1.0 - scale) + l1 * one_norm - scale * product
    if l2 > 0:
        gap = smooth if smooth < gap else gap
    return gap if gap > 0 else 0.0


def duality_gap(
    W: cython.const[cython.double][:, ::1],
    Q: cython.const[cython.double][:, ::1],
    squares: cython.double,
    l1: cython.double,
    l2: cython.double,
) -> cython.double:
    """Return the objective at W minus the dual at a feasible point made of the residual; `squares` is |R|^2."""
    with cython.nogil:
        gap = gap_of(W, Q, squares, l1, l2)
    return gap


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compute_left(
    linear: cython.const[cython.double][:, ::1],
    W: cython.const[cython.double][:, ::1],
    Q: cython.const[cython.double][:, ::1],
    squares: cython.double,
) -> cython.double:
    """Return |Y - X W|^2 = |Y|^2 - W . (linear + Q)."""
    for t in range(W.shape[0]):
        for j in range(W.shape[1]):
            squares -= W[t, j] * (linear[t, j] + Q[t, j])
    return squares if squares > 0 else 0.0


def gram_descent(
    G: cython.const[cython.double][:, ::1],
    linear: cython.const[cython.double][:, ::1],
    squares: cython.double,
    penalty: tuple,
    order: cython.const[cython.Py_ssize_t][:, ::1],
    goal: cython.double,
    small: cython.double,
    W: cython.double[:, ::1],
    Q: cython.double[:, ::1],
    record: cython.double[:, :, ::1],
    scratch: cython.double[::1],
) -> cython.Py_ssize_t:
    """Descend on the first m rows and columns of G = X^T X, with linear = (X^T Y)^T; Q = linear - W G is kept true.

    A sweep visits the columns of the next row of `order`; there are as many sweeps as `record` has tables beyond the
    first, and the tables receive W before the first sweep and after each. Ends earlier, once no column moved by more
    than `small` times the largest and the duality gap is at most `goal`, or once nothing moves; returns the number of
    sweeps. `squares` is |Y|^2, `penalty` is (l1, l2), and `scratch` has an entry for each target and one more, which is
    the gap where that ended the sweeps, else 1e308.
    """
    l1: cython.double = penalty[0]
    l2: cython.double = penalty[1]
    m: cython.Py_ssize_t = W.shape[1]
    n_targets: cython.Py_ssize_t = W.shape[0]
    turn: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    t: cython.Py_ssize_t
    norm: cython.double
    share: cython.double
    moved: cython.double
    largest: cython.double
    one: cython.double
    with cython.nogil:
        scratch[n_targets] = NONE
        record[0, :, :] = W
        while turn < record.shape[0] - 1:
            moved = 0.0
            largest = 0.0
            for at in range(order.shape[1]):
                j = order[turn % order.shape[0], at]
                if G[j, j] <= 0:
                    continue
                norm = 0.0
                for t in range(n_targets):
                    # The slope at W_j = 0: that of the residual without column j.
                    scratch[t] = Q[t, j] + G[j, j] * W[t, j]
                    norm += scratch[t] * scratch[t]
                norm = sqrt(norm)
                share = (1.0 - l1 / norm) / (G[j, j] + l2) if norm > l1 else 0.0
                size = 0.0
                norm = 0.0
                for t in range(n_targets):
                    one = share * scratch[t]
                    scratch[t] = one - W[t, j]
                    W[t, j] = one
                    size += scratch[t] * scratch[t]
                    norm += one * one
                if size > 0:
                    for t in range(n_targets):
                        one = scratch[t]
                        for k in range(m):
                            Q[t, k] -= one * G[j, k]
                moved = size if size > moved else moved
                largest = norm if norm > largest else largest
            turn += 1
            record[turn, :, :] = W
            if moved <= small * small * largest:
                one = gap_of(W, Q, compute_left(linear, W, Q, squares), l1, l2)
                if moved == 0.0 or one <= goal:
                    scratch[n_targets] = one
                    break
    return turn


def column_descent(
    C: cython.const[cython.double][:, ::1],
    squares: cython.const[cython.double][::1],
    l1: cython.double,
    l2: cython.double,
    order: cython.const[cython.Py_ssize_t][::1],
    W: cython.double[:, ::1],
    R: cython.double[:, ::1],
    change: cython.double[::1],
) -> cython.double:
    """Visit the columns of `order` once: the rows of C are the columns x_j of X, `squares` their x_j . x_j.

    R = (Y - X W)^T is kept true; `change` is scratch with an entry for each target. Returns the largest move.
    """
    moved: cython.double = 0.0
    with cython.nogil:
        for at in range(order.shape[0]):
            j = order[at]
            if squares[j] <= 0:
                continue
            norm = 0.0
            for t in range(R.shape[0]):
                change[t] = inline.dot(C[j], R[t]) + squares[j] * W[t, j]
                norm += change[t] * change[t]
            norm = sqrt(norm)
            share = (1.0 - l1 / norm) / (squares[j] + l2) if norm > l1 else 0.0
            size = 0.0
            for t in range(R.shape[0]):
                one = share * change[t]
                change[t] = one - W[t, j]
                W[t, j] = one
                size += change[t] * change[t]
            if size > 0:
                for t in range(R.shape[0]):
                    one = change[t]
                    for i in range(R.shape[1]):
                        R[t, i] -= one * C[j, i]
            moved = size if size > moved else moved
    return sqrt(moved)
