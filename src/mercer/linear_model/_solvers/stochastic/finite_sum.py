"""Sums over rows as stochastic methods see them: what one visit needs, and what is measured between epochs.

:class:`PenalisedLoss` is the penalised mean loss of a classifier. Each column has a step of its own, the inverse of its
mean square, so the method is blind to the scaling of columns. :class:`RidgeTargets` are ridge regressions on the same
rows, one for each target. The means are taken off rows and targets by algebra, so there is no intercept to learn, and
columns far from zero cost nothing; on CSR rows that asks for one step for all columns.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from mercer._objective import Softmax
from mercer._solver.linear_problem import ROUNDING, LinearProblem, Point
from mercer._solver.linear_state import gradient_certificate
from mercer._solver.request import Map
from mercer._solver.step import Certificate, Step
from mercer._source import Block
from mercer._statistic import Moments
from mercer._statistic.class_moments import LabelledScatter
from mercer._statistic.products import Residual
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class Course:
    """What every visit needs: the loss as native code numbers it, steps and l2 strengths (groups, d + 1), l1 (d + 1).

    ``mean`` is taken off the rows where there is one; ``targets`` turns the source's targets into (groups, n).
    """

    loss: int
    averaged: bool
    n_rows: int
    total_weight: float
    fit_intercept: bool
    step: Array
    l1: Array
    l2: Array
    mean: Array | None
    targets: Callable[[Array], Array]


class FiniteSum(Protocol):
    """A sum of losses of rows, and a penalty."""

    n_scores: int

    def prepare(self, averaged: bool) -> Generator[Any, Any, Course]:
        """Make the passes before the first epoch."""

    def evaluate(self, parameters: Array) -> Generator[Any, Any, Any]:
        """Compute the point at `parameters` in one pass; its ``parameters`` are those of the model."""

    def find_unsolved(self, point: Any, change: float) -> Array:
        """Return which groups are short of their goal, given the last epoch's relative change of parameters."""

    def better(self, new: Any, old: Any) -> Any:
        """Return the better of two points."""

    def certify(self, point: Any) -> Certificate:
        """Return how far the point can be from the optimum."""

    def step(self, point: Any, state: Any) -> Step:
        """Return the record of an epoch."""


class PenalisedLoss:
    """The penalised mean loss of a linear classifier."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.n_scores = problem.shape[0]
        self.evaluate, self.better = problem.evaluate, problem.better

    def prepare(self, averaged: bool) -> Generator[Any, Any, Course]:
        problem = self.problem
        statistic = LabelledScatter(problem.loss, diagonal=True)
        self.moments = moments = statistic.read((yield statistic))
        scale = np.sqrt(moments.scatter + moments.mean**2)
        scale = np.where(scale > 0, scale, 1.0)
        lengths = yield Map(partial(_lengths, scale=scale, constant=float(problem.fit_intercept)))
        # The largest second derivative of the loss in any direction.
        curvature = 0.5 if isinstance(problem.loss, Softmax) else 0.25
        # The largest Lipschitz constant of a row's gradient, for n rows whose weighted losses are averaged.
        smoothness = curvature * np.max(lengths) * len(lengths) / problem.total_weight
        convexity = np.min(problem.penalty.l2[:-1] / scale**2, initial=np.inf)
        step = _longest_step(smoothness, convexity, len(lengths), averaged) / np.append(scale, 1.0) ** 2
        number = 1 if isinstance(problem.loss, Softmax) else 0
        l1, l2 = problem.penalty.l1, problem.penalty.l2
        return Course(
            number,
            averaged,
            len(lengths),
            problem.total_weight,
            problem.fit_intercept,
            step[None],
            l1,
            l2[None],
            None,
            _as_one_group,
        )

    def find_unsolved(self, point: Point, change: float) -> Array:
        return np.array([not (self.problem.is_solved(point, self.certify(point)) and change <= self.problem.tol)])

    def certify(self, point: Point) -> Certificate:
        return self.problem.certify(point, self.moments)

    def step(self, point: Point, state: Any) -> Step:
        return self.problem.step(point, state, self.certify(point))


@dataclass(frozen=True, eq=False)
class RidgePoint:
    """Models (targets, d + 1), and for each its objective and the norm of its gradient."""

    parameters: Array
    objective: Array
    gradient: Array


class RidgeTargets:
    """Ridge regressions of several targets, solved once each gradient is `tolerance` times that at zero."""

    n_scores = 1

    def __init__(self, alpha: Array, centre: bool, tolerance: float) -> None:
        self.alpha, self.centre, self.tolerance = alpha, centre, tolerance

    def prepare(self, averaged: bool) -> Generator[Any, Any, Course]:
        self.moments = moments = yield Moments(self.centre, diagonal=True)
        # Below a few roundings of |X| |y| the gradient is noise.
        rounding = 4 * np.finfo(np.float64).eps * np.sqrt(moments.scatter.sum() * moments.y_scatter)
        self.goal = np.maximum(self.tolerance * np.linalg.norm(moments.cross, axis=0), rounding)
        width = moments.mean.shape[0]
        lengths = yield Map(partial(_lengths, mean=moments.mean, scale=np.ones(width)))
        n_rows = len(lengths)
        step = _longest_step(np.max(lengths), self.alpha / n_rows, n_rows, averaged)
        everywhere = np.ones(width + 1)
        l2 = (self.alpha / n_rows)[:, None] * everywhere
        return Course(
            2,
            averaged,
            n_rows,
            n_rows,
            False,
            step[:, None] * everywhere,
            0 * everywhere,
            l2,
            moments.mean,
            self._centre_targets,
        )

    def _centre_targets(self, y: Array) -> Array:
        columns = np.asarray(y if y.ndim == 2 else y[:, None], dtype=np.float64)
        return np.ascontiguousarray((columns - self.moments.y_mean).T)

    def evaluate(self, parameters: Array) -> Generator[Any, Any, RidgePoint]:
        moments, coef = self.moments, parameters[:, :-1].T
        sums = yield Residual(coef, moments.mean, moments.y_mean)
        intercept = moments.y_mean - moments.mean @ coef
        gradient = np.linalg.norm(sums.product - self.alpha * coef, axis=0)
        objective = sums.squares + self.alpha * np.sum(coef**2, axis=0)
        return RidgePoint(np.column_stack([coef.T, intercept]), objective, gradient)

    def find_unsolved(self, point: RidgePoint, change: float) -> Array:
        return point.gradient > self.goal

    def better(self, new: RidgePoint, old: RidgePoint) -> RidgePoint:
        """Return the lower objective of each target; if rounding hides which, the smaller gradient."""
        alike = np.abs(new.objective - old.objective) <= ROUNDING * np.maximum(1.0, np.abs(old.objective))
        take = np.where(alike, new.gradient < old.gradient, new.objective < old.objective)
        return RidgePoint(
            np.where(take[:, None], new.parameters, old.parameters),
            np.where(take, new.objective, old.objective),
            np.where(take, new.gradient, old.gradient),
        )

    def certify(self, point: RidgePoint) -> Certificate:
        moments = self.moments
        return gradient_certificate(point.gradient, moments.scatter.sum(), moments.y_scatter.sum(), self.tolerance)

    def step(self, point: RidgePoint, state: Any) -> Step:
        return Step(float(np.sum(point.objective)), state, self.certify(point))


def _as_one_group(y: Array) -> Array:
    return y.astype(np.float64, copy=False)[None]


def _lengths(block: Block, scale: Array, mean: Array | None = None, constant: float = 0.0) -> Array:
    """Return the weighted squared length of each row less `mean`, in columns divided by `scale`, plus a constant."""
    factor = scale**-2.0
    if block.is_sparse:
        lengths = block.X.multiply(block.X) @ factor
        if mean is not None:
            lengths = lengths - 2 * block.matmul(mean * factor) + mean @ (mean * factor)
    else:
        rows = block.X if mean is None else block.centre(mean)
        lengths = (rows * rows) @ factor
    return block.weigh(lengths + constant)


def _longest_step(smoothness: Any, convexity: Any, n_rows: int, averaged: bool) -> Any:
    """Return the step: 1 / L for SAG, as in practice; for SAGA 1 / (2 (L + n mu)), at least 1 / (3 L), as in theory."""
    divisor = np.where(averaged, smoothness, 2.0 * smoothness + np.minimum(2.0 * n_rows * convexity, smoothness))
    return np.divide(1.0, divisor, out=np.zeros_like(divisor), where=divisor > 0)
