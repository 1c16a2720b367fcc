"""The steps around the growth of a tree: targets in steps, ranks of columns, depth-first order, sums by level."""

import cython

if cython.compiled:
    from cython.cimports.libc.math import floor, rint
    from cython.cimports.mercer._native.tree import growth_records as records
else:
    from numpy import floor, rint

    from mercer._native.tree import growth_records as records

real = cython.fused_type(cython.float, cython.double)

# What the arrays of a tree hold at a leaf, as in scikit-learn.
LEAF = cython.declare(cython.int, -1)
UNDEFINED = cython.declare(cython.int, -2)
INFINITY = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class Nodes:
    """The arrays of a tree of n nodes, numbered depth first, all written.

    They are those of ``BinaryTree``; `described` (n, m) are the numbers besides the weight that describe a node, and
    `pure` (n,) are flags.
    """

    left: cython.int[::1]
    right: cython.int[::1]
    feature: cython.int[::1]
    rows: cython.int[::1]
    threshold: cython.double[::1]
    weights: cython.double[::1]
    described: cython.double[:, ::1]
    missing_left: cython.uchar[::1]
    pure: cython.uchar[::1]
    depths: cython.longlong[::1]

    def __init__(self, made):
        """Hold the arrays of a dictionary."""
        self.left, self.right = made["children_left"], made["children_right"]
        self.feature, self.threshold = made["feature"], made["threshold"]
        self.missing_left, self.depths = made["missing_go_to_left"], made["depths"]
        self.rows, self.weights = made["n_node_samples"], made["weighted_n_node_samples"]
        self.described, self.pure = made["described"], made["pure"]


def find_range(
    targets: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    low: cython.double[::1],
    high: cython.double[::1],
) -> bool:
    """Write the least and the greatest target of rows with weight, (outputs,); return whether all weights are whole."""
    are_whole: cython.bint = True
    with cython.nogil:
        for k in range(low.shape[0]):
            low[k] = INFINITY
            high[k] = -INFINITY
        for i in range(weight.shape[0]):
            are_whole = are_whole and weight[i] == floor(weight[i])
            if weight[i] > 0.0:
                for k in range(low.shape[0]):
                    low[k] = min(low[k], targets[i, k])
                    high[k] = max(high[k], targets[i, k])
    return are_whole


def scale_targets(
    targets: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    origin: cython.const[cython.double][::1],
    step: cython.double,
    are_whole: cython.bint,
    amounts: cython.double[:, ::1],
    slots: cython.int[:, ::1],
):
    """Write weighted targets in whole steps from their origin, and the index of their output, both (n, outputs).

    Whole weights multiply whole steps; other weights come before the rounding.
    """
    with cython.nogil:
        for i in range(weight.shape[0]):
            for k in range(origin.shape[0]):
                steps = (targets[i, k] - origin[k]) / step
                amounts[i, k] = rint(steps) * weight[i] if are_whole else rint(weight[i] * steps)
                slots[i, k] = cython.cast(cython.int, k)


def rank_columns(
    columns: cython.const[real][:, ::1],
    order: cython.const[cython.longlong][:, ::1],
    codes: cython.int[:, ::1],
    values: cython.double[::1],
    offsets: cython.longlong[::1],
    missing: cython.int[::1],
) -> int:
    """Write the rank of each value among the distinct ones of its column; NaN has the rank after the last.

    Return the largest number of ranks of a column, that of NaN among them.

    Parameters
    ----------
    columns : (d, n)
    order : (d, n), the rows of each column in the order of their values, NaN last
    codes : (d, n), written
    values, offsets : (d n + 1,), (d + 1,), written: the distinct values of one column after the other, a zero after the
        last, and where each column begins
    missing : (d,), written: the rank of NaN, or -1 in a column without any
    """
    total: cython.Py_ssize_t = 0
    most: cython.Py_ssize_t = 0
    with cython.nogil:
        for j in range(columns.shape[0]):
            offsets[j] = total
            missing[j] = -1
            for i in range(columns.shape[1]):
                row = order[j, i]
                value = columns[j, row]
                if value != value:
                    missing[j] = cython.cast(cython.int, total - offsets[j])
                    codes[j, row] = missing[j]
                    continue
                if i == 0 or value != values[total - 1]:
                    values[total] = value
                    total += 1
                codes[j, row] = cython.cast(cython.int, total - offsets[j] - 1)
            most = max(most, total - offsets[j] + (missing[j] >= 0))
        offsets[columns.shape[0]] = total
        values[total] = 0.0
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_threshold(
    grown: cython.const[records.GrownNode][::1],
    node: cython.Py_ssize_t,
    values: cython.const[cython.double][::1],
    offsets: cython.const[cython.longlong][::1],
) -> cython.double:
    """Return the middle between the greatest value that goes left and the least that does not."""
    feature: cython.Py_ssize_t = grown[node].feature
    first: cython.Py_ssize_t = offsets[feature]
    low: cython.double = values[first + grown[node].greatest_left]
    # No present value goes right: the split is between present and missing ones.
    if grown[node].least_right >= offsets[feature + 1] - first:
        return INFINITY
    high = values[first + grown[node].least_right]
    middle = low / 2.0 + high / 2.0
    # Between neighbouring floats the middle may round up, and the upper value must stay on its side.
    return low if middle >= high else middle


def order_nodes(
    grown: cython.const[records.GrownNode][::1],
    described: cython.const[cython.double][:, ::1],
    values: cython.const[cython.double][::1],
    offsets: cython.const[cython.longlong][::1],
    is_drawn: cython.bint,
    n_trees: cython.Py_ssize_t,
    sizes: cython.longlong[::1],
    places: cython.longlong[::1],
    nodes: Nodes,
):
    """Write the nodes of trees one after the other, depth first, left before right.

    In `grown` the roots come first, and children come after their parents.

    Parameters
    ----------
    grown, described : (n,), (n, m)
    values, offsets : the distinct values of all columns, and where each column begins
    is_drawn : whether thresholds were drawn, and are in `grown`
    sizes : (n,), written: the number of nodes from each downwards
    places : (n,), written: the index of each node in the order of `nodes`, which is that of its links, too
    nodes : written
    """
    n: cython.Py_ssize_t = grown.shape[0]
    with cython.nogil:
        # From the last node to the first: the sizes of both subtrees are known before that of their parent.
        for i in range(n):
            sizes[n - 1 - i] = 1
            child = grown[n - 1 - i].left
            if child >= 0:
                sizes[n - 1 - i] += sizes[child] + sizes[child + 1]
        for i in range(n_trees):
            places[i] = places[i - 1] + sizes[i - 1] if i > 0 else 0
            nodes.depths[places[i]] = 0
        for i in range(n):
            at = places[i]
            child = grown[i].left
            nodes.left[at] = LEAF
            nodes.right[at] = LEAF
            nodes.feature[at] = UNDEFINED
            nodes.threshold[at] = UNDEFINED
            nodes.missing_left[at] = 0
            nodes.rows[at] = grown[i].rows
            nodes.pure[at] = grown[i].pure != 0
            nodes.weights[at] = grown[i].weight
            for k in range(nodes.described.shape[1]):
                nodes.described[at, k] = described[i, k]
            if child < 0:
                continue
            # The left child follows its parent, and the right child the whole left subtree.
            places[child] = at + 1
            places[child + 1] = at + 1 + sizes[child]
            nodes.depths[at + 1] = nodes.depths[at] + 1
            nodes.depths[places[child + 1]] = nodes.depths[at] + 1
            nodes.left[at] = cython.cast(cython.int, at + 1)
            nodes.right[at] = cython.cast(cython.int, places[child + 1])
            nodes.feature[at] = grown[i].feature
            nodes.threshold[at] = grown[i].threshold
            if not is_drawn:
                nodes.threshold[at] = find_threshold(grown, i, values, offsets)
            # Where a node had no missing values, later ones go to the heavier child.
            nodes.missing_left[at] = grown[i].side == records.LEFT
            if grown[i].side == records.NONE_MISSING:
                nodes.missing_left[at] = grown[child].weight > grown[child + 1].weight


def number_nodes(
    left: cython.const[cython.int][::1],
    roots: cython.const[cython.int][::1],
    below: cython.int[::1],
    places: cython.int[::1],
):
    """Write the place of each node of some trees in depth-first order, and the number of nodes from it downwards.

    `left` (nodes,) are left children in the same tree, 0 at a leaf; they come after their parents, and right children
    are next to them.
    """
    with cython.nogil:
        for t in range(roots.shape[0]):
            stop = roots[t + 1] if t + 1 < roots.shape[0] else left.shape[0]
            for node in range(stop - 1, roots[t] - 1, -1):
                child = roots[t] + left[node]
                below[node] = 1 + below[child] + below[child + 1] if left[node] > 0 else 1
            places[roots[t]] = roots[t]
            for node in range(roots[t], stop):
                child = roots[t] + left[node]
                if left[node] > 0:
                    places[child] = places[node] + 1
                    places[child + 1] = places[node] + 1 + below[child]


def sum_levels(
    left: cython.const[cython.int][::1],
    depths: cython.const[cython.longlong][::1],
    costs: cython.const[cython.double][::1],
    sums: cython.double[:, ::1],
    leaves: cython.longlong[:, ::1],
) -> int:
    """Write the cost and the number of leaves of a tree cut off at each depth; return the number of depths.

    Cut off at a depth, a tree has as leaves the nodes there and the leaves above.

    Parameters
    ----------
    left, depths, costs : (n,), the left child (-1 at a leaf), the depth and the cost of each node
    sums : (2, n + 1) zeros, the first row written; the second is scratch, for the leaves above
    leaves : (2, n + 1) zeros, likewise
    """
    deepest: cython.Py_ssize_t = 0
    above: cython.double = 0.0
    n_above: cython.longlong = 0
    with cython.nogil:
        for i in range(left.shape[0]):
            deepest = max(deepest, depths[i])
            sums[0, depths[i]] += costs[i]
            leaves[0, depths[i]] += 1
            if left[i] < 0:
                sums[1, depths[i] + 1] += costs[i]
                leaves[1, depths[i] + 1] += 1
        for i in range(deepest + 1):
            above += sums[1, i]
            n_above += leaves[1, i]
            sums[0, i] += above
            leaves[0, i] += n_above
    return deepest + 1
