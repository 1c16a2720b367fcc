"""Kernel ridge regression for many rows: a few centres, and conjugate gradients that Nystrom preconditions.

With M centres z the model is f(x) = sum_j c_j k(x, z_j), and the cost sum_i w_i (y_i - f(x_i))^2 + alpha c^T K_zz c has
the normal equations (K_nz^T W K_nz + alpha K_zz) c = K_nz^T W y. They are never formed: a step asks for one pass over
the rows. Replacing K_nz^T W K_nz by its estimate from the centres alone, (n / M) K_zz K_zz, gives two triangular
factors that bring the condition number near one (Rudi, Carratino and Rosasco, 2017).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer._base.kernel_choice import wide_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.cuda_sums import CudaSums
from mercer._solver.request import Dense, Take
from mercer._solver.tiled_cholesky import factor
from mercer._solver.tiled_matrix import kernel_matrix, multiply_triangles
from mercer._source import Block
from mercer._statistic import Statistic, Sums
from mercer.kernels import Kernel

__all__ = ["FalkonState", "FalkonTask", "KernelProduct", "falkon_solver"]

Array = Any
_ROWS = 256
# Up to so many vectors kernels are made for each: a table of them takes ten times as long to fill and to read.
_SUMMED = 4
_KIND = "preconditioned residual"
_STATEMENT = (
    "Norm of the preconditioned residual of the normal equations of the centres, over that of their right-hand side; "
    "the error of having centres only is not in it."
)


@dataclass(frozen=True)
class ProductSums(Sums):
    """K_zn W (K_nz V), K_zn W [y, 1], and sums of weights, weighted targets and their squares."""

    product: Any
    right: Any
    weight: Any
    targets: Any
    squares: Any


@dataclass(frozen=True, eq=False)
class KernelProduct(Statistic):
    """One pass: the kernels of all rows with the centres, times `vectors` and back; with `vectors` None, the targets'.

    Fields are arrays where the rows are; kernels of float32 rows are float32, sums float64.
    """

    kernel: Kernel
    centres: Any
    vectors: Any = None

    def of(self, block: Block) -> ProductSums:
        """The definition; sparse rows, which no array standard knows, by products of tiles."""
        if block.is_sparse:
            return self._by_tiles(block)
        xp = block.xp
        if block.X.dtype == xp.float32 == self.centres.dtype and self._count(block) <= _SUMMED:
            sums = CudaSums(self.kernel, block.X, xp)
            if sums.program is not None:
                return self._by_sums(block, sums)
        total: Any = None
        for tile in block.tiles(self.centres.shape[0]):
            values = xp.astype(self.kernel.of(xp, block.X[tile, :], self.centres), block.wide)
            part = self._part(xp, *_products(xp, values), values[:, :1], *_targets(block, tile))
            total = part if total is None else total + part
        return total

    def _count(self, block: Block) -> int:
        """Vectors whose products are asked for."""
        if self.vectors is not None:
            return int(self.vectors.shape[1])
        return 2 if block.y is None or block.y.ndim == 1 else 1 + int(block.y.shape[1])

    def _by_sums(self, block: Block, sums: CudaSums) -> ProductSums:
        """The same on an NVIDIA GPU without a table of kernels, which are made twice: to the rows, and back."""
        xp, centres, rows = block.xp, sums.lay(self.centres), sums.lay(block.X, self.centres.shape[0])

        def forth(vectors: Array) -> Array:
            return xp.stack([sums.of(centres, vectors[:, k], rows) for k in range(vectors.shape[1])], axis=1)

        def back(vectors: Array) -> Array:
            return xp.stack([sums.of(rows, vectors[:, k], centres) for k in range(vectors.shape[1])], axis=1)

        column = xp.zeros((block.n, 1), dtype=block.wide, device=block.X.device)
        return self._part(xp, forth, back, column, *_targets(block, slice(0, block.n)))

    def native_run(self, block: Block, unit: int) -> ProductSums:
        """The same by tiles of products and native values."""
        return self._by_parts(block, unit, self._by_tiles)

    def _by_tiles(self, block: Block) -> ProductSums:
        others = self.kernel.prepare(self.centres)
        total: Any = None
        for start in range(0, block.n, _ROWS):
            tile = slice(start, min(start + _ROWS, block.n))
            values = self.kernel.between(self.kernel.prepare(block.X[tile], like=others), others)
            values = values.astype(np.float64, copy=False)
            part = self._part(np, *_products(np, values), values[:, :1], *_targets(block, tile))
            total = part if total is None else total + part
        return total

    def _part(self, xp: Any, forth: Any, back: Any, column: Array, y: Array, weight: Array) -> ProductSums:
        """The sums of some rows, from products with their kernels and with these transposed; `column` is like one."""
        scale = 0.0 * column[:1, :1]
        if self.vectors is not None:
            inner = forth(self.vectors)
            inner = inner if weight is None else inner * weight[:, None]
            return ProductSums(back(inner), scale, scale, scale, scale)
        ones = xp.ones_like(column)
        weighted = ones if weight is None else weight[:, None] * ones
        y = xp.astype(y, column.dtype)
        both = xp.concat([weighted * y, weighted], axis=1)
        return ProductSums(
            scale,
            back(both),
            xp.sum(weighted),
            xp.sum(weighted * y, axis=0),
            xp.sum(weighted * y * y, axis=0),
        )


def _products(xp: Any, values: Array) -> tuple[Any, Any]:
    """The products with a table of kernels, and with its transpose."""
    return (lambda vectors: xp.matmul(values, vectors)), (lambda vectors: xp.matmul(values.T, vectors))


def _targets(block: Block, tile: slice) -> tuple[Array, Array]:
    y = None if block.y is None else block.y[tile, ...]
    y = y if y is None or y.ndim == 2 else y[:, None]
    return y, None if block.weight is None else block.weight[tile]


@plain
@dataclass(frozen=True, eq=False)
class FalkonState:
    """Centres, sums over the targets, and conjugate gradients in preconditioned coordinates, one column a target."""

    centres: Any
    right: Any
    weight: Any
    targets: Any
    squares: Any
    solution: Any
    residual: Any
    direction: Any
    dual: Any
    intercept: Any
    steps: int
    start: Any


@dataclass(frozen=True)
class FalkonTask:
    """What is asked of the solver."""

    kernel: Kernel
    alpha: Array
    intercept: bool
    centres: Any
    tol: float
    max_iter: int
    threads: int


@dataclass(frozen=True)
class Preconditioner:
    """Upper triangles T and A: K_zz = T^T T, A^T A = (weight / M) T T^T + alpha I; one A for each penalty."""

    upper: Array
    inner: dict[float, Array]

    @classmethod
    def of(cls, task: FalkonTask, centres: Array, weight: float) -> "Preconditioner":
        matrix = kernel_matrix(task.kernel, task.kernel.prepare(wide_rows(centres)), task.threads)
        count = len(matrix)
        matrix[np.diag_indices(count)] += jitter_of(matrix, centres.dtype)
        upper = _upper_factor(matrix, task.threads)
        products, inner = multiply_triangles(upper, task.threads), {}
        products *= weight / count
        for alpha in np.unique(task.alpha):
            square = products.copy()
            square[np.diag_indices(count)] += alpha
            inner[float(alpha)] = _upper_factor(square, task.threads)
        return cls(upper, inner)

    def forward(self, alpha: Array, B: Array) -> Array:
        """T^-1 A^-1 B, column by column with its own A: from preconditioned coordinates to coefficients."""
        columns = [solve_triangular(self.inner[float(a)], B[:, t], check_finite=False) for t, a in enumerate(alpha)]
        return solve_triangular(self.upper, np.column_stack(columns), check_finite=False)

    def backward(self, alpha: Array, B: Array) -> Array:
        """A^-T T^-T B."""
        B = solve_triangular(self.upper, B, trans="T", check_finite=False)
        columns = [
            solve_triangular(self.inner[float(a)], B[:, t], trans="T", check_finite=False) for t, a in enumerate(alpha)
        ]
        return np.column_stack(columns)

    def ridge(self, alpha: Array, B: Array) -> Array:
        """A^-T T^-T (alpha K_zz) T^-1 A^-1 B = alpha A^-T A^-1 B."""
        columns = []
        for t, a in enumerate(alpha):
            inner = self.inner[float(a)]
            once = solve_triangular(inner, B[:, t], check_finite=False)
            columns.append(a * solve_triangular(inner, once, trans="T", check_finite=False))
        return np.column_stack(columns)


def jitter_of(matrix: Array, dtype: Any) -> float:
    """What is added to the kernels between centres, so that their factor exists where centres are near to each other.

    Kernels of float32 rows are known to float32: below that, directions are rounding, and coefficients along them would
    grow until no prediction in float32 could sum them.
    """
    narrow = np.dtype(dtype) == np.float32
    share = np.finfo(np.float32).eps if narrow else 10.0 * np.finfo(np.float64).eps
    return float(share * len(matrix) * matrix.diagonal().max())


def _upper_factor(matrix: Array, threads: int) -> Array:
    """The transposed Cholesky factor of a matrix, which is overwritten."""
    factor(matrix, threads)
    return np.ascontiguousarray(np.tril(matrix).T)


def falkon_solver(task: FalkonTask, state: Any = None) -> Solver:
    """Conjugate gradients on the preconditioned equations; from the beginning or from a state."""
    # With an intercept the constant is a target of its own, with the penalty of each.
    alpha = np.concatenate([task.alpha, task.alpha]) if task.intercept else task.alpha
    if state is None:
        state = yield from _first(task, alpha)
    precondition = yield Dense(lambda: Preconditioner.of(task, state.centres, float(state.weight)))
    if state.residual is None:
        residual = precondition.backward(alpha, _sides(task, state))
        zero = np.zeros_like(residual)
        state = replace(state, solution=zero, residual=residual, direction=residual, start=residual)
    first = np.maximum(np.linalg.norm(state.start, axis=0), np.finfo(np.float64).tiny)
    left = float((np.linalg.norm(state.residual, axis=0) / first).max())
    while state.steps < task.max_iter and left > task.tol:
        p = state.direction
        sums = yield KernelProduct(task.kernel, state.centres, precondition.forward(alpha, p))
        image = precondition.backward(alpha, sums.product) + precondition.ridge(alpha, p)
        before = (state.residual**2).sum(axis=0)
        curvature = (p * image).sum(axis=0)
        moving = (np.sqrt(before) > task.tol * first) & (curvature > 0)
        length = np.where(moving, before / np.where(moving, curvature, 1.0), 0.0)
        solution, residual = state.solution + length * p, state.residual - length * image
        ratio = np.where(moving, (residual**2).sum(axis=0) / np.where(before > 0, before, 1.0), 0.0)
        state = replace(
            state, solution=solution, residual=residual, direction=residual + ratio * p, steps=state.steps + 1
        )
        state = _with_coefficients(task, alpha, precondition, state)
        left = float((np.linalg.norm(residual, axis=0) / first).max())
        certificate = Certificate.of(_KIND, left, task.tol, _STATEMENT)
        yield Step(_objective(task, state), state, certificate, {"residual": left})
        if not moving.any():
            break
    if state.dual is None:
        state = _with_coefficients(task, alpha, precondition, state)
        yield Step(_objective(task, state), state, Certificate.of(_KIND, left, task.tol, _STATEMENT))
    return Solution(state, left <= task.tol, Certificate.of(_KIND, left, task.tol, _STATEMENT))


def _first(task: FalkonTask, alpha: Array) -> Any:
    centres = yield Take(task.centres)
    sums = yield KernelProduct(task.kernel, centres)
    totals = (np.asarray(sums.weight), np.atleast_1d(sums.targets), np.atleast_1d(sums.squares))
    return FalkonState(centres, np.asarray(sums.right), *totals, None, None, None, None, None, 0, None)


def _sides(task: FalkonTask, state: FalkonState) -> Array:
    """Right-hand sides: of each target and, with an intercept, of the constant for each target's penalty."""
    count = len(task.alpha)
    right = np.asarray(state.right)
    return np.column_stack([right[:, :count], *[right[:, -1]] * count]) if task.intercept else right[:, :count]


def _with_coefficients(task: FalkonTask, alpha: Array, precondition: Preconditioner, state: FalkonState) -> FalkonState:
    found, count = precondition.forward(alpha, state.solution), len(task.alpha)
    if not task.intercept:
        return replace(state, dual=found, intercept=np.zeros(count))
    ones = np.asarray(state.right)[:, -1]
    own, constant = found[:, :count], found[:, count:]
    # The intercept makes the weighted residuals sum to nothing.
    intercept = (state.targets - ones @ own) / np.maximum(state.weight - ones @ constant, 1e-12 * state.weight)
    return replace(state, dual=own - intercept * constant, intercept=intercept)


def _objective(task: FalkonTask, state: FalkonState) -> float:
    """The cost, from the quantities of conjugate gradients: no pass is needed.

    With g the right-hand side in preconditioned coordinates b, the cost is y^T W y - 2 g.b + b.Hb, and Hb is g less the
    residual. An intercept takes its multiple of the constant from everything.
    """
    count = len(task.alpha)
    squares, parts = state.squares, [state.solution, state.start, state.residual]
    own = [part[:, :count] for part in parts]
    if task.intercept:
        shift = state.intercept
        own = [part[:, :count] - shift * part[:, count:] for part in parts]
        squares = squares - 2.0 * shift * state.targets + shift**2 * state.weight
    return float((squares - (own[0] * (own[1] + own[2])).sum(axis=0)).sum())
