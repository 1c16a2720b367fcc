"""The exact evidence in array-API operations, for rows on a device: one n x n matrix, and a second while factored.

The sums are those of :mod:`mercer.gaussian_process._evidence`. Kernels are made block by block into the matrix C, the
library factors it, the factor is inverted in its place, and derivatives are summed block by block against the inverse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.device_matrices import (
    centre_rows,
    compute_device_noise,
    factorise_on_device,
    fill_kernel_blocks,
    invert_lower,
    list_lower_blocks,
    list_row_blocks,
    mark_diagonal,
    solve_lower,
    sum_block_slopes,
)
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.gaussian_process._evidence import JITTERS, Evidence, Measurement, describe_indefinite, estimate_rounding
from mercer.kernels import Kernel
from mercer.kernels.array_form import compute_diagonal, sum_diagonal_slopes

# Step in the logarithms for central differences of kernel values: their error is about 1e-8 of the derivative.
_STEP = 1e-4


@dataclass(frozen=True)
class DeviceEvidence(Evidence):
    """By a Cholesky factor of all rows, in arrays of the namespace `xp`.

    Attributes
    ----------
    xp : module
    X : array of shape (n, d)
        Rows in the widest type of the device.
    Y : array of shape (n, k)
    noise : array of shape (n,)
    weight : array of shape (n,) or None
    """

    xp: Any
    X: Array
    Y: Array
    noise: Array
    weight: Array = None

    def count_bytes(self) -> float:
        # Two matrices of float64: the covariance, and its factor while it is made.
        return 16.0 * self.X.shape[0] ** 2

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        return self._measure_all(kernel, slope, False)[:2]

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        return self._measure_all(kernel, True, True)

    def _measure_all(self, kernel: Kernel, slope: bool, curvature: bool) -> Measurement:
        factored = self._factorise(kernel)
        if factored is None or not slope:
            return Measurement(-np.inf if factored is None else factored[2], np.zeros(len(kernel.theta)))
        V, alpha, value, _ = factored
        invert_lower(self.xp, V)
        gradient, balance = self._compute_slope(kernel, V, alpha)
        information = self._compute_information(kernel, V, alpha) if curvature else None
        return Measurement(value, gradient, information, self._estimate_rounding(kernel, alpha, balance, value))

    def _estimate_rounding(self, kernel: Kernel, alpha: Array, balance: Array, value: float) -> float:
        """Estimate the largest error of the value, from the diagonal of W (`balance`)."""
        xp = self.xp
        # W_ii = a_i^2 - C^-1_ii, so that 2 a_i^2 - W_ii = a_i^2 + C^-1_ii, which `estimate_rounding` asks for.
        shares = 2.0 * xp.sum(alpha**2, axis=1) - balance
        return estimate_rounding(
            float(xp.sum(self._compute_variances(kernel) * shares)), value, self.Y.shape[0] * self.Y.shape[1]
        )

    def fitted(self, kernel: Kernel, threads: int) -> dict[str, Any]:
        """Return the fitted attributes that predictions need, on the device."""
        factored = self._factorise(kernel)
        if factored is None:
            raise describe_indefinite(kernel)
        L, alpha, value, jitter = factored
        return {"L_": L, "alpha_": alpha, "jitter_": jitter, "log_marginal_likelihood_value_": value}

    def _compute_shared_noise(self, kernel: Kernel) -> Array:
        """Return the noise variance of each row that its weight divides."""
        return self.noise + compute_device_noise(kernel, self.xp, self.X)

    def _compute_variances(self, kernel: Kernel) -> Array:
        """Return the diagonal of the covariance of the targets."""
        diagonal = compute_diagonal(kernel, self.xp, self.X) + self.noise
        if self.weight is None:
            return diagonal
        d = self._compute_shared_noise(kernel)
        # A row of weight w is the mean of w equal rows, with 1/w of their noise.
        return diagonal + d / self.weight - d

    def _factorise(self, kernel: Kernel) -> tuple[Array, Array, float, float] | None:
        """Return the factor L, C^-1 Y, the log-likelihood and the jitter; None where no jitter is enough."""
        xp, diagonal = self.xp, self._compute_variances(kernel)
        mean = float(xp.mean(diagonal))
        if not np.isfinite(mean):
            return None
        # The matrix is made again for each jitter, so that it need not be kept beside its factor.
        for share in JITTERS:
            L = factorise_on_device(xp, self._fill_covariance(kernel, diagonal + share * mean))
            if L is not None:
                alpha = solve_lower(xp, L, solve_lower(xp, L, self.Y), transposed=True)
                return L, alpha, self._compute_value(kernel, L, alpha), share * mean
        return None

    def _fill_covariance(self, kernel: Kernel, diagonal: Array) -> Array:
        """Fill the blocks on and below the diagonal of the covariance of the targets."""
        return fill_kernel_blocks(kernel, self.xp, centre_rows(kernel, self.xp, self.X), diagonal)

    def _compute_value(self, kernel: Kernel, L: Array, alpha: Array) -> float:
        xp, (n, k) = self.xp, self.Y.shape
        value = -0.5 * float(xp.sum(self.Y * alpha)) - k * float(xp.sum(xp.log(xp.linalg.diagonal(L))))
        value -= 0.5 * n * k * float(np.log(2.0 * np.pi))
        if self.weight is not None:
            d = self._compute_shared_noise(kernel)
            # What w repetitions of one row add to the likelihood of their mean: w - 1 further terms of noise of
            # variance d, and the logarithm of w.
            repeated = (self.weight - 1.0) * xp.log(2.0 * np.pi * d) + xp.log(self.weight)
            value -= 0.5 * k * float(xp.sum(repeated))
        return value

    def _compute_information(self, kernel: Kernel, V: Array, alpha: Array) -> Array:
        """Return the average of observed and expected information, with dC a by central differences of products."""
        halves = []
        # The information is 1/2 sum (V dC_p a)(V dC_q a), with V the inverse of the factor: only products of dC_p with
        # a are needed, no matrix dC_p.
        for step in _STEP * np.eye(len(kernel.theta)):
            ahead, behind = kernel.with_theta(kernel.theta + step), kernel.with_theta(kernel.theta - step)
            halves.append(
                V
                @ ((self._multiply_covariance(ahead, alpha) - self._multiply_covariance(behind, alpha)) / (2.0 * _STEP))
            )
        stacked = self.xp.stack([self.xp.reshape(half, (-1,)) for half in halves])
        return 0.5 * to_numpy(stacked @ stacked.T).astype(np.float64)

    def _multiply_covariance(self, kernel: Kernel, alpha: Array) -> Array:
        """Multiply the covariance of the function by `alpha`, block by block; each serves for its mirror image too."""
        xp, X, rows = self.xp, centre_rows(kernel, self.xp, self.X), list_row_blocks(self.X.shape[0])
        own = compute_device_noise(kernel, xp, X)[:, None] * alpha
        own = own if self.weight is None else own / self.weight[:, None]
        sums = {here.start: own[here, :] for here in rows}
        for here, there in list_lower_blocks(self.X.shape[0]):
            values = kernel.of(xp, X[here, :], X[there, :])
            sums[here.start] = sums[here.start] + values @ alpha[there, :]
            if here != there:
                sums[there.start] = sums[there.start] + values.T @ alpha[here, :]
        return xp.concat([sums[here.start] for here in rows])

    def _compute_slope(self, kernel: Kernel, L: Array, alpha: Array) -> tuple[Array, Array]:
        """Return 1/2 sum_ij W_ij dC_ij and the diagonal of W = a a^T - C^-1; `L` is the inverse of the factor."""
        xp, X, k = self.xp, centre_rows(kernel, self.xp, self.X), self.Y.shape[1]

        def weigh(here: slice, there: slice) -> Array:
            return alpha[here, :] @ alpha[there, :].T - k * (L[here.start :, here].T @ L[here.start :, there])

        total, own = sum_block_slopes(kernel, xp, X, weigh)
        if self.weight is not None:
            # dC_ii = dk_ii + (1/w - 1) dd_i, and the likelihood of the repetitions falls by
            # k (w - 1) / (2 d_i) dd_i.
            factors = 0.5 * own * (1.0 / self.weight - 1.0)
            factors = factors - 0.5 * k * (self.weight - 1.0) / self._compute_shared_noise(kernel)
            further = sum_diagonal_slopes(kernel, xp, X, factors)
            further = further - sum_diagonal_slopes(kernel, xp, X, factors, itself=False)
            total = total + to_numpy(further).astype(np.float64)
        return total, own


def predict_on_device(
    kernel: Kernel, xp: Any, points: Array, L: Array, alpha: Array, X: Array, std: bool, cov: bool
) -> tuple[Array, Array, Array]:
    """Return means and, if `std` and `cov`, variances and the joint covariance at the rows `X`, given the points."""
    # Small coordinates lose fewer digits in |x|^2 + |y|^2 - 2 x.y; values of a stationary kernel do not change.
    shift = xp.mean(points, axis=0) if kernel.stationary else 0.0 * points[0, :]
    points, X, n = points - shift, X - shift, points.shape[0]
    # A tile has 2**27 values, 1 GiB: enough right-hand sides for a triangular solve to run at the speed of products.
    size, means, variances, joint = max(1, 2**27 // n), [], [], None
    for start in range(0, X.shape[0], size):
        rows = X[start : min(start + size, X.shape[0]), :]
        K = kernel.of(xp, rows, points)
        means.append(K @ alpha)
        if std:
            half = solve_lower(xp, L, K.T)
            # k(x, x) - |L^-1 k(X, x)|^2.
            variances.append(compute_diagonal(kernel, xp, rows) - xp.sum(half * half, axis=0))
    if cov:
        half = solve_lower(xp, L, kernel.of(xp, points, X))
        values = kernel.of(xp, X, X)
        joint = xp.where(mark_diagonal(xp, values), compute_diagonal(kernel, xp, X)[:, None], values) - half.T @ half
    return xp.concat(means), xp.concat(variances) if std else None, joint
