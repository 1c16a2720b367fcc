"""Least angle regression and the path of the lasso, knot by knot, from the inner products of columns alone.

Columns in use have slopes c_j = x_j . r of one size, the height C, and all others smaller ones. The coefficients in use
move along u with G u = s, s the signs of their slopes, on which C falls by one for a unit step, until another slope has
the size of C, or, for the lasso, until a coefficient reaches zero and its column leaves (Efron and others, 2004).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.linear import growing_factor
else:
    from mercer._native.linear import growing_factor

# Rows of `columns`: slopes, coefficients, and the fall of slopes in a unit step; rows of `slots`: signs, direction.
SLOPE = cython.declare(cython.int, 0)
COEF = cython.declare(cython.int, 1)
FALL = cython.declare(cython.int, 2)
SIGN = cython.declare(cython.int, 0)
MOVE = cython.declare(cython.int, 1)
# Entries of `counts`: columns in use, the column that left last and the one that is to join (-1 for none), knots.
USED = cython.declare(cython.int, 0)
LEFT = cython.declare(cython.int, 1)
JOINS = cython.declare(cython.int, 2)
KNOTS = cython.declare(cython.int, 3)
# Entries of `numbers`: the height, the squared residual, the sign of the column that left, the height at the start.
HEIGHT = cython.declare(cython.int, 0)
SQUARES = cython.declare(cython.int, 1)
LEFT_SIGN = cython.declare(cython.int, 2)
TOP = cython.declare(cython.int, 3)
# Marks of columns: they may join, are in use, or are determined by columns in use.
FREE = cython.declare(cython.int, 0)
IN_USE = cython.declare(cython.int, 1)
OUT = cython.declare(cython.int, 2)
# How a call ends: with the knots asked for, at the lowest height, for want of products of the column that joins, or
# because columns join and leave without a step.
ARRIVED = cython.declare(cython.int, 1)
ASKS = cython.declare(cython.int, 2)
STUCK = cython.declare(cython.int, 3)
# Heights closer than this share of the first are one: some hundred roundings.
_CLOSE = cython.declare(cython.double, 1e-13)
# A column that would join within this share of the first height of the end does not: where the residual vanishes all
# slopes do at once, up to what rounding has added to them on the way.
_END = cython.declare(cython.double, 1e-11)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_join(
    columns: cython.const[cython.double][:, ::1],
    marks: cython.const[cython.schar][::1],
    counts: cython.Py_ssize_t[::1],
    numbers: cython.const[cython.double][::1],
    longest: cython.double,
    positive: cython.bint,
) -> cython.double:
    """Return the step after which a free column has a slope of the size of the height; `longest` if none does before.

    The column is written to `counts`.
    """
    j: cython.Py_ssize_t
    height: cython.double = numbers[HEIGHT]
    best: cython.double = longest
    rest: cython.double
    step: cython.double
    counts[JOINS] = -1
    for j in range(columns.shape[1]):
        if marks[j] != FREE:
            continue
        back = numbers[LEFT_SIGN] if j == counts[LEFT] else 0.0
        # A slope that falls as fast as the height is that of a column which others determine.
        rest = 1.0 - columns[FALL, j]
        if rest > _CLOSE and back <= 0:
            step = (height - columns[SLOPE, j]) / rest
            step = step if step > 0 else 0.0
            if step < best:
                best = step
                counts[JOINS] = j
        rest = 1.0 + columns[FALL, j]
        if rest > _CLOSE and back >= 0 and not positive:
            step = (height + columns[SLOPE, j]) / rest
            step = step if step > 0 else 0.0
            if step < best:
                best = step
                counts[JOINS] = j
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_exit(
    columns: cython.const[cython.double][:, ::1],
    slots: cython.const[cython.double][:, ::1],
    order: cython.const[cython.Py_ssize_t][::1],
    used: cython.Py_ssize_t,
    longest: cython.double,
) -> cython.Py_ssize_t:
    """Return the slot whose coefficient reaches zero first, within the longest step, or -1."""
    found: cython.Py_ssize_t = -1
    for k in range(used):
        # Only a coefficient that moves against the sign of its slope can get to zero.
        if slots[MOVE, k] * slots[SIGN, k] >= 0:
            continue
        w = columns[COEF, order[k]]
        step = -w / slots[MOVE, k] if w * slots[SIGN, k] > 0 else 0.0
        if step < longest:
            longest = step
            found = k
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(
    rows: cython.const[cython.double][:, ::1],
    place: cython.const[cython.Py_ssize_t][::1],
    columns: cython.double[:, ::1],
    slots: cython.double[:, ::1],
    L: cython.double[:, ::1],
    order: cython.Py_ssize_t[::1],
    marks: cython.schar[::1],
    counts: cython.Py_ssize_t[::1],
    rules: cython.const[cython.double][::1],
) -> cython.void:
    """Take the column that joins into use, or mark it as one that those in use determine."""
    j: cython.Py_ssize_t = counts[JOINS]
    used: cython.Py_ssize_t = counts[USED]
    pivot: cython.double = 0.0
    if used < order.shape[0]:
        pivot = growing_factor.add_column(rows, place[j], j, order, used, rules[4], L)
    counts[JOINS] = -1
    counts[LEFT] = -1
    if pivot < rules[5]:
        marks[j] = OUT
        return
    marks[j] = IN_USE
    order[used] = j
    slots[SIGN, used] = 1.0 if columns[SLOPE, j] > 0 else -1.0
    counts[USED] = used + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave(
    columns: cython.double[:, ::1],
    slots: cython.double[:, ::1],
    L: cython.double[:, ::1],
    order: cython.Py_ssize_t[::1],
    marks: cython.schar[::1],
    counts: cython.Py_ssize_t[::1],
    numbers: cython.double[::1],
    slot: cython.Py_ssize_t,
) -> cython.void:
    """Take the column of a slot out of use; its coefficient is zero from now on."""
    used: cython.Py_ssize_t = counts[USED]
    counts[LEFT] = order[slot]
    counts[JOINS] = -1
    numbers[LEFT_SIGN] = slots[SIGN, slot]
    columns[COEF, order[slot]] = 0.0
    marks[order[slot]] = FREE
    growing_factor.remove_column(L, slot, used)
    for k in range(slot, used - 1):
        order[k] = order[k + 1]
        slots[SIGN, k] = slots[SIGN, k + 1]
    counts[USED] = used - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def move(
    columns: cython.double[:, ::1],
    slots: cython.const[cython.double][:, ::1],
    order: cython.const[cython.Py_ssize_t][::1],
    used: cython.Py_ssize_t,
    numbers: cython.double[::1],
    step: cython.double,
    product: cython.double,
) -> cython.void:
    """Go a step; `product` is s . u = |X u|^2."""
    for j in range(columns.shape[1]):
        columns[SLOPE, j] -= step * columns[FALL, j]
    # |r - step X u|^2 with r . X u = C s . u.
    numbers[SQUARES] -= step * (2.0 * numbers[HEIGHT] - step) * product
    numbers[HEIGHT] -= step
    for k in range(used):
        columns[COEF, order[k]] += step * slots[MOVE, k]
        columns[SLOPE, order[k]] = slots[SIGN, k] * numbers[HEIGHT]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_knot(
    columns: cython.const[cython.double][:, ::1],
    counts: cython.Py_ssize_t[::1],
    numbers: cython.const[cython.double][::1],
    knots: cython.double[:, ::1],
    heights: cython.double[:, ::1],
) -> cython.void:
    """Write the coefficients, the height, the squared residual and the sum of sizes of coefficients of a knot.

    A table of one row keeps the coefficients of the last knot alone.
    """
    at: cython.Py_ssize_t = counts[KNOTS]
    row: cython.Py_ssize_t = at if knots.shape[0] > 1 else 0
    size: cython.double = 0.0
    for j in range(columns.shape[1]):
        knots[row, j] = columns[COEF, j]
        size += columns[COEF, j] if columns[COEF, j] > 0 else -columns[COEF, j]
    heights[at, 0] = numbers[HEIGHT]
    heights[at, 1] = numbers[SQUARES]
    heights[at, 2] = size
    counts[KNOTS] = at + 1


def take_steps(
    rows: cython.const[cython.double][:, ::1],
    place: cython.const[cython.Py_ssize_t][::1],
    columns: cython.double[:, ::1],
    slots: cython.double[:, ::1],
    L: cython.double[:, ::1],
    order: cython.Py_ssize_t[::1],
    marks: cython.schar[::1],
    counts: cython.Py_ssize_t[::1],
    numbers: cython.double[::1],
    rules: cython.const[cython.double][::1],
    knots: cython.double[:, ::1],
    heights: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Go on along the path; return how the call ended: 0 with the knots asked for, or as the constants above say.

    Parameters
    ----------
    rows, place : (m, d), (d,): the products of some columns with all columns, and the row of each column, or -1.
    columns, slots, L, order, marks, counts, numbers : (3, d), (2, k), (k, k), (k,), (d,), (4,), (4,): the state.
    rules : (6,): the knots to end with, the lowest height, whether coefficients that reach zero leave, whether they
        must not be negative, the least pivot (others are raised to it), and that below which a column does not join.
    knots, heights : (n, d) or (1, d), (n, 3): written.
    """
    slot: cython.Py_ssize_t
    k: cython.Py_ssize_t
    ended: cython.Py_ssize_t = 0
    idle: cython.Py_ssize_t = 0
    step: cython.double
    product: cython.double
    close: cython.double = _CLOSE * numbers[TOP]
    end: cython.double = _END * numbers[TOP]
    with cython.nogil:
        while counts[KNOTS] < rules[0]:
            if numbers[HEIGHT] <= rules[1]:
                ended = ARRIVED
                break
            if counts[JOINS] >= 0:
                if place[counts[JOINS]] < 0:
                    ended = ASKS
                    break
                join(rows, place, columns, slots, L, order, marks, counts, rules)
            if counts[USED] == 0 or idle > 2 * columns.shape[1]:
                ended = STUCK
                break
            for k in range(counts[USED]):
                slots[MOVE, k] = slots[SIGN, k]
            growing_factor.solve_lower(L, counts[USED], slots[MOVE])
            growing_factor.solve_upper(L, counts[USED], slots[MOVE])
            product = 0.0
            for k in range(counts[USED]):
                product += slots[SIGN, k] * slots[MOVE, k]
            growing_factor.add_rows(rows, place, order, counts[USED], slots[MOVE], columns[FALL])
            step = find_join(columns, marks, counts, numbers, numbers[HEIGHT] - rules[1] - end, rules[3] != 0)
            if counts[JOINS] < 0:
                step = numbers[HEIGHT] - rules[1]
            slot = find_exit(columns, slots, order, counts[USED], step) if rules[2] else -1
            if slot >= 0:
                step = -columns[COEF, order[slot]] / slots[MOVE, slot]
                step = step if step > 0 else 0.0
            idle = idle + 1 if step <= close else 0
            move(columns, slots, order, counts[USED], numbers, step, product)
            counts[LEFT] = -1
            if slot >= 0:
                leave(columns, slots, L, order, marks, counts, numbers, slot)
            # Columns that join or leave at one height have one knot.
            if step > close:
                keep_knot(columns, counts, numbers, knots, heights)
            else:
                counts[KNOTS] -= 1
                keep_knot(columns, counts, numbers, knots, heights)
    return ended
