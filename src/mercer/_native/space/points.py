"""Distances from one point to many, and the two hierarchies that need nothing else: Ward and single linkage.

Points lie in panels of lanes, (panels, d, lanes): feature j of a panel's points is contiguous, so that vector code adds
up features in all lanes at once, always in the order of features. A lane without a point holds infinity: no distance to
it is less than any other.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
    from cython.cimports.mercer._native.space import lanes
else:
    from math import sqrt

    from mercer._native.space import lanes

INFINITY = cython.declare(cython.double, float("inf"))


def measure(
    panels: cython.const[cython.double][:, :, ::1],
    points: cython.const[cython.double][:, ::1],
    lengths: cython.bint,
    scratch: cython.double[::1],
    out: cython.double[:, ::1],
):
    """Write the squared distance, or the distance if `lengths`, from each of `points` to each packed point.

    Parameters
    ----------
    panels : (m, d, w)
    points : (b, d)
    scratch : (w,)
    out : (b, n), where n points are packed
    """
    width: cython.Py_ssize_t = panels.shape[2]
    with cython.nogil:
        # Panels outside, points inside: a panel stays in the cache for all points.
        for panel in range(panels.shape[0]):
            count = min(width, out.shape[1] - panel * width)
            for i in range(points.shape[0]):
                lanes.square(panels, panel, points[i], scratch)
                if lengths:
                    for lane in range(width):
                        scratch[lane] = sqrt(scratch[lane])
                for lane in range(count):
                    out[i, panel * width + lane] = scratch[lane]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_point(
    panels: cython.const[cython.double][:, :, ::1], slot: cython.Py_ssize_t, point: cython.double[::1]
) -> cython.void:
    for j in range(point.shape[0]):
        point[j] = panels[slot // panels.shape[2], j, slot % panels.shape[2]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_point(
    panels: cython.double[:, :, ::1], slot: cython.Py_ssize_t, point: cython.const[cython.double][::1]
) -> cython.void:
    for j in range(point.shape[0]):
        panels[slot // panels.shape[2], j, slot % panels.shape[2]] = point[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def erase_point(panels: cython.double[:, :, ::1], slot: cython.Py_ssize_t) -> cython.void:
    for j in range(panels.shape[1]):
        panels[slot // panels.shape[2], j, slot % panels.shape[2]] = INFINITY


def span_points(
    panels: cython.double[:, :, ::1],
    keys: cython.double[::1],
    names: cython.const[cython.Py_ssize_t][::1],
    first: cython.Py_ssize_t,
    point: cython.double[::1],
    scratch: cython.double[::1],
    pairs: cython.Py_ssize_t[:, ::1],
    heights: cython.double[::1],
) -> cython.Py_ssize_t:
    """Grow a minimum spanning tree from the point at slot `first` by one point for each line of `pairs` (Prim).

    A line of `pairs` names the point added before and the new one. Cut where an edge is longer than a height, the order
    of points falls into the clusters of single linkage at that height. Returns the slot added last.

    Parameters
    ----------
    panels : (m, d, w); points that are in the tree are erased
    keys : (m w,), the squared distance of each point to the tree; infinite at first
    names : (m w,), the index that `pairs` uses for each slot
    point, scratch : (d,), (w,)
    pairs, heights : (t, 2), (t,), written
    """
    width: cython.Py_ssize_t = panels.shape[2]
    slot: cython.Py_ssize_t = first
    with cython.nogil:
        for turn in range(pairs.shape[0]):
            read_point(panels, slot, point)
            # A point of the tree holds infinity from now on, so that no distance to it is the least.
            erase_point(panels, slot)
            keys[slot] = INFINITY
            least = INFINITY
            nearest = -1
            # keys[i] is the squared distance of point i to the tree; only the point added last can lower it.
            for panel in range(panels.shape[0]):
                start = panel * width
                lanes.square(panels, panel, point, scratch)
                # Vector code tests a whole panel; only a panel with a new minimum is searched lane by lane.
                if lanes.lower(keys, start, scratch, least):
                    for lane in range(width):
                        if keys[start + lane] < least:
                            least = keys[start + lane]
                            nearest = start + lane
            pairs[turn, 0] = names[slot]
            pairs[turn, 1] = names[nearest]
            heights[turn] = sqrt(least)
            slot = nearest
    return slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_ward(
    panels: cython.const[cython.double][:, :, ::1],
    sizes: cython.const[cython.double][::1],
    slot: cython.Py_ssize_t,
    previous: cython.Py_ssize_t,
    point: cython.double[::1],
    other: cython.double[::1],
    scratch: cython.double[::1],
    least: cython.double[::1],
) -> cython.Py_ssize_t:
    """Return the cluster of least Ward cost with `slot`, among equals `previous`, then the lowest; write the cost."""
    width: cython.Py_ssize_t = panels.shape[2]
    nearest: cython.Py_ssize_t = previous
    size: cython.double = sizes[slot]
    best: cython.double = INFINITY
    total: cython.double = 0.0
    read_point(panels, slot, point)
    # Ward's cost of a merge, the growth of the sum of squares: |a - b|^2 n m / (n + m). The previous slot comes first,
    # so
    # that it wins ties and the chain ends.
    if previous >= 0:
        read_point(panels, previous, other)
        for j in range(point.shape[0]):
            total += (other[j] - point[j]) * (other[j] - point[j])
        best = total * (size * sizes[previous] / (size + sizes[previous]))
    for panel in range(panels.shape[0]):
        start = panel * width
        lanes.square(panels, panel, point, scratch)
        if start <= slot and slot < start + width:
            scratch[slot - start] = INFINITY
        # A test in vector code without divisions; it errs on the safe side, and exact costs decide below.
        if lanes.cheaper(scratch, sizes, start, size, best):
            for lane in range(width):
                if sizes[start + lane] > 0.0:
                    cost = scratch[lane] * (size * sizes[start + lane] / (size + sizes[start + lane]))
                    if cost < best:
                        best = cost
                        nearest = start + lane
    least[0] = best
    return nearest


def chain_points(
    panels: cython.double[:, :, ::1],
    sizes: cython.double[::1],
    names: cython.const[cython.Py_ssize_t][::1],
    chain: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t,
    searches: cython.Py_ssize_t,
    ends: cython.double[:, ::1],
    scratch: cython.double[::1],
    least: cython.double[::1],
    pairs: cython.Py_ssize_t[:, ::1],
    heights: cython.double[::1],
    made: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Make merges of Ward's hierarchy, at most one for each line of `pairs`, by a nearest-neighbour chain.

    Parameters
    ----------
    panels, sizes : (m, d, w), (m w,): means and weights of clusters; a merge writes the mean to the second slot and
        erases the first
    names : (m w,), the index that `pairs` uses for each slot
    chain, length : the slots of the chain, and how many they are
    searches : the most nearest-neighbour searches that this call may make
    ends, scratch, least : (2, d), (w,), (1,) scratch: the means of two clusters, distances, the least cost
    pairs, heights : (t, 2), (t,), written; a height is the square root of twice the growth of the sum of squares
    made : (1,), written: the number of merges made

    Returns
    -------
    length : of the chain that is left
    """
    turn: cython.Py_ssize_t = 0
    slot: cython.Py_ssize_t = 0
    nearest: cython.Py_ssize_t = 0
    previous: cython.Py_ssize_t = -1
    point: cython.double[::1] = ends[0]
    other: cython.double[::1] = ends[1]
    with cython.nogil:
        while turn < pairs.shape[0] and searches > 0:
            if length == 0:
                slot = 0
                while sizes[slot] == 0.0:
                    slot += 1
                chain[0] = slot
                length = 1
            nearest = -2
            # Costs along the chain fall strictly, since ties end it; so no slot comes twice, and mutual neighbours end
            # it.
            while searches > 0:
                slot = chain[length - 1]
                previous = chain[length - 2] if length > 1 else -1
                nearest = find_ward(panels, sizes, slot, previous, point, other, scratch, least)
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
            # With cost |a - b|^2 n m / (n + m) of single points the height is |a - b|, as SciPy has it.
            heights[turn - 1] = sqrt(2.0 * least[0])
            read_point(panels, slot, point)
            read_point(panels, nearest, other)
            # The mean of the joint cluster; its weight is the sum.
            total = sizes[slot] + sizes[nearest]
            for j in range(point.shape[0]):
                other[j] = (sizes[slot] * point[j] + sizes[nearest] * other[j]) / total
            write_point(panels, nearest, other)
            erase_point(panels, slot)
            sizes[nearest] = total
            sizes[slot] = 0.0
    made[0] = turn
    return length
