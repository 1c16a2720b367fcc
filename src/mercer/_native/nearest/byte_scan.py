"""Compare queries with all rows and keep the nearest: distances of rounded rows find candidates, exact ones decide.

Rows and queries are moved by a shift, divided by a step, clipped to [-127, 127] and rounded to whole numbers. Clipping
is the projection to a cube, which makes no distance larger, and rounding moves a point by a known length e. So with z
for the rounded point of a row y, and in units of the step,

    |x - y| >= |clip x - clip y| >= |z_x - z_y| - e_x - e_y,

and a row with |z_x - z_y| > r + e_x + e_y is farther from the query than r. |z_x - z_y|^2 is made of products of small
integers, exact in int32. With r the distance of the k-th nearest row so far, the other rows are measured again, by
sum (x - y)^2 in float64 in the order of columns, and kept in a heap by (distance, row index): the same bits as those of
`row_scan`.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import ceil, sqrt
    from cython.cimports.mercer._native.nearest import byte_lanes, heaps, scan
else:
    from math import ceil, sqrt

    from mercer._native.nearest import byte_lanes, heaps, scan

real = cython.fused_type(cython.float, cython.double)

# Rows in a panel, queries in a group and columns in a step, as in byte_lanes.h.
PANEL = cython.declare(cython.Py_ssize_t, 64)
GROUP = cython.declare(cython.Py_ssize_t, 6)
STEP = cython.declare(cython.Py_ssize_t, 4)
# Panels that share one bound on the rounding of rows: 1024 rows, so that renewing limits takes no time.
CHUNK = cython.declare(cython.Py_ssize_t, 16)
# Candidates of a query that wait for their exact distance: with more, the limit is renewed.
WAITING = cython.declare(cython.Py_ssize_t, 16)
# The largest whole number of a rounded value.
MOST = cython.declare(cython.double, 127.0)
# What is added to the values of rows, so that none is negative.
LIFT = cython.declare(cython.int, 128)
# A value that no limit reaches, for lanes without a row; far enough from the least int32 for the sums of 4096 columns.
NEVER = cython.declare(cython.int, -(2**30))
# Above the values of all pairs of rows: a limit of its negative keeps every row, but for lanes without one.
ALWAYS = cython.declare(cython.double, 2.0**28)
# A unit in the last place of float64: twice the rounding of one operation.
DOUBLE = cython.declare(cython.double, 2.0**-52)


def are_bytes_fast():
    """Return whether this module compares rounded rows faster than float32 rows could be compared."""
    return bool(byte_lanes.are_fast())


@cython.final
@cython.cclass
class ByteBlock:
    """A block of b queries, and the nearest rows found for each so far.

    Parameters
    ----------
    queries : (b, d)
    own : (b,), a row that is not a neighbour of the query, or -1
    distances, indices : (b, k), a heap for each query, as `heaps` says
    packed : (g, s, 6, 4) with g = ceil(b / 6) and s = ceil(d / 4), written by `round_queries`
    sums : (3, 6 g), written by `round_queries`: |z|^2, the length e of the rounding, and 128 times the sum of z
    limits : (6 g,)
    waiting, counts, hits : (b, 80), (b,), (6,) scratch; counts are zero at the beginning
    scale, step : rows times `scale` less the shift are in units of `step`
    """

    queries: cython.const[cython.double][:, ::1]
    own: cython.const[cython.Py_ssize_t][::1]
    distances: cython.double[:, ::1]
    indices: cython.Py_ssize_t[:, ::1]
    packed: cython.schar[:, :, :, ::1]
    sums: cython.double[:, ::1]
    limits: cython.int[::1]
    waiting: cython.int[:, ::1]
    counts: cython.Py_ssize_t[::1]
    hits: cython.ulonglong[::1]
    scale: cython.double
    step: cython.double
    steps_per_unit: cython.double
    error: cython.double

    def __init__(self, queries, own, heaps, packing, scratch, scale, step):
        self.queries, self.own = queries, own
        self.distances, self.indices = heaps
        self.packed, self.sums, self.limits = packing
        self.waiting, self.counts, self.hits = scratch
        self.scale, self.step, self.steps_per_unit, self.error = scale, step, scale / step, 0.0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def set_limit(self, query: cython.Py_ssize_t, square: cython.double) -> cython.void:
        """Set the limit so that every row within squared distance `square` of the query reaches it."""
        d: cython.double = cython.cast(cython.double, self.queries.shape[1])
        # The computed sum of d squares is right to (d + 2) roundings; 16 more stand for the steps here.
        reach: cython.double = sqrt(square) * self.steps_per_unit * (1.0 + (d + 18.0) * DOUBLE)
        limit: cython.double
        reach += self.sums[1, query] + self.error
        # |z_x - z_y|^2 <= reach^2 is z_x . z_y - |z_y|^2 / 2 >= (|z_x|^2 - reach^2) / 2, and rows carry z_y + 128.
        limit = 0.5 * (self.sums[0, query] - reach * reach * (1.0 + 4.0 * DOUBLE))
        limit = ceil(limit + self.sums[2, query]) if limit > -ALWAYS else -ALWAYS
        self.limits[query] = cython.cast(cython.int, limit)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def clip(value: cython.double) -> cython.double:
    """Return the nearest number in [-127, 127]."""
    value = MOST if value > MOST else value
    return -MOST if value < -MOST else value


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def nearest_whole(value: cython.double) -> cython.double:
    """Return a whole number at most one half from `value`, which is in [-127, 127]."""
    # Truncation of a positive number, in place of a call of a rounding function.
    return cython.cast(cython.double, cython.cast(cython.int, value + 128.5)) - 128.0


def round_rows(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.int][::1],
    shift: cython.const[cython.double][::1],
    scale: cython.double,
    step: cython.double,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    panels: cython.uchar[:, :, :, ::1],
    starts: cython.int[:, ::1],
    errors: cython.double[::1],
):
    """Round rows, times `scale`, less `shift`, over `step`, to the panels from `first` to `stop`.

    Parameters
    ----------
    X, order, shift : (n, d), (n,), (d,): panels hold the rows in this order
    panels : (p, s, 64, 4), written
    starts : (p, 64), written: minus half of the squared norm of the rounded row, rounded up
    errors : (p,), written: the largest length e of a rounding in each panel
    """
    panel: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    place: cython.Py_ssize_t
    row: cython.Py_ssize_t
    j: cython.Py_ssize_t
    whole: cython.int
    square: cython.int
    value: cython.double
    left: cython.double
    most: cython.double
    inverse: cython.double = 1.0 / step
    with cython.nogil:
        for panel in range(first, stop):
            most = 0.0
            for lane in range(PANEL):
                place = panel * PANEL + lane
                row = order[place] if place < X.shape[0] else -1
                square = 0
                left = 0.0
                for j in range(panels.shape[1] * STEP):
                    value = 0.0
                    if row >= 0 and j < X.shape[1]:
                        value = clip((cython.cast(cython.double, X[row, j]) * scale - shift[j]) * inverse)
                    whole = cython.cast(cython.int, nearest_whole(value))
                    square += whole * whole
                    left += (value - whole) * (value - whole)
                    panels[panel, j // STEP, lane, j % STEP] = cython.cast(cython.uchar, whole + LIFT)
                # Half of an odd square is rounded so that the row's value becomes larger: no near row is missed.
                starts[panel, lane] = -(square // 2) if row >= 0 else NEVER
                most = left if left > most else most
            errors[panel] = sqrt(most)


def round_queries(block: ByteBlock, shift: cython.const[cython.double][::1]):
    """Fill `packed` and `sums` of a block."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    steps: cython.Py_ssize_t = block.packed.shape[1]
    value: cython.double
    whole: cython.double
    square: cython.double
    total: cython.double
    left: cython.double
    inverse: cython.double = 1.0 / block.step
    with cython.nogil:
        for i in range(block.limits.shape[0]):
            square = 0.0
            total = 0.0
            left = 0.0
            for j in range(steps * STEP):
                value = 0.0
                if i < block.queries.shape[0] and j < block.queries.shape[1]:
                    value = clip((block.queries[i, j] * block.scale - shift[j]) * inverse)
                whole = nearest_whole(value)
                square += whole * whole
                total += whole
                left += (value - whole) * (value - whole)
                block.packed[i // GROUP, j // STEP, i % GROUP, j % STEP] = cython.cast(cython.schar, whole)
            block.sums[0, i] = square
            block.sums[1, i] = sqrt(left)
            block.sums[2, i] = LIFT * total
            # No row reaches the limit of a lane without a query.
            block.limits[i] = 2147483647


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(
    X: cython.const[real][:, ::1],
    block: ByteBlock,
    query: cython.Py_ssize_t,
    rows: cython.Py_ssize_t[::1],
    squares: cython.double[::1],
) -> cython.void:
    """Measure the candidates that wait, offer them to the heap, and renew the limit."""
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    count: cython.Py_ssize_t = block.counts[query]
    while i < count:
        for j in range(4):
            # The last candidate fills up the four.
            rows[j] = block.waiting[query, min(i + j, count - 1)]
        scan.measure_four(X, block.queries, query, rows, squares)
        for j in range(min(4, count - i)):
            if rows[j] != block.own[query]:
                heaps.offer(block.distances, block.indices, query, squares[j], rows[j])
        i += 4
    block.counts[query] = 0
    block.set_limit(query, block.distances[query, 0])


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def scan_one(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.int][::1],
    lines: cython.const[cython.uchar][:, :, :, ::1],
    starts: cython.const[cython.int][:, ::1],
    block: ByteBlock,
    panel: cython.Py_ssize_t,
    fast: cython.bint,
    rows: cython.Py_ssize_t[::1],
    squares: cython.double[::1],
) -> cython.Py_ssize_t:
    """Write down the candidates of a panel for every query of a block; return how many there are."""
    group: cython.Py_ssize_t
    query: cython.Py_ssize_t
    q: cython.Py_ssize_t
    row: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    bits: cython.ulonglong
    for group in range(block.packed.shape[0]):
        if not byte_lanes.scan_bytes(lines, starts, panel, block.packed, group, block.limits, block.hits, fast):
            continue
        for q in range(GROUP):
            bits = block.hits[q]
            if bits == 0:
                continue
            query = group * GROUP + q
            while bits != 0:
                row = order[panel * PANEL + scan.lowest_bit(bits)]
                byte_lanes.prefetch_row(X, row)
                block.waiting[query, block.counts[query]] = cython.cast(cython.int, row)
                block.counts[query] += 1
                found += 1
                bits = bits & (bits - 1)
            if block.counts[query] > WAITING:
                settle(X, block, query, rows, squares)
    return found


def search_rounded(
    X: cython.const[real][:, ::1],
    panels: tuple,
    block: ByteBlock,
    chunks: cython.const[cython.Py_ssize_t][::1],
    slack: cython.double,
    rows: cython.Py_ssize_t[::1],
    squares: cython.double[::1],
) -> cython.Py_ssize_t:
    """Offer the rows of some chunks of panels to every query of a block; return how many were measured.

    Parameters
    ----------
    X : (n, d), the rows
    panels : the order of rows and the arrays that `round_rows` wrote: panels, starts, errors
    chunks : numbers of chunks of 16 panels, in the order in which queries are compared with them
    slack : a length, in steps, above the rounding of all values before they were clipped
    rows, squares : (4,) scratch
    """
    c: cython.Py_ssize_t
    panel: cython.Py_ssize_t
    end: cython.Py_ssize_t
    query: cython.Py_ssize_t
    measured: cython.Py_ssize_t = 0
    order: cython.const[cython.int][::1] = panels[0]
    lines: cython.const[cython.uchar][:, :, :, ::1] = panels[1]
    starts: cython.const[cython.int][:, ::1] = panels[2]
    errors: cython.const[cython.double][::1] = panels[3]
    fast: cython.bint = byte_lanes.are_fast()
    with cython.nogil:
        for c in range(chunks.shape[0]):
            end = min((chunks[c] + 1) * CHUNK, errors.shape[0])
            block.error = 0.0
            for panel in range(chunks[c] * CHUNK, end):
                block.error = errors[panel] if errors[panel] > block.error else block.error
            block.error += slack
            for query in range(block.queries.shape[0]):
                block.set_limit(query, block.distances[query, 0])
            for panel in range(chunks[c] * CHUNK, end):
                measured += scan_one(X, order, lines, starts, block, panel, fast, rows, squares)
            # Rows of this chunk were asked for when they became candidates; they leave the cache soon.
            for query in range(block.queries.shape[0]):
                if block.counts[query] > 0:
                    settle(X, block, query, rows, squares)
    return measured


def sort_heaps(block: ByteBlock):
    """Sort the heap of each query: the nearest row first."""
    query: cython.Py_ssize_t
    with cython.nogil:
        for query in range(block.distances.shape[0]):
            heaps.sort_line(block.distances, block.indices, query)
