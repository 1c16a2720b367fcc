"""Scores of classes from the tables around a class variable, and the bins of numbers."""

import cython

real = cython.fused_type(cython.float, cython.double)


def bin_rows(
    X: cython.const[real][:, ::1],
    edges: cython.const[cython.double][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    out: cython.uchar[:, ::1],
):
    """Write the bin of each value: the number of edges of its column below it; NaN gets the number of bins.

    Parameters
    ----------
    X : (n, d) rows
    edges : the edges of all columns one after the other, rising within each
    starts : (d + 1,) where the edges of each column begin
    out : (n, d) bins
    """
    with cython.nogil:
        for row in range(X.shape[0]):
            for column in range(X.shape[1]):
                value = cython.cast(cython.double, X[row, column])
                low = starts[column]
                high = starts[column + 1]
                if value != value:
                    # One more than the greatest bin, high - low.
                    out[row, column] = cython.cast(cython.uchar, high - low + 1)
                    continue
                # Bisection for the first edge that is not below the value.
                while low < high:
                    middle = (low + high) // 2
                    if edges[middle] < value:
                        low = middle + 1
                    else:
                        high = middle
                out[row, column] = cython.cast(cython.uchar, low - starts[column])


def add_family_scores(
    codes: cython.const[cython.uchar][:, ::1],
    members: cython.const[cython.Py_ssize_t][::1],
    strides: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    offsets: cython.const[cython.Py_ssize_t][::1],
    logarithms: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
):
    """Add to each class's score the logarithms that the families around the class variable give.

    Parameters
    ----------
    codes : (n, d) codes of the rows
    members : the columns in each family besides the class, one family after the other
    strides : beside each member, by how much its code moves the entry in the family's table
    starts : (f + 1,) where the members of each family begin
    offsets : (f,) where the table of each family begins in `logarithms`; the class runs fastest in it
    logarithms : all tables
    out : (n, k) raised
    """
    row: cython.Py_ssize_t
    family: cython.Py_ssize_t
    member: cython.Py_ssize_t
    label: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    with cython.nogil:
        for row in range(codes.shape[0]):
            for family in range(offsets.shape[0]):
                entry = offsets[family]
                for member in range(starts[family], starts[family + 1]):
                    entry += strides[member] * codes[row, members[member]]
                for label in range(out.shape[1]):
                    out[row, label] += logarithms[entry + label]
