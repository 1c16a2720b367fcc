"""Lloyd's iterations over a table of few rows, many of them in one call.

Rows lie in panels of lanes (see ``points.py``), so that vector code measures a centre against all rows of a panel.
Where the two least distances of a row are closer than their rounding, they are taken again as ``assignment.py`` takes
them. So labels are those found there, and the sums, which are added in the order of rows, have the same bits.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.stdint import int32_t
    from cython.cimports.mercer._native.shared import inline
    from cython.cimports.mercer._native.space import lanes
else:
    from mercer._native.shared import inline
    from mercer._native.space import lanes

    int32_t = cython.int

real = cython.fused_type(cython.float, cython.double)

# Two sums of d squares that are closer than this times d + 8, relative to the larger, are in doubtful order: each errs
# by at most d + 2 roundings of 1.1e-16.
DOUBT = cython.declare(cython.double, 4.5e-16)
# Returned in the place of a sum of squares where a centre has no rows to move to.
EMPTY = cython.declare(cython.double, -1.0)
INFINITY = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class Trail:
    """What the steps over n rows leave, and their scratch.

    Parameters
    ----------
    labels, distances : (n,), written: the nearest centre of each row and the squared distance to it
    sums : (k, d + 2), written: per centre the sum of its rows, their weight, their squared distances
    costs : (m, k), written: the last column of `sums` before each step
    shifts : (m,), written: the sum of the squared moves of all centres in each step
    points : (k, d) scratch, the centres in float64
    squares : (3, w) scratch: squared distances of a panel to a centre, the least ones, and the runners-up
    nearest : (w,) scratch, the nearest centre of each lane
    """

    labels: int32_t[::1]
    distances: cython.double[::1]
    sums: cython.double[:, ::1]
    costs: cython.double[:, ::1]
    shifts: cython.double[::1]
    points: cython.double[:, ::1]
    squares: cython.double[:, ::1]
    nearest: int32_t[::1]

    def __init__(self, rows, sums, trail, scratch):
        self.labels, self.distances = rows
        self.sums = sums
        self.costs, self.shifts = trail
        self.points, self.squares, self.nearest = scratch


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_panel(
    panels: cython.const[cython.double][:, :, ::1],
    panel: cython.Py_ssize_t,
    points: cython.const[cython.double][:, ::1],
    nearest: int32_t[::1],
    squares: cython.double[::1],
    least: cython.double[::1],
    second: cython.double[::1],
) -> cython.void:
    """Write the nearest point of each lane, among equals the lowest, and the two least squared distances."""
    lane: cython.Py_ssize_t
    q: cython.Py_ssize_t
    centre: int32_t
    value: cython.double
    best: cython.double
    for lane in range(nearest.shape[0]):
        nearest[lane] = 0
        least[lane] = INFINITY
        second[lane] = INFINITY
    for q in range(points.shape[0]):
        lanes.square(panels, panel, points[q], squares)
        centre = cython.cast(int32_t, q)
        for lane in range(nearest.shape[0]):
            # Selections without branches: the compiler makes vector code of this loop.
            value = squares[lane]
            best = least[lane]
            nearest[lane] = centre if value < best else nearest[lane]
            least[lane] = value if value < best else best
            value = best if value < best else value
            second[lane] = value if value < second[lane] else second[lane]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_directly(x: cython.const[real][::1], centres: cython.const[real][:, ::1]) -> cython.Py_ssize_t:
    """Return the nearest centre of one row by the sums that ``assignment.py`` compares; among equals the lowest."""
    q: cython.Py_ssize_t
    label: cython.Py_ssize_t = 0
    distance: cython.double
    best: cython.double = INFINITY
    for q in range(centres.shape[0]):
        distance = inline.distance_squared(x, centres[q])
        if distance < best:
            best = distance
            label = q
    return label


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def assign_rows(
    panels: cython.const[cython.double][:, :, ::1],
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    centres: cython.const[real][:, ::1],
    trail: Trail,
) -> cython.void:
    """Give each row to its nearest centre and add the rows of each centre up, in the order of rows."""
    panel: cython.Py_ssize_t
    row: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    label: cython.Py_ssize_t
    q: cython.Py_ssize_t
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    width: cython.Py_ssize_t = panels.shape[2]
    doubt: cython.double = 1.0 - DOUBT * (d + 8)
    w: cython.double = 1.0
    for q in range(centres.shape[0]):
        for j in range(d):
            trail.points[q, j] = centres[q, j]
        for j in range(d + 2):
            trail.sums[q, j] = 0.0
    for panel in range(panels.shape[0]):
        search_panel(panels, panel, trail.points, trail.nearest, trail.squares[0], trail.squares[1], trail.squares[2])
        for lane in range(min(width, X.shape[0] - panel * width)):
            row = panel * width + lane
            label = trail.nearest[lane]
            if trail.squares[1, lane] >= trail.squares[2, lane] * doubt:
                label = find_directly(X[row], centres)
            trail.labels[row] = cython.cast(int32_t, label)
            trail.distances[row] = inline.distance_squared(X[row], centres[label])
            if weight.shape[0] > 0:
                w = weight[row]
            for j in range(d):
                trail.sums[label, j] += w * X[row, j]
            trail.sums[label, d] += w
            trail.sums[label, d + 1] += w * trail.distances[row]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_moves(after: cython.const[real][:, ::1], before: cython.const[real][:, ::1]) -> cython.double:
    """Return the sum over centres of the squared distance from `before` to `after`, in the order of centres."""
    q: cython.Py_ssize_t
    total: cython.double = 0.0
    for q in range(after.shape[0]):
        total += inline.distance_squared(after[q], before[q])
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def move_to_means(
    sums: cython.const[cython.double][:, ::1], centres: real[:, ::1], before: real[:, ::1]
) -> cython.double:
    """Move each centre to the mean of its rows; return the sum of squared moves, or EMPTY if a centre has no rows.

    In the latter case no centre has moved: the caller finds a place for the empty one.
    """
    q: cython.Py_ssize_t
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = centres.shape[1]
    for q in range(centres.shape[0]):
        if sums[q, d] <= 0.0:
            return EMPTY
    for q in range(centres.shape[0]):
        for j in range(d):
            before[q, j] = centres[q, j]
            # Divided in float64 and rounded once to the type of the rows.
            centres[q, j] = sums[q, j] / sums[q, d]
    return sum_moves(centres, before)


def measure_moves(after: cython.const[real][:, ::1], before: cython.const[real][:, ::1]) -> float:
    """Return the sum over centres of the squared distance from `before` to `after`, both (k, d)."""
    total: cython.double
    with cython.nogil:
        total = sum_moves(after, before)
    return total


def take_steps(
    panels: cython.const[cython.double][:, :, ::1],
    X: cython.const[real][:, ::1],
    weight: cython.const[cython.double][::1],
    centres: real[:, ::1],
    before: real[:, ::1],
    tolerance: cython.double,
    trail: Trail,
) -> int:
    """Take at most m steps of Lloyd's algorithm; return how many. Labels and sums are those of the last centres.

    The steps end when the squared moves sum to at most `tolerance`, and where a centre has no rows.

    Parameters
    ----------
    panels : (ceil(n / w), d, w), the rows in lanes; what the lanes after the last row hold is not used
    X : (n, d), the same rows
    weight : (n,), or empty when all weights are one
    centres : (k, d), moved
    before : (k, d) scratch
    trail : where labels, sums, costs and moves are written; m is the length of its ``shifts``
    """
    steps: cython.Py_ssize_t = 0
    q: cython.Py_ssize_t
    shift: cython.double
    with cython.nogil:
        assign_rows(panels, X, weight, centres, trail)
        while steps < trail.shifts.shape[0]:
            shift = move_to_means(trail.sums, centres, before)
            if shift == EMPTY:
                break
            for q in range(centres.shape[0]):
                trail.costs[steps, q] = trail.sums[q, X.shape[1] + 1]
            trail.shifts[steps] = shift
            steps += 1
            # Centres that have not moved have the sums already.
            if shift == 0.0:
                break
            assign_rows(panels, X, weight, centres, trail)
            if shift <= tolerance:
                break
    return steps
