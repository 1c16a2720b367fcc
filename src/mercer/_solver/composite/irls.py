"""Iteratively reweighted least squares: Newton's method for any loss of a linear model.

Each step solves a least-squares problem whose weights are the second derivatives of the loss, followed by a line
search. Losses with corners have none: theirs are rounded off by a barrier that falls from step to step, and so are the
corners of an l1 penalty beside such a loss; the weights then fall off with the square of the residual. A smooth loss
with an l1 penalty takes the penalty into the quadratic model, which coordinate descent minimises.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from mercer._native.linear import coordinate
from mercer._objective import PiecewiseLoss, Smoothed, Squared
from mercer._objective.smoothed import round_corner
from mercer._plain import plain
from mercer._solver.composite.composite_problem import CompositePoint, CompositeProblem, Survey
from mercer._solver.newton import solve_semidefinite
from mercer._solver.request import HEAVY, Dense
from mercer._solver.step import Certificate, Solution, Step
from mercer._statistic.loss import LossCurvature

# Factor by which the barrier falls once a step promises less than 1 % of its weight. On five problems of 20 000 x 30
# falls by 5 take 19 to 48 steps to a gap of 1e-6, falls by 10 take 36 to 82; a tenth of the weight takes 43 to 77.
_FALL = 0.2
_SETTLED = 1e-2
# The last barrier leaves this share of the allowed gap for what Newton's method leaves undone.
SHARE = 0.4
_SWEEPS = 1000
_TRIALS = 40
_DAMPED = 1e-3


@plain
@dataclass(frozen=True, eq=False)
class IrlsState:
    """The best parameters (k, d + 1) and J there, the current ones, the best lower bound of J, the weight of the
    barrier (zero for smooth losses), and the steps taken.
    """

    parameters: Any
    objective: float
    current: Any
    bound: float
    barrier: float
    n_steps: int


@dataclass(frozen=True, eq=False)
class _Model:
    """The smooth function that Newton's method minimises at a barrier: value and gradient at a point."""

    problem: CompositeProblem
    barrier: float

    @property
    def by_descent(self) -> bool:
        """Whether the l1 penalty stays as it is, for coordinate descent."""
        return self.barrier == 0 and self.problem.net.has_l1

    @property
    def _corner_barrier(self) -> float:
        # The columns share a tenth of the rows' barrier: measured 3x fewer steps than one barrier for all.
        return 0.1 * self.barrier / self.problem.n_features

    def _corners(self, w: Any) -> tuple[Any, Any, Any]:
        l1 = np.broadcast_to(self.problem.net.l1, w.shape)
        chosen = l1 > 0
        parts = tuple(np.zeros_like(w) for _ in range(3))
        for part, derivative in zip(parts, round_corner(w[chosen], -l1[chosen], l1[chosen], self._corner_barrier, np)):
            part[chosen] = derivative
        return parts

    def value(self, point: CompositePoint) -> float:
        problem, w = self.problem, point.parameters[:, :-1]
        if self.barrier == 0:
            return point.objective
        smooth = 0.0 if problem.smooth_penalty is None else problem.smooth_penalty.value(w)
        corners = float(np.sum(self._corners(w)[0])) if problem.net.has_l1 else 0.0
        return point.loss + smooth + 0.5 * float(np.vdot(problem.net.l2 * w, w)) + corners

    def gradient(self, point: CompositePoint) -> Any:
        w = point.parameters[:, :-1]
        result = self.problem.gradient(point).copy()
        result[:, :-1] += self.problem.net.l2 * w
        if self.barrier > 0 and self.problem.net.has_l1:
            result[:, :-1] += self._corners(w)[1]
        return result

    def hessian(self, point: CompositePoint, curvature: Any) -> Any:
        """Return the Hessian of the loss, from its sums over rows, plus that of the penalty."""
        problem, (k, width) = self.problem, self.problem.shape
        result = np.ascontiguousarray(curvature) / problem.total_weight
        # A view with indices (class, column, class, column).
        blocks = result.reshape(k, width, k, width)
        bends = None
        if self.barrier > 0 and problem.net.has_l1:
            bends = self._corners(point.parameters[:, :-1])[2]
        for i in range(k):
            # The penalty has no terms between classes.
            part = np.diag(problem.net.l2 + (0.0 if bends is None else bends[i]))
            if problem.smooth_penalty is not None:
                part = part + problem.smooth_penalty.curvature(point.parameters[i, :-1])
            blocks[i, :-1, i, :-1] += part
        return result

    def direction(self, point: CompositePoint, curvature: Any, violation: float, lift: float) -> tuple[Any, float]:
        """Return the step that minimises the quadratic model, and the slope of the objective along it.

        A `lift` of the diagonal, in shares of it, shortens steps along directions that have no curvature.
        """
        problem, (k, width) = self.problem, self.problem.shape
        hessian, gradient = self.hessian(point, curvature), self.gradient(point)
        # The column of the intercept is left out where none is fitted.
        kept = np.tile(np.arange(width) < width - (not problem.fit_intercept), k)
        matrix = hessian if kept.all() else np.ascontiguousarray(hessian[np.ix_(kept, kept)])
        step: np.ndarray = np.zeros(k * width)
        if self.by_descent:
            l1 = np.tile(np.append(problem.net.l1, 0.0), k)[kept]
            target, slope = point.parameters.reshape(-1)[kept].copy(), gradient.reshape(-1)[kept].copy()
            # The inner problem is solved the more exactly the nearer the outer one is to its minimum.
            goal = min(0.01, violation) * violation * float(np.min(np.sqrt(np.diagonal(matrix)), initial=1.0))
            coordinate.descend(matrix, l1, target, slope, goal, _SWEEPS)
            step[kept] = target - point.parameters.reshape(-1)[kept]
        else:
            step[kept] = solve_semidefinite(matrix, -gradient.reshape(-1)[kept], lift)
        step = step.reshape(k, width)
        slope = float(np.vdot(gradient, step))
        if self.by_descent:
            w = point.parameters[:, :-1]
            # With an l1 penalty the change of the penalty itself counts, since it has no slope at zero.
            slope += float(np.sum(problem.net.l1 * (np.abs(w + step[:, :-1]) - np.abs(w))))
        return step, slope


def irls(
    problem: CompositeProblem, start: IrlsState | np.ndarray | None, max_iter: int, rough: float | None = None
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from zero coefficients, from parameters, or from a state of an earlier run.

    With `rough`, end without a certificate when the barrier has fallen to that share of J at zero coefficients.
    """
    survey = yield from problem.survey()
    state = start if isinstance(start, IrlsState) else _first(problem, survey, start)
    last = _last_barrier(problem, survey) if rough is None else rough * survey.unit
    model = _Model(problem, state.barrier)
    point = yield from problem.evaluate(state.current, state.barrier)
    while True:
        state = _keep_better(problem, state, point, survey)
        certificate = _certificate(problem, state, point, survey)
        direction, slope = yield from _direction(problem, model, point, survey)
        if model.by_descent and not certificate.satisfied and not slope < -_enough(problem, survey, model.barrier):
            # The loss is linear where all rows are: it has slope but no curvature, and no Newton step.
            direction, slope = yield from _direction(problem, model, point, survey, _DAMPED)
        # -slope is twice the decrease that the quadratic model promises.
        done = not slope < -_enough(problem, survey, model.barrier)
        # The slopes of the smoothed loss one Newton step ahead are a dual point too, in most cases a better one.
        if done and model.barrier > 0:
            ahead = problem.read(point.parameters, (yield problem.request(point.parameters, model.barrier, direction)))
            state = _keep_better(problem, state, ahead, survey)
            certificate = _certificate(problem, state, ahead, survey)
        # At the last barrier, continue Newton's method until rounding ends it.
        over = done and (rough is not None or not slope < -1e-10 * model.barrier) and model.barrier <= last
        # Rows with zero loss have no curvature, so the fit ends once J is within tolerance of zero.
        rests = not problem.has_gap and problem.rests(state.objective, survey)
        if (done and certificate.satisfied) or rests or over or state.n_steps >= max_iter:
            state = yield from _with_zeros(problem, state, certificate, survey)
            certificate = problem.certify(state.objective, state.bound, certificate.value, survey)
            return Solution(state, certificate.satisfied, certificate)
        # The minimum for this barrier is found: lower it and go on from there.
        if done and model.barrier > last:
            model = replace(model, barrier=max(_FALL * model.barrier, last))
            state = replace(state, barrier=model.barrier)
            point = yield from problem.evaluate(point.parameters, model.barrier)
            continue
        accepted = yield from _search(problem, model, point, survey, direction, slope)
        if accepted is None:
            # Linear pieces of the loss have slope but no curvature, so the Newton step is unbounded: damp it.
            direction, slope = yield from _direction(problem, model, point, survey, _DAMPED)
            accepted = yield from _search(problem, model, point, survey, direction, slope)
        if accepted is None:
            return Solution(state, certificate.satisfied, certificate)
        point = accepted
        state = replace(state, current=point.parameters, n_steps=state.n_steps + 1)
        state = _keep_better(problem, state, point, survey)
        certificate = _certificate(problem, state, point, survey)
        yield Step(state.objective, state, certificate, {certificate.kind.split()[-1]: certificate.value})


def _direction(
    problem: CompositeProblem, model: _Model, point: CompositePoint, survey: Survey, lift: float = 0.0
) -> Generator[Any, Any, tuple[Any, float]]:
    """Compute the Newton step, and the slope along it, in one pass."""
    loss = problem.loss if model.barrier == 0 else Smoothed(cast(PiecewiseLoss, problem.loss), model.barrier)
    curvature = yield LossCurvature(loss, point.parameters)
    if lift and model.by_descent and problem.loss.n_scores == 1:
        # With an l1 penalty the curvature of a squared loss is added, in such a share that the quadratic model does not
        # promise more than J at zero coefficients, whatever the units are.
        gram = yield LossCurvature(Squared(), point.parameters)
        curvature = curvature + _find_share(problem, model, point, survey, gram) * gram
        lift = 0.0
    direct = partial(model.direction, point, curvature, problem.violation(point, survey), lift)
    return (yield Dense(direct, heavy=len(curvature) > HEAVY // 2))


def _find_share(problem: CompositeProblem, model: _Model, point: CompositePoint, survey: Survey, gram: Any) -> float:
    """Return the share of the Gram matrix at which a Newton step without penalty would take J by its unit."""
    width = problem.shape[1] - (not problem.fit_intercept)
    gradient = model.gradient(point).reshape(-1)[:width]
    matrix = np.ascontiguousarray(gram[:width, :width]) / problem.total_weight
    return float(gradient @ solve_semidefinite(matrix, gradient)) / (2.0 * survey.unit)


def _last_barrier(problem: CompositeProblem, survey: Survey) -> float:
    """Return the barrier weight at which the gap it leaves, twice its weight per corner of a row, is tolerable."""
    if problem.loss.is_smooth:
        return 0.0
    corners = problem.loss.n_scores * (2 if cast(PiecewiseLoss, problem.loss).tube > 0 else 1)
    return max(0.5 * SHARE * problem.tol, 1e-13) * survey.unit / corners


def _certificate(problem: CompositeProblem, state: IrlsState, point: CompositePoint, survey: Survey) -> Certificate:
    slackness = math.nan if problem.has_gap else problem.slackness(point, survey)
    return problem.certify(state.objective, state.bound, slackness, survey)


def _first(problem: CompositeProblem, survey: Survey, start: np.ndarray | None) -> IrlsState:
    barrier = 0.0 if problem.loss.is_smooth else 0.5 * survey.unit
    begin = survey.start.parameters if start is None else start
    return IrlsState(survey.start.parameters, survey.start.objective, begin, -math.inf, barrier, 0)


def _keep_better(problem: CompositeProblem, state: IrlsState, point: CompositePoint, survey: Survey) -> IrlsState:
    """Keep the lower J and the higher bound."""
    state = replace(state, bound=max(state.bound, problem.bound(point, survey)))
    if point.objective < state.objective:
        return replace(state, parameters=point.parameters, objective=point.objective)
    return state


def _enough(problem: CompositeProblem, survey: Survey, barrier: float) -> float:
    """Return the least decrease that a step must promise to be worth taking."""
    if barrier > 0:
        return _SETTLED * barrier
    # Squared, since the decrease that a Newton step promises is quadratic in the gradient.
    return max(1e-2 * problem.tol**2, 1e-16) * survey.unit


def _search(
    problem: CompositeProblem, model: _Model, point: CompositePoint, survey: Survey, direction: Any, slope: float
) -> Generator[Any, Any, CompositePoint | None]:
    """Return the first of ever shorter steps that keeps a share of the promised decrease; None if there is none."""
    before = model.value(point)
    # What is added up in J, whose terms may cancel.
    slack = 1e-15 * max(abs(before), survey.floor, np.finfo(np.float64).tiny)
    step = 1.0
    for _ in range(_TRIALS):
        trial = yield from problem.evaluate(point.parameters + step * direction, model.barrier)
        value = model.value(trial)
        # Armijo's condition with 1e-4, and slack for the rounding of the two values.
        if value <= before + 1e-4 * step * slope + slack:
            return trial
        ahead = float(np.vdot(model.gradient(trial), direction)) if math.isfinite(value) else math.nan
        # The secant of the slope at both ends points to the minimum between them.
        share = slope / (slope - ahead) if ahead > 0 and not model.by_descent else 0.5
        step *= min(0.5, max(0.1, share))
    return None


def _with_zeros(
    problem: CompositeProblem, state: IrlsState, certificate: Certificate, survey: Survey
) -> Generator[Any, Any, IrlsState]:
    """Set to zero the coefficients that the barrier kept away from it, unless J rises by more than a tenth of `tol`, or
    the certificate no longer holds.
    """
    net = problem.net
    if state.barrier == 0 or not net.has_l1:
        return state
    # A smoothed corner has its full slope, except near zero coefficients, within the width of the barrier.
    slopes = _Model(problem, state.barrier)._corners(state.current[:, :-1])[1]
    # Strictly within the interval of subgradients the coefficient of the limit is zero.
    strict = np.abs(slopes) < (1.0 - 1e-2) * net.l1
    rounded = state.current.copy()
    rounded[:, :-1][strict] = 0.0
    trial = yield from problem.evaluate(rounded, state.barrier)
    after = problem.certify(trial.objective, state.bound, certificate.value, survey)
    small = trial.objective <= state.objective + 0.1 * problem.tol * survey.unit
    if small and (after.satisfied or not certificate.satisfied):
        return replace(state, parameters=rounded, objective=trial.objective)
    return state
