"""Coordinate descent for many small quadratic programs over nonnegative vectors that share one matrix.

Row w of W minimises w^T G w / 2 - p . w over w >= 0, with p the same row of P. Nonnegative matrix factorisation is a
sequence of such problems: G = H H^T and P = X H^T for the rows of W, and the same with X transposed for the columns of
H. Sixteen rows are descended together, one in each lane of the vector registers: every sum runs along one row in a
fixed order, so that the bits depend neither on the CPU nor on the number of threads.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from mercer._native.shared import blas, inline

# Rows in a tile: two vectors of eight float64.
_LANES = cython.declare(cython.Py_ssize_t, 16)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_slopes(
    G: cython.const[cython.double][:, ::1],
    p: cython.double[:, ::1],
    w: cython.double[:, ::1],
    lanes: cython.double[:, ::1],
    t: cython.Py_ssize_t,
) -> cython.void:
    """Write minus the gradient in coordinate t, p - G w, to row 0 of `lanes`."""
    k: cython.Py_ssize_t = G.shape[0]
    r: cython.Py_ssize_t = 0
    # An array of this function, which nothing else can refer to: the compiler may keep it in registers.
    sums = cython.declare(cython.double[16])
    for lane in range(_LANES):
        sums[lane] = p[t, lane]
    # Four products for each subtraction.
    while r + 4 <= k:
        first, second, third, fourth = G[t, r], G[t, r + 1], G[t, r + 2], G[t, r + 3]
        for lane in range(_LANES):
            sums[lane] -= (first * w[r, lane] + second * w[r + 1, lane]) + (
                third * w[r + 2, lane] + fourth * w[r + 3, lane]
            )
        r += 4
    while r < k:
        first = G[t, r]
        for lane in range(_LANES):
            sums[lane] -= first * w[r, lane]
        r += 1
    for lane in range(_LANES):
        lanes[0, lane] = sums[lane]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_gradient(
    G: cython.const[cython.double][:, ::1],
    p: cython.double[:, ::1],
    w: cython.double[:, ::1],
    lanes: cython.double[:, ::1],
) -> cython.double:
    """Return the sum of squares of the projected gradient of a tile: entries that point below zero are left out."""
    t: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    slope: cython.double
    rising: cython.double
    total: cython.double = 0.0
    sums = cython.declare(cython.double[16])
    for lane in range(_LANES):
        sums[lane] = 0.0
    for t in range(G.shape[0]):
        find_slopes(G, p, w, lanes, t)
        for lane in range(_LANES):
            # `slope` is minus the gradient: at w = 0 only a positive one can lower the objective.
            slope = lanes[0, lane]
            rising = slope if slope > 0 else 0.0
            slope = slope if w[t, lane] > 0 else rising
            sums[lane] += slope * slope
    for lane in range(_LANES):
        total += sums[lane]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sweep_tile(
    G: cython.const[cython.double][:, ::1],
    p: cython.double[:, ::1],
    w: cython.double[:, ::1],
    lanes: cython.double[:, ::1],
) -> cython.void:
    """Minimise over each coordinate in turn, in all lanes that still move.

    Of `lanes`, row 0 is scratch, row 1 is 1 for a lane that moves and 0 for one that has ended, and row 2 receives the
    sum of G_tt times the squared moves.
    """
    k: cython.Py_ssize_t = G.shape[0]
    t: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    curvature: cython.double
    entry: cython.double
    target: cython.double
    # Arrays of this function, which nothing else can refer to: the loops over them become vectors.
    sums = cython.declare(cython.double[16])
    moving = cython.declare(cython.double[16])
    targets = cython.declare(cython.double[16])
    for lane in range(_LANES):
        sums[lane] = 0.0
        moving[lane] = lanes[1, lane]
    for t in range(k):
        # A component without curvature does not change the product: it stays.
        curvature = G[t, t]
        if curvature <= 0:
            continue
        find_slopes(G, p, w, lanes, t)
        # The minimum over one coordinate is w_t + slope / G_tt, cut at zero.
        entry = 1.0 / curvature
        for lane in range(_LANES):
            target = w[t, lane] + lanes[0, lane] * entry
            target = target if target > 0 else 0.0
            # Lanes that have ended compute along and keep their value: no branch within the vector.
            target = target if moving[lane] > 0 else w[t, lane]
            # G_tt (move)^2 is at most twice the fall of the objective by this coordinate.
            sums[lane] += curvature * (target - w[t, lane]) * (target - w[t, lane])
            targets[lane] = target
        for lane in range(_LANES):
            w[t, lane] = targets[lane]
    for lane in range(_LANES):
        lanes[2, lane] = sums[lane]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def descend_tile(
    G: cython.const[cython.double][:, ::1],
    p: cython.double[:, ::1],
    w: cython.double[:, ::1],
    lanes: cython.double[:, ::1],
    sweeps: cython.Py_ssize_t,
    share: cython.double,
) -> cython.void:
    """Sweep until every lane has ended; row 3 of `lanes` holds the squared moves of the first sweep."""
    lane: cython.Py_ssize_t
    moving: cython.double
    for lane in range(_LANES):
        lanes[1, lane] = 1.0
    for turn in range(sweeps):
        # A lane ends when a sweep gains no more than `share` of what the first gained.
        sweep_tile(G, p, w, lanes)
        moving = 0.0
        for lane in range(_LANES):
            lanes[3, lane] = lanes[2, lane] if turn == 0 else lanes[3, lane]
            # Rows end one by one, so that a row does not depend on its neighbours in the tile.
            lanes[1, lane] = lanes[1, lane] if lanes[2, lane] > share * lanes[3, lane] else 0.0
            moving += lanes[1, lane]
        if moving == 0:
            break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def descend_tiles(
    P: cython.const[cython.double][:, ::1],
    G: cython.const[cython.double][:, ::1],
    l1: cython.double,
    W: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    sweeps: cython.Py_ssize_t,
    share: cython.double,
) -> cython.double:
    """Descend in every row of `W`, sixteen at a time; see :func:`descend_rows`."""
    n: cython.Py_ssize_t = W.shape[0]
    k: cython.Py_ssize_t = W.shape[1]
    start: cython.Py_ssize_t = 0
    gradient: cython.double = 0.0
    # Scratch holds the tile transposed, coordinate by coordinate, so that the sixteen rows lie side by side.
    w: cython.double[:, ::1] = scratch[:k]
    p: cython.double[:, ::1] = scratch[k : 2 * k]
    lanes: cython.double[:, ::1] = scratch[2 * k :]
    while start < n:
        rows = n - start if n - start < _LANES else _LANES
        for t in range(k):
            for lane in range(_LANES):
                w[t, lane] = W[start + lane, t] if lane < rows else 0.0
                # A lane without a row has its minimum at zero, where it is, and never moves.
                p[t, lane] = P[start + lane, t] - l1 if lane < rows else 0.0
        gradient += sum_gradient(G, p, w, lanes)
        descend_tile(G, p, w, lanes, sweeps, share)
        for lane in range(rows):
            for t in range(k):
                W[start + lane, t] = w[t, lane]
        start += _LANES
    return gradient


def descend_rows(
    P: cython.const[cython.double][:, ::1],
    G: cython.const[cython.double][:, ::1],
    l1: cython.double,
    W: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    sweeps: cython.Py_ssize_t,
    share: cython.double,
) -> cython.double:
    """Descend in every row of `W`, which is overwritten, for w^T G w / 2 - (p - l1) . w over w >= 0.

    A row ends after `sweeps` rounds, or when the squared moves of a round are no more than `share` of those of the
    first. `scratch` has 2 k + 4 rows of 16. Returns the sum of squares of the projected gradient before any sweep.
    """
    with cython.nogil:
        gradient = descend_tiles(P, G, l1, W, scratch, sweeps, share)
    return gradient


def descend_and_multiply(
    X: cython.const[cython.double][:, ::1],
    T: cython.const[cython.double][:, ::1],
    G: cython.const[cython.double][:, ::1],
    l1: cython.double,
    W: cython.double[:, ::1],
    products: cython.double[:, ::1],
    scratch: cython.double[:, ::1],
    sweeps: cython.Py_ssize_t,
    share: cython.double,
    images: cython.double[:, ::1],
    sums: cython.double[::1],
) -> None:
    """Descend in the rows of `W` for P = X T, and add X^T W to `images`, a tile of rows after the other.

    Both products of a tile read it while it is in the cache, and X comes from memory once.

    Parameters
    ----------
    X, T : (n, d), (d, k)
    G, l1, W, scratch, sweeps, share : as for :func:`descend_rows`
    products : (t, k): scratch for the products of a tile of t rows
    images : (d, k)
    sums : (2,): the squares of the projected gradient before any sweep and those of P are added to it
    """
    start: cython.Py_ssize_t = 0
    with cython.nogil:
        while start < X.shape[0]:
            stop = min(start + products.shape[0], X.shape[0])
            blas.multiply(X[start:stop], T, T.shape[1], products)
            for row in range(stop - start):
                sums[1] += inline.dot(products[row], products[row])
            sums[0] += descend_tiles(products[: stop - start], G, l1, W[start:stop], scratch, sweeps, share)
            blas.add_transposed_product(X[start:stop], W[start:stop], images)
            start = stop
