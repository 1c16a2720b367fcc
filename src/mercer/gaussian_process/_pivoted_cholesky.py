"""The pivoted Cholesky factor of a kernel matrix: each pivot is the row with the most variance left."""

from typing import Any

import numpy as np

from mercer._types import Array
from mercer.kernels import Kernel

# A pivot with less than this share of the largest variance would add rounding only.
_LEAST = 1e-12


def factorise_pivoted(kernel: Kernel, X: Array, rank: int) -> tuple[Array, Array]:
    """Return a factor R of shape (n, r) with R R^T close to the kernel matrix, and its r <= rank pivot rows.

    White noise is left out: no other row explains it.
    """
    rows = kernel.prepare(X)
    others = kernel.prepare(X, like=rows)
    left = _compute_diagonal(kernel, rows, others)
    R, chosen = np.zeros((len(X), rank)), np.zeros(rank, dtype=np.intp)
    least = _LEAST * float(left.max(initial=0.0))
    for step in range(rank):
        pivot = int(np.argmax(left))
        if not left[pivot] > least:
            return R[:, :step], chosen[:step]
        # The row of the Schur complement that belongs to the pivot.
        column = kernel.between(rows.take(slice(pivot, pivot + 1)), others)[0] - R[:, :step] @ R[pivot, :step]
        R[:, step] = column / np.sqrt(left[pivot])
        # Rounding must not leave a variance below zero.
        left = np.maximum(left - R[:, step] ** 2, 0.0)
        left[pivot] = 0.0
        chosen[step] = pivot
    return R, chosen


def _compute_diagonal(kernel: Kernel, rows: Any, others: Any) -> Array:
    """Return the kernel of each row with an equal but other row."""
    diagonal = np.empty(len(rows))
    for first in range(0, len(rows), 64):
        part = slice(first, min(first + 64, len(rows)))
        diagonal[part] = np.einsum("ii->i", kernel.between(rows.take(part), others.take(part)))
    return diagonal
