"""Coordinate descent for least squares with an l1 and an l2 penalty, on a Gram matrix or on columns, and its gap.

Minimised is |y - X w|^2 / 2 + l1 sum |w_j| + l2 sum w_j^2 / 2, over w >= 0 where `positive`. Rows carry
the roots of their weights, and columns and targets have their means taken off. q is X^T r with r = y - X w.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shrink(
    slope: cython.double, square: cython.double, l1: cython.double, l2: cython.double, positive: cython.bint
) -> cython.double:
    """Return argmin over u of square u^2 / 2 - slope u + l1 |u| + l2 u^2 / 2; zero for a column of zeros."""
    if square <= 0:
        return 0.0
    if slope > l1:
        return (slope - l1) / (square + l2)
    if slope < -l1 and not positive:
        return (slope + l1) / (square + l2)
    return 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gap_of(
    w: cython.const[cython.double][::1],
    q: cython.const[cython.double][::1],
    squares: cython.double,
    l1: cython.double,
    l2: cython.double,
    positive: cython.bint,
    beyond: cython.double,
    excess: cython.double,
) -> cython.double:
    """Return the duality gap; see ``duality_gap``."""
    one_norm: cython.double = 0.0
    two_norm: cython.double = 0.0
    product: cython.double = 0.0
    top: cython.double = beyond
    smooth: cython.double = 0.0
    scale: cython.double = 1.0
    # An l2 penalty is a lasso whose X has the rows sqrt(l2) I added (Zou and Hastie, 2005, lemma 1): `slope` is that
    # design's x_j . r.
    for j in range(w.shape[0]):
        slope = q[j] - l2 * w[j]
        size = w[j] if w[j] > 0 else -w[j]
        one_norm += size
        two_norm += w[j] * w[j]
        product += w[j] * slope
        slope = slope if slope > 0 or positive else -slope
        top = slope if slope > top else top
        over = (q[j] if q[j] > 0 or positive else -q[j]) - l1
        over = over if over > 0 else 0.0
        if l2 > 0:
            # A second feasible point, the residual itself: each term is a penalty plus its conjugate max(|q| - l1, 0)^2
            # / (2 l2) less their product, hence not negative (Fenchel and Young).
            smooth += l1 * size + 0.5 * l2 * w[j] * w[j] - w[j] * q[j] + over * over / (2.0 * l2)
    squares += l2 * two_norm
    # The dual is greatest along r at scale (r.y) / |r|^2, as far as the constraints |X^T theta| <= l1 let it go.
    if squares > 0:
        scale = (squares + product) / squares
        scale = scale if scale > 0 else 0.0
    if top > 0 and scale * top > l1:
        scale = l1 / top
    # P - D at theta = scale r, with y = r + X w put in: a square and the slack of the l1 constraints.
    gap = 0.5 * squares * (1.0 - scale) * (1.0 - scale) + l1 * one_norm - scale * product
    if l2 > 0:
        smooth += excess / (2.0 * l2)
        gap = smooth if smooth < gap else gap
    return gap if gap > 0 else 0.0


def duality_gap(
    w: cython.const[cython.double][::1],
    q: cython.const[cython.double][::1],
    squares: cython.double,
    l1: cython.double,
    l2: cython.double,
    positive: cython.bint,
    beyond: cython.double,
    excess: cython.double,
) -> cython.double:
    """Return the objective at w minus the dual at a feasible point made of the residual.

    `squares` is |r|^2. Columns of zero weight that `w` and `q` leave out are summed up in `beyond`, the largest |q_j|
    (q_j where `positive`) among them, and `excess`, the sum of their max(|q_j| - l1, 0)^2. Written as a sum of terms
    that are not negative: nothing cancels near the optimum.
    """
    with cython.nogil:
        gap = gap_of(w, q, squares, l1, l2, positive, beyond, excess)
    return gap


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve_weights(
    W: cython.const[cython.double][:, ::1], weights: cython.double[::1], M: cython.double[:, ::1]
) -> cython.bint:
    """Write the weights of ``find_weights``; false where the differences tell nothing."""
    k: cython.Py_ssize_t = W.shape[0] - 1
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.double
    trace: cython.double = 0.0
    # M z = 1 are the normal equations of the shortest sum_a z_a (W_{a+1} - W_a), up to the sum of z, which is divided
    # out at the end.
    for a in range(k):
        for b in range(a + 1):
            total = 0.0
            for j in range(W.shape[1]):
                total += (W[a + 1, j] - W[a, j]) * (W[b + 1, j] - W[b, j])
            M[a, b] = total
            M[b, a] = total
        trace += M[a, a]
        weights[a] = 1.0
    if not trace > 0 or trace > 1e300:
        return False
    # Elimination without pivots: the matrix is positive definite once a trace is added, 1e-12 as in Bertrand and
    # Massias (2021).
    for a in range(k):
        M[a, a] += 1e-12 * trace
    for a in range(k):
        for b in range(a + 1, k):
            total = M[b, a] / M[a, a]
            for j in range(a, k):
                M[b, j] -= total * M[a, j]
            weights[b] -= total * weights[a]
    total = 0.0
    for b in range(k):
        a = k - 1 - b
        for j in range(a + 1, k):
            weights[a] -= M[a, j] * weights[j]
        weights[a] = weights[a] / M[a, a]
        total += weights[a]
    if not (total > 0 or total < 0):
        return False
    for a in range(k):
        weights[a] = weights[a] / total
    return True


def find_weights(W: cython.const[cython.double][:, ::1], weights: cython.double[::1], M: cython.double[:, ::1]) -> bool:
    """Find the weights, with sum one, by which the steps between successive rows of W add up to the shortest vector.

    Averaged by them, the later rows are Anderson's extrapolation of the sequence. `M` is scratch of the weights' length
    squared. Returns whether there are such weights.
    """
    with cython.nogil:
        found = solve_weights(W, weights, M)
    return bool(found)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_objective(
    linear: cython.const[cython.double][::1],
    w: cython.const[cython.double][::1],
    q: cython.const[cython.double][::1],
    l1: cython.double,
    l2: cython.double,
    positive: cython.bint,
) -> cython.double:
    """Return the objective up to |y|^2 / 2; infinite where `positive` is broken."""
    total: cython.double = 0.0
    for j in range(w.shape[0]):
        if positive and w[j] < 0:
            return 1e308
        # w' G w = w . (linear - q), so that no product with G is needed.
        total += 0.5 * w[j] * (l2 * w[j] - linear[j] - q[j]) + l1 * (w[j] if w[j] > 0 else -w[j])
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def store_iterate(
    w: cython.const[cython.double][::1],
    q: cython.const[cython.double][::1],
    W: cython.double[:, ::1],
    Q: cython.double[:, ::1],
    row: cython.Py_ssize_t,
) -> cython.void:
    """Write a point and its slope to a row of the record."""
    for j in range(w.shape[0]):
        W[row, j] = w[j]
        Q[row, j] = q[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def extrapolate(
    linear: cython.const[cython.double][::1],
    l1: cython.double,
    l2: cython.double,
    positive: cython.bint,
    w: cython.double[::1],
    q: cython.double[::1],
    W: cython.double[:, ::1],
    Q: cython.double[:, ::1],
    weights: cython.double[::1],
    M: cython.double[:, ::1],
) -> cython.void:
    """Move to the extrapolation of the record if it lies lower; q is affine in w, so it mixes alike."""
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    point: cython.double
    slope: cython.double
    if solve_weights(W, weights, M):
        for j in range(w.shape[0]):
            point = 0.0
            slope = 0.0
            for k in range(weights.shape[0]):
                point += weights[k] * W[k + 1, j]
                slope += weights[k] * Q[k + 1, j]
            W[0, j] = point
            Q[0, j] = slope
        # Extrapolation assumes that the signs of w stay; where they do not it may go up, and sweeps never do.
        if find_objective(linear, W[0], Q[0], l1, l2, positive) < find_objective(linear, w, q, l1, l2, positive):
            for j in range(w.shape[0]):
                w[j] = W[0, j]
                q[j] = Q[0, j]


def gram_descent(
    G: cython.const[cython.double][:, ::1],
    linear: cython.const[cython.double][::1],
    squares: cython.double,
    penalty: object,
    order: cython.const[cython.Py_ssize_t][:, ::1],
    goal: cython.double,
    small: cython.double,
    sweeps: cython.Py_ssize_t,
    w: cython.double[::1],
    q: cython.double[::1],
    scratch: tuple,
) -> cython.Py_ssize_t:
    """Descend on the first m rows and columns of G = X^T X, with linear = X^T y; q = linear - G w is kept true.

    A sweep visits the coordinates of the next row of `order`. Ends after `sweeps` of them, or once no coordinate moved
    by more than `small` times the largest and the duality gap is at most `goal`, or once nothing moves; returns the
    number of sweeps. After every k sweeps the sequence is extrapolated. `squares` is |y|^2, `penalty` is (l1, l2,
    positive), and `scratch` holds W (k + 1, m), Q (k + 1, m), weights (k,) and M (k, k).
    """
    l1: cython.double = penalty[0]
    l2: cython.double = penalty[1]
    positive: cython.bint = penalty[2]
    W: cython.double[:, ::1] = scratch[0]
    Q: cython.double[:, ::1] = scratch[1]
    weights: cython.double[::1] = scratch[2]
    M: cython.double[:, ::1] = scratch[3]
    m: cython.Py_ssize_t = w.shape[0]
    turn: cython.Py_ssize_t = 0
    held: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    change: cython.double
    moved: cython.double
    largest: cython.double
    with cython.nogil:
        # The record holds the point before the first of k sweeps and that after each: k steps to mix.
        store_iterate(w, q, W, Q, 0)
        while turn < sweeps:
            moved = 0.0
            largest = 0.0
            for at in range(order.shape[1]):
                j = order[turn % order.shape[0], at]
                # q_j + G_jj w_j is the slope at w_j = 0: that of the residual without column j.
                change = shrink(q[j] + G[j, j] * w[j], G[j, j], l1, l2, positive) - w[j]
                if change != 0.0:
                    w[j] += change
                    for k in range(m):
                        q[k] -= change * G[j, k]
                    change = change if change > 0 else -change
                    moved = change if change > moved else moved
                change = w[j] if w[j] > 0 else -w[j]
                largest = change if change > largest else largest
            turn += 1
            if moved <= small * largest:
                # |y - X w|^2 = |y|^2 - w . (linear + q): m operations, where the residual itself would take n m.
                rest = squares
                for k in range(m):
                    rest -= w[k] * (linear[k] + q[k])
                rest = gap_of(w, q, rest if rest > 0 else 0.0, l1, l2, positive, 0.0, 0.0)
                if rest <= goal or moved == 0.0:
                    break
            held += 1
            store_iterate(w, q, W, Q, held)
            if held == weights.shape[0]:
                extrapolate(linear, l1, l2, positive, w, q, W, Q, weights, M)
                store_iterate(w, q, W, Q, 0)
                held = 0
    return turn


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
    moved: cython.double = 0.0
    with cython.nogil:
        for at in range(order.shape[0]):
            j = order[at]
            # r is true at every visit, so that each coordinate moves to its exact minimum: the objective never rises.
            change = shrink(inline.dot(C[j], r) + squares[j] * w[j], squares[j], l1, l2, positive) - w[j]
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
    penalty: object,
    order: cython.const[cython.Py_ssize_t][::1],
    w: cython.double[::1],
    u: cython.double[::1],
    shift: cython.double[::1],
) -> cython.double:
    """Visit the coordinates of `order` once, on the CSC columns of X from which `mean` is to be taken off.

    The residual y - (X - 1 mean^T) w is u + shift[0], so that a move touches stored values alone; its weighted sum is
    zero where the means are not, which takes them out of the slope. `squares` are of the centred columns, `total` is
    the sum of the weights, `penalty` is (l1, l2, positive). Returns the largest move.
    """
    l1: cython.double = penalty[0]
    l2: cython.double = penalty[1]
    positive: cython.bint = penalty[2]
    moved: cython.double = 0.0
    with cython.nogil:
        for at in range(order.shape[0]):
            j = order[at]
            # sum_i s_i (x_ij - mean_j) (u_i + shift): the weighted residuals sum to zero, which removes the term of
            # mean_j, and sum_i s_i x_ij is total mean_j.
            slope = shift[0] * total * mean[j]
            for e in range(pointers[j], pointers[j + 1]):
                slope += data[e] * weight[rows[e]] * u[rows[e]]
            change = shrink(slope + squares[j] * w[j], squares[j], l1, l2, positive) - w[j]
            if change != 0.0:
                w[j] += change
                shift[0] += change * mean[j]
                for e in range(pointers[j], pointers[j + 1]):
                    u[rows[e]] -= change * data[e]
                change = change if change > 0 else -change
                moved = change if change > moved else moved
    return moved
