"""The uncompiled twin of ``node_steps.pxd``."""

import numpy

from mercer._native.tree import code_order, node_sums

WEIGHT = 1
AMOUNT = 2
TARGET = 3
INDEX = 0
START = 1
STOP = 2
SEED = 3
DEPTH = 4
CHILD = 0
FEATURE = 1
GREATEST_LEFT = 2
LEAST_RIGHT = 3
SIDE = 4
ROWS = 5
PURE = 6
THRESHOLD = 0
NODE_WEIGHT = 1
DESCRIBED = 2


def _seed_child(seed, is_right):
    """Return the seed of a child, which depends on the path from the root alone."""
    return code_order.mix(int(seed) + (0x2545F491 if is_right else 0x51ED2701))


def _divide(node, growth, own, is_left):
    """Put the rows of `own` that go left before the others, both in their order; return where the others begin."""
    part = slice(node.start, node.start + node.count)
    growth.rows[part] = numpy.concatenate([own[is_left], own[~is_left]])
    if node.is_kept:
        node.quads[part] = numpy.concatenate([node.quads[part][is_left], node.quads[part][~is_left]])
    return int(node.start) + int(is_left.sum())


def divide_node(codes, matrix, table, node, growth, link):
    """Put the rows with codes up to the best cut before the others, both in their order; return where those begin."""
    own = numpy.asarray(growth.rows[node.start : node.start + node.count]).copy()
    if codes.dtype.kind == "f":
        return _divide_values(codes, node, growth, own, link)
    values = numpy.asarray(codes)[node.best_feature, own].astype(numpy.int64)
    known = values != table.missing[0, node.best_feature]
    is_left = numpy.where(known, values <= node.best_cut, node.best_side == 1)
    # The codes next to the cut on either side: the threshold becomes the midpoint of their values.
    link[GREATEST_LEFT] = values[known & is_left].max(initial=-1)
    link[LEAST_RIGHT] = values[known & ~is_left].min(initial=2147483647)
    return _divide(node, growth, own, is_left)


def divide_coarse(codes, table, node, growth, link):
    """Divide as :func:`divide_node`, by the greatest code of the coarse steps up to the best cut."""
    feature = node.best_feature
    steps = numpy.asarray(table.coarse)[feature]
    node.best_cut = numpy.asarray(codes)[feature, steps <= node.best_cut].max(initial=-1)
    return divide_node(codes, None, table, node, growth, link)


def _divide_values(values, node, growth, own, link):
    """Divide as :func:`divide_node`, by the best random threshold; `link` receives zeros, for there are no codes."""
    own_values = numpy.asarray(values)[node.best_feature, own]
    is_left = numpy.where(numpy.isnan(own_values), node.best_side == 1, own_values <= node.best_threshold)
    link[GREATEST_LEFT] = link[LEAST_RIGHT] = 0
    growth.numbers[node.index, THRESHOLD] = node.best_threshold
    return _divide(node, growth, own, is_left)


def _describe(node, growth, known, start, stop):
    """Write weight, value and variance of a node to `known`; return whether all its targets are equal."""
    rows, weight, labels, targets = growth.rows, growth.weight, growth.labels, growth.targets
    # Kept nodes read weight, label and target from contiguous quads.
    if node.is_kept:
        rows, weight = range(int(start), int(stop)), node.quads[:, WEIGHT]
        start, stop = 0, len(rows)
        labels, targets = (node.quads[:, AMOUNT : AMOUNT + 1] > 0).astype(int), node.quads[:, TARGET:]
    # Classification describes a node by class weights, regression by means and variances.
    if growth.firsts.shape[0]:
        known[NODE_WEIGHT] = node_sums.sum_classes(rows, start, stop, labels, weight, known[DESCRIBED:])
        return node_sums.are_pure(known[DESCRIBED:], growth.firsts, known[NODE_WEIGHT])
    end = DESCRIBED + targets.shape[1]
    return node_sums.sum_values(
        rows, start, stop, targets, weight, known[DESCRIBED:end], known[end:], known[NODE_WEIGHT:]
    )


def _add_node(node, growth, start, stop, seed, depth):
    """Describe the node of the rows from `start` to `stop`, and put it on the stack if the rules allow a split."""
    index, known = growth.n_nodes, growth.numbers[growth.n_nodes]
    pure = _describe(node, growth, known, start, stop)
    growth.links[index, CHILD], growth.links[index, ROWS], growth.links[index, PURE] = -1, stop - start, pure
    growth.n_nodes += 1
    few = stop - start < growth.min_rows or known[NODE_WEIGHT] < growth.min_weight
    if not (pure or few or depth >= growth.max_depth):
        growth.stack[growth.height] = index, start, stop, seed, depth
        growth.height += 1


def add_children(node, growth, middle, depth):
    """Add both children of a node, whose right rows begin at `middle`; the smaller child is split first."""
    growth.links[node.index, CHILD], top = growth.n_nodes, growth.height
    stop = node.start + node.count
    _add_node(node, growth, node.start, middle, _seed_child(node.seed, 0), depth)
    _add_node(node, growth, middle, stop, _seed_child(node.seed, 1), depth)
    if growth.height == top + 2 and middle - node.start < stop - middle:
        growth.stack[top : top + 2] = numpy.asarray(growth.stack[top : top + 2])[::-1].copy()
