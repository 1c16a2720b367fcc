"""What solvers ask of the columns of rows in memory: moments and products."""

import cython

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


def diagonal_moments(
    X: cython.const[real][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    total: cython.double,
    centre: cython.bint,
    mean: cython.double[::1],
    squares: cython.double[::1],
    cross: cython.double[::1],
):
    """Add up each column's sum of squares about its weighted mean, and its products with `y`, which has mean zero.

    Means are written, squares and products added to what is there. Without `centre` the means are zero, and those of y
    need not be. 64 columns at a time stay in the cache between the walk for the means and the one about them.
    An empty `weight` stands for ones; `total` is its sum.
    """
    with cython.nogil:
        # Means first, squares about them second: sums of x^2 less n mean^2 would cancel for columns far from zero.
        for first in range(0, X.shape[1], 64):
            stop = first + 64 if first + 64 < X.shape[1] else X.shape[1]
            for j in range(first, stop):
                mean[j] = 0.0
            # Without `centre` the means stay zero, and squares are about zero.
            if centre and total > 0:
                for i in range(X.shape[0]):
                    heavy = weight[i] if weight.shape[0] > 0 else 1.0
                    for j in range(first, stop):
                        mean[j] += heavy * X[i, j]
                for j in range(first, stop):
                    mean[j] = mean[j] / total
            for i in range(X.shape[0]):
                heavy = weight[i] if weight.shape[0] > 0 else 1.0
                drawn = heavy * y[i]
                for j in range(first, stop):
                    gap = cython.cast(cython.double, X[i, j]) - mean[j]
                    squares[j] += heavy * gap * gap
                    cross[j] += drawn * gap


def column_moments(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    total: cython.double,
    mean: cython.double[::1],
    squares: cython.double[::1],
):
    """Write each column's weighted mean and its sum of squares about it.

    Sums are of differences to the first row of positive weight, so that a constant column has its value for a mean, and
    no squares at all. An empty `weight` stands for ones; `total` is its sum, and zero leaves zeros. NaN and infinity
    show in the mean of their column.
    """
    pivot: cython.Py_ssize_t = 0
    with cython.nogil:
        for j in range(X.shape[1]):
            mean[j] = 0.0
            squares[j] = 0.0
        if total > 0:
            # `total` is positive, so that some row has weight: the loop ends.
            while weight.shape[0] > 0 and weight[pivot] == 0:
                pivot += 1
            for first in range(0, X.shape[1], 64):
                stop = first + 64 if first + 64 < X.shape[1] else X.shape[1]
                for i in range(X.shape[0]):
                    heavy = weight[i] if weight.shape[0] > 0 else 1.0
                    for j in range(first, stop):
                        # Differences to one row of the column: a constant column has sums of exactly zero.
                        gap = cython.cast(cython.double, X[i, j]) - cython.cast(cython.double, X[pivot, j])
                        mean[j] += heavy * gap
                for j in range(first, stop):
                    mean[j] = X[pivot, j] + mean[j] / total
                # A second walk about the mean: two passes lose no digits.
                for i in range(X.shape[0]):
                    heavy = weight[i] if weight.shape[0] > 0 else 1.0
                    for j in range(first, stop):
                        gap = cython.cast(cython.double, X[i, j]) - mean[j]
                        squares[j] += heavy * gap * gap


def column_extent(
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    low: cython.double[::1],
    high: cython.double[::1],
):
    """Lower `low` and raise `high` to the values of each column. NaN, and rows of weight zero, leave them as they are.

    An empty `weight` stands for ones.
    """
    with cython.nogil:
        for i in range(X.shape[0]):
            if weight.shape[0] == 0 or weight[i] > 0:
                for j in range(X.shape[1]):
                    value = X[i, j]
                    # A comparison with NaN is false: NaN is never chosen.
                    low[j] = value if value < low[j] else low[j]
                    high[j] = value if value > high[j] else high[j]


def to_units(
    X: cython.const[real][:, ::1],
    mean: cython.const[cython.double][::1],
    scale: cython.const[cython.double][::1],
    out: real[:, ::1],
):
    """Write (x - mean) / scale, reckoned in double and rounded once; `out` may be X itself."""
    with cython.nogil:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                out[i, j] = (cython.cast(cython.double, X[i, j]) - mean[j]) / scale[j]


def from_units(
    X: cython.const[real][:, ::1],
    mean: cython.const[cython.double][::1],
    scale: cython.const[cython.double][::1],
    out: real[:, ::1],
):
    """Write x scale + mean, reckoned in double and rounded once at the end; `out` may be X itself."""
    with cython.nogil:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                out[i, j] = cython.cast(cython.double, X[i, j]) * scale[j] + mean[j]


def add_products(X: cython.const[real][:, ::1], v: cython.const[cython.double][::1], out: cython.double[::1]):
    """Add X^T v to `out`; eight rows are read at a time, for each walk along `out`."""
    i: cython.Py_ssize_t = 0
    with cython.nogil:
        while i + 8 <= X.shape[0]:
            for j in range(out.shape[0]):
                # A fixed tree of additions: short dependency chains, and the same bits for any width of the registers.
                a = v[i] * X[i, j] + v[i + 1] * X[i + 1, j] + (v[i + 2] * X[i + 2, j] + v[i + 3] * X[i + 3, j])
                b = v[i + 4] * X[i + 4, j] + v[i + 5] * X[i + 5, j] + (v[i + 6] * X[i + 6, j] + v[i + 7] * X[i + 7, j])
                out[j] += a + b
            i += 8
        # The last rows, at most seven.
        while i < X.shape[0]:
            for j in range(out.shape[0]):
                out[j] += v[i] * X[i, j]
            i += 1


def sparse_products(
    data: cython.const[real][::1],
    rows: cython.const[index][::1],
    pointers: cython.const[index][::1],
    v: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    out: cython.double[::1],
):
    """Write x_j . v for the columns from `first` to `stop` of a CSC matrix."""
    with cython.nogil:
        for j in range(first, stop):
            total = 0.0
            for e in range(pointers[j], pointers[j + 1]):
                total += cython.cast(cython.double, data[e]) * v[rows[e]]
            out[j] = total
