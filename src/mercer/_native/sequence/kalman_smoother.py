"""The smoother of Rauch, Tung and Striebel over a run of filtered steps of a linear-Gaussian sequence.

With the gain G = P A^T (A P A^T + Q)^-1 of a step, its smoothed covariance is (I - G A) P (I - G A)^T + G (V + Q) G^T,
where V is that of the step after it: a sum of positive semi-definite matrices.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sequence import small_matrices
else:
    from mercer._native.sequence import small_matrices


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_smoother_gain(
    A: cython.const[cython.double][:, ::1],
    filtered: cython.const[cython.double][:, ::1],
    predicted: cython.const[cython.double][:, ::1],
    work: cython.double[:, :, ::1],
) -> cython.void:
    """Write G = P A^T (A P A^T + Q)^-1 to work[0]; where the inverse does not exist, any generalised one will do."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    m: cython.Py_ssize_t
    k: cython.Py_ssize_t = A.shape[0]
    total: cython.double
    # P A^T and a copy of the predicted covariance, which the factor overwrites.
    for i in range(k):
        for j in range(k):
            total = 0.0
            for m in range(k):
                total += filtered[i, m] * A[j, m]
            work[0, i, j] = total
            work[1, i, j] = predicted[i, j]
    small_matrices.factor_matrix(work[1], k)
    # G solves G S = P A^T with symmetric S, row by row.
    for i in range(k):
        small_matrices.solve_row(work[1], k, work[0, i])


def smooth_steps(
    A: cython.const[cython.double][:, ::1],
    Q: cython.const[cython.double][:, ::1],
    means: cython.const[cython.double][:, :, ::1],
    covariances: cython.const[cython.double][:, :, :, ::1],
    next_mean: cython.const[cython.double][::1],
    next_covariance: cython.const[cython.double][:, ::1],
    mean: cython.double[::1],
    covariance: cython.double[:, ::1],
    smoothed: cython.double[:, ::1],
    spreads: cython.double[:, :, ::1],
    crosses: cython.double[:, :, ::1],
    work: cython.double[:, :, ::1],
) -> None:
    """Smooth a run of filtered steps, from the last to the first.

    Parameters
    ----------
    means, covariances : (2, n, k), (2, n, k, k), from :func:`filter_steps`
    next_mean, next_covariance : (k,), (k, k): predicted for the step after the last
    mean, covariance : (k,), (k, k): smoothed, of the step after the last; afterwards of the first. At the end of a
        sequence they are the predicted ones: nothing is known of what comes later.
    smoothed, spreads : (n, k), (n, k, k), written
    crosses : (n, k, k), written: the covariance of the step after with the step
    work : (5, s, s) with s >= max(k, 2)
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    m: cython.Py_ssize_t
    k: cython.Py_ssize_t = A.shape[0]
    n: cython.Py_ssize_t = smoothed.shape[0]
    same: cython.bint = False
    steady: cython.bint = False
    total: cython.double
    with cython.nogil:
        for t in range(n - 1, -1, -1):
            # Filtered covariances that were copied from step to step have the same gain.
            same = t < n - 2 and not small_matrices.differ(covariances[1, t], covariances[1, t + 1])
            same = same and not small_matrices.differ(covariances[0, t + 1], covariances[0, t + 2])
            if not same:
                if t == n - 1:
                    _find_smoother_gain(A, covariances[1, t], next_covariance, work)
                else:
                    _find_smoother_gain(A, covariances[1, t], covariances[0, t + 1], work)
            # The covariance behind must also have settled, else the smoothed one still changes.
            steady = same and not small_matrices.differ(covariance, spreads[t + 2]) if t < n - 2 else False
            for i in range(k):
                total = means[1, t, i]
                for j in range(k):
                    # m_t + G (smoothed mean of the next step - its predicted mean).
                    total += work[0, i, j] * (mean[j] - (next_mean[j] if t == n - 1 else means[0, t + 1, j]))
                smoothed[t, i] = total
            if steady:
                small_matrices.copy_matrix(spreads[t + 1], spreads[t])
                small_matrices.copy_matrix(crosses[t + 1], crosses[t])
            else:
                # Cov(x_(t+1), x_t) = V_(t+1) G^T.
                for i in range(k):
                    for j in range(k):
                        total = 0.0
                        for m in range(k):
                            total += covariance[i, m] * work[0, j, m]
                        crosses[t, i, j] = total
                        # (I - G A) P (I - G A)^T + G (V_(t+1) + Q) G^T adds semi-definite matrices only.
                        total = 1.0 if i == j else 0.0
                        for m in range(k):
                            total -= work[0, i, m] * A[m, j]
                        work[2, i, j] = total
                        work[3, i, j] = covariance[i, j] + Q[i, j]
                        spreads[t, i, j] = 0.0
                small_matrices.add_sandwich(work[2], covariances[1, t], k, k, work[4], spreads[t])
                small_matrices.add_sandwich(work[0], work[3], k, k, work[4], spreads[t])
            for i in range(k):
                mean[i] = smoothed[t, i]
            small_matrices.copy_matrix(spreads[t], covariance)
