"""The best split of nodes into two by one column, and trees grown by it.

Each row adds an amount to one slot for each output: its weight to the slot of its class, or its weighted target to the
slot of its output. Amounts and weights are integers (the caller scales others), so that sums are exact: the worth of a
split does not depend on the order in which its rows are added.

One loop visits nodes and draws the features to consider. For each feature it scans all cuts (``split_scan``), a random
cut (``random_scan``), cuts judged by medians (``median_scan``) or sets of categories (``category_scan``). Large nodes
are searched by all features at once (``step_scan``). The build makes the definition file of this module's classes, with
which the others name them; a compiled module finds the classes of another by the name of its room, so that no module
but this one may inline them.
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
    from cython.cimports.mercer._native.tree import growth_records as records
else:
    from mercer._native.tree import (
        category_scan,
        code_order,
        impurity,
        median_scan,
        node_steps,
        random_scan,
        split_scan,
        step_scan,
    )
    from mercer._native.tree import growth_records as records

# A cell of the columns: a code, or the value itself if cuts are random. Uncompiled, the type of the array is asked.
cell = cython.fused_type(cython.uchar, cython.ushort, cython.int, cython.float, cython.double)
# Less than the worth of any split, and still finite.
WORST = cython.declare(cython.double, -1e308)


class Table:
    """How the columns are coded besides their codes: see ``Columns``, whose arrays these are."""

    coarse: cython.const[cython.uchar][:, ::1]
    coarse_matrix: cython.const[cython.uchar][:, ::1]
    missing: cython.const[cython.int][:, ::1]
    edges: cython.const[cython.int][:, ::1]
    values: cython.const[cython.double][::1]
    offsets: cython.const[cython.longlong][::1]
    kinds: cython.const[cython.uchar][::1]

    def __init__(self, columns):
        self.coarse, self.coarse_matrix, self.missing = columns.coarse, columns.coarse_matrix, columns.missing
        self.edges, self.values, self.offsets, self.kinds = columns.edges, columns.table, columns.offsets, columns.kinds


class Target:
    """What each row adds to the sums of its node: slots and amounts (n, outputs), weight (n,).

    `ranks` (outputs, n) are the ranks of the targets where splits are judged by medians, and empty otherwise.
    """

    slots: cython.const[cython.int][:, ::1]
    amounts: cython.const[cython.double][:, ::1]
    weight: cython.const[cython.double][::1]
    ranks: cython.const[cython.int][:, ::1]

    def __init__(self, target):
        self.slots, self.amounts, self.weight, self.ranks = target.slots, target.amounts, target.scaled, target.ranks


class Limits:
    """Which splits are allowed, and what they are judged by.

    Parameters
    ----------
    rules : Rules
        Among others the order that the values of both sides must keep, by columns: 1 rising, -1 falling, 0 none; or
        empty. The least rows and weight of a side, the features to look at.
    target : ClassTarget or ValueTarget
        The slot whose mean is bounded, that whose mean orders categories, or -1; the kind of impurity; and whether sums
        of squares of the sums are exact, too.
    scan : which splits are tried, see ``growth_records``
    coarse_rows : the fewest rows of a coarse search
    most_sets : the most categories to try every set of
    """

    signs: cython.const[cython.schar][::1]
    min_rows: cython.double
    min_weight: cython.double
    n_outputs: cython.double
    coarse_rows: cython.double
    max_features: cython.Py_ssize_t
    bounded_slot: cython.Py_ssize_t
    order_slot: cython.Py_ssize_t
    most_sets: cython.Py_ssize_t
    impurity: cython.int
    scan: cython.int
    exact_squares: cython.bint
    is_random: cython.bint

    def __init__(self, rules, target, scan, coarse_rows, most_sets):
        self.signs, self.max_features, self.is_random = rules.signs, rules.max_features, rules.random
        self.min_rows, self.min_weight = rules.min_rows_leaf, rules.min_weight_leaf / target.weight_step
        self.n_outputs, self.impurity, self.exact_squares = target.n_outputs, target.kind, target.exact_squares
        self.bounded_slot, self.order_slot = target.bounded_slot, target.order_slot
        self.scan, self.coarse_rows, self.most_sets = scan, coarse_rows, most_sets


class Medians:
    """Scratch of a search by medians."""

    places: cython.int[:, ::1]
    values: cython.double[:, ::1]
    trees: cython.double[:, :, :, ::1]
    sums: cython.double[:, ::1]

    def __init__(self, places, values, trees, sums):
        """Hold places, values (outputs, m), trees (2, outputs, 2, m + 1) and sums (2, outputs)."""
        self.places, self.values, self.trees, self.sums = places, values, trees, sums


class Sets:
    """Scratch of a search by categories, for columns of up to `most` codes, and the sets that it chooses.

    `codes` (3, most) is zero; cells (most,), sums (most, slots), axes (2, slots). `goes` (nodes, most) is written where
    a split by categories is better: 0 for a category that is absent, 2 for one that goes right, 3 left.
    """

    where: cython.int[::1]
    names: cython.int[::1]
    order: cython.int[::1]
    cells: records.Category[::1]
    sums: cython.double[:, ::1]
    axis: cython.double[::1]
    image: cython.double[::1]
    goes: cython.uchar[:, ::1]

    def __init__(self, codes, cells, sums, axes, goes):
        self.where, self.names, self.order = codes
        self.axis, self.image = axes
        self.cells, self.sums, self.goes = cells, sums, goes


class Node:
    """The node under search: its rows, the candidate split, the best split so far, and scratch for m rows.

    Parameters
    ----------
    rows, features : the rows of all nodes, and the features to look at
    room : NodeRoom, the scratch arrays
        `order` is as long as the features. `columns` (trees, features) are the columns that these stand for in each of
        several trees of equally many rows, or empty where each stands for itself. `total` and `left` (slots,), `sums`
        (4,). What the rows of the node add:
        `own_slots`, `own_amounts` (m, outputs), `own_weight` (m,), `quads` (m,). `quads` is empty unless there is a
        single sum, squared, and no order asked for; then the others may be empty if no value is missing. For sorting
        `keys` (3, m), `few` (2, 272) and `cells`; for random cuts `values` (m,); for steps `steps` (1040 d,) or empty
        and `marks` (256,).
    is_kept : whether quads are kept beside rows, so that those of a node begin with its rows; see ``node_steps``
    medians, sets : scratch of these searches, or None
    """

    rows: cython.const[cython.int][::1]
    features: cython.const[cython.int][::1]
    columns: cython.const[cython.int][:, ::1]
    order: cython.int[::1]
    start: cython.Py_ssize_t
    count: cython.Py_ssize_t
    first: cython.Py_ssize_t
    index: cython.Py_ssize_t
    is_kept: cython.bint
    is_coarse: cython.bint
    seed: cython.longlong
    weight: cython.double
    low: cython.double
    high: cython.double
    feature: cython.Py_ssize_t
    cut: cython.longlong
    side: cython.int
    sign: cython.int
    best_worth: cython.double
    best_feature: cython.Py_ssize_t
    best_cut: cython.longlong
    best_side: cython.int
    best_threshold: cython.double
    total: cython.double[::1]
    left: cython.double[::1]
    sums: cython.double[::1]
    own_slots: cython.int[:, ::1]
    own_amounts: cython.double[:, ::1]
    own_weight: cython.double[::1]
    quads: records.Quad[::1]
    keys: cython.longlong[:, ::1]
    few: cython.int[:, ::1]
    cells: cython.double[::1]
    values: cython.double[::1]
    steps: cython.double[::1]
    marks: cython.uchar[::1]
    medians: Medians
    sets: Sets

    def __init__(self, rows, features, room, is_kept=False, medians=None, sets=None):
        self.rows, self.features, self.columns, self.order = rows, features, room.columns, room.order
        self.total, self.left, self.sums = room.total, room.left, room.sums
        self.own_slots, self.own_amounts, self.own_weight = room.own_slots, room.own_amounts, room.own_weight
        self.quads, self.keys, self.few, self.cells = room.quads, room.keys, room.few, room.cells
        self.values, self.steps, self.marks = room.values, room.steps, room.marks
        self.is_kept, self.medians, self.sets = is_kept, medians, sets
        self.order[:] = self.features
        self.index = self.first = self.start = self.count = 0
        self.low, self.high = -float("inf"), float("inf")

    def hold_rows(self, rows):
        """Search the nodes of these rows from now on."""
        self.rows = rows

    def hold_columns(self, columns):
        """Let features stand for these columns from now on."""
        self.columns = columns

    def hold_quads(self, quads):
        """Take the quads that are kept beside the rows from here on."""
        self.quads = quads


class Growth:
    """A tree that grows in native calls.

    Parameters
    ----------
    rows : (n,), divided as the tree grows; spare, spare_quads : room to divide them
    target : ClassTarget or ValueTarget, by whose labels or targets nodes are described
    limits : GrowthLimits
        The fewest rows and the least weight of a node to be split, the greatest depth, the factor from a gain to
        weighted impurity, the weight of all rows (known once roots are planted), the share of it that a split must
        gain, what rounding may take from that share, and the visits (a row in a column) after which a call ends.
    """

    rows: cython.int[::1]
    spare: cython.int[::1]
    spare_quads: records.Quad[::1]
    labels: cython.const[cython.int][:, ::1]
    targets: cython.const[cython.double][:, ::1]
    weight: cython.const[cython.double][::1]
    firsts: cython.const[cython.longlong][::1]
    min_rows: cython.double
    min_weight: cython.double
    max_depth: cython.double
    unit: cython.double
    whole_weight: cython.double
    min_decrease: cython.double
    rounding: cython.double
    max_visits: cython.double
    height: cython.Py_ssize_t
    n_nodes: cython.Py_ssize_t
    stack: records.Waiting[::1]
    nodes: records.GrownNode[::1]
    described: cython.double[:, ::1]

    def __init__(self, rows, spare, spare_quads, target, limits):
        self.rows, self.spare, self.spare_quads = rows, spare, spare_quads
        self.labels, self.targets, self.weight, self.firsts = target.rows_described
        self.min_rows, self.min_weight, self.max_depth = limits.min_rows, limits.min_weight, limits.max_depth
        self.unit, self.whole_weight, self.min_decrease = limits.unit, limits.whole_weight, limits.min_decrease
        self.rounding, self.max_visits = limits.rounding, limits.max_visits
        self.height = self.n_nodes = 0

    def hold(self, stack, nodes, described, height, n_nodes):
        """Keep the nodes of the tree in these arrays: there are `n_nodes`, and `height` of them wait to be split."""
        self.stack, self.nodes, self.described = stack, nodes, described
        self.height, self.n_nodes = height, n_nodes

    def count_nodes(self):
        """Return how many nodes wait to be split, and how many there are."""
        return self.height, self.n_nodes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_rows(target: Target, node: Node) -> cython.void:
    """Sum the amounts of the node's rows, and copy weights, slots and amounts of these rows to contiguous arrays."""
    for i in range(node.count):
        r = node.rows[node.start + i]
        node.weight += target.weight[r]
        for o in range(target.slots.shape[1]):
            node.total[target.slots[r, o]] += target.amounts[r, o]
        if node.quads.shape[0]:
            node.quads[i].one = 1.0
            node.quads[i].weight = target.weight[r]
            node.quads[i].amount = target.amounts[r, 0]
            node.quads[i].target = 0.0
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
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    for i in range(node.count):
        weight += node.quads[node.first + i].weight
        sum += node.quads[node.first + i].amount
        if node.own_weight.shape[0]:
            node.own_weight[i] = node.quads[node.first + i].weight
            node.own_slots[i, 0] = 0
            node.own_amounts[i, 0] = node.quads[node.first + i].amount
    node.weight = weight
    node.total[0] = sum


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_node(target: Target, limits: Limits, node: Node) -> cython.double:
    """Sum the rows of a node, reset its best split, and return the node's worth without a split."""
    node.first = node.start if node.is_kept else 0
    node.weight = 0.0
    for i in range(node.total.shape[0]):
        node.total[i] = 0.0
    if node.is_kept:
        sum_kept(node)
    elif limits.scan != records.ANY_CUT:
        sum_rows(target, node)
    node.is_coarse = node.count >= limits.coarse_rows
    node.best_worth = WORST
    node.best_feature = -1
    node.best_cut = 0
    node.best_side = records.NONE_MISSING
    node.best_threshold = 0.0
    if limits.scan == records.ANY_CUT:
        return 0.0
    if limits.scan == records.MEDIAN_CUTS:
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
        if not cython.compiled:
            if codes.dtype.kind == "f":
                return random_scan.scan_random_values(codes, matrix, limits, node)
        if limits.scan == records.ALL_CUTS:
            return split_scan.scan_cuts(codes, matrix, table, limits, node)
        if limits.scan == records.RANDOM_CUTS:
            return random_scan.scan_random_codes(codes, table, limits, node)
        if limits.scan == records.MEDIAN_CUTS:
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
    if not (cell is cython.float or cell is cython.double):
        if step_scan.may_search(node) and step_scan.search_steps(codes, table, limits, node):
            return
    # ``order[:seen]`` are drawn. More than `max_features` are drawn only while all of these are constant in the node.
    while seen < n and (seen < limits.max_features or (varied == 0 and node.best_feature < 0)):
        f = node.order[seen]
        if limits.max_features < n:
            f = code_order.draw_feature(node.order, seen, node.seed)
        seen += 1
        if node.columns.shape[0]:
            f = node.columns[node.start * node.columns.shape[0] // node.rows.shape[0], f]
        # Numeric columns and columns of categories are searched in two passes with the same draws.
        if table.kinds.shape[0] and (table.kinds[f] != 0) != (limits.scan == records.CATEGORY_SETS):
            continue
        node.feature = f
        node.side = records.NONE_MISSING
        node.sign = limits.signs[f] if limits.signs.shape[0] else records.NO_ORDER
        varied += scan_column(codes, matrix, table, target, limits, node)
    if limits.max_features < n:
        code_order.restore_features(node.order, seen, node.seed)


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
    best: records.BestSplit[::1],
):
    """Write the best split of each node to `best`.

    Parameters
    ----------
    codes : (d, n), the code of each row's value in its column; rows with a code up to the cut go left. Where cuts are
        random it may be the value itself, NaN where it is missing
    matrix : (n, d) or empty, the same by rows, for small nodes: the codes of one row share lines of the cache
    table, target, limits, node : records; see their classes
    starts, stops : (k,), where the rows of each node begin and end
    seeds, bounds : (k,), an integer below 2^32, which decides all draws; (k, 2), the range of the values of a side
    best : (k,), written. A search by categories replaces the splits by numeric columns that are worse, and sets the cut
        -1 for its own
    """
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
            if limits.scan == records.CATEGORY_SETS and best[t].feature >= 0:
                node.best_worth = best[t].gain + whole
                node.best_feature = best[t].feature
                node.best_cut = best[t].cut
                node.best_side = cython.cast(cython.int, best[t].side)
                node.best_threshold = best[t].threshold
            search_features(codes, matrix, table, target, limits, node)
            best[t].gain = node.best_worth - (whole if node.best_feature >= 0 else 0.0)
            best[t].threshold = node.best_threshold
            best[t].feature = node.best_feature
            best[t].cut = node.best_cut
            best[t].side = node.best_side
            best[t].is_coarse = node.is_coarse and limits.scan == records.ALL_CUTS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide(
    codes: cython.const[cell][:, ::1],
    matrix: cython.const[cell][:, ::1],
    table: Table,
    node: Node,
    growth: Growth,
) -> cython.Py_ssize_t:
    """Put the rows of a node that go left before the others; return where these begin."""
    if cell is cython.float or cell is cython.double:
        return node_steps.divide_values(codes, matrix, node, growth)
    else:
        if not cython.compiled:
            if codes.dtype.kind == "f":
                return node_steps.divide_values(codes, matrix, node, growth)
        if node.is_coarse and table.missing[0, node.best_feature] < 0:
            return node_steps.divide_coarse(codes, table, node, growth)
        # The cut after a coarse step is the cut after its last code.
        if node.is_coarse:
            node.best_cut = table.edges[node.best_feature, node.best_cut]
        return node_steps.divide_node(codes, matrix, table, node, growth)


def plant_roots(
    node: Node,
    growth: Growth,
    starts: cython.const[cython.longlong][::1],
    seeds: cython.const[cython.longlong][::1],
):
    """Begin a tree on the rows from each start to the next one, from its seed; all of them wait to be split."""
    with cython.nogil:
        for t in range(seeds.shape[0]):
            node_steps.add_node(node, growth, starts[t], starts[t + 1], seeds[t], 0)
        growth.whole_weight = growth.nodes[0].weight
    return growth.count_nodes()


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

    The call ends when the stack is empty, after ``growth.max_visits`` visits, or when the nodes are full. Return how
    many nodes wait to be split, and how many there are.
    """
    visits: cython.double = 0.0
    with cython.nogil:
        while growth.height > 0 and visits < growth.max_visits and growth.n_nodes + 2 <= growth.nodes.shape[0]:
            growth.height -= 1
            node.index = growth.stack[growth.height].node
            node.start = growth.stack[growth.height].start
            node.count = growth.stack[growth.height].stop - node.start
            node.seed = growth.stack[growth.height].seed
            depth = growth.stack[growth.height].depth
            visits += cython.cast(cython.double, node.count) * limits.max_features
            whole = begin_node(target, limits, node)
            search_features(codes, matrix, table, target, limits, node)
            gain = node.best_worth - whole
            gain = gain * growth.unit / growth.whole_weight + growth.rounding
            if node.best_feature < 0 or gain < growth.min_decrease:
                continue
            middle = divide(codes, matrix, table, node, growth)
            growth.nodes[node.index].feature = cython.cast(cython.int, node.best_feature)
            growth.nodes[node.index].side = node.best_side
            growth.nodes[node.index].threshold = node.best_threshold
            node_steps.add_children(node, growth, middle, depth + 1)
    return growth.count_nodes()
