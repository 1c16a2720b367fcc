"""As ``random_splits``, by the values of the columns themselves: a random cut needs no ranks, only the ends of a range.

A row's value is read once for each feature looked at; sums, limits and scratch are those of ``splits``.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import code_order, impurity
else:
    from mercer._native import code_order, impurity

__all__ = ["divide_values", "search_random_values"]

real = cython.fused_type(cython.float, cython.double)
SMALL = cython.declare(cython.Py_ssize_t, 1024)
INFINITE = cython.declare(cython.double, float("inf"))


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
    sums: cython.double[:, ::1],
    best: cython.double[:, ::1],
):
    """Write the best of the random splits of each node: gain, feature (-1 for none), 0, side, threshold.

    `values`: (d, n), the columns, NaN where a value is missing; `matrix`: (n, d), the same by rows, for small nodes:
    their rows lie far apart, but features of one row share lines of the cache. Draws are those of ``random_splits``.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    f: cython.Py_ssize_t
    r: cython.Py_ssize_t
    start: cython.Py_ssize_t
    count: cython.Py_ssize_t
    unknown: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    value: cython.double
    low: cython.double
    high: cython.double
    n_left: cython.double
    left_weight: cython.double
    right_weight: cython.double
    before: cython.double
    threshold: cython.double
    go: cython.double
    sum: cython.double
    # A single sum, squared, is kept in registers: adding to memory would wait for the sum before.
    single: cython.bint = sums.shape[1] == 9 and slots.shape[1] == 1 and settings[3] == 0.0 and signs.shape[0] == 0
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    with cython.nogil:
        for t in range(starts.shape[0]):
            start = starts[t]
            count = stops[t] - start
            place[0] = 0.0
            for i in range(total.shape[0]):
                total[i] = 0.0
            for i in range(count):
                r = rows[start + i]
                own_weight[i] = weight[r]
                place[0] += weight[r]
                if single:
                    own_amounts[i, 0] = amounts[r, 0]
                    total[0] += amounts[r, 0]
                    own_slots[i, 0] = 0
                    continue
                for o in range(slots.shape[1]):
                    own_slots[i, o] = slots[r, o]
                    own_amounts[i, o] = amounts[r, o]
                    total[slots[r, o]] += amounts[r, o]
            best[t, 0] = -1e308
            best[t, 1] = -1.0
            best[t, 2] = 0.0
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
                    f = code_order.drawn(order, seen, seeds[t])
                seen += 1
                unknown = 0
                low = INFINITE
                high = -INFINITE
                if count < SMALL:
                    for i in range(count):
                        own_values[i] = matrix[rows[start + i], f]
                else:
                    for i in range(count):
                        own_values[i] = values[f, rows[start + i]]
                for i in range(count):
                    value = own_values[i]
                    low = value if value < low else low
                    high = value if value > high else high
                    unknown += value != value
                if unknown == count or (unknown == 0 and low == high):
                    continue
                varied += 1
                threshold = code_order.drawn_threshold(seeds[t], f, low, high)
                place[3] = 2.0
                if unknown:
                    place[3] = code_order.mixed(seeds[t] + 104729 * (f + 1)) & 1
                    if low == high:
                        place[3] = 0.0
                if single and unknown == 0:
                    n_left = 0.0
                    left_weight = 0.0
                    sum = 0.0
                    for i in range(count):
                        # A product with 0 or 1 in the place of a branch, which nobody could foresee.
                        go = own_values[i] <= threshold
                        n_left += go
                        left_weight += go * own_weight[i]
                        sum += go * own_amounts[i, 0]
                    right_weight = place[0] - left_weight
                    if n_left < settings[0] or count - n_left < settings[0]:
                        continue
                    if left_weight < settings[1] or right_weight < settings[1]:
                        continue
                    value = sum * sum / left_weight + (total[0] - sum) * (total[0] - sum) / right_weight
                    if value > best[t, 0]:
                        best[t, 0] = value
                        best[t, 1] = f
                        best[t, 3] = 2.0
                        best[t, 4] = threshold
                    continue
                add_left(
                    own_values,
                    count,
                    threshold,
                    1.0 if place[3] == 1.0 else 0.0,
                    own_slots,
                    own_amounts,
                    own_weight,
                    left,
                    place,
                )
                place[1] = f
                if signs.shape[0]:
                    place[4] = signs[f]
                before = best[t, 0]
                impurity.judge(left, total, place[7], place[6], count, place, settings, bounds[t], best[t])
                if best[t, 0] > before:
                    best[t, 4] = threshold
            if best[t, 1] >= 0.0:
                best[t, 0] -= impurity.undivided(total, place[0], settings[2], cython.cast(cython.int, settings[3]))


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
