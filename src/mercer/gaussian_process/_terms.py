"""What a posterior subtracts from the prior, for the different ways to know it.

All predictions are made of the kernels Kt between some points and the rows to predict: the mean is Kt^T a, and the
covariance of the function is that of the prior less Kt^T S with S = `solved` (Kt).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.tiled_cholesky import forward, solve

__all__ = ["ExactTerms", "InducingTerms", "Terms"]

Array = Any


class Terms:
    """What the points explain of the prior covariance of other rows."""

    def variance(self, Kt: Array) -> Array:
        """The part of each row's variance that is explained."""
        return np.einsum("ij,ij->j", Kt, self.solved(Kt))

    def covariance(self, Kt: Array) -> Array:
        """The part of all covariances that is explained."""
        return Kt.T @ self.solved(Kt)

    def solved(self, Kt: Array) -> Array:
        """S with Kt^T S the part of the covariance that is explained."""
        raise NotImplementedError  # each kind of terms defines its own


@dataclass(frozen=True)
class ExactTerms(Terms):
    """By the factor L of the covariance of the targets: S = L^-T L^-1 Kt."""

    L: Array

    def solved(self, Kt: Array) -> Array:
        return solve(self.L, Kt)

    def variance(self, Kt: Array) -> Array:
        # Squares cannot make up more than they should by the rounding of a difference.
        half = forward(self.L, Kt)
        return np.einsum("ij,ij->j", half, half)

    def covariance(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        return half.T @ half


@dataclass(frozen=True)
class InducingTerms(Terms):
    """By inducing points with covariance L L^T, and the factor M of 1 + L^-1 Kuf D^-1 Kfu L^-T."""

    L: Array
    M: Array

    def variance(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        rest = forward(self.M, half)
        return np.einsum("ij,ij->j", half, half) - np.einsum("ij,ij->j", rest, rest)

    def covariance(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        rest = forward(self.M, half)
        return half.T @ half - rest.T @ rest

    def solved(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        kept = half - solve(self.M, half)
        return np.linalg.solve(self.L.T, kept)
