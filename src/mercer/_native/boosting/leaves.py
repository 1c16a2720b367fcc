"""The uncompiled twin of ``leaves.pxd``: the same formulas, hence the same bits."""

__all__ = ["describe", "fork", "may_split", "plant", "pop", "push", "saving"]

LEFT, DEPTH, SLOT, COUNT, GRADIENT_WORD, REST_WORD, FEATURE, BIN, MISSING_LEFT, LEFT_GRADIENT, LEFT_REST = range(11)
VALUE, CURVATURE, GAIN, GRADIENT, LOWER, UPPER = range(6)
KIND, ITEMS, COST, NODE, CHILD, BUILD, SIDE, BUILT, WHOLE, SEARCH_LEFT, SEARCH_RIGHT, OUTPUT, LOSS, NODES = range(14)
ROOT_ROWS, SPLIT_ROWS, CHILD_ROWS, COLUMNS, SCORES = range(5)


def _clipped(gradient, curvature, l2, lower, upper):
    return min(max(-gradient / (curvature + l2 + 1e-300), lower), upper)


def plant(numbers, reals, node, gradient, rest, depth, lower, upper, limits, units, shift):
    """Make a leaf of rows with these words, whose value is between bounds."""
    gradient, rest = int(gradient), int(rest)
    numbers[node, :REST_WORD] = 0, depth, numbers[node, SLOT], rest & ((1 << shift) - 1), gradient
    numbers[node, REST_WORD] = rest
    slope, curvature = gradient * units[0], (rest >> shift) * units[1]
    reals[node] = _clipped(slope, curvature, limits[0], lower, upper), curvature, 0.0, slope, lower, upper


def fork(numbers, reals, node, left, direction, limits, units, shift):
    """Make two leaves below a node, whose values keep to their sides of the middle if the column has a direction."""
    words = numbers[node, LEFT_GRADIENT], numbers[node, LEFT_REST]
    words = words, (numbers[node, GRADIENT_WORD] - words[0], numbers[node, REST_WORD] - words[1])
    low, high = reals[node, LOWER], reals[node, UPPER]
    values = (
        _clipped(gradient * units[0], (rest >> shift) * units[1], limits[0], low, high) for gradient, rest in words
    )
    middle = sum(values) / 2
    bounds = [(low, middle), (middle, high)][:: 1 if direction > 0 else -1] if direction else [(low, high)] * 2
    for side in range(2):
        depth = numbers[node, DEPTH] + 1
        plant(numbers, reals, left + side, *words[side], depth, *bounds[side], limits, units, shift)
    numbers[node, LEFT] = left


def may_split(numbers, reals, node, limits):
    """Whether a leaf has enough rows and curvature for two."""
    count = numbers[node, COUNT]
    enough = count >= 2 * limits[1] and count >= 2 and reals[node, CURVATURE] >= 2 * limits[2]
    return int(enough and numbers[node, DEPTH] < limits[4])


def saving(reals, node, limits):
    """What a leaf saves, twice."""
    value = reals[node, VALUE]
    return -value * (2.0 * reals[node, GRADIENT] + (reals[node, CURVATURE] + limits[0]) * value)


def describe(numbers, reals, node, limits, asked, side):
    """Write what gains.py asks of a node."""
    saved = saving(reals, node, limits)
    gradient, curvature = reals[node, GRADIENT], reals[node, CURVATURE]
    asked[side] = gradient, curvature, numbers[node, COUNT], *reals[node, LOWER:], saved + 1e-12 * abs(saved)


def push(queue, count, reals, node):
    """Add a node to a queue of some: a sorted list is a heap."""
    queue[count] = node
    queue[: count + 1] = sorted(queue[: count + 1], key=lambda one: (-reals[one, GAIN], one))


def pop(queue, count, reals):
    """Take the next node from a queue of some, which has one less afterwards."""
    first = int(queue[0])
    queue[: count - 1] = queue[1:count].copy()
    return first
