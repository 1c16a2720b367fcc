"""Squared errors of rows under models fitted without them, for many penalties at once."""

import cython


def add_squared_errors(
    leverages: cython.const[cython.double][:, ::1],
    fits: cython.const[cython.double][:, ::1],
    right: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    share: cython.double,
    row: cython.double[:, ::1],
    sums: cython.double[:, ::1],
) -> None:
    """Add w (r / (1 - min(w, 1) h))^2 of each row to `sums` (k, a), for k targets and a penalties.

    The leverage h is ``leverages @ right + share`` and the residual r of target t is ``y - fits @ right``, where `fits`
    has q columns for each target. No `weight` means ones. `row` is space for (2, a) numbers.
    """
    q: cython.Py_ssize_t = right.shape[0]
    w: cython.double = 1.0
    taken: cython.double = 1.0
    with cython.nogil:
        for i in range(y.shape[0]):
            if weight.shape[0] > 0:
                w = weight[i]
                # Of a row of weight above one, one repetition is left out; of a lighter row, all of it.
                taken = w if w < 1.0 else 1.0
            for a in range(right.shape[1]):
                row[0, a] = share
            # One axis after another: the loops over penalties run along memory.
            for j in range(q):
                part = leverages[i, j]
                for a in range(right.shape[1]):
                    row[0, a] += part * right[j, a]
            for a in range(right.shape[1]):
                # A row of leverage one determines its own fit; rounding must not make the denominator zero or negative.
                part = 1.0 - taken * row[0, a]
                row[0, a] = part if part > 1e-300 else 1e-300
            for t in range(y.shape[1]):
                part = y[i, t]
                for a in range(right.shape[1]):
                    row[1, a] = part
                for j in range(q):
                    part = fits[i, t * q + j]
                    for a in range(right.shape[1]):
                        row[1, a] -= part * right[j, a]
                # The residual without the row is r / (1 - h): no model is fitted again.
                for a in range(right.shape[1]):
                    part = row[1, a] / row[0, a]
                    sums[t, a] += w * part * part
