"""Hierarchies along the edges of a graph: the two closest clusters that an edge joins merge, again and again.

Each cluster has a linked list of its edges. A merge makes a new cluster, with the index after all others, and new edges
to all neighbours of its two parts. Edges of clusters that have merged stay in the lists and in the heap and are passed
over when they come up: each edge is visited once in either list and once in the heap. Linkages are numbered as in
``mercer.cluster._hierarchy.merging.LINKAGES``; single linkage follows from the shortest edges that span the graph.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.shared import inline
else:
    from math import sqrt

    from mercer._native.shared import inline

COMPLETE = cython.declare(cython.int, 0)
AVERAGE = cython.declare(cython.int, 1)
WARD = cython.declare(cython.int, 3)
MEDIAN = cython.declare(cython.int, 5)
# Children of a place of the heap: those of place i are 4 i + 1 to 4 i + 4, side by side in the cache.
CHILDREN = cython.declare(cython.Py_ssize_t, 4)


@cython.final
@cython.cclass
class Clusters:
    """The clusters: n rows, then those that merges have made.

    `means` (2 n - 1, d) has no columns if distances follow from those of the parts; `sizes` (2 n - 1,) are zero for
    clusters that have merged or are not made yet; `firsts` (2 n - 1,) is the first edge of each list, twice its index
    plus the side on which the cluster stands, or -1; `degrees` (2 n - 1,) are the lengths of the lists; `rows`
    (2 n - 1,) is a row of each cluster; `marks` (2 n - 1,) is scratch, all zero before the first merge.
    """

    means: cython.double[:, ::1]
    sizes: cython.double[::1]
    firsts: cython.int[::1]
    degrees: cython.int[::1]
    rows: cython.Py_ssize_t[::1]
    marks: cython.int[::1]

    def __init__(self, means, sizes, firsts, degrees, rows, marks):
        self.means, self.sizes, self.firsts, self.degrees = means, sizes, firsts, degrees
        self.rows, self.marks = rows, marks

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gap(self, linkage: cython.int, a: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.double:
        """Return the distance of two clusters by their means: Ward's sqrt(2 m n / (m + n)) |a - b|, or |a - b|."""
        square: cython.double = inline.distance_squared(self.means[a], self.means[b])
        if linkage == WARD:
            square *= 2.0 * self.sizes[a] * self.sizes[b] / (self.sizes[a] + self.sizes[b])
        return sqrt(square)


@cython.final
@cython.cclass
class Edges:
    """The edges, and a heap of them.

    `ends` (m, 2) are the clusters of each edge and `lengths` (m,) their distances; `nexts` (m, 2) continues the lists
    of both ends; `keys` (m,) and `heap` (m,) are lengths and indices of edges in the order of the heap; `counts` (2,)
    are the edges and the places of the heap in use.
    """

    ends: cython.int[:, ::1]
    lengths: cython.double[::1]
    nexts: cython.int[:, ::1]
    keys: cython.double[::1]
    heap: cython.int[::1]
    counts: cython.Py_ssize_t[::1]

    def __init__(self, ends, lengths, nexts, keys, heap, counts):
        self.ends, self.lengths, self.nexts, self.keys, self.heap, self.counts = (
            ends,
            lengths,
            nexts,
            keys,
            heap,
            counts,
        )

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def precedes(
        self, key: cython.double, edge: cython.int, other_key: cython.double, other: cython.int
    ) -> cython.bint:
        """Return whether an edge comes before another one: by length, then by its two clusters."""
        if key != other_key:
            return key < other_key
        if self.ends[edge, 0] != self.ends[other, 0]:
            return self.ends[edge, 0] < self.ends[other, 0]
        return self.ends[edge, 1] < self.ends[other, 1]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def push(self, edge: cython.int) -> cython.void:
        """Add an edge to the heap."""
        key: cython.double = self.lengths[edge]
        place: cython.Py_ssize_t = self.counts[1]
        self.counts[1] += 1
        while place > 0:
            parent: cython.Py_ssize_t = (place - 1) // CHILDREN
            if not self.precedes(key, edge, self.keys[parent], self.heap[parent]):
                break
            self.keys[place] = self.keys[parent]
            self.heap[place] = self.heap[parent]
            place = parent
        self.keys[place] = key
        self.heap[place] = edge

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def drop(self) -> cython.void:
        """Remove the first edge of the heap; the last one takes its place and moves down."""
        self.counts[1] -= 1
        size: cython.Py_ssize_t = self.counts[1]
        key: cython.double = self.keys[size]
        edge: cython.int = self.heap[size]
        place: cython.Py_ssize_t = 0
        first: cython.Py_ssize_t = 1
        while first < size:
            stop: cython.Py_ssize_t = first + CHILDREN if first + CHILDREN < size else size
            best: cython.Py_ssize_t = first
            for child in range(first + 1, stop):
                if self.precedes(self.keys[child], self.heap[child], self.keys[best], self.heap[best]):
                    best = child
            if not self.precedes(self.keys[best], self.heap[best], key, edge):
                break
            self.keys[place] = self.keys[best]
            self.heap[place] = self.heap[best]
            place = best
            first = CHILDREN * place + 1
        self.keys[place] = key
        self.heap[place] = edge


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def link(clusters: Clusters, edges: Edges, edge: cython.int) -> cython.void:
    """Put an edge first in the lists of its two clusters, and into the heap."""
    for side in range(2):
        end: cython.Py_ssize_t = edges.ends[edge, side]
        edges.nexts[edge, side] = clusters.firsts[end]
        clusters.firsts[end] = 2 * edge + side
        clusters.degrees[end] += 1
    edges.push(edge)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def combine(
    linkage: cython.int, a: cython.double, b: cython.double, m: cython.double, n: cython.double
) -> cython.double:
    """Return the distance of a union from a third cluster that is `a` and `b` away from its parts of sizes m and n."""
    if linkage == COMPLETE:
        return a if a > b else b
    if linkage == AVERAGE:
        return (m * a + n * b) / (m + n)
    # Weighted linkage.
    return 0.5 * (a + b)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(
    clusters: Clusters,
    edges: Edges,
    linkage: cython.int,
    part: cython.Py_ssize_t,
    union: cython.int,
    m: cython.double,
    n: cython.double,
    start: cython.Py_ssize_t,
) -> cython.void:
    """Make an edge from `union` to each neighbour of one of its parts; a second edge to the same one is combined."""
    half: cython.int = clusters.firsts[part]
    while half >= 0:
        edge: cython.int = half >> 1
        side: cython.int = half & 1
        other: cython.int = edges.ends[edge, 1 - side]
        half = edges.nexts[edge, side]
        if clusters.sizes[other] == 0.0:
            continue
        # Edges of this merge begin at `start`, so a smaller mark is of an earlier one.
        known: cython.Py_ssize_t = clusters.marks[other] - 1
        if known < start:
            known = edges.counts[0]
            edges.counts[0] += 1
            clusters.marks[other] = cython.cast(cython.int, known + 1)
            edges.ends[known, 0] = other
            edges.ends[known, 1] = union
            edges.lengths[known] = edges.lengths[edge]
        else:
            edges.lengths[known] = combine(linkage, edges.lengths[known], edges.lengths[edge], m, n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unite(
    clusters: Clusters, edges: Edges, linkage: cython.int, a: cython.Py_ssize_t, b: cython.Py_ssize_t, union: cython.int
) -> cython.void:
    """Merge clusters `a` and `b` into `union`."""
    start: cython.Py_ssize_t = edges.counts[0]
    m: cython.double = clusters.sizes[a]
    n: cython.double = clusters.sizes[b]
    # Median linkage takes the middle of the two means, whatever their weights.
    share: cython.double = 0.5 if linkage == MEDIAN else m / (m + n)
    for k in range(clusters.means.shape[1]):
        clusters.means[union, k] = share * clusters.means[a, k] + (1.0 - share) * clusters.means[b, k]
    clusters.sizes[a] = 0.0
    clusters.sizes[b] = 0.0
    clusters.sizes[union] = m + n
    clusters.rows[union] = clusters.rows[a]
    gather(clusters, edges, linkage, a, union, m, n, start)
    gather(clusters, edges, linkage, b, union, m, n, start)
    for edge in range(start, edges.counts[0]):
        if clusters.means.shape[1] > 0:
            edges.lengths[edge] = clusters.gap(linkage, union, edges.ends[edge, 0])
        link(clusters, edges, cython.cast(cython.int, edge))


def link_edges(clusters: Clusters, edges: Edges, linkage: cython.int, measure: cython.bint):
    """Make the lists and the heap of all edges; if `measure`, write their lengths by the means of clusters first."""
    with cython.nogil:
        for edge in range(edges.counts[0]):
            if measure:
                edges.lengths[edge] = clusters.gap(linkage, edges.ends[edge, 0], edges.ends[edge, 1])
            link(clusters, edges, cython.cast(cython.int, edge))


def merge_closest(
    clusters: Clusters,
    edges: Edges,
    linkage: cython.int,
    union: cython.int,
    work: cython.Py_ssize_t,
    pairs: cython.Py_ssize_t[:, ::1],
    heights: cython.double[::1],
) -> cython.Py_ssize_t:
    """Merge the closest clusters; write a row of either and the height of each merge, and return the number of merges.

    Parameters
    ----------
    clusters, edges : changed
    linkage : its number
    union : the index of the next cluster
    work : edges to visit, about
    pairs, heights : (k, 2) and (k,), written

    It ends when `pairs` is full, the work is done, no edge is left, or `edges` has no room for those of the next merge.
    """
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        while made < pairs.shape[0] and work > 0 and edges.counts[1] > 0:
            edge: cython.int = edges.heap[0]
            a: cython.Py_ssize_t = edges.ends[edge, 0]
            b: cython.Py_ssize_t = edges.ends[edge, 1]
            work -= 1
            if clusters.sizes[a] == 0.0 or clusters.sizes[b] == 0.0:
                edges.drop()
                continue
            more: cython.Py_ssize_t = clusters.degrees[a] + clusters.degrees[b]
            if edges.counts[0] + more > edges.lengths.shape[0]:
                break
            edges.drop()
            pairs[made, 0] = clusters.rows[a]
            pairs[made, 1] = clusters.rows[b]
            heights[made] = edges.lengths[edge]
            unite(clusters, edges, linkage, a, b, cython.cast(cython.int, union + made))
            made += 1
            work -= more
    return made
