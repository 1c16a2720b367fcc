"""Block coordinate ascent for the graphical lasso: the covariances of one column with the others at a time.

For a covariance S, the dual of minimising tr(S P) - log det P + alpha sum_{i != j} |P_ij| is to maximise log det W
with the diagonal of S and |W_ij - S_ij| <= alpha elsewhere. With all but a column c of W held, its maximum is W_11 b,
where b minimises b' W_11 b / 2 - s . b + alpha |b|_1: a lasso, solved by descent from the b of the sweep before.
"""

import cython


def sweep_columns(
    S: cython.const[cython.double][:, ::1],
    alpha: cython.double,
    goal: cython.double,
    most: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    W: cython.double[:, ::1],
    B: cython.double[:, ::1],
    q: cython.double[::1],
) -> cython.double:
    """Take columns `first` to `stop` of W, which stays symmetric, to their maximum; B holds their b in its rows.

    Descent on a column ends after `most` sweeps, or once no slope moved by more than `goal`; `q` is scratch for the
    slopes s - W_11 b. Returns the largest change of a covariance.
    """
    c: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t = S.shape[0]
    target: cython.double
    change: cython.double
    moved: cython.double
    largest: cython.double = 0.0
    with cython.nogil:
        for c in range(first, stop):
            for j in range(p):
                q[j] = S[c, j]
            for k in range(p):
                if B[c, k] != 0.0:
                    change = B[c, k]
                    for j in range(p):
                        q[j] -= change * W[k, j]
            turn = 0
            while turn < most:
                turn += 1
                moved = 0.0
                for j in range(p):
                    if j == c:
                        continue
                    # The slope at b_j = 0.
                    target = q[j] + W[j, j] * B[c, j]
                    if target > alpha:
                        target = (target - alpha) / W[j, j]
                    elif target < -alpha:
                        target = (target + alpha) / W[j, j]
                    else:
                        target = 0.0
                    change = target - B[c, j]
                    if change != 0.0:
                        B[c, j] = target
                        for k in range(p):
                            q[k] -= change * W[j, k]
                        change = (change if change > 0 else -change) * W[j, j]
                        moved = change if change > moved else moved
                if moved <= goal:
                    break
            for j in range(p):
                if j != c:
                    target = S[c, j] - q[j]
                    change = target - W[c, j]
                    W[c, j] = target
                    W[j, c] = target
                    change = change if change > 0 else -change
                    largest = change if change > largest else largest
    return largest
