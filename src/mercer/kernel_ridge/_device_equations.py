"""The equations of kernel ridge regression on a device: the matrix is filled, factored and freed where the rows are."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._solver.device_matrices import (
    centre_rows,
    compute_device_noise,
    factorise_on_device,
    fill_kernel_blocks,
    invert_lower,
    list_row_blocks,
    mark_diagonal,
    solve_lower,
)
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.kernels import Kernel
from mercer.kernels.array_form import compute_diagonal


@dataclass
class DeviceEquations:
    """The equations (S K S + alpha I) u = S y with S the roots of the weights; sides and solutions are on the host.

    Attributes
    ----------
    kernel : Kernel
    xp : module
    X : array of shape (n, d)
        Rows on the device, in its widest type.
    roots, right : arrays of shape (n,) and (n, targets)
        S and S y.
    """

    kernel: Kernel
    xp: Any
    X: Array
    roots: np.ndarray
    right: np.ndarray
    _scale: Array = field(init=False)

    def __post_init__(self) -> None:
        self.X = centre_rows(self.kernel, self.xp, self.X)
        self._scale = self._put(self.roots)

    def _put(self, values: np.ndarray) -> Array:
        return self.xp.asarray(values, dtype=self.X.dtype, device=self.X.device)

    def list_sides(self, intercept: bool) -> np.ndarray:
        """Return the right-hand sides: the targets and, with an intercept, the constant."""
        return np.column_stack([self.right, self.roots]) if intercept else self.right

    def solve_by_factor(
        self, alpha: float, sides: np.ndarray, leave_out: bool, threads: int
    ) -> tuple[np.ndarray, np.ndarray | None, float] | None:
        """Solve by a Cholesky factor; see :meth:`mercer.kernel_ridge._exact.Equations.solve_by_factor`."""
        xp, right = self.xp, self._put(sides)
        L = factorise_on_device(xp, self._fill(alpha))
        if L is None:
            return None

        def solve(B: Array) -> Array:
            return solve_lower(xp, L, solve_lower(xp, L, B), transposed=True)

        solution, size = solve(right), np.maximum(np.linalg.norm(sides, axis=0), np.finfo(np.float64).tiny)
        for corrected in (False, True):
            left = right - self._multiply(alpha, solution)
            worst = float((np.sqrt(to_numpy(xp.sum(left**2, axis=0))) / size).max())
            if corrected or worst <= len(sides) * np.finfo(np.float64).eps:
                break
            # One step of iterative refinement costs n^2 and restores the digits that a large condition number lost.
            solution = solution + solve(left)
        inverse = None
        if leave_out:
            invert_lower(xp, L)
            inverse = to_numpy(xp.sum(xp.tril(L) ** 2, axis=0))
        return to_numpy(solution), inverse, worst

    def _fill(self, alpha: float) -> Array:
        """Return S K S + alpha I in the blocks on and below the diagonal."""
        xp, scale = self.xp, self._scale
        own = compute_diagonal(self.kernel, xp, self.X)
        matrix = fill_kernel_blocks(self.kernel, xp, self.X, own)
        matrix *= scale[:, None]
        matrix *= scale[None, :]
        for here in list_row_blocks(matrix.shape[0]):
            diagonal, block = own[here] * scale[here] ** 2 + alpha, matrix[here, here]
            matrix[here, here] = xp.where(mark_diagonal(xp, block), diagonal[:, None], block)
        return matrix

    def _multiply(self, alpha: float, B: Array) -> Array:
        """Multiply by the matrix, whose kernel values are computed again, rows by rows."""
        xp, scaled = self.xp, self._scale[:, None] * B
        noise, parts = compute_device_noise(self.kernel, xp, self.X), []
        for here in list_row_blocks(self.X.shape[0]):
            product = self.kernel.of(xp, self.X[here, :], self.X) @ scaled
            parts.append(product + noise[here][:, None] * scaled[here, :])
        return self._scale[:, None] * xp.concat(parts) + alpha * B

    def restore(self) -> None:
        """Do nothing: each factor is made of a matrix of its own."""
