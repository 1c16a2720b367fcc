"""Hierarchies from a square matrix of distances, and the node indices of their merges.

A merge of slots x < y leaves the new cluster in y; the distances to it follow from those to its parts (Lance and
Williams, 1967), so a row of the matrix is rewritten and mirrored into its column. Linkages are numbered in the order of
``mercer.cluster._hierarchy.merging.LINKAGES``: complete 0, average 1, weighted 2, Ward 3, centroid 4, median 5; the
last three work on squared distances. A slot without a cluster has `absent` infinity, which is added to distances before
they are compared, and size zero.
"""

import cython

INFINITY = cython.declare(cython.double, float("inf"))
# Distances compared at a time, so that the test runs in vector registers.
STRIP = cython.declare(cython.Py_ssize_t, 64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(
    D: cython.double[:, ::1],
    sizes: cython.double[::1],
    absent: cython.double[::1],
    linkage: cython.int,
    x: cython.Py_ssize_t,
    y: cython.Py_ssize_t,
) -> cython.void:
    """Merge slot `x` into slot `y`, and compute the distances of the union to all slots (Lance and Williams)."""
    n: cython.Py_ssize_t = D.shape[0]
    total: cython.double = sizes[x] + sizes[y]
    a: cython.double = sizes[x] / total
    b: cython.double = sizes[y] / total
    gap: cython.double = D[x, y]
    # Complete linkage: max(d_xi, d_yi).
    if linkage == 0:
        for i in range(n):
            D[y, i] = D[x, i] if D[x, i] > D[y, i] else D[y, i]
    # Average linkage: (n_x d_xi + n_y d_yi) / (n_x + n_y).
    elif linkage == 1:
        for i in range(n):
            D[y, i] = (sizes[x] * D[x, i] + sizes[y] * D[y, i]) / total
    # Weighted linkage: the mean of both distances, whatever the sizes.
    elif linkage == 2:
        for i in range(n):
            D[y, i] = 0.5 * (D[x, i] + D[y, i])
    # Ward, on squares: ((n_x + n_i) d_xi + (n_y + n_i) d_yi - n_i d_xy) / (n_x + n_y + n_i).
    elif linkage == 3:
        for i in range(n):
            value = (sizes[x] + sizes[i]) * D[x, i] + (sizes[y] + sizes[i]) * D[y, i] - sizes[i] * gap
            D[y, i] = value / (sizes[x] + sizes[y] + sizes[i])
    # Centroid, on squares: a d_xi + b d_yi - a b d_xy; rounding can make the difference negative, a square cannot be.
    elif linkage == 4:
        for i in range(n):
            value = a * D[x, i] + b * D[y, i] - a * b * gap
            D[y, i] = value if value > 0.0 else 0.0
    # Median, on squares: as centroid with a = b = 1/2, whatever the sizes.
    else:
        for i in range(n):
            value = 0.5 * (D[x, i] + D[y, i]) - 0.25 * gap
            D[y, i] = value if value > 0.0 else 0.0
    sizes[y] += sizes[x]
    sizes[x] = 0.0
    absent[x] = INFINITY
    D[y, y] = INFINITY
    # Rows of absent slots are never read again, so their column y may stay out of date.
    for i in range(n):
        if sizes[i] > 0.0:
            D[i, y] = D[y, i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(
    D: cython.const[cython.double][:, ::1],
    absent: cython.const[cython.double][::1],
    x: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    nearest: cython.Py_ssize_t,
    best: cython.double,
) -> cython.Py_ssize_t:
    """Return the slot from `start` on nearest to `x`, the lowest among equals; `nearest` if none is below `best`."""
    i: cython.Py_ssize_t
    below: cython.int
    while start < D.shape[0]:
        stop = min(start + STRIP, D.shape[0])
        below = 0
        # Vector code tests a whole strip for a smaller distance; few strips have one and are then searched slot by
        # slot.
        for i in range(start, stop):
            below |= D[x, i] + absent[i] < best
        if below:
            for i in range(start, stop):
                if D[x, i] + absent[i] < best:
                    best = D[x, i]
                    nearest = i
        start = stop
    return nearest


def chain_matrix(
    D: cython.double[:, ::1],
    sizes: cython.double[::1],
    absent: cython.double[::1],
    names: cython.const[cython.Py_ssize_t][::1],
    linkage: cython.int,
    chain: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t,
    searches: cython.Py_ssize_t,
    pairs: cython.Py_ssize_t[:, ::1],
    heights: cython.double[::1],
    made: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Make merges, at most one for each line of `pairs`, by a chain of nearest neighbours; return its length.

    Only for reducible linkages, where d(x + y, z) >= min(d(x, z), d(y, z)): complete, average, weighted and Ward. There
    the rest of the chain stays a chain of nearest neighbours after a merge.

    Parameters
    ----------
    D, sizes, absent : (n, n), (n,), (n,): symmetric distances with an infinite diagonal, and the slots; rewritten
    names : (n,), the index that `pairs` uses for each slot
    chain, length : the slots of the chain, and how many they are
    searches : the most nearest-neighbour searches that this call may make
    pairs, heights : (t, 2), (t,), written
    made : (1,), written: the number of merges made
    """
    turn: cython.Py_ssize_t = 0
    slot: cython.Py_ssize_t = 0
    nearest: cython.Py_ssize_t = 0
    previous: cython.Py_ssize_t = -1
    with cython.nogil:
        while turn < pairs.shape[0] and searches > 0:
            if length == 0:
                slot = 0
                while sizes[slot] == 0.0:
                    slot += 1
                chain[0] = slot
                length = 1
            nearest = -2
            # Distances along the chain fall strictly: a tie goes to the previous slot, which ends the chain. So no slot
            # comes twice.
            while searches > 0:
                slot = chain[length - 1]
                previous = chain[length - 2] if length > 1 else -1
                best = D[slot, previous] if length > 1 else INFINITY
                nearest = find(D, absent, slot, 0, previous, best)
                searches -= 1
                if nearest == previous:
                    break
                chain[length] = nearest
                length += 1
            # The chain goes on in the next call where this one has searched enough.
            if nearest != previous:
                break
            # The last two slots of the chain are mutual nearest neighbours: they leave it.
            length -= 2
            turn += 1
            if slot > nearest:
                slot, nearest = nearest, slot
            pairs[turn - 1, 0] = names[slot]
            pairs[turn - 1, 1] = names[nearest]
            heights[turn - 1] = D[slot, nearest]
            join(D, sizes, absent, linkage, slot, nearest)
    made[0] = turn
    return length


def find_nearest(
    D: cython.const[cython.double][:, ::1],
    absent: cython.const[cython.double][::1],
    nearest: cython.Py_ssize_t[::1],
    bounds: cython.double[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Write the nearest later slot of each slot from `start` to `stop` to `nearest`, its distance to `bounds`."""
    with cython.nogil:
        for x in range(start, stop):
            nearest[x] = find(D, absent, x, x + 1, -1, INFINITY)
            bounds[x] = D[x, nearest[x]] if nearest[x] >= 0 else INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pop_closest(
    D: cython.const[cython.double][:, ::1],
    absent: cython.const[cython.double][::1],
    nearest: cython.Py_ssize_t[::1],
    bounds: cython.double[::1],
) -> cython.Py_ssize_t:
    """Return the slot with the closest later neighbour; raise bounds that are too low on the way."""
    while True:
        x = 0
        for i in range(1, bounds.shape[0]):
            if bounds[i] < bounds[x]:
                x = i
        # `bounds` never exceeds the true distance. So the lowest bound, once it is attained, is the closest pair of
        # all.
        if nearest[x] >= 0 and absent[nearest[x]] == 0.0 and D[x, nearest[x]] == bounds[x]:
            return x
        nearest[x] = find(D, absent, x, x + 1, -1, INFINITY)
        bounds[x] = D[x, nearest[x]] if nearest[x] >= 0 else INFINITY


def pair_nearest(
    D: cython.double[:, ::1],
    sizes: cython.double[::1],
    absent: cython.double[::1],
    nearest: cython.Py_ssize_t[::1],
    bounds: cython.double[::1],
    names: cython.const[cython.Py_ssize_t][::1],
    linkage: cython.int,
    pairs: cython.Py_ssize_t[:, ::1],
    heights: cython.double[::1],
):
    """Merge the closest pair of all slots, once for each line of `pairs`; valid for every linkage.

    Parameters
    ----------
    D, sizes, absent, names, linkage, pairs, heights : as in `chain_matrix`
    nearest, bounds : (n,), (n,): a slot after each slot, and a lower bound on the distances to all later slots;
        `pop_closest` checks the lowest bound and raises it if no slot attains it
    """
    with cython.nogil:
        for turn in range(pairs.shape[0]):
            x = pop_closest(D, absent, nearest, bounds)
            y = nearest[x]
            pairs[turn, 0] = names[x]
            pairs[turn, 1] = names[y]
            heights[turn] = D[x, y]
            join(D, sizes, absent, linkage, x, y)
            bounds[x] = INFINITY
            # The union may be nearer than the bound of an earlier slot (centroid and median invert): lower it. Where it
            # is farther,
            # the old value is still a lower bound.
            for i in range(y):
                if sizes[i] > 0.0 and D[i, y] < bounds[i]:
                    bounds[i] = D[i, y]
                    nearest[i] = y
            nearest[y] = find(D, absent, y, y + 1, -1, INFINITY)
            bounds[y] = D[y, nearest[y]] if nearest[y] >= 0 else INFINITY


def span_matrix(
    D: cython.const[cython.double][:, ::1],
    keys: cython.double[::1],
    absent: cython.double[::1],
    first: cython.Py_ssize_t,
    pairs: cython.Py_ssize_t[:, ::1],
    heights: cython.double[::1],
) -> cython.Py_ssize_t:
    """Grow a minimum spanning tree as ``points.span_points`` does, from a matrix; its slots get `absent` infinity."""
    slot: cython.Py_ssize_t = first
    with cython.nogil:
        for turn in range(pairs.shape[0]):
            absent[slot] = INFINITY
            nearest = -1
            least = INFINITY
            # Prim: keys[i] is the distance of slot i to the tree, and only the slot added last can lower it.
            for i in range(D.shape[0]):
                keys[i] = D[slot, i] if D[slot, i] < keys[i] else keys[i]
            for i in range(D.shape[0]):
                if keys[i] + absent[i] < least:
                    least = keys[i]
                    nearest = i
            pairs[turn, 0] = slot
            pairs[turn, 1] = nearest
            heights[turn] = least
            slot = nearest
    return slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def root(parents: cython.Py_ssize_t[::1], node: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the root of `node`'s tree, and point every node on the path to it at the root."""
    top: cython.Py_ssize_t = node
    while parents[top] >= 0:
        top = parents[top]
    while parents[node] >= 0:
        parents[node], node = top, parents[node]
    return top


def number_merges(
    pairs: cython.const[cython.Py_ssize_t][:, ::1],
    parents: cython.Py_ssize_t[::1],
    children: cython.Py_ssize_t[:, ::1],
    counts: cython.double[::1],
):
    """Number the clusters that merges of leaves make: n for the first, n + 1 for the next.

    Parameters
    ----------
    pairs : (m, 2), a leaf of each of the two clusters that merge, in the order of the merges
    parents : (n + m,), -1 everywhere; written: the parent of each node, or an ancestor above it
    children : (m, 2), written; the lower number first
    counts : (n + m,), the sizes of the leaves; those of the clusters are written
    """
    with cython.nogil:
        for turn in range(pairs.shape[0]):
            left = root(parents, pairs[turn, 0])
            right = root(parents, pairs[turn, 1])
            # Leaves have the indices 0 to n - 1 and merge t the index n + t, as in SciPy's linkage matrices.
            node = parents.shape[0] - pairs.shape[0] + turn
            children[turn, 0] = min(left, right)
            children[turn, 1] = max(left, right)
            parents[left] = node
            parents[right] = node
            counts[node] = counts[left] + counts[right]


def label_leaves(
    pairs: cython.const[cython.Py_ssize_t][:, ::1], parents: cython.Py_ssize_t[::1], labels: cython.longlong[::1]
):
    """Label the clusters that merges leave, from 0 in the order of their first leaves.

    Parameters
    ----------
    pairs : (m, 2), a leaf of each of the two clusters that merge, in any order
    parents : (n,) scratch, -1 everywhere
    labels : (n,), written
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for turn in range(pairs.shape[0]):
            left = root(parents, pairs[turn, 0])
            right = root(parents, pairs[turn, 1])
            # The first leaf of a cluster is its root.
            if left != right:
                parents[max(left, right)] = min(left, right)
        for leaf in range(parents.shape[0]):
            left = root(parents, leaf)
            if left == leaf:
                labels[leaf] = count
                count += 1
            else:
                labels[leaf] = labels[left]
