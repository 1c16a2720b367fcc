"""What solvers ask of the columns of rows in memory: moments, products, and coordinate descent along them."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

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
    first: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    heavy: cython.double
    drawn: cython.double
    gap: cython.double
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
    first: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    pivot: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    heavy: cython.double
    gap: cython.double
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


def to_units(
    X: cython.const[real][:, ::1],
    mean: cython.const[cython.double][::1],
    scale: cython.const[cython.double][::1],
    out: real[:, ::1],
):
    """Write (x - mean) / scale, reckoned in double and rounded once; `out` may be X itself."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
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
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                out[i, j] = cython.cast(cython.double, X[i, j]) * scale[j] + mean[j]


def add_products(X: cython.const[real][:, ::1], v: cython.const[cython.double][::1], out: cython.double[::1]):
    """Add X^T v to `out`; eight rows are read at a time, for each walk along `out`."""
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    a: cython.double
    b: cython.double
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
    e: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.double
    with cython.nogil:
        for j in range(first, stop):
            total = 0.0
            for e in range(pointers[j], pointers[j + 1]):
                total += cython.cast(cython.double, data[e]) * v[rows[e]]
            out[j] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step(
    w: cython.double,
    slope: cython.double,
    square: cython.double,
    l1: cython.double,
    l2: cython.double,
    positive: cython.bint,
) -> cython.double:
    """Return by how much a coordinate moves to its minimum; a column of zeros goes to zero."""
    # x_j . (r + x_j w_j): the slope at w_j = 0. Soft thresholding of it by l1 gives the minimum along the coordinate.
    target: cython.double = slope + square * w
    if square > 0 and target > l1:
        return (target - l1) / (square + l2) - w
    if square > 0 and target < -l1 and not positive:
        return (target + l1) / (square + l2) - w
    return -w


def column_descent(
    C: cython.const[cython.double][:, ::1],
    squares: cython.const[cython.double][::1],
    l1: cython.double,
    l2: cython.double,
    positive: cython.bint,
    order: cython.const[cython.Py_ssize_t][::1],
    w: cython.double[::1],
    r: cython.double[::1],
) -> cython.double:
    """Visit the coordinates of `order` once: the rows of C are the columns x_j of X, `squares` their x_j . x_j.

    r = y - X w is kept true. Returns the largest move.
    """
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    change: cython.double
    moved: cython.double = 0.0
    with cython.nogil:
        for at in range(order.shape[0]):
            j = order[at]
            # r is true at every visit, so that each coordinate moves to its exact minimum: the objective never rises.
            change = step(w[j], inline.dot(C[j], r), squares[j], l1, l2, positive)
            if change != 0.0:
                w[j] += change
                # One coordinate changes the residual along its column.
                for i in range(r.shape[0]):
                    r[i] -= change * C[j, i]
                change = change if change > 0 else -change
                moved = change if change > moved else moved
    return moved


def sparse_descent(
    data: cython.const[real][::1],
    rows: cython.const[index][::1],
    pointers: cython.const[index][::1],
    mean: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    total: cython.double,
    squares: cython.const[cython.double][::1],
    price: object,
    order: cython.const[cython.Py_ssize_t][::1],
    w: cython.double[::1],
    u: cython.double[::1],
    shift: cython.double[::1],
) -> cython.double:
    """Visit the coordinates of `order` once, on the CSC columns of X from which `mean` is to be taken off.

    The residual y - (X - 1 mean^T) w is u + shift[0], so that a move touches stored values alone; its weighted sum is
    zero where the means are not, which takes them out of the slope. `squares` are of the centred columns, `total` is
    the sum of the weights, `price` is (l1, l2, positive). Returns the largest move.
    """
    l1: cython.double = price[0]
    l2: cython.double = price[1]
    positive: cython.bint = price[2]
    at: cython.Py_ssize_t
    e: cython.Py_ssize_t
    j: cython.Py_ssize_t
    change: cython.double
    slope: cython.double
    moved: cython.double = 0.0
    with cython.nogil:
        for at in range(order.shape[0]):
            j = order[at]
            # sum_i s_i (x_ij - mean_j) (u_i + shift): the weighted residuals sum to zero, which removes the term of
            # mean_j, and sum_i s_i x_ij is total mean_j.
            slope = shift[0] * total * mean[j]
            for e in range(pointers[j], pointers[j + 1]):
                slope += data[e] * weight[rows[e]] * u[rows[e]]
            change = step(w[j], slope, squares[j], l1, l2, positive)
            if change != 0.0:
                w[j] += change
                shift[0] += change * mean[j]
                for e in range(pointers[j], pointers[j + 1]):
                    u[rows[e]] -= change * data[e]
                change = change if change > 0 else -change
                moved = change if change > moved else moved
    return moved
