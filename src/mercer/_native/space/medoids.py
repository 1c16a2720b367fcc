"""Medoids: the change of the total by each possible swap, and the update after a swap.

`nearest` and `second` are the indices of the two medoids nearest to each row, `near` and `next` their distances; with
one medoid the second is -1 and `next` infinite. A candidate that replaces medoid m changes the total by

    sum of w (min(d, near) - near) over all rows, and by
    sum of w (min(d, next) - min(d, near)) over the rows of m,

where d is the row's distance to the candidate. The part of the second sum without d, sum of w (next - near), is the
loss of removing m; all candidates share it (Schubert and Rousseeuw, 2021).
"""

import cython

if cython.compiled:
    from cython.cimports.libc.stdint import int32_t
else:
    int32_t = cython.int

real = cython.fused_type(cython.float, cython.double)
INFINITY = cython.declare(cython.double, float("inf"))


def try_swaps(
    D: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    nearest: cython.const[int32_t][::1],
    near: cython.const[cython.double][::1],
    next: cython.const[cython.double][::1],
    loss: cython.const[cython.double][::1],
    scratch: cython.double[::1],
    change: cython.double[::1],
    which: int32_t[::1],
):
    """Write the change of the total by the best swap of each candidate, and which medoid that swap replaces.

    Parameters
    ----------
    D : (b, n), distances of the candidates to all rows
    weight : (n,), or empty when all weights are one
    nearest, near, next : (n,)
    loss : (k,), of removing each medoid
    scratch : (k,)
    change, which : (b,), written
    """
    distance: cython.double
    total: cython.double
    w: cython.double
    with cython.nogil:
        for c in range(D.shape[0]):
            total = 0.0
            for m in range(loss.shape[0]):
                scratch[m] = loss[m]
            if loss.shape[0] == 1:
                # The only medoid has no second: every row goes to the candidate.
                for i in range(D.shape[1]):
                    total += (D[c, i] - near[i]) * (weight[i] if weight.shape[0] > 0 else 1.0)
                which[c] = 0
                change[c] = total
                continue
            for i in range(D.shape[1]):
                distance = D[c, i]
                # Rows not nearer than their second medoid gain nothing: what they lose is in `loss` already.
                if distance < next[i]:
                    w = weight[i] if weight.shape[0] > 0 else 1.0
                    if distance < near[i]:
                        # The row moves to the candidate whichever medoid goes; for its own medoid the loss counted in
                        # advance is taken back.
                        total += w * (distance - near[i])
                        scratch[nearest[i]] += w * (near[i] - next[i])
                    else:
                        # The row moves to the candidate, instead of its second medoid, only if its own medoid goes.
                        scratch[nearest[i]] += w * (distance - next[i])
            which[c] = 0
            for m in range(1, loss.shape[0]):
                if scratch[m] < scratch[which[c]]:
                    which[c] = cython.cast(int32_t, m)
            change[c] = scratch[which[c]] + total


def measure_gains(
    D: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    near: cython.const[cython.double][::1],
    change: cython.double[::1],
):
    """Write, for each candidate, the change of the total by one more medoid: sum of w (min(d, near) - near)."""
    total: cython.double
    with cython.nogil:
        for c in range(D.shape[0]):
            total = 0.0
            for i in range(D.shape[1]):
                if D[c, i] < near[i]:
                    total += (D[c, i] - near[i]) * (weight[i] if weight.shape[0] > 0 else 1.0)
            change[c] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look(
    table: cython.const[cython.double][:, ::1],
    i: cython.Py_ssize_t,
    nearest: int32_t[::1],
    second: int32_t[::1],
    near: cython.double[::1],
    next: cython.double[::1],
) -> cython.void:
    """Find the two nearest medoids of row i, among equals those of the lowest index."""
    nearest[i] = 0
    near[i] = table[0, i]
    second[i] = -1
    next[i] = INFINITY
    for m in range(1, table.shape[0]):
        # Strict comparisons: among equal distances the medoid of lower index stays ahead.
        if table[m, i] < near[i]:
            second[i] = nearest[i]
            next[i] = near[i]
            nearest[i] = cython.cast(int32_t, m)
            near[i] = table[m, i]
        elif table[m, i] < next[i]:
            second[i] = cython.cast(int32_t, m)
            next[i] = table[m, i]


def find_two(
    table: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    nearest: int32_t[::1],
    second: int32_t[::1],
    near: cython.double[::1],
    next: cython.double[::1],
    loss: cython.double[::1],
) -> cython.double:
    """Find the two medoids nearest to each row from `table`, (k, n) distances; write `loss` and return the total."""
    with cython.nogil:
        for i in range(table.shape[1]):
            look(table, i, nearest, second, near, next)
    return add_up(weight, nearest, near, next, loss)


@cython.cfunc
@cython.exceptval(check=False)
def add_up(
    weight: cython.const[cython.double][::1],
    nearest: cython.const[int32_t][::1],
    near: cython.const[cython.double][::1],
    next: cython.const[cython.double][::1],
    loss: cython.double[::1],
) -> cython.double:
    """Write the loss of removing each medoid, sum of w (next - near) over its rows; return the total, sum of w near."""
    total: cython.double = 0.0
    with cython.nogil:
        for i in range(loss.shape[0]):
            loss[i] = 0.0
        for i in range(near.shape[0]):
            w = weight[i] if weight.shape[0] > 0 else 1.0
            total += w * near[i]
            # With one medoid there is no second one, and `next` is infinite.
            if loss.shape[0] > 1:
                loss[nearest[i]] += w * (next[i] - near[i])
    return total


def replace(
    table: cython.double[:, ::1],
    medoid: cython.Py_ssize_t,
    distances: cython.const[real][::1],
    weight: cython.const[cython.double][::1],
    nearest: int32_t[::1],
    second: int32_t[::1],
    near: cython.double[::1],
    next: cython.double[::1],
    loss: cython.double[::1],
) -> cython.double:
    """Replace a medoid by the row with these `distances`; update all other arguments but `weight`; return the total."""
    with cython.nogil:
        for i in range(table.shape[1]):
            distance = distances[i]
            table[medoid, i] = distance
            # Ties go to the lowest index: a tie, or the loss of a nearest medoid, needs a search among all.
            if nearest[i] == medoid or second[i] == medoid or distance == near[i] or distance == next[i]:
                look(table, i, nearest, second, near, next)
            # The new medoid is the nearest now, and the old nearest becomes the second.
            elif distance < near[i]:
                second[i] = nearest[i]
                next[i] = near[i]
                nearest[i] = cython.cast(int32_t, medoid)
                near[i] = distance
            elif distance < next[i]:
                second[i] = cython.cast(int32_t, medoid)
                next[i] = distance
    return add_up(weight, nearest, near, next, loss)
