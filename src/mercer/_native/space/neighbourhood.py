"""What a tree of boxes holds within a radius of some rows: how much weight, which other cluster, which lowest label.

Rows are asked for in groups of consecutive ones, which share a walk down the tree; the nearer they lie to each other,
the more of it they share.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.space import space
else:
    from mercer._native.space import space

__all__ = ["count_within", "find_links", "lowest_within"]

real = cython.fused_type(cython.float, cython.double)


def count_within(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    nodes: cython.const[cython.int][:, ::1],
    boxes: cython.const[cython.double][:, :, ::1],
    radius: cython.double,
    weight: cython.const[cython.double][::1],
    enough: cython.double,
    box: cython.double[:, ::1],
    stack: cython.int[::1],
    gaps: cython.double[::1],
    near: cython.double[::1],
    totals: cython.double[::1],
):
    """Add up the weight within a radius of each row, until there is enough.

    Parameters
    ----------
    rows : (q, d), in groups of `group`
    leaves, nodes, boxes : the tree, of n rows
    radius : squared; rows at this distance count
    weight : (n,) in the order of the tree, or empty when all are one
    box, stack, gaps, near : (2, d), (128,), (128,), (32,) scratch
    totals : (q,), written; what is at least `enough` may be less than the whole
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    number: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    top: cython.Py_ssize_t
    node: cython.Py_ssize_t
    leaf: cython.Py_ssize_t
    open_rows: cython.Py_ssize_t
    with cython.nogil:
        for number in range((rows.shape[0] + group - 1) // group):
            start = number * group
            stop = min(start + group, rows.shape[0])
            space.enclose(rows, start, stop, box)
            for i in range(start, stop):
                totals[i] = 0.0
            open_rows = stop - start
            stack[0] = 0
            gaps[0] = space.box_gap(boxes, 0, box)
            top = 1
            while top > 0 and open_rows > 0:
                if gaps[top - 1] > radius:
                    top -= 1
                    continue
                node = stack[top - 1]
                if nodes[node, 1] > 1:
                    top = space.descend(boxes, nodes, box, top, stack, gaps)
                    continue
                top -= 1
                leaf = nodes[node, 0]
                for i in range(start, stop):
                    if totals[i] >= enough or space.point_gap(boxes, node, rows[i]) > radius:
                        continue
                    if not space.leaf_distances(leaves, leaf, rows[i], radius, near):
                        continue
                    for j in range(space.width()):
                        if near[j] <= radius:
                            totals[i] += 1.0 if weight.shape[0] == 0 else weight[leaf * space.width() + j]
                    if totals[i] >= enough:
                        open_rows -= 1


def find_links(
    rows: cython.const[cython.double][:, ::1],
    own: cython.const[cython.int][::1],
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    nodes: cython.const[cython.int][:, ::1],
    boxes: cython.const[cython.double][:, :, ::1],
    radius: cython.double,
    labels: cython.const[cython.int][::1],
    uniform: cython.const[cython.int][::1],
    box: cython.double[:, ::1],
    stack: cython.int[::1],
    gaps: cython.double[::1],
    near: cython.double[::1],
    found: cython.int[::1],
):
    """Find, for each row, one row of another label within the radius; the first on the way.

    Parameters
    ----------
    rows, group, leaves, nodes, boxes, radius, box, stack, gaps, near : as in `count_within`
    own : (q,), the rows' labels; negative where nothing is asked
    labels : (n,), in the order of the tree; negative where a row does not count
    uniform : per node the label that its rows share, -1 if they differ, -2 if none counts
    found : (q,), written: a row by its place in the tree, or -1
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    place: cython.Py_ssize_t
    number: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    top: cython.Py_ssize_t
    node: cython.Py_ssize_t
    shared: cython.int
    open_rows: cython.Py_ssize_t
    with cython.nogil:
        for number in range((rows.shape[0] + group - 1) // group):
            start = number * group
            stop = min(start + group, rows.shape[0])
            space.enclose(rows, start, stop, box)
            shared = -2
            open_rows = 0
            for i in range(start, stop):
                found[i] = -1
                if own[i] >= 0:
                    open_rows += 1
                    shared = own[i] if shared == -2 or shared == own[i] else -1
            stack[0] = 0
            gaps[0] = space.box_gap(boxes, 0, box)
            top = 1
            while top > 0 and open_rows > 0:
                node = stack[top - 1]
                if gaps[top - 1] > radius or uniform[node] == -2 or (shared >= 0 and uniform[node] == shared):
                    top -= 1
                    continue
                if nodes[node, 1] > 1:
                    top = space.descend(boxes, nodes, box, top, stack, gaps)
                    continue
                top -= 1
                for i in range(start, stop):
                    if own[i] < 0 or found[i] >= 0 or uniform[node] == own[i]:
                        continue
                    if space.point_gap(boxes, node, rows[i]) > radius:
                        continue
                    if not space.leaf_distances(leaves, nodes[node, 0], rows[i], radius, near):
                        continue
                    for j in range(space.width()):
                        place = nodes[node, 0] * space.width() + j
                        if near[j] <= radius and labels[place] >= 0 and labels[place] != own[i]:
                            found[i] = cython.cast(cython.int, place)
                            open_rows -= 1
                            break


def lowest_within(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    nodes: cython.const[cython.int][:, ::1],
    boxes: cython.const[cython.double][:, :, ::1],
    radius: cython.double,
    labels: cython.const[cython.int][::1],
    lowest: cython.const[cython.int][::1],
    box: cython.double[:, ::1],
    stack: cython.int[::1],
    gaps: cython.double[::1],
    near: cython.double[::1],
    found: cython.int[::1],
):
    """Lower each entry of `found` to the lowest label within the radius of its row.

    Parameters
    ----------
    rows, group, leaves, nodes, boxes, radius, box, stack, gaps, near : as in `count_within`
    labels : (n,), in the order of the tree; a very high one where a row does not count
    lowest : per node the lowest label of its rows
    found : (q,), lowered
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    place: cython.Py_ssize_t
    number: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    top: cython.Py_ssize_t
    node: cython.Py_ssize_t
    highest: cython.int
    with cython.nogil:
        for number in range((rows.shape[0] + group - 1) // group):
            start = number * group
            stop = min(start + group, rows.shape[0])
            space.enclose(rows, start, stop, box)
            highest = found[start]
            for i in range(start, stop):
                highest = found[i] if found[i] > highest else highest
            stack[0] = 0
            gaps[0] = space.box_gap(boxes, 0, box)
            top = 1
            while top > 0:
                node = stack[top - 1]
                if gaps[top - 1] > radius or lowest[node] >= highest:
                    top -= 1
                    continue
                if nodes[node, 1] > 1:
                    top = space.descend(boxes, nodes, box, top, stack, gaps)
                    continue
                top -= 1
                highest = 0
                for i in range(start, stop):
                    if lowest[node] < found[i] and space.point_gap(boxes, node, rows[i]) <= radius:
                        if space.leaf_distances(leaves, nodes[node, 0], rows[i], radius, near):
                            for j in range(space.width()):
                                place = nodes[node, 0] * space.width() + j
                                if near[j] <= radius and labels[place] < found[i]:
                                    found[i] = labels[place]
                    highest = found[i] if found[i] > highest else highest
