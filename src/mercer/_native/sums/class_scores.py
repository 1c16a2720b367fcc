"""From the scores of each class to the chosen class and to probabilities, and scores that are sums of squared gaps.

NumPy's reductions take 10 to 30 ns for each row of two or three values; these take about one.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.stdint import int64_t
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

    int64_t = cython.longlong

real = cython.fused_type(cython.float, cython.double)


def choose_largest(scores: cython.const[real][:, ::1], chosen: int64_t[::1]):
    """Write the index of the largest score of each row, among equals the lowest, to `chosen`."""
    with cython.nogil:
        if scores.shape[1] == 2:
            for i in range(scores.shape[0]):
                chosen[i] = 1 if scores[i, 1] > scores[i, 0] else 0
        else:
            for i in range(scores.shape[0]):
                best = 0
                for j in range(1, scores.shape[1]):
                    best = j if scores[i, j] > scores[i, best] else best
                chosen[i] = best


def pair_shares(gaps: cython.const[real][::1], out: real[:, ::1]):
    """Write 1 / (1 + exp(z)) and 1 / (1 + exp(-z)) of each z, both to full precision, to the rows of `out`."""
    with cython.nogil:
        # Two loops: the first is vector code, the second writes pairs. exp(-|z|) cannot overflow.
        for i in range(gaps.shape[0]):
            out[i, 0] = inline.exp(-gaps[i] if gaps[i] > 0 else gaps[i])
        for i in range(gaps.shape[0]):
            tail = out[i, 0] / (1 + out[i, 0])
            sign = 1 / (1 + out[i, 0])
            out[i, 0] = tail if gaps[i] > 0 else sign
            out[i, 1] = sign if gaps[i] > 0 else tail


def share_rows(scores: cython.const[real][::1], k: cython.Py_ssize_t, out: real[::1]):
    """Write exp(score) of each of `k` classes over the sum of the row, for rows that lie one after another."""
    n: cython.Py_ssize_t = scores.shape[0] // k
    total: real
    with cython.nogil:
        for i in range(n):
            at = i * k
            most = scores[at]
            for j in range(at + 1, at + k):
                most = scores[j] if scores[j] > most else most
            for j in range(at, at + k):
                out[j] = scores[j] - most
        for j in range(n * k):
            out[j] = inline.exp(out[j])
        for i in range(n):
            at = i * k
            total = out[at]
            for j in range(at + 1, at + k):
                total += out[j]
            for j in range(at, at + k):
                out[j] = out[j] / total


def score_gaps(
    X: cython.const[real][:, ::1],
    centres: cython.const[cython.double][:, ::1],
    scales: cython.const[cython.double][:, ::1],
    offsets: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
):
    """Write offset_k - sum_j ((x_j - centre_kj) scale_kj)^2 of each row and class to `out`, in float64."""
    part = cython.declare(cython.double[8])
    whole: cython.Py_ssize_t = X.shape[1] - X.shape[1] % 8
    with cython.nogil:
        for i in range(X.shape[0]):
            for k in range(centres.shape[0]):
                for lane in range(8):
                    part[lane] = 0.0
                for j in range(0, whole, 8):
                    for lane in range(8):
                        gap = (X[i, j + lane] - centres[k, j + lane]) * scales[k, j + lane]
                        part[lane] += gap * gap
                for j in range(whole, X.shape[1]):
                    gap = (X[i, j] - centres[k, j]) * scales[k, j]
                    part[j - whole] += gap * gap
                out[i, k] = offsets[k] - (
                    ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))
                )
