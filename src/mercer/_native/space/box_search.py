"""Search a tree of boxes for rows: those within a radius, the k nearest, and Gaussian sums.

Consecutive rows are searched for in groups that share one walk down the tree: the nearer they lie to each other, the
more of it they share. All distances are squared.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
    from cython.cimports.mercer._native.shared import inline
    from cython.cimports.mercer._native.space import space
else:
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.shared import inline
    from mercer._native.space import space

real = cython.fused_type(cython.float, cython.double)

# Columns of `nodes`.
FIRST_LEAF = cython.declare(cython.Py_ssize_t, 0)
N_LEAVES = cython.declare(cython.Py_ssize_t, 1)
# Values of `uniform`, as in box_tree: the labels of a node's rows differ; no row of the node has a label.
MIXED = cython.declare(cython.int, -1)
UNLABELLED = cython.declare(cython.int, -2)


@cython.final
@cython.cclass
class Walk:
    """A walk down a tree for a group of rows: near children first, nodes out of reach left out.

    `nodes` (2 m - 1, 2) and `boxes` (2 m - 1, 2, d) are the tree. Scratch are `box` (2, d), that of the group, `stack`
    and `gaps` (128,), nodes to visit and their distances to it, and `near` (32,), distances to the rows of a leaf.
    """

    nodes: cython.const[cython.int][:, ::1]
    boxes: cython.const[cython.double][:, :, ::1]
    box: cython.double[:, ::1]
    stack: cython.int[::1]
    gaps: cython.double[::1]
    near: cython.double[::1]
    top: cython.Py_ssize_t

    def __init__(self, nodes, boxes, box, stack, gaps, near):
        self.nodes, self.boxes, self.box, self.stack, self.gaps, self.near = nodes, boxes, box, stack, gaps, near

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
        if self.nodes[node, N_LEAVES] == 1:
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
    return space.leaf_distances(leaves, walk.nodes[node, FIRST_LEAF], x, limit, walk.near)


def count_within(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
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
    rows : (q, d), in groups of `group`
    leaves, walk : the tree, of n rows
    radius : squared; rows at exactly this distance count
    weight : (n,) in the order of the tree, or empty when all are one
    totals : (q,), written; the sum over a part of the neighbours where it has reached `enough`
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    leaf: cython.Py_ssize_t
    open_rows: cython.Py_ssize_t
    near: cython.double[::1] = walk.near
    boxes: cython.const[cython.double][:, :, ::1] = walk.boxes
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + group, rows.shape[0])
            walk.begin(rows, start, stop)
            totals[start:stop] = 0.0
            open_rows = stop - start
            while open_rows > 0:
                node = walk.next_leaf(radius)
                if node < 0:
                    break
                leaf = walk.nodes[node, FIRST_LEAF]
                for i in range(start, stop):
                    # Spelled out: this is the hottest loop, and calling `measure` costs it a tenth.
                    if totals[i] >= enough or space.point_gap(boxes, node, rows[i]) > radius:
                        continue
                    if not space.leaf_distances(leaves, leaf, rows[i], radius, near):
                        continue
                    for j in range(space.width()):
                        if near[j] <= radius:
                            totals[i] += 1.0 if weight.shape[0] == 0 else weight[leaf * space.width() + j]
                    if totals[i] >= enough:
                        open_rows -= 1
            start = stop


def find_links(
    rows: cython.const[cython.double][:, ::1],
    own: cython.const[cython.int][::1],
    group: cython.Py_ssize_t,
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
    rows, group, leaves, walk, radius : as in `count_within`
    own : (q,), the rows' labels; negative for rows that need no link
    labels : (n,), in the order of the tree; negative where a row does not count
    uniform : per node the label that its rows share, MIXED if they differ, UNLABELLED if none counts
    links : (q,), written: the position in the tree of the row found, or -1
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    place: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    shared: cython.int
    open_rows: cython.Py_ssize_t
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + group, rows.shape[0])
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
                    for j in range(space.width()):
                        place = walk.nodes[node, FIRST_LEAF] * space.width() + j
                        if near[j] <= radius and labels[place] >= 0 and labels[place] != own[i]:
                            links[i] = cython.cast(cython.int, place)
                            open_rows -= 1
                            break
            start = stop


def lowest_within(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
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
    rows, group, leaves, walk, radius : as in `count_within`
    labels : (n,), in the order of the tree; a value above all labels where a row has none
    lowest : per node the lowest label of its rows
    out : (q,), lowered
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    place: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    highest: cython.int
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + group, rows.shape[0])
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
                        for j in range(space.width()):
                            place = walk.nodes[node, FIRST_LEAF] * space.width() + j
                            if near[j] <= radius and labels[place] < out[i]:
                                out[i] = labels[place]
                    highest = out[i] if out[i] > highest else highest
            start = stop


def kth_nearest(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    walk: Walk,
    nearest: cython.double[:, ::1],
    out: cython.double[:, ::1],
):
    """Write the squared distances from each row to its k nearest rows of the tree, itself among them if it is there.

    Parameters
    ----------
    rows, group, leaves, walk : as in `count_within`
    nearest : (group, k) scratch, the k nearest of each row of a group, sorted
    out : (q, c), written: the last c of the k, nearest first
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t = nearest.shape[1]
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    bound: cython.double
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + group, rows.shape[0])
            walk.begin(rows, start, stop)
            nearest[: stop - start, :] = INFINITY
            # The largest k-th distance of the group so far: no node farther than this can improve any row.
            bound = INFINITY
            node = walk.next_leaf(bound)
            while node >= 0:
                bound = 0.0
                for i in range(stop - start):
                    if measure(leaves, walk, node, rows[start + i], nearest[i, k - 1]):
                        for j in range(space.width()):
                            if near[j] < nearest[i, k - 1]:
                                # Insertion into the sorted list; k is small.
                                r = k - 1
                                while r > 0 and nearest[i, r - 1] > near[j]:
                                    nearest[i, r] = nearest[i, r - 1]
                                    r -= 1
                                nearest[i, r] = near[j]
                    bound = nearest[i, k - 1] if nearest[i, k - 1] > bound else bound
                node = walk.next_leaf(bound)
            for i in range(stop - start):
                for r in range(out.shape[1]):
                    out[start + i, r] = nearest[i, k - out.shape[1] + r]
            start = stop


def climb(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
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
    rows, group, leaves, walk : as in `count_within`
    weight : (32 m,), of the rows of the tree, zero where a leaf is not full
    radius : squared; rows farther away are left out
    lanes : (group, d + 1, 32) scratch, partial sums of y and of the weights
    sums, means : (q,), (q, d), written; the mean of a row without neighbours within `radius` is the row itself
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = rows.shape[1]
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    node: cython.Py_ssize_t
    leaf: cython.Py_ssize_t
    near: cython.double[::1] = walk.near
    with cython.nogil:
        while start < rows.shape[0]:
            stop = min(start + group, rows.shape[0])
            walk.begin(rows, start, stop)
            lanes[: stop - start, :, :] = 0.0
            node = walk.next_leaf(radius)
            while node >= 0:
                leaf = walk.nodes[node, FIRST_LEAF]
                for i in range(start, stop):
                    if measure(leaves, walk, node, rows[i], radius):
                        for j in range(space.width()):
                            near[j] = inline.exp(-sharpness * near[j]) if near[j] <= radius else 0.0
                            near[j] *= weight[leaf * space.width() + j]
                            lanes[i - start, d, j] += near[j]
                        for k in range(d):
                            # The padding of the last leaf is infinite: zero times it must not become NaN.
                            for j in range(space.width()):
                                lanes[i - start, k, j] += near[j] * leaves[leaf, k, j] if near[j] > 0 else 0.0
                node = walk.next_leaf(radius)
            for i in range(start, stop):
                sums[i] = inline.sum(lanes[i - start, d])
                for k in range(d):
                    means[i, k] = inline.sum(lanes[i - start, k]) / sums[i] if sums[i] > 0.0 else rows[i, k]
            start = stop
