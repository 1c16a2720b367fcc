"""Tiles of a Cholesky factor and of its inverse, in place within one large C-ordered matrix.

Each call is one tile, whose place and size the caller chooses: products and triangular solutions write where their
result belongs, so that a tile is read and written once. What is above the diagonal is neither read nor written.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import lapack, row_panels
else:
    from mercer._native.shared import lapack, row_panels

real = cython.fused_type(cython.float, cython.double)


def count_scratch() -> int:
    """Return the length of the scratch array that `subtract_products` needs."""
    return row_panels.count_scratch()


def factor_corner(A: real[:, ::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> int:
    """Put the lower factor of A[start:stop, start:stop] in its place.

    Returns 0, or the order of the first leading minor of the block that is not positive.
    """
    failed: cython.Py_ssize_t = 0
    with cython.nogil:
        failed = lapack.factor_corner(A, start, stop)
    return failed


def divide_rows(
    A: real[:, ::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    row_stop: cython.Py_ssize_t,
):
    """Overwrite the rows P = A[row:row_stop, start:stop] by P L^-T, L the lower triangle A[start:stop, start:stop]."""
    with cython.nogil:
        lapack.divide_rows(A, start, stop, row, row_stop)


def subtract_products(
    A: real[:, ::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    row_stop: cython.Py_ssize_t,
    column: cython.Py_ssize_t,
    column_stop: cython.Py_ssize_t,
    scratch: cython.double[::1],
):
    """Take P Q^T from the block of some rows and columns: P and Q are these rows within the panel start:stop.

    A block on the diagonal (row == column, of equal size) changes in its lower triangle alone. `scratch` has
    `count_scratch` places.
    """
    with cython.nogil:
        if real is cython.double and row_panels.gains():
            row_panels.add_products(
                A[row:row_stop, start:stop],
                A[column:column_stop, start:stop],
                -1.0,
                row == column,
                A[row:row_stop, column:column_stop],
                scratch,
            )
        else:
            lapack.subtract_products(A, start, stop, row, row_stop, column, column_stop)


def invert_columns(
    L: real[:, ::1],
    V: real[:, ::1],
    column: cython.Py_ssize_t,
    column_stop: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    row_stop: cython.Py_ssize_t,
):
    """Extend columns of the inverse V of a lower factor L by some rows, those above being there.

    Columns are given as those of the identity, and rows from `column` on, in any portions.
    """
    with cython.nogil:
        lapack.eliminate(L, V, column, row, row_stop, column, column_stop)
