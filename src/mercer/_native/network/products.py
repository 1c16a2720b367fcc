"""The uncompiled twin of ``products.pxd``: equal to it up to the rounding of the BLAS."""

import numpy


def root(x):
    """Return the square root."""
    return numpy.sqrt(x)


def multiply(A, a, B, b, out, at, m, k, n):
    """Write A B, (m, k) times (k, n)."""
    left, right = numpy.asarray(A)[a : a + m * k].reshape(m, k), numpy.asarray(B)[b : b + k * n].reshape(k, n)
    out[at : at + m * n] = (left @ right).ravel()


def multiply_transposed(A, a, B, b, out, at, m, k, n):
    """Write A B^T, (m, k) times the transpose of (n, k)."""
    left, right = numpy.asarray(A)[a : a + m * k].reshape(m, k), numpy.asarray(B)[b : b + n * k].reshape(n, k)
    out[at : at + m * n] = (left @ right.T).ravel()


def transpose_multiply(A, a, wide, B, b, out, at, m, k, n):
    """Write A^T B, the transpose of (k, m) times (k, n); the rows of A are `wide` values apart."""
    left = numpy.lib.stride_tricks.as_strided(numpy.asarray(A)[a:], (k, m), (wide * A.itemsize, A.itemsize))
    right = numpy.asarray(B)[b : b + k * n].reshape(k, n)
    out[at : at + m * n] = (left.T @ right).ravel()
