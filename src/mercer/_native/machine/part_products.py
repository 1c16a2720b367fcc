"""The uncompiled twin of ``part_products.pxd``: equal to it up to the rounding of the BLAS."""

import numpy


def _view(array, first, rows, columns, step):
    part = numpy.asarray(array)[first:]
    return numpy.lib.stride_tricks.as_strided(part, (rows, columns), (step * part.itemsize, part.itemsize))


def multiply_columns(A, a, B, b, out, at, m, k, n, step):
    """Write A B, (m, k) times (k, n), for columns of B and of the result; their rows are `step` values apart."""
    _view(out, at, m, n, step)[:] = _view(A, a, m, k, k) @ _view(B, b, k, n, step)


def multiply_transposed(A, a, B, b, out, at, m, k, n):
    """Write A B^T, (m, k) times the transpose of (n, k)."""
    _view(out, at, m, n, n)[:] = _view(A, a, m, k, k) @ _view(B, b, n, k, k).T


def add_product(A, a, wide, B, out, at, m, k, n, rate, keep):
    """Write keep times what is there plus rate A^T B, (k, m)^T times (k, n); rows of A are `wide` values apart."""
    there = _view(out, at, m, n, n)
    there[:] = keep * there + rate * (_view(A, a, k, m, wide).T @ _view(B, 0, k, n, n))
