"""Search a tree of boxes for rows: those within a radius, the nearest with their indices, and Gaussian sums.

Consecutive rows are searched for in groups that share one walk down the tree: the nearer they lie to each other, the
more of it they share. Gaps and distances are summed in the order of columns, and rounding is monotone, so the gap to a
box is never above the computed distance to a row inside it: a search finds exactly what a comparison with all rows
finds. Distances are squared.

Other norms need no tree of their own. The p-norm of x is (sum |x_j|^p)^(1/p), the largest |x_j| for infinite p. In d
dimensions it is at least the Euclidean norm for p <= 2, and at least d^(1/p - 1/2) times it for p > 2. So the Euclidean
gap to a box, times that factor, bounds the distance to every row inside it. Distances by a norm are not squared.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY, fabs, pow
    from cython.cimports.mercer._native.nearest import heaps
    from cython.cimports.mercer._native.shared import inline
    from cython.cimports.mercer._native.space import space
else:
    from math import fabs, pow
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.nearest import heaps
    from mercer._native.shared import inline
    from mercer._native.space import space

real = cython.fused_type(cython.float, cython.double)

# Values of `uniform`, as in box_tree: the labels of a node's rows differ; no row of the node has a label.
MIXED = cython.declare(cython.int, -1)
UNLABELLED = cython.declare(cython.int, -2)


@cython.final
@cython.cclass
class Walk:
    """A walk down a tree for a group of rows: near children first, nodes out of reach left out.

    Parameters
    ----------
    nodes, boxes, order : (2 m - 1,), (2 m - 1, 2, d), (n,): the tree, and the row at each of its places
    scratch : box (2, d) of the group, stack and gaps (128,), distances to the rows of a leaf (32,)
    group : the number of rows that share a walk
    power : p of a norm, at least one, infinity for the largest difference; zero for squared Euclidean distances
    factor : the p-norm is at least the root of this times the square of the Euclidean norm; a little less, for rounding
    """

    nodes: space.Node[::1]
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

    def has_rows(self, n_rows: cython.Py_ssize_t):
        """Return whether rows are left that no walk has answered to its end."""
        return self.top > 0 or self.start < n_rows

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
        self.gaps[0] = space.box_gap(self.boxes, 0, self.box)
        self.top = 1

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def next_node(self, bound: cython.double) -> cython.Py_ssize_t:
        """Return the node on top of the stack once those farther than `bound` are dropped; -1 if the stack is empty."""
        while self.top > 0 and self.gaps[self.top - 1] > bound:
            self.top -= 1
        return self.stack[self.top - 1] if self.top > 0 else -1

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def descend(self, node: cython.Py_ssize_t) -> cython.bint:
        """Replace the node on top of the stack by its children and return True; drop a leaf and return False."""
        if self.nodes[node].leaves == 1:
            self.top -= 1
            return False
        self.top = space.descend(self.boxes, self.nodes, self.box, self.top, self.stack, self.gaps)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def next_leaf(self, bound: cython.double) -> cython.Py_ssize_t:
        """Remove the next leaf within `bound` from the stack and return its node; -1 if there is none."""
        node: cython.Py_ssize_t = self.next_node(bound)
        while node >= 0 and self.descend(node):
            node = self.next_node(bound)
        return node

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def square_of(self, distance: cython.double) -> cython.double:
        """Return the largest squared Euclidean distance of rows within `distance`."""
        return distance if self.power == 0.0 else distance * distance / self.factor


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def measure(
    leaves: cython.const[real][:, :, ::1],
    walk: Walk,
    node: cython.Py_ssize_t,
    x: cython.const[cython.double][::1],
    limit: cython.double,
) -> cython.bint:
    """Write the distances from `x` to the rows of a leaf to ``walk.near``; return whether any is at most `limit`."""
    if space.point_gap(walk.boxes, node, x) > limit:
        return False
    return space.leaf_distances(leaves, walk.nodes[node].first, x, limit, walk.near)


def count_within(
    rows: cython.const[cython.double][:, ::1],
    leaves: cython.const[real][:, :, ::1],
    walk: Walk,
    radius: cython.double,
    weight: cython.const[cython.double][::1],
    enough: cython.double,
    totals: cython.double[::1],
):
    """Add up the weight within a radius of each row, and stop at `enough`.

    Parameters
    ----------
    rows : (q, d)
    leaves, walk : the tree, of n rows
    radius : squared; rows at exactly this distance count
    weight : (n,) in the order of the tree, or empty when all are one
    totals : (q,), written; the sum over a part of the neighbours where it has reached `enough`
    """
    start: cython.Py_ssize_t = 0
    leaf: cython.Py_ssize_t
    near: cython.double[::1] = walk.near
    boxes: cython.const[cython.double][:, :, ::1] = walk.boxes
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + walk.group, rows.shape[0])
            walk.begin(rows, start, stop)
            totals[start:stop] = 0.0
            open_rows = stop - start
            while open_rows > 0:
                node = walk.next_leaf(radius)
                if node < 0:
                    break
                leaf = walk.nodes[node].first
                for i in range(start, stop):
                    # Spelled out: this is the hottest loop, and calling `measure` costs it a tenth.
                    if totals[i] >= enough or space.point_gap(boxes, node, rows[i]) > radius:
                        continue
                    if not space.leaf_distances(leaves, leaf, rows[i], radius, near):
                        continue
                    for j in range(space.WIDTH):
                        if near[j] <= radius:
                            totals[i] += 1.0 if weight.shape[0] == 0 else weight[leaf * space.WIDTH + j]
                    if totals[i] >= enough:
                        open_rows -= 1
            start = stop


def find_links(
    rows: cython.const[cython.double][:, ::1],
    own: cython.const[cython.int][::1],
    leaves: cython.const[real][:, :, ::1],
    walk: Walk,
    radius: cython.double,
    labels: cython.const[cython.int][::1],
    uniform: cython.const[cython.int][::1],
    links: cython.int[::1],
):
    """Find, for each row, one row of another label within the radius: the first that the walk meets.

    Parameters
    ----------
    rows, leaves, walk, radius : as in `count_within`
    own : (q,), the rows' labels; negative for rows that need no link
    labels : (n,), in the order of the tree; negative where a row does not count
    uniform : per node the label that its rows share, MIXED if they differ, UNLABELLED if none counts
    links : (q,), written: the position in the tree of the row found, or -1
    """
    start: cython.Py_ssize_t = 0
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + walk.group, rows.shape[0])
            walk.begin(rows, start, stop)
            shared = UNLABELLED
            open_rows = 0
            for i in range(start, stop):
                links[i] = -1
                if own[i] >= 0:
                    open_rows += 1
                    shared = own[i] if shared == UNLABELLED or shared == own[i] else MIXED
            while open_rows > 0:
                node = walk.next_node(radius)
                if node < 0:
                    break
                # A node whose rows all belong to the component of the group has no link to another component.
                if uniform[node] == UNLABELLED or (shared >= 0 and uniform[node] == shared):
                    walk.top -= 1
                    continue
                if walk.descend(node):
                    continue
                for i in range(start, stop):
                    if own[i] < 0 or links[i] >= 0 or uniform[node] == own[i]:
                        continue
                    if not measure(leaves, walk, node, rows[i], radius):
                        continue
                    for j in range(space.WIDTH):
                        place = walk.nodes[node].first * space.WIDTH + j
                        if near[j] <= radius and labels[place] >= 0 and labels[place] != own[i]:
                            links[i] = cython.cast(cython.int, place)
                            open_rows -= 1
                            break
            start = stop


def lowest_within(
    rows: cython.const[cython.double][:, ::1],
    leaves: cython.const[real][:, :, ::1],
    walk: Walk,
    radius: cython.double,
    labels: cython.const[cython.int][::1],
    lowest: cython.const[cython.int][::1],
    out: cython.int[::1],
):
    """Lower each entry of `out` to the lowest label within the radius of its row.

    Parameters
    ----------
    rows, leaves, walk, radius : as in `count_within`
    labels : (n,), in the order of the tree; a value above all labels where a row has none
    lowest : per node the lowest label of its rows
    out : (q,), lowered
    """
    start: cython.Py_ssize_t = 0
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + walk.group, rows.shape[0])
            walk.begin(rows, start, stop)
            highest = out[start]
            for i in range(start, stop):
                highest = out[i] if out[i] > highest else highest
            while True:
                node = walk.next_node(radius)
                if node < 0:
                    break
                # `highest` is the largest label in the group: a node without a lower label changes nothing.
                if lowest[node] >= highest:
                    walk.top -= 1
                    continue
                if walk.descend(node):
                    continue
                # Recomputed below over the whole group, since labels only fall.
                highest = 0
                for i in range(start, stop):
                    if lowest[node] < out[i] and measure(leaves, walk, node, rows[i], radius):
                        for j in range(space.WIDTH):
                            place = walk.nodes[node].first * space.WIDTH + j
                            if near[j] <= radius and labels[place] < out[i]:
                                out[i] = labels[place]
                    highest = out[i] if out[i] > highest else highest
            start = stop


def climb(
    rows: cython.const[cython.double][:, ::1],
    leaves: cython.const[real][:, :, ::1],
    walk: Walk,
    weight: cython.const[cython.double][::1],
    sharpness: cython.double,
    radius: cython.double,
    lanes: cython.double[:, :, ::1],
    sums: cython.double[::1],
    means: cython.double[:, ::1],
):
    """Sum w exp(-sharpness |x - y|^2) over the tree for each row x, and compute the mean of y with these weights.

    Parameters
    ----------
    rows, leaves, walk : as in `count_within`
    weight : (32 m,), of the rows of the tree, zero where a leaf is not full
    radius : squared; rows farther away are left out
    lanes : (group, d + 1, 32) scratch, partial sums of y and of the weights
    sums, means : (q,), (q, d), written; the mean of a row without neighbours within `radius` is the row itself
    """
    d: cython.Py_ssize_t = rows.shape[1]
    start: cython.Py_ssize_t = 0
    leaf: cython.Py_ssize_t
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + walk.group, rows.shape[0])
            walk.begin(rows, start, stop)
            lanes[: stop - start, :, :] = 0.0
            node = walk.next_leaf(radius)
            while node >= 0:
                leaf = walk.nodes[node].first
                for i in range(start, stop):
                    if measure(leaves, walk, node, rows[i], radius):
                        for j in range(space.WIDTH):
                            near[j] = inline.exp(-sharpness * near[j]) if near[j] <= radius else 0.0
                            near[j] *= weight[leaf * space.WIDTH + j]
                            lanes[i - start, d, j] += near[j]
                        for k in range(d):
                            # The padding of the last leaf is infinite: zero times it must not become NaN.
                            for j in range(space.WIDTH):
                                lanes[i - start, k, j] += near[j] * leaves[leaf, k, j] if near[j] > 0 else 0.0
                node = walk.next_leaf(radius)
            for i in range(start, stop):
                sums[i] = inline.sum(lanes[i - start, d])
                for k in range(d):
                    means[i, k] = inline.sum(lanes[i - start, k]) / sums[i] if sums[i] > 0.0 else rows[i, k]
            start = stop


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
    walk: Walk,
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
    row: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    node: cython.Py_ssize_t
    visits: cython.Py_ssize_t = 0
    is_near: cython.bint
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
                place = walk.nodes[node].first * space.WIDTH
                bound = 0.0
                visits += stop - start
                for i in range(start, stop):
                    if walk.power == 0.0:
                        is_near = space.point_gap(boxes, node, queries[i]) <= distances[i, 0] and space.leaf_distances(
                            leaves, walk.nodes[node].first, queries[i], distances[i, 0], near
                        )
                    else:
                        is_near = True
                        measure_norm(leaves, walk.nodes[node].first, queries, i, walk.power, near)
                    if is_near:
                        for j in range(min(space.WIDTH, order.shape[0] - place)):
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
    walk: Walk,
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
    count: cython.Py_ssize_t = 0
    near: cython.double[::1] = walk.near
    boxes: cython.const[cython.double][:, :, ::1] = walk.boxes
    order: cython.const[cython.int][::1] = walk.order
    with cython.nogil:
        while walk.start < queries.shape[0]:
            stop = min(walk.start + walk.group, queries.shape[0])
            if walk.top == 0:
                walk.begin(queries, walk.start, stop)
            while walk.top > 0 and count + walk.group * space.WIDTH <= found.shape[0]:
                node = walk.next_leaf(square)
                if node < 0:
                    break
                place = walk.nodes[node].first * space.WIDTH
                for i in range(walk.start, stop):
                    if space.point_gap(boxes, node, queries[i]) <= square and space.leaf_distances(
                        leaves, walk.nodes[node].first, queries[i], square, near
                    ):
                        for j in range(min(space.WIDTH, order.shape[0] - place)):
                            if near[j] <= square and order[place + j] != own[i]:
                                pairs[count, 0] = i
                                pairs[count, 1] = order[place + j]
                                found[count] = near[j]
                                count += 1
            if walk.top > 0:
                break
            walk.start = stop
    return count
