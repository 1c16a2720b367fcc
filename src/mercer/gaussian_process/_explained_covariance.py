"""The covariance that a posterior subtracts from the prior, for each solver.

All predictions use the kernel values Kt between some points and the rows to predict: the mean is Kt^T a, and the
covariance of the function is that of the prior minus Kt^T S with S = ``solve_rows(Kt)``.
"""

from dataclasses import dataclass

import numpy as np

from mercer._solver.tiled_cholesky import forward, solve
from mercer._types import Array


class Explanation:
    """The part of the prior covariance of rows that the points explain."""

    def explain_variance(self, Kt: Array) -> Array:
        """Return the part of each row's prior variance that the points explain."""
        return np.einsum("ij,ij->j", Kt, self.solve_rows(Kt))

    def explain_covariance(self, Kt: Array) -> Array:
        """Return the part of the rows' prior covariance that the points explain."""
        return Kt.T @ self.solve_rows(Kt)

    def solve_rows(self, Kt: Array) -> Array:
        """Return S such that Kt^T S is the explained part of the covariance."""
        raise NotImplementedError  # each kind of explanation defines its own


@dataclass(frozen=True)
class ExactExplanation(Explanation):
    """By the factor L of the covariance of the targets: S = L^-T L^-1 Kt."""

    L: Array

    def solve_rows(self, Kt: Array) -> Array:
        return solve(self.L, Kt)

    def explain_variance(self, Kt: Array) -> Array:
        # A sum of squares is not negative, however it is rounded.
        half = forward(self.L, Kt)
        return np.einsum("ij,ij->j", half, half)

    def explain_covariance(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        return half.T @ half


@dataclass(frozen=True)
class InducingExplanation(Explanation):
    """By inducing points with covariance L L^T, and the factor M of 1 + L^-1 Kuf D^-1 Kfu L^-T."""

    L: Array
    M: Array

    def explain_variance(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        rest = forward(self.M, half)
        return np.einsum("ij,ij->j", half, half) - np.einsum("ij,ij->j", rest, rest)

    def explain_covariance(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        rest = forward(self.M, half)
        return half.T @ half - rest.T @ rest

    def solve_rows(self, Kt: Array) -> Array:
        half = forward(self.L, Kt)
        kept = half - solve(self.M, half)
        return np.linalg.solve(self.L.T, kept)
