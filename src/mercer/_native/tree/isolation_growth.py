# cython: infer_types=True
"""Draw samples of rows, and grow trees of random splits on them until rows are alone.

All random numbers of a tree are values of a hash of the tree's two seeds and a counter, so that a tree depends neither
on the other trees nor on the thread that grows it.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order
    from cython.cimports.mercer._native.tree import growth_records as records
else:
    from mercer._native.tree import code_order
    from mercer._native.tree import growth_records as records

real = cython.fused_type(cython.float, cython.double)
# 2^32 over the golden ratio: its multiples are spread evenly over the numbers below 2^32.
GOLDEN = cython.declare(cython.longlong, 0x9E3779B9)
# An odd number without pattern that tells the second hash from the first.
OTHER = cython.declare(cython.longlong, 0x85EBCA6B)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def draw(first: cython.longlong, second: cython.longlong, counter: cython.longlong) -> cython.double:
    """Return number `counter` of the stream of two seeds below 2^32: uniform on [0, 1), with 53 bits."""
    high: cython.longlong = code_order.mix(code_order.mix(first + GOLDEN * (counter + 1)) ^ second)
    low: cython.longlong = code_order.mix(high + OTHER + second)
    return cython.cast(cython.double, ((high << 21) | (low >> 11))) * (1.0 / 9007199254740992.0)


def draw_rows(
    n: cython.Py_ssize_t,
    seeds: cython.const[cython.uint][:, ::1],
    repeated: cython.bint,
    table: cython.longlong[::1],
    rows: cython.longlong[:, ::1],
):
    """Write to ``rows[t]`` rows below `n` for tree t: with repetitions if `repeated`, else without.

    Without repetitions by Floyd's method: for j = n - m, ..., n - 1 a row below j + 1 is drawn, and j itself is taken
    where that row was drawn before. `table` is a hash table, a power of two of entries, at least twice the number of
    rows drawn.
    """
    m: cython.Py_ssize_t = rows.shape[1]
    mask: cython.longlong = table.shape[0] - 1
    place: cython.longlong
    row: cython.longlong
    first: cython.longlong
    second: cython.longlong
    with cython.nogil:
        for t in range(rows.shape[0]):
            first = cython.cast(cython.longlong, seeds[t, 0])
            second = cython.cast(cython.longlong, seeds[t, 1])
            if repeated:
                for k in range(m):
                    rows[t, k] = cython.cast(cython.longlong, draw(first, second, k) * n)
                continue
            for k in range(table.shape[0]):
                table[k] = -1
            for k in range(m):
                # With j = n - m + k: a row in [0, j].
                row = cython.cast(cython.longlong, draw(first, second, k) * (n - m + k + 1))
                # Open addressing with linear probing; the table is at most half full, so that probes are short.
                place = row & mask
                while table[place] >= 0 and table[place] != row:
                    place = (place + 1) & mask
                if table[place] == row:
                    # j is larger than every row drawn before it, so it is not in the table yet.
                    row = n - m + k
                    place = row & mask
                    while table[place] >= 0:
                        place = (place + 1) & mask
                table[place] = row
                rows[t, k] = row


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split_rows(
    X: cython.const[real][:, ::1],
    rows: cython.longlong[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    feature: cython.int,
    chance: cython.double,
    values: cython.double[::1],
    cut: cython.double[::1],
) -> cython.Py_ssize_t:
    """Split rows at a random value of a feature: those of the left child come first. Return where the right ones begin.

    ``cut[0]`` becomes the threshold. ``cut[1]``, a random number, becomes 1 if missing values go left, else 0. Returns
    -1 where all values are equal.
    """
    last: cython.Py_ssize_t
    row: cython.longlong
    value: cython.double
    least: cython.double = 0.0
    greatest: cython.double = 0.0
    known: cython.Py_ssize_t = 0
    is_left: cython.bint
    for k in range(start, stop):
        value = X[rows[k], feature]
        values[k] = value
        if value == value:
            least = value if known == 0 or value < least else least
            greatest = value if known == 0 or value > greatest else greatest
            known += 1
    # With missing values a split is possible even where all known values are equal.
    if known == 0 or (known == stop - start and not least < greatest):
        return -1
    # A weighted mean cannot overflow, as the difference of the two could. The greatest value must go right.
    value = least * (1.0 - chance) + greatest * chance
    cut[0] = value if least <= value < greatest else least
    # Where all known values are equal the split is between them and the missing ones.
    cut[1] = 1.0 if cut[1] < 0.5 and least < greatest else 0.0
    k = start
    last = stop
    while k < last:
        value = values[k]
        is_left = value <= cut[0] if value == value else cut[1] != 0.0
        if is_left:
            k += 1
        else:
            last -= 1
            row = rows[k]
            rows[k] = rows[last]
            rows[last] = row
            values[k] = values[last]
    return k


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def draw_columns(
    columns: cython.int[::1], n_columns: cython.Py_ssize_t, first: cython.longlong, second: cython.longlong
) -> cython.void:
    """Put `n_columns` random columns to the front, by as many steps of a Fisher-Yates shuffle."""
    other: cython.Py_ssize_t
    column: cython.int
    for j in range(n_columns):
        # Rows and splits of the tree take their numbers from the stream of the seeds as they are.
        other = j + cython.cast(cython.Py_ssize_t, draw(first ^ OTHER, second, j) * (columns.shape[0] - j))
        column = columns[j]
        columns[j] = columns[other]
        columns[other] = column


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def push(
    stack: records.Branch[::1],
    place: cython.Py_ssize_t,
    parent: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    constant: cython.Py_ssize_t,
) -> cython.void:
    """Put a node that waits to be split on the stack."""
    stack[place].parent = parent
    stack[place].start = start
    stack[place].stop = stop
    stack[place].depth = depth
    stack[place].constant = constant


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow_tree(
    X: cython.const[real][:, ::1],
    rows: cython.longlong[::1],
    first: cython.longlong,
    second: cython.longlong,
    columns: cython.int[::1],
    n_columns: cython.Py_ssize_t,
    max_depth: cython.Py_ssize_t,
    nodes: records.IsolationNode[::1],
    stack: records.Branch[::1],
    values: cython.double[::1],
) -> cython.Py_ssize_t:
    """Grow one tree and return the number of its nodes; the arrays are as in :func:`grow_trees`."""
    top: cython.Py_ssize_t = 1
    node: cython.Py_ssize_t = 0
    m: cython.Py_ssize_t = rows.shape[0]
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    constant: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    other: cython.Py_ssize_t
    feature: cython.int = -2
    # Numbers below m of the stream drew the rows.
    counter: cython.longlong = m
    chance: cython.double
    push(stack, 0, -1, 0, m, 0, 0)
    while top > 0:
        top -= 1
        if stack[top].parent >= 0:
            nodes[stack[top].parent].right = cython.cast(cython.int, node)
        start = stack[top].start
        stop = stack[top].stop
        depth = stack[top].depth
        # The columns at the front are known to be constant.
        constant = stack[top].constant
        middle = -1
        while middle < 0 and depth < max_depth and stop - start > 1 and constant < n_columns:
            chance = draw(first, second, counter)
            other = constant + cython.cast(cython.Py_ssize_t, chance * (n_columns - constant))
            feature = columns[other]
            # The cut: a threshold from ``values[m]`` on, then the side of missing values, which comes in as a chance.
            values[m + 1] = draw(first, second, counter + 2)
            middle = split_rows(X, rows, start, stop, feature, draw(first, second, counter + 1), values, values[m:])
            counter += 3
            if middle < 0:
                # What is constant here is constant in all nodes below.
                columns[other] = columns[constant]
                columns[constant] = feature
                constant += 1
        nodes[node].feature = feature if middle >= 0 else -2
        nodes[node].right = -1
        nodes[node].rows = cython.cast(cython.int, stop - start)
        nodes[node].depth = cython.cast(cython.int, depth)
        nodes[node].missing_left = cython.cast(cython.int, values[m + 1]) if middle >= 0 else 0
        nodes[node].threshold = values[m] if middle >= 0 else -2.0
        if middle >= 0:
            push(stack, top, node, middle, stop, depth + 1, constant)
            push(stack, top + 1, -1, start, middle, depth + 1, constant)
            top += 2
        node += 1
    return node


def grow_trees(
    X: cython.const[real][:, ::1],
    rows: cython.longlong[:, ::1],
    seeds: cython.const[cython.uint][:, ::1],
    columns: cython.int[:, ::1],
    n_columns: cython.Py_ssize_t,
    max_depth: cython.Py_ssize_t,
    nodes: records.IsolationNode[:, ::1],
    stack: records.Branch[::1],
    values: cython.double[::1],
    sizes: cython.longlong[::1],
):
    """Grow a tree on each sample of rows; nodes are numbered depth first, the left child after its parent.

    `rows` (trees, m) are reordered. ``columns[t]`` holds the numbers of all columns; `n_columns` of them are drawn for
    the tree, moved to the front and reordered. A leaf of `nodes` (trees, 2 m) has the column -2 and the right child -1.
    ``sizes[t]`` is the number of nodes. `stack` (max_depth + 2,) and `values` (m + 2,) are scratch.
    """
    first: cython.longlong
    second: cython.longlong
    with cython.nogil:
        for t in range(rows.shape[0]):
            first = cython.cast(cython.longlong, seeds[t, 0])
            second = cython.cast(cython.longlong, seeds[t, 1])
            if n_columns < columns.shape[1]:
                draw_columns(columns[t], n_columns, first, second)
            sizes[t] = grow_tree(
                X, rows[t], first, second, columns[t], n_columns, max_depth, nodes[t], stack, values
            )  # fmt: skip
