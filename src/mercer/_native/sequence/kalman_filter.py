"""Kalman's filter over a run of steps.

    x_1 ~ N(m, P),    x_(t+1) = A x_t + drift_t + N(0, Q),    y_t = C x_t + N(0, R)

Entries of y that are NaN are missing: their rows of C and R are left out of the step. Covariances are updated in
Joseph's form, which adds positive semi-definite matrices only. Once the predicted covariance no longer changes, and
while nothing is missing, gain and covariances are taken from the step before.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sequence import small_matrices
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.sequence import small_matrices
    from mercer._native.shared import inline

# log(2 pi).
LOG_TWO_PI = cython.declare(cython.double, 1.8378770664093453)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_gain(
    P: cython.const[cython.double][:, ::1],
    C: cython.const[cython.double][:, ::1],
    R: cython.const[cython.double][:, ::1],
    seen: cython.const[cython.double][::1],
    n_seen: cython.Py_ssize_t,
    work: cython.double[:, :, ::1],
    filtered: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Write the factor of S = C P C^T + R to work[1], the gain K to work[2], and the filtered covariance.

    `seen` are the entries of y that are not missing, as numbers. Return the number of zero pivots of S.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t = P.shape[0]
    total: cython.double
    # P C^T, for the seen rows of C.
    for i in range(k):
        for a in range(n_seen):
            total = 0.0
            for j in range(k):
                total += P[i, j] * C[cython.cast(cython.Py_ssize_t, seen[a]), j]
            work[2, i, a] = total
    # The lower triangle of S = C P C^T + R.
    for a in range(n_seen):
        for b in range(a + 1):
            total = R[cython.cast(cython.Py_ssize_t, seen[a]), cython.cast(cython.Py_ssize_t, seen[b])]
            for j in range(k):
                total += C[cython.cast(cython.Py_ssize_t, seen[a]), j] * work[2, j, b]
            work[1, a, b] = total
    zeros = small_matrices.factor_matrix(work[1], n_seen)
    # K = P C^T S^-1, row by row: S is symmetric, so a row of K solves S x = row of P C^T.
    for i in range(k):
        small_matrices.solve_row(work[1], n_seen, work[2, i])
    # Joseph's form: (I - K C) P (I - K C)^T + K R K^T.
    for i in range(k):
        for j in range(k):
            total = 1.0 if i == j else 0.0
            for a in range(n_seen):
                total -= work[2, i, a] * C[cython.cast(cython.Py_ssize_t, seen[a]), j]
            work[3, i, j] = total
            filtered[i, j] = 0.0
    small_matrices.add_sandwich(work[3], P, k, k, work[4], filtered)
    # R of the seen entries.
    for a in range(n_seen):
        for b in range(n_seen):
            work[3, a, b] = R[cython.cast(cython.Py_ssize_t, seen[a]), cython.cast(cython.Py_ssize_t, seen[b])]
    small_matrices.add_sandwich(work[2], work[3], k, n_seen, work[4], filtered)
    return zeros


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_mean(
    y: cython.const[cython.double][::1],
    C: cython.const[cython.double][:, ::1],
    n_seen: cython.Py_ssize_t,
    predicted: cython.const[cython.double][::1],
    work: cython.double[:, :, ::1],
    filtered: cython.double[::1],
) -> cython.double:
    """Write the filtered mean, with factor and gain from ``_find_gain``; return the log density of the seen entries."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    a: cython.Py_ssize_t
    total: cython.double
    value: cython.double = -0.5 * n_seen * LOG_TWO_PI
    # The innovation v = y - C m.
    for a in range(n_seen):
        i = cython.cast(cython.Py_ssize_t, work[0, 0, a])
        total = y[i]
        for j in range(predicted.shape[0]):
            total -= C[i, j] * predicted[j]
        work[0, 1, a] = total
    # m + K v.
    for i in range(predicted.shape[0]):
        total = predicted[i]
        for a in range(n_seen):
            total += work[2, i, a] * work[0, 1, a]
        filtered[i] = total
    # With S = L D L^T, forward substitution z = L^-1 v gives v^T S^-1 v = sum z_a^2 / d_a and log|S| = sum log d_a.
    for a in range(n_seen):
        total = work[0, 1, a]
        for j in range(a):
            total -= work[1, a, j] * work[0, 1, j]
        work[0, 1, a] = total
        value -= 0.5 * (total * total / work[1, a, a] + inline.log(work[1, a, a]))
    return value


def filter_steps(
    Y: cython.const[cython.double][:, ::1],
    drift: cython.const[cython.double][:, ::1],
    A: cython.const[cython.double][:, ::1],
    C: cython.const[cython.double][:, ::1],
    Q: cython.const[cython.double][:, ::1],
    R: cython.const[cython.double][:, ::1],
    mean: cython.double[::1],
    covariance: cython.double[:, ::1],
    means: cython.double[:, :, ::1],
    covariances: cython.double[:, :, :, ::1],
    scores: cython.double[::1],
    work: cython.double[:, :, ::1],
) -> int:
    """Filter a run of steps.

    Parameters
    ----------
    Y : (n, d); NaN where missing
    drift : (n, k), or (0, k) where there is none
    A, C, Q, R : (k, k), (d, k), (k, k), (d, d)
    mean, covariance : (k,), (k, k): predicted for the first step; afterwards for the step after the last
    means : (2, n, k), written: predicted and filtered
    covariances : (2, n, k, k), written
    scores : (n,), written: the log density of each step given the steps before it
    work : (5, s, s) with s = max(k, d, 2)

    Returns 0, or the number (from 1) of the first step whose observation has a singular covariance.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t = A.shape[0]
    d: cython.Py_ssize_t = C.shape[0]
    failed: cython.Py_ssize_t = 0
    steady: cython.bint = False
    total: cython.double
    with cython.nogil:
        for t in range(Y.shape[0]):
            # The seen entries of this step, as numbers, at the front of the working memory.
            n_seen = 0
            for i in range(d):
                if Y[t, i] == Y[t, i]:
                    work[0, 0, n_seen] = i
                    n_seen += 1
            # The gain of the step before holds if it had all entries too, and the same predicted covariance.
            steady = steady and n_seen == d and t > 0 and not small_matrices.differ(covariance, covariances[0, t - 1])
            for i in range(k):
                means[0, t, i] = mean[i]
            if steady:
                small_matrices.copy_matrix(covariances[0, t - 1], covariances[0, t])
                small_matrices.copy_matrix(covariances[1, t - 1], covariances[1, t])
            else:
                small_matrices.copy_matrix(covariance, covariances[0, t])
                # Nothing is seen: the filtered distribution is the predicted one.
                if n_seen == 0:
                    small_matrices.copy_matrix(covariance, covariances[1, t])
                elif _find_gain(covariance, C, R, work[0, 0], n_seen, work, covariances[1, t]) > 0:
                    failed = t + 1
                    break
            scores[t] = _move_mean(Y[t], C, n_seen, means[0, t], work, means[1, t]) if n_seen else 0.0
            for i in range(k):
                if n_seen == 0:
                    means[1, t, i] = mean[i]
            # The mean predicted for the next step: A m + drift.
            for i in range(k):
                total = drift[t, i] if drift.shape[0] > 0 else 0.0
                for j in range(k):
                    total += A[i, j] * means[1, t, j]
                mean[i] = total
            # The covariance predicted for the next step: A V A^T + Q.
            if not steady:
                small_matrices.copy_matrix(A, work[3])
                small_matrices.copy_matrix(Q, covariance)
                small_matrices.add_sandwich(work[3], covariances[1, t], k, k, work[4], covariance)
            steady = n_seen == d
    return failed
