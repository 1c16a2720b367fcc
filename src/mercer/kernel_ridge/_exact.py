"""Kernel ridge regression in closed form: one Cholesky factor, or one eigendecomposition for every penalty."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer._base.kernel_choice import wide_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.device_matrices import check_device_room
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.request import Dense
from mercer._solver.tiled_cholesky import factorise, inverse_diagonal, multiply_upper, restore, solve
from mercer._solver.tiled_matrix import kernel_matrix, lower_kernel_matrix, multiply_off_diagonal
from mercer._source import Block, Source
from mercer._source.device.source import DeviceSource
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernel_ridge._device_equations import DeviceEquations
from mercer.kernels import Kernel, Precomputed

# Relative residual: rounding in float64 leaves less; above this the matrix was too close to singular.
TOLERANCE = 1e-6
_CURE = "use solver='falkon', which needs no such matrix"
STATEMENT = "Norm of the residual of the equations (K + alpha I) a = y, over the norm of y, in the weighted metric."


@plain
@dataclass(frozen=True, eq=False)
class KernelRidgeState:
    """The rows, their coefficients, the intercept, the predictions without each row, and the method."""

    rows: Any
    dual: Any
    intercept: Any
    left_out: Any
    method: str


@dataclass(frozen=True)
class Gather:
    """A request for all rows with their targets and weights, in memory."""

    subject: str

    def answer(self, source: Source) -> tuple[Array, Array, Array]:
        if source.place == "memory":
            return source.whole(), source.y, source.weight
        needed = 8.0 * source.n_rows * (source.n_features + 2)
        require_memory(self.subject, needed, f"{source.n_rows} rows in memory", "use solver='falkon'")
        parts = source.fetch(source.map(_select_parts))
        rows, *others = [np.asarray(part) for part in parts]
        weight = others.pop() if source.has_weight else None
        return np.ascontiguousarray(rows), others[0] if others else None, weight


@dataclass(frozen=True)
class OnDevice:
    """A request for the rows on the host, and for the equations where the rows are."""

    subject: str
    kernel: Kernel

    def answer(self, source: Source) -> tuple[Array, DeviceEquations]:
        given = cast(DeviceSource, source)
        place, n = given.placement, given.n_rows
        check_device_room(
            self.subject, given.X, 2.0 * n * n, f"the {n} x {n} kernels and their factor", f"Try to {_CURE}."
        )
        y = to_numpy(given.y).astype(np.float64)
        roots = np.sqrt(to_numpy(given.weight).astype(np.float64)) if given.has_weight else np.ones(n)
        rows = place.xp.astype(given.whole(), place.wide)
        right = roots[:, None] * (y if y.ndim == 2 else y[:, None])
        return to_numpy(given.X), DeviceEquations(self.kernel, place.xp, rows, roots, right)


def _select_parts(block: Block) -> tuple[Array, ...]:
    parts = [block.dense(), block.y, block.weight]
    return tuple(part for part in parts if part is not None)


@dataclass(frozen=True, eq=False)
class KernelValues:
    """The kernel values of all pairs of rows, computed on demand."""

    kernel: Kernel
    rows: Any
    threads: int

    def whole(self) -> Array:
        return kernel_matrix(self.kernel, self.rows, self.threads)

    def lower(self) -> Array:
        return lower_kernel_matrix(self.kernel, self.rows, self.threads)

    def off_diagonal(self, X: Array) -> Array:
        return multiply_off_diagonal(self.kernel, self.rows, X, self.threads)


@dataclass
class Equations:
    """The equations (S K S + alpha I) u = S y with S the roots of the weights, to be solved in place.

    Where ``values`` is not None, only the lower tiles of the matrix are filled: a factor needs no more. The residual
    then computes kernel values again, which takes less time than keeping a copy of the matrix.
    """

    matrix: Array
    diagonal: Array
    roots: Array
    right: Array
    values: "KernelValues | None" = None

    @classmethod
    def of(cls, kernel: Kernel, rows: Array, y: Array, weight: Array, threads: int, lower: bool = False) -> "Equations":
        """Fill the matrix, or only its lower tiles if `lower` and the rows have no weights."""
        targets = np.asarray(y, dtype=np.float64)
        targets = targets if targets.ndim == 2 else targets[:, None]
        roots = np.ones(len(targets)) if weight is None else np.sqrt(np.asarray(weight, dtype=np.float64))
        values = None
        if isinstance(kernel, Precomputed):
            matrix = np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64, order="C")
        else:
            made = KernelValues(kernel, kernel.prepare(wide_rows(rows)), threads)
            values = made if lower and weight is None else None
            matrix = made.whole() if values is None else made.lower()
        # With W the weights, sqrt(W) K sqrt(W) + alpha I is symmetric; solutions are scaled back by the same roots.
        if weight is not None:
            matrix *= roots[:, None]
            matrix *= roots[None, :]
        return cls(matrix, matrix.diagonal().copy(), roots, roots[:, None] * targets, values)

    def list_sides(self, intercept: bool) -> Array:
        """Return the right-hand sides: the targets and, with an intercept, the constant."""
        return np.column_stack([self.right, self.roots]) if intercept else self.right

    def solve_by_factor(
        self, alpha: float, sides: Array, leave_out: bool, threads: int
    ) -> tuple[Array, Array, float] | None:
        """Solve by a Cholesky factor, in place.

        Returns the solutions, the diagonal of the inverse if `leave_out`, and the largest relative residual; None where
        the matrix is singular.
        """
        diagonal = self.diagonal + alpha
        np.fill_diagonal(self.matrix, diagonal)
        if factorise(self.matrix, threads):
            return None
        solution = solve(self.matrix, sides)
        size = np.maximum(np.linalg.norm(sides, axis=0), np.finfo(np.float64).tiny)
        for corrected in (False, True):
            left = sides - self._multiply(diagonal, solution, threads)
            worst = float((np.linalg.norm(left, axis=0) / size).max())
            if corrected or worst <= len(sides) * np.finfo(np.float64).eps:
                break
            # One step of iterative refinement costs n^2 and restores the digits that a large condition number lost.
            solution += solve(self.matrix, left)
        inverse = inverse_diagonal(self.matrix, threads) if leave_out else None
        return solution, inverse, worst

    def _multiply(self, diagonal: Array, X: Array, threads: int) -> Array:
        """Multiply `X` by the matrix as it was before its factorisation, but with another `diagonal`."""
        if self.values is None:
            return multiply_upper(self.matrix, diagonal, X, threads)
        return diagonal[:, None] * X + self.values.off_diagonal(X)

    def restore(self) -> None:
        """Undo a factorisation."""
        if self.values is None:
            restore(self.matrix, self.diagonal)
        else:
            # The factor is freed first: the memory forecast counted one matrix only.
            self.matrix = None
            self.matrix, self.values = self.values.whole(), None


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of the matrix, with which any penalty costs n^2."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrix: Array) -> "Spectrum":
        return cls(*find_eigenpairs(matrix))

    def solve(self, alpha: float, sides: Array) -> tuple[Array, Array]:
        """Return the solutions for one penalty and the diagonal of the inverse; where singular, those of least norm."""
        shifted = self.values + alpha
        # Eigenvalues below the rounding of the largest one are zero; their inverses would be noise.
        kept = shifted > len(shifted) * np.finfo(np.float64).eps * max(float(np.abs(self.values).max()), 1e-300)
        inverse = np.where(kept, 1.0 / np.where(kept, shifted, 1.0), 0.0)
        solution = self.vectors @ (inverse[:, None] * (self.vectors.T @ sides))
        return solution, (self.vectors**2) @ inverse

    def compute_residual(self, alpha: Array, answers: Any, sides: Array) -> float:
        """Return the largest relative residual of the `answers`, over all penalties."""
        size = np.maximum(np.linalg.norm(sides, axis=0), np.finfo(np.float64).tiny)
        worst = 0.0
        for penalty in np.unique(alpha):
            solution = answers[float(penalty)][0]
            product = self.vectors @ ((self.values + penalty)[:, None] * (self.vectors.T @ solution))
            worst = max(worst, float((np.linalg.norm(sides - product, axis=0) / size).max()))
        return worst


@dataclass(frozen=True)
class Task:
    """The problem and the settings of the closed form."""

    subject: str
    kernel: Kernel
    alpha: Array
    intercept: bool
    leave_out: bool
    method: str
    threads: int
    on_device: bool = False


def solve_exactly(task: Task) -> Solver:
    """Gather the rows, fill the matrix of kernel values, and solve the equations."""
    if task.on_device:
        rows, equations = yield OnDevice(task.subject, task.kernel)
    else:
        rows, y, weight = yield Gather(task.subject)
        n = rows.shape[0]
        # An eigendecomposition holds the matrix, the eigenvectors and workspace of the same size.
        copies = 3.0 if task.method == "eigen" else 1.0
        require_memory(task.subject, copies * 8.0 * n * n, f"the {n} x {n} kernels", _CURE)
        # With several penalties the matrix is restored from its upper triangle after each factorisation.
        lower = task.method == "cholesky" and len(np.unique(task.alpha)) == 1
        equations = yield Dense(lambda: Equations.of(task.kernel, rows, y, weight, task.threads, lower))
    sides = equations.list_sides(task.intercept)
    method = task.method
    if method == "cholesky":
        answers, left = yield from _solve_by_factors(task, equations, sides)
        if answers is None:
            if task.on_device:
                raise DataError(
                    f"{task.subject}: the kernels plus alpha must be positive definite on a device; their Cholesky "
                    f"factor does not exist with alpha={task.alpha.min():g}. Raise alpha, or move the rows to memory."
                )
            # The matrix is singular and the penalty does not help: the solution of least norm is still defined.
            yield Dense(equations.restore)
            method = "eigen"
    if method == "eigen":
        answers, left = yield from _solve_by_spectrum(task, equations, sides)
    state, objective = assemble(task, equations, rows, answers, method)
    certificate = Certificate.of("residual", left, TOLERANCE, STATEMENT)
    yield Step(objective, state, certificate)
    return Solution(state, True, certificate)


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A call that solves the equations for one penalty by a Cholesky factor."""

    equations: "Equations | DeviceEquations"
    alpha: float
    sides: Any
    task: "Task"

    def __call__(self) -> Any:
        return self.equations.solve_by_factor(self.alpha, self.sides, self.task.leave_out, self.task.threads)


def _solve_by_factors(task: Task, equations: Equations | DeviceEquations, sides: Array) -> Any:
    answers, worst = {}, 0.0
    for trial, alpha in enumerate(np.unique(task.alpha)):
        if trial:
            # The factor of the penalty before took the place of the kernels.
            yield Dense(equations.restore)
        attempt = yield Dense(_Attempt(equations, float(alpha), sides, task))
        if attempt is None:
            return None, np.inf
        answers[float(alpha)] = attempt[:2]
        worst = max(worst, attempt[2])
    return answers, worst


def _solve_by_spectrum(task: Task, equations: Equations, sides: Array) -> Any:
    spectrum = yield Dense(lambda: Spectrum.of(equations.matrix), heavy=True)
    lowest = float(spectrum.values[0])
    # Eigenvalues below zero by rounding are no fault; others make the cost unbounded from below.
    if lowest < -1e-6 * max(float(spectrum.values[-1]), 1e-300) and (lowest + task.alpha <= 0).any():
        raise DataError(
            f"{task.subject}: the kernels plus alpha must be positive definite; their smallest eigenvalue is "
            f"{lowest:.3g}. Use a Mercer kernel, or raise alpha above {-lowest:.3g}."
        )
    answers = {float(alpha): spectrum.solve(float(alpha), sides) for alpha in np.unique(task.alpha)}
    return answers, spectrum.compute_residual(task.alpha, answers, sides)


def assemble(task: Task, equations: Any, rows: Array, answers: Any, method: str) -> tuple[Any, float]:
    """Return the state that `answers` make, and the objective alpha a' (y - b).

    `answers` holds by penalty the solutions u of the equations and the diagonal of the inverse matrix. With an
    intercept b, the solution v of the constant's side gives b = s'u / s'v with s the roots of the weights, and u - b v.
    """
    n_targets = equations.right.shape[1]
    dual, intercept = np.empty((len(equations.roots), n_targets)), np.zeros(n_targets)
    left_out = np.empty_like(dual) if task.leave_out else None
    objective, safe = 0.0, np.where(equations.roots > 0, equations.roots, 1.0)
    for t in range(n_targets):
        solution, inverse = answers[float(task.alpha[t])]
        u, right = solution[:, t], equations.right[:, t]
        if task.intercept:
            # Stationarity in b asks that s'u = 0 for the coefficients of y - b: s'(u - b v) = 0 gives b.
            v = solution[:, -1]
            intercept[t] = (equations.roots @ u) / (equations.roots @ v)
            u = u - intercept[t] * v
            # The diagonal of the inverse after the constant is projected out (a rank-one change).
            inverse = None if inverse is None else inverse - v**2 / (equations.roots @ v)
        objective += float(task.alpha[t]) * float(u @ (right - intercept[t] * equations.roots))
        dual[:, t] = equations.roots * u
        if left_out is not None:
            # The residual of row i by the model of all other rows is u_i / (A^-1)_ii.
            left_out[:, t] = (right - u / np.where(inverse > 0, inverse, 1.0)) / safe
    return KernelRidgeState(rows, dual, intercept, left_out, method), objective
