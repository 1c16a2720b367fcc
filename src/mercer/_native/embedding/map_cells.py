"""The uncompiled twin of ``map_cells.pxd``: the same sums in the same order, hence the same bits."""

import numpy

_ONE = numpy.float32(1.0)


def width():
    """Return the number of points in a leaf."""
    return 16


def _meet_leaf(own, other, count, out):
    dims = own.shape[0]
    for j in range(count):
        step = own - other[:, j : j + 1]
        square = _add_squares(step)
        near = _ONE / (_ONE + square)
        nearer = near * near
        out[dims] += near
        out[:dims] += nearer * step


def _add_squares(step):
    square = step[0] * step[0]
    for c in range(1, step.shape[0]):
        square = square + step[c] * step[c]
    return square


def _meet_cell(own, moments, out):
    dims = own.shape[0]
    mass, mean, scatter, trace = moments[0], moments[1 : 1 + dims], moments[1 + dims : -1], moments[-1]
    step = own - mean[:, None]
    turned: list = [None] * dims
    k = 0
    for c in range(dims):
        for e in range(c, dims):
            turned[c] = step[e] * scatter[k] if turned[c] is None else turned[c] + step[e] * scatter[k]
            if e > c:
                turned[e] = step[c] * scatter[k] if turned[e] is None else turned[e] + step[c] * scatter[k]
            k += 1
    across = step[0] * turned[0]
    for c in range(1, dims):
        across = across + step[c] * turned[c]
    near = _ONE / (_ONE + _add_squares(step))
    second = near * near
    third = second * near
    two, four, twelve = numpy.float32(2.0), numpy.float32(4.0), numpy.float32(12.0)
    field = mass * second - two * trace * third + twelve * across * (second * second)
    for c in range(dims):
        out[c] += field * step[c] - four * third * turned[c]
    out[dims] += mass * near - trace * second + four * across * third


def walk(own, box, panels, firsts, counts, reach, moments, points, out):
    """Add the forces and potentials of all points of a tree to those of one leaf; return the number of terms."""
    own, box, moments, out = (numpy.asarray(values) for values in (own, box, moments, out))
    node = met = 0
    while node < counts.shape[0]:
        mean = moments[node, 1 : 1 + own.shape[0]]
        outside = numpy.maximum(numpy.maximum(box[0] - mean, mean - box[1]), numpy.float32(0.0))
        gap = numpy.float32(0.0)
        for step in outside:
            gap = gap + step * step
        if gap > reach[node]:
            _meet_cell(own, moments[node], out)
            node += 2 * int(counts[node]) - 1
            met += 2
        elif counts[node] == 1:
            count = min(points - width() * int(firsts[node]), width())
            _meet_leaf(own, numpy.asarray(panels)[firsts[node]], count, out)
            node += 1
            met += count
        else:
            node += 1
    return met


def attract(places, row, ends, weights, first, last, out):
    """Write the attraction of a row by the ends of its edges `first` to `last`."""
    places, lanes = numpy.asarray(places), width()
    sums = numpy.zeros((places.shape[1], lanes), numpy.float32)
    for edge in range(first, last, lanes):
        count = min(last - edge, lanes)
        other = numpy.repeat(places[row][:, None], lanes, axis=1)
        other[:, :count] = places[numpy.asarray(ends)[edge : edge + count]].T
        weight = numpy.zeros(lanes, numpy.float32)
        weight[:count] = numpy.asarray(weights)[edge : edge + count]
        step = places[row][:, None] - other
        sums += weight / (_ONE + _add_squares(step)) * step
    half = lanes // 2
    while half > 0:
        sums[:, :half] += sums[:, half : 2 * half]
        half //= 2
    out[:] = sums[:, 0]
