"""Coordinate ascent in the dual of an l2-penalised linear model: chunks of a pass over dense or CSR rows.

A row has one dual variable, the slope s of its loss, taken in the row's own direction: with t = 1 or -1 (a label's
sign; one for numbers) the loss is a function of m = t z. With g_i = -c_i t_i s_i and rows less some row r, the score is
z = sum_j g_j ((x_j - r) . (x - r) + k) + b, where k is the square of a constant column. It is made of four parts that
visits keep up to date, v = sum_j g_j x_j, sum_j g_j, v . r and b, so that rows are used as they are:

    z = v . x + (sum_j g_j) lift - v . r + b,        lift = k + r . r - r . x

Maximising in one coordinate is a proximal step of the loss: s becomes the slope at m - c q (s - s_old), where
q = |x - r|^2 + k.

The shape of a loss of lines and parabolas is (tube, width, low, high), see ``_objective/piecewise_losses.py``; its
corners lie `tube` beside the row's centre. Width -1 stands for the logistic loss, log(1 + exp(-m)).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)
# Places in the shape of a loss.
_TUBE = cython.declare(cython.Py_ssize_t, 0)
_WIDTH = cython.declare(cython.Py_ssize_t, 1)
_LOW = cython.declare(cython.Py_ssize_t, 2)
_HIGH = cython.declare(cython.Py_ssize_t, 3)
# Visits: a row is prefetched that many visits ahead, since rows come in random order, which no processor foresees.
_AHEAD = cython.declare(cython.Py_ssize_t, 3)
# The sequence of Newton steps and bisections ends at a step below this, or after this number of steps.
_NEWTON_STEP = cython.declare(cython.double, 1e-13)
_NEWTON_TURNS = cython.declare(cython.int, 100)


@cython.cclass
class Terms:
    """What a dual coordinate depends on besides its row: t, the centre of the loss, c, q and the lift of each row (n,).

    `shape` (4,) is that of the loss, `highest` is k + r . r.
    """

    sign: cython.const[cython.double][::1]
    centre: cython.const[cython.double][::1]
    factor: cython.const[cython.double][::1]
    square: cython.const[cython.double][::1]
    lift: cython.const[cython.double][::1]
    shape: cython.const[cython.double][::1]
    highest: cython.double

    def __init__(self, sign, centre, factor, square, lift, shape, highest):
        self.sign, self.centre, self.factor, self.square, self.lift = sign, centre, factor, square, lift
        self.shape, self.highest = shape, highest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve_logistic(margin: cython.double, square: cython.double) -> cython.double:
    """Return the root t of t + margin + square / (1 + exp(-t)): Newton, or bisection where that gains more."""
    # The logistic function lies between 0 and 1, which brackets the root.
    low: cython.double = -margin - square
    high: cython.double = -margin
    t: cython.double = 0.5 * (low + high)
    last: cython.double = square
    p: cython.double
    value: cython.double
    turn: cython.int = 0
    while turn < _NEWTON_TURNS and (last > _NEWTON_STEP or last < -_NEWTON_STEP):
        turn += 1
        p = inline.expit(t)
        value = t + margin + square * p
        slope = 1.0 + square * p * (1.0 - p)
        if value > 0:
            high = t
        else:
            low = t
        # Far from zero the slope is 1, and Newton's method jumps between the ends of the bracket: bisect.
        if 2.0 * (value if value > 0 else -value) > (last if last > 0 else -last) * slope:
            last = 0.5 * (high - low) if value < 0 else 0.5 * (low - high)
            t = 0.5 * (low + high)
        else:
            last = -value / slope
            t += last
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_to(
    m: cython.double,
    centre: cython.double,
    step: cython.double,
    shape: cython.const[cython.double][::1],
    slope: cython.double,
) -> cython.double:
    """Return the slope that maximises the dual in one coordinate: the proximal step of the loss from m + step slope."""
    far: cython.double = m + step * slope
    width: cython.double = shape[_WIDTH] + step
    if shape[_WIDTH] < 0:
        return -inline.expit(solve_logistic(far, step))
    # A row of zeros has step zero: the quotient only needs the right sign, since it is clipped to the limit.
    width = width if width > 1e-300 else 1e-300
    far -= centre
    # Outside of the tube the loss is a parabola of curvature 1 / width and then a line: the proximal point lies on the
    # parabola unless its slope exceeds that of the line.
    if far + shape[_TUBE] < 0:
        best = (far + shape[_TUBE]) / width
        return best if best > shape[_LOW] else shape[_LOW]
    if far - shape[_TUBE] > 0 and shape[_HIGH] > 0:
        best = (far - shape[_TUBE]) / width
        return best if best < shape[_HIGH] else shape[_HIGH]
    return 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_slack(
    m: cython.double,
    centre: cython.double,
    shape: cython.const[cython.double][::1],
    slope: cython.double,
) -> cython.double:
    """Return the distance of m to the boundary of the margins at which `slope` is optimal; negative outside of them."""
    below: cython.double = m - centre + shape[_TUBE]
    above: cython.double = m - centre - shape[_TUBE]
    # The slope is optimal at margins between two corners (zero), beyond one corner (a limit), or at one margin only (a
    # parabola).
    if slope == 0:
        return below if shape[_HIGH] == 0 or below < -above else -above
    if slope <= shape[_LOW]:
        return shape[_WIDTH] * slope - below
    if slope >= shape[_HIGH] and slope > 0:
        return above - shape[_WIDTH] * slope
    gap = (below if slope < 0 else above) - shape[_WIDTH] * slope
    return gap if gap < 0 else -gap


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def multiply_row(
    data: cython.const[real][::1], first: cython.Py_ssize_t, d: cython.Py_ssize_t, w: cython.double[::1]
) -> cython.double:
    """Return the dot product of w with the dense row of d values that starts at `first`, over eight accumulators."""
    whole: cython.Py_ssize_t = d - d % 8
    # Eight running sums fill the vector registers; their order of addition is fixed, and so are the bits.
    part = cython.declare(cython.double[8])
    for lane in range(8):
        part[lane] = 0.0
    for j in range(0, whole, 8):
        for lane in range(8):
            part[lane] += data[first + j + lane] * w[j + lane]
    for j in range(whole, d):
        part[j - whole] += data[first + j] * w[j]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def multiply_stored(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    w: cython.double[::1],
) -> cython.double:
    """Return the dot product of w with the CSR row stored from `first` to `stop`, over four accumulators."""
    e: cython.Py_ssize_t = first
    part = cython.declare(cython.double[4])
    for lane in range(4):
        part[lane] = 0.0
    while e + 4 <= stop:
        for lane in range(4):
            part[lane] += data[e + lane] * w[columns[e + lane]]
        e += 4
    while e < stop:
        part[0] += data[e] * w[columns[e]]
        e += 1
    return (part[0] + part[2]) + (part[1] + part[3])


def ascend(
    data: cython.const[real][::1],
    columns: cython.const[index][::1],
    pointers: cython.const[index][::1],
    terms: Terms,
    order: cython.const[cython.Py_ssize_t][::1],
    settled: cython.double,
    slopes: cython.double[::1],
    w: cython.double[::1],
    kept: cython.uchar[::1],
) -> cython.double:
    """Maximise the dual in each coordinate of `order`; return the largest violation that was met.

    Parameters
    ----------
    data, columns, pointers : the rows: CSR, or dense rows one after the other with empty `columns` and `pointers`
    settled : rows whose slope is right by more than this are marked for leaving out
    slopes, w : (n,), (d + 3,), in place: s; v, the sum of g, v . r and b
    kept : (len(order),): whether a row is worth another visit
    """
    sign: cython.const[cython.double][::1] = terms.sign
    centre: cython.const[cython.double][::1] = terms.centre
    factor: cython.const[cython.double][::1] = terms.factor
    square: cython.const[cython.double][::1] = terms.square
    lift: cython.const[cython.double][::1] = terms.lift
    shape: cython.const[cython.double][::1] = terms.shape
    dense: cython.bint = pointers.shape[0] == 0
    d: cython.Py_ssize_t = w.shape[0] - 3
    cython.declare(at=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, later=cython.Py_ssize_t)
    cython.declare(m=cython.double, step=cython.double, slack=cython.double, change=cython.double)
    worst: cython.double = 0.0
    with cython.nogil:
        for at in range(order.shape[0]):
            i = order[at]
            if at + _AHEAD < order.shape[0]:
                later = order[at + _AHEAD]
                if dense:
                    inline.prefetch(data, later * d, (later + 1) * d)
                else:
                    inline.prefetch(data, pointers[later], pointers[later + 1])
            # A row without weight has the dual variable zero for good.
            if not factor[i] > 0:
                kept[at] = 0
                continue
            if dense:
                m = multiply_row(data, i * d, d, w)
            else:
                m = multiply_stored(data, columns, pointers[i], pointers[i + 1], w)
            m = sign[i] * (m + w[d] * lift[i] - w[d + 1] + w[d + 2])
            step = factor[i] * square[i]
            change = step_to(m, centre[i], step, shape, slopes[i]) - slopes[i]
            slack = find_slack(m, centre[i], shape, slopes[i]) if shape[_WIDTH] >= 0 else -step * abs(change)
            # Rows whose slope is right by a margin are unlikely to move again: the rest of the round skips them
            # (shrinking, Hsieh et al., 2008). Each round begins with all rows, and the gap is computed over all.
            kept[at] = slack <= settled
            worst = -slack if -slack > worst else worst
            if change != 0:
                slopes[i] += change
                change *= -factor[i] * sign[i]
                if dense:
                    for j in range(d):
                        w[j] += change * data[i * d + j]
                else:
                    for j in range(pointers[i], pointers[i + 1]):
                        w[columns[j]] += change * data[j]
                w[d] += change
                # r . x is highest - lift by the definition of the lift: no second product with the row.
                w[d + 1] += change * (terms.highest - lift[i])
    return worst
