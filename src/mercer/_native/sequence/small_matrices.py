"""Small symmetric matrices: factors that allow zero pivots, solutions, products B P B^T, and comparison.

Matrices are the first rows and columns of larger arrays, so that one piece of working memory serves all sizes.
"""

import cython

# A covariance that changes by less than this part of its largest entry has converged: 20 units of rounding.
STEADY = 4.4e-15
# A pivot below this part of its diagonal entry is rounding: the matrix is singular there.
SINGULAR = 1e-13


def factor_matrix(S: cython.double[:, ::1], n: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Overwrite the lower triangle of S by L and D of S = L D L^T; return the number of pivots that are zero.

    D stands on the diagonal. The column of a zero pivot becomes zero: of a positive semi-definite matrix the rest of it
    is zero too.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double
    own: cython.double
    zeros: cython.Py_ssize_t = 0
    for j in range(n):
        own = S[j, j]
        total = own
        # d_j = s_jj - sum_k l_jk^2 d_k.
        for k in range(j):
            total -= S[j, k] * S[j, k] * S[k, k]
        S[j, j] = total
        # The pivot is rounding, compared with the entry that it came from.
        if total <= SINGULAR * own or not total > 0.0:
            zeros += 1
            S[j, j] = 0.0
        # l_ij = (s_ij - sum_k l_ik l_jk d_k) / d_j.
        for i in range(j + 1, n):
            total = S[i, j]
            for k in range(j):
                total -= S[i, k] * S[j, k] * S[k, k]
            S[i, j] = total / S[j, j] if S[j, j] > 0.0 else 0.0
    return zeros


def solve_row(L: cython.double[:, ::1], n: cython.Py_ssize_t, b: cython.double[::1]) -> cython.void:
    """Overwrite b by the solution of L D L^T x = b; what belongs to zero pivots is zero."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double
    # L z = b.
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * b[k]
        b[i] = total
    # L^T x = D^-1 z, from the last entry up.
    for i in range(n - 1, -1, -1):
        total = b[i] / L[i, i] if L[i, i] > 0.0 else 0.0
        for k in range(i + 1, n):
            total -= L[k, i] * b[k]
        b[i] = total if L[i, i] > 0.0 else 0.0


def add_sandwich(
    B: cython.double[:, ::1],
    P: cython.const[cython.double][:, ::1],
    rows: cython.Py_ssize_t,
    inner: cython.Py_ssize_t,
    scratch: cython.double[:, ::1],
    out: cython.double[:, ::1],
) -> cython.void:
    """Add B P B^T to `out`, which stays symmetric to the bit; B is (rows, inner)."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double
    # B P.
    for i in range(rows):
        for j in range(inner):
            total = 0.0
            for k in range(inner):
                total += B[i, k] * P[k, j]
            scratch[i, j] = total
    # Only the lower triangle is summed; the upper one is its copy.
    for i in range(rows):
        for j in range(i + 1):
            total = out[i, j]
            for k in range(inner):
                total += scratch[i, k] * B[j, k]
            out[i, j] = total
            out[j, i] = total


def copy_matrix(P: cython.const[cython.double][:, ::1], out: cython.double[:, ::1]) -> cython.void:
    """Copy a matrix into the first rows and columns of another."""
    for i in range(P.shape[0]):
        for j in range(P.shape[1]):
            out[i, j] = P[i, j]


def differ(P: cython.const[cython.double][:, ::1], other: cython.const[cython.double][:, ::1]) -> cython.bint:
    """Return whether two covariances differ by more than rounding."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    most: cython.double = 0.0
    change: cython.double = 0.0
    gap: cython.double
    # Compared with the largest variance, since entries have its unit.
    for i in range(P.shape[0]):
        most = P[i, i] if P[i, i] > most else most
        for j in range(i + 1):
            gap = P[i, j] - other[i, j]
            gap = -gap if gap < 0.0 else gap
            change = gap if gap > change else change
    return change > STEADY * most
