"""The uncompiled twin of ``slopes.pxd``."""

import numpy
from scipy.special import expit, logsumexp

__all__ = ["add_values", "add_walked", "look"]


def add_values(order, spans, numbers, nodes, values, block, start, scores, column):
    """Add to the scores of a block's rows the values of the leaves that they are in."""
    for node in range(nodes):
        if numbers[node, 0] == 0:
            places = order[start + spans[block, node, 0] : start + spans[block, node, 1]].astype(int)
            scores[start + places, column] += values[node]


def add_walked(
    columns,
    drawn,
    start,
    stop,
    kept,
    numbers,
    feature,
    nodes,
    tables,
    values,
    scores,
    column,
    order,
    spare,
    walks,
    member,
):
    """The same for the rows that were not drawn, hence are in no leaf."""
    for row in start + numpy.flatnonzero(drawn[start:stop] == 0):
        node = 0
        while numbers[node, 0] > 0:
            node = int(numbers[node, 0]) + 1 - int(tables[node, columns[numbers[node, feature], row]])
        scores[row, column] += values[node]


def look(loss, scores, y, weight, start, stop, gradients, sums, block):
    """Write the gradients of a block's rows, and its sums."""
    z, t, out = scores[start:stop], y[start:stop], gradients[:, start:stop]
    w = weight[start:stop] if len(weight) else numpy.ones(stop - start)
    if loss == 3:
        labels = numpy.arange(z.shape[1])[:, None] == t
        values, p = (
            logsumexp(z, axis=1) - z[numpy.arange(len(t)), t.astype(int)],
            numpy.exp(z - logsumexp(z, axis=1, keepdims=True)).T,
        )
    elif loss == 2:
        values, p, labels = numpy.logaddexp(0.0, z[:, 0]) - t * z[:, 0], expit(z).T, t
    if loss == 1:
        values, out[0, :, 0], out[0, :, 1] = 0.5 * (z[:, 0] - t) ** 2, w * (z[:, 0] - t), w
    else:
        out[:, :, 0], out[:, :, 1] = w * (p - labels), w * p * (1.0 - p)
    sums[block, 0] = w @ values
    sums[block, 1::2], sums[block, 2::2] = numpy.abs(out[:, :, 0]).sum(axis=1), out[:, :, 1].sum(axis=1)
