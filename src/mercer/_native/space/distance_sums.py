"""Sums of Euclidean distances from rows to groups of other rows, for silhouettes."""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from math import sqrt

    from mercer._native.shared import blas, inline

# A squared distance below this fraction of the norms has lost half its digits to cancellation: it is computed again,
# from differences.
DOUBT = cython.declare(cython.double, 1e-9)


def add_distances(
    X: cython.const[cython.double][:, ::1],
    norms: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    starts: cython.const[cython.longlong][::1],
    rows: cython.const[cython.double][:, ::1],
    row_norms: cython.const[cython.double][::1],
    products: cython.double[:, ::1],
    sums: cython.double[:, ::1],
):
    """Add to ``sums[i, c]`` the distances from ``rows[i]`` to the rows of group c among ``X[first:last]``.

    Parameters
    ----------
    X, norms : (n, d), (n,): rows in the order of their groups, and their squared norms
    first, last : the range of rows of `X` to use
    starts : (c + 1,): where each group begins in `X`, and n
    rows, row_norms : (m, d), (m,)
    products : (m, t) scratch
    sums : (m, c), added to
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    group: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t = first
    doubtful: cython.int
    square: cython.double
    with cython.nogil:
        while start < last:
            while starts[group + 1] <= start:
                group += 1
            # A tile ends where its group ends, so that all its distances go to one sum.
            stop = min(start + products.shape[1], last)
            stop = min(stop, starts[group + 1])
            count = stop - start
            blas.multiply_transposed(rows, X[start:stop], products)
            for i in range(rows.shape[0]):
                # |x - y|^2 = |x|^2 + |y|^2 - 2 x . y, in vector code; pairs that cancel are counted here and corrected
                # below.
                doubtful = 0
                for j in range(count):
                    square = row_norms[i] + norms[start + j] - 2.0 * products[i, j]
                    doubtful += square <= DOUBT * (row_norms[i] + norms[start + j])
                    products[i, j] = sqrt(square if square > 0.0 else 0.0)
                if doubtful > 0:
                    for j in range(count):
                        square = row_norms[i] + norms[start + j]
                        # Twice the threshold, since `products` holds a rounded root.
                        if products[i, j] * products[i, j] <= 2.0 * DOUBT * square:
                            products[i, j] = sqrt(inline.distance_squared(rows[i], X[start + j]))
                sums[i, group] += inline.sum(products[i, :count])
            start = stop
