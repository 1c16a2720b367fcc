"""Scores moved by a tree's leaves, and the loss, gradients and curvatures at them, over a run of blocks.

Each block leaves its sums in a row of a table: the loss, then for each score the sum of the sizes of the gradients and
of the curvatures, all weighted.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import inline
else:
    from mercer._native import inline

__all__ = ["add_leaf_values", "logistic_run", "softmax_run", "squared_run"]


def add_leaf_values(
    order: cython.const[cython.ushort][::1],
    begin: cython.const[cython.int][:, ::1],
    stop: cython.const[cython.int][:, ::1],
    leaves: cython.const[cython.int][::1],
    values: cython.const[cython.double][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    scores: cython.double[:, ::1],
    column: cython.Py_ssize_t,
) -> None:
    """Add to each row's score the value of the leaf it is in."""
    block: cython.Py_ssize_t
    leaf: cython.Py_ssize_t
    k: cython.Py_ssize_t
    start: cython.Py_ssize_t
    with cython.nogil:
        for block in range(first_block, last_block):
            start = block * unit
            for leaf in range(leaves.shape[0]):
                for k in range(begin[leaves[leaf], block], stop[leaves[leaf], block]):
                    scores[start + order[start + k], column] += values[leaf]


def squared_run(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    totals: cython.double[:, ::1],
) -> None:
    """(z - y)^2 / 2."""
    i: cython.Py_ssize_t
    block: cython.Py_ssize_t
    gap: cython.double
    w: cython.double
    loss: cython.double
    size: cython.double
    curvature: cython.double
    with cython.nogil:
        for block in range(first_block, last_block):
            loss = size = curvature = 0.0
            for i in range(block * unit, min((block + 1) * unit, y.shape[0])):
                w = weight[i] if weight.shape[0] > 0 else 1.0
                gap = scores[i, 0] - y[i]
                gradients[0, i, 0] = w * gap
                gradients[0, i, 1] = w
                loss += 0.5 * w * gap * gap
                size += w * (gap if gap > 0.0 else -gap)
                curvature += w
            totals[block, 0] = loss
            totals[block, 1] = size
            totals[block, 2] = curvature


def logistic_run(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    totals: cython.double[:, ::1],
) -> None:
    """log(1 + exp(z)) - y z, for y of 0 and 1."""
    i: cython.Py_ssize_t
    block: cython.Py_ssize_t
    z: cython.double
    p: cython.double
    w: cython.double
    loss: cython.double
    size: cython.double
    curvature: cython.double
    with cython.nogil:
        for block in range(first_block, last_block):
            for i in range(block * unit, min((block + 1) * unit, y.shape[0])):
                w = weight[i] if weight.shape[0] > 0 else 1.0
                p = inline.expit(scores[i, 0])
                gradients[0, i, 0] = w * (p - y[i])
                gradients[0, i, 1] = w * p * (1.0 - p)
            loss = size = curvature = 0.0
            for i in range(block * unit, min((block + 1) * unit, y.shape[0])):
                z = scores[i, 0]
                w = weight[i] if weight.shape[0] > 0 else 1.0
                loss += w * inline.log1pexp(z if y[i] < 0.5 else -z)
                size += gradients[0, i, 0] if gradients[0, i, 0] > 0.0 else -gradients[0, i, 0]
                curvature += gradients[0, i, 1]
            totals[block, 0] = loss
            totals[block, 1] = size
            totals[block, 2] = curvature


def softmax_run(
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    totals: cython.double[:, ::1],
) -> None:
    """log(sum_j exp(z_j)) - z_y; the curvature is the diagonal p (1 - p)."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    block: cython.Py_ssize_t
    k: cython.Py_ssize_t = scores.shape[1]
    most: cython.double
    p: cython.double
    w: cython.double
    total: cython.double
    label: cython.Py_ssize_t
    with cython.nogil:
        for block in range(first_block, last_block):
            for j in range(2 * k + 1):
                totals[block, j] = 0.0
            for i in range(block * unit, min((block + 1) * unit, y.shape[0])):
                w = weight[i] if weight.shape[0] > 0 else 1.0
                label = cython.cast(cython.Py_ssize_t, y[i])
                most = scores[i, 0]
                for j in range(1, k):
                    most = max(most, scores[i, j])
                total = 0.0
                for j in range(k):
                    p = inline.exp(scores[i, j] - most)
                    gradients[j, i, 0] = p
                    total += p
                totals[block, 0] += w * (inline.log(total) + most - scores[i, label])
                for j in range(k):
                    p = gradients[j, i, 0] / total
                    gradients[j, i, 1] = w * p * (1.0 - p)
                    totals[block, 2 + 2 * j] += gradients[j, i, 1]
                    p = w * (p - 1.0 if j == label else p)
                    gradients[j, i, 0] = p
                    totals[block, 1 + 2 * j] += p if p > 0.0 else -p
