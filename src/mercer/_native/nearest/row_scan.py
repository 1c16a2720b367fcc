"""Compare queries with all rows and keep the nearest: cheap bounds find candidates, exact distances decide.

Rows lie in panels of 64. A bound on the distance from a query to the rows of a panel leaves out those that are farther
than the k-th nearest row so far, so that no nearest row is missed. What passes is measured again, sum (x - y)^2 in
float64 in the order of columns, and kept in a heap by (distance, row index). The result depends on neither the bound,
nor tile sizes, nor threads, nor the CPU level. There are two bounds:

- the norm expansion |y|^2 / 2 - x . y in float32 (`scan.h`), of rows shifted and scaled so that float32 holds them. Its
  limit is the score of the k-th nearest row plus a bound on the rounding of both;
- distances of rows rounded to bytes (`byte_lanes.h`). Rows and queries are moved by a shift, divided by a step, clipped
  to [-127, 127] and rounded to whole numbers. Clipping is the projection to a cube, which makes no distance larger, and
  rounding moves a point by a known length e. So with z for the rounded point of a row y, and in units of the step,

      |x - y| >= |clip x - clip y| >= |z_x - z_y| - e_x - e_y,

  and a row with |z_x - z_y| > r + e_x + e_y is farther from the query than r. |z_x - z_y|^2 is made of products of
  small integers, exact in int32.

Few queries are measured against all rows without a bound, and tables of any distances are offered as they are.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY, ceil, fabs, sqrt
    from cython.cimports.mercer._native.nearest import byte_lanes, heaps, scan
else:
    from math import ceil, fabs, sqrt
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.nearest import byte_lanes, heaps, scan

real = cython.fused_type(cython.float, cython.double)

# Rows in a panel, queries in a group and columns in a step of bytes, as in scan.h and byte_lanes.h.
PANEL = cython.declare(cython.Py_ssize_t, 64)
GROUP = cython.declare(cython.Py_ssize_t, 6)
STEP = cython.declare(cython.Py_ssize_t, 4)
# Panels that share one bound on rounding: 1024 rows, so that renewing limits takes no time.
CHUNK = cython.declare(cython.Py_ssize_t, 16)
# Candidates of a query that wait for their exact distance: with more, the limit is renewed.
WAITING = cython.declare(cython.Py_ssize_t, 16)
# Half a unit in the last place of float32: the rounding of one operation.
SINGLE = cython.declare(cython.double, 2.0**-24)
# A unit in the last place of float64: twice the rounding of one operation.
DOUBLE = cython.declare(cython.double, 2.0**-52)
# Above the rounding of float32 numbers too small to be normal, in units of the largest row.
SUBNORMAL = cython.declare(cython.double, 1e-36)
# Norm, in units of the largest row, from which a query's scores might overflow float32.
FAR = cython.declare(cython.double, 1e15)
# The largest whole number of a rounded value.
MOST = cython.declare(cython.double, 127.0)
# What is added to the values of rounded rows, so that none is negative.
LIFT = cython.declare(cython.int, 128)
# A value that no limit reaches, for lanes without a row; far enough from the least int32 for the sums of 4096 columns.
NEVER = cython.declare(cython.int, -(2**30))
# Above the values of all pairs of rounded rows: a limit of its negative keeps every row, but for lanes without one.
ALWAYS = cython.declare(cython.double, 2.0**28)


def are_bytes_fast():
    """Return whether this module compares rounded rows faster than float32 rows could be compared."""
    return bool(byte_lanes.are_fast())


@cython.cclass
class Answers:
    """A block of b queries, and the nearest rows found for each so far.

    Parameters
    ----------
    queries : (b, d)
    own : (b,), a row that is not a neighbour of the query, or -1
    distances, indices : (b, k), a heap for each query, as `heaps` says
    scratch : waiting (b, 80), counts (b,), zero at the beginning, hits (6,), rows (4,), squares (4,)
    """

    queries: cython.const[cython.double][:, ::1]
    own: cython.const[cython.Py_ssize_t][::1]
    distances: cython.double[:, ::1]
    indices: cython.Py_ssize_t[:, ::1]
    waiting: cython.int[:, ::1]
    counts: cython.Py_ssize_t[::1]
    hits: cython.ulonglong[::1]
    rows: cython.Py_ssize_t[::1]
    squares: cython.double[::1]

    def __init__(self, queries, own, heaps, scratch):
        self.queries, self.own = queries, own
        self.distances, self.indices = heaps
        self.waiting, self.counts, self.hits, self.rows, self.squares = scratch


@cython.final
@cython.cclass
class Block(Answers):
    """Queries that are compared by scores in float32.

    Parameters
    ----------
    answers : the parameters of `Answers`
    packing : packed (g, d, 6) with g = ceil(b / 6), norms (6 g,) and limits (6 g,), written by `pack_queries`
    scale : the power of two by which panels are scaled
    """

    packed: cython.float[:, :, ::1]
    norms: cython.double[::1]
    limits: cython.float[::1]
    scale: cython.double
    reach: cython.double

    def __init__(self, answers, packing, scale):
        Answers.__init__(self, *answers)
        self.packed, self.norms, self.limits = packing
        self.scale, self.reach = scale, 0.0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def set_limit(self, query: cython.Py_ssize_t, square: cython.double) -> cython.void:
        """Set the limit so that every row within squared distance `square` of the query scores below it."""
        d: cython.double = cython.cast(cython.double, self.queries.shape[1])
        x: cython.double = self.norms[query]
        y: cython.double = self.reach
        if square == INFINITY or x > FAR:
            self.limits[query] = INFINITY
            return
        # |x - y|^2 = 2 score + |x|^2. A sum of d products errs by at most d times the rounding of one operation times
        # the sum of their sizes, which |x| |y| + |y|^2 / 2 bounds; 8 more stand for conversions and the last steps.
        root = sqrt(square) * self.scale
        limit = 0.5 * (root * root * (1.0 + (d + 16.0) * DOUBLE) - x * x)
        limit += (d + 8.0) * (SINGLE * (x * y + 0.5 * y * y) + DOUBLE * x * x) + SUBNORMAL
        limit += 4.0 * SINGLE * fabs(limit)
        # Past the largest float32 the conversion gives infinity, which keeps every row.
        self.limits[query] = cython.cast(cython.float, limit)


@cython.final
@cython.cclass
class ByteBlock(Answers):
    """Queries that are compared by rounded values.

    Parameters
    ----------
    answers : the parameters of `Answers`
    packing : packed (g, s, 6, 4) with g = ceil(b / 6) and s = ceil(d / 4), sums (3, 6 g), written by `round_queries`:
        |z|^2, the length e of the rounding, and 128 times the sum of z; and limits (6 g,)
    scale, step : rows times `scale` less the shift are in units of `step`
    """

    packed: cython.schar[:, :, :, ::1]
    sums: cython.double[:, ::1]
    limits: cython.int[::1]
    scale: cython.double
    step: cython.double
    steps_per_unit: cython.double
    error: cython.double

    def __init__(self, answers, packing, scale, step):
        Answers.__init__(self, *answers)
        self.packed, self.sums, self.limits = packing
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
        reach += self.sums[1, query] + self.error
        # |z_x - z_y|^2 <= reach^2 is z_x . z_y - |z_y|^2 / 2 >= (|z_x|^2 - reach^2) / 2, and rows carry z_y + 128.
        limit = 0.5 * (self.sums[0, query] - reach * reach * (1.0 + 4.0 * DOUBLE))
        limit = ceil(limit + self.sums[2, query]) if limit > -ALWAYS else -ALWAYS
        self.limits[query] = cython.cast(cython.int, limit)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def offer_four(
    X: cython.const[real][:, ::1], answers: Answers, query: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.void:
    """Measure the first `count` of four rows and offer them to the heap of a query; the others may be any rows."""
    scan.measure_four(X, answers.queries, query, answers.rows, answers.squares)
    for j in range(min(4, count)):
        if answers.rows[j] != answers.own[query]:
            heaps.offer(answers.distances, answers.indices, query, answers.squares[j], answers.rows[j])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(X: cython.const[real][:, ::1], answers: Answers, query: cython.Py_ssize_t) -> cython.void:
    """Measure the candidates that wait, and offer them to the heap; the caller renews the limit."""
    i: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = answers.counts[query]
    while i < count:
        for j in range(4):
            # The last candidate fills up the four.
            answers.rows[j] = answers.waiting[query, min(i + j, count - 1)]
        offer_four(X, answers, query, count - i)
        i += 4
    answers.counts[query] = 0


def pack_rows(
    X: cython.const[real][:, ::1],
    shift: cython.const[cython.double][::1],
    scale: cython.double,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    panels: cython.float[:, :, ::1],
    reach: cython.double[::1],
):
    """Copy rows, times `scale`, less `shift`, to the panels from `first` to `stop`, with half of their squared norms.

    Parameters
    ----------
    X, shift : (n, d), (d,)
    panels : (p, d + 1, 64), written; lanes without a row score infinity
    reach : (p,), written: the largest norm in each panel
    """
    d: cython.Py_ssize_t = X.shape[1]
    with cython.nogil:
        for panel in range(first, stop):
            most = 0.0
            for lane in range(PANEL):
                row = panel * PANEL + lane
                if row >= X.shape[0]:
                    for j in range(d):
                        panels[panel, j, lane] = 0.0
                    panels[panel, d, lane] = INFINITY
                    continue
                total = 0.0
                for j in range(d):
                    value = cython.cast(cython.double, X[row, j]) * scale - shift[j]
                    total += value * value
                    panels[panel, j, lane] = cython.cast(cython.float, value)
                panels[panel, d, lane] = cython.cast(cython.float, 0.5 * total)
                most = total if total > most else most
            reach[panel] = sqrt(most)


def pack_queries(block: Block, shift: cython.const[cython.double][::1]):
    """Fill `packed`, negated, and `norms` of a block; a query too far away for float32 becomes zero."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = block.queries.shape[1]
    value: cython.double
    total: cython.double
    is_near: cython.bint
    with cython.nogil:
        for i in range(block.norms.shape[0]):
            total = 0.0
            if i < block.queries.shape[0]:
                for j in range(d):
                    value = block.queries[i, j] * block.scale - shift[j]
                    total += value * value
            is_near = i < block.queries.shape[0] and sqrt(total) <= FAR
            block.norms[i] = sqrt(total) if sqrt(total) <= FAR else INFINITY
            for j in range(d):
                value = block.queries[i, j] * block.scale - shift[j] if is_near else 0.0
                block.packed[i // GROUP, j, i % GROUP] = cython.cast(cython.float, -value)
            # No row scores below the limit of a lane without a query.
            block.limits[i] = -INFINITY


def search_panels(
    X: cython.const[real][:, ::1],
    panels: cython.const[cython.float][:, :, ::1],
    reach: cython.const[cython.double][::1],
    block: Block,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Offer every row of the panels from `first` to `stop` to every query of a block.

    Parameters
    ----------
    X : (n, d), the rows
    panels, reach : (p, d + 1, 64), (p,), from `pack_rows`
    """
    start: cython.Py_ssize_t = first
    with cython.nogil:
        while start < stop:
            end = min(start + CHUNK, stop)
            block.reach = 0.0
            for panel in range(start, end):
                block.reach = reach[panel] if reach[panel] > block.reach else block.reach
            for query in range(block.queries.shape[0]):
                block.set_limit(query, block.distances[query, 0])
            for panel in range(start, end):
                for group in range(block.packed.shape[0]):
                    scan.scan_panel(panels, panel, block.packed, group, block.limits, block.hits)
                    for q in range(GROUP):
                        bits = block.hits[q]
                        if bits == 0:
                            continue
                        query = group * GROUP + q
                        while bits != 0:
                            block.waiting[query, block.counts[query]] = cython.cast(
                                cython.int, panel * PANEL + scan.lowest_bit(bits)
                            )
                            block.counts[query] += 1
                            bits = bits & (bits - 1)
                        if block.counts[query] > WAITING:
                            settle(X, block, query)
                            block.set_limit(query, block.distances[query, 0])
            start = end
        for query in range(block.queries.shape[0]):
            settle(X, block, query)


def search_within(
    X: cython.const[real][:, ::1],
    panels: cython.const[cython.float][:, :, ::1],
    reach: cython.const[cython.double][::1],
    block: Block,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    square: cython.double,
    pairs: cython.Py_ssize_t[:, ::1],
    found: cython.double[::1],
) -> cython.Py_ssize_t:
    """List the rows of some panels within squared distance `square` of each query; return the number of pairs.

    Parameters
    ----------
    X, panels, reach : as in `search_panels`
    pairs, found : (c, 2), (c,), written: query and row, and their squared distance; c is at least the number of
        queries times 64 times the number of panels
    """
    count: cython.Py_ssize_t = 0
    rows: cython.Py_ssize_t[::1] = block.rows
    squares: cython.double[::1] = block.squares
    with cython.nogil:
        for panel in range(first, stop):
            block.reach = reach[panel]
            for query in range(block.queries.shape[0]):
                block.set_limit(query, square)
            for group in range(block.packed.shape[0]):
                scan.scan_panel(panels, panel, block.packed, group, block.limits, block.hits)
                for q in range(GROUP):
                    bits = block.hits[q]
                    query = group * GROUP + q
                    while bits != 0:
                        # Up to four rows of the panel are measured at a time.
                        for j in range(4):
                            rows[j] = panel * PANEL + scan.lowest_bit(bits) if bits != 0 else -1
                            bits = bits & (bits - 1) if bits != 0 else 0
                        for j in range(1, 4):
                            rows[j] = rows[0] if rows[j] < 0 else rows[j]
                        scan.measure_four(X, block.queries, query, rows, squares)
                        for j in range(4):
                            if j > 0 and rows[j] == rows[0]:
                                break
                            if squares[j] <= square and rows[j] != block.own[query]:
                                pairs[count, 0] = query
                                pairs[count, 1] = rows[j]
                                found[count] = squares[j]
                                count += 1
    return count


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
    steps: cython.Py_ssize_t = block.packed.shape[1]
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
) -> cython.Py_ssize_t:
    """Write down the candidates of a panel for every query of a block; return how many there are."""
    found: cython.Py_ssize_t = 0
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
                settle(X, block, query)
                block.set_limit(query, block.distances[query, 0])
    return found


def search_rounded(
    X: cython.const[real][:, ::1],
    panels: tuple,
    block: ByteBlock,
    chunks: cython.const[cython.Py_ssize_t][::1],
    slack: cython.double,
) -> cython.Py_ssize_t:
    """Offer the rows of some chunks of panels to every query of a block; return how many were measured.

    Parameters
    ----------
    X : (n, d), the rows
    panels : the order of rows and the arrays that `round_rows` wrote: panels, starts, errors
    chunks : numbers of chunks of 16 panels, in the order in which queries are compared with them
    slack : a length, in steps, above the rounding of all values before they were clipped
    """
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
                measured += scan_one(X, order, lines, starts, block, panel, fast)
            # Rows of this chunk were asked for when they became candidates; they leave the cache soon.
            for query in range(block.queries.shape[0]):
                if block.counts[query] > 0:
                    settle(X, block, query)
    return measured


def search_all(X: cython.const[real][:, ::1], answers: Answers, first: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """Offer the rows from `first` to `stop` to every query of a block by their exact distances, without panels."""
    with cython.nogil:
        for query in range(answers.queries.shape[0]):
            row = first
            while row < stop:
                for j in range(4):
                    answers.rows[j] = min(row + j, stop - 1)
                offer_four(X, answers, query, stop - row)
                row += 4


def search_table(
    table: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    own: cython.const[cython.Py_ssize_t][::1],
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
):
    """Offer the rows from `first` on to the heaps of some queries, by a table of distances; heaps are not sorted.

    Parameters
    ----------
    table : (b, c), the distances from b queries to c rows
    own : (b,), a row that is not a neighbour of the query, or -1
    distances, indices : (b, k), heaps
    """
    with cython.nogil:
        for i in range(table.shape[0]):
            for j in range(table.shape[1]):
                if table[i, j] <= distances[i, 0] and first + j != own[i]:
                    heaps.offer(distances, indices, i, table[i, j], first + j)


def sort_heaps(distances: cython.double[:, ::1], indices: cython.Py_ssize_t[:, ::1]):
    """Sort the heap of each query: the nearest row first."""
    with cython.nogil:
        for query in range(distances.shape[0]):
            heaps.sort_line(distances, indices, query)
