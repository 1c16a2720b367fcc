"""Stochastic average gradients of a least-squares sum, one row at a time, dense and sparse.

For rows x_i less their mean m, the sum is F(c) = 1/N [ sum_i w_i (x_i . c - y_i)^2 + alpha |c|^2 ] / 2. `table` holds
each row's last g_i = w_i (x_i . c - y_i) and `total` the sum of g_i x_i. With delta the change of g_i at a visit, a
step is c <- (1 - decay) c - rate / N total (SAG, total updated first), and SAGA adds -rate delta x_i (total updated
afterwards).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import inline
else:
    from mercer._native import inline

__all__ = ["visit_dense", "visit_sparse"]

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


def visit_dense(
    X: cython.const[real][:, ::1],
    mean: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    table: cython.double[::1],
    total: cython.double[::1],
    coef: cython.double[::1],
    rate: cython.double,
    decay: cython.double,
    unbiased: cython.bint,
    scratch: cython.double[:, ::1],
):
    """Visit the rows of `order`; `unbiased` chooses SAGA over SAG, `scratch` has a row of d numbers."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    slope: cython.double
    delta: cython.double
    direct: cython.double
    keep: cython.double = 1.0 - decay
    share: cython.double = rate / X.shape[0]
    row: cython.double[::1] = scratch[0]
    with cython.nogil:
        for k in range(order.shape[0]):
            i = order[k]
            for j in range(X.shape[1]):
                row[j] = X[i, j] - mean[j]
            slope = weight[i] * (inline.dot(row, coef) - y[i])
            delta = slope - table[i]
            table[i] = slope
            direct = (rate - share) * delta if unbiased else 0.0
            for j in range(X.shape[1]):
                total[j] += delta * row[j]
                coef[j] = keep * coef[j] - share * total[j] - direct * row[j]


def visit_sparse(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    starts: cython.const[index][::1],
    mean: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    table: cython.double[::1],
    total: cython.double[::1],
    coef: cython.double[::1],
    rate: cython.double,
    decay: cython.double,
    unbiased: cython.bint,
    scratch: cython.double[:, ::1],
):
    """Visit rows of a CSR matrix with work proportional to their stored values.

    `total` holds sum_i g_i x_i without the mean, whose part is -gamma m with gamma the sum of the table. A coefficient
    whose column is not stored in a row moves by -share total_j + m_j q, where q is the same for all of them. So sums of
    both factors are kept, divided by the decay so far, and a column catches up when it is next met. `scratch` has two
    rows of d numbers.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    d: cython.Py_ssize_t = coef.shape[0]
    n: cython.Py_ssize_t = y.shape[0]
    keep: cython.double = 1.0 - decay
    share: cython.double = rate / n
    # Decay so far, and the two running sums divided by it.
    scale: cython.double = 1.0
    steps: cython.double = 0.0
    pushes: cython.double = 0.0
    gamma: cython.double = 0.0
    mean_square: cython.double = 0.0
    mean_total: cython.double = 0.0
    mean_coef: cython.double = 0.0
    mean_row: cython.double
    slope: cython.double
    delta: cython.double
    push: cython.double
    direct: cython.double
    with cython.nogil:
        for i in range(n):
            gamma += table[i]
        for j in range(d):
            mean_square += mean[j] * mean[j]
            mean_total += mean[j] * total[j]
            mean_coef += mean[j] * coef[j]
            scratch[0, j] = 0.0
            scratch[1, j] = 0.0
        for k in range(order.shape[0]):
            i = order[k]
            slope = 0.0
            mean_row = 0.0
            for p in range(starts[i], starts[i + 1]):
                j = columns[p]
                coef[j] += -share * total[j] * (steps - scratch[0, j]) + mean[j] * (pushes - scratch[1, j])
                scratch[0, j] = steps
                scratch[1, j] = pushes
                slope += data[p] * coef[j]
                mean_row += data[p] * mean[j]
            slope = weight[i] * (slope * scale - mean_coef - y[i])
            delta = slope - table[i]
            table[i] = slope
            gamma += delta
            mean_total += delta * mean_row
            direct = (rate - share) * delta if unbiased else 0.0
            push = share * gamma + direct
            mean_coef = (
                keep * mean_coef - share * (mean_total - mean_square * gamma) - direct * (mean_row - mean_square)
            )
            scale *= keep
            for p in range(starts[i], starts[i + 1]):
                j = columns[p]
                total[j] += delta * data[p]
                coef[j] -= direct * data[p] / scale
            steps += 1.0 / scale
            pushes += push / scale
            # Before the divided sums outgrow the digits of what they are added to, everything catches up.
            if scale < 1e-3 or k == order.shape[0] - 1:
                for j in range(d):
                    coef[j] += -share * total[j] * (steps - scratch[0, j]) + mean[j] * (pushes - scratch[1, j])
                    coef[j] *= scale
                    scratch[0, j] = 0.0
                    scratch[1, j] = 0.0
                scale = 1.0
                steps = 0.0
                pushes = 0.0
