"""Divide the rows of the nodes of a tree, sum them, and number the nodes depth first."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order, node_lanes, node_sums
    from cython.cimports.mercer._native.tree import growth_records as records
else:
    from mercer._native.tree import code_order, node_lanes, node_sums
    from mercer._native.tree import growth_records as records

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)
real = cython.fused_type(cython.float, cython.double)


def divide_rows(
    codes: cython.const[code][:, ::1],
    missing: cython.const[cython.int][::1],
    rows: cython.const[cython.int][::1],
    spans: cython.const[records.Span][::1],
    features: cython.const[cython.int][::1],
    cuts: cython.const[cython.int][::1],
    sides: cython.const[cython.schar][::1],
    goes: cython.const[cython.uchar][:, ::1],
    spare: cython.int[::1],
    divided: cython.int[::1],
    found: records.Division[::1],
):
    """Write the rows of each node to `divided`: those that go left, then the others, both in their order.

    A row goes left if its code is at most the cut, or if it is missing and the side is 1. A negative cut -1 - c stands
    for row c of `goes`, which says of each code whether it goes left. `spare` has room for the rows of the largest
    node. The codes that are written to `found` are those of rows that are not missing.
    """
    value: cython.longlong
    cut: cython.longlong
    most: cython.longlong
    least: cython.longlong
    is_left: cython.bint
    with cython.nogil:
        for t in range(spans.shape[0]):
            f = features[t]
            cut = cuts[t]
            a = spans[t].place
            b = 0
            most = -1
            least = cython.cast(cython.longlong, 1) << 40
            # The rows read so far that go left end at ``divided[a]``, the others are ``spare[:b]``.
            for i in range(spans[t].start, spans[t].stop):
                value = codes[f, rows[i]]
                if value == missing[f]:
                    # Missing values have a code of their own and go to the side of the split.
                    is_left = sides[t] == 1
                elif cut < 0:
                    is_left = goes[-1 - cut, value] != 0
                else:
                    is_left = value <= cut
                    if is_left:
                        most = value if value > most else most
                    else:
                        least = value if value < least else least
                if is_left:
                    divided[a] = rows[i]
                    a += 1
                else:
                    spare[b] = rows[i]
                    b += 1
            # The caller puts thresholds midway between these two codes' values.
            found[t].left_rows = a - spans[t].place
            found[t].greatest_left = most
            found[t].least_right = least
            # A stable division: both sides keep the order of their rows.
            for i in range(b):
                divided[a + i] = spare[i]


def divide_values(
    values: cython.const[real][:, ::1],
    rows: cython.const[cython.int][::1],
    spans: cython.const[records.Span][::1],
    features: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.schar][::1],
    spare: cython.int[::1],
    divided: cython.int[::1],
    found: records.Division[::1],
):
    """Divide as :func:`divide_rows` does, by the values of the columns: rows up to the node's threshold go left.

    `found` receives the number of rows that went left, and zeros.
    """
    missing_left: cython.bint
    value: cython.double
    with cython.nogil:
        for t in range(spans.shape[0]):
            f = features[t]
            a = spans[t].place
            b = 0
            missing_left = sides[t] == 1
            for i in range(spans[t].start, spans[t].stop):
                value = values[f, rows[i]]
                # NaN compares false, so it goes right unless the side is left.
                if value <= thresholds[t] or (value != value and missing_left):
                    divided[a] = rows[i]
                    a += 1
                else:
                    spare[b] = rows[i]
                    b += 1
            found[t].left_rows = a - spans[t].place
            found[t].greatest_left = 0
            found[t].least_right = 0
            for i in range(b):
                divided[a + i] = spare[i]


def describe_classes(
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    slots: cython.const[cython.int][:, ::1],
    weight: cython.const[cython.double][::1],
    counts: cython.double[:, ::1],
    weights: cython.double[::1],
):
    """Write the weight of each node to `weights`, and that of each class in it to `counts`."""
    with cython.nogil:
        for t in range(starts.shape[0]):
            weights[t] = node_sums.sum_classes(rows, starts[t], stops[t], slots, weight, counts[t])


def describe_values(
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    targets: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    described: cython.double[:, ::1],
    equal: cython.uchar[::1],
    weights: cython.double[::1],
):
    """Write the weight of each node, the means and then the variances of its targets, and whether all are equal."""
    with cython.nogil:
        for t in range(starts.shape[0]):
            weights[t] = node_sums.sum_weights(rows, starts[t], stops[t], weight)
            equal[t] = node_sums.sum_values(rows, starts[t], stops[t], targets, weight, weights[t], described[t])


def describe_medians(
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    ranks: cython.const[cython.int][:, ::1],
    targets: cython.const[cython.double][:, ::1],
    scaled: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    keys: cython.longlong[:, ::1],
    described: cython.double[:, ::1],
):
    """Write the weighted medians of the targets of each node, and then the mean distances from them.

    `ranks` (outputs, n) are the ranks of the targets; `scaled` are the weights as integers, so that their sums are
    exact; `keys` (3, m) is scratch. If the rows up to a target have exactly half of the scaled weight, the median is
    the mean of that target and the next.
    """
    r: cython.Py_ssize_t = 0
    known: cython.Py_ssize_t
    place: cython.Py_ssize_t
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
                # Half of the integer weight is exact: a multiple of 1/2.
                half += scaled[rows[i]] / 2.0
                total += weight[rows[i]]
            for o in range(ranks.shape[0]):
                # The ranks of the targets serve as codes, so that one sort serves splits and medians.
                known = code_order.gather_keys(ranks, o, rows, starts[t], stops[t], -1, keys)
                node_lanes.order_keys(keys, known, keys[2, 0], keys[2, 1])
                # `below` is the weight of the first i + 1 rows in the order of the targets. The loop ends: for the last
                # row it is twice `half`.
                below = 0.0
                place = 0
                while True:
                    r = rows[starts[t] + code_order.read_place(keys[0, place])]
                    below += scaled[r]
                    if below >= half:
                        break
                    place += 1
                median = targets[r, o]
                # Exactly half of the weight is up to here: the median is midway to the next target.
                if below == half and place + 1 < known:
                    r = rows[starts[t] + code_order.read_place(keys[0, place + 1])]
                    median = median / 2.0 + targets[r, o] / 2.0
                # `below` serves as the sum of absolute distances from here on.
                below = 0.0
                for i in range(starts[t], stops[t]):
                    distance = targets[rows[i], o] - median
                    below += weight[rows[i]] * (distance if distance >= 0.0 else -distance)
                described[t, o] = median
                described[t, ranks.shape[0] + o] = below / total


def number_nodes(
    left: cython.const[cython.longlong][::1],
    right: cython.const[cython.longlong][::1],
    sizes: cython.longlong[::1],
    numbers: cython.longlong[::1],
):
    """Write each node's index in depth-first order, left before right; children must come after their parents."""
    n: cython.Py_ssize_t = left.shape[0]
    with cython.nogil:
        # From the last node to the first: the sizes of both subtrees are known before that of their parent.
        for i in range(n):
            sizes[n - 1 - i] = 1
            if left[n - 1 - i] >= 0:
                sizes[n - 1 - i] += sizes[left[n - 1 - i]] + sizes[right[n - 1 - i]]
        # From the first node on: the left child follows its parent, and the right child the whole left subtree.
        numbers[0] = 0
        for i in range(n):
            if left[i] >= 0:
                numbers[left[i]] = numbers[i] + 1
                numbers[right[i]] = numbers[i] + 1 + sizes[left[i]]
