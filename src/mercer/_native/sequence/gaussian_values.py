"""Log densities of Gaussian states, and the moments of the rows that each state takes; a lane per state.

Squares are taken about the state's own mean, so that no digit is lost to a common centre far away. With independent
columns, NaN are missing entries, which are left out of densities and moments.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sequence import gaussian_lanes
else:
    from mercer._native.sequence import gaussian_lanes

# Rows whose shares stay in the first cache while one column after the other is summed: 32 KiB with 16 lanes.
TILE = cython.declare(cython.Py_ssize_t, 256)


def score_gaussians(
    X: cython.const[cython.double][:, ::1],
    means: cython.const[cython.double][:, ::1],
    factors: cython.const[cython.double][:, ::1],
    offsets: cython.const[cython.double][:, ::1],
    full: cython.bint,
    scratch: cython.double[:, ::1],
    out: cython.double[:, ::1],
):
    """Write the log density of each row of `X` in each state to `out`, (n, lanes).

    Parameters
    ----------
    means : (d, lanes)
    factors : (d, lanes) or, when `full`, (d (d + 1) / 2, lanes)
        One over the standard deviations, or the rows of lower triangles L with L^T L the inverse covariance.
    offsets : (d + 1, lanes)
        Row 0: the part of the log density that no entry changes. Row j + 1 is added where entry j is missing; when
        `full` no entry may be missing.
    scratch : (d, 8)
    """
    with cython.nogil:
        if full:
            gaussian_lanes.score_triangles(X, means, factors, offsets, scratch, out)
        else:
            gaussian_lanes.score_columns(X, means, factors, offsets, out)


def sum_gaussians(
    X: cython.const[cython.double][:, ::1],
    shares: cython.const[cython.double][:, ::1],
    means: cython.const[cython.double][:, ::1],
    full: cython.bint,
    mass: cython.double[:, ::1],
    first: cython.double[:, ::1],
    squares: cython.double[:, ::1],
    products: cython.double[:, ::1],
):
    """Add the shares of rows, and their first and second moments about `means`, to the sums of each state.

    Parameters
    ----------
    shares : (n, lanes)
    means : (d, lanes)
    mass, first, squares : (d, lanes)
        Over the rows in which an entry is present: the sums of shares, of shares times the entry, and of its squares.
    products : (d (d - 1) / 2, lanes), or without rows unless `full`
        The products of column j with the columns before it; when `full` no entry may be missing.
    """
    start: cython.Py_ssize_t = 0
    with cython.nogil:
        while start < X.shape[0]:
            # A tile of rows and their shares stays in the cache while all columns and pairs of columns read it.
            rows = min(TILE, X.shape[0] - start)
            place = 0
            for j in range(X.shape[1]):
                gaussian_lanes.sum_column(X, start, rows, j, shares, means[j], mass[j], first[j], squares[j])
                if full:
                    # Pairs lie in the order (1, 0), (2, 0), (2, 1)...
                    for i in range(j):
                        gaussian_lanes.sum_pair(X, start, rows, i, j, shares, means, products[place])
                        place += 1
            start += rows
