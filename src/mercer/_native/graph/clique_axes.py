"""The operands of a clique: how tables and messages are read along the axes of the clique, a row of cells at a time.

A row of `slots` describes an operand that lies in the flat array `work`: where it begins, how its cells are read along
a row and in steps of how many cells (see ``table_rows``), and where in `maps` the offsets of rows and of steps begin;
whether it has the axis along which a large clique is cut into chunks, and its number of entries.
"""

import cython

from mercer._native.graph import table_rows
from mercer._native.shared import inline

INFINITY = float("inf")

# Columns of `slots`.
BASE = 0
KIND = 1
WIDTH = 2
ROWS = 3
STEPS = 4
HAS_CUT = 5
SIZE = 6

# Fewest cells of a row in a small clique and in a large one, where maps would otherwise take much memory.
SMALL_ROW = 32
LARGE_ROW = 256
# Cells from which a clique is large.
LARGE = 4096


def add_logs(scale: cython.double[::1], counts: cython.Py_ssize_t[::1]) -> cython.double:
    """Return the sum of the logarithms of the scales that count; minus infinity if a message was zero everywhere."""
    total: cython.double = 0.0
    for c in range(scale.shape[0]):
        if scale[c] == 0.0:
            return -INFINITY
        total += inline.log(scale[c]) if counts[c] else 0.0
    return total


def count_cells(
    variables: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the number of combinations of states of the variables from `low` to `high`."""
    cells: cython.Py_ssize_t = 1
    for j in range(low, high):
        cells *= length[variables[j]]
    return cells


def choose_split(
    variables: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the first axis of a row: the last axes make a row, until it has enough cells."""
    wanted: cython.Py_ssize_t = LARGE_ROW if count_cells(variables, length, low, high) >= LARGE else SMALL_ROW
    cells: cython.Py_ssize_t = 1
    split: cython.Py_ssize_t = high
    while split > low and cells < wanted:
        split -= 1
        cells *= length[variables[split]]
    return split - low


def map_axes(
    variables: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    strides: cython.Py_ssize_t[::1],
    origin: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    maps: cython.int[::1],
    begin: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write the offsets over the axes from `low` to `high`, the last running fastest; return where they end."""
    count: cython.Py_ssize_t = 1
    maps[begin] = 0
    # The offsets over one more axis are all old offsets plus each multiple of its stride.
    for axis in range(low, high):
        n = length[variables[origin + axis]]
        if n > 1:
            # Backwards, so that no offset is overwritten before it is used.
            for i in range(count - 1, -1, -1):
                offset = maps[begin + i]
                for j in range(n):
                    maps[begin + i * n + j] = cython.cast(cython.int, offset + j * strides[axis])
            count *= n
    return begin + count


def describe_operand(
    slots: cython.Py_ssize_t[:, ::1],
    slot: cython.Py_ssize_t,
    base: cython.Py_ssize_t,
    variables: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    strides: cython.Py_ssize_t[::1],
    origin: cython.Py_ssize_t,
    n_axes: cython.Py_ssize_t,
    split: cython.Py_ssize_t,
    cut: cython.Py_ssize_t,
    maps: cython.int[::1],
    begin: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Describe an operand with these strides along a clique's axes, whose rows begin at axis `split`.

    Returns where the maps end.
    """
    size: cython.Py_ssize_t = 1
    width: cython.Py_ssize_t = 1
    kind: cython.Py_ssize_t = -1
    # A stride of zero marks an axis that the operand does not have.
    for axis in range(n_axes):
        size *= length[variables[origin + axis]] if strides[axis] != 0 else 1
    axis = n_axes
    # From the last axis up, as long as the operand stays constant (RUN) or contiguous (PIECE).
    while axis > split:
        n = length[variables[origin + axis - 1]]
        if n > 1:
            if kind < 0:
                kind = table_rows.RUN if strides[axis - 1] == 0 else table_rows.PIECE
            if strides[axis - 1] != (0 if kind == table_rows.RUN else width):
                break
            width *= n
        axis -= 1
    slots[slot, HAS_CUT] = strides[cut] != 0
    slots[slot, SIZE] = size
    slots[slot, BASE] = base
    slots[slot, KIND] = table_rows.RUN if kind < 0 else kind
    slots[slot, WIDTH] = width
    slots[slot, ROWS] = begin
    begin = map_axes(variables, length, strides, origin, 0, split, maps, begin)
    slots[slot, STEPS] = begin
    return map_axes(variables, length, strides, origin, split, axis, maps, begin)


def multiply(
    slots: cython.Py_ssize_t[:, ::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    work: cython.double[::1],
    maps: cython.int[::1],
    number: cython.Py_ssize_t,
    row: cython.double[::1],
    count: cython.Py_ssize_t,
    fresh: cython.bint,
) -> cython.void:
    """Multiply `row`, the one of that number, by the operands from `low` to `high`; a fresh row begins as ones."""
    if fresh and low == high:
        table_rows.fill(row, 0, count, 1.0)
    for s in range(low, high):
        base = slots[s, BASE] + maps[slots[s, ROWS] + number]
        if fresh and s == low:
            table_rows.set_row(row, work, base, slots[s, KIND], slots[s, WIDTH], maps, slots[s, STEPS], count)
        else:
            table_rows.multiply_row(row, work, base, slots[s, KIND], slots[s, WIDTH], maps, slots[s, STEPS], count)


def multiply_into(
    slots: cython.Py_ssize_t[:, ::1],
    s: cython.Py_ssize_t,
    work: cython.double[::1],
    maps: cython.int[::1],
    number: cython.Py_ssize_t,
    rows: cython.double[:, ::1],
    k: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Write the product of row k and an operand to row k + 1."""
    base: cython.Py_ssize_t = slots[s, BASE] + maps[slots[s, ROWS] + number]
    for i in range(count):
        rows[k + 1, i] = rows[k, i]
    table_rows.multiply_row(rows[k + 1], work, base, slots[s, KIND], slots[s, WIDTH], maps, slots[s, STEPS], count)


def add(
    slots: cython.Py_ssize_t[:, ::1],
    s: cython.Py_ssize_t,
    work: cython.double[::1],
    maps: cython.int[::1],
    number: cython.Py_ssize_t,
    row: cython.double[::1],
    count: cython.Py_ssize_t,
) -> cython.void:
    """Add `row`, the one of that number, to the message or marginal that operand s describes."""
    base: cython.Py_ssize_t = slots[s, BASE] + maps[slots[s, ROWS] + number]
    table_rows.add_row(row, work, base, slots[s, KIND], slots[s, WIDTH], maps, slots[s, STEPS], count)


def pass_down(
    slots: cython.Py_ssize_t[:, ::1],
    n_own: cython.Py_ssize_t,
    n_ups: cython.Py_ssize_t,
    n_slots: cython.Py_ssize_t,
    work: cython.double[::1],
    maps: cython.int[::1],
    number: cython.Py_ssize_t,
    rows: cython.double[:, ::1],
    count: cython.Py_ssize_t,
) -> cython.void:
    """Add the row of that number to the messages to children and to marginals; see ``open_down``.

    The message to a child is the product of all operands but the child's own message. Row k of `rows` holds the
    product of the tables, the message from above and the messages of the children before k; the last row holds that
    of the children after k.
    """
    # The last row of `rows` is scratch: prefix products are in the rows before it.
    last: cython.Py_ssize_t = rows.shape[0] - 1
    multiply(slots, 0, n_own, work, maps, number, rows[0], count, True)
    for k in range(n_ups):
        multiply_into(slots, n_own + k, work, maps, number, rows, k, count)
    for k in range(n_own + 2 * n_ups, n_slots):
        add(slots, k, work, maps, number, rows[n_ups], count)
    # Prefix times suffix: every product of all but one in O(children) multiplications, without a division.
    for k in range(n_ups - 1, -1, -1):
        if k < n_ups - 1:
            multiply(slots, n_own + k + 1, n_own + k + 2, work, maps, number, rows[last], count, k == n_ups - 2)
            for i in range(count):
                rows[k, i] = rows[k, i] * rows[last, i]
        add(slots, n_own + n_ups + k, work, maps, number, rows[k], count)


def maximise(
    slots: cython.Py_ssize_t[:, ::1],
    s: cython.Py_ssize_t,
    work: cython.double[::1],
    maps: cython.int[::1],
    number: cython.Py_ssize_t,
    row: cython.double[::1],
    count: cython.Py_ssize_t,
    cells: cython.longlong[::1],
    origin: cython.Py_ssize_t,
) -> cython.void:
    """Raise the message that operand s describes to the products of the operands before it, and note their cells."""
    base: cython.Py_ssize_t = slots[s, BASE] + maps[slots[s, ROWS] + number]
    multiply(slots, 0, s, work, maps, number, row, count, True)
    table_rows.maximise_row(
        row, work, base, slots[s, KIND], slots[s, WIDTH], maps, slots[s, STEPS], count, cells, origin, number * count
    )
