"""The best split of nodes into two by one column, for the mean absolute distance from the median.

The targets of a node are ranked once. A Fenwick tree over these ranks holds the weights and weighted targets of rows on
the left; what is on the right is the whole less that. A row moves in O(log m), and so does the search for a median.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order, impurity
else:
    from mercer._native.tree import code_order, impurity

__all__ = ["describe_medians", "search_median_splits"]

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread(
    left: cython.const[cython.double][:, ::1],
    whole: cython.const[cython.double][:, ::1],
    other: cython.bint,
    weight: cython.double,
    total: cython.double,
    values: cython.const[cython.double][::1],
    m: cython.Py_ssize_t,
    median: cython.double[::1],
) -> cython.double:
    """The weighted distances from the median of the left side, or of the other; `median` receives it.

    Row 0 of a tree has weights and row 1 weighted targets; `weight` and `total` are their sums on that side.
    """
    position: cython.Py_ssize_t = 0
    step: cython.Py_ssize_t = 1
    below: cython.double = 0.0
    sum_below: cython.double = 0.0
    w: cython.double
    while 2 * step <= m:
        step *= 2
    # The last place before which less than half of the weight lies: the median comes next.
    while step > 0:
        if position + step <= m:
            w = left[0, position + step]
            if other:
                w = whole[0, position + step] - w
            if 2.0 * (below + w) < weight:
                position += step
                below += w
                if other:
                    sum_below += whole[1, position] - left[1, position]
                else:
                    sum_below += left[1, position]
        step //= 2
    median[0] = values[position if position < m else m - 1]
    return (median[0] * below - sum_below) + ((total - sum_below) - median[0] * (weight - below))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(
    tree: cython.double[:, ::1],
    m: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    weight: cython.double,
    amount: cython.double,
) -> cython.void:
    """Add a row to a tree of m places."""
    place += 1
    while place <= m:
        tree[0, place] += weight
        tree[1, place] += amount
        place += place & -place


def describe_medians(
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    ranks: cython.const[cython.int][:, ::1],
    targets: cython.const[cython.double][:, ::1],
    scaled: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    keys: cython.longlong[:, ::1],
    medians: cython.double[:, ::1],
    distances: cython.double[:, ::1],
):
    """Write the weighted median of each target in each node, and the mean distance from it.

    Where exactly half of the weight (in `scaled`, whole numbers) lies on either side, the median is half way between.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    r: cython.Py_ssize_t = 0
    known: cython.Py_ssize_t
    total: cython.double
    half: cython.double
    below: cython.double
    median: cython.double
    distance: cython.double
    with cython.nogil:
        for t in range(starts.shape[0]):
            total = 0.0
            half = 0.0
            for i in range(starts[t], stops[t]):
                half += scaled[rows[i]] / 2.0
                total += weight[rows[i]]
            for o in range(ranks.shape[0]):
                known = code_order.gather_keys(ranks, o, rows, starts[t], stops[t], -1, keys[0], keys[2])
                code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
                below = 0.0
                i = 0
                while True:
                    r = rows[starts[t] + code_order.place_of(keys[0, i])]
                    below += scaled[r]
                    if below >= half:
                        break
                    i += 1
                median = targets[r, o]
                if below == half and i + 1 < known:
                    r = rows[starts[t] + code_order.place_of(keys[0, i + 1])]
                    median = median / 2.0 + targets[r, o] / 2.0
                below = 0.0
                for i in range(starts[t], stops[t]):
                    distance = targets[rows[i], o] - median
                    below += weight[rows[i]] * (distance if distance >= 0.0 else -distance)
                medians[t, o] = median
                distances[t, o] = below / total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_medians(
    keys: cython.const[cython.longlong][::1],
    known: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    places: cython.const[cython.int][:, ::1],
    values: cython.const[cython.double][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    sums: cython.double[::1],
    left: cython.double[:, :, ::1],
    whole: cython.const[cython.double][:, :, ::1],
    place: cython.double[::1],
    medians: cython.double[::1],
    only: cython.longlong,
    settings: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.void:
    """Try every cut between rows in the order of their codes, with the missing ones right and then left.

    Unless `only` is negative the cut after that code is the only one tried, with the missing rows where `place` says.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    o: cython.Py_ssize_t
    p: cython.Py_ssize_t
    side: cython.Py_ssize_t
    outputs: cython.Py_ssize_t = amounts.shape[1]
    rows: cython.double
    left_weight: cython.double
    given: cython.double = place[3]
    for side in range(2 if known < count else 1):
        if only >= 0 and known < count and side != given:
            continue
        rows = 0.0
        left_weight = 0.0
        for o in range(outputs):
            sums[o] = 0.0
            for j in range(count + 1):
                left[o, 0, j] = 0.0
                left[o, 1, j] = 0.0
        place[3] = side if known < count else 2
        # Missing rows come first where they go left.
        for j in range(count if side else known):
            i = j
            if side:
                i = known + j if j < count - known else j - (count - known)
            p = code_order.place_of(keys[i])
            rows += 1.0
            left_weight += weight[p]
            for o in range(outputs):
                sums[o] += amounts[p, o]
                put(left[o], count, places[o, p], weight[p], amounts[p, o])
            if i >= known:
                continue
            if i + 1 < known:
                if keys[i] >> 32 == keys[i + 1] >> 32:
                    continue
            elif side or known == count:
                continue
            if only >= 0 and ((keys[i] >> 32) > only or (i + 1 < known and (keys[i + 1] >> 32) <= only)):
                continue
            place[2] = keys[i] >> 32
            place[5] = 0.0
            for o in range(outputs):
                place[5] -= spread(
                    left[o], whole[o], True, place[0] - left_weight, total[o] - sums[o], values[o], count, medians[1:]
                )
                place[5] -= spread(left[o], whole[o], False, left_weight, sums[o], values[o], count, medians[:1])
            # A mean that is the median lets the same judge look at it.
            medians[0] *= left_weight
            medians[1] = medians[1] * (place[0] - left_weight) + medians[0]
            impurity.judge(medians[:1], medians[1:], left_weight, rows, count, place, settings, bounds, best)


def search_median_splits(
    codes: cython.const[code][:, ::1],
    missing: cython.const[cython.int][::1],
    table: cython.const[cython.double][::1],
    offsets: cython.const[cython.longlong][::1],
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    seeds: cython.const[cython.longlong][::1],
    features: cython.const[cython.int][::1],
    ranks: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    signs: cython.const[cython.schar][::1],
    bounds: cython.const[cython.double][:, ::1],
    settings: cython.const[cython.double][::1],
    keys: cython.longlong[:, ::1],
    order: cython.int[::1],
    places: cython.int[:, ::1],
    values: cython.double[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    sums: cython.double[:, ::1],
    trees: cython.double[:, :, :, ::1],
    best: cython.double[:, ::1],
):
    """Write the best split of each node, as ``splits.search_splits`` does, for weighted distances from the median.

    `table` is empty, or holds with `offsets` the numbers of all ranks: then one threshold is drawn for each feature, as
    in ``random_splits``, and written beside the split. `ranks`: (outputs, n), the order of the targets; `amounts`:
    (n, outputs), weighted targets in whole steps; `places`, `values`: (outputs, m), `trees`: (2, outputs, 2, m + 1)
    and the others as there: scratch.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    p: cython.Py_ssize_t
    f: cython.Py_ssize_t
    count: cython.Py_ssize_t
    known: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    undivided: cython.double
    before: cython.double
    threshold: cython.double
    only: cython.longlong
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    medians: cython.double[::1] = sums[0, :2]
    with cython.nogil:
        for t in range(starts.shape[0]):
            count = stops[t] - starts[t]
            place[0] = 0.0
            for i in range(count):
                own_weight[i] = weight[rows[starts[t] + i]]
                place[0] += own_weight[i]
            undivided = 0.0
            for o in range(ranks.shape[0]):
                known = code_order.gather_keys(ranks, o, rows, starts[t], stops[t], -1, keys[0], keys[2])
                code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
                total[o] = 0.0
                for i in range(count + 1):
                    trees[1, o, 0, i] = 0.0
                    trees[1, o, 1, i] = 0.0
                    trees[0, o, 0, i] = 0.0
                    trees[0, o, 1, i] = 0.0
                for i in range(count):
                    p = code_order.place_of(keys[0, i])
                    places[o, p] = i
                    own_amounts[p, o] = amounts[rows[starts[t] + p], o]
                    total[o] += own_amounts[p, o]
                    values[o, i] = own_amounts[p, o] / own_weight[p]
                    put(trees[1, o], count, i, own_weight[p], own_amounts[p, o])
                undivided -= spread(trees[0, o], trees[1, o], True, place[0], total[o], values[o], count, medians[:1])
            best[t, 0] = -1e308
            best[t, 1] = -1.0
            best[t, 4] = 0.0
            place[4] = 2.0
            for i in range(features.shape[0]):
                order[i] = features[i]
            seen = 0
            varied = 0
            while seen < features.shape[0] and (seen < settings[4] or varied == 0):
                f = order[seen]
                if settings[4] < features.shape[0]:
                    f = code_order.drawn(order, seen, seeds[t])
                seen += 1
                known = code_order.gather_keys(codes, f, rows, starts[t], stops[t], missing[f], keys[0], keys[2])
                if known == 0 or (known == count and keys[2, 0] == keys[2, 1]):
                    continue
                varied += 1
                place[1] = f
                if signs.shape[0]:
                    place[4] = signs[f]
                only = -1
                threshold = 0.0
                before = best[t, 0]
                if table.shape[0]:
                    threshold = code_order.drawn_threshold(
                        seeds[t], f, table[offsets[f] + keys[2, 0]], table[offsets[f] + keys[2, 1]]
                    )
                    only = code_order.last_below(table, offsets[f] + keys[2, 0], offsets[f] + keys[2, 1], threshold)
                    only -= offsets[f]
                    place[3] = code_order.mixed(seeds[t] + 104729 * (f + 1)) & 1
                    if keys[2, 0] == keys[2, 1]:
                        place[3] = 0.0
                code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
                scan_medians(
                    keys[0],
                    known,
                    count,
                    places,
                    values,
                    own_amounts,
                    own_weight,
                    total,
                    left,
                    trees[0],
                    trees[1],
                    place,
                    medians,
                    only,
                    settings,
                    bounds[t],
                    best[t],
                )
                if best[t, 0] > before:
                    best[t, 4] = threshold
            if best[t, 1] >= 0.0:
                best[t, 0] -= undivided
