"""Multiply a row of a clique's table by an operand, and add a row to a message.

A row is a run of `count` cells of a clique's table. An operand lies in a flat array, from `base` on for this row. Along
the row it is read in steps of `width` cells, whose offsets are in `maps` from `begin` on: within a step it is constant
(`kind` RUN) or contiguous (PIECE).
"""

import cython

from mercer._native.shared import inline

RUN = 0
PIECE = 1
# Cells of a run from which eight running sums are faster than one.
LONG = 16


def fill(
    row: cython.double[::1], start: cython.Py_ssize_t, count: cython.Py_ssize_t, value: cython.double
) -> cython.void:
    """Set some entries to one value."""
    for i in range(start, start + count):
        row[i] = value


def clear(strides: cython.Py_ssize_t[::1], count: cython.Py_ssize_t) -> cython.void:
    """Set the first strides to zero."""
    for axis in range(count):
        strides[axis] = 0


def normalise(
    work: cython.double[::1],
    origin: cython.Py_ssize_t,
    first: cython.Py_ssize_t[::1],
    target: cython.double[::1],
) -> cython.void:
    """Write runs of `work`, which begin at `first` after `origin`, divided by their sums."""
    for v in range(first.shape[0] - 1):
        total = 0.0
        for i in range(first[v], first[v + 1]):
            total += work[origin + i]
        for i in range(first[v], first[v + 1]):
            target[i] = work[origin + i] / total if total > 0.0 else 0.0


def divide_by_largest(work: cython.double[::1], start: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.double:
    """Divide a message by its largest entry, unless all are zero, and return that entry."""
    largest: cython.double = 0.0
    for i in range(start, start + count):
        largest = work[i] if work[i] > largest else largest
    if largest > 0.0:
        for i in range(start, start + count):
            work[i] = work[i] / largest
    return largest


def set_row(
    row: cython.double[::1],
    values: cython.double[::1],
    base: cython.Py_ssize_t,
    kind: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    maps: cython.int[::1],
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Write an operand to a row."""
    if kind == RUN:
        for i in range(count // width):
            value = values[base + maps[begin + i]]
            for j in range(i * width, i * width + width):
                row[j] = value
    # Scattered cells: every cell has an offset of its own.
    elif width == 1:
        for i in range(count):
            row[i] = values[base + maps[begin + i]]
    else:
        for i in range(count // width):
            at = base + maps[begin + i]
            for j in range(width):
                row[i * width + j] = values[at + j]


def multiply_row(
    row: cython.double[::1],
    values: cython.double[::1],
    base: cython.Py_ssize_t,
    kind: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    maps: cython.int[::1],
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Multiply a row by an operand."""
    if kind == RUN:
        for i in range(count // width):
            value = values[base + maps[begin + i]]
            for j in range(i * width, i * width + width):
                row[j] = row[j] * value
    # Scattered cells, each with its own offset.
    elif width == 1:
        for i in range(count):
            row[i] = row[i] * values[base + maps[begin + i]]
    else:
        for i in range(count // width):
            at = base + maps[begin + i]
            for j in range(width):
                row[i * width + j] = row[i * width + j] * values[at + j]


def add_row(
    row: cython.double[::1],
    values: cython.double[::1],
    base: cython.Py_ssize_t,
    kind: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    maps: cython.int[::1],
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Add a row to a message: the cells of a run to one entry, those of a piece to an entry each."""
    if kind == RUN:
        for i in range(count // width):
            # Long runs use the vectorised sum of eight parts; short ones cost less in a plain loop.
            if width >= LONG:
                value = inline.sum(row[i * width : i * width + width])
            else:
                value = 0.0
                for j in range(i * width, i * width + width):
                    value = value + row[j]
            values[base + maps[begin + i]] += value
    else:
        for i in range(count // width):
            at = base + maps[begin + i]
            for j in range(width):
                values[at + j] += row[i * width + j]


def maximise_row(
    row: cython.double[::1],
    values: cython.double[::1],
    base: cython.Py_ssize_t,
    kind: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    maps: cython.int[::1],
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    cells: cython.longlong[::1],
    origin: cython.Py_ssize_t,
    cell: cython.Py_ssize_t,
) -> cython.void:
    """Raise a message to the cells of a row, and note the cell of each maximum, counted from `cell`.

    Entry i of the message has its cell in cells[i - origin]. The first of equal cells stays.
    """
    for i in range(count // width):
        for j in range(width):
            at = base + maps[begin + i] + (j if kind == PIECE else 0)
            if row[i * width + j] > values[at]:
                values[at] = row[i * width + j]
                cells[at - origin] = cell + i * width + j
