"""Coordinate descent on quadratics with an l1 term, from their matrix alone."""

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve(
    H: cython.const[cython.double][:, ::1],
    l1: cython.const[cython.double][::1],
    positive: cython.bint,
    w: cython.double[::1],
    gradient: cython.double[::1],
    goal: cython.double,
    sweeps: cython.Py_ssize_t,
) -> cython.double:
    """Descend as :func:`descend` says; with `positive` over numbers that are not negative."""
    turn: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    target: cython.double
    change: cython.double
    worst: cython.double = 0.0
    while turn < sweeps:
        turn += 1
        worst = 0.0
        for i in range(w.shape[0]):
            # Without curvature the minimum is not unique or not finite: the coordinate stays.
            if H[i, i] <= 0:
                continue
            target = w[i] - gradient[i] / H[i, i]
            change = l1[i] / H[i, i]
            if target > change:
                target -= change
            elif target < -change and not positive:
                target += change
            else:
                target = 0.0
            change = target - w[i]
            if change != 0.0:
                w[i] = target
                for j in range(w.shape[0]):
                    gradient[j] += change * H[i, j]
                # H_ii |move| is the part of the subgradient that the move took away.
                change = (change if change > 0 else -change) * H[i, i]
                worst = change if change > worst else worst
        if worst <= goal:
            break
    return worst


def descend(
    H: cython.const[cython.double][:, ::1],
    l1: cython.const[cython.double][::1],
    w: cython.double[::1],
    gradient: cython.double[::1],
    goal: cython.double,
    sweeps: cython.Py_ssize_t,
) -> cython.double:
    """Minimise gradient . (u - w) + (u - w)' H (u - w) / 2 + sum l1 |u| over u, which overwrites `w`.

    `gradient` is kept that of the quadratic at the current point. Ends after `sweeps` rounds, or once no coordinate's
    subgradient was above `goal` in a round; returns the largest of the last round.
    """
    worst: cython.double
    with cython.nogil:
        worst = solve(H, l1, False, w, gradient, goal, sweeps)
    return worst


def descend_rows(
    H: cython.const[cython.double][:, ::1],
    l1: cython.const[cython.double][::1],
    positive: cython.bint,
    W: cython.double[:, ::1],
    gradients: cython.double[:, ::1],
    goals: cython.const[cython.double][::1],
    sweeps: cython.Py_ssize_t,
    worst: cython.double[::1],
) -> None:
    """Do what :func:`descend` does for each row of `W`; gradients, goals and `worst` are of each row."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(W.shape[0]):
            worst[row] = solve(H, l1, positive, W[row], gradients[row], goals[row], sweeps)
