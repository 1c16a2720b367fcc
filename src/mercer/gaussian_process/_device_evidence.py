"""The exact evidence of rows on a device, where all of it stays: one n x n matrix, and a second while it is factored.

The sums are those of :mod:`mercer.gaussian_process._evidence`. Kernels are made block by block into the matrix C, the
library factors it, the factor is inverted in its place, and derivatives are summed block by block against the inverse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.memory import readable
from mercer._source.namespace import library_of, to_numpy
from mercer.errors import DataError, MemoryForecastError
from mercer.gaussian_process._device_cholesky import factorised, invert_lower, lower_blocks, row_blocks, solve_lower
from mercer.gaussian_process._evidence import JITTERS, Evidence, Measurement, rounding_of
from mercer.kernels import Kernel
from mercer.kernels.array_form import diagonal_of, diagonal_slopes_of, slopes_of

__all__ = ["DeviceEvidence", "check_device_room", "own_noise_of", "predicted_on_device"]

Array = Any
# By how much logarithms are changed for a difference of kernels: its error is some 1e-8 of the derivative.
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

    def bytes_at_work(self) -> float:
        return 16.0 * self.X.shape[0] ** 2

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        return self._measured(kernel, slope, False)[:2]

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        return self._measured(kernel, True, True)

    def _measured(self, kernel: Kernel, slope: bool, curvature: bool) -> Measurement:
        found = self._factorised(kernel)
        if found is None or not slope:
            return Measurement(-np.inf if found is None else found[2], np.zeros(len(kernel.theta)))
        V, alpha, value, _ = found
        invert_lower(self.xp, V)
        gradient, balance = self._slope(kernel, V, alpha)
        information = self._information(kernel, V, alpha) if curvature else None
        return Measurement(value, gradient, information, self._rounding(kernel, alpha, balance, value))

    def _rounding(self, kernel: Kernel, alpha: Array, balance: Array, value: float) -> float:
        """About the most by which the value is off, from the diagonal of W."""
        xp = self.xp
        shares = 2.0 * xp.sum(alpha**2, axis=1) - balance
        return rounding_of(float(xp.sum(self._variances(kernel) * shares)), value, self.Y.shape[0] * self.Y.shape[1])

    def fitted(self, kernel: Kernel, threads: int) -> dict[str, Any]:
        """The attributes that predictions need, on the device."""
        found = self._factorised(kernel)
        if found is None:
            message = (
                f"The kernel, {kernel}, is not returning a positive definite matrix, even with {JITTERS[-1]:g} of its "
                f"diagonal added. Try gradually increasing the 'alpha' parameter of your GaussianProcessRegressor "
                f"estimator, or use a kernel that is positive definite."
            )
            raise DataError(message)
        L, alpha, value, jitter = found
        return {"L_": L, "alpha_": alpha, "jitter_": jitter, "log_marginal_likelihood_value_": value}

    def _centred(self, kernel: Kernel) -> Array:
        """Rows about their mean, where the kernel does not see it: squared lengths then cancel the least."""
        return self.X - self.xp.mean(self.X, axis=0) if kernel.stationary else self.X

    def _shared_noise(self, kernel: Kernel) -> Array:
        """The noise that a row's weight shares out."""
        return self.noise + own_noise_of(kernel, self.xp, self.X)

    def _variances(self, kernel: Kernel) -> Array:
        """The diagonal of the covariance of the targets."""
        diagonal = diagonal_of(kernel, self.xp, self.X) + self.noise
        if self.weight is None:
            return diagonal
        d = self._shared_noise(kernel)
        return diagonal + d / self.weight - d

    def _factorised(self, kernel: Kernel) -> tuple[Array, Array, float, float] | None:
        """The factor, its answer to the targets, their log-likelihood, and the jitter; None where there is none."""
        xp, diagonal = self.xp, self._variances(kernel)
        mean = float(xp.mean(diagonal))
        if not np.isfinite(mean):
            return None
        for share in JITTERS:
            L = factorised(xp, self._covariance(kernel, diagonal + share * mean))
            if L is not None:
                alpha = solve_lower(xp, L, solve_lower(xp, L, self.Y), transposed=True)
                return L, alpha, self._value(kernel, L, alpha), share * mean
        return None

    def _covariance(self, kernel: Kernel, diagonal: Array) -> Array:
        """The blocks on and below the diagonal of the covariance of the targets."""
        xp, X = self.xp, self._centred(kernel)
        n = X.shape[0]
        C = xp.zeros((n, n), dtype=X.dtype, device=X.device)
        for here, there in lower_blocks(n):
            values = kernel.of(xp, X[here, :], X[there, :])
            C[here, there] = xp.where(_own(xp, values), diagonal[here][:, None], values) if here == there else values
        return C

    def _value(self, kernel: Kernel, L: Array, alpha: Array) -> float:
        xp, (n, k) = self.xp, self.Y.shape
        value = -0.5 * float(xp.sum(self.Y * alpha)) - k * float(xp.sum(xp.log(xp.linalg.diagonal(L))))
        value -= 0.5 * n * k * float(np.log(2.0 * np.pi))
        if self.weight is not None:
            d = self._shared_noise(kernel)
            repeated = (self.weight - 1.0) * xp.log(2.0 * np.pi * d) + xp.log(self.weight)
            value -= 0.5 * k * float(xp.sum(repeated))
        return value

    def _information(self, kernel: Kernel, V: Array, alpha: Array) -> Array:
        """The average of observed and expected curvatures, with dC a by central differences of products."""
        halves = []
        for step in _STEP * np.eye(len(kernel.theta)):
            ahead, behind = kernel.with_theta(kernel.theta + step), kernel.with_theta(kernel.theta - step)
            halves.append(V @ ((self._product(ahead, alpha) - self._product(behind, alpha)) / (2.0 * _STEP)))
        stacked = self.xp.stack([self.xp.reshape(half, (-1,)) for half in halves])
        return 0.5 * to_numpy(stacked @ stacked.T).astype(np.float64)

    def _product(self, kernel: Kernel, alpha: Array) -> Array:
        """The covariance of the function times `alpha`, block by block."""
        xp, X, rows = self.xp, self._centred(kernel), row_blocks(self.X.shape[0])
        own = own_noise_of(kernel, xp, X)[:, None] * alpha
        own = own if self.weight is None else own / self.weight[:, None]
        return xp.concat(
            [sum((kernel.of(xp, X[here, :], X[at, :]) @ alpha[at, :] for at in rows), own[here, :]) for here in rows]
        )

    def _slope(self, kernel: Kernel, L: Array, alpha: Array) -> tuple[Array, Array]:
        """1/2 sum_ij W_ij dC_ij, W = a a^T - C^-1 by blocks of the inverse `L` of the factor; W's diagonal."""
        xp, X, k = self.xp, self._centred(kernel), self.Y.shape[1]
        n, total, own = X.shape[0], 0.0, []
        for here, there in lower_blocks(n):
            W = alpha[here, :] @ alpha[there, :].T - k * (L[here.start :, here].T @ L[here.start :, there])
            if here != there:
                total = total + slopes_of(kernel, xp, X[here, :], X[there, :], W)
                continue
            own.append(xp.linalg.diagonal(W))
            W = xp.where(_own(xp, W), xp.zeros_like(W), W)
            within = slopes_of(kernel, xp, X[here, :], X[here, :], W)
            total = total + 0.5 * (within + diagonal_slopes_of(kernel, xp, X[here, :], own[-1]))
        if self.weight is not None:
            factors = 0.5 * xp.concat(own) * (1.0 / self.weight - 1.0)
            factors = factors - 0.5 * k * (self.weight - 1.0) / self._shared_noise(kernel)
            total = total + diagonal_slopes_of(kernel, xp, X, factors)
            total = total - diagonal_slopes_of(kernel, xp, X, factors, itself=False)
        return to_numpy(total).astype(np.float64), xp.concat(own)


def _own(xp: Any, block: Array) -> Array:
    """Where a square block has its diagonal."""
    numbers = xp.arange(block.shape[0], device=block.device)
    return numbers[:, None] == numbers[None, :]


def own_noise_of(kernel: Kernel, xp: Any, X: Array) -> Array:
    """What the kernel of a row with itself exceeds that with an equal row by: white noise."""
    return diagonal_of(kernel, xp, X) - diagonal_of(kernel, xp, X, itself=False)


def check_device_room(subject: str, X: Array) -> None:
    """Raise if a GPU whose free memory torch tells has none for the matrix and its factor."""
    if library_of(X) != "torch" or X.device.type != "cuda":
        return
    import torch

    n, cached = X.shape[0], torch.cuda.memory_reserved(X.device) - torch.cuda.memory_allocated(X.device)
    free, needed = torch.cuda.mem_get_info(X.device)[0] + cached, 17.0 * n * n
    if needed > free:
        message = (
            f"{subject}: the {n} x {n} covariance of the rows and its factor need {readable(needed)} on {X.device}; "
            f"{readable(free)} is free. Take fewer rows, or move them to memory and use solver='inducing'."
        )
        raise MemoryForecastError(message)


def predicted_on_device(
    kernel: Kernel, xp: Any, points: Array, L: Array, alpha: Array, X: Array, std: bool, cov: bool
) -> tuple[Array, Array, Array]:
    """Means, and where asked for variances and the joint covariance, of rows beside the points."""
    shift = xp.mean(points, axis=0) if kernel.stationary else 0.0 * points[0, :]
    points, X, n = points - shift, X - shift, points.shape[0]
    # 2**27 numbers a tile, 1 GiB: enough right-hand sides for a solution of triangles to be a product.
    size, means, variances, joint = max(1, 2**27 // n), [], [], None
    for start in range(0, X.shape[0], size):
        rows = X[start : min(start + size, X.shape[0]), :]
        K = kernel.of(xp, rows, points)
        means.append(K @ alpha)
        if std:
            half = solve_lower(xp, L, K.T)
            variances.append(diagonal_of(kernel, xp, rows) - xp.sum(half * half, axis=0))
    if cov:
        half = solve_lower(xp, L, kernel.of(xp, points, X))
        values = kernel.of(xp, X, X)
        joint = xp.where(_own(xp, values), diagonal_of(kernel, xp, X)[:, None], values) - half.T @ half
    return xp.concat(means), xp.concat(variances) if std else None, joint
