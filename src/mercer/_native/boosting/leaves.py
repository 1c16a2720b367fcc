"""A boosted tree that is being grown: its nodes, and the queue of leaves that may be split.

``layout`` names the columns of `numbers` and `reals`, which have a row for each node, and the places in other tables.
"""

import cython

from mercer._native.boosting import layout

# Added to a curvature, so that 0 / 0 is 0.
TINY = 1e-300


def clip_value(
    gradient: cython.double, curvature: cython.double, l2: cython.double, lower: cython.double, upper: cython.double
) -> cython.double:
    """Return the value of a leaf, -gradient / (curvature + l2), clipped to its bounds."""
    value: cython.double = -gradient / (curvature + l2 + TINY)
    value = lower if lower > value else value
    return upper if upper < value else value


def make_leaf(
    numbers: cython.longlong[:, ::1],
    reals: cython.double[:, ::1],
    node: cython.Py_ssize_t,
    gradient: cython.longlong,
    rest: cython.longlong,
    depth: cython.longlong,
    lower: cython.double,
    upper: cython.double,
    limits: cython.const[cython.double][::1],
    quanta: cython.const[cython.double][::1],
) -> cython.void:
    """Make `node` a leaf of rows with the words `gradient` and `rest`, whose value is between `lower` and `upper`."""
    shift: cython.int = cython.cast(cython.int, quanta[layout.COUNT_BITS])
    bit: cython.longlong = 1
    numbers[node, layout.LEFT] = 0
    numbers[node, layout.DEPTH] = depth
    # The lower bits of the second word count the rows, those above are the curvature in quanta.
    numbers[node, layout.COUNT] = rest & ((bit << shift) - 1)
    numbers[node, layout.GRADIENT_WORD] = gradient
    numbers[node, layout.REST_WORD] = rest
    reals[node, layout.GRADIENT] = cython.cast(cython.double, gradient) * quanta[layout.GRADIENT_UNIT]
    reals[node, layout.CURVATURE] = cython.cast(cython.double, rest >> shift) * quanta[layout.CURVATURE_UNIT]
    # The value of least loss, -G / (H + l2), within the bounds that monotone ancestors have set.
    reals[node, layout.VALUE] = clip_value(
        reals[node, layout.GRADIENT], reals[node, layout.CURVATURE], limits[layout.L2], lower, upper
    )
    reals[node, layout.GAIN] = 0.0
    reals[node, layout.LOWER] = lower
    reals[node, layout.UPPER] = upper


def fork(
    numbers: cython.longlong[:, ::1],
    reals: cython.double[:, ::1],
    node: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    direction: cython.int,
    limits: cython.const[cython.double][::1],
    quanta: cython.const[cython.double][::1],
) -> cython.void:
    """Make the leaves `left` and `left` + 1 below a node.

    If the column has a direction, their values keep to their sides of the middle of the two values.
    """
    gradient: cython.longlong = numbers[node, layout.LEFT_GRADIENT]
    rest: cython.longlong = numbers[node, layout.LEFT_REST]
    # Differences of integers: the right child has exactly the rows that the left one has not.
    other: cython.longlong = numbers[node, layout.GRADIENT_WORD] - gradient
    other_rest: cython.longlong = numbers[node, layout.REST_WORD] - rest
    shift: cython.int = cython.cast(cython.int, quanta[layout.COUNT_BITS])
    low: cython.double = reals[node, layout.LOWER]
    high: cython.double = reals[node, layout.UPPER]
    unit: cython.double = quanta[layout.GRADIENT_UNIT]
    bend: cython.double = quanta[layout.CURVATURE_UNIT]
    # Both values come from the bounds of the parent; their middle bounds the children, so no later split can cross it.
    middle: cython.double = clip_value(
        cython.cast(cython.double, gradient) * unit,
        cython.cast(cython.double, rest >> shift) * bend,
        limits[layout.L2],
        low,
        high,
    )
    middle = 0.0 + middle
    middle += clip_value(
        cython.cast(cython.double, other) * unit,
        cython.cast(cython.double, other_rest >> shift) * bend,
        limits[layout.L2],
        low,
        high,
    )
    middle = middle / 2.0
    make_leaf(
        numbers, reals, left, gradient, rest, numbers[node, layout.DEPTH] + 1, middle if direction < 0 else low,
        middle if direction > 0 else high, limits, quanta,
    )  # fmt: skip
    make_leaf(
        numbers, reals, left + 1, other, other_rest, numbers[node, layout.DEPTH] + 1, middle if direction > 0 else low,
        middle if direction < 0 else high, limits, quanta,
    )  # fmt: skip
    numbers[node, layout.LEFT] = left


def may_split(
    numbers: cython.const[cython.longlong][:, ::1],
    reals: cython.const[cython.double][:, ::1],
    node: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
) -> cython.int:
    """Return whether a leaf has enough rows and curvature for two, and room for another level."""
    count: cython.double = cython.cast(cython.double, numbers[node, layout.COUNT])
    return (
        cython.cast(cython.double, numbers[node, layout.DEPTH]) < limits[layout.MAX_DEPTH]
        and count >= 2.0 * limits[layout.MIN_ROWS]
        and count >= 2.0
        and reals[node, layout.CURVATURE] >= 2.0 * limits[layout.MIN_CURVATURE]
    )


def measure_saving(
    reals: cython.const[cython.double][:, ::1],
    node: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
) -> cython.double:
    """Return twice the loss that a leaf saves: -(2 G v + (H + l2) v^2)."""
    value: cython.double = reals[node, layout.VALUE]
    return -value * (2.0 * reals[node, layout.GRADIENT] + (reals[node, layout.CURVATURE] + limits[layout.L2]) * value)


def describe(
    numbers: cython.const[cython.longlong][:, ::1],
    reals: cython.const[cython.double][:, ::1],
    node: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
    asked: cython.double[:, ::1],
    side: cython.Py_ssize_t,
) -> cython.void:
    """Write the sums, bounds and saving of a node, which the search for a split needs, to `asked[side]`."""
    saving: cython.double = measure_saving(reals, node, limits)
    asked[side, layout.ASKED_GRADIENT] = reals[node, layout.GRADIENT]
    asked[side, layout.ASKED_CURVATURE] = reals[node, layout.CURVATURE]
    asked[side, layout.ASKED_ROWS] = cython.cast(cython.double, numbers[node, layout.COUNT])
    asked[side, layout.ASKED_LOWER] = reals[node, layout.LOWER]
    asked[side, layout.ASKED_UPPER] = reals[node, layout.UPPER]
    # The rounding of sums is no gain.
    asked[side, layout.ASKED_SAVING] = saving + 1e-12 * (saving if saving > 0.0 else -saving)


def precedes(
    reals: cython.const[cython.double][:, ::1], node: cython.Py_ssize_t, other: cython.Py_ssize_t
) -> cython.int:
    """Return whether a node is split before another: if it gains more, or as much and is older."""
    return reals[node, layout.GAIN] > reals[other, layout.GAIN] or (
        reals[node, layout.GAIN] == reals[other, layout.GAIN] and node < other
    )


def push(
    queue: cython.int[::1],
    count: cython.Py_ssize_t,
    reals: cython.const[cython.double][:, ::1],
    node: cython.Py_ssize_t,
) -> cython.void:
    """Add a node to a queue of `count` nodes: a binary heap, the next node to split first."""
    parent: cython.Py_ssize_t
    # The queue is a heap: no node precedes its parent at place (k - 1) // 2.
    while count > 0:
        parent = (count - 1) // 2
        if not precedes(reals, node, queue[parent]):
            break
        queue[count] = queue[parent]
        count = parent
    queue[count] = cython.cast(cython.int, node)


def pop(
    queue: cython.int[::1], count: cython.Py_ssize_t, reals: cython.const[cython.double][:, ::1]
) -> cython.Py_ssize_t:
    """Take the next node from a queue of `count` nodes, which has one less afterwards."""
    first: cython.Py_ssize_t = queue[0]
    last: cython.Py_ssize_t = queue[count - 1]
    place: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t = 1
    count -= 1
    # The last node sinks from the top until no child precedes it.
    while child < count:
        if child + 1 < count and precedes(reals, queue[child + 1], queue[child]):
            child += 1
        if not precedes(reals, queue[child], last):
            break
        queue[place] = queue[child]
        place = child
        child = 2 * place + 1
    queue[place] = cython.cast(cython.int, last)
    return first
