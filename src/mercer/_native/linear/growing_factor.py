"""A Cholesky factor L of the inner products of some columns, which gains a column at the end or loses any of them."""

import cython

from mercer._native.shared import inline


def add_column(
    rows: cython.const[cython.double][:, ::1],
    at: cython.Py_ssize_t,
    column: cython.Py_ssize_t,
    order: cython.const[cython.Py_ssize_t][::1],
    size: cython.Py_ssize_t,
    least: cython.double,
    L: cython.double[:, ::1],
) -> cython.double:
    """Write row `size` of L for a column whose products with all columns are ``rows[at]``; return its pivot.

    The pivot is the length of what the other columns leave of it as a share of its own, and at least `least`.
    """
    square: cython.double = rows[at, column]
    share: cython.double
    if not square > 0:
        return 0.0
    for i in range(size):
        L[size, i] = (rows[at, order[i]] - inline.dot(L[i, :i], L[size, :i])) / L[i, i]
    rest = square - inline.dot(L[size, :size], L[size, :size])
    share = (rest / square) ** 0.5 if rest > 0 else 0.0
    share = share if share > least else least
    L[size, size] = share * square**0.5
    return share


def extend_lower(L: cython.const[cython.double][:, ::1], at: cython.Py_ssize_t, x: cython.double[::1]) -> cython.void:
    """Overwrite entry `at` of x, whose entries before are those of L^-1 x, by that of L^-1 x."""
    x[at] = (x[at] - inline.dot(L[at, :at], x[:at])) / L[at, at]


def solve_lower(L: cython.const[cython.double][:, ::1], size: cython.Py_ssize_t, x: cython.double[::1]) -> cython.void:
    """Overwrite x by L^-1 x."""
    for i in range(size):
        extend_lower(L, i, x)


def solve_upper(L: cython.const[cython.double][:, ::1], size: cython.Py_ssize_t, x: cython.double[::1]) -> cython.void:
    """Overwrite x by L^-T x."""
    for i in range(size - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


def remove_column(L: cython.double[:, ::1], slot: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
    """Take the column of a slot out of L, which has `size` of them, by plane rotations."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    length: cython.double
    cosine: cython.double
    sine: cython.double
    first: cython.double
    for i in range(slot, size - 1):
        for k in range(i + 2):
            L[i, k] = L[i + 1, k]
    # Row i now reaches one entry beyond the diagonal.
    for i in range(slot, size - 1):
        length = (L[i, i] * L[i, i] + L[i, i + 1] * L[i, i + 1]) ** 0.5
        cosine = L[i, i] / length
        sine = L[i, i + 1] / length
        for k in range(i, size - 1):
            first = L[k, i]
            L[k, i] = cosine * first + sine * L[k, i + 1]
            L[k, i + 1] = cosine * L[k, i + 1] - sine * first


def add_rows(
    rows: cython.const[cython.double][:, ::1],
    place: cython.const[cython.Py_ssize_t][::1],
    order: cython.const[cython.Py_ssize_t][::1],
    size: cython.Py_ssize_t,
    u: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> cython.void:
    """Write sum_k u_k rows[place[order_k]] to `out`."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    # Four rows at a time: the sums are read and written a quarter as often.
    for k in range(0, size - size % 4, 4):
        a = place[order[k]]
        b = place[order[k + 1]]
        c = place[order[k + 2]]
        e = place[order[k + 3]]
        for j in range(out.shape[0]):
            out[j] += (u[k] * rows[a, j] + u[k + 1] * rows[b, j]) + (u[k + 2] * rows[c, j] + u[k + 3] * rows[e, j])
    for k in range(size - size % 4, size):
        a = place[order[k]]
        for j in range(out.shape[0]):
            out[j] += u[k] * rows[a, j]
