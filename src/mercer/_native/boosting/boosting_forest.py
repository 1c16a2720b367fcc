"""Predict with packed trees: several rows at a time, and all trees while these rows are in the cache.

The children of a node are neighbours: the index of the left one and the column to compare are in one 64-bit word,
left << 32 | column << 8 | flags, with flag 1 where missing values go left and flag 2 where the column holds categories.
A leaf is its own left child and has an infinite threshold, so that rows that reach it early stay there.
"""

import cython

real = cython.fused_type(cython.float, cython.double)
code = cython.fused_type(cython.uchar, cython.ushort)
# Rows that pass through all trees before the next ones, so that they stay in a cache.
_ROWS = cython.declare(cython.Py_ssize_t, 256)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _step(
    word: cython.longlong,
    threshold: cython.double,
    x: cython.double,
    sets: cython.const[cython.uint][:, ::1],
) -> cython.Py_ssize_t:
    """Return the child that a value goes to."""
    right: cython.Py_ssize_t = 1 if x > threshold else 0
    category: cython.int
    if x != x:
        right = 1 - (word & 1)
    elif word & 2:
        category = cython.cast(cython.int, x)
        right = 1 - ((sets[cython.cast(cython.Py_ssize_t, threshold), category >> 5] >> (category & 31)) & 1)
    return (word >> 32) + right


def add_scores(
    X: cython.const[real][:, ::1],
    words: cython.const[cython.longlong][::1],
    thresholds: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    sets: cython.const[cython.uint][:, ::1],
    roots: cython.const[cython.int][::1],
    depths: cython.const[cython.int][::1],
    outputs: cython.const[cython.int][::1],
    scores: cython.double[:, ::1],
) -> None:
    """Add to the scores (n, k) of some rows the values of their leaves, tree by tree.

    Parameters
    ----------
    X : (n, d); categories are whole numbers below 256, and NaN is missing
    words, thresholds, values : (nodes,); of a node that asks for categories the threshold is a row of `sets`
    sets : (splits by category, 8): the bits of the categories that go left
    roots, depths, outputs : (trees,): root, most steps to a leaf, and the column of the scores
    """
    n: cython.Py_ssize_t = X.shape[0]
    tile: cython.Py_ssize_t
    last: cython.Py_ssize_t
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    step: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    c: cython.Py_ssize_t
    e: cython.Py_ssize_t
    u: cython.longlong
    v: cython.longlong
    w: cython.longlong
    z: cython.longlong
    with cython.nogil:
        tile = 0
        # Rows outside, trees inside: the rows of a tile stay in the cache while all trees, which are larger, pass by.
        while tile < n:
            last = min(tile + _ROWS, n)
            for t in range(roots.shape[0]):
                i = tile
                # Four rows at a time: their walks do not wait for one another.
                while i + 4 <= last:
                    a = b = c = e = roots[t]
                    # Always the greatest depth: a leaf is its own child, so that no branch depends on where a row has
                    # ended.
                    step = depths[t]
                    while step > 0:
                        step -= 1
                        u = words[a]
                        v = words[b]
                        w = words[c]
                        z = words[e]
                        # Bits 8 to 31 of a word are the column to compare; see the docstring of the module.
                        a = _step(u, thresholds[a], cython.cast(cython.double, X[i, (u >> 8) & 0xFFFFFF]), sets)
                        b = _step(v, thresholds[b], cython.cast(cython.double, X[i + 1, (v >> 8) & 0xFFFFFF]), sets)
                        c = _step(w, thresholds[c], cython.cast(cython.double, X[i + 2, (w >> 8) & 0xFFFFFF]), sets)
                        e = _step(z, thresholds[e], cython.cast(cython.double, X[i + 3, (z >> 8) & 0xFFFFFF]), sets)
                    scores[i, outputs[t]] += values[a]
                    scores[i + 1, outputs[t]] += values[b]
                    scores[i + 2, outputs[t]] += values[c]
                    scores[i + 3, outputs[t]] += values[e]
                    i += 4
                # The rows that are left over, at most three, walk one by one.
                while i < last:
                    a = roots[t]
                    step = depths[t]
                    while step > 0:
                        step -= 1
                        u = words[a]
                        a = _step(u, thresholds[a], cython.cast(cython.double, X[i, (u >> 8) & 0xFFFFFF]), sets)
                    scores[i, outputs[t]] += values[a]
                    i += 1
            tile = last


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _step_bins(
    bins: cython.const[code][:, ::1],
    row: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    features: cython.const[cython.int][::1],
    left: cython.const[cython.int][::1],
    tables: cython.const[cython.uchar][:, ::1],
) -> cython.Py_ssize_t:
    """Return the child that a row goes to; a leaf keeps it."""
    # Reads the table before it knows whether this is a leaf: a wasted load is cheaper than a branch.
    child: cython.Py_ssize_t = left[node] + 1 - tables[node, bins[row, features[node]]]
    return child if left[node] > 0 else node


def add_bin_values(
    bins: cython.const[code][:, ::1],
    rows: cython.const[cython.longlong][::1],
    features: cython.const[cython.int][::1],
    left: cython.const[cython.int][::1],
    tables: cython.const[cython.uchar][:, ::1],
    values: cython.const[cython.double][::1],
    scores: cython.double[:, ::1],
    column: cython.Py_ssize_t,
) -> None:
    """Add to one column of the scores the values of one tree, for rows known by their bins.

    Parameters
    ----------
    bins : (n, d)
    rows : (m,): the rows to add to
    features, left : (nodes,): column asked and left child; the right one is next, and a leaf has the left child 0
    tables : (nodes, bins of the widest column): whether a bin goes left
    values : (nodes,)
    """
    m: cython.Py_ssize_t = rows.shape[0]
    k: cython.Py_ssize_t = 0
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    c: cython.Py_ssize_t
    e: cython.Py_ssize_t
    with cython.nogil:
        # Four rows at a time: their walks do not wait for one another.
        while k + 4 <= m:
            a = b = c = e = 0
            # A leaf returns itself, so rows that have arrived wait until the slowest of the four has.
            while left[a] > 0 or left[b] > 0 or left[c] > 0 or left[e] > 0:
                a = _step_bins(bins, rows[k], a, features, left, tables)
                b = _step_bins(bins, rows[k + 1], b, features, left, tables)
                c = _step_bins(bins, rows[k + 2], c, features, left, tables)
                e = _step_bins(bins, rows[k + 3], e, features, left, tables)
            scores[rows[k], column] += values[a]
            scores[rows[k + 1], column] += values[b]
            scores[rows[k + 2], column] += values[c]
            scores[rows[k + 3], column] += values[e]
            k += 4
        while k < m:
            a = 0
            while left[a] > 0:
                a = _step_bins(bins, rows[k], a, features, left, tables)
            scores[rows[k], column] += values[a]
            k += 1
