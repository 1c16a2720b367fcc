"""The metric that makes first-order methods blind to the scaling and correlation of columns.

At zero parameters the Hessian of the mean loss is c (x) [scatter of the columns], c being the loss's curvature there
(1/4 for the logistic loss, (I - 11^T / K) / K for softmax; Boehning, 1992, bounds it everywhere by a multiple of the
same matrix). Steps are taken in that metric: in centred columns, so that the intercept separates from the rest.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._solver.linear_problem import LinearProblem
from mercer._solver.request import Dense
from mercer._statistic.class_moments import LabelledMoments, LabelledScatter
from mercer._statistic.loss import ClassCurvature, LossCurvature

# Up to this many columns the Gram matrix (n d^2 / 2 at matrix-product speed) costs less than the passes it saves.
WIDEST_GRAM = 512


@dataclass(frozen=True, eq=False)
class Metric:
    """Solves with M = c scatter + diag(l2): a Cholesky factor, or the diagonal alone."""

    factor: np.ndarray
    mean: np.ndarray
    intercept_curvature: float

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Return M^-1 applied to each row of `gradient` (k, d + 1)."""
        by_intercept = gradient[:, -1:]
        centred = gradient[:, :-1] - by_intercept * self.mean
        diagonal = self.factor.ndim == 1
        weights = centred / self.factor if diagonal else dpotrs(self.factor, centred.T, lower=1)[0].T
        if self.intercept_curvature == 0.0:
            return np.column_stack([weights, np.zeros(len(weights))])
        intercept = by_intercept / self.intercept_curvature - (weights @ self.mean)[:, None]
        return np.concatenate([weights, intercept], axis=1)


@dataclass(frozen=True, eq=False)
class LocalMetric:
    """Solves with the Hessian of J at a point, for a loss of one score: a Cholesky factor of d + 1 rows."""

    factor: np.ndarray

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Return the inverse Hessian applied to `gradient` (1, d + 1)."""
        return dpotrs(self.factor, gradient.T, lower=1)[0].T


@dataclass(frozen=True, eq=False)
class ClassMetric:
    """Solves with the diagonal blocks of the Hessian of J at a point: k Cholesky factors of d + 1 rows.

    A vector added to the parameters of all classes changes no loss, and the penalty is least where they sum to zero:
    there the curvature is that of the penalty alone, which the blocks do not show. So steps keep the sum.
    """

    factors: list[np.ndarray]

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Return each inverse block applied to its row of `gradient` (k, d + 1), less the mean over the rows."""
        rows = zip(self.factors, gradient - gradient.mean(axis=0), strict=True)
        moves = np.stack([dpotrs(factor, row, lower=1)[0] for factor, row in rows])
        return moves - moves.mean(axis=0)


def measure_at(problem: LinearProblem, parameters: np.ndarray) -> Generator[Any, Any, LocalMetric | ClassMetric]:
    """Compute the metric at `parameters` in one pass; of several classes each has its own block."""
    single = problem.shape[0] == 1
    statistic = LossCurvature(problem.loss, parameters) if single else ClassCurvature(problem.loss, parameters)
    curvature = (yield statistic) / problem.total_weight
    if not problem.fit_intercept:
        # The gradient is zero in this direction, so any positive value will do.
        curvature[..., -1, :], curvature[..., :, -1], curvature[..., -1, -1] = 0.0, 0.0, 1.0
    l2 = problem.penalty.l2
    if single:
        return LocalMetric((yield Dense(lambda: _factor(curvature, l2))))
    return ClassMetric((yield Dense(lambda: [_factor(block, l2) for block in curvature])))


def survey(problem: LinearProblem, n_features: int) -> Generator[Any, Any, tuple[LabelledMoments, Metric]]:
    """Compute the moments of the labelled rows, and the metric they define, in one pass."""
    statistic = LabelledScatter(problem.loss, diagonal=n_features > WIDEST_GRAM)
    moments = statistic.read((yield statistic))
    curvature = problem.loss.start_curvature
    scatter = curvature * moments.scatter
    # An intercept under penalty stays a column like any other: centring would mix the two penalties.
    penalised = problem.penalty.l2[-1]
    mean = moments.mean if problem.fit_intercept and penalised == 0 else np.zeros(n_features)
    if not problem.fit_intercept or penalised:
        # Second moments about zero are the scatter about the mean plus the outer product of the mean.
        scatter = scatter + curvature * (moments.mean**2 if scatter.ndim == 1 else np.outer(moments.mean, moments.mean))
    factor = yield Dense(lambda: _factor(scatter, problem.penalty.l2[:-1]))
    intercept = curvature + penalised if problem.fit_intercept else 0.0
    return moments, Metric(factor, mean, intercept)


def _factor(scatter: np.ndarray, l2: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of scatter + diag(l2), lifted if columns are constant or dependent."""
    # Only the diagonal was summed, because the columns are many.
    if scatter.ndim == 1:
        diagonal = np.maximum(scatter, 0.0) + l2
        return np.where(diagonal > 0, diagonal, 1.0)
    diagonal = scatter.diagonal() + l2
    # Unit diagonal first: the lift is then relative to each column's own scale.
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    unit = scatter.copy()
    unit.flat[:: len(unit) + 1] += l2
    unit /= root
    unit /= root[:, None]
    lift = 1e-12
    while True:
        factor, failed = dpotrf(unit + lift * np.eye(len(unit)), lower=1)
        if not failed:
            return root[:, None] * factor
        lift *= 100.0
