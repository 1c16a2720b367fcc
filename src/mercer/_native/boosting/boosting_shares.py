"""Shapley values of trees: how much each column moves a row's score from the mean over the training rows.

The values are exact for the game in which a column outside the coalition sends a row down both sides, weighted by the
training rows that took them. A path keeps, for each distinct column on it, the shares of rows that follow it without
and with that column known, and the weights of coalitions of each size; columns are taken in and out of it in O(depth).
"""

import cython

__all__ = ["add_shares"]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _extend(
    weights: cython.double[::1],
    zeros: cython.double[::1],
    ones: cython.double[::1],
    columns: cython.int[::1],
    first: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    zero: cython.double,
    one: cython.double,
    column: cython.int,
) -> cython.void:
    """Take a column into the path of `depth` columns that begins at `first`."""
    i: cython.Py_ssize_t
    columns[first + depth] = column
    zeros[first + depth] = zero
    ones[first + depth] = one
    weights[first + depth] = 1.0 if depth == 0 else 0.0
    i = depth - 1
    while i >= 0:
        weights[first + i + 1] += one * weights[first + i] * (i + 1.0) / (depth + 1.0)
        weights[first + i] = zero * weights[first + i] * (depth - i) / (depth + 1.0)
        i -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _without(
    weights: cython.double[::1],
    zeros: cython.double[::1],
    ones: cython.double[::1],
    first: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    keep: cython.int,
    columns: cython.int[::1],
) -> cython.double:
    """The sum of the weights with one column taken out; unless `keep`, the path itself loses it."""
    i: cython.Py_ssize_t = depth - 1
    one: cython.double = ones[first + place]
    zero: cython.double = zeros[first + place]
    carried: cython.double = weights[first + depth]
    left: cython.double
    total: cython.double = 0.0
    while i >= 0:
        if one != 0.0:
            left = carried * (depth + 1.0) / ((i + 1.0) * one)
            carried = weights[first + i] - left * zero * (depth - i) / (depth + 1.0)
        else:
            left = weights[first + i] * (depth + 1.0) / (zero * (depth - i))
        total += left
        if keep == 0:
            weights[first + i] = left
        i -= 1
    if keep == 0:
        for i in range(place, depth):
            columns[first + i] = columns[first + i + 1]
            zeros[first + i] = zeros[first + i + 1]
            ones[first + i] = ones[first + i + 1]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _descend(
    row: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    words: cython.const[cython.longlong][::1],
    chosen: cython.const[cython.uchar][::1],
    values: cython.const[cython.double][::1],
    counts: cython.const[cython.double][::1],
    weights: cython.double[::1],
    zeros: cython.double[::1],
    ones: cython.double[::1],
    columns: cython.int[::1],
    before: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    zero: cython.double,
    one: cython.double,
    column: cython.int,
    shares: cython.double[:, :, ::1],
    output: cython.Py_ssize_t,
) -> cython.void:
    """Follow the path that begins at `before` to a node and on to all leaves below it."""
    first: cython.Py_ssize_t = before + depth
    i: cython.Py_ssize_t
    left: cython.Py_ssize_t = words[node] >> 32
    hot: cython.Py_ssize_t
    asked: cython.int
    known_zero: cython.double = 1.0
    known_one: cython.double = 1.0
    if depth > 0:
        for i in range(depth):
            weights[first + i] = weights[before + i]
            zeros[first + i] = zeros[before + i]
            ones[first + i] = ones[before + i]
            columns[first + i] = columns[before + i]
    _extend(weights, zeros, ones, columns, first, depth, zero, one, column)
    if left == node:
        for i in range(1, depth + 1):
            shares[row, output, columns[first + i]] += (
                _without(weights, zeros, ones, first, depth, i, 1, columns)
                * (ones[first + i] - zeros[first + i])
                * values[node]
            )
        return
    asked = (words[node] >> 8) & 0xFFFFFF
    hot = left if chosen[node] else left + 1
    for i in range(1, depth + 1):
        if columns[first + i] == asked:
            known_zero = zeros[first + i]
            known_one = ones[first + i]
            _without(weights, zeros, ones, first, depth, i, 0, columns)
            depth -= 1
            break
    for i in range(2):
        _descend(
            row,
            hot if i == 0 else 2 * left + 1 - hot,
            words,
            chosen,
            values,
            counts,
            weights,
            zeros,
            ones,
            columns,
            first,
            depth + 1,
            known_zero * counts[hot if i == 0 else 2 * left + 1 - hot] / counts[node],
            known_one if i == 0 else 0.0,
            asked,
            shares,
            output,
        )


def add_shares(
    X: cython.const[cython.double][:, ::1],
    words: cython.const[cython.longlong][::1],
    thresholds: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    counts: cython.const[cython.double][::1],
    sets: cython.const[cython.uint][:, ::1],
    roots: cython.const[cython.int][::1],
    sizes: cython.const[cython.int][::1],
    outputs: cython.const[cython.int][::1],
    chosen: cython.uchar[::1],
    weights: cython.double[::1],
    zeros: cython.double[::1],
    ones: cython.double[::1],
    columns: cython.int[::1],
    shares: cython.double[:, :, ::1],
) -> None:
    """Add to the shares (n, k, d + 1) of some rows the Shapley values of all trees; the last column is left alone.

    Parameters
    ----------
    X, words, thresholds, values, sets, roots, outputs : as in boosting_forest
    counts : (nodes,): the training rows that came by
    sizes : (trees,): nodes of each tree
    chosen : (nodes,), written: whether a row goes left at each node
    weights, zeros, ones, columns : room for a path of the greatest depth D at every depth: (D + 2)(D + 3) / 2
    """
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    node: cython.Py_ssize_t
    x: cython.double
    category: cython.int
    with cython.nogil:
        for i in range(X.shape[0]):
            for t in range(roots.shape[0]):
                for node in range(roots[t], roots[t] + sizes[t]):
                    x = X[i, (words[node] >> 8) & 0xFFFFFF]
                    if x != x:
                        chosen[node] = words[node] & 1
                    elif words[node] & 2:
                        category = cython.cast(cython.int, x)
                        chosen[node] = (
                            sets[cython.cast(cython.Py_ssize_t, thresholds[node]), category >> 5] >> (category & 31)
                        ) & 1
                    else:
                        chosen[node] = 1 if x <= thresholds[node] else 0
                _descend(
                    i,
                    roots[t],
                    words,
                    chosen,
                    values,
                    counts,
                    weights,
                    zeros,
                    ones,
                    columns,
                    0,
                    0,
                    1.0,
                    1.0,
                    -1,
                    shares,
                    outputs[t],
                )
