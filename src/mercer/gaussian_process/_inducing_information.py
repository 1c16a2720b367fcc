"""Approximate curvatures of the bound by inducing points.

The bound is the log-likelihood of a Gaussian with covariance C = Q + D minus T = 1/2 sum_i (k(x_i, x_i) - q_i) / d_i.
The average of observed and expected information of the first is known (see :mod:`mercer.gaussian_process._evidence`).
T is nearly a product of powers of hyper-parameters; as such it has the curvatures t t^T / T in their logarithms, where
t are its derivatives. They dominate where points are few.
"""

from typing import Any

import numpy as np

from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.gaussian_process._evidence import multiply_own_noise


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
    others = kernel.prepare(bound.evidence.points, like=bound.u)
    return np.asarray(total.total()) - kernel.slope_products(bound.u, others, bound.a)


def _compute_trace_information(bound: Any, across: Array, k: int) -> Array:
    """Compute t t^T / T, from `across`, the part of t by Kuf."""
    T = 0.5 * k * float(bound.sums.left)
    if T <= 0.0:
        return np.zeros((len(across), len(across)))
    half, weight = bound.inverses[0], bound.evidence.weight
    others = bound.kernel.prepare(bound.evidence.points, like=bound.u)
    t = 0.5 * k * np.asarray(bound.kernel.tile_sums(bound.u, others, half.T @ bound.sums.AA @ half))
    # The derivative of T by the noise.
    by_d = -0.5 * k * bound.unexplained / bound.d**2
    t += bound.compute_own_slope(0.5 * k / bound.d, by_d if weight is None else by_d / weight) - k * across
    return np.outer(t, t) / T
