"""Residuals whose products with every column are known, and what they say of the products of another residual."""

import numpy as np

from mercer._types import Array

# Residuals remembered. On 2000 x 10000 rows four screen as well as 24; a few more serve returns to earlier penalties.
_REMEMBERED = 8
# Rounding in the products of a pass, as a share of |x_j| |v|.
_ROUNDING = 1e-13


class References:
    """Bounds x_j . r for all columns j of rows that are not looked at.

    A residual r is sum_k a_k v_k + d with d orthogonal to the references v_k, and small where r lies near them, as
    solutions along a piecewise linear path do. Hence |x_j . r| <= |sum_k a_k x_j . v_k| + |x_j| |d|: the sphere test of
    gap-safe screening (Ndiaye and others, 2017) about a point of their span.

    Parameters
    ----------
    vectors : ndarray of shape (k, n)
        The references.
    products : ndarray of shape (k, d)
        Their products with all columns.
    norms : ndarray of shape (d,)
        The norms of the columns.
    """

    def __init__(self, vectors: Array, products: Array, norms: Array) -> None:
        self.vectors = vectors
        self.products = products
        self.norms = norms
        self.lengths = np.linalg.norm(vectors, axis=1)
        self.orthogonal, self.triangle = np.linalg.qr(vectors.T)
        # A reference that depends on the others, or a zero target, is left out: any coefficients give a valid bound.
        pivots = np.abs(np.diagonal(self.triangle))
        largest = float(pivots.max(initial=0.0))
        self.triangle[np.diag_indices_from(self.triangle)] += np.where(pivots <= 1e-14 * largest, largest or 1.0, 0.0)

    def join_reference(self, vector: Array, product: Array) -> "References":
        """Return the references with one more, and without the oldest if there would be too many."""
        vectors = np.concatenate([self.vectors[1 - _REMEMBERED :], vector[None]])
        return References(vectors, np.concatenate([self.products[1 - _REMEMBERED :], product[None]]), self.norms)

    def estimate(self, residual: Array) -> tuple[Array, Array]:
        """Estimate the products of every column with a residual; return them and bounds on their errors."""
        coefficients = np.linalg.solve(self.triangle, self.orthogonal.T @ residual)
        distance = float(np.linalg.norm(residual - coefficients @ self.vectors))
        rounding = _ROUNDING * float(np.abs(coefficients) @ self.lengths)
        return coefficients @ self.products, self.norms * (distance + rounding)
