"""Cholesky factors of matrices on a device: the library's own factor, and its inverse in place by large products."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._source.namespace import library_of
from mercer._types import Array

# Rows of a block: products of 4096 reach the rate of long ones on a large GPU, and a block of float64 is 128 MiB.
BLOCK = 4096


def list_row_blocks(n: int) -> list[slice]:
    """Return the slices of `BLOCK` rows that cover `n` rows."""
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def list_lower_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Return the blocks on and below the diagonal of an n x n matrix, row by row."""
    cuts = list_row_blocks(n)
    return ((here, there) for number, here in enumerate(cuts) for there in cuts[: number + 1])


def factorise_on_device(xp: Any, A: Array) -> Array | None:
    """Return the lower Cholesky factor of a matrix whose lower triangle is given; None if not positive definite."""
    if library_of(A) == "torch":
        import torch

        L, failed = torch.linalg.cholesky_ex(A)
        return None if int(failed) else L
    try:
        L = xp.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return None
    # CuPy may be configured to return the result of a failed factorisation.
    return L if bool(xp.all(xp.isfinite(xp.linalg.diagonal(L)))) else None


def solve_lower(xp: Any, L: Array, B: Array, transposed: bool = False) -> Array:
    """Solve L X = B, or L^T X = B if `transposed`."""
    library = library_of(L)
    if library == "torch":
        import torch

        return torch.linalg.solve_triangular(L.mT if transposed else L, B, upper=transposed)
    if library == "cupy":
        from cupyx.scipy.linalg import solve_triangular

        return solve_triangular(L, B, lower=True, trans="T" if transposed else "N")
    return xp.linalg.solve(L.T if transposed else L, B)


def invert_lower(xp: Any, L: Array) -> None:
    """Put the inverse of a lower factor in its place, row of blocks by row of blocks.

    With V the inverse, V_ij = -V_ii sum over k from j to i - 1 of L_ik V_kj: row i of L is read for row i of V alone.
    """
    for here in list_row_blocks(L.shape[0]):
        corner, size = L[here, here], here.stop - here.start
        eye = xp.eye(size, dtype=L.dtype, device=L.device)
        V = solve_lower(xp, corner, eye)
        # A copy: the row is written to block by block while it is still read.
        row = L[here, : here.start] + 0.0
        for there in list_row_blocks(here.start):
            L[here, there] = -(V @ (row[:, there.start :] @ L[there.start : here.start, there]))
        L[here, here] = V
