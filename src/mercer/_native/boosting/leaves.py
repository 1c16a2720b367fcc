"""A boosted tree that is being grown: the records of its nodes, rules and tasks, and the queue of its open leaves.

``records`` has the NumPy types of these records.
"""

import cython

# The words of a row, of a bin of a histogram, or of a node (see ``boosting_growth``): the sum of gradients in quanta;
# the rest is the sum of curvatures in quanta, above the bits that count rows.
Words = cython.struct(gradient=cython.longlong, rest=cython.longlong)
# A node: its left child (the right one is next; a leaf has the left child 0), its depth, the row of its histogram, its
# rows and their words. How it is to be split, or was: by which column, the last bin on the left, whether missing values
# go left, and the words of the left child. Its value, the gain of the split, the sums of gradients and of curvatures,
# and the bounds of the value.
Node = cython.struct(
    left=cython.longlong,
    depth=cython.longlong,
    slot=cython.longlong,
    count=cython.longlong,
    words=Words,
    feature=cython.longlong,
    last=cython.longlong,
    missing_left=cython.longlong,
    left_words=Words,
    value=cython.double,
    gain=cython.double,
    gradient=cython.double,
    curvature=cython.double,
    lower=cython.double,
    upper=cython.double,
)
# The rules of a tree: the l2 penalty, the fewest rows and the least curvature of a leaf, the fewest rows of a category
# that is placed by itself (also added to its curvature), the greatest depth and number of leaves, what a split must
# gain for each category beyond the fourth; quanta in one unit of gradient and of curvature, the inverse of each, the
# bits of the second word that count rows; and whether any column has a direction, so that values are clipped.
Rules = cython.struct(
    l2=cython.double,
    min_rows=cython.double,
    min_curvature=cython.double,
    min_category_rows=cython.double,
    max_depth=cython.double,
    max_leaves=cython.double,
    category_price=cython.double,
    gradient_scale=cython.double,
    curvature_scale=cython.double,
    gradient_unit=cython.double,
    curvature_unit=cython.double,
    count_bits=cython.longlong,
    bounded=cython.longlong,
)
# A column: whether it holds categories, and 1 where values may only rise with it, -1 where they may only fall.
Column = cython.struct(categorical=cython.int, direction=cython.int)
# The best split by a column: what it saves, less the price of its categories; its last bin on the left, or the number
# of categories on the left less one; and its way (see ``gains``), -1 where no split saves enough.
Split = cython.struct(saving=cython.double, last=cython.int, way=cython.int)
# Where the rows of a node begin and end in the order of a block.
Span = cython.struct(first=cython.int, last=cython.int)
# What the leader tells the threads to do: the kind of task, its items and the cost of each (in pairs of words added);
# the node split or added, its first child, the child that is added (-1 for none), the row of chosen columns; the
# histogram built and the one it is subtracted from (-1 for none), which children are searched; the score of the tree,
# the loss to compute, and the number of nodes.
Task = cython.struct(
    kind=cython.longlong,
    items=cython.longlong,
    cost=cython.longlong,
    node=cython.longlong,
    child=cython.longlong,
    build=cython.longlong,
    side=cython.longlong,
    built=cython.longlong,
    whole=cython.longlong,
    search_left=cython.longlong,
    search_right=cython.longlong,
    output=cython.longlong,
    loss=cython.longlong,
    nodes=cython.longlong,
)

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
    value = -gradient / (curvature + l2 + TINY)
    value = lower if lower > value else value
    return upper if upper < value else value


def make_leaf(
    nodes: Node[::1],
    node: cython.Py_ssize_t,
    depth: cython.longlong,
    lower: cython.double,
    upper: cython.double,
    rules: cython.const[Rules][::1],
) -> cython.void:
    """Make `node`, whose words are known, a leaf with a value between `lower` and `upper`."""
    bit: cython.longlong = 1
    nodes[node].left = 0
    nodes[node].depth = depth
    # The lower bits of the second word count the rows, those above are the curvature in quanta.
    nodes[node].count = nodes[node].words.rest & ((bit << rules[0].count_bits) - 1)
    nodes[node].gradient = cython.cast(cython.double, nodes[node].words.gradient) * rules[0].gradient_unit
    nodes[node].curvature = (
        cython.cast(cython.double, nodes[node].words.rest >> rules[0].count_bits) * rules[0].curvature_unit
    )
    # The value of least loss, -G / (H + l2), within the bounds that monotone ancestors have set.
    nodes[node].value = clip_value(nodes[node].gradient, nodes[node].curvature, rules[0].l2, lower, upper)
    nodes[node].gain = 0.0
    nodes[node].lower = lower
    nodes[node].upper = upper


def fork(
    nodes: Node[::1],
    node: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    direction: cython.int,
    rules: cython.const[Rules][::1],
) -> cython.void:
    """Make the leaves `left` and `left` + 1 below a node.

    If the column has a direction, their values keep to their sides of the middle of the two values.
    """
    low: cython.double = nodes[node].lower
    high: cython.double = nodes[node].upper
    depth: cython.longlong = nodes[node].depth + 1
    nodes[left].words.gradient = nodes[node].left_words.gradient
    nodes[left].words.rest = nodes[node].left_words.rest
    # Differences of integers: the right child has exactly the rows that the left one has not.
    nodes[left + 1].words.gradient = nodes[node].words.gradient - nodes[left].words.gradient
    nodes[left + 1].words.rest = nodes[node].words.rest - nodes[left].words.rest
    make_leaf(nodes, left, depth, low, high, rules)
    make_leaf(nodes, left + 1, depth, low, high, rules)
    if direction != 0:
        # Both values come from the bounds of the parent; their middle bounds the children, so no later split can cross.
        middle = (0.0 + nodes[left].value + nodes[left + 1].value) / 2.0
        make_leaf(nodes, left, depth, middle if direction < 0 else low, middle if direction > 0 else high, rules)
        make_leaf(nodes, left + 1, depth, middle if direction > 0 else low, middle if direction < 0 else high, rules)
    nodes[node].left = left


def may_split(nodes: cython.const[Node][::1], node: cython.Py_ssize_t, rules: cython.const[Rules][::1]) -> cython.int:
    """Return whether a leaf has enough rows and curvature for two, and room for another level."""
    count = cython.cast(cython.double, nodes[node].count)
    return (
        cython.cast(cython.double, nodes[node].depth) < rules[0].max_depth
        and count >= 2.0 * rules[0].min_rows
        and count >= 2.0
        and nodes[node].curvature >= 2.0 * rules[0].min_curvature
    )


def measure_saving(
    nodes: cython.const[Node][::1], node: cython.Py_ssize_t, rules: cython.const[Rules][::1]
) -> cython.double:
    """Return twice the loss that a leaf saves: -(2 G v + (H + l2) v^2)."""
    value = nodes[node].value
    return -value * (2.0 * nodes[node].gradient + (nodes[node].curvature + rules[0].l2) * value)


def find_least_saving(
    nodes: cython.const[Node][::1], node: cython.Py_ssize_t, rules: cython.const[Rules][::1]
) -> cython.double:
    """Return what a split of a leaf must exceed: twice the loss that the leaf saves, and the rounding of sums."""
    saving = measure_saving(nodes, node, rules)
    return saving + 1e-12 * (saving if saving > 0.0 else -saving)


def precedes(nodes: cython.const[Node][::1], node: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.int:
    """Return whether a node is split before another: if it gains more, or as much and is older."""
    return nodes[node].gain > nodes[other].gain or (nodes[node].gain == nodes[other].gain and node < other)


def push(
    queue: cython.int[::1], count: cython.Py_ssize_t, nodes: cython.const[Node][::1], node: cython.Py_ssize_t
) -> cython.void:
    """Add a node to a queue of `count` nodes: a binary heap, the next node to split first."""
    # The queue is a heap: no node precedes its parent at place (k - 1) // 2.
    while count > 0:
        parent = (count - 1) // 2
        if not precedes(nodes, node, queue[parent]):
            break
        queue[count] = queue[parent]
        count = parent
    queue[count] = cython.cast(cython.int, node)


def pop(queue: cython.int[::1], count: cython.Py_ssize_t, nodes: cython.const[Node][::1]) -> cython.Py_ssize_t:
    """Take the next node from a queue of `count` nodes, which has one less afterwards."""
    first: cython.Py_ssize_t = queue[0]
    last: cython.Py_ssize_t = queue[count - 1]
    place: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t = 1
    count -= 1
    # The last node sinks from the top until no child precedes it.
    while child < count:
        if child + 1 < count and precedes(nodes, queue[child + 1], queue[child]):
            child += 1
        if not precedes(nodes, queue[child], last):
            break
        queue[place] = queue[child]
        place = child
        child = 2 * place + 1
    queue[place] = cython.cast(cython.int, last)
    return first
