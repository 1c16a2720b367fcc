"""Row by row: descent on the dual of the joint machine of several classes (Crammer and Singer, 2001).

Row i has a coefficient A_im for each class, of sum zero, at most box_i for its own class and at most zero for others.
`scores` are F = K A; the slope of A_im is F_im, less one for the row's own class. A step takes the row that violates
optimality most, max over m of the slope less the least slope of a class with room, and solves its small program exactly
(Keerthi et al., 2008): all classes that move end at one slope.
"""

import cython

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_violation(
    i: cython.Py_ssize_t,
    own: cython.Py_ssize_t,
    box: cython.double,
    A: cython.const[cython.double][:, ::1],
    scores: cython.const[cython.double][:, ::1],
) -> cython.double:
    """Return the largest slope of a row less the least slope of a class that may rise: its violation."""
    highest: cython.double = -INFINITY
    lowest: cython.double = INFINITY
    for m in range(A.shape[1]):
        slope = scores[i, m] - (1.0 if m == own else 0.0)
        if slope > highest:
            highest = slope
        # All classes may fall, only those below their bound may rise.
        if A[i, m] < (box if m == own else 0.0) and slope < lowest:
            lowest = slope
    return highest - lowest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(
    i: cython.Py_ssize_t,
    own: cython.Py_ssize_t,
    box: cython.double,
    curvature: cython.double,
    A: cython.double[:, ::1],
    scores: cython.const[cython.double][:, ::1],
    level: cython.double[::1],
    change: cython.double[::1],
) -> cython.void:
    """Solve the program of one row; write the change of its coefficients."""
    k: cython.Py_ssize_t = A.shape[1]
    for m in range(k):
        change[m] = scores[i, m] - (1.0 if m == own else 0.0) - curvature * A[i, m]
        level[m] = change[m] + (curvature * box if m == own else 0.0)
    # Sort the few levels downwards by insertion.
    for m in range(1, k):
        value = level[m]
        r = m
        while r > 0 and level[r - 1] < value:
            level[r] = level[r - 1]
            r -= 1
        level[r] = value
    # beta solves sum_m min(bound_m, (beta - change_m) / curvature) = 0. A class's level is the beta at which its bound
    # begins to hold; classes join in falling order of level, as long as that of the next exceeds the mean so far.
    beta = level[0] - curvature * box
    r = 1
    while r < k and beta < r * level[r]:
        beta += level[r]
        r += 1
    beta = beta / r
    for m in range(k):
        value = (beta - change[m]) / curvature
        if value > (box if m == own else 0.0):
            value = box if m == own else 0.0
        change[m] = value - A[i, m]
        A[i, m] = value


def descend_rows(
    K: cython.const[cython.double][:, ::1],
    box: cython.const[cython.double][::1],
    own: cython.const[cython.Py_ssize_t][::1],
    tolerance: cython.double,
    most: cython.Py_ssize_t,
    A: cython.double[:, ::1],
    scores: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    worst: cython.double[::1],
) -> cython.Py_ssize_t:
    """Take steps until no row violates optimality by more than `tolerance`, `most` at most; return their number.

    Parameters
    ----------
    K : (n, n)
    box, own : (n,), the largest coefficient of each row's own class, and that class
    A, scores : (n, k), kept up to date
    scratch : (2, k)
    worst : (1,), written: the largest violation when the descent ended
    """
    n: cython.Py_ssize_t = K.shape[0]
    steps: cython.Py_ssize_t = 0
    with cython.nogil:
        while True:
            row = 0
            worst[0] = 0.0
            for i in range(n):
                gap = measure_violation(i, own[i], box[i], A, scores)
                if gap > worst[0]:
                    worst[0] = gap
                    row = i
            if worst[0] <= tolerance or steps >= most:
                break
            # The least curvature: where K is singular, steps end at a bound.
            curvature = K[row, row] if K[row, row] > 1e-12 else 1e-12
            settle(row, own[row], box[row], curvature, A, scores, scratch[0], scratch[1])
            # F = K A stays true: K is symmetric, and its row is contiguous.
            for j in range(n):
                for m in range(A.shape[1]):
                    scores[j, m] += K[row, j] * scratch[1, m]
            steps += 1
    return steps
