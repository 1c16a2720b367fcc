"""Matrices of rows on a device, by blocks: kernel values, sums of their derivatives, Cholesky factors, memory."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer._source.memory import readable
from mercer._source.namespace import library_of, to_numpy
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.errors import MemoryForecastError
from mercer.kernels import Kernel
from mercer.kernels.array_form import compute_diagonal, sum_diagonal_slopes, sum_slopes

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


def factorise_upper(placement: Placement, matrix: Array, shift: float) -> tuple[Array, int]:
    """Return the upper Cholesky factor of a host matrix plus `shift` I and 0, or 1 if there is none, as LAPACK does.

    It is computed on a device, in its widest type: one thread of the host takes 0.7 s for 4000 columns.
    """
    xp = placement.xp
    there = xp.asarray(matrix, dtype=placement.wide, device=placement.device)
    L = factorise_on_device(xp, there + shift * xp.eye(matrix.shape[0], dtype=placement.wide, device=placement.device))
    return (matrix, 1) if L is None else (to_numpy(L).astype(np.float64, copy=False).T, 0)


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


def centre_rows(kernel: Kernel, xp: Any, X: Array) -> Array:
    """Return the rows minus their mean if the kernel is stationary: squared lengths then cancel least."""
    return X - xp.mean(X, axis=0) if kernel.stationary else X


def fill_kernel_blocks(kernel: Kernel, xp: Any, X: Array, diagonal: Array, mirrored: bool = False) -> Array:
    """Fill the blocks on and below the diagonal of the kernel matrix and, if `mirrored`, those above it.

    The values of the diagonal are given: white noise is on it alone, and a caller may have more to add.
    """
    n = X.shape[0]
    C = xp.zeros((n, n), dtype=X.dtype, device=X.device)
    for here, there in list_lower_blocks(n):
        values = kernel.of(xp, X[here, :], X[there, :])
        if here == there:
            values = xp.where(mark_diagonal(xp, values), diagonal[here][:, None], values)
        elif mirrored:
            C[there, here] = values.T
        C[here, there] = values
    return C


def sum_block_slopes(
    kernel: Kernel, xp: Any, X: Array, weigh: Callable[[slice, slice], Array]
) -> tuple[np.ndarray, Array]:
    """Return 1/2 sum_ij W_ij dk_ij/dtheta on the host and the diagonal of W; `weigh` returns its blocks.

    `weigh` is asked for blocks on and below the diagonal; those below stand for their mirror images too.
    """
    own = []
    total: Array = 0.0
    for here, there in list_lower_blocks(X.shape[0]):
        W = weigh(here, there)
        if here != there:
            total = total + sum_slopes(kernel, xp, X[here, :], X[there, :], W)
            continue
        own.append(xp.linalg.diagonal(W))
        # The diagonal has derivatives of its own, since white noise is on it alone.
        W = xp.where(mark_diagonal(xp, W), xp.zeros_like(W), W)
        within = sum_slopes(kernel, xp, X[here, :], X[here, :], W)
        total = total + 0.5 * (within + sum_diagonal_slopes(kernel, xp, X[here, :], own[-1]))
    return to_numpy(total).astype(np.float64), xp.concat(own)


def mark_diagonal(xp: Any, block: Array) -> Array:
    """Return a mask of the diagonal of a square block."""
    indices = xp.arange(block.shape[0], device=block.device)
    return indices[:, None] == indices[None, :]


def compute_device_noise(kernel: Kernel, xp: Any, X: Array) -> Array:
    """Return the white noise of each row: k(x, x) minus the kernel of x with an equal but other row."""
    return compute_diagonal(kernel, xp, X) - compute_diagonal(kernel, xp, X, itself=False)


def check_device_room(subject: str, X: Any, n_values: float, what: str, cure: str) -> None:
    """Raise if the free memory of a GPU, where torch reports it, does not hold `n_values` of float64 and some blocks.

    `what` describes them in the error, as the subject of a sentence, and `cure` is the sentence that ends it.
    """
    if library_of(X) != "torch" or X.device.type != "cuda":
        return
    import torch

    cached = torch.cuda.memory_reserved(X.device) - torch.cuda.memory_allocated(X.device)
    # Blocks take a sixteenth of the matrices or less, since there are at least two of these.
    free, needed = torch.cuda.mem_get_info(X.device)[0] + cached, 8.5 * n_values
    if needed > free:
        raise MemoryForecastError(
            f"{subject}: {what} need {readable(needed)} on {X.device}; {readable(free)} is free. {cure}"
        )
