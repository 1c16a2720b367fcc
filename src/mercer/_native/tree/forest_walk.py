"""Sum the values of the leaves that rows reach in many trees.

A few hundred rows go down a tree together, one level at a time: the next node of one row is fetched from memory while
the other rows move.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)
# With fewer rows than this memory latency would not be hidden; then one row goes down several trees together.
FEW = cython.declare(cython.Py_ssize_t, 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def send_down(
    X: cython.const[real][:, ::1],
    rows: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    root: cython.int,
    features: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    at: cython.int[::1],
    count: cython.Py_ssize_t,
) -> cython.void:
    """Write to `at` the leaves of `count` rows from `first` on; the indices of a tree's nodes count from `root`.

    A node's record is as in ``tree_walk``.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    node: cython.Py_ssize_t
    start: cython.Py_ssize_t
    number: cython.Py_ssize_t
    value: cython.double
    is_left: cython.bint
    moving: cython.bint = True
    for i in range(count):
        at[i] = root
    # ``at[i]`` is the node that row i has reached. A pass moves every row that is not at a leaf one level down.
    while moving:
        moving = False
        for i in range(count):
            node = at[i]
            if rights[node] < 0:
                continue
            j = rows[first + i] if rows.shape[0] else first + i
            value = X[j, features[node]]
            if sides[node] < 2 and value == value:
                is_left = value <= thresholds[node]
            else:
                # Missing values and unseen categories; a category that the node has seen overrides this. NaN fails the
                # comparison 0 <= value.
                is_left = (sides[node] & 1) != 0
                if sides[node] >= 2:
                    start = cython.cast(cython.Py_ssize_t, thresholds[node])
                    if 0.0 <= value < 32.0 * words[start]:
                        number = cython.cast(cython.Py_ssize_t, value)
                        if (words[start + 1 + 2 * (number // 32)] >> (number % 32)) & 1:
                            is_left = ((words[start + 2 + 2 * (number // 32)] >> (number % 32)) & 1) != 0
            at[i] = cython.cast(cython.int, node + 1) if is_left else root + rights[node]
            moving = True


def add_values(
    X: cython.const[real][:, ::1],
    rows: cython.const[cython.int][::1],
    roots: cython.const[cython.int][::1],
    features: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    values: cython.const[cython.double][:, ::1],
    at: cython.int[::1],
    sums: cython.double[:, ::1],
):
    """Add the values of each row's leaves in all trees to `sums`, in the order of the trees.

    `rows` (n,) are indices of rows of `X`, or empty for all rows; `roots` (trees,) are the indices of the roots; `at`
    is scratch, as long as the number of rows that go down together.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    first: cython.Py_ssize_t
    count: cython.Py_ssize_t
    n: cython.Py_ssize_t = sums.shape[0]
    step: cython.Py_ssize_t = at.shape[0]
    with cython.nogil:
        first = 0
        while first < n:
            count = step if first + step <= n else n - first
            # Trees inside, rows outside: the rows of a group stay in the cache while trees come and go.
            for t in range(roots.shape[0]):
                send_down(X, rows, first, roots[t], features, rights, thresholds, sides, words, at, count)
                for i in range(count):
                    for v in range(values.shape[1]):
                        sums[first + i, v] += values[at[i], v]
            first += step


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def send_packed(
    X: cython.const[real][:, ::1],
    next_row: cython.Py_ssize_t,
    records: cython.const[cython.double][::1],
    links: cython.const[cython.int][::1],
    walks: cython.longlong[::1],
    moving: cython.Py_ssize_t,
    leaves: cython.int[::1],
) -> cython.void:
    """Send `moving` walks down by numeric splits, and write the leaf of walk i to place i of `leaves`.

    A walk is its number i times 2^32 plus its node. It is that of row i (`next_row` is 1), all in one tree, or of row 0
    (`next_row` is 0), each in a tree of its own. Walks that have ended are taken off the list.
    """
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    mark: cython.Py_ssize_t
    right: cython.Py_ssize_t
    staying: cython.Py_ssize_t
    value: cython.double
    is_left: cython.Py_ssize_t
    is_split: cython.Py_ssize_t
    while moving > 0:
        staying = 0
        for k in range(moving):
            i = walks[k] >> 32
            node = walks[k] & 0x7FFFFFFF
            mark = links[4 * node + 2]
            right = links[4 * node + 3]
            value = X[i * next_row, mark >> 2]
            is_split = (mark >> 1) & 1
            # Products instead of conditions: a compiler would make branches of these, which cannot be predicted.
            is_left = (value <= records[2 * node]) | ((value != value) & (mark & 1))
            node = right + is_left * (node + is_split - right)
            # The next pass reads this record: it is fetched while the other walks move.
            inline.prefetch(records, 2 * node, 2 * node + 1)
            leaves[i] = cython.cast(cython.int, node)
            walks[staying] = (cython.cast(cython.longlong, i) << 32) | cython.cast(cython.longlong, node)
            staying += is_split
        moving = staying


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def step_down(
    x: cython.const[real][::1],
    node: cython.Py_ssize_t,
    records: cython.const[cython.double][::1],
    links: cython.const[cython.int][::1],
) -> cython.Py_ssize_t:
    """Return the child of a node to which a row goes; a leaf is its own child."""
    mark: cython.Py_ssize_t = links[4 * node + 2]
    right: cython.Py_ssize_t = links[4 * node + 3]
    value: cython.double = x[mark >> 2]
    is_left: cython.Py_ssize_t = (value <= records[2 * node]) | ((value != value) & (mark & 1))
    # A mask instead of a condition: a compiler would make a branch of it, which cannot be predicted.
    return right ^ ((right ^ (node + ((mark >> 1) & 1))) & -is_left)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_shallow(
    X: cython.const[real][:, ::1],
    root: cython.Py_ssize_t,
    depth: cython.int,
    records: cython.const[cython.double][::1],
    links: cython.const[cython.int][::1],
    values: cython.const[cython.double][:, ::1],
    sums: cython.double[:, ::1],
) -> cython.void:
    """Add the values of each row's leaf in a tree of some depth; a row at a leaf stays there for the levels left.

    No branch depends on the rows, so that a processor works on the next rows before one has arrived.
    """
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    node: cython.Py_ssize_t
    other: cython.Py_ssize_t
    levels: cython.int
    n: cython.Py_ssize_t = sums.shape[0] - sums.shape[0] % 2
    for i in range(0, n, 2):
        # Two rows at a time: the steps of one wait for memory while those of the other are done.
        node = root
        other = root
        levels = depth
        while levels > 0:
            node = step_down(X[i], node, records, links)
            other = step_down(X[i + 1], other, records, links)
            levels -= 1
        for v in range(values.shape[1]):
            sums[i, v] += values[node, v]
            sums[i + 1, v] += values[other, v]
    for i in range(n, sums.shape[0]):
        node = root
        levels = depth
        while levels > 0:
            node = step_down(X[i], node, records, links)
            levels -= 1
        for v in range(values.shape[1]):
            sums[i, v] += values[node, v]


def add_packed_values(
    X: cython.const[real][:, ::1],
    roots: cython.const[cython.int][::1],
    depths: cython.const[cython.int][::1],
    records: cython.const[cython.double][::1],
    links: cython.const[cython.int][::1],
    values: cython.const[cython.double][:, ::1],
    walks: cython.longlong[::1],
    leaves: cython.int[::1],
    sums: cython.double[:, ::1],
):
    """Add values as :func:`add_values` does for all rows of X, where no split is by categories.

    `records` (2 nodes,) and `links` (4 nodes,) are two views of records of 16 bytes, each in one line of the cache: a
    threshold; then four times the feature plus two if the node is split plus one if a missing value goes left, and the
    index of the right child among the nodes of all trees. A leaf is its own right child. `depths` (trees,) are the
    depths of shallow trees, and negative for deep ones. `walks` and `leaves` are scratch, as long as the number of rows
    (or, with fewer than FEW rows, of trees) that go down together.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    first: cython.Py_ssize_t
    count: cython.Py_ssize_t
    n: cython.Py_ssize_t = sums.shape[0]
    step: cython.Py_ssize_t = walks.shape[0]
    with cython.nogil:
        # For few rows the trees go side by side instead: one row walks many trees at once, so that fetches overlap.
        if n < FEW:
            for first in range(n):
                t = 0
                while t < roots.shape[0]:
                    count = step if t + step <= roots.shape[0] else roots.shape[0] - t
                    for i in range(count):
                        walks[i] = (cython.cast(cython.longlong, i) << 32) | cython.cast(cython.longlong, roots[t + i])
                    send_packed(X[first:], 0, records, links, walks, count, leaves)
                    for i in range(count):
                        for v in range(values.shape[1]):
                            sums[first, v] += values[leaves[i], v]
                    t += step
        else:
            # A tree stays in the second-level cache while groups of rows, whose values fit there too, go down.
            for t in range(roots.shape[0]):
                if depths[t] >= 0:
                    add_shallow(X, roots[t], depths[t], records, links, values, sums)
                    continue
                first = 0
                while first < n:
                    count = step if first + step <= n else n - first
                    for i in range(count):
                        walks[i] = (cython.cast(cython.longlong, i) << 32) | cython.cast(cython.longlong, roots[t])
                    send_packed(X[first:], 1, records, links, walks, count, leaves)
                    for i in range(count):
                        for v in range(values.shape[1]):
                            sums[first + i, v] += values[leaves[i], v]
                    first += step


def find_many_leaves(
    X: cython.const[real][:, ::1],
    roots: cython.const[cython.int][::1],
    features: cython.const[cython.int][::1],
    rights: cython.const[cython.int][::1],
    thresholds: cython.const[cython.double][::1],
    sides: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    at: cython.int[::1],
    leaves: cython.longlong[:, ::1],
):
    """Write the index of each row's leaf in each tree to `leaves` (n, trees); the root of a tree has index 0."""
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    first: cython.Py_ssize_t
    count: cython.Py_ssize_t
    n: cython.Py_ssize_t = leaves.shape[0]
    step: cython.Py_ssize_t = at.shape[0]
    with cython.nogil:
        first = 0
        while first < n:
            count = step if first + step <= n else n - first
            for t in range(roots.shape[0]):
                send_down(X, roots[:0], first, roots[t], features, rights, thresholds, sides, words, at, count)
                for i in range(count):
                    # Nodes of all trees are numbered together; within a tree the root has index 0.
                    leaves[first + i, t] = at[i] - roots[t]
            first += step
