"""Laplace's approximation in array-API operations, for rows on a device: the kernel matrix, and B with its factor.

Formulas and Newton's steps are those of :mod:`mercer.gaussian_process._laplace`. At most three n x n matrices are live:
K, B and its factor while the library makes that; else K and the factor, or the inverse in the place of the factor.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.device_matrices import (
    centre_rows,
    factorise_on_device,
    fill_kernel_blocks,
    invert_lower,
    list_lower_blocks,
    list_row_blocks,
    mark_diagonal,
    solve_lower,
    sum_block_slopes,
)
from mercer._types import Array
from mercer.gaussian_process._laplace import (
    NO_GAIN,
    LaplaceEvidence,
    LaplaceModel,
    Mode,
    average_sigmoids,
    compute_mode_slope,
)
from mercer.kernels import Kernel
from mercer.kernels.array_form import compute_diagonal

# Values in a tile of kernel values between rows to predict and points: 1 GiB of float64.
_TILE = 2**27
# Rows whose sigmoids are averaged at a time: 161 nodes for each are 84 MB of float64.
_ROWS = 2**16
# The step of the sum for the normal distribution function: its error, exp(-(pi / step)^2), is 7e-18.
_STEP = 0.5
# Explanation of that sum: those left out are below exp(-6.25^2) = 1e-17 of the first.
_TERMS = 12


@dataclass(frozen=True)
class DeviceLaplaceEvidence(LaplaceEvidence):
    """The approximate evidence in arrays of the namespace `xp`, all in the widest type of the device."""

    def count_bytes(self) -> float:
        return 24.0 * self.X.shape[0] ** 2

    @property
    def _no_gain(self) -> float:
        # In float32 the same number of roundings.
        return NO_GAIN * float(self.xp.finfo(self.X.dtype).eps) / float(np.finfo(np.float64).eps)

    def _prepare_rows(self, kernel: Kernel) -> Array:
        return centre_rows(kernel, self.xp, self.X)

    def _fill_kernel_matrix(self, kernel: Kernel, rows: Array, threads: int) -> Array:
        # White noise is on the diagonal alone.
        return fill_kernel_blocks(kernel, self.xp, rows, compute_diagonal(kernel, self.xp, rows), mirrored=True)

    def _compute_likelihood(self, f: Array) -> float:
        xp = self.xp
        z = xp.where(self.t > 0, -f, f)
        # -log sigmoid(-z) = log(1 + exp(z)), which neither overflows nor rounds to zero in this form.
        return -float(self.weight @ (xp.maximum(z, xp.zeros_like(z)) + xp.log1p(xp.exp(-xp.abs(z)))))

    def _solve(self, L: Array, vector: Array) -> Array:
        xp = self.xp
        return solve_lower(xp, L, solve_lower(xp, L, vector[:, None]), transposed=True)[:, 0]

    def _clear_upper(self, L: Array) -> Array:
        # The libraries return factors with zeros above the diagonal.
        return L

    def _factorise_at(self, K: Array, f: Array, threads: int) -> tuple[Array, Array, Array, Array] | None:
        xp, pi = self.xp, _compute_sigmoids(self.xp, f)
        root = xp.sqrt(self.weight * pi * _compute_sigmoids(xp, -f))
        B = xp.zeros_like(K)
        for here, there in list_lower_blocks(K.shape[0]):
            values = root[here][:, None] * K[here, there] * root[there]
            B[here, there] = xp.where(mark_diagonal(xp, values), 1.0 + values, values) if here == there else values
        L = factorise_on_device(xp, B)
        return None if L is None else (pi, root, L, self.weight * (self.t - pi))

    def _compute_slope(self, kernel: Kernel, rows: Array, K: Array, mode: Mode, threads: int) -> Array:
        """Compute 1/2 sum_ij G_ij dK_ij as in memory; the inverse takes the place of the factor of `mode`."""
        xp, V, root, slope = self.xp, mode.L, mode.root, mode.slope
        invert_lower(xp, V)
        inverse: Array = 0.0
        for here in list_row_blocks(V.shape[0]):
            inverse = inverse + xp.sum(V[here, :] ** 2, axis=0)
        s = compute_mode_slope(inverse, mode.pi, _compute_sigmoids(xp, -mode.f))
        q = s - root * (V.T @ (V @ (root * (K @ s))))

        def weigh(here: slice, there: slice) -> Array:
            tile = V[here.start :, here].T @ V[here.start :, there]
            G = (slope + q)[here][:, None] * slope[there] + slope[here][:, None] * q[there]
            return G - root[here][:, None] * tile * root[there]

        return sum_block_slopes(kernel, xp, rows, weigh)[0]


def predict_latent_on_device(
    model: LaplaceModel, kernel: Kernel, xp: Any, points: Array, X: Array, variance: bool
) -> tuple[Array, Array]:
    """Return the mean of the latent values at rows `X` and, if `variance`, their variance, given the points."""
    # Small coordinates lose fewer digits in |x|^2 + |y|^2 - 2 x.y; values of a stationary kernel do not change.
    shift = xp.mean(points, axis=0) if kernel.stationary else 0.0 * points[0, :]
    points, X = points - shift, X - shift
    size, means, variances = max(1, _TILE // points.shape[0]), [], []
    for start in range(0, X.shape[0], size):
        rows = X[start : min(start + size, X.shape[0]), :]
        K = kernel.of(xp, rows, points)
        means.append(K @ model.slope)
        if variance:
            half = solve_lower(xp, model.L_, model.W_sr_[:, None] * K.T)
            rest = compute_diagonal(kernel, xp, rows) - xp.sum(half * half, axis=0)
            # Variances below zero are rounding.
            variances.append(xp.maximum(rest, xp.zeros_like(rest)))
    return xp.concat(means), xp.concat(variances) if variance else None


def average_sigmoids_on_device(xp: Any, mean: Array, variance: Array) -> Array:
    """Compute the mean of sigmoid(f) for Gaussian f, some rows at a time."""
    parts = [slice(start, min(start + _ROWS, mean.shape[0])) for start in range(0, mean.shape[0], _ROWS)]
    return xp.concat(
        [
            average_sigmoids(
                mean[part],
                variance[part],
                xp,
                lambda z: _compute_sigmoids(xp, z),
                lambda z: _compute_normal_shares(xp, z),
            )
            for part in parts
        ]
    )


def _compute_sigmoids(xp: Any, z: Array) -> Array:
    """Compute 1 / (1 + exp(-z)) with all digits of small values."""
    small = xp.exp(-xp.abs(z))
    return xp.where(z < 0, small, xp.ones_like(small)) / (1.0 + small)


def _compute_normal_shares(xp: Any, x: Array) -> Array:
    """Compute the normal distribution function, which the array-API standard does not have.

    The upper tail at z sqrt(2), for z > 0, is z / (2 pi) exp(-z^2) times the integral of exp(-t^2) / (z^2 + t^2) over
    all t. A sum with equal steps h is exact to rounding if what the poles at t = +-iz add, 1 / (1 + exp(2 pi z / h)),
    is put in for z < pi / h (F. Matta and A. Reichel, 1971). The nodes lie between the multiples of h, away from t = 0.
    """
    z = xp.abs(x) / float(np.sqrt(2.0))
    square, total = z * z, xp.zeros_like(z)
    for t in _STEP * (np.arange(_TERMS) + 0.5):
        total = total + float(np.exp(-t * t)) / (square + float(t * t))
    poles = xp.where(z < np.pi / _STEP, _compute_sigmoids(xp, -2.0 * np.pi / _STEP * z), xp.zeros_like(z))
    tail = _STEP / np.pi * z * xp.exp(-square) * total + poles
    return xp.where(x < 0, tail, 1.0 - tail)
