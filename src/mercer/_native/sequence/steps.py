"""The uncompiled twin of ``steps.pxd``: the same sums in the same order, hence the same bits."""

import numpy


def advance(x, matrix, out):
    """Write x^T matrix to `out`: even states, odd states, then both."""
    x, matrix = numpy.asarray(x), numpy.asarray(matrix)
    even, odd = numpy.zeros(matrix.shape[1]), numpy.zeros(matrix.shape[1])
    for state in range(matrix.shape[0]):
        if state % 2:
            odd = odd + x[state] * matrix[state]
        else:
            even = even + x[state] * matrix[state]
    out[:] = even + odd


def condition(x, y, out):
    """Write x y, divided by its sum, to `out`; return the sum."""
    product = numpy.asarray(x) * numpy.asarray(y)
    # Eight running sums that are added pairwise, in the order of the compiled twin.
    part = numpy.zeros(8)
    for eight in product.reshape(-1, 8):
        part = part + eight
    four = part[:4] + part[4:]
    total = (four[0] + four[2]) + (four[1] + four[3])
    with numpy.errstate(all="ignore"):
        out[:] = product * (numpy.float64(1.0) / total)
    return total


def divide(x, y, least, out):
    """Write x / y to `out`, and zero where y is below `least`."""
    x, y = numpy.asarray(x), numpy.asarray(y)
    low = y < least
    out[:] = numpy.where(low, 0.0, x / numpy.where(low, 1.0, y))


def top(x):
    """Return the largest entry."""
    return numpy.asarray(x).max()


def shift(x, value):
    """Add `value` to every entry."""
    x[:] = numpy.asarray(x) + value


def best(x, matrix, add, out):
    """Write the largest x[state] + matrix[state] of each lane, plus `add`, to `out`."""
    matrix = numpy.asarray(matrix)
    out[:] = (numpy.asarray(x)[: matrix.shape[0], None] + matrix).max(axis=0) + numpy.asarray(add)


def step(x, matrix, factor, between, out):
    """Write x^T matrix to `between`, and its product with `factor`, divided by its sum, to `out`; return the sum."""
    advance(x, matrix, between)
    return condition(between, factor, out)
