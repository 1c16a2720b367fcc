"""The evidence by conjugate gradients: products with tiles of kernels, never a matrix of all pairs.

With a preconditioner P = R R^T + D, R the pivoted Cholesky factor of the kernel, and probes z ~ N(0, P),

    log |C| = log |P| + E[z^T P^(-1/2) log(P^(-1/2) C P^(-1/2)) P^(-1/2) z],
    tr(C^-1 dC) = E[(C^-1 z)^T dC P^-1 z] + c (tr(P^-1 dC) - E[(P^-1 z)^T dC P^-1 z]),

for any c: near to one where P is near to C, where probes then have little left to tell (a control variate). The
logarithm comes from the tridiagonal matrices of conjugate gradients (Lanczos' quadrature; Gardner and others, 2018).
Probes are drawn once, so that the estimate is a fixed smooth function of the hyper-parameters.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dpotrf

from mercer._solver.tiled_cholesky import forward, lower_tiles, solve
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer.gaussian_process._evidence import Evidence, Measurement, own_noise, own_noise_sums
from mercer.gaussian_process._pivots import pivoted_factor
from mercer.gaussian_process._terms import Terms
from mercer.kernels import Kernel

__all__ = ["IterativeEvidence", "IterativeTerms", "Products"]

Array = Any
PROBES = 16
# Relative residuals: of the climb, whose probes are coarser than this, and of predictions.
CLIMBING, PREDICTING = 1e-6, 1e-10
_MOST_STEPS = 1000
# Gains that are no use to climb for: shares of the deviation of the estimate, and of its value.
_SMALL, _LEAST = 0.01, 1e-9
_ROWS, _COLUMNS = 256, 4096


class Products:
    """The covariance C of the targets as products with it, and the preconditioner."""

    def __init__(self, evidence: "IterativeEvidence", kernel: Kernel, threads: int) -> None:
        self.kernel, self.threads = kernel, threads
        self.rows = kernel.prepare(evidence.X)
        self.others = kernel.prepare(evidence.X, like=self.rows)
        self.own_d = evidence.noise + own_noise(kernel, self.rows, evidence.X)
        self.d = self.own_d if evidence.weight is None else self.own_d / evidence.weight
        self.R = pivoted_factor(kernel, evidence.X, evidence.rank)[0]
        scaled = self.R / self.d[:, None]
        self.inner = np.tril(dpotrf(np.eye(self.R.shape[1]) + self.R.T @ scaled, lower=True, clean=True)[0])
        self.log_determinant = float(np.log(self.d).sum() + 2.0 * np.log(np.einsum("ii->i", self.inner)).sum())

    def times(self, V: Array) -> Array:
        """C V, row tile by row tile."""
        out, n = np.empty_like(V), len(V)

        def fill(number: int) -> None:
            here = slice(number * _ROWS, min((number + 1) * _ROWS, n))
            rows, total = self.rows.take(here), self.d[here, None] * V[here]
            for first in range(0, n, _COLUMNS):
                there = slice(first, min(first + _COLUMNS, n))
                total += self.kernel.between(rows, self.others.take(there)) @ V[there]
            out[here] = total

        run_numbered(fill, -(-n // _ROWS), self.threads)
        return out

    def preconditioned(self, V: Array) -> Array:
        """P^-1 V, by Woodbury's identity."""
        scaled = V / self.d[:, None]
        return scaled - (self.R @ solve(self.inner, self.R.T @ scaled)) / self.d[:, None]

    def inverse_part(self) -> Array:
        """F with P^-1 = D^-1 - F F^T."""
        return forward(self.inner, (self.R / self.d[:, None]).T).T.copy()

    def probes(self, seed: Array) -> Array:
        """Vectors drawn from N(0, P), the same for all hyper-parameters but for their scale."""
        generator = np.random.default_rng(np.random.SeedSequence([int(word) for word in seed]))
        rough = generator.standard_normal((len(self.d), PROBES)) * np.sqrt(self.d)[:, None]
        return rough + self.R @ generator.standard_normal((self.R.shape[1], PROBES))

    def solved(self, B: Array, tolerance: float) -> tuple[Array, Array, Array, float]:
        """C^-1 B column by column, the coefficients of conjugate gradients, and the largest relative residual.

        Coefficients are the lengths of moves (steps, columns) and the shares of earlier directions.
        """
        X, R = np.zeros_like(B), B.copy()
        Z = self.preconditioned(R)
        D, rho = Z.copy(), np.einsum("ij,ij->j", R, Z)
        norms = np.sqrt(np.einsum("ij,ij->j", B, B))
        lengths, shares, residual = [], [], 1.0
        for _ in range(_MOST_STEPS):
            Q = self.times(D)
            bend = np.einsum("ij,ij->j", D, Q)
            move = np.where((bend > 0) & (rho > 0), rho / np.where(bend > 0, bend, 1.0), 0.0)
            X += move * D
            R -= move * Q
            Z = self.preconditioned(R)
            rho, before = np.einsum("ij,ij->j", R, Z), rho
            share = np.where(before > 0, rho / np.where(before > 0, before, 1.0), 0.0)
            lengths.append(move)
            shares.append(share)
            residual = float((np.sqrt(np.einsum("ij,ij->j", R, R)) / np.where(norms > 0, norms, 1.0)).max())
            if residual <= tolerance:
                break
            D = Z + share * D
        return X, np.array(lengths), np.array(shares), residual


def log_quadratures(lengths: Array, shares: Array) -> Array:
    """e1^T log(T) e1 for each column, T the tridiagonal matrix that conjugate gradients have made."""
    found = np.empty(lengths.shape[1])
    for column in range(lengths.shape[1]):
        a, b = lengths[:, column], shares[:, column]
        stop = int(np.argmin(a > 0)) if not (a > 0).all() else len(a)
        a, b = a[:stop], b[: max(stop - 1, 0)]
        diagonal = 1.0 / a
        diagonal[1:] += b / a[:-1]
        values, vectors = eigh_tridiagonal(diagonal, np.sqrt(b) / a[:-1])
        found[column] = float(vectors[0] ** 2 @ np.log(np.maximum(values, 1e-300)))
    return found


@dataclass(frozen=True)
class IterativeEvidence(Evidence):
    """Estimated with `rank` columns of preconditioner; arrays as in :class:`ExactEvidence`."""

    exact: ClassVar[bool] = False

    X: Array
    Y: Array
    noise: Array
    weight: Array
    rank: int
    seed: Array

    def bytes_at_work(self) -> float:
        return 8.0 * len(self.Y) * (3.0 * self.rank + 6.0 * (PROBES + self.Y.shape[1]))

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        return self._measured(kernel, slope, threads)[:2]

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        return self._measured(kernel, True, threads)

    def _measured(self, kernel: Kernel, slope: bool, threads: int) -> Measurement:
        products = Products(self, kernel, threads)
        found = self._estimate(products, CLIMBING)
        if not slope or not np.isfinite(found.value):
            return Measurement(found.value, np.zeros(len(kernel.theta)))
        small = max(_SMALL * found.error, _LEAST * max(1.0, abs(found.value)))
        return Measurement(found.value, self._slope(products, found), None, small)

    def fitted(self, kernel: Kernel, threads: int) -> dict[str, Any]:
        """The attributes that predictions need, and how far off the estimate may be."""
        found = self._estimate(Products(self, kernel, threads), PREDICTING)
        return {
            "alpha_": found.alpha, "jitter_": 0.0, "log_marginal_likelihood_value_": found.value,
            "log_marginal_likelihood_error_": found.error, "residual_": found.residual,
        }  # fmt: skip

    def _estimate(self, products: Products, tolerance: float) -> "_Estimate":
        n, k = self.Y.shape
        Z = products.probes(self.seed)
        ready = products.preconditioned(Z)
        found, lengths, shares, residual = products.solved(np.hstack([self.Y, Z]), tolerance)
        alpha, solved = found[:, :k], found[:, k:]
        sizes = np.einsum("ij,ij->j", Z, ready)
        logs = sizes * log_quadratures(lengths[:, k:], shares[:, k:])
        value = -0.5 * float(np.einsum("ij,ij->", self.Y, alpha))
        value -= 0.5 * k * (products.log_determinant + float(logs.mean()) + n * float(np.log(2.0 * np.pi)))
        if self.weight is not None:
            weight, d = self.weight, products.own_d
            value -= 0.5 * k * float(((weight - 1.0) * np.log(2.0 * np.pi * d) + np.log(weight)).sum())
        error = 0.5 * k * float(logs.std(ddof=1)) / np.sqrt(PROBES)
        return _Estimate(value, alpha, solved, ready, error, residual, control_share(sizes, lengths[0, k:]))

    def _slope(self, products: Products, found: "_Estimate") -> Array:
        k, kernel, total, alpha = self.Y.shape[1], products.kernel, SumTree(), found.alpha
        tiles, share, control = lower_tiles(len(alpha)), 0.5 * k / PROBES, k * found.control
        ready, beyond, factor = found.ready, found.solved - found.control * found.ready, products.inverse_part()

        def sums(number: int) -> Array:
            here, there = tiles[number]
            W = alpha[here] @ alpha[there].T - share * (beyond[here] @ ready[there].T + ready[here] @ beyond[there].T)
            W += control * (factor[here] @ factor[there].T)
            if here == there:
                np.einsum("ii->i", W)[...] -= control / products.d[here]
            slopes = kernel.tile_sums(products.rows.take(here), products.others.take(there), W)
            return (0.5 if here == there else 1.0) * slopes

        run_numbered(sums, len(tiles), products.threads, total.add)
        by_d = 0.5 * (alpha**2).sum(axis=1) - share * (beyond * ready).sum(axis=1)
        by_d -= 0.5 * control * (1.0 / products.d - (factor**2).sum(axis=1))
        if self.weight is not None:
            by_d = by_d / self.weight - 0.5 * k * (self.weight - 1.0) / products.own_d
        return total.total() + own_noise_sums(kernel, products.rows, self.X, by_d)


@dataclass(frozen=True)
class _Estimate:
    """The evidence and its deviation, C^-1 Y, C^-1 z and P^-1 z of the probes, the residual, and the share c."""

    value: float
    alpha: Array
    solved: Array
    ready: Array
    error: float
    residual: float
    control: float


def control_share(sizes: Array, lengths: Array) -> float:
    """The share c of least variance for dC = C, in [0, 1], by the regression of z^T P^-1 z on (P^-1 z)^T C P^-1 z.

    The latter are `sizes`, the former's values, over the lengths of the first moves of conjugate gradients.
    """
    images = np.divide(sizes, lengths, out=np.zeros_like(sizes), where=lengths > 0)
    images = images - images.mean()
    spread = float(images @ images)
    return float(np.clip(images @ sizes / spread, 0.0, 1.0)) if spread > 0.0 else 1.0


@dataclass(frozen=True)
class IterativeTerms(Terms):
    """By conjugate gradients for each row to predict."""

    products: Products

    def solved(self, Kt: Array) -> Array:
        return self.products.solved(np.array(Kt, order="C"), PREDICTING)[0]
