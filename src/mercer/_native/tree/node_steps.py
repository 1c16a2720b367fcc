"""The uncompiled twin of ``node_steps.pxd``."""

from itertools import pairwise

import numpy

from mercer._native.tree import code_order

__all__ = [
    "add_children",
    "are_pure",
    "bring_back",
    "divide_coarse",
    "divide_node",
    "move_row",
    "seed_of_child",
    "sum_classes",
    "sum_values",
]


def sum_classes(rows, start, stop, slots, weight, counts):
    """Write the weight of each class, and return that of all rows."""
    total = 0.0
    counts[:] = 0.0
    for row in rows[start:stop]:
        total += weight[row]
        for slot in slots[row]:
            counts[slot] += weight[row]
    return total


def are_pure(counts, firsts, total):
    """Whether each output has one class only; the classes of output o begin at `firsts[o]`."""
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
        for row, value in zip(own, y):
            rest += weight[row] * (value - mean)
            square += weight[row] * (value - mean) * (value - mean)
        rest /= total[0]
        alike = min(y) == max(y)
        means[o] = min(y) if alike else mean + rest
        squares[o] = 0.0 if alike else square / total[0] - rest * rest
        equal = equal and alike
    return equal


def seed_of_child(seed, is_right):
    """The seed of a child: it hangs on the way from the root alone."""
    return code_order.mixed(int(seed) + (0x2545F491 if is_right else 0x51ED2701))


def move_row(rows, quads, is_kept, i, a, b, spare, spare_quads):
    """Put row i both in place `a` and at `b` of the spare ones: one of them is written over later."""
    rows[a] = spare[b] = rows[i]
    if is_kept:
        spare_quads[b] = quads[i]
        quads[a] = spare_quads[b]


def bring_back(rows, quads, is_kept, a, b, spare, spare_quads):
    """Put `b` spare rows in place from `a` on."""
    rows[a : a + b] = spare[:b]
    if is_kept:
        quads[a : a + b] = spare_quads[:b]


def divide_node(
    codes, matrix, missing, feature, cut, side, rows, quads, is_kept, start, stop, spare, spare_quads, link
):
    """Put the rows with codes up to the cut before the others, both in their order; return where the others begin."""
    own = numpy.asarray(rows[start:stop]).copy()
    values = numpy.asarray(codes)[feature, own].astype(numpy.int64)
    known = values != missing
    is_left = numpy.where(known, values <= cut, side == 1.0)
    rows[start:stop] = numpy.concatenate([own[is_left], own[~is_left]])
    if is_kept:
        quads[start:stop] = numpy.concatenate([quads[start:stop][is_left], quads[start:stop][~is_left]])
    link[2] = values[known & is_left].max(initial=-1)
    link[3] = values[known & ~is_left].min(initial=2147483647)
    return int(start) + int(is_left.sum())


def divide_coarse(codes, coarse, coarse_matrix, feature, cut, *rest):
    """As :func:`divide_node` by coarse codes: up to the greatest code of their steps."""
    cut = numpy.asarray(codes)[feature, numpy.asarray(coarse)[feature] <= cut].max(initial=-1)
    return divide_node(codes, None, -1, feature, cut, 2.0, *rest)


def _describe(is_kept, node, start, stop, rows, quads, labels, targets, weight, firsts, numbers):
    """Write what is known of a node; whether there is nothing to tell apart."""
    if is_kept:
        rows, weight = range(int(start), int(stop)), quads[:, 1]
        start, stop = 0, len(rows)
        labels, targets = (quads[:, 2:3] > 0).astype(int), quads[:, 3:]
    if firsts.shape[0]:
        numbers[node, 1] = sum_classes(rows, start, stop, labels, weight, numbers[node, 2:])
        return are_pure(numbers[node, 2:], firsts, numbers[node, 1])
    outputs = targets.shape[1]
    parts = numbers[node, 2 : 2 + outputs], numbers[node, 2 + outputs :], numbers[node, 1:]
    return sum_values(rows, start, stop, targets, weight, *parts)


def _add_node(start, stop, seed, depth, rows, quads, labels, targets, weight, firsts, limits, *tree):
    state, stack, links, numbers = tree
    node = int(state[1])
    pure = _describe(state[2], node, start, stop, rows, quads, labels, targets, weight, firsts, numbers)
    links[node, 0], links[node, 5], links[node, 6] = -1, stop - start, pure
    state[1] += 1
    if not (pure or stop - start < limits[0] or numbers[node, 1] < limits[1] or depth >= limits[2]):
        stack[int(state[0])] = node, start, stop, seed, depth
        state[0] += 1


def add_children(node, start, middle, stop, seed, depth, *tree):
    """Add both children of a node; the smaller one is split first, so that the stack stays low."""
    state, stack, links, _ = tree[-4:]
    links[node, 0], top = state[1], int(state[0])
    _add_node(start, middle, seed_of_child(seed, 0), depth, *tree)
    _add_node(middle, stop, seed_of_child(seed, 1), depth, *tree)
    if state[0] == top + 2 and middle - start < stop - middle:
        stack[top : top + 2] = numpy.asarray(stack[top : top + 2])[::-1].copy()
