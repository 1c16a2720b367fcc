"""The best split of nodes into two by one column, for criteria that are functions of sums, and trees grown by it.

Each row adds an amount to one slot for each output: its weight to the slot of its class, or its weighted target to the
slot of its output. Amounts and weights are whole numbers (the caller scales others), so that sums are exact: a split is
worth the same in whatever order its rows are added, and only the rows decide between two splits.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order, impurity, node_steps, split_scan
else:
    from mercer._native.tree import code_order, impurity, node_steps, split_scan

__all__ = ["grow_nodes", "search_splits"]

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)
# Up to this many rows are put in order by counting.
FEW = cython.declare(cython.Py_ssize_t, 64)
# Up to this many are read by rows.
MORE = cython.declare(cython.Py_ssize_t, 256)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_node(
    codes: cython.const[code][:, ::1],
    matrix: cython.const[code][:, ::1],
    coarse: cython.const[cython.uchar][:, ::1],
    coarse_matrix: cython.const[cython.uchar][:, ::1],
    missing: cython.const[cython.int][:, ::1],
    rows: cython.const[cython.int][::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    seed: cython.longlong,
    features: cython.const[cython.int][::1],
    kinds: cython.const[cython.uchar][::1],
    slots: cython.const[cython.int][:, ::1],
    amounts: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    signs: cython.const[cython.schar][::1],
    bounds: cython.const[cython.double][::1],
    settings: cython.const[cython.double][::1],
    keys: cython.longlong[:, ::1],
    order: cython.int[::1],
    few: cython.int[:, ::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    quads: cython.double[:, ::1],
    kept_from: cython.Py_ssize_t,
    sums: cython.double[:, ::1],
    cells: cython.double[::1],
    best: cython.double[::1],
) -> cython.void:
    """Write the best split of one node; see :func:`search_splits`."""
    i: cython.Py_ssize_t
    o: cython.Py_ssize_t
    r: cython.Py_ssize_t
    f: cython.Py_ssize_t
    known: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    varied: cython.Py_ssize_t
    span: cython.Py_ssize_t
    n_slots: cython.Py_ssize_t = sums.shape[1] - 8
    fuzzy: cython.bint = count >= settings[5]
    is_varied: cython.bint
    single: cython.bint
    sum: cython.double = 0.0
    heft: cython.double = 0.0
    total: cython.double[::1] = sums[0, 8:]
    left: cython.double[::1] = sums[1, 8:]
    place: cython.double[::1] = sums[2, :8]
    own_quads: cython.double[:, ::1] = quads[kept_from if kept_from > 0 else 0 :]
    place[0] = 0.0
    for i in range(n_slots):
        total[i] = 0.0
    for i in range(count):
        r = rows[start + i]
        if kept_from >= 0:
            sum += own_quads[i, 2]
            heft += own_quads[i, 1]
            if own_weight.shape[0]:
                own_weight[i] = own_quads[i, 1]
                own_slots[i, 0] = 0
                own_amounts[i, 0] = own_quads[i, 2]
            continue
        place[0] += weight[r]
        for o in range(slots.shape[1]):
            total[slots[r, o]] += amounts[r, o]
        if quads.shape[0]:
            own_quads[i, 0] = 1.0
            own_quads[i, 1] = weight[r]
            own_quads[i, 2] = amounts[r, 0]
            own_quads[i, 3] = 0.0
        if own_weight.shape[0]:
            own_weight[i] = weight[r]
            for o in range(slots.shape[1]):
                own_slots[i, o] = slots[r, o]
                own_amounts[i, o] = amounts[r, o]
    place[0] += heft
    total[0] += sum
    best[0] = -1e308
    best[1] = -1.0
    best[4] = fuzzy
    place[4] = 2.0
    for i in range(features.shape[0]):
        order[i] = features[i]
    seen = 0
    varied = 0
    while seen < features.shape[0] and (seen < settings[4] or varied == 0):
        f = order[seen]
        if settings[4] < features.shape[0]:
            f = code_order.drawn(order, seen, seed)
        seen += 1
        if kinds.shape[0] and kinds[f]:
            continue
        place[1] = f
        place[3] = 2.0
        place[5] = settings[8]
        single = quads.shape[0] > 0 and missing[0, f] < 0
        if single and fuzzy and count > MORE:
            if split_scan.scan_single_cells(
                coarse,
                coarse_matrix,
                f,
                rows,
                start,
                count,
                own_quads,
                total,
                left,
                cells,
                place,
                settings,
                bounds,
                best,
            ):
                varied += 1
            continue
        if single and count <= MORE:
            if fuzzy:
                is_varied = split_scan.gather_few(coarse, coarse_matrix, f, rows, start, count, few)
            else:
                is_varied = split_scan.gather_few(codes, matrix, f, rows, start, count, few)
            if not is_varied:
                continue
            varied += 1
            if count <= FEW:
                split_scan.scan_few(few, cells, count, own_quads, total, left, place, settings, bounds, best)
            else:
                split_scan.order_more(few, count, keys[0], keys[1])
                split_scan.scan_single_keys(keys[0], count, own_quads, total, left, place, settings, bounds, best)
            continue
        if code is cython.uchar:
            if single:
                # fmt: off
                if split_scan.scan_single_cells(
                    codes, matrix, f, rows, start, count, own_quads, total, left, cells, place, settings, bounds, best,
                ):
                    varied += 1
                # fmt: on
                continue
        if fuzzy:
            known = code_order.gather_keys(coarse, f, rows, start, start + count, missing[1, f], keys[0], keys[2])
        else:
            known = code_order.gather_keys(codes, f, rows, start, start + count, missing[0, f], keys[0], keys[2])
        if known == 0 or (known == count and keys[2, 0] == keys[2, 1]):
            continue
        varied += 1
        if signs.shape[0]:
            place[4] = signs[f]
        span = keys[2, 1] - keys[2, 0] + 1
        if single:
            code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
            split_scan.scan_single_keys(keys[0], count, own_quads, total, left, place, settings, bounds, best)
        elif (span + 1) * (n_slots + 2) <= 4 * count and (span + 1) * (n_slots + 2) <= cells.shape[0]:
            # fmt: off
            split_scan.scan_cells(
                keys[0], known, count, keys[2, 0], span, own_slots, own_amounts, own_weight, total, left, cells, place,
                settings, bounds, best,
            )
            # fmt: on
        else:
            code_order.order_keys(keys[0], keys[1], known, keys[2, 0], keys[2, 1])
            # fmt: off
            split_scan.scan_keys(
                keys[0], known, count, own_slots, own_amounts, own_weight, total, left, place, settings, bounds, best,
            )
            # fmt: on
    if best[1] >= 0.0:
        best[0] -= impurity.undivided(total, place[0], settings[2], cython.cast(cython.int, settings[3]))


def search_splits(
    codes: cython.const[code][:, ::1],
    matrix: cython.const[code][:, ::1],
    coarse: cython.const[cython.uchar][:, ::1],
    coarse_matrix: cython.const[cython.uchar][:, ::1],
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
    few: cython.int[:, ::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    quads: cython.double[:, ::1],
    sums: cython.double[:, ::1],
    cells: cython.double[::1],
    best: cython.double[:, ::1],
):
    """Write the best split of each node: how much it lowers the weighted impurity, feature, cut, where missing rows go.

    Parameters
    ----------
    codes : (d, n), the rank of each row's value in its column; rows with a code up to the cut go left
    matrix : (n, d) or empty, the same by rows, for small nodes: their rows lie far apart, and those of one share lines
    coarse : (d, n) or empty, the same in fewer steps, for nodes of at least ``settings[5]`` rows
    missing : (2, d), the rank and the coarse code that stand for a missing value, -1 where there are none
    rows, starts, stops : the rows of all nodes, and where each node's begin and end
    seeds : (k,), a number below 2^32 for each node, which decides the order of the features
    features : the features to look at; kinds : (d,) or empty, not zero for those that are left to another search
    slots, amounts, weight : (n, outputs), (n, outputs), (n,)
    signs : (d,) or empty, the order that is asked for; bounds : (k, 2), of the values
    settings : rows a side needs, weight it needs, outputs, kind of impurity, features to look at, rows of a coarse
        search, whether sums of squares are exact, the slot whose mean is bounded, NaN
    keys : (3, m), order : (d,), few : (2, 80), sums, cells : scratch
    own_slots, own_amounts : (m, outputs), own_weight : (m,), quads : (m, 4) : scratch; `quads` is empty unless there is
        a single sum, squared, and no order asked for, and then the others may be if no value is missing
    best : (k, 5), written: gain, feature (-1 where no split is allowed), cut, side (0 right, 1 left, 2 none missing),
        whether the cut is a coarse code
    """
    t: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0]):
            # fmt: off
            search_node(
                codes, matrix, coarse, coarse_matrix, missing, rows, starts[t], stops[t] - starts[t], seeds[t],
                features, kinds, slots, amounts, weight, signs, bounds[t], settings, keys, order, few, own_slots,
                own_amounts, own_weight, quads, -1, sums, cells, best[t],
            )
            # fmt: on


def grow_nodes(
    codes: cython.const[code][:, ::1],
    matrix: cython.const[code][:, ::1],
    coarse: cython.const[cython.uchar][:, ::1],
    coarse_matrix: cython.const[cython.uchar][:, ::1],
    missing: cython.const[cython.int][:, ::1],
    edges: cython.const[cython.int][:, ::1],
    rows: cython.int[::1],
    kept: cython.double[:, ::1],
    features: cython.const[cython.int][::1],
    kinds: cython.const[cython.uchar][::1],
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
    keys: cython.longlong[:, ::1],
    order: cython.int[::1],
    few: cython.int[:, ::1],
    own_slots: cython.int[:, ::1],
    own_amounts: cython.double[:, ::1],
    own_weight: cython.double[::1],
    quads: cython.double[:, ::1],
    sums: cython.double[:, ::1],
    cells: cython.double[::1],
    spare: cython.int[::1],
    state: cython.longlong[::1],
    stack: cython.longlong[:, ::1],
    links: cython.int[:, ::1],
    numbers: cython.double[:, ::1],
):
    """Split nodes and their children, and these, as long as the rules allow, there is room, and work for one call.

    Rows, sums and limits are those of :func:`search_splits`, with all features, no categories and no orders asked for.
    `edges`: (d, 256), the last rank of each coarse step. `labels` or `targets`, and the weights `own`: what nodes are
    described by; the other one is empty. `kept`, `quads` and `spare`: what rows keep beside them, and room to divide
    them; `limits`, `state`, `stack`, `links`, `numbers`: see ``node_steps``.
    """
    node: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    f: cython.Py_ssize_t
    cut: cython.longlong
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
            search_node(
                codes, matrix, coarse, coarse_matrix, missing, rows, start, stop - start, seed, features, kinds, slots,
                amounts, weight, signs, best, settings, keys, order, few, own_slots, own_amounts, own_weight, kept,
                start if state[2] else -1, sums, cells, best,
            )
            # fmt: on
            if best[1] < 0.0 or best[0] * limits[3] / limits[4] + limits[6] < limits[5]:
                continue
            f = cython.cast(cython.Py_ssize_t, best[1])
            cut = cython.cast(cython.longlong, best[2])
            if best[4] > 0.0 and missing[0, f] < 0:
                # fmt: off
                middle = node_steps.divide_coarse(
                    codes, coarse, coarse_matrix, f, cython.cast(cython.int, cut), rows, kept, state[2], start, stop,
                    spare, quads, links[node],
                )
                # fmt: on
            else:
                if best[4] > 0.0:
                    cut = edges[f, cut]
                # fmt: off
                middle = node_steps.divide_node(
                    codes, matrix, missing[0, f], f, cut, best[3], rows, kept, state[2], start, stop, spare, quads,
                    links[node],
                )
                # fmt: on
            links[node, 1] = cython.cast(cython.int, f)
            links[node, 4] = cython.cast(cython.int, best[3])
            # fmt: off
            node_steps.add_children(
                node, start, middle, stop, seed, stack[state[0], 4] + 1, rows, kept, labels, targets, own, firsts,
                limits, state, stack, links, numbers,
            )
            # fmt: on
