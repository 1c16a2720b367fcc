"""Any loss plus any penalty of a linear model: its evaluation, its duality gap, and what else can certify it.

    J(W, b) = (1 / S) sum_i s_i loss(W x_i + b, y_i) + penalty(W),        S = sum_i s_i

The intercepts b are not penalised. Losses with corners are evaluated with a barrier in their dual (see
:mod:`mercer._objective.smoothed`): the residuals of the smoothed loss are a dual point of J itself. Three repairs make
any residuals dual-feasible, and each is paid for by the convexity of the conjugate: mixing with a constant point, so
that they sum to zero, as a free intercept asks; scaling down, so that the conjugate of the penalty is finite; and
nothing for the loss, since residuals are slopes of it. Then

    min J >= -(1 / S) sum_i s_i conjugate(u_i, y_i) - penalty*(-(1 / S) sum_i s_i u_i x_i).
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from mercer._objective import ElasticNetPenalty, Loss, Penalty, PenaltySum, PiecewiseLoss
from mercer._solver.step import Certificate
from mercer._source import Block
from mercer._statistic import Statistic
from mercer._statistic.class_moments import LabelledMoments, LabelledScatter
from mercer._statistic.loss import LossGradient, LossSums, SmoothedGradient, SmoothedSums
from mercer._types import Array

GAP = "J is at most this far above its minimum: a dual point bounds it from below."
_RESIDUAL = (
    "The larger of two shares: the gradient of J (the proximal gradient, where the penalty has corners) beside what it "
    "was at zero coefficients, entries divided by the deviations of their columns; and, beside J there, what the "
    "slopes taken at corners of the loss lack to be slopes of it. Zero exactly where no small move lowers J."
)
_REST = "J is at most this far above its minimum: it is nowhere negative."
# Relative rounding of J, which no number of steps removes: added to all tolerances.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class CompositePoint:
    """Parameters (k, d + 1), J there, the mean loss (smoothed where it has corners) and its gradient, and the mean
    conjugate of the loss at its residuals.
    """

    parameters: Array
    objective: float
    loss: float
    slope: Array
    conjugate: float


@dataclass(frozen=True, eq=False)
class Survey:
    """The moments of the labelled rows, and the point of zero coefficients.

    ``scale`` holds the standard deviation of each column and, last, one; ``rest`` the mean conjugate at zero. ``unit``
    is what tolerances are relative to, and ``floor`` the size of what is added up in J there, which rounding is
    relative to.
    """

    moments: LabelledMoments
    scale: Array
    rest: float
    start: CompositePoint
    unit: float
    floor: float


@dataclass(frozen=True, eq=False)
class _AtRest(Statistic):
    """The conjugate of the loss at zero, summed."""

    loss: Loss

    def of(self, block: Block) -> float:
        xp = block.xp
        zero = xp.zeros_like(self.loss.targets(block.y, xp, block.wide))
        return float(xp.sum(block.weigh(self.loss.conjugate(zero, block.y, xp, checked=True))))


@dataclass(frozen=True, eq=False)
class CompositeProblem:
    """Mean loss of a linear model plus a penalty on its coefficients.

    Parameters
    ----------
    loss : Loss
        Convex.
    penalty : Penalty or None
        On the scale of the mean loss.
    total_weight : float
        S, the sum of the weights.
    n_features : int
    fit_intercept : bool
        Without, the last column of the parameters stays zero.
    tol : float
        The gap to reach, in units of J at zero coefficients; or the share of the gradient there that may remain.
    """

    loss: Loss
    penalty: Penalty | None
    total_weight: float
    n_features: int
    fit_intercept: bool
    tol: float

    @property
    def shape(self) -> tuple[int, int]:
        """Of the parameters."""
        return self.loss.n_scores, self.n_features + 1

    @cached_property
    def has_gap(self) -> bool:
        """Whether a duality gap can be had."""
        return self.penalty is not None and self.penalty.has_gap and self.loss.has_conjugate

    @cached_property
    def smooth_penalty(self) -> Penalty | None:
        """The part of the penalty that has a gradient and is no elastic net."""
        if isinstance(self.penalty, PenaltySum):
            return PenaltySum(self.penalty.smooth_parts) if self.penalty.smooth_parts else None
        plain = self.penalty is not None and self.penalty.is_smooth and self.penalty.elastic is None
        return self.penalty if plain else None

    @cached_property
    def cornered_penalty(self) -> Penalty | None:
        """The part of the penalty with a proximal map: what has corners, or an elastic net."""
        if isinstance(self.penalty, PenaltySum):
            return self.penalty.cornered
        return None if self.smooth_penalty is not None else self.penalty

    @cached_property
    def elastic(self) -> ElasticNetPenalty | None:
        """The elastic net in the penalty: none at all is one of strength zero; None if there are other corners."""
        cornered = self.cornered_penalty
        net = ElasticNetPenalty(0.0, 0.0) if cornered is None else cornered.elastic
        if net is None:
            return None
        columns = np.ones(self.n_features)
        return ElasticNetPenalty(columns * net.l1, columns * net.l2)

    @property
    def net(self) -> ElasticNetPenalty:
        """The elastic net of the penalty, for solvers that are chosen only if `elastic` is not None."""
        net = self.elastic
        assert net is not None
        return net

    def survey(self) -> Generator[Any, Any, Survey]:
        """Compute the moments of rows and targets, and J at zero coefficients, in two passes."""
        statistic = LabelledScatter(self.loss, diagonal=True)
        moments = statistic.read((yield statistic))
        # Without an intercept columns are not centred: their second moments about zero are their scale.
        squares = moments.scatter if self.fit_intercept else moments.scatter + moments.mean**2
        deviation = np.sqrt(np.maximum(squares, 0.0))
        # Constant columns and the intercept keep the scale one.
        scale = np.append(np.where(deviation > 0, deviation, 1.0), 1.0)
        rest = (
            0.0
            if self.loss.rests_at_zero or not self.loss.has_conjugate
            else (yield _AtRest(self.loss)) / self.total_weight
        )
        parameters = np.zeros(self.shape)
        if self.fit_intercept:
            # With zero coefficients the best intercept depends on the targets alone.
            parameters[:, -1] = self.loss.start(moments.shares)
        start = yield from self.evaluate(parameters)
        return Survey(moments, scale, rest, start, *self._measure_unit(moments, start))

    def _measure_unit(self, moments: LabelledMoments, start: CompositePoint) -> tuple[float, float]:
        """Return the size of J at zero coefficients, and that of the numbers which it is the sum of."""
        size = abs(start.objective)
        if self.loss.target == "labels":
            return size, max(size, 1.0)
        shares = np.asarray(moments.shares, dtype=np.float64)
        if not self.loss.predicts_exponentials:
            # If all targets are alike J is zero, and its rounding that of their squares.
            return size, max(size, abs(float(self.loss.value(np.zeros((1, 1)), shares, np, checked=True)[0])))
        # J has terms in the logarithm of the mean target, and passes through zero where the unit of targets changes;
        # the curvature goes with a power of that unit.
        level = start.parameters[:, -1:]
        unit = float(self.loss.find_model_curvature(level, shares, np).sum())
        return unit, unit * (1.0 + float(np.abs(level).max()))

    def request(
        self, parameters: Array, barrier: float = 0.0, direction: Array = None, envelope: bool = False
    ) -> Statistic:
        """Return the pass that :meth:`read` reads; see :class:`SmoothedGradient`."""
        if barrier > 0:
            # Only piecewise losses have corners that a barrier smooths.
            return SmoothedGradient(cast(PiecewiseLoss, self.loss), parameters, barrier, direction, envelope)
        return LossGradient(self.loss, parameters)

    def evaluate(self, parameters: Array, barrier: float = 0.0) -> Generator[Any, Any, CompositePoint]:
        """Compute the point at `parameters` in one pass, with corners of the loss smoothed by `barrier`."""
        return self.read(parameters, (yield self.request(parameters, barrier)))

    def read(self, parameters: Array, sums: LossSums | SmoothedSums) -> CompositePoint:
        """Make a point of the sums over the rows."""
        slope = sums.gradient / self.total_weight
        if not self.fit_intercept:
            slope[:, -1] = 0.0
        value = sums.value / self.total_weight
        penalty = 0.0 if self.penalty is None else self.penalty.value(parameters[:, :-1])
        if isinstance(sums, SmoothedSums):
            loss, conjugate = sums.loss / self.total_weight, sums.conjugate / self.total_weight
            return CompositePoint(parameters, loss + penalty, value, slope, conjugate)
        # Residuals are slopes of the loss, so the Fenchel-Young inequality is an equality.
        conjugate = float(np.vdot(parameters, slope)) - value
        return CompositePoint(parameters, value + penalty, value, slope, conjugate)

    def bound(self, point: CompositePoint, survey: Survey) -> float:
        """Return a lower bound of J from the residuals at a point; minus infinity if there is none."""
        if not self.has_gap or not math.isfinite(point.conjugate):
            return -math.inf
        conjugate, dual = point.conjugate, point.slope[:, :-1]
        if self.fit_intercept:
            # Absolute values: minus a log-likelihood may be negative.
            height = max(abs(point.loss), abs(survey.start.loss) * 1e-12)
            typical = math.sqrt(2.0 * height) + np.finfo(np.float64).tiny
            moments = survey.moments
            mix, constant, by_target, other = self.loss.balance(point.slope[:, -1], moments.shares, typical)
            across = constant[:, None] * moments.mean + by_target[:, None] * moments.cross
            # The conjugate is convex: at a mixture it is at most the mixture of both values.
            conjugate = (1.0 - mix) * conjugate + mix * other
            dual = (1.0 - mix) * dual + mix * across
        assert self.penalty is not None  # without a penalty there is no finite dual bound to compute
        scale = self.penalty.dual_scale(dual)
        # Scaling is a mixture with the dual point zero, whose conjugate is `rest`.
        conjugate = scale * conjugate + (1.0 - scale) * survey.rest
        return -conjugate - self.penalty.conjugate(-scale * dual)

    def gradient(self, point: CompositePoint) -> Array:
        """Return the gradient of the loss and of the smooth part of the penalty, without elastic nets."""
        if self.smooth_penalty is None:
            return point.slope
        result = point.slope.copy()
        result[:, :-1] += self.smooth_penalty.gradient(point.parameters[:, :-1])
        return result

    def violation(self, point: CompositePoint, survey: Survey, step: Any = None) -> float:
        """Return the largest entry of the proximal gradient, each divided by the deviation of its column."""
        gradient, cornered = self.gradient(point), self.cornered_penalty
        if cornered is not None:
            w = point.parameters[:, :-1]
            # A step that suits the widest column. The proximal gradient of any step is zero at the same points.
            step = 1.0 / float(np.max(survey.scale)) ** 2 if step is None else step
            moved = cornered.prox(w - step * gradient[:, :-1], step)
            gradient = np.concatenate([(w - moved) / step, gradient[:, -1:]], axis=1)
        return float(np.max(np.abs(gradient) / survey.scale))

    def slackness(self, point: CompositePoint, survey: Survey, step: Any = None) -> float:
        """Return how far a point and its residuals violate the optimality conditions, relative to zero coefficients."""
        before = self.violation(survey.start, survey, step)
        # A gradient that overflows at zero coefficients is no measure of any other.
        gradient = math.inf if not math.isfinite(before) else 0.0
        if 0 < before < math.inf:
            gradient = self.violation(point, survey, step) / before
        penalty = 0.0 if self.penalty is None else self.penalty.value(point.parameters[:, :-1])
        # Loss + conjugate - <W, U> is not negative, and zero exactly if the residuals are slopes of the loss (Fenchel
        # and Young).
        lack = point.objective - penalty + point.conjugate - float(np.vdot(point.parameters, point.slope))
        return max(gradient, lack / survey.unit if survey.unit > 0 else 0.0)

    def certify(self, objective: float, bound: float, slackness: float, survey: Survey) -> Certificate:
        """Return a duality gap if there is one, else the violation of the optimality conditions."""
        if self.has_gap:
            allowed = self.tol * survey.unit + ROUNDING * survey.floor
            return Certificate.of("duality gap", max(0.0, objective - bound), allowed, GAP)
        if self.rests(objective, survey):
            return Certificate.of("duality gap", objective, self.tol * survey.unit, _REST)
        statement = f"No duality gap: {self._lacks_gap()}. {_RESIDUAL}"
        return Certificate.of("KKT residual", slackness, self.tol + ROUNDING, statement)

    def _lacks_gap(self) -> str:
        """Return the reason why there is no duality gap."""
        if self.penalty is None:
            return "nothing is penalised, so that dual points would have to be orthogonal to every column exactly"
        if not self.loss.has_conjugate:
            return f"no formula is known for the conjugate of the {type(self.loss).__name__} loss"
        if not self.penalty.is_convex:
            return "the penalty is not convex"
        return "the conjugate of the penalty is infinite almost everywhere, and scaling dual points does not help"

    def rests(self, objective: float, survey: Survey) -> bool:
        """Return whether J is within tolerance of its lower bound, zero."""
        return self.loss.rests_at_zero and objective <= self.tol * survey.unit
