"""Compare queries with all rows and keep the nearest: scores in float32 find candidates, exact distances decide.

Rows lie in panels of 64, shifted and scaled so that float32 holds them (`pack_rows`). `scan.h` finds the rows of a
panel whose score is below a query's limit. The limit is the score of the k-th nearest row so far plus a bound on the
rounding of both, so no nearest row is missed. What passes is measured again, sum (x - y)^2 in float64 in the order of
columns, and kept in a heap by (distance, row index). The result depends on neither tile sizes, nor threads, nor the CPU
level.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY, fabs, sqrt
    from cython.cimports.mercer._native.nearest import heaps, scan
else:
    from math import fabs, sqrt
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.nearest import heaps, scan

real = cython.fused_type(cython.float, cython.double)

# Rows in a panel and queries in a group, as in scan.h.
PANEL = cython.declare(cython.Py_ssize_t, 64)
GROUP = cython.declare(cython.Py_ssize_t, 6)
# Panels that share one bound on the rounding of scores: 1024 rows, so that renewing limits takes no time.
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


@cython.final
@cython.cclass
class Block:
    """A block of b queries, and the nearest rows found for each so far.

    Parameters
    ----------
    queries : (b, d)
    own : (b,), a row that is not a neighbour of the query, or -1
    distances, indices : (b, k), a heap for each query: the farthest of its k nearest rows, by squared distance and
        then by index, stands first; infinity and an index above all others at the beginning
    packed, norms, limits : (g, d, 6) with g = ceil(b / 6), (6 g,), (6 g,), written by `pack_queries`
    waiting, counts, hits : (b, 80), (b,), (6,) scratch; counts are zero at the beginning
    scale : the power of two by which panels are scaled
    """

    queries: cython.const[cython.double][:, ::1]
    own: cython.const[cython.Py_ssize_t][::1]
    distances: cython.double[:, ::1]
    indices: cython.Py_ssize_t[:, ::1]
    packed: cython.float[:, :, ::1]
    norms: cython.double[::1]
    limits: cython.float[::1]
    waiting: cython.int[:, ::1]
    counts: cython.Py_ssize_t[::1]
    hits: cython.ulonglong[::1]
    scale: cython.double
    reach: cython.double

    def __init__(self, queries, own, heaps, packing, scratch, scale):
        self.queries, self.own = queries, own
        self.distances, self.indices = heaps
        self.packed, self.norms, self.limits = packing
        self.waiting, self.counts, self.hits = scratch
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
        root: cython.double
        limit: cython.double
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
    panel: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    row: cython.Py_ssize_t
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    value: cython.double
    total: cython.double
    most: cython.double
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(
    X: cython.const[real][:, ::1],
    block: Block,
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


def search_panels(
    X: cython.const[real][:, ::1],
    panels: cython.const[cython.float][:, :, ::1],
    reach: cython.const[cython.double][::1],
    block: Block,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    rows: cython.Py_ssize_t[::1],
    squares: cython.double[::1],
):
    """Offer every row of the panels from `first` to `stop` to every query of a block.

    Parameters
    ----------
    X : (n, d), the rows
    panels, reach : (p, d + 1, 64), (p,), from `pack_rows`
    rows, squares : (4,) scratch
    """
    start: cython.Py_ssize_t = first
    end: cython.Py_ssize_t
    panel: cython.Py_ssize_t
    group: cython.Py_ssize_t
    query: cython.Py_ssize_t
    q: cython.Py_ssize_t
    bits: cython.ulonglong
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
                            settle(X, block, query, rows, squares)
            start = end
        for query in range(block.queries.shape[0]):
            settle(X, block, query, rows, squares)


def search_all(
    X: cython.const[real][:, ::1],
    block: Block,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    rows: cython.Py_ssize_t[::1],
    squares: cython.double[::1],
):
    """Offer the rows from `first` to `stop` to every query of a block by their exact distances, without panels."""
    query: cython.Py_ssize_t
    row: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for query in range(block.queries.shape[0]):
            row = first
            while row < stop:
                for j in range(4):
                    rows[j] = min(row + j, stop - 1)
                scan.measure_four(X, block.queries, query, rows, squares)
                for j in range(min(4, stop - row)):
                    if rows[j] != block.own[query]:
                        heaps.offer(block.distances, block.indices, query, squares[j], rows[j])
                row += 4


def sort_heaps(block: Block):
    """Sort the heap of each query: the nearest row first."""
    query: cython.Py_ssize_t
    with cython.nogil:
        for query in range(block.distances.shape[0]):
            heaps.sort_line(block.distances, block.indices, query)


def search_within(
    X: cython.const[real][:, ::1],
    panels: cython.const[cython.float][:, :, ::1],
    reach: cython.const[cython.double][::1],
    block: Block,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    square: cython.double,
    rows: cython.Py_ssize_t[::1],
    squares: cython.double[::1],
    pairs: cython.Py_ssize_t[:, ::1],
    found: cython.double[::1],
) -> cython.Py_ssize_t:
    """List the rows of some panels within squared distance `square` of each query; return the number of pairs.

    Parameters
    ----------
    X, panels, reach, rows, squares : as in `search_panels`
    pairs, found : (c, 2), (c,), written: query and row, and their squared distance; c is at least the number of
        queries times 64 times the number of panels
    """
    panel: cython.Py_ssize_t
    group: cython.Py_ssize_t
    query: cython.Py_ssize_t
    q: cython.Py_ssize_t
    j: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    bits: cython.ulonglong
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
