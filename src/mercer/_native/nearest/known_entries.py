"""Nearest rows where entries are missing: distances over the entries that two rows have in common."""

import cython

# More than the square of any distance that counts.
FAR = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_row(
    columns: cython.const[cython.double][:, ::1],
    row: cython.const[cython.double][::1],
    sums: cython.double[::1],
    shared: cython.double[::1],
) -> cython.void:
    """Write the squared distance of a row to each training row into `sums`: infinite if they share no entry."""
    gap: cython.double
    value: cython.double
    d: cython.Py_ssize_t = columns.shape[0]
    n: cython.Py_ssize_t = columns.shape[1]
    for i in range(n):
        sums[i] = 0.0
        shared[i] = 0.0
    for j in range(d):
        value = row[j]
        if value == value:
            for i in range(n):
                gap = value - columns[j, i]
                # NaN is not equal to itself.
                both = 1.0 if gap == gap else 0.0
                gap = gap if gap == gap else 0.0
                sums[i] += gap * gap
                shared[i] += both
    for i in range(n):
        sums[i] = sums[i] / shared[i] * d if shared[i] > 0 else FAR


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_donors(
    column: cython.const[cython.double][::1],
    sums: cython.const[cython.double][::1],
    nearest: cython.double[::1],
    places: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """List the nearest training rows that have a column, in the order of their distances; return their number."""
    k: cython.Py_ssize_t = nearest.shape[0]
    found: cython.Py_ssize_t = 0
    worst: cython.double = FAR
    for i in range(column.shape[0]):
        if sums[i] < worst and column[i] == column[i]:
            place = found if found < k else k - 1
            while place > 0 and nearest[place - 1] > sums[i]:
                nearest[place] = nearest[place - 1]
                places[place] = places[place - 1]
                place -= 1
            nearest[place] = sums[i]
            places[place] = i
            found = found + 1 if found < k else k
            worst = nearest[k - 1] if found == k else worst
    return found


def fill_from_nearest(
    columns: cython.const[cython.double][:, ::1],
    rows: cython.const[cython.double][:, ::1],
    wanted: cython.const[cython.uchar][:, ::1],
    by_distance: cython.bint,
    otherwise: cython.const[cython.double][::1],
    sums: cython.double[::1],
    shared: cython.double[::1],
    nearest: cython.double[::1],
    places: cython.longlong[::1],
    out: cython.double[:, ::1],
):
    """Write the mean of the nearest training rows that have a column, for each wanted entry of some rows.

    The squared distance of two rows is that over the entries which neither lacks (NaN), times the share of all columns
    that these are; training rows without any such entry have none. Of equal distances the first row counts.

    Parameters
    ----------
    columns : (d, n) the training rows, one line for each column
    rows, wanted : (m, d) rows, and which of their entries are written
    by_distance : whether neighbours weigh by 1 / distance; those at distance zero then count alone
    otherwise : (d,) what is written where no training row will do
    sums, shared : (n,) scratch
    nearest, places : (k,) scratch for the k nearest
    out : (m, d); only the wanted entries are written
    """
    total: cython.double
    weight: cython.double
    heavy: cython.double
    some: cython.bint
    with cython.nogil:
        for row in range(rows.shape[0]):
            some = False
            for j in range(columns.shape[0]):
                some = some or wanted[row, j] != 0
            if not some:
                continue
            measure_row(columns, rows[row], sums, shared)
            for j in range(columns.shape[0]):
                if wanted[row, j] == 0:
                    continue
                found = find_donors(columns[j], sums, nearest, places)
                total, heavy = otherwise[j], 1.0
                if found > 0:
                    total, heavy = 0.0, 0.0
                for place in range(found):
                    weight = 1.0
                    if by_distance and nearest[0] > 0:
                        weight = (nearest[0] / nearest[place]) ** 0.5
                    elif by_distance:
                        weight = 1.0 if nearest[place] == 0 else 0.0
                    total += weight * columns[j, places[place]]
                    heavy += weight
                out[row, j] = total / heavy
