"""The evidence by conjugate gradients: products with tiles of kernel values, without a matrix of all pairs.

With a preconditioner P = R R^T + D, R the pivoted Cholesky factor of the kernel, and probes z ~ N(0, P),

    log |C| = log |P| + E[z^T P^(-1/2) log(P^(-1/2) C P^(-1/2)) P^(-1/2) z],
    tr(C^-1 dC) = E[(C^-1 z)^T dC P^-1 z] + c (tr(P^-1 dC) - E[(P^-1 z)^T dC P^-1 z]),

for any c. This is a control variate: where P is close to C, c is close to one and the estimate has little variance. The
logarithm comes from the tridiagonal matrices of conjugate gradients (Lanczos quadrature; Gardner and others, 2018).
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
from mercer._types import Array
from mercer.gaussian_process._evidence import Evidence, Measurement, compute_own_noise, sum_own_noise
from mercer.gaussian_process._explained_covariance import Explanation
from mercer.gaussian_process._inducing import factorise_pivoted
from mercer.kernels import Kernel

# Random vectors of an estimate: its deviation falls with the root of their number, its cost grows with it.
PROBES = 16
# Relative residual of a search: the probes' error is larger than this.
CLIMBING = 1e-6
# Relative residual of predictions.
PREDICTING = 1e-10
# The largest number of conjugate gradient steps.
_MOST_STEPS = 1000
# Gains not worth a step of the search: this share of the deviation of the estimate,
_SMALL = 0.01
# or this share of its value.
_LEAST = 1e-9
# Rows and columns of a tile of kernel values: 8 MB of float64.
_ROWS = 256
_COLUMNS = 4096


class Products:
    """Products with the covariance C of the targets, and with its preconditioner."""

    def __init__(self, evidence: "IterativeEvidence", kernel: Kernel, threads: int) -> None:
        self.kernel, self.threads = kernel, threads
        self.rows = kernel.prepare(evidence.X)
        self.others = kernel.prepare(evidence.X, like=self.rows)
        self.own_d = evidence.noise + compute_own_noise(kernel, self.rows, evidence.X)
        self.d = self.own_d if evidence.weight is None else self.own_d / evidence.weight
        self.R = factorise_pivoted(kernel, evidence.X, evidence.rank)[0]
        scaled = self.R / self.d[:, None]
        self.inner = np.tril(dpotrf(np.eye(self.R.shape[1]) + self.R.T @ scaled, lower=True, clean=True)[0])
        self.log_determinant = float(np.log(self.d).sum() + 2.0 * np.log(np.einsum("ii->i", self.inner)).sum())

    def multiply(self, V: Array) -> Array:
        """Compute C V, tile of rows by tile of rows."""
        out, n = np.empty_like(V), len(V)

        def fill(number: int) -> None:
            here = slice(number * _ROWS, min((number + 1) * _ROWS, n))
            rows, total = self.rows.take(here), self.d[here, None] * V[here]
            # Tiles of columns: kernel values exist for one tile only.
            for first in range(0, n, _COLUMNS):
                there = slice(first, min(first + _COLUMNS, n))
                total += self.kernel.between(rows, self.others.take(there)) @ V[there]
            out[here] = total

        run_numbered(fill, -(-n // _ROWS), self.threads)
        return out

    def precondition(self, V: Array) -> Array:
        """Compute P^-1 V by Woodbury's identity."""
        scaled = V / self.d[:, None]
        return scaled - (self.R @ solve(self.inner, self.R.T @ scaled)) / self.d[:, None]

    def compute_inverse_part(self) -> Array:
        """Return F such that P^-1 = D^-1 - F F^T."""
        return forward(self.inner, (self.R / self.d[:, None]).T).T.copy()

    def draw_probes(self, seed: Array) -> Array:
        """Draw vectors from N(0, P), by the same random numbers for all hyper-parameters."""
        generator = np.random.default_rng(np.random.SeedSequence([int(word) for word in seed]))
        rough = generator.standard_normal((len(self.d), PROBES)) * np.sqrt(self.d)[:, None]
        return rough + self.R @ generator.standard_normal((self.R.shape[1], PROBES))

    def solve_columns(self, B: Array, tolerance: float) -> tuple[Array, Array, Array, float]:
        """Solve C X = B; return X, the coefficients of conjugate gradients, and the largest relative residual.

        The coefficients are the step lengths, shape (steps, columns), and the factors of earlier directions.
        """
        X, R = np.zeros_like(B), B.copy()
        Z = self.precondition(R)
        # rho = r^T P^-1 r, which gives step length and turn.
        D, rho = Z.copy(), np.einsum("ij,ij->j", R, Z)
        norms = np.sqrt(np.einsum("ij,ij->j", B, B))
        lengths, shares, residual = [], [], 1.0
        for _ in range(_MOST_STEPS):
            Q = self.multiply(D)
            bend = np.einsum("ij,ij->j", D, Q)
            # A column whose residual is zero stays where it is, while the others go on.
            move = np.where((bend > 0) & (rho > 0), rho / np.where(bend > 0, bend, 1.0), 0.0)
            X += move * D
            R -= move * Q
            Z = self.precondition(R)
            rho, before = np.einsum("ij,ij->j", R, Z), rho
            share = np.where(before > 0, rho / np.where(before > 0, before, 1.0), 0.0)
            lengths.append(move)
            shares.append(share)
            residual = float((np.sqrt(np.einsum("ij,ij->j", R, R)) / np.where(norms > 0, norms, 1.0)).max())
            if residual <= tolerance:
                break
            D = Z + share * D
        return X, np.array(lengths), np.array(shares), residual


def compute_log_quadratures(lengths: Array, shares: Array) -> Array:
    """Compute e1^T log(T) e1 for each column, with T the tridiagonal matrix of its conjugate gradients."""
    quadratures = np.empty(lengths.shape[1])
    for column in range(lengths.shape[1]):
        a, b = lengths[:, column], shares[:, column]
        stop = int(np.argmin(a > 0)) if not (a > 0).all() else len(a)
        a, b = a[:stop], b[: max(stop - 1, 0)]
        # Conjugate gradients are Lanczos' method: T has 1 / a_i + b_(i-1) / a_(i-1) on its diagonal and sqrt(b_i) / a_i
        # beside it.
        diagonal = 1.0 / a
        diagonal[1:] += b / a[:-1]
        values, vectors = eigh_tridiagonal(diagonal, np.sqrt(b) / a[:-1])
        # Gauss quadrature: nodes are the eigenvalues of T, weights the squared first entries of its eigenvectors.
        quadratures[column] = float(vectors[0] ** 2 @ np.log(np.maximum(values, 1e-300)))
    return quadratures


@dataclass(frozen=True)
class IterativeEvidence(Evidence):
    """The estimate with `rank` columns of preconditioner; the arrays are as in :class:`ExactEvidence`."""

    exact: ClassVar[bool] = False

    X: Array
    Y: Array
    noise: Array
    weight: Array
    rank: int
    seed: Array

    def count_bytes(self) -> float:
        return 8.0 * len(self.Y) * (3.0 * self.rank + 6.0 * (PROBES + self.Y.shape[1]))

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        return self._measure_all(kernel, slope, threads)[:2]

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        return self._measure_all(kernel, True, threads)

    def _measure_all(self, kernel: Kernel, slope: bool, threads: int) -> Measurement:
        products = Products(self, kernel, threads)
        estimate = self._estimate(products, CLIMBING)
        if not slope or not np.isfinite(estimate.value):
            return Measurement(estimate.value, np.zeros(kernel.n_dims))
        small = max(_SMALL * estimate.error, _LEAST * max(1.0, abs(estimate.value)))
        return Measurement(estimate.value, self._compute_slope(products, estimate), None, small)

    def fitted(self, kernel: Kernel, threads: int) -> dict[str, Any]:
        """Return the fitted attributes that predictions need, and the standard error of the estimate."""
        estimate = self._estimate(Products(self, kernel, threads), PREDICTING)
        return {
            "alpha_": estimate.alpha, "jitter_": 0.0, "log_marginal_likelihood_value_": estimate.value,
            "log_marginal_likelihood_error_": estimate.error, "residual_": estimate.residual,
        }  # fmt: skip

    def _estimate(self, products: Products, tolerance: float) -> "_Estimate":
        n, k = self.Y.shape
        Z = products.draw_probes(self.seed)
        ready = products.precondition(Z)
        solutions, lengths, shares, residual = products.solve_columns(np.hstack([self.Y, Z]), tolerance)
        alpha, solved = solutions[:, :k], solutions[:, k:]
        # z^T P^-1 z, the squared length of a preconditioned probe.
        sizes = np.einsum("ij,ij->j", Z, ready)
        # log |C| = log |P| + tr log(P^-1 C) with P the preconditioner; the mean over the probes estimates the trace.
        logs = sizes * compute_log_quadratures(lengths[:, k:], shares[:, k:])
        value = -0.5 * float(np.einsum("ij,ij->", self.Y, alpha))
        value -= 0.5 * k * (products.log_determinant + float(logs.mean()) + n * float(np.log(2.0 * np.pi)))
        if self.weight is not None:
            weight, d = self.weight, products.own_d
            value -= 0.5 * k * float(((weight - 1.0) * np.log(2.0 * np.pi * d) + np.log(weight)).sum())
        # The standard error of the mean over the probes.
        error = 0.5 * k * float(logs.std(ddof=1)) / np.sqrt(PROBES)
        return _Estimate(value, alpha, solved, ready, error, residual, compute_control_share(sizes, lengths[0, k:]))

    def _compute_slope(self, products: Products, estimate: "_Estimate") -> Array:
        k, kernel, total, alpha = self.Y.shape[1], products.kernel, SumTree(), estimate.alpha
        tiles, share, control = lower_tiles(len(alpha)), 0.5 * k / PROBES, k * estimate.control
        ready, factor = estimate.ready, products.compute_inverse_part()
        # solved - c P^-1 z: what the control variate leaves to be estimated.
        beyond = estimate.solved - estimate.control * ready

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
        return total.total() + sum_own_noise(kernel, products.rows, self.X, by_d)


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


def compute_control_share(sizes: Array, lengths: Array) -> float:
    """Return the c in [0, 1] of least variance for dC = C: the regression of z^T P^-1 z on (P^-1 z)^T C P^-1 z.

    `sizes` are the values of the first; over the step `lengths` of the first conjugate gradient step they are those of
    the second.
    """
    images = np.divide(sizes, lengths, out=np.zeros_like(sizes), where=lengths > 0)
    images = images - images.mean()
    spread = float(images @ images)
    return float(np.clip(images @ sizes / spread, 0.0, 1.0)) if spread > 0.0 else 1.0


@dataclass(frozen=True)
class IterativeExplanation(Explanation):
    """The explanation by conjugate gradients for each row to predict."""

    products: Products

    def solve_rows(self, Kt: Array) -> Array:
        return self.products.solve_columns(np.array(Kt, order="C"), PREDICTING)[0]
