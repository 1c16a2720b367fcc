"""Sum the path lengths of rows over complete trees of one depth.

A complete tree needs no links: the children of node i are 2 i + 1 and 2 i + 2, and every row takes the same number of
steps. So there is no branch to mispredict, and the processor works on several rows at a time.
"""

import cython

real = cython.fused_type(cython.float, cython.double)
# Rows that pass through a tree before the next tree is read: their values stay in the cache.
TOGETHER = cython.declare(cython.Py_ssize_t, 256)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk(
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    features: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    lengths: cython.const[cython.double][::1],
    sums: cython.double[::1],
) -> cython.void:
    """Add the path lengths of the rows from `first` to `stop` in one tree; four rows go down together."""
    i: cython.Py_ssize_t = first
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    c: cython.Py_ssize_t
    d: cython.Py_ssize_t
    inner: cython.Py_ssize_t = thresholds.shape[0]
    while i + 4 <= stop:
        a = 0
        b = 0
        c = 0
        d = 0
        # Inner nodes come first: the last level begins at `inner`.
        while a < inner:
            # A comparison is 0 or 1, so the step to the left or right child needs no branch.
            a = 2 * a + 1 + (X[i, features[a]] > thresholds[a])
            b = 2 * b + 1 + (X[i + 1, features[b]] > thresholds[b])
            c = 2 * c + 1 + (X[i + 2, features[c]] > thresholds[c])
            d = 2 * d + 1 + (X[i + 3, features[d]] > thresholds[d])
        sums[i] += lengths[a - inner]
        sums[i + 1] += lengths[b - inner]
        sums[i + 2] += lengths[c - inner]
        sums[i + 3] += lengths[d - inner]
        i += 4
    # The rows that are left over, at most three.
    while i < stop:
        a = 0
        while a < inner:
            a = 2 * a + 1 + (X[i, features[a]] > thresholds[a])
        sums[i] += lengths[a - inner]
        i += 1


def add_path_lengths(
    X: cython.const[real][:, ::1],
    features: cython.const[cython.int][:, ::1],
    thresholds: cython.const[cython.double][:, ::1],
    lengths: cython.const[cython.double][:, ::1],
    sums: cython.double[::1],
):
    """Add the path lengths of each row in all trees to `sums` (n,), in the order of the trees.

    `features` and `thresholds` (trees, 2^depth - 1) are those of inner nodes and `lengths` (trees, 2^depth) the path
    lengths of leaves. Rows hold no missing values.
    """
    t: cython.Py_ssize_t
    first: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    n: cython.Py_ssize_t = sums.shape[0]
    with cython.nogil:
        while first < n:
            stop = first + TOGETHER if first + TOGETHER < n else n
            for t in range(features.shape[0]):
                walk(X, first, stop, features[t], thresholds[t], lengths[t], sums)
            first = stop
