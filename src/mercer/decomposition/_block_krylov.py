"""Leading eigenvectors of a symmetric matrix by block products: Lanczos' method with a block, and restarts.

The matrix is multiplied by a block of some columns at a time, which reads it as often as a single column would. In the
span of all blocks so far the best approximations are found (Rayleigh and Ritz); their residuals say when to stop.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._plain import plain
from mercer._solver.request import Dense
from mercer._solver.tiled_matrix import multiply

__all__ = ["KrylovState", "block_krylov", "centre"]

Array = Any
# More columns than wanted in a block, and blocks that are kept before a restart.
_SPARE = 10
_BLOCKS = 10


@plain
@dataclass(frozen=True, eq=False)
class KrylovState:
    """An orthonormal basis, its image under the matrix, the next block, and the best pairs so far."""

    basis: Any
    images: Any
    block: Any
    values: Any
    vectors: Any
    residual: float
    steps: int


def block_krylov(
    matrix: Array, count: int, tol: float, max_iter: int, seed: Any, threads: int, state: Any = None
) -> Any:
    """Yield a Dense request a round and then the state of it, until residuals are within `tol` of the largest value.

    A generator of pairs to be driven by ``yield from``: it yields requests, and states to be told of; it returns the
    last state.
    """
    n = len(matrix)
    if state is None:
        width = min(n, count + _SPARE)
        block = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, width)))[0]
        none = np.empty((n, 0))
        state = KrylovState(none, none, block, None, None, np.inf, 0)
    while state.steps < max_iter and state.residual > tol and state.block.shape[1] > 0:
        state = yield Dense(lambda state=state: _extended(matrix, state, count, threads))  # type: ignore[misc]
        yield state
    return state


def _extended(matrix: Array, state: KrylovState, count: int, threads: int) -> KrylovState:
    """One more block in the basis."""
    width = state.block.shape[1]
    image = multiply(matrix, state.block, threads)
    basis, images = np.column_stack([state.basis, state.block]), np.column_stack([state.images, image])
    small = basis.T @ images
    theta, turn = eigh(0.5 * (small + small.T))
    best = turn[:, ::-1][:, :count]
    values, vectors = theta[::-1][:count], basis @ best
    left = images @ best - vectors * values
    residual = float(np.linalg.norm(left, axis=0).max() / max(float(np.abs(theta).max()), 1e-300))
    if basis.shape[1] >= _BLOCKS * width:
        # Thick restart: the best of the span stay, their residuals lead on.
        kept = turn[:, ::-1][:, :width]
        leading = images @ kept - (basis @ kept) * theta[::-1][:width]
        basis, images = basis @ kept, images @ kept
    else:
        leading = image
    block = _orthonormal(leading, basis)
    return replace(
        state, basis=basis, images=images, block=block, values=values, vectors=vectors, residual=residual,
        steps=state.steps + 1,
    )  # fmt: skip


def _orthonormal(block: Array, basis: Array) -> Array:
    """The part of a block that is not in the span of the basis yet; fewer columns where there is nothing left."""
    size = float(np.linalg.norm(block, axis=0).max(initial=0.0))
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
    room = basis.shape[0] - basis.shape[1]
    turn, values, _ = np.linalg.svd(block, full_matrices=False)
    block = turn[:, : min(room, int((values > 1e-13 * max(size, 1e-300)).sum()))]
    block = block - basis @ (basis.T @ block)
    return np.linalg.qr(block)[0] if block.shape[1] else block


def centre(matrix: Array) -> tuple[Array, float]:
    """Centre a matrix of kernels in feature space, in place; return its column means and their mean."""
    columns, rows = matrix.mean(axis=0), matrix.mean(axis=1)
    total = float(columns.mean())
    for start in range(0, len(matrix), 512):
        matrix[start : start + 512] -= rows[start : start + 512, None] + (columns[None, :] - total)
    return columns, total
