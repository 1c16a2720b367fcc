"""DBSCAN on a grid whose cells are so small that all rows of a cell are neighbours.

The cells are sorted by a key whose last axis varies fastest. So the cells within reach of a cell form a few runs of
consecutive cells, and their rows form runs of consecutive rows. When cells are visited in order, both ends of each run
only move forward.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.stdint import int64_t
    from cython.cimports.mercer._native.space import joined_sets
else:
    from mercer._native.space import joined_sets

    int64_t = cython.longlong

real = cython.fused_type(cython.float, cython.double)

# Columns of `runs`: the first cell of a run, and the cell after its last.
BEGIN = cython.declare(cython.Py_ssize_t, 0)
END = cython.declare(cython.Py_ssize_t, 1)


@cython.final
@cython.cclass
class Cells:
    """The cells of a grid that hold rows, and the runs of cells within reach of the current cell.

    Parameters
    ----------
    keys, starts : (m,), (m + 1,), each cell's key and its first row
    offsets, span : (r,), the offset from a cell's key to the first key of each run, and the length of a run minus one
    runs : (r, 2) scratch
    """

    keys: cython.const[int64_t][::1]
    starts: cython.const[int64_t][::1]
    offsets: cython.const[int64_t][::1]
    runs: int64_t[:, ::1]
    span: int64_t

    def __init__(self, keys, starts, offsets, runs, span):
        self.keys, self.starts, self.offsets, self.runs, self.span = keys, starts, offsets, runs, span


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_from(keys: cython.const[int64_t][::1], key: int64_t) -> int64_t:
    """Return the first cell whose key is at least `key`."""
    low: int64_t = 0
    high: int64_t = keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reach(
    keys: cython.const[int64_t][::1],
    cell: cython.Py_ssize_t,
    fresh: cython.bint,
    offsets: cython.const[int64_t][::1],
    span: int64_t,
    runs: int64_t[:, ::1],
) -> cython.void:
    """Write the runs of cells within reach of `cell`; unless `fresh`, `runs` holds those of an earlier cell."""
    for r in range(offsets.shape[0]):
        key = keys[cell] + offsets[r]
        # The first cell of a call searches; the others move the ends of the runs on.
        if fresh:
            runs[r, BEGIN] = first_from(keys, key)
            runs[r, END] = runs[r, BEGIN]
        while runs[r, BEGIN] < keys.shape[0] and keys[runs[r, BEGIN]] < key:
            runs[r, BEGIN] += 1
        if runs[r, END] < runs[r, BEGIN]:
            runs[r, END] = runs[r, BEGIN]
        # A run holds all cells whose last coordinate is within `span`.
        while runs[r, END] < keys.shape[0] and keys[runs[r, END]] <= key + span:
            runs[r, END] += 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def distance(Z: cython.const[real][:, ::1], i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.double:
    """Return the squared distance between rows i and j."""
    total: cython.double = 0.0
    for k in range(Z.shape[0]):
        part = cython.cast(cython.double, Z[k, j]) - cython.cast(cython.double, Z[k, i])
        total += part * part
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count(
    Z: cython.const[real][:, ::1],
    i: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    radius: cython.double,
) -> cython.Py_ssize_t:
    """Return how many rows from `start` to `stop` are within the radius of row i."""
    total: cython.Py_ssize_t = 0
    x: cython.double = Z[0, i]
    # Two and three columns have loops of their own without an inner loop over columns, which vector code can use.
    if Z.shape[0] == 3:
        y = Z[1, i]
        z = Z[2, i]
        for j in range(start, stop):
            u = cython.cast(cython.double, Z[0, j]) - x
            v = cython.cast(cython.double, Z[1, j]) - y
            w = cython.cast(cython.double, Z[2, j]) - z
            total += 1 if u * u + v * v + w * w <= radius else 0
    elif Z.shape[0] == 2:
        y = Z[1, i]
        for j in range(start, stop):
            u = cython.cast(cython.double, Z[0, j]) - x
            v = cython.cast(cython.double, Z[1, j]) - y
            total += 1 if u * u + v * v <= radius else 0
    else:
        for j in range(start, stop):
            total += 1 if distance(Z, i, j) <= radius else 0
    return total


def find_cores(
    Z: cython.const[real][:, ::1],
    cells: Cells,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    radius: cython.double,
    weight: cython.const[cython.double][::1],
    enough: cython.double,
    core: cython.char[::1],
):
    """Mark the core rows of cells `first` to `stop`: rows of positive weight with `enough` weight within the radius.

    Parameters
    ----------
    Z : (d, n), rows in the order of cells, feature by feature
    radius : squared; rows at exactly this distance count
    weight : (n,), or empty when all are one
    core : (n,), written for the rows of these cells
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.double
    weighted: cython.bint = weight.shape[0] > 0
    # Local views: the compiler cannot keep the fields of a record in registers while rows are written.
    keys: cython.const[int64_t][::1] = cells.keys
    starts: cython.const[int64_t][::1] = cells.starts
    offsets: cython.const[int64_t][::1] = cells.offsets
    runs: int64_t[:, ::1] = cells.runs
    with cython.nogil:
        for cell in range(first, stop):
            reach(keys, cell, cell == first, offsets, cells.span, runs)
            begin = starts[cell]
            end = starts[cell + 1]
            # All rows of a cell are neighbours: a cell that weighs enough by itself needs no distance at all.
            within = cython.cast(cython.double, end - begin)
            if weighted:
                within = 0.0
                for i in range(begin, end):
                    within += weight[i]
            for i in range(begin, end):
                core[i] = within >= enough and (not weighted or weight[i] > 0.0)
            if within >= enough:
                continue
            for i in range(begin, end):
                if weighted and weight[i] == 0.0:
                    continue
                total = 0.0
                for r in range(offsets.shape[0]):
                    if runs[r, BEGIN] == runs[r, END]:
                        continue
                    if not weighted:
                        total += count(Z, i, starts[runs[r, BEGIN]], starts[runs[r, END]], radius)
                    else:
                        for j in range(starts[runs[r, BEGIN]], starts[runs[r, END]]):
                            if distance(Z, i, j) <= radius:
                                total += weight[j]
                    # Runs come nearest first, so most core rows are recognised early.
                    if total >= enough:
                        core[i] = 1
                        break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def touches(
    Z: cython.const[real][:, ::1],
    core: cython.const[cython.char][::1],
    i: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    radius: cython.double,
) -> cython.bint:
    """Return whether a core row from `start` to `stop` is within the radius of row i."""
    for j in range(start, stop):
        if core[j] and distance(Z, i, j) <= radius:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enclose(
    Z: cython.const[real][:, ::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, box: cython.double[:, ::1]
) -> cython.void:
    """Write the bounding box of the rows from `start` to `stop`."""
    for k in range(Z.shape[0]):
        box[0, k] = Z[k, start]
        box[1, k] = Z[k, start]
        for j in range(start + 1, stop):
            box[0, k] = Z[k, j] if Z[k, j] < box[0, k] else box[0, k]
            box[1, k] = Z[k, j] if Z[k, j] > box[1, k] else box[1, k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gap(Z: cython.const[real][:, ::1], i: cython.Py_ssize_t, box: cython.const[cython.double][:, ::1]) -> cython.double:
    """Return the squared distance from row i to a box, at most the computed distance to any row inside it."""
    part: cython.double
    total: cython.double = 0.0
    for k in range(Z.shape[0]):
        part = box[0, k] - Z[k, i]
        if part < 0.0:
            part = Z[k, i] - box[1, k]
            part = part if part > 0.0 else 0.0
        total += part * part
    return total


def link_cells(
    Z: cython.const[real][:, ::1],
    cells: Cells,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    radius: cython.double,
    core: cython.const[cython.char][::1],
    cores: cython.const[cython.char][::1],
    box: cython.double[:, ::1],
    parent: cython.int[::1],
):
    """Unite cells `first` to `stop` with those that hold a core row within the radius of one of their core rows.

    Cells that are united already need no distance. `cores` marks the cells with a core row; `box`: (2, d) scratch.
    """
    keys: cython.const[int64_t][::1] = cells.keys
    starts: cython.const[int64_t][::1] = cells.starts
    offsets: cython.const[int64_t][::1] = cells.offsets
    runs: int64_t[:, ::1] = cells.runs
    with cython.nogil:
        for cell in range(first, stop):
            reach(keys, cell, cell == first, offsets, cells.span, runs)
            if cores[cell] == 0:
                continue
            for r in range(offsets.shape[0]):
                for other in range(runs[r, BEGIN], runs[r, END]):
                    # Each pair of cells is looked at once, from the lower one.
                    if other <= cell or cores[other] == 0:
                        continue
                    root = joined_sets.root_of(parent, cython.cast(cython.int, cell))
                    other_root = joined_sets.root_of(parent, cython.cast(cython.int, other))
                    # Cells of one component need no further distance.
                    if root == other_root:
                        continue
                    # A row farther than the radius from the other cell's box is farther from all its rows.
                    enclose(Z, starts[other], starts[other + 1], box)
                    for i in range(starts[cell], starts[cell + 1]):
                        if core[i] and gap(Z, i, box) <= radius:
                            if touches(Z, core, i, starts[other], starts[other + 1], radius):
                                # The lower root wins, so that a component's root is its first cell.
                                parent[max(root, other_root)] = min(root, other_root)
                                break


def first_rows(
    starts: cython.const[int64_t][::1],
    order: cython.const[cython.int][::1],
    core: cython.const[cython.char][::1],
    parent: cython.int[::1],
    lowest: cython.int[::1],
):
    """Point each cell in `parent` at its root; write the lowest core row index of each root's cells to `lowest`."""
    with cython.nogil:
        for cell in range(parent.shape[0]):
            root = joined_sets.root_of(parent, cython.cast(cython.int, cell))
            parent[cell] = root
            for i in range(starts[cell], starts[cell + 1]):
                if core[i] and order[i] < lowest[root]:
                    lowest[root] = order[i]


def find_borders(
    Z: cython.const[real][:, ::1],
    cells: Cells,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    radius: cython.double,
    core: cython.const[cython.char][::1],
    clusters: cython.const[cython.int][::1],
    none: cython.int,
    labels: cython.int[::1],
):
    """Label the rows of cells `first` to `stop`: core rows as their cell, others with the lowest label within reach.

    `clusters` holds each cell's label, `none` where it has no core row; a row without a core row in reach gets -1.
    """
    keys: cython.const[int64_t][::1] = cells.keys
    starts: cython.const[int64_t][::1] = cells.starts
    offsets: cython.const[int64_t][::1] = cells.offsets
    runs: int64_t[:, ::1] = cells.runs
    with cython.nogil:
        for cell in range(first, stop):
            reach(keys, cell, cell == first, offsets, cells.span, runs)
            for i in range(starts[cell], starts[cell + 1]):
                if core[i]:
                    labels[i] = clusters[cell]
                    continue
                # Rows of the same cell are neighbours, so its label is within reach without a distance.
                best = clusters[cell]
                for r in range(offsets.shape[0]):
                    for other in range(runs[r, BEGIN], runs[r, END]):
                        # Only a cell of a lower label can improve the result.
                        if clusters[other] < best and touches(Z, core, i, starts[other], starts[other + 1], radius):
                            best = clusters[other]
                labels[i] = best if best < none else -1
