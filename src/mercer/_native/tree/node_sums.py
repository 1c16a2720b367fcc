"""Sums over the rows of a node that describe it."""

import cython

from mercer._native.tree import growth_records as records


def sum_classes(
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    slots: cython.const[cython.int][:, ::1],
    weight: cython.const[cython.double][::1],
    counts: cython.double[::1],
) -> cython.double:
    """Write the weight of each class to `counts`, and return the weight of all rows."""
    total: cython.double = 0.0
    for o in range(counts.shape[0]):
        counts[o] = 0.0
    for i in range(start, stop):
        w = weight[rows[i]]
        total += w
        for o in range(slots.shape[1]):
            counts[slots[rows[i], o]] += w
    return total


def sum_signed(
    quads: cython.const[records.Quad][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    counts: cython.double[::1],
) -> cython.double:
    """Sum as :func:`sum_classes` does, for two classes, whose weights are (w - s) / 2 and (w + s) / 2.

    w is the weight of the rows and s the sum of their amounts, the weight with the sign of the class; both are exact.
    """
    weight: cython.double = 0.0
    amount: cython.double = 0.0
    for i in range(start, stop):
        weight += quads[i].weight
        amount += quads[i].amount
    counts[0] = (weight - amount) / 2
    counts[1] = (weight + amount) / 2
    return weight


def are_pure(
    counts: cython.const[cython.double][::1], firsts: cython.const[cython.longlong][::1], total: cython.double
) -> cython.bint:
    """Return whether each output has one class only: the heaviest has all the weight.

    The classes of output o are ``counts[firsts[o]:firsts[o + 1]]``.
    """
    for o in range(firsts.shape[0] - 1):
        most = 0.0
        for s in range(firsts[o], firsts[o + 1]):
            most = counts[s] if counts[s] > most else most
        if most != total:
            return False
    return True


def sum_weights(
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    weight: cython.const[cython.double][::1],
) -> cython.double:
    """Return the weight of all rows."""
    total: cython.double = 0.0
    for i in range(start, stop):
        total += weight[rows[i]]
    return total


def sum_values(
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    targets: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    total: cython.double,
    described: cython.double[::1],
) -> cython.bint:
    """Write the mean of each target, and then the variances; return whether all targets are equal.

    With m the rounded mean of a first pass and r the weighted mean of y_i - m, the mean is m + r and the variance
    sum w_i (y_i - m)^2 / w - r^2, where w is the `total` weight: targets far from zero cost no digits.
    """
    outputs: cython.Py_ssize_t = targets.shape[1]
    equal: cython.bint = True
    y: cython.double
    w: cython.double
    least: cython.double
    most: cython.double
    mean: cython.double
    rest: cython.double
    square: cython.double
    for o in range(outputs):
        mean = 0.0
        least = targets[rows[start], o]
        most = least
        for i in range(start, stop):
            y = targets[rows[i], o]
            mean += weight[rows[i]] * y
            least = y if y < least else least
            most = y if y > most else most
        mean /= total
        rest = 0.0
        square = 0.0
        for i in range(start, stop):
            w = weight[rows[i]]
            y = targets[rows[i], o] - mean
            rest += w * y
            square += w * y * y
        rest /= total
        described[o] = least if least == most else mean + rest
        described[outputs + o] = 0.0 if least == most else square / total - rest * rest
        equal = equal and least == most
    return equal


def sum_kept(
    quads: cython.const[records.Quad][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    described: cython.double[::1],
    sums: cython.double[::1],
) -> cython.bint:
    """Do what :func:`sum_values` does for one target; ``sums[0]`` receives the weight of all rows."""
    total: cython.double = 0.0
    mean: cython.double = 0.0
    rest: cython.double = 0.0
    square: cython.double = 0.0
    least: cython.double = quads[start].target
    most: cython.double = least
    for i in range(start, stop):
        w = quads[i].weight
        y = quads[i].target
        total += w
        mean += w * y
        least = y if y < least else least
        most = y if y > most else most
    mean /= total
    # The mean of the deviations corrects the rounding of the first pass.
    for i in range(start, stop):
        w = quads[i].weight
        y = quads[i].target - mean
        rest += w * y
        square += w * y * y
    rest /= total
    sums[0] = total
    described[0] = least if least == most else mean + rest
    described[1] = 0.0 if least == most else square / total - rest * rest
    return least == most
