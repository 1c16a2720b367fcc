"""The eigenvectors of the scatter: one decomposition from which a linear model follows for every quadratic penalty.

With X_c^T W X_c = V diag(l) V^T and b = V^T X_c^T W y_c, ridge coefficients are V diag(1 / (l + alpha)) b for every
alpha, and their residual sum of squares is that of least squares plus sum_j b_j^2 / l_j (alpha / (l_j + alpha))^2.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._solver.request import HEAVY, Dense
from mercer._statistic import Moments, MomentSums
from mercer._statistic.triangle import Triangle, TriangleSums
from mercer._stored import Stored, alike, floats
from mercer._types import Array


@plain
@dataclass(frozen=True)
class LinearSpectrum:
    """Eigenvalues l (r,), directions V (d, r), targets along them b (r, k), means, weight and squares of the targets.

    Directions in which the rows do not vary, to rounding, have l = b = 0. Those that `directions` leaves out (more
    columns than rows) have none either. ``y_scatter`` (k,) are the sums of squares of the targets, ``unexplained`` what
    no coefficients can explain of them, and ``y_variance`` the variances about the means, centred model or not.
    """

    values: Array
    directions: Array
    along: Array
    mean: Array
    y_mean: Array
    weight: float
    y_scatter: Array
    unexplained: Array
    y_variance: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "values": floats("rank"),
        "directions": floats("columns, rank"),
        "along": floats("rank, targets"),
        "mean": floats("columns"),
        **alike(floats("targets"), "y_mean", "y_scatter", "unexplained", "y_variance"),
    }

    def coef(self, alpha: Any) -> Array:
        """Return ridge coefficients (d, k) for a penalty, or for one of each target."""
        return self.directions @ self.shrunk(alpha)

    def shrunk(self, alpha: Any) -> Array:
        """Return the coefficients along the directions, b / (l + alpha); zero where the rows do not vary."""
        total = self.values[:, None] + alpha
        shape = np.broadcast_shapes(self.along.shape, total.shape)
        return np.divide(self.along, total, out=np.zeros(shape), where=self.values[:, None] > 0)

    def intercept(self, coef: Array) -> Array:
        """Return the intercepts (k,) that belong to coefficients (d, k)."""
        return self.y_mean - self.mean @ coef


def spectrum_of_moments(centre: bool) -> Generator[Any, Any, LinearSpectrum]:
    """Compute the scatter in one pass, and its eigenvectors: for any rows, with d x d values of memory."""
    moments = yield Moments()
    return (yield Dense(partial(_from_moments, moments, centre), heavy=moments.mean.shape[0] > HEAVY))


def spectrum_of_triangle(centre: bool) -> Generator[Any, Any, LinearSpectrum]:
    """Compute the triangle of dense rows in one pass, and its singular vectors; without squares no digits are lost."""
    triangle = yield Triangle(centre)
    moments = yield Moments(diagonal=True)
    heavy = min(triangle.factor.shape) > HEAVY
    return (yield Dense(partial(_from_triangle, triangle, moments), heavy))


def _from_moments(moments: MomentSums, centre: bool) -> LinearSpectrum:
    scatter, cross, y_scatter = moments.scatter, moments.cross, moments.y_scatter
    mean, y_mean, weight = moments.mean, moments.y_mean, float(moments.weight)
    if not centre:
        # About zero instead of the mean: X^T W X = scatter + S mean mean^T.
        scatter = scatter + weight * mean[:, None] * mean[None, :]
        cross = cross + weight * mean[:, None] * y_mean[None, :]
        y_scatter = y_scatter + weight * y_mean**2
        mean, y_mean = np.zeros_like(mean), np.zeros_like(y_mean)
    values, directions = np.linalg.eigh(scatter)
    values, directions = values[::-1], np.ascontiguousarray(directions[:, ::-1])
    # Forming the scatter squares the rows, so that rounding hides what is below eps of the largest eigenvalue.
    kept = values > len(values) * np.finfo(np.float64).eps * max(values[0], 0.0)
    values = np.where(kept, values, 0.0)
    along = np.where(kept[:, None], directions.T @ cross, 0.0)
    explained = np.sum(along**2 / np.where(kept, values, 1.0)[:, None], axis=0)
    unexplained = np.maximum(y_scatter - explained, 0.0)
    variance = moments.y_scatter / weight
    return LinearSpectrum(values, directions, along, mean, y_mean, weight, y_scatter, unexplained, variance)


def _from_triangle(triangle: TriangleSums, moments: MomentSums) -> LinearSpectrum:
    n_features, weight = moments.mean.shape[0], float(triangle.weight)
    rows, y = triangle.factor[:, :n_features], triangle.factor[:, n_features:]
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    # Singular values within rounding of zero carry no data.
    kept = singular > max(rows.shape) * np.finfo(np.float64).eps * singular.max(initial=0.0)
    singular = np.where(kept, singular, 0.0)
    scores = np.where(kept[:, None], left.T @ y, 0.0)
    # Residual squares from the triangle itself: no difference of large numbers.
    unexplained = np.sum((y - left @ scores) ** 2, axis=0)
    mean, y_mean = triangle.mean[:n_features], triangle.mean[n_features:]
    # b = V^T X^T y = s U^T y, with X = U diag(s) V^T.
    directions, along = np.ascontiguousarray(right.T), singular[:, None] * scores
    variance = moments.y_scatter / weight
    return LinearSpectrum(
        singular**2, directions, along, mean, y_mean, weight, np.sum(y * y, axis=0), unexplained, variance
    )
