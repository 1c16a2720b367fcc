"""Find the bin of each value."""

import cython

real = cython.fused_type(cython.float, cython.double)
code = cython.fused_type(cython.uchar, cython.ushort)
# Rows whose columns are searched one after the other: their values stay in the first-level cache.
_TILE = cython.declare(cython.Py_ssize_t, 128)


def assign_bins(
    X: cython.const[real][:, ::1],
    edges: cython.const[cython.double][:, ::1],
    missing: cython.const[cython.longlong][::1],
    out: code[:, ::1],
) -> None:
    """Write the number of edges below each value; NaN gets the bin of missing values.

    Parameters
    ----------
    X : (n, d)
    edges : (d, 2**k - 1), rising; the rest of a row is infinite
    missing : (d,): the bin of NaN
    out : (n, d), written
    """
    n: cython.Py_ssize_t = X.shape[0]
    d: cython.Py_ssize_t = X.shape[1]
    # A row of edges has 2^k - 1 entries, so the binary search begins with a step of 2^(k - 1) and takes k steps.
    widest: cython.Py_ssize_t = (edges.shape[1] + 1) // 2
    with cython.nogil:
        first = 0
        while first < n:
            last = min(first + _TILE, n)
            # Column by column within a tile: the edges of one column stay in the cache for all rows of the tile.
            for j in range(d):
                for i in range(first, last):
                    x = cython.cast(cython.double, X[i, j])
                    place = 0
                    step = widest
                    # The same number of steps for every value: no branch depends on it.
                    while step > 0:
                        place += step if edges[j, place + step - 1] < x else 0
                        step //= 2
                    # NaN compares false with every edge, which would give it bin 0.
                    if x != x:
                        place = missing[j]
                    out[i, j] = place
            first = last
