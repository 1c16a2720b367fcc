"""Stochastic average gradients of least squares over CSR rows less their mean; otherwise as ``average_gradient.py``.

Why a recurrence of its own: the mean takes part in every visit, so a column absent from a row drifts by another amount
each time, and has no closed form to make up for it column by column. The amount is a factor alike for all columns times
the column's mean, so it is summed once for all; that asks for one step and one l2 strength for all, and for no corner.
"""

import cython

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def catch_up(
    mean: cython.const[cython.double][::1],
    step: cython.double,
    average: cython.const[cython.double][::1],
    steps: cython.double,
    pushes: cython.double,
    scale: cython.double,
    w: cython.double[::1],
    scratch: cython.double[:, ::1],
) -> cython.void:
    """Move every column by what it has missed, multiply the shrinkage in, and start both sums again at zero."""
    for j in range(w.shape[0]):
        w[j] += mean[j] * (pushes - scratch[1, j]) - step * average[j] * (steps - scratch[0, j])
        w[j] *= scale
        scratch[0, j] = 0.0
        scratch[1, j] = 0.0


def visit_centred(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    mean: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    method: tuple,
    w: cython.double[::1],
    average: cython.double[::1],
    table: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
):
    """Visit the rows of `order`, each less `mean`, for the squared loss of one target without an intercept.

    `average` is the sum of g_i x_i without the mean, whose part is -gamma m with gamma the sum of the table. A
    coefficient absent from a row moves by -step average_j + m_j q, with q alike for all of them, and shrinks. Sums of
    both factors are kept, divided by the shrinkage so far. `method` is (share, step, l2), as in ``average_gradient``;
    `scratch` (2, d) holds the two sums up to which each column has moved.
    """
    share: cython.double = method[0]
    step: cython.double = method[1]
    l2: cython.double = method[2]
    cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t, k=cython.Py_ssize_t, e=cython.Py_ssize_t)
    d: cython.Py_ssize_t = mean.shape[0]
    keep: cython.double = 1.0 / (1.0 + step * l2)
    # The shrinkage so far, and the two running sums divided by it: 1 per step, and q per step.
    scale: cython.double = 1.0
    steps: cython.double = 0.0
    pushes: cython.double = 0.0
    gamma: cython.double = 0.0
    mean_square: cython.double = 0.0
    mean_average: cython.double = 0.0
    mean_w: cython.double = 0.0
    cython.declare(mean_row=cython.double, score=cython.double, change=cython.double, push=cython.double)
    with cython.nogil:
        for i in range(table.shape[0]):
            gamma += table[i, 0]
        for j in range(d):
            mean_square += mean[j] * mean[j]
            mean_average += mean[j] * average[j]
            mean_w += mean[j] * w[j]
            scratch[0, j] = 0.0
            scratch[1, j] = 0.0
        for k in range(order.shape[0]):
            i = order[k]
            score = 0.0
            mean_row = 0.0
            for e in range(pointers[i], pointers[i + 1]):
                j = columns[e]
                w[j] += mean[j] * (pushes - scratch[1, j]) - step * average[j] * (steps - scratch[0, j])
                scratch[0, j] = steps
                scratch[1, j] = pushes
                score += data[e] * w[j]
                mean_row += data[e] * mean[j]
            # w is stored divided by the shrinkage: w . (x - m) = scale (w . x) - m . w, and m . w is kept as a scalar.
            change = weight[i] * (score * scale - mean_w - y[i]) - table[i, 0]
            table[i, 0] += change
            gamma += change
            mean_average += change * mean_row
            # The average used below already contains the change, so SAGA adds share - 1 times it.
            direct = step * (share - 1.0) * change if share != 0.0 else 0.0
            push = step * gamma + direct
            # m . w follows the same step as w itself, from m . average, |m|^2 and m . x.
            mean_w = keep * (mean_w - step * (mean_average - mean_square * gamma) - direct * (mean_row - mean_square))
            for e in range(pointers[i], pointers[i + 1]):
                j = columns[e]
                average[j] += change * data[e]
                w[j] -= direct * data[e] / scale
            # A step is taken before it shrinks: w <- keep (w - step ...).
            steps += 1.0 / scale
            pushes += push / scale
            scale *= keep
            # Before the divided sums cost more than three digits of what they are added to, every column catches up.
            if scale < 1e-3 or k == order.shape[0] - 1:
                catch_up(mean, step, average, steps, pushes, scale, w, scratch)
                scale = 1.0
                steps = 0.0
                pushes = 0.0
