"""Gaussian sums over a tree of boxes, and the step that climbs them."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
    from cython.cimports.mercer._native.space import space
else:
    from mercer._native.shared import inline
    from mercer._native.space import space

__all__ = ["climb"]

real = cython.fused_type(cython.float, cython.double)


def climb(
    rows: cython.const[cython.double][:, ::1],
    group: cython.Py_ssize_t,
    leaves: cython.const[real][:, :, ::1],
    nodes: cython.const[cython.int][:, ::1],
    boxes: cython.const[cython.double][:, :, ::1],
    weight: cython.const[cython.double][::1],
    sharpness: cython.double,
    radius: cython.double,
    box: cython.double[:, ::1],
    stack: cython.int[::1],
    gaps: cython.double[::1],
    near: cython.double[::1],
    lanes: cython.double[:, :, ::1],
    sums: cython.double[::1],
    means: cython.double[:, ::1],
):
    """Sum w exp(-sharpness |x - y|^2) over the tree for each row x, and take the mean of y with those weights.

    Parameters
    ----------
    rows : (q, d), in groups of `group`
    leaves, nodes, boxes : the tree
    weight : (32 m,), of the rows of the tree, zero where a leaf is not full
    radius : squared; what is farther is left out
    box, stack, gaps, near, lanes : (2, d), (128,), (128,), (32,), (group, d + 1, 32) scratch
    sums, means : (q,), (q, d), written; a row without a neighbour keeps its place
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = rows.shape[1]
    number: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    top: cython.Py_ssize_t
    node: cython.Py_ssize_t
    leaf: cython.Py_ssize_t
    with cython.nogil:
        for number in range((rows.shape[0] + group - 1) // group):
            start = number * group
            stop = min(start + group, rows.shape[0])
            space.enclose(rows, start, stop, box)
            for i in range(stop - start):
                for k in range(d + 1):
                    for j in range(space.width()):
                        lanes[i, k, j] = 0.0
            stack[0] = 0
            gaps[0] = space.box_gap(boxes, 0, box)
            top = 1
            while top > 0:
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
                    if space.point_gap(boxes, node, rows[i]) > radius:
                        continue
                    if not space.leaf_distances(leaves, leaf, rows[i], radius, near):
                        continue
                    for j in range(space.width()):
                        near[j] = inline.exp(-sharpness * near[j]) if near[j] <= radius else 0.0
                        near[j] *= weight[leaf * space.width() + j]
                        lanes[i - start, d, j] += near[j]
                    for k in range(d):
                        for j in range(space.width()):
                            lanes[i - start, k, j] += near[j] * leaves[leaf, k, j] if near[j] > 0.0 else 0.0
            for i in range(start, stop):
                sums[i] = inline.sum(lanes[i - start, d])
                for k in range(d):
                    means[i, k] = inline.sum(lanes[i - start, k]) / sums[i] if sums[i] > 0.0 else rows[i, k]
