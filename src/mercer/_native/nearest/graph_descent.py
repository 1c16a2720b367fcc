"""Approximate nearest rows by a graph of neighbours: its refinement, and searches along its edges.

A neighbour of a neighbour is likely a neighbour (Dong, Moses and Li, 2011). In one round every row looks at the
neighbours of its neighbours, along edges in both directions, and keeps the nearest. A row reads the graph of the round
before and writes its own line only, so that a round gives the same bits on any number of threads. All distances are
squared, and summed in the order of columns, as in the exact search.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.nearest import heaps
else:
    from mercer._native.nearest import heaps

real = cython.fused_type(cython.float, cython.double)


@cython.final
@cython.cclass
class Links:
    """The edges of a graph in both directions; -1 stands behind the last edge of a line.

    Parameters
    ----------
    forward, backward : (n, s), (n, r): the neighbours of each row, and rows that it is a neighbour of
    forward_new, backward_new : the same shapes: whether an edge is new in this round
    """

    forward: cython.const[cython.int][:, ::1]
    backward: cython.const[cython.int][:, ::1]
    forward_new: cython.const[cython.uchar][:, ::1]
    backward_new: cython.const[cython.uchar][:, ::1]

    def __init__(self, forward, backward, forward_new, backward_new):
        self.forward, self.backward = forward, backward
        self.forward_new, self.backward_new = forward_new, backward_new

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def edge(self, row: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the end of an edge of a row, forward edges first; -1 if there is none."""
        s: cython.Py_ssize_t = self.forward.shape[1]
        return self.forward[row, place] if place < s else self.backward[row, place - s]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def is_new(self, row: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.int:
        """Return whether an edge is new."""
        s: cython.Py_ssize_t = self.forward.shape[1]
        return self.forward_new[row, place] if place < s else self.backward_new[row, place - s]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def measure_pair(
    X: cython.const[real][:, ::1],
    a: cython.Py_ssize_t,
    Y: cython.const[real][:, ::1],
    b: cython.Py_ssize_t,
) -> cython.double:
    """Return the squared distance of row a of X and row b of Y."""
    total: cython.double = 0.0
    for j in range(X.shape[1]):
        step = cython.cast(cython.double, X[a, j]) - cython.cast(cython.double, Y[b, j])
        total += step * step
    return total


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def offer_once(
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
    line: cython.Py_ssize_t,
    square: cython.double,
    row: cython.Py_ssize_t,
) -> cython.void:
    """Offer a row to a heap that may hold it already."""
    if heaps.precedes(square, row, distances[line, 0], indices[line, 0]):
        for j in range(indices.shape[1]):
            if indices[line, j] == row:
                return
        heaps.sift(distances, indices, line, distances.shape[1], square, row)


def join_blocks(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.int][::1],
    width: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
):
    """Offer to each row the other rows of its block: `width` rows that follow each other in `order`.

    Parameters
    ----------
    X : (n, d)
    order : (n,)
    first, stop : the blocks to work on
    distances, indices : (n, k), heaps as `heaps` says
    """
    with cython.nogil:
        for block in range(first, stop):
            end = min((block + 1) * width, order.shape[0])
            for i in range(block * width, end):
                a = order[i]
                for j in range(i + 1, end):
                    b = order[j]
                    square = measure_pair(X, a, X, b)
                    offer_once(distances, indices, a, square, b)
                    offer_once(distances, indices, b, square, a)


def reverse_edges(
    forward: cython.const[cython.int][:, ::1],
    forward_new: cython.const[cython.uchar][:, ::1],
    counts: cython.int[::1],
    backward: cython.int[:, ::1],
    backward_new: cython.uchar[:, ::1],
):
    """List the rows that each row is a neighbour of, those to which it is nearest first, while there is room.

    Parameters
    ----------
    counts : (n,), zeros; written, the number of edges of each line
    backward, backward_new : (n, r), filled with -1 and 0; written
    """
    with cython.nogil:
        for column in range(forward.shape[1]):
            for i in range(forward.shape[0]):
                row = forward[i, column]
                if row >= 0 and counts[row] < backward.shape[1]:
                    backward[row, counts[row]] = cython.cast(cython.int, i)
                    backward_new[row, counts[row]] = forward_new[i, column]
                    counts[row] += 1


def refine_rows(
    X: cython.const[real][:, ::1],
    links: Links,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    marks: cython.int[::1],
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
):
    """Offer to each row the neighbours of its neighbours, where one of the two edges is new.

    Parameters
    ----------
    X : (n, d)
    links : the graph of the round before
    first, stop : the rows to work on
    marks : (n,), written; holds no number from `first` + 1 to `stop`
    distances, indices : (n, k), heaps as `heaps` says
    """
    width: cython.Py_ssize_t = links.forward.shape[1] + links.backward.shape[1]
    with cython.nogil:
        for i in range(first, stop):
            # A row is measured once at most for each row: it is marked when it is first met.
            stamp = cython.cast(cython.int, i + 1)
            marks[i] = stamp
            for p in range(indices.shape[1]):
                if indices[i, p] < X.shape[0]:
                    marks[indices[i, p]] = stamp
            for p in range(width):
                middle = links.edge(i, p)
                if middle < 0:
                    continue
                new = links.is_new(i, p)
                for q in range(width):
                    end = links.edge(middle, q)
                    if end < 0 or marks[end] == stamp or not (new or links.is_new(middle, q)):
                        continue
                    marks[end] = stamp
                    heaps.offer(distances, indices, i, measure_pair(X, i, X, end), end)


def sort_lines(
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Sort some heaps: the nearest row first. A sorted line in reverse order is a heap again."""
    with cython.nogil:
        for line in range(first, stop):
            heaps.sort_line(distances, indices, line)


def flag_new(
    before: cython.const[cython.int][:, ::1], after: cython.const[cython.int][:, ::1], new: cython.uchar[:, ::1]
) -> cython.Py_ssize_t:
    """Set flags where an entry of a line of `after` is not in that of `before`; return how many are set.

    Parameters
    ----------
    before, after, new : (n, k), (n, s), (n, s)
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(after.shape[0]):
            for p in range(after.shape[1]):
                known = 0
                for q in range(before.shape[1]):
                    if before[i, q] == after[i, p]:
                        known = 1
                        break
                new[i, p] = 1 - known
                count += 1 - known
    return count


def search_graph(
    X: cython.const[real][:, ::1],
    queries: cython.const[real][:, ::1],
    own: cython.const[cython.Py_ssize_t][::1],
    links: Links,
    entries: cython.const[cython.int][::1],
    marks: cython.int[:, ::1],
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
):
    """Follow edges towards each query: open the nearest row not opened yet, until the nearest w are all open.

    Parameters
    ----------
    X : (n, d)
    queries, own : (b, d), (b,): `own` is a row that is not a neighbour of the query, or -1
    links : the graph
    entries : (e,), the rows from which searches begin
    marks : (2, n), zeros; written: which rows were measured, and which were opened
    distances, indices : (b, w), heaps as `heaps` says; written, the nearest row first
    """
    least: cython.double = 0.0
    width: cython.Py_ssize_t = links.forward.shape[1] + links.backward.shape[1]
    with cython.nogil:
        for query in range(queries.shape[0]):
            stamp = cython.cast(cython.int, query + 1)
            if own[query] >= 0:
                marks[0, own[query]] = stamp
            for p in range(entries.shape[0]):
                row = entries[p]
                if marks[0, row] != stamp:
                    marks[0, row] = stamp
                    heaps.offer(distances, indices, query, measure_pair(X, row, queries, query), row)
            # A query that is a row of the graph begins at its own edges.
            nearest = own[query]
            while True:
                if nearest < 0:
                    for p in range(indices.shape[1]):
                        row = indices[query, p]
                        if row >= X.shape[0] or marks[1, row] == stamp:
                            continue
                        if nearest < 0 or heaps.precedes(distances[query, p], row, least, nearest):
                            nearest, least = row, distances[query, p]
                    if nearest < 0:
                        break
                marks[1, nearest] = stamp
                for p in range(width):
                    row = links.edge(nearest, p)
                    if row >= 0 and marks[0, row] != stamp:
                        marks[0, row] = stamp
                        heaps.offer(distances, indices, query, measure_pair(X, row, queries, query), row)
                nearest = -1
            heaps.sort_line(distances, indices, query)
