"""Minimum spanning trees of mutual reachability: Boruvka's rounds over a tree of boxes, and Prim's algorithm.

The mutual reachability of two rows is the largest of their core distances and their distance over alpha; all functions
except :func:`visit` work with squares. Edges are ordered by weight, then by the lower and the higher of their row
indices. No two edges are equal in this order, so the minimum spanning tree is unique, whatever the search or the number
of threads.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
    from cython.cimports.mercer._native.space import joined_sets, space
else:
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.space import joined_sets, space

real = cython.fused_type(cython.float, cython.double)

# Values of `uniform`: the rows belong to several components; there are no rows.
MIXED = cython.declare(cython.int, -1)
UNLABELLED = cython.declare(cython.int, -2)
# An edge is compared after its distance was scaled, a leaf before; this factor covers the rounding of both.
ROUNDING = cython.declare(cython.double, 1.0 + 1e-12)


@cython.final
@cython.cclass
class Search:
    """A walk down a tree for a group of rows that skips nodes without an edge to another component.

    Parameters
    ----------
    nodes, boxes, order : (2 m - 1,), (2 m - 1, 2, d), (n,): the tree and the row index at each position
    core, least_core : (n,), (2 m - 1,): squared core distances by position, and the least of each node
    labels, uniform : (n,), (2 m - 1,): components by position, and the one that all rows of a node share, or MIXED
    limits, partner, weight : (n,): by position, the weight above which no edge is wanted, negative where none is; the
        lightest edge of each row, written
    scratch : (2, d), (128,), (128,), (32,): box of the group, nodes to visit, their distances, distances to a leaf
    scale : one over alpha squared
    """

    nodes: space.Node[::1]
    boxes: cython.const[cython.double][:, :, ::1]
    order: cython.const[cython.int][::1]
    core: cython.const[cython.double][::1]
    least_core: cython.const[cython.double][::1]
    labels: cython.const[cython.int][::1]
    uniform: cython.const[cython.int][::1]
    limits: cython.const[cython.double][::1]
    partner: cython.int[::1]
    weight: cython.double[::1]
    box: cython.double[:, ::1]
    stack: cython.int[::1]
    gaps: cython.double[::1]
    near: cython.double[::1]
    scale: cython.double
    top: cython.Py_ssize_t

    def __init__(self, tree, cores, components, edges, scratch, scale):
        self.nodes, self.boxes, self.order = tree
        self.core, self.least_core = cores
        self.labels, self.uniform = components
        self.limits, self.partner, self.weight = edges
        self.box, self.stack, self.gaps, self.near = scratch
        self.scale = scale
        self.top = 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def begin(
        self, rows: cython.const[cython.double][:, ::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> cython.void:
        """Begin at the root, for the rows from `start` to `stop`."""
        space.enclose(rows, start, stop, self.box)
        self.stack[0] = 0
        self.gaps[0] = 0.0
        self.top = 1

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def next_leaf(self, bound: cython.double, shared: cython.int) -> cython.Py_ssize_t:
        """Return the next leaf that may have an edge of at most `bound` out of component `shared`; -1 if none has."""
        while self.top > 0:
            node = self.stack[self.top - 1]
            # An edge into the node weighs at least the scaled gap and at least the least core distance in it.
            if (
                self.gaps[self.top - 1] * self.scale > bound
                or self.least_core[node] > bound
                or (shared >= 0 and self.uniform[node] == shared)
            ):
                self.top -= 1
            elif self.nodes[node].leaves > 1:
                self.top = space.descend(self.boxes, self.nodes, self.box, self.top, self.stack, self.gaps)
            else:
                self.top -= 1
                return node
        return -1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def take_lightest(search: Search, node: cython.Py_ssize_t, p: cython.Py_ssize_t) -> cython.void:
    """Keep the least edge from position `p` to another component in a leaf; ``search.near`` holds its distances."""
    q: cython.Py_ssize_t = search.nodes[node].first * space.WIDTH
    n: cython.Py_ssize_t = search.labels.shape[0]
    for j in range(space.WIDTH):
        if q + j >= n or search.labels[q + j] == search.labels[p]:
            continue
        # The weight of an edge is the largest of the scaled distance and both core distances.
        value = search.near[j] * search.scale
        value = search.core[p] if search.core[p] > value else value
        value = search.core[q + j] if search.core[q + j] > value else value
        # A cheap test before the exact order of edges is compared.
        if value > search.weight[p]:
            continue
        if search.partner[p] < 0 or space.precedes(
            value, search.order[p], search.order[q + j],
            search.weight[p], search.order[p], search.order[search.partner[p]],
        ):  # fmt: skip
            search.weight[p] = value
            search.partner[p] = cython.cast(cython.int, q + j)


def lightest_edges(
    rows: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    search: Search,
):
    """Find each row's least edge to another component, except where its component is known to have a lighter one.

    Parameters
    ----------
    rows : (q, d), the rows at positions `first` to `first` + q of the tree, in groups of `group`
    leaves : (m, d, 32), the rows of the tree
    search : ``partner``, the other row's position, and ``weight``, that of the edge, are written; or -1 and a weight
        below which the row has no edge to another component
    """
    start: cython.Py_ssize_t = first
    carried: cython.int = -1
    carried_limit: cython.double = INFINITY
    with cython.nogil:
        while start < first + rows.shape[0]:
            stop = min(start + group, first + rows.shape[0])
            search.begin(rows, start - first, stop - first)
            shared = UNLABELLED
            bound = -1.0
            for p in range(start, stop):
                if search.limits[p] >= 0.0:
                    search.partner[p] = -1
                    search.weight[p] = search.limits[p]
                    bound = search.limits[p] if search.limits[p] > bound else bound
                    shared = search.labels[p] if shared == UNLABELLED or shared == search.labels[p] else MIXED
            # Rows of one component compete for one edge: the best so far bounds the others, also in the next group.
            limit = carried_limit if shared >= 0 and shared == carried else INFINITY
            bound = limit if limit < bound else bound
            while True:
                node = search.next_leaf(bound, shared)
                if node < 0:
                    break
                bound = -1.0
                # `bound` becomes the largest weight that still helps a row of the group: leaves beyond it are skipped.
                for p in range(start, stop):
                    if search.limits[p] < 0.0:
                        continue
                    value = search.weight[p] if search.weight[p] < limit else limit
                    # Each term bounds the weight of every edge from `p` into the leaf from below; the cheap tests come
                    # first.
                    if (
                        search.core[p] <= value
                        and search.least_core[node] <= value
                        and search.uniform[node] != search.labels[p]
                        and space.point_gap(search.boxes, node, rows[p - first]) * search.scale <= value
                        and space.leaf_distances(
                            leaves, search.nodes[node].first, rows[p - first],
                            value / search.scale * ROUNDING, search.near,
                        )
                    ):  # fmt: skip
                        take_lightest(search, node, p)
                        if shared >= 0 and search.partner[p] >= 0 and search.weight[p] < limit:
                            limit = search.weight[p]
                    value = search.weight[p] if search.weight[p] < limit else limit
                    bound = value if value > bound and search.core[p] <= value else bound
            for p in range(start, stop):
                if search.limits[p] >= 0.0 and search.weight[p] > limit:
                    search.partner[p] = -1
                    search.weight[p] = limit
            if shared >= 0:
                carried = shared
                carried_limit = limit
            start = stop


def join(
    order: cython.const[cython.int][::1],
    labels: cython.int[::1],
    partner: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    best: cython.int[::1],
    edges: cython.int[:, ::1],
    lengths: cython.double[::1],
    n_edges: cython.Py_ssize_t,
    parent: cython.int[::1],
) -> cython.Py_ssize_t:
    """Add the lightest edge of each component to the spanning tree, and relabel; return the number of edges so far.

    Parameters
    ----------
    order : (n,), the row index at each position of the tree of boxes
    labels : (n,), components, each by the position of one of its rows, rewritten; negative for rows that do not count
    partner, weight : (n,), each row's lightest edge; -1 where it has none that can be its component's lightest
    best : (n,) scratch, the position whose edge is the lightest of each component
    edges, lengths : (n - 1, 2), (n - 1,), added to from `n_edges` on
    parent : (n,) scratch, a forest of components whose roots represent the joined components
    """
    with cython.nogil:
        for p in range(labels.shape[0]):
            best[p] = -1
            parent[p] = cython.cast(cython.int, p)
        # Each component's lightest edge, by the total order of edges.
        for p in range(labels.shape[0]):
            if partner[p] < 0 or labels[partner[p]] == labels[p]:
                continue
            label = labels[p]
            if best[label] < 0 or space.precedes(
                weight[p], order[p], order[partner[p]],
                weight[best[label]], order[best[label]], order[partner[best[label]]],
            ):  # fmt: skip
                best[label] = cython.cast(cython.int, p)
        for p in range(labels.shape[0]):
            if best[p] < 0:
                continue
            root = joined_sets.root_of(parent, labels[best[p]])
            other = joined_sets.root_of(parent, labels[partner[best[p]]])
            # Two components may choose the same edge; the strict order of edges excludes longer cycles.
            if root == other:
                continue
            # The lower position becomes the root, so that labels do not depend on the order of joins.
            parent[root if root > other else other] = root if root < other else other
            edges[n_edges, 0] = order[best[p]]
            edges[n_edges, 1] = order[partner[best[p]]]
            lengths[n_edges] = weight[best[p]]
            n_edges += 1
        for p in range(labels.shape[0]):
            if labels[p] >= 0:
                labels[p] = joined_sets.root_of(parent, labels[p])
    return n_edges


def visit(
    current: cython.Py_ssize_t,
    distances: cython.const[cython.double][::1],
    core: cython.const[cython.double][::1],
    alpha: cython.double,
    visited: cython.char[::1],
    source: cython.int[::1],
    weight: cython.double[::1],
) -> cython.Py_ssize_t:
    """Add row `current` to Prim's tree, given its `distances` to all rows; return the row to add next.

    Distances are not squared here. `source` and `weight` hold each row's lightest edge to the tree; `visited` marks the
    rows in the tree.
    """
    best: cython.Py_ssize_t = -1
    with cython.nogil:
        visited[current] = 1
        for j in range(core.shape[0]):
            if visited[j]:
                continue
            # Mutual reachability: max(d / alpha, core of either row).
            value = distances[j] / alpha
            value = core[current] if core[current] > value else value
            value = core[j] if core[j] > value else value
            # Only the row added last can lower the weight of a row outside the tree.
            if source[j] < 0 or space.precedes(
                value, cython.cast(cython.int, current), cython.cast(cython.int, j),
                weight[j], source[j], cython.cast(cython.int, j),
            ):  # fmt: skip
                source[j] = cython.cast(cython.int, current)
                weight[j] = value
            if best < 0 or space.precedes(
                weight[j], source[j], cython.cast(cython.int, j),
                weight[best], source[best], cython.cast(cython.int, best),
            ):  # fmt: skip
                best = j
    return best
