"""Products of sparse rows with a few dense columns, and of their transpose.

The sums of a row stay in registers, up to sixteen columns at a time, while its stored entries are read in order: the
order of SciPy's loops, and so their bits.
"""

import cython

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def multiply_row(
    columns: cython.const[index][::1],
    values: cython.const[real][::1],
    right: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    out: cython.double[::1],
) -> cython.void:
    """Write the products of one row with `width` columns of `right`, at most 16, from `first` on."""
    sums = cython.declare(cython.double[16])
    for lane in range(width):
        sums[lane] = 0.0
    for place in range(columns.shape[0]):
        value = values[place]
        for lane in range(width):
            sums[lane] += value * right[columns[place], first + lane]
    for lane in range(width):
        out[first + lane] = sums[lane]


def multiply_rows(
    pointers: cython.const[index][::1],
    columns: cython.const[index][::1],
    values: cython.const[real][::1],
    right: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Write X B to `out` (n, k) for CSR rows X and `right` B (d, k), k at least 4."""
    k = right.shape[1]
    with cython.nogil:
        for row in range(out.shape[0]):
            start, stop = pointers[row], pointers[row + 1]
            first = 0
            # The last columns overlap those before them where k is no multiple: both times the same sums.
            while first < k:
                if k >= 16 and k - first > 4:
                    first = min(first, k - 16)
                    multiply_row(columns[start:stop], values[start:stop], right, first, 16, out[row])
                    first += 16
                else:
                    first = min(first, k - 4)
                    multiply_row(columns[start:stop], values[start:stop], right, first, 4, out[row])
                    first += 4


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_row(
    columns: cython.const[index][::1],
    values: cython.const[real][::1],
    left: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    out: cython.double[:, ::1],
) -> cython.void:
    """Add each stored value of one row times `width` entries of `left`, at most 16, to `out`, from `begin` on.

    Entries before `first` were added before and count as zeros.
    """
    given = cython.declare(cython.double[16])
    for lane in range(width):
        given[lane] = left[begin + lane] if begin + lane >= first else 0.0
    for place in range(columns.shape[0]):
        value = values[place]
        for lane in range(width):
            out[columns[place], begin + lane] += value * given[lane]


def add_transposed_product(
    pointers: cython.const[index][::1],
    columns: cython.const[index][::1],
    values: cython.const[real][::1],
    left: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Add X^T A to `out` (d, k) for CSR rows X with finite values and `left` A (n, k), k at least 4."""
    k = left.shape[1]
    with cython.nogil:
        for row in range(left.shape[0]):
            start, stop = pointers[row], pointers[row + 1]
            first = 0
            while first < k:
                if k >= 16 and k - first > 8:
                    last = min(first + 16, k)
                    add_row(columns[start:stop], values[start:stop], left[row], first, last - 16, 16, out)
                else:
                    last = min(first + 4, k)
                    add_row(columns[start:stop], values[start:stop], left[row], first, last - 4, 4, out)
                first = last


def add_deviations(
    pointers: cython.const[index][::1],
    columns: cython.const[index][::1],
    values: cython.const[real][::1],
    weights: cython.const[cython.double][::1],
    mean: cython.const[cython.double][::1],
    squares: cython.double[::1],
    counted: cython.double[::1],
) -> None:
    """Add weight (x - mean)^2 of each stored entry to `squares` (d,) at its column, and its weight to `counted`."""
    with cython.nogil:
        for row in range(weights.shape[0]):
            for place in range(pointers[row], pointers[row + 1]):
                column = columns[place]
                gap = values[place] - mean[column]
                squares[column] += weights[row] * (gap * gap)
                counted[column] += weights[row]
