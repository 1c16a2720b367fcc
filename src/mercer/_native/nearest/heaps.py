"""Heaps of nearest rows: one line of `distances` and of `indices` (b, k) for each query.

The farthest row, by squared distance and then by index, stands first; the children of place i are 2 i + 1 and 2 i + 2.
A heap begins with infinite distances and an index above all others.
"""

import cython


def precedes(
    square: cython.double, row: cython.Py_ssize_t, other: cython.double, other_row: cython.Py_ssize_t
) -> cython.int:
    """Return whether a row comes before another: by distance, then by index."""
    # Without branches: which of two children is the farther one is a coin toss that no CPU predicts.
    return (square < other) | ((square == other) & (row < other_row))


def sift(
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
    line: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    square: cython.double,
    row: cython.Py_ssize_t,
) -> cython.void:
    """Put a row in the place of the first of a heap of `size`, and move it down to where it belongs."""
    place: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t = 1
    while child < size:
        if child + 1 < size:
            child += precedes(
                distances[line, child], indices[line, child], distances[line, child + 1], indices[line, child + 1]
            )
        if not precedes(square, row, distances[line, child], indices[line, child]):
            break
        distances[line, place] = distances[line, child]
        indices[line, place] = indices[line, child]
        place = child
        child = 2 * place + 1
    distances[line, place] = square
    indices[line, place] = row


def offer(
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
    line: cython.Py_ssize_t,
    square: cython.double,
    row: cython.Py_ssize_t,
) -> cython.void:
    """Replace the farthest of the nearest rows by `row`, if that comes before it."""
    if precedes(square, row, distances[line, 0], indices[line, 0]):
        sift(distances, indices, line, distances.shape[1], square, row)


def sort_line(
    distances: cython.double[:, ::1], indices: cython.Py_ssize_t[:, ::1], line: cython.Py_ssize_t
) -> cython.void:
    """Sort a heap: the nearest row first."""
    size: cython.Py_ssize_t = distances.shape[1] - 1
    while size > 0:
        # The farthest goes behind the heap, and what stood there moves to its place in the rest.
        square = distances[line, size]
        row = indices[line, size]
        distances[line, size] = distances[line, 0]
        indices[line, size] = indices[line, 0]
        sift(distances, indices, line, size, square, row)
        size -= 1
