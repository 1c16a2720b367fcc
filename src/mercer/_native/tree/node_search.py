"""The best split of nodes into two by one column, and trees grown by it.

Each row adds an amount to one slot for each output: its weight to the slot of its class, or its weighted target to the
slot of its output. Amounts and weights are integers (the caller scales others), so that sums are exact: the worth of a
split does not depend on the order in which its rows are added.

One loop visits nodes and draws the features to consider. For each feature it scans all cuts (``split_scan``), a random
cut (``random_scan``), cuts judged by medians (``median_scan``) or sets of categories (``category_scan``). Large nodes
are searched by all features at once (``step_scan``). ``node_search.pxd`` has the types of the records.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import (
        category_scan,
        code_order,
        impurity,
        median_scan,
        node_steps,
        random_scan,
        split_scan,
        step_scan,
    )
else:
    from mercer._native.tree import (
        category_scan,
        code_order,
        impurity,
        median_scan,
        node_steps,
        random_scan,
        split_scan,
    )

    # As in node_search.pxd.
    NONE_MISSING = 2
    NO_ORDER = 2
    ALL_CUTS, RANDOM_CUTS, MEDIAN_CUTS, CATEGORY_SETS = 0, 1, 2, 3

# A cell of the columns: a code, or the value itself if cuts are random. Uncompiled, twins check the type of the array.
cell = cython.fused_type(cython.uchar, cython.ushort, cython.int, cython.float, cython.double)
# Less than the worth of any split, and still finite.
WORST = cython.declare(cython.double, -1e308)


class Table:
    """How the columns are coded besides their codes.

    Parameters
    ----------
    coarse, coarse_matrix : (d, n) and (n, d or more), or empty
        The codes in fewer steps by columns and by rows, for nodes of ``Limits.coarse_rows``; by rows for ``step_scan``.
    missing : (2, d), the code and the coarse code that stand for a missing value, -1 where there are none
    edges : (d, 256), the last code of each coarse step
    values, offsets : (total,), (d + 1,)
        The values that the codes of all columns stand for, and where each column begins.
    kinds : (d,) or empty, not zero for columns of categories
    """

    def __init__(self, coarse, coarse_matrix, missing, edges, values, offsets, kinds):
        self.coarse, self.coarse_matrix, self.missing, self.edges = coarse, coarse_matrix, missing, edges
        self.values, self.offsets, self.kinds = values, offsets, kinds


class Target:
    """What each row adds to the sums of its node: slots and amounts (n, outputs), weight (n,).

    `ranks` (outputs, n) are the ranks of the targets where splits are judged by medians, and empty otherwise.
    """

    def __init__(self, slots, amounts, weight, ranks):
        self.slots, self.amounts, self.weight, self.ranks = slots, amounts, weight, ranks


class Limits:
    """Which splits are allowed, and what they are judged by.

    Parameters
    ----------
    signs : (d,) or empty, the order that the values of both sides must keep: 1 rising, -1 falling, 0 none
    least : rows and weight that each side needs
    counts : outputs, features to look at, the fewest rows of a coarse search, the most categories to try every set of
    slots : the slot whose mean is bounded, and that whose mean orders categories, or -1
    impurity, scan : the kind of impurity (see impurity.pxd) and of the search (see node_search.pxd)
    exact_squares : whether sums of squares of the sums are exact, too
    is_random : whether a set of categories is drawn at random
    """

    def __init__(self, signs, least, counts, slots, impurity, scan, exact_squares, is_random):
        self.signs = signs
        self.min_rows, self.min_weight = least
        self.n_outputs, self.max_features, self.coarse_rows, self.most_sets = counts
        self.bounded_slot, self.order_slot = slots
        self.impurity, self.scan = impurity, scan
        self.exact_squares, self.is_random = exact_squares, is_random


class Medians:
    """Scratch of a search by medians: places, values (outputs, m), trees (2, outputs, 2, m + 1), sums (2, outputs)."""

    def __init__(self, places, values, trees, sums):
        self.places, self.values, self.trees, self.sums = places, values, trees, sums


class Sets:
    """Scratch of a search by categories, for columns of up to `most` codes, and the sets that it chooses.

    `where` (3, most) is zero; cells (most, slots + 3); axes (2, slots). `goes` (nodes, most) is written where a split
    by categories is better: 0 for a category that is absent, 2 for one that goes right, 3 left.
    """

    def __init__(self, where, cells, axes, goes):
        self.where, self.names, self.order = where
        self.axis, self.image = axes
        self.cells, self.goes = cells, goes


class Node:
    """The node under search: its rows, the candidate split, the best split so far, and scratch for m rows.

    Parameters
    ----------
    rows, features : the rows of all nodes, and the features to look at
    order, sums : scratch, as long as the features; (2, slots) and (4,)
    own : slots (m, outputs), amounts (m, outputs), weight (m,), quads (m, 4), scratch
        What the rows of the node add. `quads` is empty unless there is a single sum, squared, and no order asked for;
        then the others may be empty if no value is missing.
    ordering : keys (3, m), few (2, 272), cells; values (m,); steps (1040 d,) or empty, scratch
    is_kept : whether quads are kept beside rows, so that those of a node begin with its rows; see node_steps.pxd
    medians, sets : scratch of these searches, or None
    """

    def __init__(self, rows, features, order, sums, own, ordering, is_kept=False, medians=None, sets=None):
        self.rows, self.features, self.order = rows, features, order
        (self.total, self.left), self.sums = sums
        self.own_slots, self.own_amounts, self.own_weight, self.quads = own
        self.keys, self.few, self.cells, self.values, self.steps = ordering
        self.is_kept, self.medians, self.sets = is_kept, medians, sets
        self.index = self.first = self.start = self.count = 0
        self.low, self.high = -float("inf"), float("inf")


class Growth:
    """A tree that grows in native calls.

    Parameters
    ----------
    rows : (n,), divided as the tree grows; spare, spare_quads : room to divide them
    described : labels or targets (n, outputs), the other one empty; weight (n,); firsts (outputs + 1,)
        What nodes are described by. The classes of output o begin at ``firsts[o]``, which is empty without classes.
    rules : the fewest rows and the least weight of a node to be split, the greatest depth, the factor from a gain to
        weighted impurity, the weight of all rows, the share of it that a split must gain, what rounding may take from
        that share, and the visits (a row in a column) after which a call ends
    """

    def __init__(self, rows, spare, spare_quads, described, rules):
        self.rows, self.spare, self.spare_quads = rows, spare, spare_quads
        self.labels, self.targets, self.weight, self.firsts = described
        self.min_rows, self.min_weight, self.max_depth, self.unit = rules[:4]
        self.whole_weight, self.min_decrease, self.rounding, self.max_visits = rules[4:]
        self.height = self.n_nodes = 0

    def hold(self, stack, links, numbers):
        """Keep the nodes of the tree in these arrays; see node_steps.pxd for their columns."""
        self.stack, self.links, self.numbers = stack, links, numbers


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_rows(target: Target, node: Node) -> cython.void:
    """Sum the amounts of the node's rows, and copy weights, slots and amounts of these rows to contiguous arrays."""
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    r: cython.Py_ssize_t
    for i in range(node.count):
        r = node.rows[node.start + i]
        node.weight += target.weight[r]
        for o in range(target.slots.shape[1]):
            node.total[target.slots[r, o]] += target.amounts[r, o]
        if node.quads.shape[0]:
            node.quads[i, 0] = 1.0
            node.quads[i, 1] = target.weight[r]
            node.quads[i, 2] = target.amounts[r, 0]
            node.quads[i, 3] = 0.0
        if node.own_weight.shape[0]:
            node.own_weight[i] = target.weight[r]
            for o in range(target.slots.shape[1]):
                node.own_slots[i, o] = target.slots[r, o]
                node.own_amounts[i, o] = target.amounts[r, o]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_kept(node: Node) -> cython.void:
    """Sum as :func:`sum_rows` does, from the quads of the node's rows, which are already contiguous."""
    i: cython.Py_ssize_t
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    for i in range(node.count):
        weight += node.quads[node.first + i, 1]
        sum += node.quads[node.first + i, 2]
        if node.own_weight.shape[0]:
            node.own_weight[i] = node.quads[node.first + i, 1]
            node.own_slots[i, 0] = 0
            node.own_amounts[i, 0] = node.quads[node.first + i, 2]
    node.weight = weight
    node.total[0] = sum


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_node(target: Target, limits: Limits, node: Node) -> cython.double:
    """Sum the rows of a node, reset its best split, and return the node's worth without a split."""
    i: cython.Py_ssize_t
    node.first = node.start if node.is_kept else 0
    node.weight = 0.0
    for i in range(node.total.shape[0]):
        node.total[i] = 0.0
    if node.is_kept:
        sum_kept(node)
    else:
        sum_rows(target, node)
    node.is_coarse = node.count >= limits.coarse_rows
    node.best_worth = WORST
    node.best_feature = -1
    node.best_cut = 0
    node.best_side = NONE_MISSING
    node.best_threshold = 0.0
    for i in range(node.features.shape[0]):
        node.order[i] = node.features[i]
    if limits.scan == MEDIAN_CUTS:
        return median_scan.rank_targets(target, node, node.medians)
    return impurity.compute_whole_worth(node.total, node.weight, limits.n_outputs, limits.impurity)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_column(
    codes: cython.const[cell][:, ::1],
    matrix: cython.const[cell][:, ::1],
    table: Table,
    target: Target,
    limits: Limits,
    node: Node,
) -> cython.bint:
    """Try the splits of a node by one column; return whether the column varies in the node."""
    if cell is cython.float or cell is cython.double:
        return random_scan.scan_random_values(codes, matrix, limits, node)
    else:
        if limits.scan == ALL_CUTS:
            return split_scan.scan_cuts(codes, matrix, table, limits, node)
        if limits.scan == RANDOM_CUTS:
            return random_scan.scan_random_codes(codes, table, limits, node)
        if limits.scan == MEDIAN_CUTS:
            return median_scan.scan_median_cuts(codes, table, limits, node, node.medians)
        return category_scan.scan_sets(codes, table, target, limits, node, node.sets)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_features(
    codes: cython.const[cell][:, ::1],
    matrix: cython.const[cell][:, ::1],
    table: Table,
    target: Target,
    limits: Limits,
    node: Node,
) -> cython.void:
    """Scan ``limits.max_features`` features that the node's seed draws, and more until one varies."""
    f: cython.Py_ssize_t
    seen: cython.Py_ssize_t = 0
    varied: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = node.features.shape[0]
    # Uncompiled, the loop below finds the same cut.
    if cython.compiled and (cell is cython.uchar or cell is cython.ushort or cell is cython.int):
        if step_scan.may_search(node) and step_scan.search_steps(codes, table, limits, node):
            return
    # ``order[:seen]`` are drawn. More than `max_features` are drawn only while all of these are constant in the node.
    while seen < n and (seen < limits.max_features or (varied == 0 and node.best_feature < 0)):
        f = node.order[seen]
        if limits.max_features < n:
            f = code_order.draw_feature(node.order, seen, node.seed)
        seen += 1
        # Numeric columns and columns of categories are searched in two passes with the same draws.
        if table.kinds.shape[0] and (table.kinds[f] != 0) != (limits.scan == CATEGORY_SETS):
            continue
        node.feature = f
        node.side = NONE_MISSING
        node.sign = limits.signs[f] if limits.signs.shape[0] else NO_ORDER
        varied += scan_column(codes, matrix, table, target, limits, node)


def search_nodes(
    codes: cython.const[cell][:, ::1],
    matrix: cython.const[cell][:, ::1],
    table: Table,
    target: Target,
    limits: Limits,
    node: Node,
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    seeds: cython.const[cython.longlong][::1],
    bounds: cython.const[cython.double][:, ::1],
    best: cython.double[:, ::1],
):
    """Write the best split of each node to `best`: its gain, feature, cut, and the side of missing rows.

    Parameters
    ----------
    codes : (d, n), the code of each row's value in its column; rows with a code up to the cut go left. Where cuts are
        random it may be the value itself, NaN where it is missing
    matrix : (n, d) or empty, the same by rows, for small nodes: the codes of one row share lines of the cache
    table, target, limits, node : records; see their classes
    starts, stops : (k,), where the rows of each node begin and end
    seeds, bounds : (k,), an integer below 2^32, which decides all draws; (k, 2), the range of the values of a side
    best : (k, 5), written: gain (the decrease of weighted impurity), feature (-1 if no split is allowed), cut, side
        (0 right, 1 left, 2 none missing), and the threshold of a random cut or whether the cut is a coarse code. A
        search by categories replaces the splits by numeric columns that are worse, and sets the cut -1 for its own
    """
    t: cython.Py_ssize_t
    whole: cython.double
    with cython.nogil:
        for t in range(starts.shape[0]):
            node.index = t
            node.start = starts[t]
            node.count = stops[t] - starts[t]
            node.seed = seeds[t]
            node.low = bounds[t, 0]
            node.high = bounds[t, 1]
            whole = begin_node(target, limits, node)
            # Start from the best numeric split: its worth is its gain plus the worth of the whole node.
            if limits.scan == CATEGORY_SETS and best[t, 1] >= 0.0:
                node.best_worth = best[t, 0] + whole
                node.best_feature = cython.cast(cython.Py_ssize_t, best[t, 1])
                node.best_cut = cython.cast(cython.longlong, best[t, 2])
                node.best_side = cython.cast(cython.int, best[t, 3])
                node.best_threshold = best[t, 4]
            search_features(codes, matrix, table, target, limits, node)
            best[t, 0] = node.best_worth - (whole if node.best_feature >= 0 else 0.0)
            best[t, 1] = node.best_feature
            best[t, 2] = node.best_cut
            best[t, 3] = node.best_side
            best[t, 4] = node.is_coarse if limits.scan == ALL_CUTS else node.best_threshold


def grow_nodes(
    codes: cython.const[cell][:, ::1],
    matrix: cython.const[cell][:, ::1],
    table: Table,
    target: Target,
    limits: Limits,
    node: Node,
    growth: Growth,
):
    """Split the nodes on the stack and their descendants; there are no categories and no monotone constraints.

    The call ends when the stack is empty, after ``growth.max_visits`` visits, or when `links` is full.
    """
    middle: cython.Py_ssize_t
    whole: cython.double
    gain: cython.double
    visits: cython.double = 0.0
    depth: cython.longlong
    with cython.nogil:
        while growth.height > 0 and visits < growth.max_visits and growth.n_nodes + 2 <= growth.links.shape[0]:
            growth.height -= 1
            node.index = growth.stack[growth.height, node_steps.INDEX]
            node.start = growth.stack[growth.height, node_steps.START]
            node.count = growth.stack[growth.height, node_steps.STOP] - node.start
            node.seed = growth.stack[growth.height, node_steps.SEED]
            depth = growth.stack[growth.height, node_steps.DEPTH]
            visits += cython.cast(cython.double, node.count) * limits.max_features
            whole = begin_node(target, limits, node)
            search_features(codes, matrix, table, target, limits, node)
            gain = node.best_worth - whole
            gain = gain * growth.unit / growth.whole_weight + growth.rounding
            if node.best_feature < 0 or gain < growth.min_decrease:
                continue
            if cell is cython.float or cell is cython.double:
                middle = node_steps.divide_values(codes, matrix, node, growth, growth.links[node.index])
                growth.numbers[node.index, node_steps.THRESHOLD] = node.best_threshold
            else:
                if node.is_coarse and table.missing[0, node.best_feature] < 0:
                    middle = node_steps.divide_coarse(codes, table, node, growth, growth.links[node.index])
                else:
                    # The cut after a coarse step is the cut after its last code.
                    if node.is_coarse:
                        node.best_cut = table.edges[node.best_feature, node.best_cut]
                    middle = node_steps.divide_node(codes, matrix, table, node, growth, growth.links[node.index])
            growth.links[node.index, node_steps.FEATURE] = cython.cast(cython.int, node.best_feature)
            growth.links[node.index, node_steps.SIDE] = node.best_side
            node_steps.add_children(node, growth, middle, depth + 1)
