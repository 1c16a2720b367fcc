"""The best cut of a column, from its histogram of whole numbers.

A node with gradient G and curvature H whose rows get the value v lowers the loss by -(G v + (H + l2) v^2 / 2), which is
G^2 / (H + l2) / 2 at v = -G / (H + l2). The gain of a split is twice what its children save beyond the node itself.
``layout`` names the places of `node`, `limits`, `quanta` and `features`.

A cut is 4 times its last bin on the left, or the number of categories on the left less one, plus its way. `sums`
(4, width) is scratch, with a place for each bin of the widest column: running sums of gradient, curvature and rows, and
what each cut saves. Functions that another module calls take whole tables, and slice them: a slice of an argument is
free, that of an attribute counts references in memory that all threads write.
"""

import cython
import numpy

from mercer._native.boosting import layout, leaves

# Ways: the bins up to one go left, or these and the missing values, or the lowest categories, or the highest ones.
BINS = 0
BINS_AND_MISSING = 1
LOW_CATEGORIES = 2
HIGH_CATEGORIES = 3
# Rows of `sums`.
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
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    in_order: cython.int,
    order: cython.const[cython.int][::1],
    gradient: cython.longlong,
    rest: cython.longlong,
    quanta: cython.const[cython.double][::1],
    sums: cython.double[:, ::1],
) -> cython.void:
    """Write running sums of gradient, curvature and rows over `count` bins, from bin `first` on or `in_order`.

    The sums begin with the words `gradient` and `rest`.
    """
    b: cython.Py_ssize_t
    place: cython.Py_ssize_t
    shift: cython.int = cython.cast(cython.int, quanta[layout.COUNT_BITS])
    # The lower bits of the second word count the rows, the upper bits hold the curvature.
    mask: cython.longlong = 1
    unit: cython.double = quanta[layout.GRADIENT_UNIT]
    bend: cython.double = quanta[layout.CURVATURE_UNIT]
    mask = (mask << shift) - 1
    for b in range(count):
        # Two words for each bin: the gradient, then curvature and count.
        place = 2 * (first + (order[b] if in_order else b))
        gradient += histogram[place]
        rest += histogram[place + 1]
        # Running sums are exact integers; only their product with the quantum is rounded.
        sums[GRADIENTS, b] = cython.cast(cython.double, gradient) * unit
        sums[CURVATURES, b] = cython.cast(cython.double, rest >> shift) * bend
        sums[ROWS, b] = cython.cast(cython.double, rest & mask)


@numpy.errstate(all="ignore")
def judge_cuts(
    sums: cython.double[:, ::1],
    count: cython.Py_ssize_t,
    node: cython.const[cython.double][::1],
    limits: cython.const[cython.double][::1],
    direction: cython.int,
    bounded: cython.int,
) -> cython.void:
    """Write what both children of each of `count` cuts save, -1 where a cut is not allowed.

    If `bounded`, values are clipped, and compared where the column has a `direction`.
    """
    b: cython.Py_ssize_t
    g: cython.double
    h: cython.double
    c: cython.double
    left: cython.double
    right: cython.double
    l2: cython.double = limits[layout.L2]
    fewest: cython.double = limits[layout.MIN_ROWS]
    least: cython.double = limits[layout.MIN_CURVATURE]
    gradient: cython.double = node[layout.ASKED_GRADIENT]
    curvature: cython.double = node[layout.ASKED_CURVATURE]
    rows: cython.double = node[layout.ASKED_ROWS]
    if bounded == 0:
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
        left = leaves.clip_value(g, h, l2, node[layout.ASKED_LOWER], node[layout.ASKED_UPPER])
        right = leaves.clip_value(gradient - g, curvature - h, l2, node[layout.ASKED_LOWER], node[layout.ASKED_UPPER])
        # Monotone columns: a rising one must not have a larger value on the left, a falling one not on the right.
        if (direction > 0 and left > right) or (direction < 0 and left < right):
            continue
        sums[SAVINGS, b] = save_loss(g, h, l2, left) + save_loss(gradient - g, curvature - h, l2, right)


def sort_categories(
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    quanta: cython.const[cython.double][::1],
    smoothing: cython.double,
    keys: cython.double[::1],
    order: cython.int[::1],
) -> cython.Py_ssize_t:
    """Sort the categories that hold enough rows by gradient over smoothed curvature; return how many they are."""
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    kept: cython.Py_ssize_t = 0
    key: cython.double
    rest: cython.longlong
    shift: cython.int = cython.cast(cython.int, quanta[layout.COUNT_BITS])
    mask: cython.longlong = 1
    mask = (mask << shift) - 1
    for b in range(count):
        rest = histogram[2 * (first + b) + 1]
        # Rare categories are left out: their ratio is mostly noise.
        if cython.cast(cython.double, rest & mask) < smoothing:
            continue
        key = cython.cast(cython.double, histogram[2 * (first + b)]) * quanta[layout.GRADIENT_UNIT]
        key /= cython.cast(cython.double, rest >> shift) * quanta[layout.CURVATURE_UNIT] + smoothing
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


def price_categories(count: cython.Py_ssize_t, limits: cython.const[cython.double][::1]) -> cython.double:
    """Return the price of a split by `count` categories: the saving that the best of many sets makes by chance."""
    return limits[layout.CATEGORY_PRICE] * (count - FREE_CATEGORIES) if count > FREE_CATEGORIES else 0.0


def find_best(
    savings: cython.const[cython.double][::1], count: cython.Py_ssize_t, least: cython.double
) -> cython.Py_ssize_t:
    """Return the first of `count` cuts that saves most, if that is more than `least`; -1 if none does."""
    b: cython.Py_ssize_t
    best: cython.Py_ssize_t = -1
    for b in range(count):
        if savings[b] > least:
            least = savings[b]
            best = b
    return best


def search_categories(
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    node: cython.const[cython.double][::1],
    limits: cython.const[cython.double][::1],
    bounded: cython.int,
    quanta: cython.const[cython.double][::1],
    sums: cython.double[:, ::1],
    order: cython.int[::1],
    best: cython.double[::1],
    column: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the best cut of a column of categories, or -1; write what it saves, less its price, to `best[column]`."""
    b: cython.Py_ssize_t
    place: cython.Py_ssize_t
    swapped: cython.int
    cut: cython.Py_ssize_t = -1
    kept: cython.Py_ssize_t = sort_categories(
        histogram, first, count + 1, quanta, limits[layout.MIN_CATEGORY_ROWS], sums[SAVINGS], order
    )
    price: cython.double = price_categories(kept, limits)
    most: cython.double = node[layout.ASKED_SAVING] + price
    if kept < 2:
        return -1
    # Sorted by gradient over curvature, the best division into two sets is one of the kept - 1 prefixes (Fisher, 1958;
    # Breiman et al., 1984): no need to try all subsets. Categories with few rows always go right, so that a set and its
    # complement are two cuts: both ends of the order are searched, each up to the middle.
    sum_bins(histogram, first, kept - 1, 1, order, 0, 0, quanta, sums)
    judge_cuts(sums, kept - 1, node, limits, 0, bounded)
    place = find_best(sums[SAVINGS], (kept + 1) // 2, most)
    if place >= 0:
        most = sums[SAVINGS, place]
        cut = 4 * place + LOW_CATEGORIES
    for b in range(kept // 2):
        swapped = order[b]
        order[b] = order[kept - 1 - b]
        order[kept - 1 - b] = swapped
    sum_bins(histogram, first, kept - 1, 1, order, 0, 0, quanta, sums)
    judge_cuts(sums, kept - 1, node, limits, 0, bounded)
    place = find_best(sums[SAVINGS], kept // 2, most)
    if place >= 0:
        most = sums[SAVINGS, place]
        cut = 4 * place + HIGH_CATEGORIES
    best[column] = most - price
    return cut


def search_bins(
    histogram: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    node: cython.const[cython.double][::1],
    limits: cython.const[cython.double][::1],
    direction: cython.int,
    bounded: cython.int,
    quanta: cython.const[cython.double][::1],
    sums: cython.double[:, ::1],
    order: cython.int[::1],
    best: cython.double[::1],
    column: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the best cut of a numeric column of `count` bins, or -1; write what it saves to `best[column]`."""
    place: cython.Py_ssize_t
    cuts: cython.Py_ssize_t
    cut: cython.Py_ssize_t = -1
    gradient: cython.longlong = histogram[2 * (first + count)]
    rest: cython.longlong = histogram[2 * (first + count) + 1]
    mask: cython.longlong = 1
    mask = (mask << cython.cast(cython.int, quanta[layout.COUNT_BITS])) - 1
    # Where no value is missing, the last bin has nothing to its right.
    cuts = count if (rest & mask) > 0 else count - 1
    # Missing values are in the last bin. They go right first; on the left they must save strictly more.
    sum_bins(histogram, first, cuts, 0, order, 0, 0, quanta, sums)
    judge_cuts(sums, cuts, node, limits, direction, bounded)
    place = find_best(sums[SAVINGS], cuts, best[column])
    if place >= 0:
        best[column] = sums[SAVINGS, place]
        cut = 4 * place + BINS
    if (rest & mask) > 0:
        sum_bins(histogram, first, count - 1, 0, order, gradient, rest, quanta, sums)
        judge_cuts(sums, count - 1, node, limits, direction, bounded)
        place = find_best(sums[SAVINGS], count - 1, best[column])
        if place >= 0:
            best[column] = sums[SAVINGS, place]
            cut = 4 * place + BINS_AND_MISSING
    return cut


def search_column(
    histograms: cython.const[cython.longlong][:, ::1],
    slot: cython.Py_ssize_t,
    features: cython.const[cython.int][:, ::1],
    column: cython.Py_ssize_t,
    asked: cython.const[cython.double][:, ::1],
    side: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
    quanta: cython.const[cython.double][::1],
    sums: cython.double[:, :, ::1],
    sorted_bins: cython.int[:, ::1],
    member: cython.Py_ssize_t,
    best: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Return the cut of a column that saves most, -1 if none saves more than the node `asked[side]` itself.

    What the cut saves, less the price of its categories, is written to `best[side, column]`; among equal cuts the first
    wins. `sums` and `sorted_bins` are scratch of each thread.
    """
    first: cython.Py_ssize_t = features[layout.OFFSET, column]
    # The last bin of a column is that of missing values, which is not a place to cut.
    count: cython.Py_ssize_t = features[layout.OFFSET, column + 1] - first - 1
    bounded: cython.int = features[layout.BOUNDED, column]
    # The node itself is the record to beat.
    best[side, column] = asked[side, layout.ASKED_SAVING]
    if features[layout.CATEGORICAL, column]:
        return search_categories(
            histograms[slot], first, count, asked[side], limits, bounded, quanta, sums[member], sorted_bins[member],
            best[side], column,
        )  # fmt: skip
    return search_bins(
        histograms[slot], first, count, asked[side], limits, features[layout.DIRECTION, column], bounded, quanta,
        sums[member], sorted_bins[member], best[side], column,
    )  # fmt: skip


def describe_cut(
    histograms: cython.const[cython.longlong][:, ::1],
    features: cython.const[cython.int][:, ::1],
    column: cython.Py_ssize_t,
    cut: cython.Py_ssize_t,
    limits: cython.const[cython.double][::1],
    quanta: cython.const[cython.double][::1],
    sums: cython.double[:, :, ::1],
    sorted_bins: cython.int[:, ::1],
    tables: cython.uchar[:, ::1],
    numbers: cython.longlong[:, ::1],
    node: cython.Py_ssize_t,
) -> cython.void:
    """Write to `tables[node]` which bins of a column go left, and to `numbers[node]` how the node is to be split.

    Where the node has no missing values, they go to the side with more rows.
    """
    b: cython.Py_ssize_t
    kept: cython.Py_ssize_t
    way: cython.Py_ssize_t = cut % 4
    chosen: cython.Py_ssize_t = cut // 4
    slot: cython.Py_ssize_t = numbers[node, layout.SLOT]
    first: cython.Py_ssize_t = features[layout.OFFSET, column]
    count: cython.Py_ssize_t = features[layout.OFFSET, column + 1] - first - 1
    gradient: cython.longlong = 0
    rest: cython.longlong = 0
    mask: cython.longlong = 1
    # The count of rows is in the lower bits of the second word.
    mask = (mask << cython.cast(cython.int, quanta[layout.COUNT_BITS])) - 1
    for b in range(tables.shape[1]):
        # The bin of missing values, at `count`, is decided below.
        tables[node, b] = 1 if way < LOW_CATEGORIES and b <= chosen and b < count else 0
    # The order of categories was scratch of the search, so it is made again for the one cut that is used.
    if way >= LOW_CATEGORIES:
        kept = sort_categories(
            histograms[slot], first, count + 1, quanta, limits[layout.MIN_CATEGORY_ROWS], sums[0, SAVINGS],
            sorted_bins[0],
        )  # fmt: skip
        for b in range(chosen + 1):
            # A cut from the high end takes the last categories of the order.
            tables[node, sorted_bins[0, b if way == LOW_CATEGORIES else kept - 1 - b]] = 1
    elif way == BINS_AND_MISSING:
        tables[node, count] = 1
    for b in range(count + 1):
        if tables[node, b]:
            # Sums of integers: the right child is the node less this, exactly.
            gradient += histograms[slot, 2 * (first + b)]
            rest += histograms[slot, 2 * (first + b) + 1]
    # No row has shown which side is better for missing values.
    if (histograms[slot, 2 * (first + count) + 1] & mask) == 0:
        tables[node, count] = 1 if 2 * (rest & mask) > numbers[node, layout.COUNT] else 0
    numbers[node, layout.FEATURE] = column
    numbers[node, layout.BIN] = chosen
    numbers[node, layout.MISSING_LEFT] = tables[node, count]
    numbers[node, layout.LEFT_GRADIENT] = gradient
    numbers[node, layout.LEFT_REST] = rest
