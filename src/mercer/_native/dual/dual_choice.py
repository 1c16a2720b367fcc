"""The working set of a round of block descent, from lists of the rows that break the optimality conditions most."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.dual import dual_sweep
else:
    from mercer._native.dual import dual_sweep

INFINITY = cython.declare(cython.double, float("inf"))
# Marks of a row: it is in a list of violators; it is in the working set.
_LISTED = cython.declare(cython.uchar, 1)
_TAKEN = cython.declare(cython.uchar, 2)


def widen(ends: cython.const[cython.double][:, ::1], out: cython.double[::1]):
    """Write the least cost and the greatest gain of each group over all tiles to `out` (4,)."""
    with cython.nogil:
        for group in range(2):
            out[2 * group] = INFINITY
            out[2 * group + 1] = -INFINITY
            for tile in range(ends.shape[0]):
                out[2 * group] = min(out[2 * group], ends[tile, 2 * group])
                out[2 * group + 1] = max(out[2 * group + 1], ends[tile, 2 * group + 1])


def place_bins(
    ends: cython.const[cython.double][:, ::1],
    reach: cython.const[cython.double][::1],
    bins: cython.Py_ssize_t,
    edges: cython.double[:, ::1],
) -> cython.int:
    """Write where the bins of each list begin, and how many there are in one unit; return the number of lists.

    The bins of a list cover twice its `reach` (4,) from the least cost on or, where that is not above zero, the whole
    violation. Lists are counted as long as some coefficient of their group can move.
    """
    least: cython.double
    most: cython.double
    span: cython.double
    lists: cython.int = 0
    for group in range(2):
        least = INFINITY
        most = -INFINITY
        for tile in range(ends.shape[0]):
            least = min(least, ends[tile, 2 * group])
            most = max(most, ends[tile, 2 * group + 1])
        # The second group's lists count only after the first group's: lists are numbered without holes.
        if least < INFINITY and most > -INFINITY and lists == 2 * group:
            lists += 2
        for side in range(2):
            span = 2.0 * reach[2 * group + side]
            span = span if span > 0.0 else most - least
            edges[2 * group + side, 0] = least if side == 0 else -most
            # A span of zero, with one candidate or all alike, must not divide by zero.
            edges[2 * group + side, 1] = bins / (span if span > 1e-300 else 1e-300)
    return lists


def cut(
    counts: cython.const[cython.int][:, :, ::1],
    wanted: cython.const[cython.Py_ssize_t][::1],
    cuts: cython.Py_ssize_t[::1],
) -> cython.int:
    """Write the first bin of each list up to which there are enough candidates; return 0 if a list has too few.

    Parameters
    ----------
    counts : (members, 4, bins)
    wanted : (lists,)
    cuts : (4,), written: -1 for lists beyond those of `wanted`
    """
    total: cython.Py_ssize_t
    # A list whose cut stays at -1 takes no candidate.
    for kind in range(4):
        cuts[kind] = -1
    for kind in range(wanted.shape[0]):
        total = 0
        # Bins are in the order of their violation: the first ones hold the worst violators.
        for place in range(counts.shape[2]):
            for member in range(counts.shape[0]):
                total += counts[member, kind, place]
            if total >= wanted[kind]:
                cuts[kind] = place
                break
        if cuts[kind] < 0:
            return 0
    return 1


def gather(
    chosen: cython.const[cython.Py_ssize_t][::1],
    b: cython.const[cython.double][::1],
    slope: cython.const[cython.double][::1],
    rise: cython.const[cython.double][::1],
    fall: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
):
    """Write b, slope, rise, fall, lower and upper of the chosen coefficients to the rows of `out` (6, q)."""
    with cython.nogil:
        for k in range(chosen.shape[0]):
            place = chosen[k]
            out[0, k] = b[place]
            out[1, k] = slope[place]
            out[2, k] = rise[place]
            out[3, k] = fall[place]
            out[4, k] = lower[place]
            out[5, k] = upper[place]


def sort_candidates(
    found: cython.const[cython.Py_ssize_t][::1],
    lengths: cython.const[cython.Py_ssize_t][:, ::1],
    kind: cython.Py_ssize_t,
    slope: cython.const[cython.double][::1],
    lift: cython.const[cython.double][::1],
    values: cython.double[::1],
    places: cython.Py_ssize_t[::1],
):
    """Write the k candidates that cost least to `places` (k,), in rising order of cost, then of place.

    Parameters
    ----------
    found : (tiles x width,): the candidates of each tile, from its first place on
    lengths : (tiles, 4): their number, in column `kind`; in all at least k
    slope, lift : (m,): their sum is a cost where `kind` is even, else a gain
    values : (k,), written: the costs
    """
    width: cython.Py_ssize_t = found.shape[0] // lengths.shape[0]
    count: cython.Py_ssize_t = places.shape[0]
    total: cython.Py_ssize_t = 0
    place: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        # Tiles come in the order of rows, whichever thread filled them: the result does not depend on threads.
        for tile in range(lengths.shape[0]):
            for k in range(lengths[tile, kind]):
                place = found[tile * width + k]
                value = slope[place] + lift[place]
                # Both lists become costs: of what is lowered the largest gain comes first.
                value = value if kind % 2 == 0 else -value
                if total < count:
                    values[total] = value
                    places[total] = place
                    total += 1
                    # From now on the root of the heap is the largest cost kept, which a candidate must be below.
                    if total == count:
                        dual_sweep.heap(values, places, count)
                elif value < values[0]:
                    dual_sweep.sink(values, places, 0, count, value, place)
        dual_sweep.sort_heap(values, places, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge(
    cheap: cython.const[cython.Py_ssize_t][::1],
    dear: cython.const[cython.Py_ssize_t][::1],
    count: cython.Py_ssize_t,
    share: cython.Py_ssize_t,
    known: cython.uchar[::1],
    order: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Write the places of two lists in turn, each place once; mark the first `share` as taken; return how many."""
    total: cython.Py_ssize_t = 0
    for k in range(2 * count):
        # In turn, so that about as many can rise as can fall: the sum of the coefficients is fixed, and each rise needs
        # a fall.
        place = cheap[k // 2] if k % 2 == 0 else dear[k // 2]
        if known[place] == 0:
            known[place] = _TAKEN if total < share else _LISTED
            order[total] = place
            total += 1
    return total


def choose(
    lists: cython.const[cython.Py_ssize_t][:, ::1],
    counts: cython.const[cython.Py_ssize_t][::1],
    share: cython.Py_ssize_t,
    kept: cython.const[cython.Py_ssize_t][::1],
    rise: cython.const[cython.double][::1],
    fall: cython.const[cython.double][::1],
    known: cython.uchar[::1],
    order: cython.Py_ssize_t[:, ::1],
    chosen: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Write the positions of a working set, in rising order; return their number.

    Parameters
    ----------
    lists : (2 groups, k): for each group the candidates that cost least to raise, then those whose lowering gains most
    counts : (groups,): length of the two lists of each group
    share : violators taken from each group, from its two lists in turn
    kept : positions of the previous working set; the free ones follow the violators, then the others
    rise, fall : (m,): infinite at a bound
    known, order : (m,) zeros, (groups, 2 k) scratch
    chosen : (size,): if there are too few kept positions, more violators fill it up
    """
    size: cython.Py_ssize_t = chosen.shape[0]
    taken: cython.Py_ssize_t = 0
    # `merge` marks the first `share` violators of a group as taken; the rest of its list waits in `order`.
    with cython.nogil:
        for group in range(counts.shape[0]):
            written = merge(lists[2 * group], lists[2 * group + 1], counts[group], share, known, order[group])
            taken += min(written, share)
            for k in range(written, order.shape[1]):
                order[group, k] = -1
        # Free coefficients are most likely to move again; those at a bound fill the rest.
        for free in range(1, -1, -1):
            for k in range(kept.shape[0]):
                place = kept[k]
                if (
                    taken < size
                    and known[place] != _TAKEN
                    and (free == (1 if rise[place] < INFINITY and fall[place] > -INFINITY else 0))
                ):
                    known[place] = _TAKEN
                    taken += 1
        # What room is left goes to the violators that were not among the first.
        for group in range(counts.shape[0]):
            for k in range(order.shape[1]):
                place = order[group, k]
                if taken < size and place >= 0 and known[place] != _TAKEN:
                    known[place] = _TAKEN
                    taken += 1
        # One walk over the marks gives rising order without a sort.
        written = 0
        for k in range(known.shape[0]):
            if known[k] == _TAKEN:
                chosen[written] = k
                written += 1
    return written
