"""Counts of rows for the tables of a Bayesian network: the weight of each combination of codes of some columns."""

import cython


def extend_codes(
    base: cython.const[cython.int][::1],
    column: cython.const[cython.uchar][::1],
    size: cython.int,
    out: cython.int[::1],
):
    """Write base * size + column: the mixed-radix code of a combination with one more column of `size` codes."""
    with cython.nogil:
        for row in range(base.shape[0]):
            out[row] = base[row] * size + cython.cast(cython.int, column[row])


def count_cells(
    base: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    out: cython.double[::1],
):
    """Add the weight of each row to the cell of `out` that its code names."""
    with cython.nogil:
        for row in range(base.shape[0]):
            out[base[row]] += weight[row]


def count_extensions(
    columns: cython.const[cython.uchar][:, ::1],
    sizes: cython.const[cython.Py_ssize_t][::1],
    base: cython.const[cython.int][::1],
    child: cython.Py_ssize_t,
    candidates: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    out: cython.double[::1],
):
    """Count the families of one child with each candidate as one more parent.

    Parameters
    ----------
    columns : (d, m) codes, one row per column of the table
    sizes : (d,) the number of codes of each column
    base : (m,) the code of the present parents of each row
    child : the child's column
    candidates : (k,) columns, each joined to the present parents by itself
    starts : (k,) where the table of each candidate begins in `out`; the child's code runs fastest, then the candidate's
    weight : (m,) weights of the rows
    out : raised by the weights
    """
    with cython.nogil:
        last = sizes[child]
        for number in range(candidates.shape[0]):
            column = candidates[number]
            start = starts[number]
            for row in range(base.shape[0]):
                code = cython.cast(cython.Py_ssize_t, base[row]) * sizes[column] + columns[column, row]
                out[start + code * last + columns[child, row]] += weight[row]
