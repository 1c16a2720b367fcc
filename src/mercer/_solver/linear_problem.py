"""The problem that solvers of linear models share: mean loss plus penalty, its evaluation, and its duality gap.

    J(W, b) = (1 / S) sum_i s_i loss(W x_i + b, y_i) + penalty(W, b),        S = sum_i s_i

The gap needs no pass of its own. With P the means that the scores give (rows in the simplex), P - Y is the gradient of
the loss, and by Fenchel and Young the mean conjugate is H = <W, U> + b . g - L, with L the mean loss and [U | g] its
gradient. An intercept without penalty asks a dual point for sum_i s_i (P - Y)_i = 0. The mixture (1 - e) P + e r with
one constant row r meets that exactly, for the least e that keeps r in the simplex; columns with an l1 strength but no
l2 ask for |U_j| <= l1_j, met by shrinking the dual point by a factor c. The conjugate is convex, so it is at most
c ((1 - e) H + e h(r)) there, which gives a true bound:

    J - min J <= L + penalty(W, b) + c ((1 - e) H + e h(r)) + conjugate(c U')

For an l2 penalty alone and g = 0 this is |grad J|^2 / (2 l2).
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._objective import ElasticNetPenalty, Logistic, Softmax
from mercer._solver.step import Certificate, Step
from mercer._statistic.class_moments import LabelledMoments
from mercer._statistic.loss import LossGradient, LossSums

# Relative rounding of sums over rows; below it, slopes decide better than values.
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters (k, d + 1), the mean loss there and its gradient, J and the gradient of its smooth part.

    ``violation`` is the largest entry of the least subgradient of J: zero exactly at the optimum.
    """

    parameters: np.ndarray
    loss: float
    slope: np.ndarray
    objective: float
    gradient: np.ndarray
    violation: float


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Mean loss of a linear model plus a penalty.

    Parameters
    ----------
    loss : Loss
    penalty : ElasticNetPenalty
        Strengths for d columns and the intercept, on the scale of the mean loss.
    total_weight : float
        S, the sum of the weights.
    fit_intercept : bool
        Without, the last column of the parameters stays zero.
    tol : float
        What the largest entry of the least subgradient of J must come down to.
    """

    loss: Logistic | Softmax
    penalty: ElasticNetPenalty
    total_weight: float
    fit_intercept: bool
    tol: float

    @property
    def shape(self) -> tuple[int, int]:
        """Of the parameters."""
        return self.loss.n_scores, self.penalty.l1.shape[0]

    def start(self) -> np.ndarray:
        """Return zero parameters."""
        return np.zeros(self.shape)

    def evaluate(self, parameters: np.ndarray) -> Generator[Any, Any, Point]:
        """Compute the point at `parameters` in one pass."""
        return self.read(parameters, (yield LossGradient(self.loss, parameters)))

    def read(self, parameters: np.ndarray, sums: LossSums) -> Point:
        """Make a point of the sums over the rows."""
        loss = sums.value / self.total_weight
        slope = sums.gradient / self.total_weight
        if not self.fit_intercept:
            slope[:, -1] = 0.0
        gradient = slope + self.penalty.smooth_gradient(parameters)
        violation = np.maximum.reduce(np.abs(self.penalty.least_subgradient(parameters, gradient)), axis=None)
        return Point(parameters, loss, slope, loss + self.penalty.value(parameters), gradient, float(violation))

    def better(self, new: Point, old: Point) -> Point:
        """Return the point with the lower J; if rounding hides which, that with the smaller subgradient."""
        slack = ROUNDING * max(1.0, abs(old.objective))
        if abs(new.objective - old.objective) <= slack:
            return new if new.violation < old.violation else old
        return new if new.objective < old.objective else old

    def gap(self, point: Point, moments: LabelledMoments) -> float:
        """Return an upper bound of J at `point` minus its minimum; infinite if nothing is penalised."""
        if self.penalty.is_zero:
            return math.inf
        # The gradient of the loss by the coefficients is the dual point.
        dual = point.slope
        # Fenchel and Young: the mean conjugate is <W, U> - L.
        conjugate = float(np.vdot(point.parameters, dual)) - point.loss
        # A free intercept asks the residuals of every class to sum to zero.
        if self.has_free_intercept:
            conjugate, dual = self._balance(conjugate, dual, moments)
        if self.penalty.has_l1 and len(self.penalty.unbounded):
            conjugate, dual = self._bound(conjugate, dual)
        # Primal less dual objective; rounding may leave it just below zero.
        return max(0.0, point.objective + conjugate + self.penalty.conjugate(dual))

    @cached_property
    def has_free_intercept(self) -> bool:
        """Whether there is an intercept that nothing penalises."""
        return self.fit_intercept and self.penalty.l2[-1] == 0 and self.penalty.l1[-1] == 0

    def _bound(self, conjugate: float, dual: np.ndarray) -> tuple[float, np.ndarray]:
        """Shrink the dual point until columns without a quadratic part are within their l1."""
        columns, bound = self.penalty.unbounded, self.penalty.l1[self.penalty.unbounded]
        size = np.abs(dual[:, columns]).max(axis=0)
        over = size > bound
        scale = float(np.min(bound[over] / size[over])) if over.any() else 1.0
        shrunk = scale * dual
        # Rounding may leave an entry a bit above its bound, where the conjugate is infinite.
        shrunk[:, columns] = np.clip(shrunk[:, columns], -bound, bound)
        return scale * conjugate, shrunk

    def _balance(self, conjugate: float, dual: np.ndarray, moments: LabelledMoments) -> tuple[float, np.ndarray]:
        """Mix the dual point with a constant row so that its residuals sum to zero."""
        mix, constant, by_target, entropy = self.loss.balance(dual[:, -1], moments.shares, 1.0)
        other = constant[:, None] * moments.mean + by_target[:, None] * moments.cross
        result = np.zeros_like(dual)
        result[:, :-1] = (1.0 - mix) * dual[:, :-1] + mix * other
        return (1.0 - mix) * conjugate + mix * entropy, result

    @cached_property
    def gap_tolerance(self) -> float:
        """The gap that gradient entries of `tol` can leave, beside `tol` times the loss of a blind guess."""
        blind = math.log(self.loss.n_classes)
        quadratic, corner = self.penalty.l2 > 0, (self.penalty.l1 > 0) & (self.penalty.l2 == 0)
        # An l2 column with a gradient entry of tol leaves tol^2 / (2 l2).
        allowed = self.tol * blind + self.shape[0] * float(np.sum(self.tol**2 / (2 * self.penalty.l2[quadratic])))
        if corner.any():
            # An l1 column may exceed its bound by tol: the dual point shrinks by l1 / (l1 + tol), which moves loss and
            # conjugate, each about the blind loss, by the rest of that factor.
            allowed += 2.0 * blind * self.tol / (self.tol + float(self.penalty.l1[corner].min()))
        return allowed

    def certify(self, point: Point, moments: LabelledMoments) -> Certificate:
        """Return the duality gap, or the largest gradient entry if nothing is penalised."""
        return self.state_bound(point.violation, self.gap(point, moments))

    def state_bound(self, violation: float, gap: float) -> Certificate:
        """Return the certificate of a point with this largest gradient entry and this gap."""
        if self.penalty.is_zero:
            statement = "The largest entry of the gradient of the mean loss; without a penalty no gap can be computed."
            return Certificate.of("gradient norm", violation, self.tol, statement)
        statement = "The penalised mean loss is at most this far above its minimum."
        return Certificate.of("duality gap", gap, self.gap_tolerance, statement)

    def is_solved(self, point: Point, certificate: Certificate) -> bool:
        """Return whether both the subgradient and the gap are within their tolerances."""
        return bool(certificate.satisfied) and point.violation <= self.tol

    def step(self, point: Point, state: Any, certificate: Certificate, **extra: float) -> Step:
        """Return the record of a completed step."""
        if certificate.kind == "duality gap":
            extra["gap"] = certificate.value
        return Step(point.objective, state, certificate, {"gradient": point.violation, **extra})
