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
from mercer._solver.cuda_sums import MOST_SUMMED, CudaSums
from mercer._solver.request import Dense, Take
from mercer._solver.tiled_cholesky import factor
from mercer._solver.tiled_matrix import kernel_matrix, multiply_triangles
from mercer._source import Block
from mercer._statistic import Statistic, Sums
from mercer._types import Array
from mercer.kernels import Kernel

# Rows of a tile of kernel values: with 1000 centres a tile is 2 MB of float64, which stays in the second-level cache.
_ROWS = 256
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
    """The sums K_zn W (K_nz V) of one pass over the rows, with V = `vectors`; with None, those of the targets.

    The arrays are where the rows are. Kernel values of float32 rows are float32, sums float64.
    """

    kernel: Kernel
    centres: Any
    vectors: Any = None

    def of(self, block: Block) -> ProductSums:
        """Compute the sums of one block in array operations; sparse rows, which these do not know, by tiles."""
        if block.is_sparse:
            return self._sum_by_tiles(block)
        xp = block.xp
        # Compiled sums on a GPU, for float32 and few vectors: tiles of kernels are never written to memory.
        if block.X.dtype == xp.float32 == self.centres.dtype and self._count_vectors(block) <= MOST_SUMMED:
            sums = CudaSums(self.kernel, block.X, xp)
            if sums.program is not None:
                return self._sum_on_gpu(block, sums)
        total: Any = None
        for tile in block.tiles(self.centres.shape[0]):
            values = xp.astype(self.kernel.of(xp, block.X[tile, :], self.centres), block.wide)
            part = self._sum_part(xp, *_make_products(xp, values), values[:, :1], *_select_targets(block, tile))
            total = part if total is None else total + part
        return total

    def _count_vectors(self, block: Block) -> int:
        """Count the vectors that are multiplied."""
        if self.vectors is not None:
            return int(self.vectors.shape[1])
        return 2 if block.y is None or block.y.ndim == 1 else 1 + int(block.y.shape[1])

    def _sum_on_gpu(self, block: Block, sums: CudaSums) -> ProductSums:
        """Compute the sums on an NVIDIA GPU without storing kernel values: K_nz and K_zn are computed one by one."""
        xp, centres, rows = block.xp, sums.lay(self.centres), sums.lay(block.X, self.centres.shape[0])

        def forth(vectors: Array) -> Array:
            return xp.stack([sums.of(centres, vectors[:, k], rows) for k in range(vectors.shape[1])], axis=1)

        def back(vectors: Array) -> Array:
            return xp.stack([sums.of(rows, vectors[:, k], centres) for k in range(vectors.shape[1])], axis=1)

        column = xp.zeros((block.n, 1), dtype=block.wide, device=block.X.device)
        return self._sum_part(xp, forth, back, column, *_select_targets(block, slice(0, block.n)))

    def native_run(self, block: Block, unit: int) -> ProductSums:
        """Compute the sums of a run of blocks in native code."""
        return self._by_parts(block, unit, self._sum_by_tiles)

    def _sum_by_tiles(self, block: Block) -> ProductSums:
        """Compute the sums of a block in memory, tile by tile."""
        others = self.kernel.prepare(self.centres)
        total: Any = None
        for start in range(0, block.n, _ROWS):
            tile = slice(start, min(start + _ROWS, block.n))
            values = self.kernel.between(self.kernel.prepare(block.X[tile], like=others), others)
            values = values.astype(np.float64, copy=False)
            part = self._sum_part(np, *_make_products(np, values), values[:, :1], *_select_targets(block, tile))
            total = part if total is None else total + part
        return total

    def _sum_part(self, xp: Any, forth: Any, back: Any, column: Array, y: Array, weight: Array) -> ProductSums:
        """Compute the sums of some rows, where `forth` multiplies by K_nz and `back` by K_zn.

        `column` gives type, device and shape of an array with a value for each row.
        """
        # A zero of the right type and device stands for the sums that this pass does not compute.
        scale = 0.0 * column[:1, :1]
        if self.vectors is not None:
            inner = forth(self.vectors)
            inner = inner if weight is None else inner * weight[:, None]
            return ProductSums(back(inner), scale, scale, scale, scale)
        ones = xp.ones_like(column)
        weighted = ones if weight is None else weight[:, None] * ones
        y = xp.astype(y, column.dtype)
        # Products with the targets and with ones, side by side in one multiplication.
        both = xp.concat([weighted * y, weighted], axis=1)
        return ProductSums(
            scale,
            back(both),
            xp.sum(weighted),
            xp.sum(weighted * y, axis=0),
            xp.sum(weighted * y * y, axis=0),
        )


def _make_products(xp: Any, values: Array) -> tuple[Any, Any]:
    """Return the functions that multiply by a table of kernel values, and by its transpose."""
    return (lambda vectors: xp.matmul(values, vectors)), (lambda vectors: xp.matmul(values.T, vectors))


def _select_targets(block: Block, tile: slice) -> tuple[Array, Array]:
    """Return the targets of a tile, shape (rows, targets), and their weights; None where there are none."""
    y = None if block.y is None else block.y[tile, ...]
    y = y if y is None or y.ndim == 2 else y[:, None]
    return y, None if block.weight is None else block.weight[tile]


@plain
@dataclass(frozen=True, eq=False)
class FalkonState:
    """Centres, sums over the targets, and conjugate gradients in preconditioned coordinates; a column is a target."""

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
    """The problem and the settings of the solver."""

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
        matrix[np.diag_indices(count)] += compute_jitter(matrix, centres.dtype)
        upper = _factorise_upper(matrix, task.threads)
        # With the centres as a sample of all rows, K_zn W K_nz is about (weight / M) K_zz^2 = T^T (weight / M T T^T) T.
        products, inner = multiply_triangles(upper, task.threads), {}
        products *= weight / count
        for alpha in np.unique(task.alpha):
            square = products.copy()
            square[np.diag_indices(count)] += alpha
            inner[float(alpha)] = _factorise_upper(square, task.threads)
        return cls(upper, inner)

    def forward(self, alpha: Array, B: Array) -> Array:
        """Compute T^-1 A^-1 B, each column with its penalty's A: from preconditioned coordinates to coefficients."""
        columns = [solve_triangular(self.inner[float(a)], B[:, t], check_finite=False) for t, a in enumerate(alpha)]
        return solve_triangular(self.upper, np.column_stack(columns), check_finite=False)

    def backward(self, alpha: Array, B: Array) -> Array:
        """Compute A^-T T^-T B, each column with the A of its penalty."""
        B = solve_triangular(self.upper, B, trans="T", check_finite=False)
        columns = [
            solve_triangular(self.inner[float(a)], B[:, t], trans="T", check_finite=False) for t, a in enumerate(alpha)
        ]
        return np.column_stack(columns)

    def multiply_penalty(self, alpha: Array, B: Array) -> Array:
        """Compute the penalty's term A^-T T^-T (alpha K_zz) T^-1 A^-1 B = alpha A^-T A^-1 B."""
        columns = []
        for t, a in enumerate(alpha):
            inner = self.inner[float(a)]
            once = solve_triangular(inner, B[:, t], check_finite=False)
            columns.append(a * solve_triangular(inner, once, trans="T", check_finite=False))
        return np.column_stack(columns)


def compute_jitter(matrix: Array, dtype: Any) -> float:
    """Return what is added to the diagonal of K_zz, so that its factor exists where centres are close together.

    Kernel values of float32 rows are rounded to float32. Directions with smaller eigenvalues are rounding, and
    coefficients along them would grow until no prediction in float32 could sum them.
    """
    narrow = np.dtype(dtype) == np.float32
    share = np.finfo(np.float32).eps if narrow else 10.0 * np.finfo(np.float64).eps
    return float(share * len(matrix) * matrix.diagonal().max())


def _factorise_upper(matrix: Array, threads: int) -> Array:
    """Return the transposed Cholesky factor of a matrix, which is overwritten."""
    factor(matrix, threads)
    return np.ascontiguousarray(np.tril(matrix).T)


def solve_with_centres(task: FalkonTask, state: Any = None) -> Solver:
    """Solve the normal equations by preconditioned conjugate gradients, from the beginning or from a `state`."""
    # With an intercept, the constant is a further target for each penalty.
    alpha = np.concatenate([task.alpha, task.alpha]) if task.intercept else task.alpha
    if state is None:
        state = yield from _open_state(task, alpha)
    precondition = yield Dense(lambda: Preconditioner.of(task, state.centres, float(state.weight)))
    if state.residual is None:
        residual = precondition.backward(alpha, _list_sides(task, state))
        zero = np.zeros_like(residual)
        state = replace(state, solution=zero, residual=residual, direction=residual, start=residual)
    # Residuals are relative to the first, those of the zero solution.
    first = np.maximum(np.linalg.norm(state.start, axis=0), np.finfo(np.float64).tiny)
    left = float((np.linalg.norm(state.residual, axis=0) / first).max())
    while state.steps < task.max_iter and left > task.tol:
        # Conjugate gradients on (A^-T T^-T) H (T^-1 A^-1), one column for each target: the pass gives H times p.
        p = state.direction
        sums = yield KernelProduct(task.kernel, state.centres, precondition.forward(alpha, p))
        image = precondition.backward(alpha, sums.product) + precondition.multiply_penalty(alpha, p)
        before = (state.residual**2).sum(axis=0)
        curvature = (p * image).sum(axis=0)
        # A column that has converged, or met a direction without curvature, stays while the others go on.
        moving = (np.sqrt(before) > task.tol * first) & (curvature > 0)
        length = np.where(moving, before / np.where(moving, curvature, 1.0), 0.0)
        solution, residual = state.solution + length * p, state.residual - length * image
        ratio = np.where(moving, (residual**2).sum(axis=0) / np.where(before > 0, before, 1.0), 0.0)
        state = replace(
            state, solution=solution, residual=residual, direction=residual + ratio * p, steps=state.steps + 1
        )
        state = _add_coefficients(task, alpha, precondition, state)
        left = float((np.linalg.norm(residual, axis=0) / first).max())
        certificate = Certificate.of(_KIND, left, task.tol, _STATEMENT)
        yield Step(_compute_objective(task, state), state, certificate, {"residual": left})
        if not moving.any():
            break
    if state.dual is None:
        state = _add_coefficients(task, alpha, precondition, state)
        yield Step(_compute_objective(task, state), state, Certificate.of(_KIND, left, task.tol, _STATEMENT))
    return Solution(state, left <= task.tol, Certificate.of(_KIND, left, task.tol, _STATEMENT))


def _open_state(task: FalkonTask, alpha: Array) -> Any:
    centres = yield Take(task.centres)
    sums = yield KernelProduct(task.kernel, centres)
    totals = (np.asarray(sums.weight), np.atleast_1d(sums.targets), np.atleast_1d(sums.squares))
    return FalkonState(centres, np.asarray(sums.right), *totals, None, None, None, None, None, 0, None)


def _list_sides(task: FalkonTask, state: FalkonState) -> Array:
    """Return the right-hand side of each target and, with an intercept, of the constant for each target's penalty."""
    count = len(task.alpha)
    right = np.asarray(state.right)
    return np.column_stack([right[:, :count], *[right[:, -1]] * count]) if task.intercept else right[:, :count]


def _add_coefficients(task: FalkonTask, alpha: Array, precondition: Preconditioner, state: FalkonState) -> FalkonState:
    """Return the state with the coefficients and intercepts of its solution."""
    coefficients, count = precondition.forward(alpha, state.solution), len(task.alpha)
    if not task.intercept:
        return replace(state, dual=coefficients, intercept=np.zeros(count))
    ones = np.asarray(state.right)[:, -1]
    own, constant = coefficients[:, :count], coefficients[:, count:]
    # The intercept makes the weighted residuals sum to zero.
    intercept = (state.targets - ones @ own) / np.maximum(state.weight - ones @ constant, 1e-12 * state.weight)
    return replace(state, dual=own - intercept * constant, intercept=intercept)


def _compute_objective(task: FalkonTask, state: FalkonState) -> float:
    """Compute the cost from the vectors of conjugate gradients, without a pass over the rows.

    With g the right-hand side in preconditioned coordinates b, the cost is y^T W y - 2 g.b + b.Hb, where Hb is g minus
    the residual. With an intercept, its multiple of the constant's vectors is subtracted from all of them.
    """
    count = len(task.alpha)
    squares, parts = state.squares, [state.solution, state.start, state.residual]
    own = [part[:, :count] for part in parts]
    if task.intercept:
        shift = state.intercept
        own = [part[:, :count] - shift * part[:, count:] for part in parts]
        squares = squares - 2.0 * shift * state.targets + shift**2 * state.weight
    return float((squares - (own[0] * (own[1] + own[2])).sum(axis=0)).sum())
