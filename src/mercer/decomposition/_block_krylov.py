"""Leading eigenvectors of a symmetric matrix by block products: Lanczos' method with a block, and restarts.

The matrix is multiplied by a block of columns at a time, which reads it no more often than a single column would. In
the span of all blocks so far the Rayleigh-Ritz method finds the best approximations; their residuals decide when to
stop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Dense, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._types import Array

# Columns of a block beyond those wanted; they speed up convergence where the wanted eigenvalues are close to the next.
_SPARE = 10
# Blocks that are kept before a restart.
_BLOCKS = 10


@plain
@dataclass(frozen=True, eq=False)
class KrylovState:
    """An orthonormal basis Q, A Q, Q^T A Q, the next block, and the best eigenpairs so far."""

    basis: Any
    images: Any
    small: Any
    block: Any
    values: Any
    vectors: Any
    residual: float
    steps: int


def block_krylov(
    product: Callable[[Array], Array], n: int, count: int, tol: float, max_iter: int, seed: Any, state: Any = None
) -> Any:
    """Yield a Dense request and a Step per round, until residuals are within `tol` of the largest value.

    `product` multiplies the symmetric n x n matrix by a block. The objective of a step is the sum of the leading
    eigenvalues; the generator returns the last state.
    """
    if state is None:
        width = min(n, count + _SPARE)
        # A random orthonormal block with some spare columns, which speed up the last wanted vector.
        block = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, width)))[0]
        none = np.empty((n, 0))
        state = KrylovState(none, none, np.empty((0, 0)), block, None, None, np.inf, 0)
    while state.steps < max_iter and state.residual > tol and state.block.shape[1] > 0:
        state = yield Dense(lambda state=state: _extend(product, state, count))  # type: ignore[misc]
        yield Step(float(np.maximum(state.values, 0.0).sum()), state)
    return state


def _extend(product: Callable[[Array], Array], state: KrylovState, count: int) -> KrylovState:
    """Return the state with one more block in the basis, and its Rayleigh-Ritz eigenpairs."""
    known, width = state.basis.shape[1], state.block.shape[1]
    image = product(state.block)
    basis, images = np.column_stack([state.basis, state.block]), np.column_stack([state.images, image])
    # The projected matrix grows by one block row and column; the rest is known.
    small = np.empty((known + width, known + width))
    small[:known, :known], small[:, known:] = state.small, basis.T @ image
    small[known:, :known] = small[:known, known:].T
    small = 0.5 * (small + small.T)
    theta, turn = find_eigenpairs(small)
    # Eigenvalues rise, so the wanted ones are the last.
    best = turn[:, ::-1][:, :count]
    values, vectors = theta[::-1][:count], basis @ best
    # A v - theta v, the residual of each Ritz pair.
    left = images @ best - vectors * values
    residual = float(np.linalg.norm(left, axis=0).max() / max(float(np.abs(theta).max()), 1e-300))
    if basis.shape[1] >= _BLOCKS * width:
        # Thick restart: the best Ritz vectors stay, and their residuals are the next block.
        kept, largest = turn[:, ::-1][:, :width], theta[::-1][:width]
        basis, images, small = basis @ kept, images @ kept, np.diag(largest)
        image = images - basis * largest
    block = _orthonormal(image, basis)
    return KrylovState(basis, images, small, block, values, vectors, residual, state.steps + 1)


def _orthonormal(block: Array, basis: Array) -> Array:
    """Return an orthonormal basis of the part of a block outside the span of `basis`; fewer columns if less is left.

    The eigenvectors of their products make columns of unit length orthonormal; a second round makes them so to
    rounding. Columns that the second projection shortens by half or more were rounding of the first.
    """
    least = 1e-13 * float(np.linalg.norm(block, axis=0).max(initial=0.0))
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        lengths = np.linalg.norm(block, axis=0)
        kept = lengths > max(least, 1e-300)
        block, least = block[:, kept] / lengths[kept], 0.5
        values, turn = find_eigenpairs(block.T @ block) if kept.any() else (lengths[:0], np.empty((0, 0)))
        kept = values > 1e-13 * values.max(initial=0.0)
        block = block @ (turn[:, kept] / np.sqrt(values[kept]))
    room = basis.shape[0] - basis.shape[1]
    # Eigenvalues rise, so the most accurate columns are the last.
    return block[:, max(0, block.shape[1] - room) :]


def centre(matrix: Array) -> tuple[Array, float]:
    """Centre a kernel matrix in feature space, in place; return its column means, (n,), and their mean."""
    columns, rows = matrix.mean(axis=0), matrix.mean(axis=1)
    total = float(columns.mean())
    for start in range(0, len(matrix), 512):
        matrix[start : start + 512] -= rows[start : start + 512, None] + (columns[None, :] - total)
    return columns, total


def multiply_centred(product: Callable[[Array], Array], block: Array) -> Array:
    """Return (1 - 11^T / n) K (1 - 11^T / n) B, the centred kernels times a block; ``product(B)`` is K B."""
    image = product(block - block.mean(axis=0))
    return image - image.mean(axis=0)
