"""The best split of nodes into two sets of categories of one column, for criteria that are functions of sums.

With one sum for each category (two classes, or one number to predict) the categories are ordered by their means: the
best of all sets is then a run of that order (Breiman). With more classes every set is tried while there are few
categories; beyond, they are ordered along the first principal component of their class shares (Coppersmith, Hong and
Hosking), which is nearly always the best set and no longer surely so. What is missing is a category like others.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order, impurity
else:
    from mercer._native.tree import code_order, impurity

__all__ = ["search_category_splits"]

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def collect(
    codes: cython.const[code][:, ::1],
    feature: cython.Py_ssize_t,
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    where: cython.int[::1],
    names: cython.int[::1],
    cells: cython.double[:, ::1],
) -> cython.Py_ssize_t:
    """Sum the rows of each category that is present; return how many are.

    Row c of `cells` has the rows, the weight, a key (left alone) and the sums of the category ``names[c]``; `where` is
    zero for all codes before and after.
    """
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    s: cython.Py_ssize_t
    c: cython.Py_ssize_t
    present: cython.Py_ssize_t = 0
    for i in range(start, stop):
        c = where[codes[feature, rows[i]]]
        if c == 0:
            names[present] = codes[feature, rows[i]]
            for s in range(cells.shape[1]):
                cells[present, s] = 0.0
            present += 1
            c = present
            where[codes[feature, rows[i]]] = cython.cast(cython.int, c)
        cells[c - 1, 0] += 1.0
        cells[c - 1, 1] += weight[rows[i]]
        for o in range(slots.shape[1]):
            cells[c - 1, 3 + slots[rows[i], o]] += amounts[rows[i], o]
    for i in range(present):
        where[names[i]] = 0
    return present


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_component(
    cells: cython.double[:, ::1],
    present: cython.Py_ssize_t,
    total: cython.const[cython.double][::1],
    weight: cython.double,
    axis: cython.double[::1],
    image: cython.double[::1],
) -> cython.void:
    """Set each category's key to its place along the first principal component of the means, by power iteration."""
    c: cython.Py_ssize_t
    s: cython.Py_ssize_t
    turns: cython.Py_ssize_t = 0
    along: cython.double
    length: cython.double
    n: cython.Py_ssize_t = total.shape[0]
    for s in range(n):
        axis[s] = 1.0 / (1.0 + s)
    while turns < 30:
        turns += 1
        for s in range(n):
            image[s] = 0.0
        for c in range(present):
            along = 0.0
            for s in range(n):
                along += (cells[c, 3 + s] / cells[c, 1] - total[s] / weight) * axis[s]
            cells[c, 2] = along
            for s in range(n):
                image[s] += cells[c, 1] * along * (cells[c, 3 + s] / cells[c, 1] - total[s] / weight)
        length = 0.0
        for s in range(n):
            length += image[s] * image[s]
        if length == 0.0:
            return
        length = length**0.5
        for s in range(n):
            axis[s] = image[s] / length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_categories(
    cells: cython.const[cython.double][:, ::1],
    names: cython.const[cython.int][::1],
    present: cython.Py_ssize_t,
    order: cython.int[::1],
) -> cython.void:
    """Order categories by key and, where keys are equal, by name: a heap sort."""
    i: cython.Py_ssize_t
    root: cython.Py_ssize_t
    child: cython.Py_ssize_t
    end: cython.Py_ssize_t
    start: cython.Py_ssize_t = present // 2
    held: cython.int
    for i in range(present):
        order[i] = cython.cast(cython.int, i)
    end = present
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            held = order[end]
            order[end] = order[0]
            order[0] = held
        root = start
        held = order[root]
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and comes_before(cells, names, order[child], order[child + 1]):
                child += 1
            if not comes_before(cells, names, held, order[child]):
                break
            order[root] = order[child]
            root = child
        order[root] = held


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def comes_before(
    cells: cython.const[cython.double][:, ::1], names: cython.const[cython.int][::1], a: cython.int, b: cython.int
) -> cython.bint:
    if cells[a, 2] != cells[b, 2]:
        return cells[a, 2] < cells[b, 2]
    return names[a] < names[b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_sets(
    cells: cython.const[cython.double][:, ::1],
    names: cython.const[cython.int][::1],
    present: cython.Py_ssize_t,
    order: cython.const[cython.int][::1],
    mode: cython.int,
    seed: cython.longlong,
    total: cython.const[cython.double][::1],
    left: cython.double[::1],
    count: cython.double,
    place: cython.double[::1],
    settings: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][::1],
    goes: cython.uchar[::1],
    best: cython.double[::1],
) -> cython.void:
    """Try runs of the order (mode 0), every set (mode 1) or one set at random (mode 2); `goes` marks the best one's.

    A set is numbered: of the order its first categories, otherwise by its bits.
    """
    c: cython.Py_ssize_t
    s: cython.Py_ssize_t
    number: cython.Py_ssize_t
    chosen: cython.Py_ssize_t = -1
    first: cython.Py_ssize_t = 1
    last: cython.Py_ssize_t = present
    rows: cython.double = 0.0
    left_weight: cython.double = 0.0
    before: cython.double
    is_left: cython.bint
    if mode == 1:
        last = cython.cast(cython.Py_ssize_t, 1) << (present - 1)
    elif mode == 2:
        last = 2
    for s in range(total.shape[0]):
        left[s] = 0.0
    for number in range(first, last):
        if mode != 0:
            rows = 0.0
            left_weight = 0.0
            for s in range(total.shape[0]):
                left[s] = 0.0
        for c in range(number - 1 if mode == 0 else 0, number if mode == 0 else present):
            is_left = mode == 0
            if mode == 1:
                is_left = ((number >> c) & 1) != 0
            elif mode == 2:
                # The first two categories part, so that neither side is empty.
                is_left = c == 0 if c < 2 else (code_order.mixed(seed + names[order[c]]) & 1) != 0
            if is_left:
                rows += cells[order[c], 0]
                left_weight += cells[order[c], 1]
                for s in range(total.shape[0]):
                    left[s] += cells[order[c], 3 + s]
        before = best[0]
        impurity.judge(left, total, left_weight, rows, count, place, settings, bounds, best)
        if best[0] > before:
            chosen = number
    if chosen < 0:
        return
    for c in range(goes.shape[0]):
        goes[c] = 0
    for c in range(present):
        is_left = c < chosen
        if mode == 1:
            is_left = ((chosen >> c) & 1) != 0
        elif mode == 2:
            is_left = c == 0 if c < 2 else (code_order.mixed(seed + names[order[c]]) & 1) != 0
        goes[names[order[c]]] = 2 + is_left


def search_category_splits(
    codes: cython.const[code][:, ::1],
    missing: cython.const[cython.int][::1],
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    seeds: cython.const[cython.longlong][::1],
    kinds: cython.const[cython.uchar][::1],
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    bounds: cython.const[cython.double][:, ::1],
    settings: cython.const[cython.double][::1],
    order: cython.int[::1],
    where: cython.int[:, ::1],
    sums: cython.double[:, ::1],
    cells: cython.double[:, ::1],
    goes: cython.uchar[:, ::1],
    best: cython.double[:, ::1],
):
    """Put a split by categories in the place of the best split of each node where it is better.

    Parameters
    ----------
    kinds : (d,), not zero for categorical columns; others are passed over, in the order that ``splits`` draws
    settings : as in ``splits``; at 9, the most categories of which every set is tried; at 10, whether sets are random;
        at 11, the slot whose mean orders the categories, or -1
    order : (d,), where : (3, most), sums : (5, slots + 8), cells : (most, slots + 3) : scratch, `where` zero
    goes : (k, most), written where a split is better: 0 for categories that are absent, 2 right, 3 left
    best : (k, 5), worth (as yet without that of the node left whole), feature, cut -1, side
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    f: cython.Py_ssize_t
    present: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    mode: cython.int
    whole: cython.double
    before: cython.double
    slot: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, settings[11])
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    with cython.nogil:
        for t in range(starts.shape[0]):
            place[0] = 0.0
            for i in range(total.shape[0]):
                total[i] = 0.0
            for i in range(starts[t], stops[t]):
                place[0] += weight[rows[i]]
                for o in range(slots.shape[1]):
                    total[slots[rows[i], o]] += amounts[rows[i], o]
            whole = impurity.undivided(total, place[0], settings[2], cython.cast(cython.int, settings[3]))
            best[t, 0] = best[t, 0] + whole if best[t, 1] >= 0.0 else -1e308
            place[5] = settings[8]
            for i in range(kinds.shape[0]):
                order[i] = cython.cast(cython.int, i)
            seen = 0
            varied = 0
            while seen < kinds.shape[0] and (seen < settings[4] or (varied == 0 and best[t, 1] < 0.0)):
                f = order[seen]
                if settings[4] < kinds.shape[0]:
                    f = code_order.drawn(order, seen, seeds[t])
                seen += 1
                if kinds[f] == 0:
                    continue
                present = collect(
                    codes, f, rows, starts[t], stops[t], slots, amounts, weight, where[0], where[1], cells
                )
                if present < 2:
                    continue
                varied += 1
                mode = 2 if settings[10] != 0.0 else 0 if slot >= 0 or present > settings[9] else 1
                for i in range(present):
                    cells[i, 2] = cells[i, 3 + slot] / cells[i, 1] if slot >= 0 else 0.0
                if slot < 0 and mode == 0:
                    set_component(cells, present, total, place[0], sums[3, 8:], sums[4, 8:])
                sort_categories(cells, where[1], present, where[2])
                place[1] = f
                place[2] = -1.0
                place[3] = 2.0
                place[4] = 2.0 if bounds[t, 0] == -bounds[t, 1] and bounds[t, 1] > 1e308 else 0.0
                before = best[t, 0]
                try_sets(
                    cells,
                    where[1],
                    present,
                    where[2],
                    mode,
                    seeds[t],
                    total,
                    left,
                    stops[t] - starts[t],
                    place,
                    settings,
                    bounds[t],
                    goes[t],
                    best[t],
                )
                if best[t, 0] > before and missing[f] >= 0:
                    for i in range(present):
                        if where[1, i] == missing[f]:
                            best[t, 3] = goes[t, missing[f]] & 1
            if best[t, 1] >= 0.0:
                best[t, 0] -= whole
