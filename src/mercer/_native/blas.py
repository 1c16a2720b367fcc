"""The uncompiled twin of ``blas.pxd``: equal to it up to the rounding of the BLAS."""

import numpy

__all__ = ["add_transposed_product", "multiply_transposed"]


def multiply_transposed(A, B, out):
    """Write A B^T to the first columns of `out`, which may be wider than that."""
    out[: A.shape[0], : B.shape[0]] = numpy.asarray(A) @ numpy.asarray(B).T


def add_transposed_product(A, B, out):
    """Add A^T B to the first columns of `out`, which may be wider than that."""
    out[: A.shape[1], : B.shape[1]] += numpy.asarray(A).T @ numpy.asarray(B)
