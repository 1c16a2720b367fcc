"""The uncompiled twin of ``node_sums.pxd``."""

from itertools import pairwise


def sum_classes(rows, start, stop, slots, weight, counts):
    """Write the weight of each class to `counts`, and return the weight of all rows."""
    total = 0.0
    counts[:] = 0.0
    for row in rows[start:stop]:
        total += weight[row]
        for slot in slots[row]:
            counts[slot] += weight[row]
    return total


def are_pure(counts, firsts, total):
    """Return whether each output has one class only; the classes of output o begin at `firsts[o]`."""
    return all(max(counts[a:b]) == total for a, b in pairwise(firsts))


def sum_values(rows, start, stop, targets, weight, means, squares, total):
    """Write the mean of each target, its variance, and the weight of all rows; return whether all targets are equal."""
    own = [int(row) for row in rows[start:stop]]
    total[0] = 0.0
    for row in own:
        total[0] += weight[row]
    equal = True
    for o in range(targets.shape[1]):
        y = [float(targets[row, o]) for row in own]
        mean = rest = square = 0.0
        for row, value in zip(own, y):
            mean += weight[row] * value
        mean /= total[0]
        # A second pass about the first mean: what rounding left in it is added, and the variance does not cancel.
        for row, value in zip(own, y):
            rest += weight[row] * (value - mean)
            square += weight[row] * (value - mean) * (value - mean)
        rest /= total[0]
        alike = min(y) == max(y)
        # Equal targets have exactly their value for a mean, and no variance.
        means[o] = min(y) if alike else mean + rest
        squares[o] = 0.0 if alike else square / total[0] - rest * rest
        equal = equal and alike
    return equal
