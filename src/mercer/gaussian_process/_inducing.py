"""Variational inducing points: a lower bound of the evidence by a process that is known at few points (Titsias, 2009).

With L the factor of Kuu, the kernels between the points, and A = L^-1 Kuf D^(-1/2) for noise D = diag(d),

    F = log N(y; 0, Kfu Kuu^-1 Kuf + D) - 1/2 sum_i (k(x_i, x_i) - q_i) / d_i,

with q_i the part of the variance that the points explain. Both terms are sums over rows, computed block by block.

The curvatures of F are approximate. The average of observed and expected information of the first term is known (see
:mod:`mercer.gaussian_process._evidence`). The second, T, is nearly a product of powers of hyper-parameters; as such it
has the curvatures t t^T / T in their logarithms, where t are its derivatives. They dominate where points are few.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from mercer._solver.tiled_cholesky import forward
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.gaussian_process._evidence import (
    Evidence,
    Measurement,
    compute_own_noise,
    estimate_rounding,
    multiply_own_noise,
    sum_own_noise,
)
from mercer.kernels import Kernel

# A pivot with less than this share of the largest variance would add rounding only.
_LEAST = 1e-12
# Rows of a block: with 512 points its kernel values are 4 MB of float64.
_ROWS = 1024
# Shares of the mean of the diagonal of Kuu that are added to it: with less, its inverse would be rounding.
_JITTERS = (1e-8, 1e-6, 1e-4)
# Rows among which each point is chosen: with more, the points hardly explain more.
_CANDIDATES = 16


def factorise_pivoted(kernel: Kernel, X: Array, rank: int) -> tuple[Array, Array]:
    """Return a factor R of shape (n, r) with R R^T close to the kernel matrix, and its r <= rank pivot rows.

    White noise is left out: no other row explains it.
    """
    rows = kernel.prepare(X)
    others = kernel.prepare(X, like=rows)
    left = _compute_diagonal(kernel, rows, others)
    R, chosen = np.zeros((len(X), rank)), np.zeros(rank, dtype=np.intp)
    least = _LEAST * float(left.max(initial=0.0))
    for step in range(rank):
        pivot = int(np.argmax(left))
        if not left[pivot] > least:
            return R[:, :step], chosen[:step]
        # The row of the Schur complement that belongs to the pivot.
        column = kernel.between(rows.take(slice(pivot, pivot + 1)), others)[0] - R[:, :step] @ R[pivot, :step]
        R[:, step] = column / np.sqrt(left[pivot])
        # Rounding must not leave a variance below zero.
        left = np.maximum(left - R[:, step] ** 2, 0.0)
        left[pivot] = 0.0
        chosen[step] = pivot
    return R, chosen


def _compute_diagonal(kernel: Kernel, rows: Any, others: Any) -> Array:
    """Return the kernel of each row with an equal but other row."""
    diagonal = np.empty(len(rows))
    for first in range(0, len(rows), 64):
        part = slice(first, min(first + 64, len(rows)))
        diagonal[part] = np.einsum("ii->i", kernel.between(rows.take(part), others.take(part)))
    return diagonal


def choose_points(kernel: Kernel, X: Array, count: int, seed: Any) -> Array:
    """Choose `count` rows greedily from a sample, each where those before it leave the most variance."""
    # Sorted and without repetitions, so that the choice depends neither on the order of rows nor on their weights.
    X, most = np.unique(X, axis=0), _CANDIDATES * count
    if len(X) > most:
        X = X[np.sort(np.random.default_rng(seed).choice(len(X), most, replace=False))]
    return X[factorise_pivoted(kernel, X, count)[1]].copy()


@dataclass(frozen=True)
class _Sums:
    """A A^T, A D^(-1/2) Y, Y^T D^-1 Y, sum of log d, and the variance that the points do not explain over d."""

    AA: Array
    AY: Array
    YY: float
    logs: float
    left: float

    def __add__(self, other: "_Sums") -> "_Sums":
        names = ("AA", "AY", "YY", "logs", "left")
        return _Sums(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True)
class InducingEvidence(Evidence):
    """The bound for given points; the arrays are as in :class:`ExactEvidence`."""

    X: Array
    Y: Array
    noise: Array
    weight: Array
    points: Array

    def count_bytes(self) -> float:
        return 8.0 * len(self.points) * (4.0 * len(self.points) + 3.0 * _ROWS)

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        bound = Bound.of(self, kernel, threads)
        if bound is None:
            return -np.inf, np.zeros(kernel.n_dims)
        return bound.value, bound.compute_slope(threads)[0] if slope else np.zeros(kernel.n_dims)

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        bound = Bound.of(self, kernel, threads)
        if bound is None:
            return Measurement(-np.inf, np.zeros(kernel.n_dims))
        slope, residuals = bound.compute_slope(threads)
        return Measurement(
            bound.value, slope, compute_information(bound, residuals, threads), bound.estimate_rounding()
        )

    def fitted(self, kernel: Kernel, threads: int) -> dict[str, Any]:
        """Return the fitted attributes that predictions need."""
        bound = Bound.of(self, kernel, threads)
        assert bound is not None, "a search ends only where there is a bound"
        return {
            "inducing_points_": self.points, "L_": bound.L, "inducing_factor_": bound.M, "alpha_": bound.a,
            "jitter_": bound.jitter, "log_marginal_likelihood_value_": bound.value,
        }  # fmt: skip


class Bound:
    """The bound at one setting of the hyper-parameters, and its slope."""

    def __init__(
        self, evidence: InducingEvidence, kernel: Kernel, L: Array, jitter: float, share: float, threads: int
    ) -> None:
        self.evidence, self.kernel, self.L, self.jitter, self.share = evidence, kernel, L, jitter, share
        # Points and rows are two sets: white noise between them is zero.
        self.u, self.rows = kernel.prepare(evidence.points), kernel.prepare(evidence.X)
        own = compute_own_noise(kernel, self.rows, evidence.X)
        self.f = kernel.diagonal(evidence.X) - own
        self.own_d = evidence.noise + own
        self.d = self.own_d if evidence.weight is None else self.own_d / evidence.weight
        self.unexplained, total = np.empty(len(self.d)), SumTree()
        run_numbered(self._sum_part, self.n_parts, threads, total.add)
        self.sums: _Sums = total.total()
        self.M = np.tril(dpotrf(np.eye(len(L)) + self.sums.AA, lower=True, clean=True)[0])
        self.c = forward(self.M, self.sums.AY)
        # a = (Kuu + Kuf D^-1 Kfu)^-1 Kuf D^-1 Y, the weights of the points in predictions.
        self.a = dtrsm(1.0, L, dtrsm(1.0, self.M, self.c, lower=True, trans_a=True), lower=True, trans_a=True)
        self.a = np.ascontiguousarray(self.a)

    @cached_property
    def inverses(self) -> tuple[Array, Array]:
        """L^-1 and M^-1."""
        return forward(self.L, np.eye(len(self.L))), forward(self.M, np.eye(len(self.L)))

    @classmethod
    def of(cls, evidence: InducingEvidence, kernel: Kernel, threads: int) -> "Bound | None":
        u = kernel.prepare(evidence.points)
        Kuu = kernel.between(u, kernel.prepare(evidence.points, like=u))
        mean = float(np.einsum("ii->i", Kuu).mean())
        for share in _JITTERS:
            jitter = share * mean
            L, failed = dpotrf(Kuu + jitter * np.eye(len(Kuu)), lower=True, clean=True)
            if not failed:
                bound = cls(evidence, kernel, np.tril(L), jitter, share, threads)
                return bound if np.isfinite(bound.value) else None
        return None

    @property
    def n_parts(self) -> int:
        """The number of blocks of rows."""
        return -(-len(self.d) // _ROWS)

    def select_part(self, number: int) -> slice:
        """Return the rows of block `number`."""
        return slice(number * _ROWS, min((number + 1) * _ROWS, len(self.d)))

    def _sum_part(self, number: int) -> _Sums:
        part = self.select_part(number)
        A = forward(self.L, self.kernel.between(self.u, self.rows.take(part)))
        # q_i = |L^-1 k_u(x_i)|^2, the variance that the points explain.
        explained = np.einsum("ij,ij->j", A, A)
        root = np.sqrt(self.d[part])
        # A = L^-1 Kuf D^(-1/2).
        A /= root
        Y = self.evidence.Y[part] / root[:, None]
        self.unexplained[part] = self.f[part] - explained
        left = float((self.unexplained[part] / self.d[part]).sum())
        return _Sums(A @ A.T, A @ Y, float(np.einsum("ij,ij->", Y, Y)), float(np.log(self.d[part]).sum()), left)

    @property
    def value(self) -> float:
        sums, (n, k) = self.sums, self.evidence.Y.shape
        log_determinant = 2.0 * float(np.log(np.einsum("ii->i", self.M)).sum()) + sums.logs
        square = sums.YY - float(np.einsum("ij,ij->", self.c, self.c))
        value = -0.5 * (k * (n * float(np.log(2.0 * np.pi)) + log_determinant + sums.left) + square)
        weight = self.evidence.weight
        if weight is not None:
            value -= 0.5 * k * float(((weight - 1.0) * np.log(2.0 * np.pi * self.own_d) + np.log(weight)).sum())
        return value

    def estimate_rounding(self) -> float:
        """Estimate the largest error of the value."""
        k, (half, rest) = self.evidence.Y.shape[1], self.inverses
        root = rest @ (self.sums.AA @ half)
        shares = (self.a**2).sum(axis=1) + k * (root**2).sum(axis=0)
        charge = float((self.L**2).sum(axis=1) @ shares) + k * float((self.f / self.d).sum()) + self.sums.YY
        return estimate_rounding(charge, self.value, self.evidence.Y.size)

    def compute_slope(self, threads: int) -> tuple[Array, Array]:
        """Return the gradient, by the derivatives of F with respect to Kuu, Kuf, k(x_i, x_i) and d; and (Q + D)^-1 Y.

        Kuu may be close to singular, so only one of its factors is inverted at a time. Its inverse has entries of 1e8,
        and differences of order one between them would keep half their digits only.
        """
        k, m, (half, rest) = self.evidence.Y.shape[1], len(self.L), self.inverses
        # Kuu^-1 P Kuu^-1 - Kuu^-1 + (Kuu + P)^-1, with P = Kuf D^-1 Kfu = L A A^T L^T, is a square.
        root = rest @ (self.sums.AA @ half)
        G = -0.5 * (self.a @ self.a.T + k * root.T @ root)
        # Jitter is a share of the mean of the diagonal, so it has a derivative too.
        G += self.share * np.trace(G) / m * np.eye(m)
        others = self.kernel.prepare(self.evidence.points, like=self.u)
        slope = np.asarray(self.kernel.tile_sums(self.u, others, G), dtype=np.float64)
        total, by_f, by_d = SumTree(), -0.5 * k / self.d, np.empty(len(self.d))
        weights, residuals = rest.T @ self.c, np.empty_like(self.evidence.Y)

        def sums(number: int) -> Array:
            part = self.select_part(number)
            d, rows = self.d[part], self.rows.take(part)
            A = half @ self.kernel.between(self.u, rows)
            inner = rest @ A
            residuals[part] = beta = (self.evidence.Y[part] - A.T @ weights) / d[:, None]
            left = 1.0 / d - np.einsum("ij,ij->j", inner, inner) / d**2
            by_d[part] = 0.5 * ((beta**2).sum(axis=1) - k * left + k * self.unexplained[part] / d**2)
            # (Kuu^-1 - (Kuu + P)^-1) Kuf.
            solved = half.T @ (A - rest.T @ inner)
            return self.kernel.tile_sums(self.u, rows, self.a @ beta.T + k * solved / d)

        run_numbered(sums, self.n_parts, threads, total.add)
        weight = self.evidence.weight
        if weight is not None:
            by_d = by_d / weight - 0.5 * k * (weight - 1.0) / self.own_d
        return slope + total.total() + self.compute_own_slope(by_f, by_d), residuals

    def compute_own_slope(self, by_f: Array, by_d: Array) -> Array:
        """Return the part of the gradient by the variances of the function at the rows, and by their white noise."""
        X = self.evidence.X
        others, total = self.kernel.prepare(X, like=self.rows), np.zeros(self.kernel.n_dims)
        for first in range(0, len(X), 64):
            part = slice(first, min(first + 64, len(X)))
            total += self.kernel.tile_sums(self.rows.take(part), others.take(part), np.diag(by_f[part]))
        return total + sum_own_noise(self.kernel, self.rows, X, by_d)


def compute_information(bound: Any, beta: Array, threads: int) -> Array:
    """Return approximate curvatures, a positive semidefinite matrix, for a `Bound` and `beta` = C^-1 Y."""
    by_points = _sum_by_points(bound, beta, threads)
    half, rest = bound.inverses
    k, p, m = beta.shape[1], bound.kernel.n_dims, len(half)
    # dQ b = dKfu a + Kfu Kuu^-1 (dKuf b - dKuu a), with a = Kuu^-1 Kuf b.
    inner = np.einsum("ij,pjk->ipk", half, by_points).reshape(m, -1)
    share = beta if bound.evidence.weight is None else beta / bound.evidence.weight[:, None]
    grams, images, slopes = SumTree(), SumTree(), SumTree()

    def products(number: int) -> tuple[Array, Array, Array]:
        part = bound.select_part(number)
        rows, d = bound.rows.take(part), bound.d[part]
        A = half @ bound.kernel.between(bound.u, rows)
        turned = bound.kernel.slope_products(rows, bound.u, bound.a)
        turned = turned + multiply_own_noise(bound.kernel, rows, bound.evidence.X[part], share[part])
        turned = np.moveaxis(turned, 0, 1).reshape(len(d), -1) + A.T @ inner
        scaled = turned / d[:, None]
        return turned.T @ scaled, A @ scaled, bound.kernel.tile_sums(bound.u, rows, half.T @ A / d)

    def add(parts: tuple[Array, Array, Array]) -> None:
        for tree, part in zip((grams, images, slopes), parts, strict=True):
            tree.add(part)

    run_numbered(products, bound.n_parts, threads, add)
    image = rest @ images.total()
    # By Woodbury: the inverse of Q + D is that of D less a part of the rank of the points.
    gram = (grams.total() - image.T @ image).reshape(p, k, p, k)
    return 0.5 * np.einsum("ikjk->ij", gram) + _compute_trace_information(bound, slopes.total(), k)


def _sum_by_points(bound: Any, beta: Array, threads: int) -> Array:
    """Compute dKuf b - dKuu a, of shape (p, m, k)."""
    kernel, total = bound.kernel, SumTree()

    def products(number: int) -> Array:
        part = bound.select_part(number)
        return kernel.slope_products(bound.u, bound.rows.take(part), beta[part])

    run_numbered(products, bound.n_parts, threads, total.add)
    others, m = kernel.prepare(bound.evidence.points, like=bound.u), len(bound.a)
    # Jitter is a share of the mean of the diagonal, so that dKuu has one too.
    jitter = bound.share / m * np.asarray(kernel.tile_sums(bound.u, others, np.eye(m)))
    within = np.asarray(kernel.slope_products(bound.u, others, bound.a)) + jitter[:, None, None] * bound.a
    return np.asarray(total.total()) - within


def _compute_trace_information(bound: Any, across: Array, k: int) -> Array:
    """Compute t t^T / T, from `across`, the part of t by Kuf."""
    T = 0.5 * k * float(bound.sums.left)
    if T <= 0.0:
        return np.zeros((len(across), len(across)))
    half, weight = bound.inverses[0], bound.evidence.weight
    others, within = bound.kernel.prepare(bound.evidence.points, like=bound.u), half.T @ bound.sums.AA @ half
    within += bound.share * np.trace(within) / len(within) * np.eye(len(within))
    t = 0.5 * k * np.asarray(bound.kernel.tile_sums(bound.u, others, within))
    # The derivative of T by the noise.
    by_d = -0.5 * k * bound.unexplained / bound.d**2
    t += bound.compute_own_slope(0.5 * k / bound.d, by_d if weight is None else by_d / weight) - k * across
    return np.outer(t, t) / T
