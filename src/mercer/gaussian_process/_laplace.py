"""Laplace's approximation of a Gaussian process seen through a logistic likelihood (Williams and Barber, 1998).

The posterior of the latent values f is taken to be Gaussian about its mode, with the curvature there. With W the
second derivatives of the negative log-likelihood, B = 1 + W^(1/2) K W^(1/2) and a = K^-1 f,

    log q(y) = -1/2 a^T f + sum_i w_i log sigmoid(s_i f_i) - 1/2 log |B|,    s_i = -1 or 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, ndtr

from mercer._plain import plain
from mercer._solver.tiled_cholesky import factorise, forward, inverse_factor, inverse_tile, lower_tiles, solve
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._stored import Stored, alike, floats, integers
from mercer._types import Array
from mercer.gaussian_process._evidence import Evidence, list_row_tiles
from mercer.kernels import Kernel

# Newton steps end where the log posterior, in float64, gains less than this share of itself.
NO_GAIN = 1e-13


@plain
@dataclass(frozen=True, eq=False)
class LaplaceModel:
    """A fitted problem of two classes: the arrays that predictions need.

    Attributes
    ----------
    rows : ndarray
        The indices of its rows among those of the fit.
    y_train_, weight : ndarray
        0 and 1, and the weights.
    pi_, W_sr_ : ndarray
        At the mode, the probabilities of class 1 and the roots of W.
    L_ : ndarray
        The lower factor of B.
    slope : ndarray
        Derivatives of the log-likelihood at the mode; the latent mean at x is k(x)^T slope.
    latent : ndarray
        The mode.
    log_marginal_likelihood_value_ : float
    """

    rows: Array
    y_train_: Array
    weight: Array
    pi_: Array
    W_sr_: Array
    L_: Array
    slope: Array
    latent: Array
    log_marginal_likelihood_value_: float

    # The factor is as large as the kernel matrix: it stays where the rows are.
    _moves_with_model: ClassVar[bool] = True
    _stored: ClassVar[dict[str, Stored]] = {
        "rows": integers("own", low=0),
        **alike(floats("own"), "y_train_", "weight", "pi_", "W_sr_", "slope", "latent"),
        "L_": floats("own, own"),
    }


@dataclass(frozen=True)
class Mode:
    """The mode of the latent values f, with a = K^-1 f, probabilities, roots of W, the factor of B and the evidence."""

    f: Array
    a: Array
    pi: Array
    root: Array
    L: Array
    slope: Array
    value: float


@dataclass(frozen=True)
class LaplaceEvidence(Evidence):
    """The approximate evidence of targets 0 and 1; `start` are latent values to begin Newton's steps with.

    The evidence of rows on a device has another namespace `xp` and its own products, factors and sums.
    """

    X: Array
    t: Array
    weight: Array
    max_steps: int
    start: Array
    xp: Any = np

    def count_bytes(self) -> float:
        return 32.0 * len(self.t) ** 2

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        nothing = np.zeros(kernel.n_dims)
        rows = self._prepare_rows(kernel)
        K = self._fill_kernel_matrix(kernel, rows, threads)
        # Hyper-parameters so large that the kernel overflows are as bad as can be.
        if not self.xp.all(self.xp.isfinite(self.xp.linalg.diagonal(K))):
            return -np.inf, nothing
        mode = self._find_mode(K, threads)
        if mode is None or not np.isfinite(mode.value):
            return -np.inf, nothing
        return mode.value, self._compute_slope(kernel, rows, K, mode, threads) if slope else nothing

    def fitted(self, kernel: Kernel, rows: Array, threads: int) -> LaplaceModel:
        """Return the record that predictions need; `rows` are the indices of its rows among those of the fit."""
        mode = self._find_mode(self._fill_kernel_matrix(kernel, self._prepare_rows(kernel), threads), threads)
        assert mode is not None, "a search ends only where there is a mode"
        return LaplaceModel(
            rows, self.t, self.weight, mode.pi, mode.root, self._clear_upper(mode.L), mode.slope, mode.f, mode.value
        )

    def _prepare_rows(self, kernel: Kernel) -> Any:
        return kernel.prepare(self.X)

    def _fill_kernel_matrix(self, kernel: Kernel, rows: Any, threads: int) -> Array:
        n = len(rows)
        K, tiles, parts = np.empty((n, n)), lower_tiles(n), list_row_tiles(rows)

        def fill(number: int) -> None:
            here, there = tiles[number]
            K[here, there] = kernel.between(parts[here.start], parts[there.start])
            # Newton's steps multiply by the whole K, so that both triangles are filled.
            K[there, here] = K[here, there].T

        run_numbered(fill, len(tiles), threads)
        return K

    def _compute_likelihood(self, f: Array) -> float:
        return float(self.weight @ log_expit(np.where(self.t > 0, f, -f)))

    def _solve(self, L: Array, vector: Array) -> Array:
        return solve(L, vector[:, None])[:, 0]

    def _clear_upper(self, L: Array) -> Array:
        return np.tril(L)

    def _find_mode(self, K: Array, threads: int) -> Mode | None:
        """Find the mode by Newton steps, halved until the posterior rises; each needs a Cholesky factor."""
        f = self.start
        a = self.xp.zeros_like(f)
        no_gain = self._no_gain
        # The coefficients a of a given start are not known, so its first step is accepted whatever it gains.
        best = -np.inf if self.xp.any(f != 0.0) else self._compute_likelihood(f)
        for _ in range(self.max_steps):
            new = self._make_newton_step(K, f, threads)
            if new is None:
                return None
            new_f, share = K @ new, 1.0
            value = self._compute_likelihood(new_f) - 0.5 * float(new @ new_f)
            # A fall within rounding is accepted: without the last step the mode would have half its digits only.
            least = best - no_gain * max(1.0, abs(best))
            while value < least and share > 1e-4:
                share *= 0.5
                trial, trial_f = a + share * (new - a), f + share * (new_f - f)
                value = self._compute_likelihood(trial_f) - 0.5 * float(trial @ trial_f)
                if value >= least:
                    new, new_f = trial, trial_f
            if value < least:
                break
            gain, a, f, best = value - best, new, new_f, value
            if gain <= no_gain * max(1.0, abs(value)):
                break
        factors = self._factorise_at(K, f, threads)
        if factors is None:
            return None
        pi, root, L, slope = factors
        # 1/2 log |B| is the sum of the logarithms of the diagonal of its Cholesky factor.
        half = float(self.xp.sum(self.xp.log(self.xp.linalg.diagonal(L))))
        return Mode(f, a, pi, root, L, slope, best - half)

    @property
    def _no_gain(self) -> float:
        return NO_GAIN

    def _make_newton_step(self, K: Array, f: Array, threads: int) -> Array | None:
        """Return the coefficients a = K^-1 f after a whole Newton step from `f`; None where B has no factor."""
        factors = self._factorise_at(K, f, threads)
        if factors is None:
            return None
        _, root, L, slope = factors
        # Newton's step in the form that never inverts K: a = b - W^(1/2) B^-1 W^(1/2) K b (Rasmussen, 3.4.3).
        b = root**2 * f + slope
        return b - root * self._solve(L, root * (K @ b))

    def _factorise_at(self, K: Array, f: Array, threads: int) -> tuple[Array, Array, Array, Array] | None:
        """Return probabilities, roots of W, the factor of B and the slope of the log-likelihood at `f`."""
        pi = expit(f)
        # sigmoid(-f) instead of 1 - pi: it keeps its digits where pi rounds to one.
        root = np.sqrt(self.weight * pi * expit(-f))
        # The eigenvalues of B are at least one and, with w = 1, at most 1 + n max(K) / 4: it is well conditioned even
        # if K is singular.
        B = root[:, None] * K
        B *= root
        np.einsum("ii->i", B)[...] += 1.0
        return None if factorise(B, threads) else (pi, root, B, self.weight * (self.t - pi))

    def _compute_slope(self, kernel: Kernel, rows: Any, K: Array, mode: Mode, threads: int) -> Array:
        """Compute 1/2 sum_ij G_ij dK_ij: the explicit part, and that by the change of the mode (Rasmussen, 5.5.1)."""
        V, root = inverse_factor(mode.L, threads), mode.root
        n = len(root)
        s = compute_mode_slope(np.einsum("ij,ij->j", V, V), mode.pi, expit(-mode.f))
        # df/dtheta = (1 + K W)^-1 dK slope (the mode solves f = K slope); q is s (1 + K W)^-1, so that its part is q^T
        # dK slope.
        q = s - root * (V.T @ (V @ (root * (K @ s))))
        tiles, total, parts = lower_tiles(n), SumTree(), list_row_tiles(rows)

        def sums(number: int) -> Array:
            here, there = tiles[number]
            G = np.outer(mode.slope[here], mode.slope[there])
            G -= root[here, None] * inverse_tile(V, here, there) * root[there]
            G += np.outer(q[here], mode.slope[there]) + np.outer(mode.slope[here], q[there])
            # Tiles below the diagonal stand for their mirror images too, which cancels the factor 1/2.
            return (0.5 if here == there else 1.0) * kernel.tile_sums(parts[here.start], parts[there.start], G)

        run_numbered(sums, len(tiles), threads, total.add)
        return np.asarray(total.total(), dtype=np.float64)


def compute_mode_slope(inverse: Array, pi: Array, rest: Array) -> Array:
    """Compute d log q / d f_i: minus half the posterior variance of f_i times dW_ii / df_i, since |B| depends on W.

    The variance is (1 - B^-1_ii) / W_ii and the derivative W_ii (1 - 2 pi_i). W_ii cancels, so that the diagonal
    `inverse` of B^-1 is all that is needed; `rest` is 1 - pi, with all its digits.
    """
    return -0.5 * (1.0 - inverse) * (rest - pi)


def predict_latent(model: LaplaceModel, kernel: Kernel, points: Any, X: Array, variance: bool) -> tuple[Array, Array]:
    """Return the mean of the latent values at rows X and, if `variance`, their variance."""
    K = kernel.between(kernel.prepare(X, like=points), points)
    mean = K @ model.slope
    if not variance:
        return mean, np.empty(0)
    # A model that comes from a device without float64 has float32.
    half = forward(model.L_.astype(np.float64, copy=False), model.W_sr_[:, None] * K.T)
    return mean, np.maximum(kernel.diagonal(X) - np.einsum("ij,ij->j", half, half), 0.0)


def average_sigmoids(
    mean: Array,
    variance: Array,
    xp: Any = np,
    sigmoid: Callable[[Array], Array] = expit,
    normal: Callable[[Array], Array] = ndtr,
) -> Array:
    """Compute the mean of sigmoid(f) for Gaussian f, by sums that are exact to rounding.

    It is the mean of sigmoid(mean + sd z) over normal z, and that of Phi((mean - t) / sd) over logistic t. Sums with
    equal steps are exact for the first where sd is small, for the second where it is large. Arrays of a namespace `xp`
    come with its logistic and normal distribution functions.
    """
    sd = xp.sqrt(variance)
    small = sd < 1.0
    large = xp.logical_not(small)
    # |z| <= 9: the normal density beyond is below 1e-17. The trapezoidal rule with step 0.25 is exact to rounding for
    # sd <= 1.
    z = np.arange(-36, 37) * 0.25
    # |t| <= 40: the logistic density beyond is below 1e-17.
    t = np.arange(-80, 81) * 0.5
    densities = 0.25 * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.5 * expit(t) * expit(-t)
    z, t, at_z, at_t = (xp.asarray(nodes, dtype=mean.dtype, device=mean.device) for nodes in (z, t, *densities))
    average = xp.empty_like(mean)
    average[small] = sigmoid(mean[small][:, None] + sd[small][:, None] * z) @ at_z
    average[large] = normal((mean[large][:, None] - t) / sd[large][:, None]) @ at_t
    return average
