"""A boosted tree that is being grown: its nodes, the queue of leaves that may be split, and the task of the threads.

A node has a row in each of two tables, `numbers` (int64) and `reals` (float64), whose columns are named here. The words
of a node are the sums of those of its rows (see ``boosting_growth``). From FEATURE on a row of `numbers` says how the
node is to be split, or was; a node with the left child 0 is a leaf.
"""

import cython

# Columns of `numbers`: left child (the right one is next), depth, row of its histogram, rows; the sums of gradients in
# quanta, and of curvatures in quanta above the bits that count rows; the column of the split, its last bin on the left,
# whether missing values go left, and the two words of the left child.
LEFT = 0
DEPTH = 1
SLOT = 2
COUNT = 3
GRADIENT_WORD = 4
REST_WORD = 5
FEATURE = 6
BIN = 7
MISSING_LEFT = 8
LEFT_GRADIENT = 9
LEFT_REST = 10

# Columns of `reals`: value, sum of curvatures, gain of the split, sum of gradients, bounds of the value.
VALUE = 0
CURVATURE = 1
GAIN = 2
GRADIENT = 3
LOWER = 4
UPPER = 5

# Columns of `asked` (2, 6), what the search of a split is told of a node: sums of gradients and of curvatures, rows,
# bounds of its children's values, and twice what it saves as a leaf, which a split must exceed.
ASKED_GRADIENT = 0
ASKED_CURVATURE = 1
ASKED_ROWS = 2
ASKED_LOWER = 3
ASKED_UPPER = 4
ASKED_SAVING = 5

# Places in `limits`: the l2 penalty, the fewest rows and the least curvature of a leaf, the fewest rows of a category
# that is placed by itself (also added to its curvature), the greatest depth and number of leaves of a tree, and what a
# split must gain for each category beyond the fourth.
L2 = 0
MIN_ROWS = 1
MIN_CURVATURE = 2
MIN_CATEGORY_ROWS = 3
MAX_DEPTH = 4
MAX_LEAVES = 5
CATEGORY_PRICE = 6

# Places in `quanta`: quanta in one unit of gradient and of curvature, the inverse of each, and the bits of the second
# word that count rows.
GRADIENT_SCALE = 0
CURVATURE_SCALE = 1
GRADIENT_UNIT = 2
CURVATURE_UNIT = 3
COUNT_BITS = 4

# Rows of `features` (4, d + 1), int32: where the bins of a column begin in a histogram (the last bin is that of
# missing values), whether it holds categories, 1 where values may only rise with the column and -1 where they may only
# fall, and whether any column has such a direction, so that values are clipped.
OFFSET = 0
CATEGORICAL = 1
DIRECTION = 2
BOUNDED = 3

# Places in `task`, by which the leader tells the threads what to do: the kind of task, its items and the cost of each
# (in pairs of words added); the node split or added, its first child, the child that is added (-1 for none), the row
# of chosen columns; the histogram built and the one it is subtracted from (-1 for none), which children are searched;
# the score of the tree, the loss to compute, and the number of nodes.
KIND = 0
ITEMS = 1
COST = 2
NODE = 3
CHILD = 4
BUILD = 5
SIDE = 6
BUILT = 7
WHOLE = 8
SEARCH_LEFT = 9
SEARCH_RIGHT = 10
OUTPUT = 11
LOSS = 12
NODES = 13

# Kinds of task.
ROOT_ROWS = 0
SPLIT_ROWS = 1
CHILD_ROWS = 2
COLUMNS = 3
SCORES = 4

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
    shift: cython.int = cython.cast(cython.int, quanta[COUNT_BITS])
    bit: cython.longlong = 1
    numbers[node, LEFT] = 0
    numbers[node, DEPTH] = depth
    # The lower bits of the second word count the rows, those above are the curvature in quanta.
    numbers[node, COUNT] = rest & ((bit << shift) - 1)
    numbers[node, GRADIENT_WORD] = gradient
    numbers[node, REST_WORD] = rest
    reals[node, GRADIENT] = cython.cast(cython.double, gradient) * quanta[GRADIENT_UNIT]
    reals[node, CURVATURE] = cython.cast(cython.double, rest >> shift) * quanta[CURVATURE_UNIT]
    # The value of least loss, -G / (H + l2), within the bounds that monotone ancestors have set.
    reals[node, VALUE] = clip_value(reals[node, GRADIENT], reals[node, CURVATURE], limits[L2], lower, upper)
    reals[node, GAIN] = 0.0
    reals[node, LOWER] = lower
    reals[node, UPPER] = upper


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
    gradient: cython.longlong = numbers[node, LEFT_GRADIENT]
    rest: cython.longlong = numbers[node, LEFT_REST]
    # Differences of integers: the right child has exactly the rows that the left one has not.
    other: cython.longlong = numbers[node, GRADIENT_WORD] - gradient
    other_rest: cython.longlong = numbers[node, REST_WORD] - rest
    shift: cython.int = cython.cast(cython.int, quanta[COUNT_BITS])
    low: cython.double = reals[node, LOWER]
    high: cython.double = reals[node, UPPER]
    unit: cython.double = quanta[GRADIENT_UNIT]
    bend: cython.double = quanta[CURVATURE_UNIT]
    # Both values come from the bounds of the parent; their middle bounds the children, so no later split can cross it.
    middle: cython.double = clip_value(
        cython.cast(cython.double, gradient) * unit,
        cython.cast(cython.double, rest >> shift) * bend,
        limits[L2],
        low,
        high,
    )
    middle = 0.0 + middle
    middle += clip_value(
        cython.cast(cython.double, other) * unit,
        cython.cast(cython.double, other_rest >> shift) * bend,
        limits[L2],
        low,
        high,
    )
    middle = middle / 2.0
    make_leaf(
        numbers, reals, left, gradient, rest, numbers[node, DEPTH] + 1, middle if direction < 0 else low,
        middle if direction > 0 else high, limits, quanta,
    )  # fmt: skip
    make_leaf(
        numbers, reals, left + 1, other, other_rest, numbers[node, DEPTH] + 1, middle if direction > 0 else low,
        middle if direction < 0 else high, limits, quanta,
    )  # fmt: skip
    numbers[node, LEFT] = left


def may_split(
    numbers: cython.const[cython.longlong][:, ::1],
    reals: cython.const[cython.double][:, ::1],
    node: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
) -> cython.int:
    """Return whether a leaf has enough rows and curvature for two, and room for another level."""
    count: cython.double = cython.cast(cython.double, numbers[node, COUNT])
    return (
        cython.cast(cython.double, numbers[node, DEPTH]) < limits[MAX_DEPTH]
        and count >= 2.0 * limits[MIN_ROWS]
        and count >= 2.0
        and reals[node, CURVATURE] >= 2.0 * limits[MIN_CURVATURE]
    )


def measure_saving(
    reals: cython.const[cython.double][:, ::1],
    node: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
) -> cython.double:
    """Return twice the loss that a leaf saves: -(2 G v + (H + l2) v^2)."""
    value: cython.double = reals[node, VALUE]
    return -value * (2.0 * reals[node, GRADIENT] + (reals[node, CURVATURE] + limits[L2]) * value)


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
    asked[side, ASKED_GRADIENT] = reals[node, GRADIENT]
    asked[side, ASKED_CURVATURE] = reals[node, CURVATURE]
    asked[side, ASKED_ROWS] = cython.cast(cython.double, numbers[node, COUNT])
    asked[side, ASKED_LOWER] = reals[node, LOWER]
    asked[side, ASKED_UPPER] = reals[node, UPPER]
    # The rounding of sums is no gain.
    asked[side, ASKED_SAVING] = saving + 1e-12 * (saving if saving > 0.0 else -saving)


def precedes(
    reals: cython.const[cython.double][:, ::1], node: cython.Py_ssize_t, other: cython.Py_ssize_t
) -> cython.int:
    """Return whether a node is split before another: if it gains more, or as much and is older."""
    return reals[node, GAIN] > reals[other, GAIN] or (reals[node, GAIN] == reals[other, GAIN] and node < other)


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
