"""Inner products of the rows of two blocks: tiles of a Gram matrix, with bits that depend on their shapes alone."""

import numpy as np

from mercer._native.sums import row_products
from mercer._types import Array


def multiply_rows(A: Array, B: Array) -> Array:
    """Compute A B^T on one thread: by native code where it is faster than the BLAS. It is symmetric where A is B."""
    if not (row_products.gains() and _is_plain(A) and _is_plain(B)):
        return A @ B.T
    product = np.zeros((len(A), len(B)))
    row_products.add_products(A, B, A is B, product, np.empty(row_products.count_scratch()))
    if A is B:
        above = np.triu_indices(len(A), 1)
        product[above] = product.T[above]
    return product


def _is_plain(A: Array) -> bool:
    return isinstance(A, np.ndarray) and A.dtype == np.float64 and A.flags.c_contiguous
