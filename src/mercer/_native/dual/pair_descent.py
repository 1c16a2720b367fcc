"""Two coefficients at a time: descent on the dual of a support vector machine within a block of rows.

The problem is to minimise, over coefficients b with a fixed sum (or, in two groups, two fixed sums),

    1/2 b' K b + q' b + kink sum |b|,    lower <= b <= upper.

`slope` is K b + q. Raising b_i costs slope_i + kink for b_i >= 0 and slope_i - kink below zero; lowering it gains
slope_i + kink for b_i > 0 and slope_i - kink otherwise. `rise` and `fall` hold these +-kink, or plus and minus infinity
at a bound, so that the largest violation of the optimality conditions is max(slope + fall) - min(slope + rise).

A step raises the i of the least slope + rise and lowers the j that promises the greatest fall of the objective,
gap^2 / (2 (K_ii + K_jj - 2 K_ij)): the second-order choice of Fan, Chen and Lin (2005).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.dual import dual_sweep, pair_steps, pairs
else:
    from mercer._native.dual import dual_sweep, pair_steps, pairs

real = cython.fused_type(cython.float, cython.double)
INFINITY = cython.declare(cython.double, float("inf"))


def mark_moves(
    b: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    kink: cython.double,
    rise: cython.double[::1],
    fall: cython.double[::1],
):
    """Write `rise` and `fall` for all coefficients."""
    with cython.nogil:
        for k in range(b.shape[0]):
            pair_steps.mark(k, b, lower, upper, kink, rise, fall)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def complete(
    K: real[:, ::1],
    left: cython.const[real][:, ::1],
    right: cython.const[real][:, ::1],
    ready: cython.uchar[::1],
    i: cython.Py_ssize_t,
) -> cython.void:
    """Copy to row `i` of `K`, unless it is ready, what it lacks: values within a set, and those mirrored."""
    first: cython.Py_ssize_t = left.shape[0]
    if ready.shape[0] == 0 or ready[i] != 0:
        return
    ready[i] = 1
    # Row i of a kernel matrix is its column i: rows of the second set read their values with the first from there.
    for k in range(first):
        K[i, k] = left[i, k] if i < first else K[k, i]
    if i >= first:
        for k in range(first, K.shape[0]):
            K[i, k] = right[i - first, k - first]


def descend(
    K: real[:, ::1],
    left: cython.const[real][:, ::1],
    right: cython.const[real][:, ::1],
    ready: cython.uchar[::1],
    inner: cython.double[:, ::1],
    rules: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.Py_ssize_t:
    """Take steps until no pair violates optimality by more than the tolerance, or the most steps; return their number.

    Parameters
    ----------
    K : (q, q)
    left, right, ready : (p, p), (q - p, q - p), (q,): values within the first p rows and within the others, which rows
        of `K` take over when they are first looked at, and which have; till then the first p rows hold only their
        values with the others. All empty where `K` is whole.
    inner : (7, q)
        Coefficients, slopes and moves, which are kept up to date, bounds, and the diagonal of K plus the ridge; see
        ``pair_steps``.
    rules : (4,) or more
        Kink, where the second group begins (q if there is one group), tolerance, most steps; see ``pair_steps``.
    best : (2,), written: the promise of the best pair when the descent ended, and the largest violation
    """
    steps: cython.Py_ssize_t = 0
    with cython.nogil:
        steps = _descend(
            K,
            left,
            right,
            ready,
            inner,
            inner[pair_steps.SLOPE],
            inner[pair_steps.RISE],
            inner[pair_steps.FALL],
            inner[pair_steps.DIAGONAL],
            rules,
            best,
        )
    return steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _descend(
    K: real[:, ::1],
    left: cython.const[real][:, ::1],
    right: cython.const[real][:, ::1],
    ready: cython.uchar[::1],
    inner: cython.double[:, ::1],
    slope: cython.double[::1],
    rise: cython.double[::1],
    fall: cython.double[::1],
    diagonal: cython.const[cython.double][::1],
    rules: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.Py_ssize_t:
    """Do the steps of `descend`, with the rows of `inner` that every step reads."""
    n: cython.Py_ssize_t = inner.shape[1]
    split: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, rules[pair_steps.SPLIT])
    steps: cython.Py_ssize_t = 0
    # A move of size zero changes no slope; the sweep finds the first coefficient to raise.
    complete(K, left, right, ready, 0)
    lowest = pairs.update(K[0], K[0], 0.0, slope, rise, 0, split)
    other = pairs.update(K[0], K[0], 0.0, slope, rise, split, n)
    while True:
        best[0] = 0.0
        best[1] = -INFINITY
        j = -1
        i = lowest
        if i >= 0:
            gap = slope[i] + rise[i]
            complete(K, left, right, ready, i)
            j = pairs.partner(K[i], diagonal, slope, fall, diagonal[i], gap, pair_steps.FLAT, 0, split, best)
        if other >= 0:
            gap = slope[other] + rise[other]
            complete(K, left, right, ready, other)
            partner = pairs.partner(
                K[other], diagonal, slope, fall, diagonal[other], gap, pair_steps.FLAT, split, n, best
            )
            # `partner` answers only if it promises more than best[0], which the first group has raised.
            if partner >= 0:
                i = other
                j = partner
        # best[1] is the largest violation over both groups: the optimality condition up to the tolerance.
        if j < 0 or best[1] <= rules[pair_steps.TOLERANCE] or steps >= rules[pair_steps.MOST_STEPS]:
            break
        complete(K, left, right, ready, j)
        gap = (slope[j] + fall[j]) - (slope[i] + rise[i])
        size = _move(i, j, gap, K[i, j], inner, rules[pair_steps.KINK])
        # No room is left but for rounding: the next turn would choose the same pair for ever.
        if size <= 0.0:
            break
        # The diagonal may hold more than K does: the ridge of a row.
        slope[i] += size * (diagonal[i] - K[i, i])
        slope[j] -= size * (diagonal[j] - K[j, j])
        # Updates slopes and finds the next coefficient in one pass over memory.
        lowest = pairs.update(K[i], K[j], size, slope, rise, 0, split)
        other = pairs.update(K[i], K[j], size, slope, rise, split, n)
        steps += 1
    return steps


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _move(
    i: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    gap: cython.double,
    value: cython.double,
    inner: cython.double[:, ::1],
    kink: cython.double,
) -> cython.double:
    """Raise coefficient `i` and lower `j`, whose kernel value is `value`; mark how they may move; return the size."""
    b: cython.Py_ssize_t = pair_steps.COEFFICIENT
    lower: cython.Py_ssize_t = pair_steps.LOWER
    upper: cython.Py_ssize_t = pair_steps.UPPER
    # Along e_i - e_j the objective has the curvature K_ii + K_jj - 2 K_ij.
    curvature: cython.double = inner[pair_steps.DIAGONAL, i] + inner[pair_steps.DIAGONAL, j] - 2.0 * value
    size: cython.double = pair_steps.move(i, j, gap, curvature, inner[lower], inner[upper], kink, inner[b])
    if size > 0.0:
        # A coefficient that has reached a bound cannot move further that way, so its marks change.
        pair_steps.mark(i, inner[b], inner[lower], inner[upper], kink, inner[pair_steps.RISE], inner[pair_steps.FALL])
        pair_steps.mark(j, inner[b], inner[lower], inner[upper], kink, inner[pair_steps.RISE], inner[pair_steps.FALL])
    return size


def add_rows(
    table: cython.const[real][:, ::1],
    slots: cython.const[cython.Py_ssize_t][::1],
    change: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    slope: cython.double[::1],
):
    """Add the rows of `table` in `slots`, each times its change, to `slope`, in columns from `first` to `last`."""
    with cython.nogil:
        dual_sweep.add(table, slots, change, 0, slots.shape[0], first, last, slope)


def find_least(
    slope: cython.const[cython.double][::1],
    lift: cython.const[cython.double][::1],
    sign: cython.double,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    values: cython.double[::1],
    places: cython.Py_ssize_t[::1],
):
    """Write the least values of sign (slope + lift) from `first` to `last` and their places, in rising order.

    Among equals the lowest places come first. As many as `values` (k,) holds, at most last - first.
    """
    count: cython.Py_ssize_t = values.shape[0]
    with cython.nogil:
        for k in range(count):
            values[k] = sign * (slope[first + k] + lift[first + k])
            places[k] = first + k
        dual_sweep.heap(values, places, count)
        for k in range(first + count, last if count > 0 else first):
            value = sign * (slope[k] + lift[k])
            # values[0], the root of the heap, is the largest kept: most values end here after one comparison. Places
            # rise, so that a later equal never replaces an earlier one.
            if value < values[0]:
                dual_sweep.sink(values, places, 0, count, value, k)
        dual_sweep.sort_heap(values, places, count)


def measure(
    b: cython.const[cython.double][::1],
    slope: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    kink: cython.double,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    found: cython.double[::1],
):
    """Write, of the coefficients from `first` to `last`, the most that lowering one gains, the least that raising one
    costs, the sum of that over those which may do both at one price, and how many these are, to `found` (4,).
    """
    lanes = cython.declare(cython.double[8])
    count: cython.Py_ssize_t = 0
    most: cython.double = -INFINITY
    least: cython.double = INFINITY
    with cython.nogil:
        for k in range(8):
            lanes[k] = 0.0
        for k in range(first, last):
            gain = slope[k] + (kink if b[k] > 0.0 else -kink) if b[k] > lower[k] else -INFINITY
            cost = slope[k] + (kink if b[k] >= 0.0 else -kink) if b[k] < upper[k] else INFINITY
            most = gain if gain > most else most
            least = cost if cost < least else least
            if gain == cost:
                lanes[(k - first) % 8] += cost
                count += 1
        found[0], found[1], found[2], found[3] = most, least, add_lanes(lanes), count


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def add_lanes(lanes: cython.p_double) -> cython.double:
    """Return the sum of eight lanes, in pairs."""
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))


def measure_gap(
    b: cython.const[cython.double][::1],
    slope: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    kink: cython.double,
    offset: cython.double,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> float:
    """Return the sum of b (slope - c) + kink |b| less the least of v (slope - c) + kink |v| over each row's box."""
    lanes = cython.declare(cython.double[8])
    with cython.nogil:
        for k in range(8):
            lanes[k] = 0.0
        for k in range(first, last):
            excess = cython.cast(cython.double, slope[k]) - offset
            # The least over a box lies at one of its ends or, within it, at the kink, where the value is zero.
            low = cython.cast(cython.double, lower[k]) * (excess + (kink if lower[k] > 0.0 else -kink))
            high = cython.cast(cython.double, upper[k]) * (excess + (kink if upper[k] > 0.0 else -kink))
            ends = high if high < low else low
            within = ends if ends < 0.0 or lower[k] >= 0.0 or upper[k] <= 0.0 else 0.0
            # Infinite bounds times zero: rows whose slope vanishes have the least value zero.
            least = within if low == low and high == high else 0.0
            lanes[(k - first) % 8] += (b[k] * excess + kink * abs(b[k])) - least
    return add_lanes(lanes)


def measure_value(
    b: cython.const[cython.double][::1],
    slope: cython.const[cython.double][::1],
    linear: cython.const[cython.double][::1],
    kink: cython.double,
) -> float:
    """Return the value of the program: the sum of b (slope + linear) / 2 + kink |b|."""
    lanes = cython.declare(cython.double[8])
    with cython.nogil:
        for k in range(8):
            lanes[k] = 0.0
        for k in range(b.shape[0]):
            lanes[k % 8] += 0.5 * b[k] * (slope[k] + linear[k]) + kink * abs(b[k])
    return add_lanes(lanes)


def mirror(
    K: real[:, ::1],
    top: cython.Py_ssize_t,
    bottom: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
):
    """Copy the block of `K` in rows from `top` to `bottom` and columns from `left` to `right` to its mirror image."""
    with cython.nogil:
        dual_sweep.mirror(K, top, bottom, left, right)
