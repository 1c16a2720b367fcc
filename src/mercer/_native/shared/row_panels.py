"""The uncompiled twin of ``row_panels.pxd``: equal to it up to the rounding of sums in another order."""

import numpy


def gains():
    """Say that products in panels are there, so that uncompiled code takes the way that AVX-512 takes."""
    return True


def count_scratch():
    """Return the length of the scratch array that products need."""
    return 1


def add_products(A, B, sign, lower, out, scratch):
    """Add sign A B^T to `out`, all of it or, where A is B, at and below the diagonal."""
    product = sign * (numpy.asarray(A) @ numpy.asarray(B).T)
    numpy.asarray(out)[:] += numpy.tril(product) if lower else product
