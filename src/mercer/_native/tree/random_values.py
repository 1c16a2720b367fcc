"""As ``random_splits``, by the values of the columns themselves: a random cut needs no ranks, only the ends of a range.

Sums, limits and scratch are those of ``splits``, and so is growth.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order, impurity, node_steps, value_cut
else:
    from mercer._native.tree import code_order, impurity, node_steps, value_cut

__all__ = ["divide_values", "grow_random_nodes", "search_random_values"]

real = cython.fused_type(cython.float, cython.double)
# Up to this many rows are read by rows: they lie far apart, but features of one row share lines of the cache.
SMALL = cython.declare(cython.Py_ssize_t, 1024)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_left(
    own_values: cython.const[cython.double][::1],
    count: cython.Py_ssize_t,
    threshold: cython.double,
    missing_left: cython.double,
    own_slots: cython.const[cython.int][:, ::1],
    own_amounts: cython.const[cython.double][:, ::1],
    own_weight: cython.const[cython.double][::1],
    left: cython.double[::1],
    place: cython.double[::1],
) -> cython.void:
    """Sum the rows that go left: their amounts, and at 6 and 7 of `place` how many they are and what they weigh."""
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    go: cython.double
    place[6] = 0.0
    place[7] = 0.0
    for i in range(left.shape[0]):
        left[i] = 0.0
    for i in range(count):
        go = (own_values[i] <= threshold) + missing_left * (own_values[i] != own_values[i])
        place[6] += go
        place[7] += go * own_weight[i]
        for o in range(own_slots.shape[1]):
            left[own_slots[i, o]] += go * own_amounts[i, o]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_random_node(
    values: cython.const[real][:, ::1],
    matrix: cython.const[real][:, ::1],
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    seed: cython.longlong,
    features: cython.const[cython.int][::1],
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    signs: cython.const[cython.schar][::1],
    bounds: cython.const[cython.double][::1],
    settings: cython.const[cython.double][::1],
    own_values: cython.double[::1],
    order: cython.int[::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    quads: cython.double[:, ::1],
    kept_from: cython.Py_ssize_t,
    sums: cython.double[:, ::1],
    best: cython.double[::1],
) -> cython.void:
    """Write the best random split of one node; see :func:`search_random_values`."""
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    f: cython.Py_ssize_t
    r: cython.Py_ssize_t
    unknown: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    value: cython.double
    right_weight: cython.double
    before: cython.double
    threshold: cython.double
    sum: cython.double = 0.0
    heft: cython.double = 0.0
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    found: cython.double[::1] = sums[0, :8]
    own_quads: cython.double[:, ::1] = quads[kept_from if kept_from > 0 else 0 :]
    for i in range(total.shape[0]):
        total[i] = 0.0
    for i in range(count):
        if kept_from >= 0:
            heft += own_quads[i, 1]
            sum += own_quads[i, 2]
            if own_weight.shape[0]:
                own_weight[i] = own_quads[i, 1]
                own_slots[i, 0] = 0
                own_amounts[i, 0] = own_quads[i, 2]
            continue
        r = rows[start + i]
        heft += weight[r]
        for o in range(slots.shape[1]):
            total[slots[r, o]] += amounts[r, o]
            if own_weight.shape[0]:
                own_weight[i] = weight[r]
                own_slots[i, o] = slots[r, o]
                own_amounts[i, o] = amounts[r, o]
        if quads.shape[0]:
            own_quads[i, 0] = 1.0
            own_quads[i, 1] = weight[r]
            own_quads[i, 2] = amounts[r, 0]
            own_quads[i, 3] = 0.0
    total[0] += sum
    best[0] = -1e308
    best[1] = -1.0
    best[2] = 0.0
    place[0] = heft
    place[2] = 0.0
    place[4] = 2.0
    place[5] = settings[8]
    for i in range(features.shape[0]):
        order[i] = features[i]
    seen = 0
    varied = 0
    while seen < features.shape[0] and (seen < settings[4] or varied == 0):
        f = order[seen]
        if settings[4] < features.shape[0]:
            f = code_order.drawn(order, seen, seed)
        seen += 1
        if count < SMALL:
            for i in range(count):
                own_values[i] = matrix[rows[start + i], f]
        else:
            for i in range(count):
                own_values[i] = values[f, rows[start + i]]
        unknown = value_cut.find_range(own_values, count, found)
        if unknown == count or (unknown == 0 and found[0] == found[1]):
            continue
        varied += 1
        threshold = code_order.drawn_threshold(seed, f, found[0], found[1])
        if quads.shape[0] and unknown == 0:
            value_cut.sum_left(own_values, count, threshold, own_quads, found)
            right_weight = heft - found[1]
            if found[0] < settings[0] or count - found[0] < settings[0]:
                continue
            if found[1] < settings[1] or right_weight < settings[1]:
                continue
            value = found[2] * found[2] / found[1] + (total[0] - found[2]) * (total[0] - found[2]) / right_weight
            if value > best[0]:
                best[0] = value
                best[1] = f
                best[3] = 2.0
                best[4] = threshold
            continue
        place[3] = 2.0
        if unknown:
            place[3] = code_order.mixed(seed + 104729 * (f + 1)) & 1
            if found[0] == found[1]:
                place[3] = 0.0
        value = 1.0 if place[3] == 1.0 else 0.0
        add_left(own_values, count, threshold, value, own_slots, own_amounts, own_weight, left, place)
        place[1] = f
        if signs.shape[0]:
            place[4] = signs[f]
        before = best[0]
        impurity.judge(left, total, place[7], place[6], count, place, settings, bounds, best)
        if best[0] > before:
            best[4] = threshold
    if best[1] >= 0.0:
        best[0] -= impurity.undivided(total, place[0], settings[2], cython.cast(cython.int, settings[3]))


def search_random_values(
    values: cython.const[real][:, ::1],
    matrix: cython.const[real][:, ::1],
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    seeds: cython.const[cython.longlong][::1],
    features: cython.const[cython.int][::1],
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    signs: cython.const[cython.schar][::1],
    bounds: cython.const[cython.double][:, ::1],
    settings: cython.const[cython.double][::1],
    own_values: cython.double[::1],
    order: cython.int[::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    quads: cython.double[:, ::1],
    sums: cython.double[:, ::1],
    best: cython.double[:, ::1],
):
    """Write the best of the random splits of each node: gain, feature (-1 for none), 0, side, threshold.

    `values`: (d, n), the columns, NaN where a value is missing; `matrix`: (n, d), the same by rows, for small nodes.
    Draws are those of ``random_splits``. `own_slots`, `own_amounts`, `own_weight` may be empty where `quads` is not and
    no value is missing.
    """
    t: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0]):
            # fmt: off
            search_random_node(
                values, matrix, rows, starts[t], stops[t] - starts[t], seeds[t], features, slots, amounts, weight,
                signs, bounds[t], settings, own_values, order, own_slots, own_amounts, own_weight, quads, -1, sums,
                best[t],
            )
            # fmt: on


def divide_values(
    values: cython.const[real][:, ::1],
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    features: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.schar][::1],
    places: cython.const[cython.longlong][::1],
    spare: cython.int[::1],
    divided: cython.int[::1],
    found: cython.longlong[:, ::1],
):
    """Write the rows of each node to `divided`: those up to the threshold, then the others, in their order.

    What is missing goes left if the side is 1. `found`: (k, 3), written: how many rows went left, and zeros.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    f: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    missing_left: cython.bint
    value: cython.double
    with cython.nogil:
        for t in range(starts.shape[0]):
            f = features[t]
            a = places[t]
            b = 0
            missing_left = sides[t] == 1
            for i in range(starts[t], stops[t]):
                value = values[f, rows[i]]
                if value <= thresholds[t] or (value != value and missing_left):
                    divided[a] = rows[i]
                    a += 1
                else:
                    spare[b] = rows[i]
                    b += 1
            found[t, 0] = a - places[t]
            found[t, 1] = 0
            found[t, 2] = 0
            for i in range(b):
                divided[a + i] = spare[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide_by_value(
    values: cython.const[real][:, ::1],
    matrix: cython.const[real][:, ::1],
    feature: cython.Py_ssize_t,
    threshold: cython.double,
    missing_left: cython.bint,
    rows: cython.int[::1],
    quads: cython.double[:, ::1],
    is_kept: cython.bint,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    spare: cython.int[::1],
    spare_quads: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Put the rows up to the threshold before the others, both in their order; return where the others begin."""
    i: cython.Py_ssize_t
    a: cython.Py_ssize_t = start
    b: cython.Py_ssize_t = 0
    value: cython.double
    is_left: cython.bint
    for i in range(start, stop):
        if stop - start < SMALL:
            value = matrix[rows[i], feature]
        else:
            value = values[feature, rows[i]]
        is_left = (value <= threshold) | ((value != value) & missing_left)
        node_steps.move_row(rows, quads, is_kept, i, a, b, spare, spare_quads)
        a += is_left
        b += not is_left
    node_steps.bring_back(rows, quads, is_kept, a, b, spare, spare_quads)
    return a


def grow_random_nodes(
    values: cython.const[real][:, ::1],
    matrix: cython.const[real][:, ::1],
    rows: cython.int[::1],
    kept: cython.double[:, ::1],
    features: cython.const[cython.int][::1],
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    signs: cython.const[cython.schar][::1],
    labels: cython.const[cython.int][:, ::1],
    targets: cython.const[cython.double][:, ::1],
    own: cython.const[cython.double][::1],
    firsts: cython.const[cython.longlong][::1],
    settings: cython.const[cython.double][::1],
    limits: cython.const[cython.double][::1],
    own_values: cython.double[::1],
    order: cython.int[::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    quads: cython.double[:, ::1],
    sums: cython.double[:, ::1],
    spare: cython.int[::1],
    state: cython.longlong[::1],
    stack: cython.longlong[:, ::1],
    links: cython.int[:, ::1],
    numbers: cython.double[:, ::1],
):
    """As ``splits.grow_nodes``, with random cuts; thresholds are written, and no codes beside them."""
    node: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    f: cython.Py_ssize_t
    seed: cython.longlong
    visits: cython.double = 0.0
    best: cython.double[::1] = sums[3, :5]
    with cython.nogil:
        while state[0] > 0 and visits < limits[7] and state[1] + 2 <= links.shape[0]:
            state[0] -= 1
            node = stack[state[0], 0]
            start = stack[state[0], 1]
            stop = stack[state[0], 2]
            seed = stack[state[0], 3]
            visits += (stop - start) * settings[4]
            # fmt: off
            search_random_node(
                values, matrix, rows, start, stop - start, seed, features, slots, amounts, weight, signs, best,
                settings, own_values, order, own_slots, own_amounts, own_weight, kept, start if state[2] else -1, sums,
                best,
            )
            # fmt: on
            if best[1] < 0.0 or best[0] * limits[3] / limits[4] + limits[6] < limits[5]:
                continue
            f = cython.cast(cython.Py_ssize_t, best[1])
            # fmt: off
            middle = divide_by_value(
                values, matrix, f, best[4], best[3] == 1.0, rows, kept, state[2], start, stop, spare, quads,
            )
            # fmt: on
            numbers[node, 0] = best[4]
            links[node, 1] = cython.cast(cython.int, f)
            links[node, 2] = 0
            links[node, 3] = 0
            links[node, 4] = cython.cast(cython.int, best[3])
            # fmt: off
            node_steps.add_children(
                node, start, middle, stop, seed, stack[state[0], 4] + 1, rows, kept, labels, targets, own, firsts,
                limits, state, stack, links, numbers,
            )
            # fmt: on
