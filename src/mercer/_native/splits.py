"""The best split of nodes into two by one column, for criteria that are functions of sums.

Each row adds an amount to one slot for each output: its weight to the slot of its class, or its weighted target to the
slot of its output. Amounts and weights are whole numbers (the caller scales others), so that sums are exact: a split is
worth the same in whatever order its rows are added, and only the rows decide between two splits.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import code_order, impurity
else:
    from mercer._native import code_order, impurity

__all__ = ["search_splits"]

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_keys(
    keys: cython.const[cython.longlong][::1],
    known: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    left: cython.double[::1],
    place: cython.double[::1],
    settings: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.void:
    """Try every cut between rows in the order of their codes, with the missing ones right and then left."""
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    p: cython.Py_ssize_t
    s: cython.Py_ssize_t
    side: cython.Py_ssize_t
    rows: cython.Py_ssize_t
    amount: cython.double
    left_weight: cython.double
    one: cython.double
    two: cython.double
    for side in range(2 if known < count else 1):
        rows = count - known if side else 0
        left_weight = 0.0
        one = 0.0
        two = 0.0
        for s in range(total.shape[0]):
            left[s] = 0.0
        for i in range(known, count if side else known):
            p = code_order.place_of(keys[i])
            left_weight += weight[p]
            for o in range(slots.shape[1]):
                left[slots[p, o]] += amounts[p, o]
        for s in range(total.shape[0]):
            one += left[s] * left[s]
            two += (total[s] - left[s]) * (total[s] - left[s])
        place[3] = side if known < count else 2
        for i in range(known):
            p = code_order.place_of(keys[i])
            for o in range(slots.shape[1]):
                s = slots[p, o]
                amount = amounts[p, o]
                one += amount * (2.0 * left[s] + amount)
                two -= amount * (2.0 * (total[s] - left[s]) - amount)
                left[s] += amount
            left_weight += weight[p]
            rows += 1
            if i + 1 < known:
                if keys[i] >> 32 == keys[i + 1] >> 32:
                    continue
            elif side or known == count:
                continue
            if settings[6] != 0.0:
                place[5] = one / left_weight + two / (place[0] - left_weight)
                if place[5] <= best[0]:
                    continue
            place[2] = keys[i] >> 32
            impurity.judge(left, total, left_weight, rows, count, place, settings, bounds, best)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_cells(
    keys: cython.const[cython.longlong][::1],
    known: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    least: cython.Py_ssize_t,
    span: cython.Py_ssize_t,
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    left: cython.double[::1],
    cells: cython.double[::1],
    place: cython.double[::1],
    settings: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.void:
    """As :func:`scan_keys`, from sums by code, for many rows of few codes. Missing rows have the last cell."""
    width: cython.Py_ssize_t = total.shape[0] + 2
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    p: cython.Py_ssize_t
    s: cython.Py_ssize_t
    side: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    rows: cython.double
    left_weight: cython.double
    for i in range((span + 1) * width):
        cells[i] = 0.0
    for i in range(count):
        cell = (((keys[i] >> 32) - least) if i < known else span) * width
        p = code_order.place_of(keys[i])
        cells[cell] += 1.0
        cells[cell + 1] += weight[p]
        for o in range(slots.shape[1]):
            cells[cell + 2 + slots[p, o]] += amounts[p, o]
    for side in range(2 if known < count else 1):
        rows = cells[span * width] if side else 0.0
        left_weight = cells[span * width + 1] if side else 0.0
        for s in range(total.shape[0]):
            left[s] = cells[span * width + 2 + s] if side else 0.0
        place[3] = side if known < count else 2
        for cell in range(span if side == 0 and known < count else span - 1):
            if cells[cell * width] == 0.0:
                continue
            rows += cells[cell * width]
            left_weight += cells[cell * width + 1]
            for s in range(total.shape[0]):
                left[s] += cells[cell * width + 2 + s]
            place[2] = cell + least
            place[5] = settings[8]
            impurity.judge(left, total, left_weight, rows, count, place, settings, bounds, best)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_single_keys(
    keys: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    amounts: cython.const[cython.double][:, ::1],
    weights: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    left: cython.double[::1],
    place: cython.double[::1],
    settings: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.void:
    """As :func:`scan_keys` where there is a single sum, squared, and nothing missing: most searches are of this kind.

    A split is worth looking at closely if s^2 / w + r^2 / v > b, or s^2 v + r^2 w > b w v, which needs no division.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    rest: cython.double
    other: cython.double
    bound: cython.double = best[0] * (1.0 - 1e-12)
    for i in range(count - 1):
        p = code_order.place_of(keys[i])
        sum += amounts[p, 0]
        weight += weights[p]
        if keys[i] >> 32 == keys[i + 1] >> 32:
            continue
        rest = place[0] - weight
        other = total[0] - sum
        if sum * sum * rest + other * other * weight > bound * (weight * rest):
            left[0] = sum
            place[2] = keys[i] >> 32
            impurity.judge(left, total, weight, i + 1, count, place, settings, bounds, best)
            bound = best[0] * (1.0 - 1e-12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_single_cells(
    coarse: cython.const[cython.uchar][:, ::1],
    feature: cython.Py_ssize_t,
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    amounts: cython.const[cython.double][:, ::1],
    weights: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    left: cython.double[::1],
    cells: cython.double[::1],
    place: cython.double[::1],
    settings: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][::1],
    best: cython.double[::1],
) -> cython.bint:
    """As :func:`scan_cells` where there is a single sum, squared, and nothing missing; whether the codes vary."""
    i: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    sum: cython.double = 0.0
    weight: cython.double = 0.0
    seen: cython.double = 0.0
    rest: cython.double
    other: cython.double
    bound: cython.double = best[0] * (1.0 - 1e-12)
    for i in range(1024):
        cells[i] = 0.0
    for i in range(count):
        cell = 4 * cython.cast(cython.Py_ssize_t, coarse[feature, rows[start + i]])
        cells[cell] += 1.0
        cells[cell + 1] += weights[i]
        cells[cell + 2] += amounts[i, 0]
    for i in range(256):
        if cells[4 * i] == 0.0:
            continue
        seen += cells[4 * i]
        weight += cells[4 * i + 1]
        sum += cells[4 * i + 2]
        if seen == count:
            return cells[4 * i] != count
        rest = place[0] - weight
        other = total[0] - sum
        if sum * sum * rest + other * other * weight > bound * (weight * rest):
            left[0] = sum
            place[2] = i
            impurity.judge(left, total, weight, seen, count, place, settings, bounds, best)
            bound = best[0] * (1.0 - 1e-12)
    return True


def search_splits(
    codes: cython.const[code][:, ::1],
    coarse: cython.const[cython.uchar][:, ::1],
    missing: cython.const[cython.int][:, ::1],
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
    cells: cython.double[::1],
    best: cython.double[:, ::1],
):
    """Write the best split of each node: how much it lowers the weighted impurity, feature, cut, where missing rows go.

    Parameters
    ----------
    codes : (d, n), the rank of each row's value in its column; rows with a code up to the cut go left
    coarse : (d, n) or empty, the same in fewer steps, for nodes of at least ``settings[5]`` rows
    missing : (2, d), the rank and the coarse code that stand for a missing value, -1 where there are none
    rows, starts, stops : the rows of all nodes, and where each node's begin and end
    seeds : (k,), a number below 2^32 for each node, which decides the order of the features
    features : the features to look at; kinds : (d,) or empty, not zero for those that are left to another search
    slots, amounts, weight : (n, outputs), (n, outputs), (n,)
    signs : (d,) or empty, the order that is asked for; bounds : (k, 2), of the values
    settings : rows a side needs, weight it needs, outputs, kind of impurity, features to look at, rows of a coarse
        search, whether sums of squares are exact, the slot whose mean is bounded, NaN
    keys : (3, m), order : (d,), own_slots, own_amounts : (m, outputs), own_weight : (m,), sums, cells : scratch
    best : (k, 5), written: gain, feature (-1 where no split is allowed), cut, side (0 right, 1 left, 2 none missing),
        whether the cut is a coarse code
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    f: cython.Py_ssize_t
    start: cython.Py_ssize_t
    count: cython.Py_ssize_t
    known: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    span: cython.Py_ssize_t
    n_slots: cython.Py_ssize_t = sums.shape[1] - 8
    fuzzy: cython.bint
    single: cython.bint
    plain: cython.bint = sums.shape[1] == 9 and slots.shape[1] == 1 and settings[3] == 0.0
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    with cython.nogil:
        for t in range(starts.shape[0]):
            start = starts[t]
            count = stops[t] - start
            place[0] = 0.0
            for i in range(n_slots):
                total[i] = 0.0
            for i in range(count):
                own_weight[i] = weight[rows[start + i]]
                place[0] += own_weight[i]
                for o in range(slots.shape[1]):
                    own_slots[i, o] = slots[rows[start + i], o]
                    own_amounts[i, o] = amounts[rows[start + i], o]
                    total[own_slots[i, o]] += own_amounts[i, o]
            fuzzy = count >= settings[5]
            best[t, 0] = -1e308
            best[t, 1] = -1.0
            best[t, 4] = fuzzy
            place[4] = 2.0
            for i in range(features.shape[0]):
                order[i] = features[i]
            seen = varied = 0
            while seen < features.shape[0] and (seen < settings[4] or varied == 0):
                f = order[seen]
                if settings[4] < features.shape[0]:
                    f = code_order.drawn(order, seen, seeds[t])
                seen += 1
                if kinds.shape[0] and kinds[f]:
                    continue
                single = plain and missing[0, f] < 0 and (signs.shape[0] == 0)
                place[1] = f
                place[3] = 2.0
                place[5] = settings[8]
                if fuzzy and single:
                    if scan_single_cells(
                        coarse,
                        f,
                        rows,
                        start,
                        count,
                        own_amounts,
                        own_weight,
                        total,
                        left,
                        cells,
                        place,
                        settings,
                        bounds[t],
                        best[t],
                    ):
                        varied += 1
                    continue
                if fuzzy:
                    known = code_order.gather_keys(coarse, f, rows, start, stops[t], missing[1, f], keys[0], keys[2])
                else:
                    known = code_order.gather_keys(codes, f, rows, start, stops[t], missing[0, f], keys[0], keys[2])
                if known == 0 or (known == count and keys[2, 0] == keys[2, 1]):
                    continue
                varied += 1
                if signs.shape[0]:
                    place[4] = signs[f]
                span = keys[2, 1] - keys[2, 0] + 1
                if (span + 1) * (n_slots + 2) <= 4 * count and (span + 1) * (n_slots + 2) <= cells.shape[0]:
                    scan_cells(
                        keys[0],
                        known,
                        count,
                        keys[2, 0],
                        span,
                        own_slots,
                        own_amounts,
                        own_weight,
                        total,
                        left,
                        cells,
                        place,
                        settings,
                        bounds[t],
                        best[t],
                    )
                elif single:
                    code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
                    scan_single_keys(
                        keys[0], count, own_amounts, own_weight, total, left, place, settings, bounds[t], best[t]
                    )
                else:
                    code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
                    scan_keys(
                        keys[0],
                        known,
                        count,
                        own_slots,
                        own_amounts,
                        own_weight,
                        total,
                        left,
                        place,
                        settings,
                        bounds[t],
                        best[t],
                    )
            if best[t, 1] >= 0.0:
                best[t, 0] -= impurity.undivided(total, place[0], settings[2], cython.cast(cython.int, settings[3]))
