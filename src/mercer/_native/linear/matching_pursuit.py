"""Orthogonal matching pursuit from the inner products of columns: the column most like the residual joins, then least
squares over those in use makes the residual orthogonal to them (Pati, Rezaiifar and Krishnaprasad, 1993).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.linear import growing_factor
else:
    from mercer._native.linear import growing_factor

# Rows of `columns`: slopes x_j . r, coefficients, products with all columns at the start, and a sum.
SLOPE = cython.declare(cython.int, 0)
COEF = cython.declare(cython.int, 1)
CROSS = cython.declare(cython.int, 2)
SUM = cython.declare(cython.int, 3)
# Rows of `slots`: L^-1 times the products of columns in use with the target, and their coefficients.
LOWER = cython.declare(cython.int, 0)
SOLVED = cython.declare(cython.int, 1)
# Entries of `counts`: columns in use, and the column that joins, or -1.
USED = cython.declare(cython.int, 0)
JOINS = cython.declare(cython.int, 1)
# How a call ends: with the squared residual asked for, for want of products of the column that joins, or because those
# in use determine all that is left.
ARRIVED = cython.declare(cython.int, 1)
ASKS = cython.declare(cython.int, 2)
DEPENDENT = cython.declare(cython.int, 3)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_column(
    columns: cython.const[cython.double][:, ::1], marks: cython.const[cython.schar][::1], least: cython.double
) -> cython.Py_ssize_t:
    """Return the free column with the largest slope above `least`, or -1."""
    found: cython.Py_ssize_t = -1
    for j in range(columns.shape[1]):
        size = columns[SLOPE, j] if columns[SLOPE, j] > 0 else -columns[SLOPE, j]
        if marks[j] == 0 and size > least:
            least = size
            found = j
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve(
    rows: cython.const[cython.double][:, ::1],
    place: cython.const[cython.Py_ssize_t][::1],
    columns: cython.double[:, ::1],
    slots: cython.double[:, ::1],
    L: cython.const[cython.double][:, ::1],
    order: cython.const[cython.Py_ssize_t][::1],
    used: cython.Py_ssize_t,
) -> cython.void:
    """Fit least squares over the columns in use, and compute all slopes."""
    for k in range(used):
        slots[SOLVED, k] = slots[LOWER, k]
    growing_factor.solve_upper(L, used, slots[SOLVED])
    for k in range(used):
        columns[COEF, order[k]] = slots[SOLVED, k]
    growing_factor.add_rows(rows, place, order, used, slots[SOLVED], columns[SUM])
    for j in range(columns.shape[1]):
        columns[SLOPE, j] = columns[CROSS, j] - columns[SUM, j]


def pursue(
    rows: cython.const[cython.double][:, ::1],
    place: cython.const[cython.Py_ssize_t][::1],
    columns: cython.double[:, ::1],
    slots: cython.double[:, ::1],
    L: cython.double[:, ::1],
    order: cython.Py_ssize_t[::1],
    marks: cython.schar[::1],
    counts: cython.Py_ssize_t[::1],
    rules: cython.const[cython.double][::1],
    knots: cython.double[:, ::1],
    squares: cython.double[::1],
) -> cython.Py_ssize_t:
    """Take more columns into use; return how the call ended: 0 with as many as asked for, or as the constants say.

    Parameters
    ----------
    rows, place : (m, d), (d,): the products of some columns with all columns, and the row of each column, or -1.
    columns, slots, L, order, marks, counts : (4, d), (2, k), (k, k), (k,), (d,), (2,): where the pursuit is.
    rules : (4,): the columns to end with, the squared residual to end at, the least slope of a column that joins, and
        the pivot below which it does not.
    knots, squares : (k + 1, d), (k + 1,): the coefficients and the squared residual after each column, written.
    """
    ended: cython.Py_ssize_t = 0
    with cython.nogil:
        while counts[USED] < rules[0]:
            used = counts[USED]
            if squares[used] <= rules[1]:
                ended = ARRIVED
                break
            if counts[JOINS] < 0:
                counts[JOINS] = find_column(columns, marks, rules[2])
            j = counts[JOINS]
            if j < 0:
                ended = DEPENDENT
                break
            if place[j] < 0:
                ended = ASKS
                break
            counts[JOINS] = -1
            if growing_factor.add_column(rows, place[j], j, order, used, 0.0, L) < rules[3]:
                # Of the columns most like the residual one that others determine says that nothing else is left.
                ended = DEPENDENT
                break
            marks[j] = 1
            order[used] = j
            slots[LOWER, used] = columns[CROSS, j]
            growing_factor.extend_lower(L, used, slots[LOWER])
            counts[USED] = used + 1
            solve(rows, place, columns, slots, L, order, used + 1)
            squares[used + 1] = squares[used] - slots[LOWER, used] * slots[LOWER, used]
            for j in range(columns.shape[1]):
                knots[used + 1, j] = columns[COEF, j]
    return ended
