"""The eigenvectors of centred kernels that kernel principal component analysis solves for, and their residuals."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._base.kernel_choice import wide_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.relay import relay
from mercer._solver.tiled_matrix import KernelStrips, kernel_matrix, multiply
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.decomposition._block_krylov import KrylovState, multiply_centred
from mercer.errors import DataError
from mercer.kernels import Kernel, Linear, Precomputed

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


def conclude(state: KernelPCAState, tol: float) -> Solver:
    """Yield the one step of a direct decomposition, and return it; exact to rounding, which grows with n."""
    bound = max(tol, 1e3 * len(state.means) * np.finfo(np.float64).eps)
    certificate = _certify(state.residual, bound)
    yield Step(float(np.maximum(state.values, 0.0).sum()), state, certificate)
    return Solution(state, True, certificate)


def is_narrow(kernel: Kernel, rows: Array, n_components: int | None) -> bool:
    """Return whether the rows themselves hold all components: dense rows of few columns, and the linear kernel."""
    n, d = rows.shape
    return (
        type(kernel) is Linear and not is_sparse_matrix(rows) and d < n and (n_components is None or n_components <= d)
    )


def decompose_rows(rows: Array, n_components: int | None) -> KernelPCAState:
    """Return the components of the linear kernel without a matrix of pairs.

    With X the centred rows, the centred kernels are X X^T: their eigenvectors are the left singular vectors of X, and
    their eigenvalues the squares of the singular values. All others are zero.
    """
    wide = wide_rows(rows)
    mean = wide.mean(axis=0)
    means, X = wide @ mean, wide - mean
    vectors, lengths, _ = np.linalg.svd(X, full_matrices=False)
    values, vectors = lengths[:n_components] ** 2, vectors[:, :n_components]
    left = X @ (X.T @ vectors) - vectors * values
    residual = float(np.linalg.norm(left, axis=0).max(initial=0.0) / max(float(values.max(initial=0.0)), 1e-300))
    return KernelPCAState(means, float(mean @ mean), values, vectors, residual)


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


def find_last_axes(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the `count` largest eigenvalues of a symmetric matrix, in rising order, and their vectors."""
    n = len(matrix)
    # Divide and conquer is the faster where all vectors are asked for.
    return find_eigenpairs(matrix, n - count, driver="evd" if count == n else "evr")


def largest_residual(matrix: Array, values: Array, vectors: Array, threads: int) -> float:
    """Return the largest relative residual of the first and the last hundred eigenvectors."""
    some = np.unique(np.r_[: min(100, len(values)), max(0, len(values) - 100) : len(values)])
    left = multiply(matrix, np.ascontiguousarray(vectors[:, some]), threads) - vectors[:, some] * values[some]
    return float(np.linalg.norm(left, axis=0).max() / max(float(np.abs(values).max()), 1e-300))


def clear_rounding(subject: str, values: Array, dtype: str) -> Array:
    """Return eigenvalues with rounding errors set to zero; raise if negative ones show a kernel that is not PSD."""
    largest, precision = float(values.max()), 1e-12 if dtype == "float64" else 2e-7
    lowest = float(values.min())
    if lowest < -1e-5 * max(largest, 1e-300) and lowest < -1e-10:
        raise DataError(
            f"{subject}: There are significant negative eigenvalues: the smallest is {lowest:.3g} and the largest "
            f"{largest:.3g}. Either the matrix is not PSD, or there was an issue while computing the "
            f"eigendecomposition of the matrix; use a Mercer kernel, or fewer components."
        )
    return np.where(values > precision * largest, values, 0.0)
