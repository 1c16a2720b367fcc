"""The end of a round of boosting, for the rows of a block: add a tree to the scores, then compute the loss, gradients
and curvatures at them.

Losses are SQUARED, (z - y)^2 / 2, LOGISTIC, log(1 + exp(z)) - y z with y 0 or 1, and SOFTMAX, log(sum_j exp(z_j)) -
z_y, whose curvature is the diagonal p (1 - p). A block writes its sums to a row of `sums`: the loss, then for each
score the sums of the absolute gradients and of the curvatures, all weighted.
"""

import cython

from mercer._native.boosting import leaves
from mercer._native.boosting import words as pairs
from mercer._native.shared import inline as elementary

SQUARED = 1
LOGISTIC = 2
SOFTMAX = 3
# Losses over exponentials go through rows in runs of 64, in arrays on the stack that no other pointer reaches: loops
# over elementary functions then vectorise.


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
    node: cython.Py_ssize_t
    k: cython.Py_ssize_t
    value: cython.double
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
    row: cython.Py_ssize_t
    k: cython.Py_ssize_t
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
    node: cython.Py_ssize_t
    k: cython.Py_ssize_t
    child: cython.Py_ssize_t
    middle: cython.Py_ssize_t
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


def compute_squared(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Write gradients and sums of the loss (z - y)^2 / 2 for the rows from `start` to `stop`."""
    i: cython.Py_ssize_t
    weighted: cython.int = weight.shape[0] > 0
    gap: cython.double
    w: cython.double
    loss: cython.double = 0.0
    size: cython.double = 0.0
    curvature: cython.double = 0.0
    for i in range(start, stop):
        w = weight[i] if weighted else 1.0
        # The gradient is z - y and the curvature is 1, both times the weight.
        gap = scores[i, 0] - y[i]
        gradients[0, i, 0] = w * gap
        gradients[0, i, 1] = w
        loss += 0.5 * w * gap * gap
        size += w * (gap if gap > 0.0 else -gap)
        curvature += w
    # The second sum scales the quantum of the gradients, the third that of the curvatures.
    sums[0] = loss
    sums[1] = size
    sums[2] = curvature


def compute_logistic(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[::1],
) -> cython.void:
    """Write gradients and sums of the loss log(1 + exp(z)) - y z for the rows from `start` to `stop`."""
    first: cython.Py_ssize_t
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t
    weighted: cython.int = weight.shape[0] > 0
    w: cython.double
    x: cython.double
    slope: cython.double
    bend: cython.double
    loss: cython.double = 0.0
    size: cython.double = 0.0
    curvature: cython.double = 0.0
    # Runs of 64 rows in arrays on the stack: each short loop is vectorised, and the numbers stay in the first cache.
    z = cython.declare(cython.double[64])
    small = cython.declare(cython.double[64])
    share = cython.declare(cython.double[64])
    lost = cython.declare(cython.double[64])
    for first in range(start, stop, 64):
        count = min(stop - first, 64)
        for i in range(count):
            z[i] = scores[first + i, 0]
        for i in range(count):
            small[i] = elementary.exp(z[i] if z[i] < 0.0 else -z[i])
        # expit(z) and log1p(exp(z)), both from the one exponential exp(-|z|).
        for i in range(count):
            share[i] = (small[i] if z[i] < 0.0 else 1.0) / (1.0 + small[i])
        for i in range(count):
            # log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), where |x| = |z| as y is 0 or 1.
            x = z[i] if y[first + i] < 0.5 else -z[i]
            lost[i] = (x if x > 0.0 else 0.0) + elementary.log1p(small[i])
        for i in range(count):
            w = weight[first + i] if weighted else 1.0
            # With p = expit(z) the gradient is p - y and the curvature p (1 - p).
            slope = w * (share[i] - y[first + i])
            bend = w * share[i] * (1.0 - share[i])
            gradients[0, first + i, 0] = slope
            gradients[0, first + i, 1] = bend
            loss += w * lost[i]
            size += slope if slope > 0.0 else -slope
            curvature += bend
    sums[0] = loss
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
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    count: cython.Py_ssize_t
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
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[:, ::1],
    block: cython.Py_ssize_t,
) -> cython.void:
    """Write gradients and curvatures (scores, rows, 2) of the rows from `start` to `stop`, and the sums of a block."""
    if loss == SQUARED:
        compute_squared(scores, y, weight, start, stop, gradients, sums[block])
    elif loss == LOGISTIC:
        compute_logistic(scores, y, weight, start, stop, gradients, sums[block])
    elif loss == SOFTMAX:
        compute_softmax(scores, y, weight, start, stop, gradients, sums[block])
