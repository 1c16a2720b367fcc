"""The uncompiled twin of ``blas.pxd``: equal to it up to the rounding of the BLAS."""

import numpy

__all__ = ["multiply_transposed"]


def multiply_transposed(A, B, out):
    """Write A B^T to the first columns of `out`, which may be wider than that."""
    out[: A.shape[0], : B.shape[0]] = numpy.asarray(A) @ numpy.asarray(B).T
