"""Laplace's approximation of a Gaussian process seen through a logistic likelihood (Williams and Barber, 1998).

The posterior of the latent values f is taken to be Gaussian about its mode, with the curvature there. With W the
second derivatives of the negative log-likelihood, B = 1 + W^(1/2) K W^(1/2) and a = K^-1 f,

    log q(y) = -1/2 a^T f + sum_i w_i log sigmoid(s_i f_i) - 1/2 log |B|,    s_i = -1 or 1.
"""

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

__all__ = ["LaplaceEvidence", "LaplaceModel", "average_sigmoids", "predict_latent"]

# Newton steps end where the log posterior gains less than this share of itself.
_NO_GAIN = 1e-13
# Columns of a tile.
_COLUMNS = 256


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

    _stored: ClassVar[dict[str, Stored]] = {
        "rows": integers("own", low=0),
        **alike(floats("own"), "y_train_", "weight", "pi_", "W_sr_", "slope", "latent"),
        "L_": floats("own, own"),
    }


@dataclass(frozen=True)
class _Mode:
    """The mode of the latent values, and what belongs to it."""

    f: Array
    a: Array
    pi: Array
    root: Array
    L: Array
    slope: Array
    value: float


@dataclass(frozen=True)
class LaplaceEvidence(Evidence):
    """The approximate evidence of targets 0 and 1; `start` are latent values to begin Newton's steps with."""

    X: Array
    t: Array
    weight: Array
    max_steps: int
    start: Array

    def count_bytes(self) -> float:
        return 32.0 * len(self.t) ** 2

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        nothing = np.zeros(kernel.n_dims)
        rows = kernel.prepare(self.X)
        K = self._fill_kernel_matrix(kernel, rows, threads)
        # Hyper-parameters so large that the kernel overflows are as bad as can be.
        if not np.isfinite(np.einsum("ii->i", K)).all():
            return -np.inf, nothing
        mode = self._find_mode(K, threads)
        if mode is None or not np.isfinite(mode.value):
            return -np.inf, nothing
        return mode.value, self._compute_slope(kernel, rows, K, mode, threads) if slope else nothing

    def fitted(self, kernel: Kernel, rows: Array, threads: int) -> LaplaceModel:
        """Return the record that predictions need; `rows` are the indices of its rows among those of the fit."""
        mode = self._find_mode(self._fill_kernel_matrix(kernel, kernel.prepare(self.X), threads), threads)
        assert mode is not None, "a climb ends only where there is a mode"
        return LaplaceModel(
            rows, self.t, self.weight, mode.pi, mode.root, np.tril(mode.L), mode.slope, mode.f, mode.value
        )

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

    def _find_mode(self, K: Array, threads: int) -> _Mode | None:
        """Find the mode by Newton steps, halved until the posterior rises; each needs a Cholesky factor."""
        f = self.start
        a = np.zeros_like(f)
        # The coefficients a of a given start are not known, so its first step is accepted whatever it gains.
        best = -np.inf if f.any() else self._compute_likelihood(f)
        for _ in range(self.max_steps):
            factors = self._factorise_at(K, f, threads)
            if factors is None:
                return None
            pi, root, L, slope = factors
            # Newton's step in the form that never inverts K: a = b - W^(1/2) B^-1 W^(1/2) K b (Rasmussen, 3.4.3).
            b = root**2 * f + slope
            new = b - root * solve(L, (root * (K @ b))[:, None])[:, 0]
            new_f, share = K @ new, 1.0
            value = self._compute_likelihood(new_f) - 0.5 * float(new @ new_f)
            # A fall within rounding is accepted: without the last step the mode would have half its digits only.
            least = best - _NO_GAIN * max(1.0, abs(best))
            while value < least and share > 1e-4:
                share *= 0.5
                trial, trial_f = a + share * (new - a), f + share * (new_f - f)
                value = self._compute_likelihood(trial_f) - 0.5 * float(trial @ trial_f)
                if value >= least:
                    new, new_f = trial, trial_f
            if value < least:
                break
            gain, a, f, best = value - best, new, new_f, value
            if gain <= _NO_GAIN * max(1.0, abs(value)):
                break
        factors = self._factorise_at(K, f, threads)
        if factors is None:
            return None
        pi, root, L, slope = factors
        # 1/2 log |B| is the sum of the logarithms of the diagonal of its Cholesky factor.
        return _Mode(f, a, pi, root, L, slope, best - float(np.log(np.einsum("ii->i", L)).sum()))

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

    def _compute_slope(self, kernel: Kernel, rows: Any, K: Array, mode: _Mode, threads: int) -> Array:
        """Compute 1/2 sum_ij G_ij dK_ij: the explicit part, and that by the change of the mode (Rasmussen, 5.5.1)."""
        V, root = inverse_factor(mode.L, threads), mode.root
        n = len(root)
        explained = np.empty(n)

        def columns(number: int) -> None:
            part = slice(number * _COLUMNS, min((number + 1) * _COLUMNS, n))
            half = V @ (root[:, None] * K[:, part])
            # Column j has the squared length k_j^T W^(1/2) B^-1 W^(1/2) k_j: how far the labels reduce the variance of
            # f_j.
            explained[part] = np.einsum("ij,ij->j", half, half)

        run_numbered(columns, -(-n // _COLUMNS), threads)
        # Third derivatives of the log-likelihood: log |B| depends on the mode through W.
        third = self.weight * mode.pi * (1.0 - mode.pi) * (1.0 - 2.0 * mode.pi)
        # s_i = d log q / d f_i: minus half the posterior variance of f_i times dW_ii / df_i.
        s = -0.5 * (np.einsum("ii->i", K) - explained) * third
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


def predict_latent(model: LaplaceModel, kernel: Kernel, points: Any, X: Array, variance: bool) -> tuple[Array, Array]:
    """Return the mean of the latent values at rows X and, if `variance`, their variance."""
    K = kernel.between(kernel.prepare(X, like=points), points)
    mean = K @ model.slope
    if not variance:
        return mean, np.empty(0)
    half = forward(model.L_, model.W_sr_[:, None] * K.T)
    return mean, np.maximum(kernel.diagonal(X) - np.einsum("ij,ij->j", half, half), 0.0)


def average_sigmoids(mean: Array, variance: Array) -> Array:
    """Compute the mean of sigmoid(f) for Gaussian f, by sums that are exact to rounding.

    It is the mean of sigmoid(mean + sd z) over normal z, and that of Phi((mean - t) / sd) over logistic t. Sums with
    equal steps are exact for the first where sd is small, for the second where it is large.
    """
    sd = np.sqrt(variance)
    # |z| <= 9: the normal density beyond is below 1e-17. The trapezoidal rule with step 0.25 is exact to rounding for
    # sd <= 1.
    z = np.arange(-36, 37) * 0.25
    narrow = expit(mean[:, None] + np.minimum(sd, 1.0)[:, None] * z) @ (
        0.25 * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    )
    # |t| <= 40: the logistic density beyond is below 1e-17.
    t = np.arange(-80, 81) * 0.5
    wide = ndtr((mean[:, None] - t) / np.maximum(sd, 1.0)[:, None]) @ (0.5 * expit(t) * expit(-t))
    return np.where(sd < 1.0, narrow, wide)
