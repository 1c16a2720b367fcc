"""Proximal gradient steps with momentum: FISTA (Beck and Teboulle, 2009) for any loss and any penalty.

A step goes down the gradient of the loss and the smooth part of the penalty, then through the proximal map of the rest.
Steps are found by backtracking; momentum starts afresh when it points uphill (O'Donoghue and Candes, 2015), and is left
out where the penalty is not convex. Columns are centred and, where the proximal map works on each coefficient by
itself, measured in their standard deviations, by algebra: the rows stay as they are. One pass per step evaluates both
the point reached and the one that momentum leads to. Losses with corners are replaced by their Moreau envelopes, with
parabolas of a width that falls as the fit nears their optimum (Nesterov, 2005).
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.composite.composite_problem import CompositePoint, CompositeProblem, Survey
from mercer._solver.step import Certificate, Solution, Step
from mercer._statistic.pair import Pair

# The factor by which the smoothing width falls at a time.
_FALL = 0.3
# The least smoothing width, relative to J at zero coefficients: the envelope is then the loss up to rounding.
_LEAST_WIDTH = 1e-12
# Most halvings of a step: after 60 of them it is below the rounding of the parameters.
_LONGEST = 60


@plain
@dataclass(frozen=True, eq=False)
class ProximalGradientState:
    """The best parameters (k, d + 1) and J there, the current ones, the point of the next gradient, Nesterov's t, the
    length of steps, the best lower bound of J, the width of the parabolas at corners, and the steps taken.
    """

    parameters: Any
    objective: float
    current: Any
    ahead: Any
    pace: float
    step: float
    bound: float
    width: float
    n_steps: int


@dataclass(frozen=True, eq=False)
class _Metric:
    """Parameters with centred intercepts, and the squared scale of each column."""

    mean: Any
    squares: Any
    scalar: bool

    @classmethod
    def of(cls, problem: CompositeProblem, survey: Survey) -> "_Metric":
        cornered = problem.cornered_penalty
        scalar = cornered is not None and not cornered.is_separable
        squares = survey.scale**2
        if scalar:
            squares = np.append(np.full(problem.n_features, float(np.max(squares[:-1]))), 1.0)
        mean = survey.moments.mean if problem.fit_intercept else np.zeros(problem.n_features)
        return cls(mean, squares, scalar)

    def steps(self, step: float) -> Any:
        """Return the step of each coefficient."""
        return step / (self.squares[0] if self.scalar else self.squares[:-1])

    def centre(self, parameters: Any) -> Any:
        """Return the parameters with the intercepts moved to the mean of the rows."""
        result = parameters.copy()
        result[:, -1] += parameters[:, :-1] @ self.mean
        return result

    def plain(self, centred: Any) -> Any:
        result = centred.copy()
        result[:, -1] -= centred[:, :-1] @ self.mean
        return result

    def gradient(self, gradient: Any) -> Any:
        """Return the gradient by centred parameters."""
        result = gradient.copy()
        result[:, :-1] -= gradient[:, -1:] * self.mean
        return result


def proximal_gradient(
    problem: CompositeProblem, start: ProximalGradientState | np.ndarray | None, max_iter: int
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from zero coefficients, from parameters, or from a state of an earlier run."""
    survey = yield from problem.survey()
    metric = _Metric.of(problem, survey)
    state = start if isinstance(start, ProximalGradientState) else _first(problem, survey, start)
    point, ahead = yield from _both(problem, state.width, state.current, state.ahead)
    # The run that yielded the state may have been about to end, which is asked again before any step.
    certificate = _certificate(problem, state, point, survey, metric) if state.n_steps > 0 else None
    while True:
        if certificate is not None:
            narrower = state.width > 0 and _is_settled(problem, state, point, survey, metric)
            if narrower:
                # The gradient of the envelope has the Lipschitz constant 1 / width: steps shrink along with the width,
                # and momentum gathered on the wider envelope is dropped.
                width, step = _FALL * state.width, _FALL * state.step
                state = replace(state, width=width, ahead=state.current, pace=1.0, step=step)
            # The width of the envelope bounds how far the smoothed loss is from the loss.
            exhausted = 0 < state.width <= _LEAST_WIDTH * survey.unit
            if certificate.satisfied or state.n_steps >= max_iter or exhausted:
                return Solution(state, certificate.satisfied, certificate)
            if narrower:
                ahead = yield from _evaluate(problem, state.width, state.current)
        accepted = yield from _descend(problem, metric, state, ahead)
        # No step was short enough: the rounding of J hides any further decrease.
        if accepted is None:
            certificate = _certificate(problem, state, ahead, survey, metric)
            return Solution(state, certificate.satisfied, certificate)
        state, point, ahead = accepted
        state = _keep_better(problem, state, point, survey)
        certificate = _certificate(problem, state, point, survey, metric)
        yield Step(state.objective, state, certificate, {certificate.kind.split()[-1]: certificate.value})


def _is_settled(
    problem: CompositeProblem, state: ProximalGradientState, point: CompositePoint, survey: Survey, metric: _Metric
) -> bool:
    """Return whether the smoothing, not the number of steps, limits the gap or the gradient that is left."""
    # The envelope less the loss, which lies above it: not positive.
    smoothed = _smooth_value(problem, point) - point.objective
    if problem.cornered_penalty is not None:
        smoothed += problem.cornered_penalty.value(point.parameters[:, :-1])
    if problem.has_gap:
        # A gap below three times that is mostly due to the smoothing: more steps at this width would be wasted.
        return point.objective - problem.bound(point, survey) <= -3.0 * smoothed
    steps = metric.steps(state.step)
    before = problem.violation(survey.start, survey, steps)
    return problem.violation(point, survey, steps) <= 0.5 * problem.tol * before


def _first(problem: CompositeProblem, survey: Survey, start: np.ndarray | None) -> ProximalGradientState:
    begin = survey.start.parameters if start is None else start
    yardstick = survey.unit
    width = 0.0 if problem.loss.is_smooth else max(0.1 * yardstick, np.finfo(np.float64).tiny)
    span = 1.0 / width if width > 0 else problem.loss.smoothness
    step = 1.0 / span if math.isfinite(span) else 1.0
    # If the penalty is a constraint that zero violates, J is finite from the first step on only.
    return ProximalGradientState(begin, math.inf, begin, begin, 1.0, step, -math.inf, width, 0)


def _descend(
    problem: CompositeProblem, metric: _Metric, state: ProximalGradientState, ahead: CompositePoint
) -> Generator[Any, Any, tuple[ProximalGradientState, CompositePoint, CompositePoint] | None]:
    """Take a step that decreases J as its length promises; return the state, the point and the next one ahead."""
    gradient, base = metric.gradient(problem.gradient(ahead)), metric.centre(ahead.parameters)
    height, step = _smooth_value(problem, ahead), state.step
    for _ in range(_LONGEST):
        moved = _move(problem, metric, base, gradient, step)
        change = moved - base
        # The squared length of the step in the metric, over twice its length factor.
        size = 0.5 * float(np.sum(metric.squares * change * change)) / step
        target = metric.plain(moved)
        momentum, pace = _momentum(problem, metric, state, base, moved)
        forward = metric.plain(moved + momentum) if momentum is not None else target
        # The point and the one ahead by momentum are evaluated in one pass.
        point, next_ahead = yield from _both(problem, state.width, target, forward)
        slack = 1e-14 * max(abs(height), np.finfo(np.float64).tiny)
        # The quadratic bound that makes a step of this length safe (Beck and Teboulle, 2009).
        if _smooth_value(problem, point) <= height + float(np.vdot(gradient, change)) + size + slack:
            state = replace(
                # 5 % longer each time: backtracking alone would never recover from one steep region.
                state,
                current=target,
                ahead=forward,
                pace=pace,
                step=step * 1.05,
                n_steps=state.n_steps + 1,
            )
            return state, point, next_ahead
        step *= 0.5
    return None


def _move(problem: CompositeProblem, metric: _Metric, base: Any, gradient: Any, step: float) -> Any:
    """Return the proximal gradient step, in centred parameters."""
    result = base - step / metric.squares * gradient
    if problem.cornered_penalty is not None:
        result[:, :-1] = problem.cornered_penalty.prox(result[:, :-1], metric.steps(step))
    if not problem.fit_intercept:
        result[:, -1] = 0.0
    return result


def _momentum(
    problem: CompositeProblem, metric: _Metric, state: ProximalGradientState, base: Any, moved: Any
) -> tuple[Any, float]:
    """Return how far beyond the point the next gradient is taken, and the next pace; None without momentum."""
    last = metric.centre(state.current)
    # The gradient scheme of restarts: the step just taken points against the direction of travel.
    uphill = float(np.sum(metric.squares * (base - moved) * (moved - last))) > 0
    if uphill or (problem.penalty is not None and not problem.penalty.is_convex):
        return None, 1.0
    # Nesterov's sequence t' = (1 + sqrt(1 + 4 t^2)) / 2, and the momentum (t - 1) / t'.
    pace = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * state.pace**2))
    share = (state.pace - 1.0) / pace
    return (share * (moved - last), pace) if share > 0 else (None, pace)


def _both(
    problem: CompositeProblem, width: float, target: Any, forward: Any
) -> Generator[Any, Any, tuple[CompositePoint, CompositePoint]]:
    """Compute the points at both places in one pass."""
    if forward is target:
        point = yield from _evaluate(problem, width, target)
        return point, point
    first, second = (problem.request(place, width, envelope=True) for place in (target, forward))
    sums = yield Pair(first, second)
    return problem.read(target, sums.first), problem.read(forward, sums.second)


def _evaluate(problem: CompositeProblem, width: float, parameters: Any) -> Generator[Any, Any, CompositePoint]:
    return problem.read(parameters, (yield problem.request(parameters, width, envelope=True)))


def _smooth_value(problem: CompositeProblem, point: CompositePoint) -> float:
    smooth = problem.smooth_penalty
    return point.loss + (0.0 if smooth is None else smooth.value(point.parameters[:, :-1]))


def _keep_better(
    problem: CompositeProblem, state: ProximalGradientState, point: CompositePoint, survey: Survey
) -> ProximalGradientState:
    """Keep the lower J and the higher bound."""
    state = replace(state, bound=max(state.bound, problem.bound(point, survey)))
    if point.objective < state.objective:
        return replace(state, parameters=point.parameters, objective=point.objective)
    return state


def _certificate(
    problem: CompositeProblem, state: ProximalGradientState, point: CompositePoint, survey: Survey, metric: _Metric
) -> Certificate:
    slackness = math.nan if problem.has_gap else problem.slackness(point, survey, metric.steps(state.step))
    return problem.certify(state.objective, state.bound, slackness, survey)
