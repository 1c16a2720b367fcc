"""The best cut of a column, from its histogram of whole numbers.

A node with gradient G and curvature H whose rows get the value v lowers the loss by -(G v + (H + l2) v^2 / 2), which is
G^2 / (H + l2) / 2 at v = -G / (H + l2). The gain of a split is twice what its children save beyond the node itself.
``leaves`` has the records.

`sums` (4, width) is scratch, with a place for each bin of the widest column: running sums of gradient, curvature and
rows, and what each cut saves. Functions that another module calls take whole tables, and slice them: a slice of an
argument is free, that of an attribute counts references in memory that all threads write.
"""

import cython
import numpy

from mercer._native.boosting import leaves

# Ways of a split: the bins up to one go left, or these and the missing values, or the lowest categories, or the
# highest ones.
BINS = 0
BINS_AND_MISSING = 1
LOW_CATEGORIES = 2
HIGH_CATEGORIES = 3
# Rows of `sums`: each is read and written by loops that the compiler vectorises.
GRADIENTS = 0
CURVATURES = 1
ROWS = 2
SAVINGS = 3
# Categories that cost nothing: few have no advantage over a numeric column, whose cut is the best of many as well. On
# held-out rows, counting from four, six or eight on made no difference, and from zero less of a gain.
FREE_CATEGORIES = 4


def save_loss(
    gradient: cython.double, curvature: cython.double, l2: cython.double, value: cython.double
) -> cython.double:
    """Return twice the loss that a node of some value saves."""
    return -value * (2.0 * gradient + (curvature + l2) * value)


def sum_bins(
    histogram: cython.const[leaves.Words][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    in_order: cython.int,
    order: cython.const[cython.int][::1],
    gradient: cython.longlong,
    rest: cython.longlong,
    rules: cython.const[leaves.Rules][::1],
    sums: cython.double[:, ::1],
) -> cython.void:
    """Write running sums of gradient, curvature and rows over `count` bins, from bin `first` on or `in_order`.

    The sums begin with the words `gradient` and `rest`.
    """
    shift = rules[0].count_bits
    unit = rules[0].gradient_unit
    bend = rules[0].curvature_unit
    # The lower bits of the second word count the rows, the upper bits hold the curvature.
    mask: cython.longlong = 1
    mask = (mask << shift) - 1
    for b in range(count):
        place = first + (order[b] if in_order else b)
        gradient += histogram[place].gradient
        rest += histogram[place].rest
        # Running sums are exact integers; only their product with the quantum is rounded.
        sums[GRADIENTS, b] = cython.cast(cython.double, gradient) * unit
        sums[CURVATURES, b] = cython.cast(cython.double, rest >> shift) * bend
        sums[ROWS, b] = cython.cast(cython.double, rest & mask)


@numpy.errstate(all="ignore")
def judge_cuts(
    sums: cython.double[:, ::1],
    count: cython.Py_ssize_t,
    nodes: cython.const[leaves.Node][::1],
    node: cython.Py_ssize_t,
    rules: cython.const[leaves.Rules][::1],
    direction: cython.int,
) -> cython.void:
    """Write what both children of each of `count` cuts save, -1 where a cut is not allowed.

    With bounds values are clipped, and compared where the column has a `direction`.
    """
    h: cython.double
    c: cython.double
    l2 = rules[0].l2
    fewest = rules[0].min_rows
    least = rules[0].min_curvature
    gradient = nodes[node].gradient
    curvature = nodes[node].curvature
    rows = cython.cast(cython.double, nodes[node].count)
    if rules[0].bounded == 0:
        # Without branches, so that the loop is vectorised.
        for b in range(count):
            g = sums[GRADIENTS, b]
            h = sums[CURVATURES, b]
            c = sums[ROWS, b]
            # g^2 / (h + l2) is twice what a child saves at its best value -g / (h + l2).
            left = g * g / (h + l2)
            right = (gradient - g) * (gradient - g) / (curvature - h + l2)
            # Both children must hold enough rows and curvature: the lesser of the two decides.
            c = min(c, rows - c)
            h = min(h, curvature - h)
            sums[SAVINGS, b] = left + right if (c >= fewest) & (h >= least) else -1.0
        return
    for b in range(count):
        g = sums[GRADIENTS, b]
        h = sums[CURVATURES, b]
        c = min(sums[ROWS, b], rows - sums[ROWS, b])
        sums[SAVINGS, b] = -1.0
        if c < fewest or min(h, curvature - h) < least:
            continue
        # With bounds the best value is clipped, so the closed form g^2 / (h + l2) no longer holds.
        left = leaves.clip_value(g, h, l2, nodes[node].lower, nodes[node].upper)
        right = leaves.clip_value(gradient - g, curvature - h, l2, nodes[node].lower, nodes[node].upper)
        # Monotone columns: a rising one must not have a larger value on the left, a falling one not on the right.
        if (direction > 0 and left > right) or (direction < 0 and left < right):
            continue
        sums[SAVINGS, b] = save_loss(g, h, l2, left) + save_loss(gradient - g, curvature - h, l2, right)


def sort_categories(
    histogram: cython.const[leaves.Words][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    rules: cython.const[leaves.Rules][::1],
    keys: cython.double[::1],
    order: cython.int[::1],
) -> cython.Py_ssize_t:
    """Sort the categories that hold enough rows by gradient over smoothed curvature; return how many they are."""
    kept: cython.Py_ssize_t = 0
    shift = rules[0].count_bits
    smoothing = rules[0].min_category_rows
    mask: cython.longlong = 1
    mask = (mask << shift) - 1
    for b in range(count):
        rest = histogram[first + b].rest
        # Rare categories are left out: their ratio is mostly noise.
        if cython.cast(cython.double, rest & mask) < smoothing:
            continue
        key = cython.cast(cython.double, histogram[first + b].gradient) * rules[0].gradient_unit
        key /= cython.cast(cython.double, rest >> shift) * rules[0].curvature_unit + smoothing
        k = kept
        # Insertion: a column has at most 256 bins, and equal keys keep the order of their bins.
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            order[k] = order[k - 1]
            k -= 1
        keys[k] = key
        order[k] = cython.cast(cython.int, b)
        kept += 1
    return kept


def price_categories(count: cython.Py_ssize_t, rules: cython.const[leaves.Rules][::1]) -> cython.double:
    """Return the price of a split by `count` categories: the saving that the best of many sets makes by chance."""
    return rules[0].category_price * (count - FREE_CATEGORIES) if count > FREE_CATEGORIES else 0.0


def find_best(
    savings: cython.const[cython.double][::1], count: cython.Py_ssize_t, least: cython.double
) -> cython.Py_ssize_t:
    """Return the first of `count` cuts that saves most, if that is more than `least`; -1 if none does."""
    best: cython.Py_ssize_t = -1
    for b in range(count):
        if savings[b] > least:
            least = savings[b]
            best = b
    return best


def keep_better(
    splits: leaves.Split[::1],
    column: cython.Py_ssize_t,
    savings: cython.const[cython.double][::1],
    count: cython.Py_ssize_t,
    way: cython.int,
) -> cython.void:
    """Keep the best of `count` cuts as the split of a column if it saves more than that one."""
    place = find_best(savings, count, splits[column].saving)
    if place >= 0:
        splits[column].saving = savings[place]
        splits[column].last = cython.cast(cython.int, place)
        splits[column].way = way


def search_categories(
    histogram: cython.const[leaves.Words][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    nodes: cython.const[leaves.Node][::1],
    node: cython.Py_ssize_t,
    rules: cython.const[leaves.Rules][::1],
    sums: cython.double[:, ::1],
    order: cython.int[::1],
    splits: leaves.Split[::1],
    column: cython.Py_ssize_t,
) -> cython.void:
    """Write the best split of a column of `count` categories that saves more than `splits[column]` to that place."""
    kept = sort_categories(histogram, first, count + 1, rules, sums[SAVINGS], order)
    price = price_categories(kept, rules)
    if kept < 2:
        return
    splits[column].saving += price
    # Sorted by gradient over curvature, the best division into two sets is one of the kept - 1 prefixes (Fisher, 1958;
    # Breiman et al., 1984): no need to try all subsets. Categories with few rows always go right, so that a set and its
    # complement are two cuts: both ends of the order are searched, each up to the middle.
    sum_bins(histogram, first, kept - 1, 1, order, 0, 0, rules, sums)
    judge_cuts(sums, kept - 1, nodes, node, rules, 0)
    keep_better(splits, column, sums[SAVINGS], (kept + 1) // 2, LOW_CATEGORIES)
    for b in range(kept // 2):
        swapped = order[b]
        order[b] = order[kept - 1 - b]
        order[kept - 1 - b] = swapped
    sum_bins(histogram, first, kept - 1, 1, order, 0, 0, rules, sums)
    judge_cuts(sums, kept - 1, nodes, node, rules, 0)
    keep_better(splits, column, sums[SAVINGS], kept // 2, HIGH_CATEGORIES)
    splits[column].saving -= price


def search_bins(
    histogram: cython.const[leaves.Words][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    nodes: cython.const[leaves.Node][::1],
    node: cython.Py_ssize_t,
    rules: cython.const[leaves.Rules][::1],
    direction: cython.int,
    sums: cython.double[:, ::1],
    order: cython.int[::1],
    splits: leaves.Split[::1],
    column: cython.Py_ssize_t,
) -> cython.void:
    """Write the best split of a numeric column of `count` bins that saves more than `splits[column]` to that place."""
    gradient = histogram[first + count].gradient
    rest = histogram[first + count].rest
    mask: cython.longlong = 1
    mask = (mask << rules[0].count_bits) - 1
    # Where no value is missing, the last bin has nothing to its right.
    cuts = count if (rest & mask) > 0 else count - 1
    # Missing values are in the last bin. They go right first; on the left they must save strictly more.
    sum_bins(histogram, first, cuts, 0, order, 0, 0, rules, sums)
    judge_cuts(sums, cuts, nodes, node, rules, direction)
    keep_better(splits, column, sums[SAVINGS], cuts, BINS)
    if (rest & mask) > 0:
        sum_bins(histogram, first, count - 1, 0, order, gradient, rest, rules, sums)
        judge_cuts(sums, count - 1, nodes, node, rules, direction)
        keep_better(splits, column, sums[SAVINGS], count - 1, BINS_AND_MISSING)


def search_column(
    histograms: cython.const[leaves.Words][:, ::1],
    offsets: cython.const[cython.int][::1],
    features: cython.const[leaves.Column][::1],
    column: cython.Py_ssize_t,
    nodes: cython.const[leaves.Node][::1],
    node: cython.Py_ssize_t,
    rules: cython.const[leaves.Rules][::1],
    sums: cython.double[:, :, ::1],
    sorted_bins: cython.int[:, ::1],
    member: cython.Py_ssize_t,
    splits: leaves.Split[:, ::1],
    side: cython.Py_ssize_t,
) -> cython.void:
    """Write to `splits[side, column]` the split of a node by a column that saves most, if that is enough.

    Among equal splits the first wins. `sums` and `sorted_bins` are scratch of each thread.
    """
    first: cython.Py_ssize_t = offsets[column]
    # The last bin of a column is that of missing values, which is not a place to cut.
    count: cython.Py_ssize_t = offsets[column + 1] - first - 1
    slot: cython.Py_ssize_t = nodes[node].slot
    # The node itself is the one to beat.
    splits[side, column].saving = leaves.find_least_saving(nodes, node, rules)
    splits[side, column].way = -1
    if features[column].categorical:
        search_categories(
            histograms[slot], first, count, nodes, node, rules, sums[member], sorted_bins[member], splits[side], column
        )
    else:
        search_bins(
            histograms[slot], first, count, nodes, node, rules, features[column].direction, sums[member],
            sorted_bins[member], splits[side], column,
        )  # fmt: skip


def describe_split(
    histograms: cython.const[leaves.Words][:, ::1],
    offsets: cython.const[cython.int][::1],
    column: cython.Py_ssize_t,
    splits: cython.const[leaves.Split][:, ::1],
    side: cython.Py_ssize_t,
    rules: cython.const[leaves.Rules][::1],
    sums: cython.double[:, :, ::1],
    sorted_bins: cython.int[:, ::1],
    tables: cython.uchar[:, ::1],
    nodes: leaves.Node[::1],
    node: cython.Py_ssize_t,
) -> cython.void:
    """Write to `tables[node]` which bins of a column go left, and to `nodes[node]` how it is to be split.

    Where the node has no missing values, they go to the side with more rows.
    """
    way = splits[side, column].way
    chosen: cython.Py_ssize_t = splits[side, column].last
    slot: cython.Py_ssize_t = nodes[node].slot
    first: cython.Py_ssize_t = offsets[column]
    count: cython.Py_ssize_t = offsets[column + 1] - first - 1
    gradient: cython.longlong = 0
    rest: cython.longlong = 0
    mask: cython.longlong = 1
    # The count of rows is in the lower bits of the second word.
    mask = (mask << rules[0].count_bits) - 1
    for b in range(tables.shape[1]):
        # The bin of missing values, at `count`, is decided below.
        tables[node, b] = 1 if way < LOW_CATEGORIES and b <= chosen and b < count else 0
    # The order of categories was scratch of the search, so it is made again for the one split that is used.
    if way >= LOW_CATEGORIES:
        kept = sort_categories(histograms[slot], first, count + 1, rules, sums[0, SAVINGS], sorted_bins[0])
        for b in range(chosen + 1):
            # A split from the high end takes the last categories of the order.
            tables[node, sorted_bins[0, b if way == LOW_CATEGORIES else kept - 1 - b]] = 1
    elif way == BINS_AND_MISSING:
        tables[node, count] = 1
    for b in range(count + 1):
        if tables[node, b]:
            # Sums of integers: the right child is the node less this, exactly.
            gradient += histograms[slot, first + b].gradient
            rest += histograms[slot, first + b].rest
    # No row has shown which side is better for missing values.
    if (histograms[slot, first + count].rest & mask) == 0:
        tables[node, count] = 1 if 2 * (rest & mask) > nodes[node].count else 0
    nodes[node].feature = column
    nodes[node].last = chosen
    nodes[node].missing_left = tables[node, count]
    nodes[node].left_words.gradient = gradient
    nodes[node].left_words.rest = rest
