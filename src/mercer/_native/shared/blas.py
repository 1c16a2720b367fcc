"""The uncompiled twin of ``blas.pxd``: equal to it up to the rounding of the BLAS."""

import numpy


def multiply_transposed(A, B, out):
    """Write A B^T to the first columns of `out`, which may be wider than that."""
    out[: A.shape[0], : B.shape[0]] = numpy.asarray(A) @ numpy.asarray(B).T


def add_transposed_product(A, B, out):
    """Add A^T B to the first columns of `out`, which may be wider than that."""
    out[: A.shape[1], : B.shape[1]] += numpy.asarray(A).T @ numpy.asarray(B)


def multiply(A, B, columns, out):
    """Write the first columns of A B to those of `out`, which is as wide as B."""
    out[: A.shape[0], :columns] = numpy.asarray(A) @ numpy.asarray(B)[:, :columns]


def add_product_transposed(A, B, columns, out):
    """Add A B^T, over the first columns of both, which are equally wide, to `out`."""
    out[:, :] += numpy.asarray(A)[:, :columns] @ numpy.asarray(B)[:, :columns].T
