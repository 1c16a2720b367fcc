"""The uncompiled twin of ``space.pxd``: the same sums in the same order, hence the same bits."""

import numpy


def width():
    """Return the number of rows in a leaf."""
    return 32


def leaf_distances(leaves, leaf, x, limit, out):
    """Write the squared distances from `x` to the rows of a leaf; return whether any is at most `limit`."""
    total = numpy.zeros(32)
    with numpy.errstate(all="ignore"):
        for feature, value in zip(numpy.asarray(leaves[leaf]), x):
            total = total + (feature.astype(numpy.float64) - value) ** 2
    out[:] = total
    return bool((total <= limit).any())


def _gap(lower, upper, low, high):
    total = 0.0
    for k in range(len(lower)):
        below = max(lower[k] - high[k], low[k] - upper[k], 0.0)
        total += below * below
    return total


def box_gap(boxes, node, box):
    """Return the squared distance between the box of a node and another box; zero where they overlap."""
    return _gap(boxes[node, 0], boxes[node, 1], box[0], box[1])


def point_gap(boxes, node, x):
    """Return the squared distance from a point to the box of a node."""
    return _gap(boxes[node, 0], boxes[node, 1], x, x)


def enclose(rows, start, stop, box):
    """Write the bounding box of the rows from `start` to `stop`."""
    box[0] = numpy.asarray(rows)[start:stop].min(axis=0)
    box[1] = numpy.asarray(rows)[start:stop].max(axis=0)


def descend(boxes, nodes, box, top, stack, gaps):
    """Replace the node on top of the stack by its children, the nearer one above; return the new height."""
    # A left subtree of h leaves has 2 h - 1 nodes, all before the right child.
    node = int(stack[top - 1])
    children = [node + 1, node + 2 * ((int(nodes[node, 1]) + 1) // 2)]
    distances = [box_gap(boxes, child, box) for child in children]
    far = 1 if distances[0] <= distances[1] else 0
    stack[top - 1], gaps[top - 1] = children[far], distances[far]
    stack[top], gaps[top] = children[1 - far], distances[1 - far]
    return top + 1


def precedes(weight, row, other, best_weight, best_row, best_other):
    """Return whether an edge comes before the best so far: by weight, then by the lower and the higher row index."""
    edge, best = sorted((int(row), int(other))), sorted((int(best_row), int(best_other)))
    return (weight, *edge) < (best_weight, *best)
