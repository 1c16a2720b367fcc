"""Mutual reachability in a tree of boxes: core distances, and the lightest edges that leave each component.

The mutual reachability of two rows is the largest of their core distances and their distance over alpha; everything
here is squared. Edges are ordered by weight, then by the lower and the higher of their rows' numbers. No two edges are
equal in that order, so the minimum spanning tree is unique, whatever the tree, the search or the number of threads.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
    from cython.cimports.mercer._native.space import space
else:
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.space import space

__all__ = ["join", "kth_nearest", "lightest_edges", "visit"]

real = cython.fused_type(cython.float, cython.double)


def kth_nearest(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    nodes: cython.const[cython.int][:, ::1],
    boxes: cython.const[cython.double][:, :, ::1],
    box: cython.double[:, ::1],
    stack: cython.int[::1],
    gaps: cython.double[::1],
    near: cython.double[::1],
    nearest: cython.double[:, ::1],
    out: cython.double[:, ::1],
):
    """Write the squared distances from each row to its k nearest in the tree, itself among them if it is there.

    Parameters
    ----------
    rows : (q, d), in groups of `group`
    leaves, nodes, boxes : the tree
    box, stack, gaps, near, nearest : (2, d), (128,), (128,), (32,), (group, k) scratch
    out : (q, c), written: the last c of the k, nearest first
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t = nearest.shape[1]
    number: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    top: cython.Py_ssize_t
    node: cython.Py_ssize_t
    bound: cython.double
    with cython.nogil:
        for number in range((rows.shape[0] + group - 1) // group):
            start = number * group
            stop = min(start + group, rows.shape[0])
            space.enclose(rows, start, stop, box)
            for i in range(stop - start):
                for r in range(k):
                    nearest[i, r] = INFINITY
            bound = INFINITY
            stack[0] = 0
            gaps[0] = 0.0
            top = 1
            while top > 0:
                if gaps[top - 1] > bound:
                    top -= 1
                    continue
                node = stack[top - 1]
                if nodes[node, 1] > 1:
                    top = space.descend(boxes, nodes, box, top, stack, gaps)
                    continue
                top -= 1
                bound = 0.0
                for i in range(stop - start):
                    if space.point_gap(boxes, node, rows[start + i]) < nearest[i, k - 1]:
                        if space.leaf_distances(leaves, nodes[node, 0], rows[start + i], nearest[i, k - 1], near):
                            for j in range(space.width()):
                                if near[j] < nearest[i, k - 1]:
                                    r = k - 1
                                    while r > 0 and nearest[i, r - 1] > near[j]:
                                        nearest[i, r] = nearest[i, r - 1]
                                        r -= 1
                                    nearest[i, r] = near[j]
                    bound = nearest[i, k - 1] if nearest[i, k - 1] > bound else bound
            for i in range(stop - start):
                for r in range(out.shape[1]):
                    out[start + i, r] = nearest[i, k - out.shape[1] + r]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def precedes(
    weight: cython.double,
    one: cython.int,
    other: cython.int,
    best: cython.double,
    best_one: cython.int,
    best_other: cython.int,
) -> cython.bint:
    """Whether an edge comes before the best so far."""
    low: cython.int
    high: cython.int
    best_low: cython.int
    best_high: cython.int
    if weight != best:
        return weight < best
    low = one if one < other else other
    high = other if one < other else one
    best_low = best_one if best_one < best_other else best_other
    best_high = best_other if best_one < best_other else best_one
    return low < best_low or (low == best_low and high < best_high)


def lightest_edges(
    rows: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    nodes: cython.const[cython.int][:, ::1],
    boxes: cython.const[cython.double][:, :, ::1],
    order: cython.const[cython.int][::1],
    core: cython.const[cython.double][::1],
    least_core: cython.const[cython.double][::1],
    labels: cython.const[cython.int][::1],
    uniform: cython.const[cython.int][::1],
    scale: cython.double,
    limits: cython.const[cython.double][::1],
    box: cython.double[:, ::1],
    stack: cython.int[::1],
    gaps: cython.double[::1],
    near: cython.double[::1],
    partner: cython.int[::1],
    weight: cython.double[::1],
):
    """Find, for each row, its first edge to another component, unless a row before it rules out that it matters.

    Parameters
    ----------
    rows : (q, d), the rows at places `first` to `first` + q of the tree, in groups of `group`
    leaves, nodes, boxes : the tree, of n rows
    order : (n,), the rows' numbers
    core, least_core : (n,), squared core distances, and the least of each node
    labels, uniform : (n,), the rows' components, and the one of all rows of each node, or -1
    scale : one over alpha squared
    limits : (q,), no heavier edge is wanted; negative where none is, and nothing is written
    box, stack, gaps, near : (2, d), (128,), (128,), (32,) scratch
    partner, weight : (q,), written: the other row by its place, and the edge's weight; or -1 and a weight below which
        the row has no edge to another component
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    number: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    top: cython.Py_ssize_t
    node: cython.Py_ssize_t
    shared: cython.int
    carried: cython.int = -1
    carried_limit: cython.double = INFINITY
    limit: cython.double
    bound: cython.double
    value: cython.double
    with cython.nogil:
        for number in range((rows.shape[0] + group - 1) // group):
            start = number * group
            stop = min(start + group, rows.shape[0])
            space.enclose(rows, start, stop, box)
            shared = -2
            bound = -1.0
            for i in range(start, stop):
                if limits[i] >= 0.0:
                    partner[i] = -1
                    weight[i] = limits[i]
                    bound = limits[i] if limits[i] > bound else bound
                    shared = labels[first + i] if shared == -2 or shared == labels[first + i] else -1
            # Rows of one component compete for one edge: what the best has found bounds the others.
            limit = carried_limit if shared >= 0 and shared == carried else INFINITY
            bound = limit if limit < bound else bound
            stack[0] = 0
            gaps[0] = 0.0
            top = 1
            while top > 0:
                node = stack[top - 1]
                if (
                    gaps[top - 1] * scale > bound
                    or least_core[node] > bound
                    or (shared >= 0 and uniform[node] == shared)
                ):
                    top -= 1
                    continue
                if nodes[node, 1] > 1:
                    top = space.descend(boxes, nodes, box, top, stack, gaps)
                    continue
                top -= 1
                bound = -1.0
                for i in range(start, stop):
                    if limits[i] < 0.0:
                        continue
                    p = first + i
                    value = weight[i] if weight[i] < limit else limit
                    if (
                        core[p] <= value
                        and least_core[node] <= value
                        and uniform[node] != labels[p]
                        and space.point_gap(boxes, node, rows[i]) * scale <= value
                        and space.leaf_distances(leaves, nodes[node, 0], rows[i], value / scale * (1 + 1e-12), near)
                    ):
                        for j in range(space.width()):
                            q = nodes[node, 0] * space.width() + j
                            if q >= labels.shape[0] or labels[q] == labels[p]:
                                continue
                            value = near[j] * scale
                            value = core[p] if core[p] > value else value
                            value = core[q] if core[q] > value else value
                            if value > weight[i]:
                                continue
                            if partner[i] < 0 or precedes(
                                value, order[p], order[q], weight[i], order[p], order[partner[i]]
                            ):
                                weight[i] = value
                                partner[i] = cython.cast(cython.int, q)
                        if shared >= 0 and partner[i] >= 0 and weight[i] < limit:
                            limit = weight[i]
                    value = weight[i] if weight[i] < limit else limit
                    bound = value if value > bound and core[p] <= value else bound
            for i in range(start, stop):
                if limits[i] >= 0.0 and weight[i] > limit:
                    partner[i] = -1
                    weight[i] = limit
            if shared >= 0:
                carried = shared
                carried_limit = limit


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def root_of(parent: cython.int[::1], x: cython.int) -> cython.int:
    """The representative of x; halves the path to it."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


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
    """Add the first edge of each component to the tree, and relabel; return the number of edges.

    Parameters
    ----------
    order : (n,), the rows' numbers
    labels : (n,), components by a place that represents each, rewritten; negative for rows that do not count
    partner, weight : (n,), each row's first edge; -1 where it has none that matters
    best, parent : (n,) scratch
    edges, lengths : (n - 1, 2), (n - 1,), added to from `n_edges` on
    """
    p: cython.Py_ssize_t
    label: cython.int
    one: cython.int
    other: cython.int
    with cython.nogil:
        for p in range(labels.shape[0]):
            best[p] = -1
            parent[p] = cython.cast(cython.int, p)
        for p in range(labels.shape[0]):
            if partner[p] < 0 or labels[partner[p]] == labels[p]:
                continue
            label = labels[p]
            if best[label] < 0 or precedes(
                weight[p], order[p], order[partner[p]],
                weight[best[label]], order[best[label]], order[partner[best[label]]],
            ):  # fmt: skip
                best[label] = cython.cast(cython.int, p)
        for p in range(labels.shape[0]):
            if best[p] < 0:
                continue
            one = root_of(parent, labels[best[p]])
            other = root_of(parent, labels[partner[best[p]]])
            if one == other:
                continue
            parent[one if one > other else other] = one if one < other else other
            edges[n_edges, 0] = order[best[p]]
            edges[n_edges, 1] = order[partner[best[p]]]
            lengths[n_edges] = weight[best[p]]
            n_edges += 1
        for p in range(labels.shape[0]):
            if labels[p] >= 0:
                labels[p] = root_of(parent, labels[p])
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
    """Take row `current` into Prim's tree, whose distances to all rows are given; return the row to take next.

    Nothing is squared here. `source` and `weight` hold each row's first edge to the tree; `visited` the tree's rows.
    """
    j: cython.Py_ssize_t
    best: cython.Py_ssize_t = -1
    value: cython.double
    with cython.nogil:
        visited[current] = 1
        for j in range(core.shape[0]):
            if visited[j]:
                continue
            value = distances[j] / alpha
            value = core[current] if core[current] > value else value
            value = core[j] if core[j] > value else value
            if source[j] < 0 or precedes(
                value, cython.cast(cython.int, current), cython.cast(cython.int, j),
                weight[j], source[j], cython.cast(cython.int, j),
            ):  # fmt: skip
                source[j] = cython.cast(cython.int, current)
                weight[j] = value
            if best < 0 or precedes(
                weight[j], source[j], cython.cast(cython.int, j),
                weight[best], source[best], cython.cast(cython.int, best),
            ):  # fmt: skip
                best = j
    return best
