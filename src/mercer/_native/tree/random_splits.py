"""The best of splits at thresholds drawn at random, one for each feature, for criteria that are functions of sums.

Sums, limits and scratch are those of ``splits``.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order, impurity
else:
    from mercer._native.tree import code_order, impurity

__all__ = ["search_random_splits"]

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)


def search_random_splits(
    codes: cython.const[code][:, ::1],
    missing: cython.const[cython.int][::1],
    table: cython.const[cython.double][::1],
    offsets: cython.const[cython.longlong][::1],
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    seeds: cython.const[cython.longlong][::1],
    features: cython.const[cython.int][::1],
    kinds: cython.const[cython.uchar][::1],
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    signs: cython.const[cython.schar][::1],
    bounds: cython.const[cython.double][:, ::1],
    settings: cython.const[cython.double][::1],
    keys: cython.longlong[:, ::1],
    order: cython.int[::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    sums: cython.double[:, ::1],
    best: cython.double[:, ::1],
):
    """Write the best of the random splits of each node: gain, feature (-1 for none), cut, side, threshold.

    `table` and `offsets` hold the numbers that the ranks of each column stand for. A threshold is drawn evenly between
    the least and the greatest number of the node, by the node's seed; missing rows go to a side drawn alike.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    f: cython.Py_ssize_t
    r: cython.Py_ssize_t
    count: cython.Py_ssize_t
    known: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    cut: cython.Py_ssize_t
    n_left: cython.double
    left_weight: cython.double
    before: cython.double
    threshold: cython.double
    go: cython.double
    sum: cython.double
    # One sum is kept in a register, where adding to memory would wait for the sum before.
    single: cython.bint = sums.shape[1] == 9 and slots.shape[1] == 1
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    with cython.nogil:
        for t in range(starts.shape[0]):
            count = stops[t] - starts[t]
            place[0] = 0.0
            for i in range(total.shape[0]):
                total[i] = 0.0
            for i in range(count):
                r = rows[starts[t] + i]
                own_weight[i] = weight[r]
                place[0] += weight[r]
                for o in range(slots.shape[1]):
                    own_slots[i, o] = slots[r, o]
                    own_amounts[i, o] = amounts[r, o]
                    total[slots[r, o]] += amounts[r, o]
            best[t, 0] = -1e308
            best[t, 1] = -1.0
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
                if kinds.shape[0] and kinds[f]:
                    continue
                known = code_order.gather_keys(codes, f, rows, starts[t], stops[t], missing[f], keys[0], keys[2])
                if known == 0 or (known == count and keys[2, 0] == keys[2, 1]):
                    continue
                varied += 1
                threshold = code_order.drawn_threshold(
                    seeds[t], f, table[offsets[f] + keys[2, 0]], table[offsets[f] + keys[2, 1]]
                )
                cut = (
                    code_order.last_below(table, offsets[f] + keys[2, 0], offsets[f] + keys[2, 1], threshold)
                    - offsets[f]
                )
                place[1] = f
                place[2] = cut
                place[3] = 2.0
                if known < count:
                    place[3] = code_order.mixed(seeds[t] + 104729 * (f + 1)) & 1
                if keys[2, 0] == keys[2, 1]:
                    place[3] = 0.0
                if signs.shape[0]:
                    place[4] = signs[f]
                n_left = 0.0
                left_weight = 0.0
                sum = 0.0
                for i in range(left.shape[0]):
                    left[i] = 0.0
                for i in range(count):
                    # A product with 0 or 1 in the place of a branch, which nobody could foresee.
                    go = 1.0 if ((keys[0, i] >> 32) <= cut if i < known else place[3] == 1.0) else 0.0
                    r = code_order.place_of(keys[0, i])
                    n_left += go
                    left_weight += go * own_weight[r]
                    if single:
                        sum += go * own_amounts[r, 0]
                        continue
                    for o in range(slots.shape[1]):
                        left[own_slots[r, o]] += go * own_amounts[r, o]
                if single:
                    left[0] = sum
                before = best[t, 0]
                impurity.judge(left, total, left_weight, n_left, count, place, settings, bounds[t], best[t])
                if best[t, 0] > before:
                    best[t, 4] = threshold
            if best[t, 1] >= 0.0:
                best[t, 0] -= impurity.undivided(total, place[0], settings[2], cython.cast(cython.int, settings[3]))
