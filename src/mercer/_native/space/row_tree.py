"""Rows sorted into a balanced tree of boxes: each node has the rows of its two halves, cut at the median of a side."""

import cython

__all__ = ["split"]

real = cython.fused_type(cython.float, cython.double)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enclose(
    X: cython.const[real][:, ::1],
    rows: cython.const[cython.Py_ssize_t][::1],
    lower: cython.double[::1],
    upper: cython.double[::1],
) -> cython.void:
    """Write the least and greatest value of each column over some rows."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.double
    for j in range(X.shape[1]):
        lower[j] = upper[j] = X[rows[0], j]
    for i in range(1, rows.shape[0]):
        for j in range(X.shape[1]):
            value = X[rows[i], j]
            lower[j] = value if value < lower[j] else lower[j]
            upper[j] = value if value > upper[j] else upper[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def widest(
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
) -> cython.Py_ssize_t:
    """Return the longest side of a box, in units of 1 / inverse; among equals the first."""
    j: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    length: cython.double
    longest: cython.double = -1.0
    for j in range(lower.shape[0]):
        length = (upper[j] - lower[j]) * inverse[j]
        if length > longest:
            longest = length
            found = j
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def middle_of_three(a: cython.double, b: cython.double, c: cython.double) -> cython.double:
    """Return the median of three numbers."""
    return max(min(a, b), min(max(a, b), c))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select(
    X: cython.const[real][:, ::1], column: cython.Py_ssize_t, rows: cython.Py_ssize_t[::1], middle: cython.Py_ssize_t
) -> cython.void:
    """Order rows so that those before `middle` have no greater value in `column` than those from it on (Hoare)."""
    first: cython.Py_ssize_t = 0
    last: cython.Py_ssize_t = rows.shape[0] - 1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    pivot: cython.double
    while first < last:
        pivot = middle_of_three(X[rows[first], column], X[rows[(first + last) // 2], column], X[rows[last], column])
        i = first
        j = last
        while i <= j:
            while X[rows[i], column] < pivot:
                i += 1
            while X[rows[j], column] > pivot:
                j -= 1
            if i <= j:
                row = rows[i]
                rows[i] = rows[j]
                rows[j] = row
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            break


def split(
    X: cython.const[real][:, ::1],
    inverse: cython.const[cython.double][::1],
    rows: cython.Py_ssize_t[::1],
    bounds: cython.Py_ssize_t[:, ::1],
    lower: cython.double[:, ::1],
    upper: cython.double[:, ::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Box the nodes from `first` to `stop`, and hand the rows of each on to its children, where the tree has any.

    Parameters
    ----------
    X : (n, d)
    inverse : (d,), one over the unit that each side of a box is measured in
    rows : (n,), the row numbers, reordered within each node
    bounds : (m, 2), the first row of each node and the one after its last; written for the children 2 i + 1, 2 i + 2
    lower, upper : (m, d), written
    first, stop : nodes of one level
    """
    node: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    column: cython.Py_ssize_t
    with cython.nogil:
        for node in range(first, stop):
            begin = bounds[node, 0]
            end = bounds[node, 1]
            enclose(X, rows[begin:end], lower[node], upper[node])
            if 2 * node + 2 < bounds.shape[0]:
                middle = (begin + end) // 2
                column = widest(lower[node], upper[node], inverse)
                select(X, column, rows[begin:end], middle - begin)
                bounds[2 * node + 1, 0] = begin
                bounds[2 * node + 1, 1] = middle
                bounds[2 * node + 2, 0] = middle
                bounds[2 * node + 2, 1] = end
