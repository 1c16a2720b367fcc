"""Search a tree of boxes for the nearest rows, and for rows within a radius, with their indices.

Consecutive queries are searched for in groups that share one walk down the tree. Gaps and distances are summed in the
order of columns, and rounding is monotone, so the gap to a box is never above the computed distance to a row inside it:
the search finds exactly what a comparison with all rows finds. Distances are squared.

Other norms need no tree of their own. The p-norm of x is (sum |x_j|^p)^(1/p), the largest |x_j| for infinite p. In d
dimensions it is at least the Euclidean norm for p <= 2, and at least d^(1/p - 1/2) times it for p > 2. So the Euclidean
gap to a box, times that factor, bounds the distance to every row inside it. Distances by a norm are not squared.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY, fabs, pow
    from cython.cimports.mercer._native.nearest import heaps
    from cython.cimports.mercer._native.space import space
else:
    from math import fabs, pow
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.nearest import heaps
    from mercer._native.space import space

real = cython.fused_type(cython.float, cython.double)

# Columns of `nodes`.
FIRST_LEAF = cython.declare(cython.Py_ssize_t, 0)
N_LEAVES = cython.declare(cython.Py_ssize_t, 1)


@cython.final
@cython.cclass
class Descent:
    """A walk down a tree for a group of queries: near children first, nodes out of reach left out.

    Parameters
    ----------
    nodes, boxes, order : (2 m - 1, 2), (2 m - 1, 2, d), (n,): the tree, and the row at each of its places
    scratch : box (2, d) of the group, stack and gaps (128,), distances to the rows of a leaf (32,)
    group : the number of queries that share a walk
    power : p of a norm, at least one, infinity for the largest difference; zero for squared Euclidean distances
    factor : the p-norm is at least the root of this times the square of the Euclidean norm; a little less, for rounding
    """

    nodes: cython.const[cython.int][:, ::1]
    boxes: cython.const[cython.double][:, :, ::1]
    order: cython.const[cython.int][::1]
    box: cython.double[:, ::1]
    stack: cython.int[::1]
    gaps: cython.double[::1]
    near: cython.double[::1]
    group: cython.Py_ssize_t
    power: cython.double
    factor: cython.double
    top: cython.Py_ssize_t
    start: cython.Py_ssize_t

    def __init__(self, nodes, boxes, order, scratch, group, power=0.0, factor=1.0):
        self.nodes, self.boxes, self.order, self.group = nodes, boxes, order, group
        self.power, self.factor = power, factor
        self.box, self.stack, self.gaps, self.near = scratch
        self.top, self.start = 0, 0

    def has_queries(self, n_queries: cython.Py_ssize_t):
        """Return whether queries are left that no walk has answered to its end."""
        return self.top > 0 or self.start < n_queries

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def begin(
        self, queries: cython.const[cython.double][:, ::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> cython.void:
        """Begin at the root, for the queries from `start` to `stop`."""
        space.enclose(queries, start, stop, self.box)
        self.stack[0] = 0
        self.gaps[0] = space.box_gap(self.boxes, 0, self.box)
        self.top = 1

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def next_leaf(self, bound: cython.double) -> cython.Py_ssize_t:
        """Remove the next leaf within `bound` from the stack and return its node; -1 if there is none."""
        node: cython.Py_ssize_t
        while self.top > 0:
            if self.gaps[self.top - 1] > bound:
                self.top -= 1
                continue
            node = self.stack[self.top - 1]
            if self.nodes[node, N_LEAVES] == 1:
                self.top -= 1
                return node
            self.top = space.descend(self.boxes, self.nodes, self.box, self.top, self.stack, self.gaps)
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def square_of(self, distance: cython.double) -> cython.double:
        """Return the largest squared Euclidean distance of rows within `distance`."""
        return distance if self.power == 0.0 else distance * distance / self.factor


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_norm(
    leaves: cython.const[real][:, :, ::1],
    leaf: cython.Py_ssize_t,
    queries: cython.const[cython.double][:, ::1],
    query: cython.Py_ssize_t,
    power: cython.double,
    near: cython.double[::1],
) -> cython.void:
    """Write the p-norms of the differences between a query and the rows of a leaf."""
    j: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    value: cython.double
    step: cython.double
    near[:] = 0.0
    for j in range(queries.shape[1]):
        value = queries[query, j]
        if power == 1.0:
            for lane in range(32):
                near[lane] += fabs(cython.cast(cython.double, leaves[leaf, j, lane]) - value)
        elif power == INFINITY:
            for lane in range(32):
                step = fabs(cython.cast(cython.double, leaves[leaf, j, lane]) - value)
                near[lane] = step if step > near[lane] else near[lane]
        else:
            for lane in range(32):
                near[lane] += pow(fabs(cython.cast(cython.double, leaves[leaf, j, lane]) - value), power)
    if power != 1.0 and power != INFINITY:
        for lane in range(32):
            near[lane] = pow(near[lane], 1.0 / power)


def search_tree(
    queries: cython.const[cython.double][:, ::1],
    own: cython.const[cython.Py_ssize_t][::1],
    leaves: cython.const[real][:, :, ::1],
    walk: Descent,
    distances: cython.double[:, ::1],
    indices: cython.Py_ssize_t[:, ::1],
) -> cython.Py_ssize_t:
    """Find the k nearest rows of each query, in order; return how often a query was compared with a leaf.

    Parameters
    ----------
    queries, own : (b, d), (b,): `own` is a row that is not a neighbour of the query, or -1
    leaves, walk : the tree
    distances, indices : (b, k), heaps as `heaps` says; written, the nearest row first
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    visits: cython.Py_ssize_t = 0
    is_near: cython.bint
    square: cython.double
    bound: cython.double
    near: cython.double[::1] = walk.near
    boxes: cython.const[cython.double][:, :, ::1] = walk.boxes
    order: cython.const[cython.int][::1] = walk.order
    with cython.nogil:
        while start < queries.shape[0]:
            stop = min(start + walk.group, queries.shape[0])
            walk.begin(queries, start, stop)
            # The square of the largest k-th distance of the group so far: no node beyond it can improve any query.
            bound = INFINITY
            node = walk.next_leaf(bound)
            while node >= 0:
                place = walk.nodes[node, FIRST_LEAF] * space.width()
                bound = 0.0
                visits += stop - start
                for i in range(start, stop):
                    if walk.power == 0.0:
                        is_near = space.point_gap(boxes, node, queries[i]) <= distances[i, 0] and space.leaf_distances(
                            leaves, walk.nodes[node, FIRST_LEAF], queries[i], distances[i, 0], near
                        )
                    else:
                        is_near = True
                        measure_norm(leaves, walk.nodes[node, FIRST_LEAF], queries, i, walk.power, near)
                    if is_near:
                        for j in range(min(space.width(), order.shape[0] - place)):
                            if near[j] <= distances[i, 0]:
                                row = order[place + j]
                                if row != own[i]:
                                    heaps.offer(distances, indices, i, near[j], row)
                    square = walk.square_of(distances[i, 0])
                    bound = square if square > bound else bound
                node = walk.next_leaf(bound)
            for i in range(start, stop):
                heaps.sort_line(distances, indices, i)
            start = stop
    return visits


def list_within(
    queries: cython.const[cython.double][:, ::1],
    own: cython.const[cython.Py_ssize_t][::1],
    leaves: cython.const[real][:, :, ::1],
    walk: Descent,
    square: cython.double,
    pairs: cython.Py_ssize_t[:, ::1],
    found: cython.double[::1],
) -> cython.Py_ssize_t:
    """List the rows within squared distance `square` of each query, until all are listed or `pairs` is almost full.

    A call goes on where the last one with the same `walk` ended. Returns the number of pairs.

    Parameters
    ----------
    queries, own, leaves, walk : as in `search_tree`
    pairs, found : (c, 2), (c,), written: query and row, and their squared distance; c is at least 32 times `group`
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    place: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    near: cython.double[::1] = walk.near
    boxes: cython.const[cython.double][:, :, ::1] = walk.boxes
    order: cython.const[cython.int][::1] = walk.order
    with cython.nogil:
        while walk.start < queries.shape[0]:
            stop = min(walk.start + walk.group, queries.shape[0])
            if walk.top == 0:
                walk.begin(queries, walk.start, stop)
            while walk.top > 0 and count + walk.group * space.width() <= found.shape[0]:
                node = walk.next_leaf(square)
                if node < 0:
                    break
                place = walk.nodes[node, FIRST_LEAF] * space.width()
                for i in range(walk.start, stop):
                    if space.point_gap(boxes, node, queries[i]) <= square and space.leaf_distances(
                        leaves, walk.nodes[node, FIRST_LEAF], queries[i], square, near
                    ):
                        for j in range(min(space.width(), order.shape[0] - place)):
                            if near[j] <= square and order[place + j] != own[i]:
                                pairs[count, 0] = i
                                pairs[count, 1] = order[place + j]
                                found[count] = near[j]
                                count += 1
            if walk.top > 0:
                break
            walk.start = stop
    return count
