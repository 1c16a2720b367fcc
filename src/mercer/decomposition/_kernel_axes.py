"""The eigenvectors of centred kernels that kernel principal component analysis solves for, and their residuals."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._base.kernel_choice import wide_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.relay import relay
from mercer._solver.tiled_matrix import KernelStrips, kernel_matrix, multiply
from mercer._types import Array
from mercer.decomposition._block_krylov import KrylovState, multiply_centred
from mercer.kernels import Kernel, Precomputed

__all__ = ["STATEMENT", "TOLERANCE", "KernelPCAState", "by_blocks", "fill_kernels", "largest_residual", "strip_kernels"]

STATEMENT = (
    "Largest norm of the centred kernels times an eigenvector less its eigenvalue times it, over the largest "
    "eigenvalue."
)
# The tolerance of block products if tol is 0: the error of eigenvalues is about its square.
TOLERANCE = 1e-7


@plain
@dataclass(frozen=True, eq=False)
class KernelPCAState:
    """Means of the kernels and the leading eigenpairs of the centred ones; with block products also their basis."""

    means: Any
    total: float
    values: Any
    vectors: Any
    residual: float
    krylov: Any = None


def by_blocks(rounds: Generator[Any, Any, KrylovState], state: KernelPCAState, tol: float, fixed: bool) -> Solver:
    """Solve by rounds of block products, a step per round; `fixed` says that the user gave the number of rounds."""

    def complete(step: Step) -> Step:
        return replace(step, state=_add_pairs(state, step.state), certificate=_certify(step.state.residual, tol))

    state = _add_pairs(state, (yield from relay(rounds, complete)))
    done = state.residual <= tol or fixed or state.krylov.block.shape[1] == 0
    return Solution(state, done, _certify(state.residual, tol))


def _add_pairs(state: KernelPCAState, krylov: KrylovState) -> KernelPCAState:
    """Return `state` with the eigenpairs of a round of block products."""
    return replace(state, values=krylov.values, vectors=krylov.vectors, residual=krylov.residual, krylov=krylov)


def _certify(residual: float, tol: float) -> Certificate:
    """Return the certificate of eigenvectors whose largest relative residual is `residual`."""
    return Certificate.of("residual", residual, tol, STATEMENT)


def fill_kernels(kernel: Kernel, rows: Array, threads: int) -> Array:
    """Return the kernels of all pairs in float64, (n, n), or a copy of the given ones."""
    if isinstance(kernel, Precomputed):
        return np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64, order="C")
    return kernel_matrix(kernel, kernel.prepare(wide_rows(rows)), threads)


def strip_kernels(kernel: Kernel, rows: Array, threads: int) -> tuple[Callable[[Array], Array], Array]:
    """Return the product of the centred kernels with a block, and the mean kernel of each row; pairs are kept once."""
    kernels, n = KernelStrips.of(kernel, kernel.prepare(wide_rows(rows)), threads), rows.shape[0]
    product = partial(kernels.multiply, threads=threads)
    return partial(multiply_centred, product), product(np.full((n, 1), 1.0 / n))[:, 0]


def largest_residual(matrix: Array, values: Array, vectors: Array, threads: int) -> float:
    """Return the largest relative residual of the first and the last hundred eigenvectors."""
    some = np.unique(np.r_[: min(100, len(values)), max(0, len(values) - 100) : len(values)])
    left = multiply(matrix, np.ascontiguousarray(vectors[:, some]), threads) - vectors[:, some] * values[some]
    return float(np.linalg.norm(left, axis=0).max() / max(float(np.abs(values).max()), 1e-300))
