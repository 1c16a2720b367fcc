"""Coordinate descent on a quadratic with an l1 term, from its matrix alone."""

import cython


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
    turn: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    target: cython.double
    change: cython.double
    worst: cython.double = 0.0
    with cython.nogil:
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
                elif target < -change:
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
