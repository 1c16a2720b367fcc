"""Dense symmetric matrices by fixed tiles on all threads: kernels and products.

A threaded BLAS gives other bits for other numbers of threads. Here every tile is one product on one thread, and which
tiles there are depends on the size of the matrix alone, so that the threads change nothing but the time.
"""

from typing import Any

import numpy as np

from mercer._source.threads import run_numbered
from mercer.kernels import Kernel, Prepared

__all__ = ["kernel_matrix", "multiply", "multiply_triangles"]

Array = Any
# Tiles of 512 x 512 numbers, 2 MiB, stay in a second-level cache.
_SIDE = 512


def kernel_matrix(kernel: Kernel, rows: Prepared, threads: int = 1) -> Array:
    """The values of all pairs of rows, symmetric to the last bit."""
    n = len(rows)
    out = np.empty((n, n), dtype=rows.dtype)
    cuts = [slice(start, min(start + _SIDE, n)) for start in range(0, n, _SIDE)]
    parts = [rows.take(cut) for cut in cuts]
    pairs = [(i, j) for j in range(len(cuts)) for i in range(j + 1)]

    def fill(number: int) -> None:
        i, j = pairs[number]
        tile = kernel.between(parts[i], parts[j])
        if i == j:
            # A product's two triangles may differ in the last bit.
            tile = np.triu(tile) + np.triu(tile, 1).T
        out[cuts[i], cuts[j]] = tile
        if i != j:
            out[cuts[j], cuts[i]] = tile.T

    run_numbered(fill, len(pairs), threads)
    return out


def multiply(A: Array, B: Array, threads: int = 1) -> Array:
    """A B by rows of tiles."""
    out = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))

    def fill(number: int) -> None:
        cut = slice(number * _SIDE, min((number + 1) * _SIDE, len(A)))
        np.matmul(A[cut], B, out=out[cut])

    run_numbered(fill, -(-len(A) // _SIDE), threads)
    return out


def multiply_triangles(U: Array, threads: int = 1) -> Array:
    """The lower triangle of U U^T, with U upper triangular; what is above is not filled."""
    n = len(U)
    out, cuts = np.zeros_like(U), [slice(start, min(start + _SIDE, n)) for start in range(0, n, _SIDE)]
    pairs = [(cuts[i], cuts[j]) for i in range(len(cuts)) for j in range(i + 1)]

    def fill(number: int) -> None:
        here, there = pairs[number]
        out[here, there] = U[here, here.start :] @ U[there, here.start :].T

    run_numbered(fill, len(pairs), threads)
    return out
