"""The end of a round of boosting, for the rows of a block: add a tree to the scores, then compute the loss, gradients
and curvatures at them.

Losses of one score are those of ``row_losses``; SOFTMAX is log(sum_j exp(z_j)) - z_y, whose curvature is the diagonal
p (1 - p). A block writes its sums to a row of `sums`: the loss, then for each score the sums of the absolute gradients
and of the curvatures, all weighted.
"""

import cython

from mercer._native.boosting import leaves
from mercer._native.boosting import words as pairs
from mercer._native.shared import inline as elementary
from mercer._native.shared import loss_numbers, row_losses


def add_values(
    order: cython.const[cython.ushort][::1],
    spans: cython.const[leaves.Span][:, ::1],
    nodes: cython.const[leaves.Node][::1],
    n_nodes: cython.Py_ssize_t,
    values: cython.const[cython.double][::1],
    block: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    scores: cython.double[:, ::1],
    column: cython.Py_ssize_t,
) -> cython.void:
    """Add the values of their leaves to the scores of the rows of a block, which begins at row `start`."""
    for node in range(n_nodes):
        if nodes[node].left == 0:
            value = values[node]
            for k in range(spans[block, node].first, spans[block, node].last):
                scores[start + order[start + k], column] += value


def list_undrawn(
    drawn: cython.const[cython.longlong][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    kept: cython.Py_ssize_t,
    order: cython.ushort[::1],
    spare: cython.ushort[:, ::1],
    walks: leaves.Span[:, ::1],
    member: cython.Py_ssize_t,
) -> cython.void:
    """Write the rows of a block that were not drawn to its order, after the `kept` drawn ones.

    `walks` (threads, nodes) gets where they begin and end, as rows of the root.
    """
    others: cython.Py_ssize_t = 0
    for row in range(start, stop):
        # Without a branch, which could not be predicted.
        spare[member, others] = cython.cast(cython.ushort, row - start)
        others += drawn[row] == 0
    for k in range(others):
        order[start + kept + k] = spare[member, k]
    walks[member, 0].first = cython.cast(cython.int, kept)
    walks[member, 0].last = cython.cast(cython.int, kept + others)


def add_undrawn(
    columns: cython.const[cython.uchar][:, ::1],
    start: cython.Py_ssize_t,
    nodes: cython.const[leaves.Node][::1],
    n_nodes: cython.Py_ssize_t,
    tables: cython.const[cython.uchar][:, ::1],
    values: cython.const[cython.double][::1],
    scores: cython.double[:, ::1],
    column: cython.Py_ssize_t,
    order: cython.ushort[::1],
    spare: cython.ushort[:, ::1],
    walks: leaves.Span[:, ::1],
    member: cython.Py_ssize_t,
) -> cython.void:
    """Add the values of their leaves to the scores of the rows that :func:`list_undrawn` has listed.

    They are split node by node, so that they do not wait for one another, as they would if each walked down the tree.
    """
    # Parents come before children in the table of nodes, so a node's list is complete when its turn comes.
    for node in range(n_nodes):
        child = nodes[node].left
        if child > 0:
            middle = walks[member, node].first + pairs.part_rows(
                columns, nodes[node].feature, start, tables, node, order, walks[member, node].first,
                walks[member, node].last, spare, member,
            )  # fmt: skip
            walks[member, child].first = walks[member, node].first
            walks[member, child].last = walks[member, child + 1].first = cython.cast(cython.int, middle)
            walks[member, child + 1].last = walks[member, node].last
        else:
            for k in range(walks[member, node].first, walks[member, node].last):
                scores[start + order[start + k], column] += values[node]


def compute_rows(
    loss: cython.int,
    shape: cython.double,
    flat: cython.int,
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Write gradients and sums of a loss of one score for the rows from `start` to `stop`.

    Where the loss is `flat`, ones stand for its curvatures: splits then separate the slopes by least squares.
    """
    weighted: cython.int = weight.shape[0] > 0
    total: cython.double = 0.0
    size: cython.double = 0.0
    curvature: cython.double = 0.0
    # Runs of 64 rows in arrays on the stack that no other pointer reaches: loops over elementary functions then
    # vectorise, and the numbers stay in the first cache.
    z = cython.declare(cython.double[64])
    t = cython.declare(cython.double[64])
    lost = cython.declare(cython.double[64])
    slope = cython.declare(cython.double[64])
    bend = cython.declare(cython.double[64])
    for first in range(start, stop, 64):
        count = min(stop - first, 64)
        for i in range(count):
            z[i] = scores[first + i, 0]
            t[i] = y[first + i]
        row_losses.measure_run(loss, shape, t, z, count, lost, slope, bend)
        for i in range(count):
            w = weight[first + i] if weighted else 1.0
            gradients[0, first + i, 0] = w * slope[i]
            gradients[0, first + i, 1] = w if flat else w * bend[i]
            total += w * lost[i]
            size += w * (slope[i] if slope[i] > 0.0 else -slope[i])
            curvature += w if flat else w * bend[i]
    # The second sum scales the quantum of the gradients, the third that of the curvatures.
    sums[0] = total
    sums[1] = size
    sums[2] = curvature


def compute_squared(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Do what :func:`compute_rows` does for the squared loss, in one loop: runs would take twice as long."""
    weighted: cython.int = weight.shape[0] > 0
    total: cython.double = 0.0
    size: cython.double = 0.0
    curvature: cython.double = 0.0
    for i in range(start, stop):
        w = weight[i] if weighted else 1.0
        slope = w * row_losses.find_slope(loss_numbers.SQUARED, 0.0, y[i], scores[i, 0])
        gradients[0, i, 0] = slope
        gradients[0, i, 1] = w
        total += w * row_losses.find_value(loss_numbers.SQUARED, 0.0, y[i], scores[i, 0])
        size += slope if slope > 0.0 else -slope
        curvature += w
    sums[0] = total
    sums[1] = size
    sums[2] = curvature


def compute_softmax(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Write gradients and sums of the loss log(sum_j exp(z_j)) - z_y for the rows from `start` to `stop`."""
    first: cython.Py_ssize_t
    k: cython.Py_ssize_t = scores.shape[1]
    weighted: cython.int = weight.shape[0] > 0
    p: cython.double
    w: cython.double
    most = cython.declare(cython.double[64])
    part = cython.declare(cython.double[64])
    total = cython.declare(cython.double[64])
    for j in range(2 * k + 1):
        sums[j] = 0.0
    for first in range(start, stop, 64):
        count = min(stop - first, 64)
        # The largest score of a row is taken off first, so that no exponential overflows.
        for i in range(count):
            most[i] = scores[first + i, 0]
            for j in range(1, k):
                most[i] = max(most[i], scores[first + i, j])
            total[i] = 0.0
        for j in range(k):
            for i in range(count):
                part[i] = scores[first + i, j] - most[i]
            for i in range(count):
                part[i] = elementary.exp(part[i])
                total[i] += part[i]
            for i in range(count):
                # The gradients hold the exponentials until all k are summed: there is no other room for them.
                gradients[j, first + i, 0] = part[i]
        for i in range(count):
            part[i] = elementary.log(total[i])
        for i in range(count):
            w = weight[first + i] if weighted else 1.0
            # The loss of a row: log(sum_j exp(z_j)) - z_y, with the largest score put back.
            sums[0] += w * (part[i] + most[i] - scores[first + i, cython.cast(cython.Py_ssize_t, y[first + i])])
        for j in range(k):
            for i in range(count):
                w = weight[first + i] if weighted else 1.0
                # p_j = exp(z_j) / sum; the curvature is the diagonal of the Hessian, p_j (1 - p_j).
                p = gradients[j, first + i, 0] / total[i]
                gradients[j, first + i, 1] = w * p * (1.0 - p)
                sums[2 + 2 * j] += gradients[j, first + i, 1]
                # The gradient is p_j - [j = y].
                p = w * (p - 1.0 if j == cython.cast(cython.Py_ssize_t, y[first + i]) else p)
                gradients[j, first + i, 0] = p
                sums[1 + 2 * j] += p if p > 0.0 else -p


def compute_loss(
    loss: cython.int,
    shape: cython.double,
    flat: cython.int,
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Write gradients and curvatures (scores, rows, 2) of the rows from `start` to `stop`, and their sums."""
    if loss == loss_numbers.SOFTMAX:
        compute_softmax(scores, y, weight, start, stop, gradients, sums)
    elif loss == loss_numbers.SQUARED:
        compute_squared(scores, y, weight, start, stop, gradients, sums)
    else:
        compute_rows(loss, shape, flat, scores, y, weight, start, stop, gradients, sums)
