"""Coordinate ascent in the dual of any piecewise or logistic loss with an l2 penalty, with a free intercept.

The dual of J (see :mod:`mercer._solver.composite.composite_problem`) has a variable for each row, the slope u_i of its
loss, and w = -(1 / (S l2)) sum_i s_i u_i x_i. One variable at a time is maximised exactly (Hsieh et al., 2008;
Shalev-Shwartz and Zhang, 2013), rows in an order drawn anew for each sweep; rows whose slope is at a limit by a margin
are left out until the round ends. A free intercept asks for sum_i s_i u_i = 0, which no single variable can keep to.
Instead b is held near its last value by a weak parabola, (l2 / (2 q)) (b - centre)^2 with q the mean square of the
rows, whose centre moves to b after each round: the method of multipliers (Rockafellar, 1976), exact in the limit.
Columns are centred, by algebra, which makes the intercept the score of the mean row: wherever columns lie costs
nothing.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._objective import LabelLoss, Loss
from mercer._plain import plain
from mercer._solver.composite.composite_problem import CompositePoint, CompositeProblem, Survey
from mercer._solver.composite.dual_rows import DualRows, PrepareDual, loss_shape, sweep
from mercer._solver.request import Map
from mercer._solver.step import Solution, Step
from mercer._source import Block
from mercer._statistic import Statistic, Sums

# Visits of a round, in passes over all rows: a round ends with a pass that evaluates the gap.
_PASSES = 10
# Orders of visits need no seed of the user's: they decide the path, not the optimum.
_SEED = 2008


@plain
@dataclass(frozen=True, eq=False)
class DualAscentState:
    """The best parameters (k, d + 1) and J there, the best lower bound, the current sums (k, d + 3) that visits keep,
    the slopes (k, n) in the direction of each row, the margin by which rows are left out (k,), and rounds.
    """

    parameters: Any
    objective: float
    bound: float
    current: Any
    slopes: Any
    settled: Any
    n_steps: int


@dataclass(frozen=True)
class _DualSums(Sums):
    """Weighted sums of losses and conjugates, and of residuals times rows (k, d + 1)."""

    value: float
    conjugate: float
    gradient: Any


@dataclass(frozen=True, eq=False)
class _DualValue(Statistic):
    """The loss at parameters, its conjugate at slopes (k, n), and the sums of rows that these stand for."""

    loss: Loss
    parameters: Any
    slopes: Any

    def of(self, block: Block) -> _DualSums:
        xp = block.xp
        dual = _signs(self.loss, block) * self.slopes[:, block.start : block.start + block.n].T
        scores = block.matmul(self.parameters[:, :-1].T) + self.parameters[:, -1]
        weighted = block.weigh(dual)
        gradient = xp.concat([block.transpose_matmul(weighted).T, xp.sum(weighted, axis=0)[:, None]], axis=1)
        value = xp.sum(block.weigh(self.loss.value(scores, block.y, xp, checked=True)))
        conjugate = xp.sum(block.weigh(self.loss.conjugate(dual, block.y, xp, checked=True)))
        return _DualSums(float(value), float(conjugate), gradient)


def _signs(loss: Loss, block: Block) -> Any:
    """Return the factors that turn slopes in a row's direction into derivatives by its scores, and back."""
    return loss.signs(block.y, block.xp) if isinstance(loss, LabelLoss) else 1.0


def takes_dual(problem: CompositeProblem) -> bool:
    """Return whether the dual can be maximised by coordinates: a suitable loss and one l2 strength for all columns."""
    net = problem.elastic
    if net is None or problem.smooth_penalty is not None or loss_shape(problem.loss) is None:
        return False
    return not net.has_l1 and problem.n_features > 0 and bool(np.all(net.l2 == net.l2[0]) and net.l2[0] > 0)


def dual_ascent(
    problem: CompositeProblem, start: DualAscentState | np.ndarray | None, max_iter: int
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from slopes of zero, from parameters, or from a state of an earlier run."""
    survey = yield from problem.survey()
    scale = None if problem.fit_intercept else 0.0
    strength = float(problem.net.l2[0])
    # Even for small rows, slopes of about one must be able to move the intercept over the range of the targets.
    least = strength * (1.0 if problem.loss.is_smooth else survey.start.loss)
    mean = survey.moments.mean if problem.fit_intercept else np.zeros(problem.n_features)
    rows = yield PrepareDual(problem.loss, strength, problem.total_weight, scale, mean, least)
    state = start if isinstance(start, DualAscentState) else (yield from _first(problem, survey, rows, start))
    certificate = problem.certify(state.objective, state.bound, math.nan, survey)
    while not certificate.satisfied and state.n_steps < max_iter:
        # Visits write in place, and the last state yielded must stay as it was for a caller who resumes from it.
        working = replace(state, current=state.current.copy(), slopes=state.slopes.copy())
        settled = []
        for k in range(problem.shape[0]):
            settled.append((yield from _round(rows, k, working, certificate.tolerance)))
        state = yield from _evaluate(problem, rows, replace(working, settled=np.array(settled)), survey)
        certificate = problem.certify(state.objective, state.bound, math.nan, survey)
        yield Step(state.objective, state, certificate, {"gap": certificate.value})
    return Solution(state, certificate.satisfied, certificate)


def _first(
    problem: CompositeProblem, survey: Survey, rows: DualRows, start: Any
) -> Generator[Any, Any, DualAscentState]:
    """Return slopes of zero, or those of the loss at the parameters to start from."""
    begin, n_rows = survey.start.parameters, len(rows.factor)
    slopes, settled = np.zeros((problem.shape[0], n_rows)), np.full(problem.shape[0], math.inf)
    # With zero coefficients the intercept is also the score of the mean row.
    current = rows.parts(np.zeros_like(begin), begin[:, -1])
    state = DualAscentState(begin, survey.start.objective, -math.inf, current, slopes, settled, 0)
    if start is None:
        return state
    # The slopes of the loss at the start are a dual point that belongs to it.
    slopes = yield Map(_Slopes(problem.loss, start))
    current = rows.parts(np.zeros_like(begin), start[:, :-1] @ rows.mean + start[:, -1])
    state = replace(state, current=current, slopes=np.ascontiguousarray(slopes.T))
    state = yield from _evaluate(problem, rows, state, survey)
    point = yield from problem.evaluate(start)
    # The start itself may be better than the primal point of its slopes.
    if point.objective < state.objective:
        state = replace(state, objective=point.objective, parameters=start)
    return replace(state, n_steps=0)


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The slopes of the loss at the scores that parameters give, for each row."""

    loss: Loss
    parameters: Any

    def __call__(self, block: Block) -> Any:
        scores = block.matmul(self.parameters[:, :-1].T) + self.parameters[:, -1]
        return _signs(self.loss, block) * self.loss.residual(scores, block.y, block.xp, checked=True)


def _round(rows: DualRows, k: int, state: DualAscentState, tolerance: float) -> Generator[Any, Any, float]:
    """Sweep over the rows of score `k`, ever fewer, in place; return the last sweep's largest violation."""
    n_rows = state.slopes.shape[1]
    random = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(state.n_steps, k)))
    directions = rows.directions(k)
    active, settled, visits = np.arange(n_rows), state.settled[k], 0
    # The first rounds are short: the centre of the intercept's parabola still has far to move.
    passes = min(_PASSES, 2 * (state.n_steps + 1))
    while visits < passes * n_rows and len(active):
        visits += len(active)
        order = random.permutation(active)
        settled, active = yield from sweep(rows, k, directions, order, settled, state.slopes, state.current)
        # The gap of a row is its violation times the change of its slope, which is about one.
        if settled <= 0.1 * tolerance:
            break
    return settled


def _evaluate(
    problem: CompositeProblem, rows: DualRows, state: DualAscentState, survey: Survey
) -> Generator[Any, Any, DualAscentState]:
    """Compute J and its lower bound in one pass, from parameters summed afresh and centred on the intercept."""
    parameters, total, net = rows.parameters(state.current), problem.total_weight, problem.net
    if not problem.fit_intercept:
        parameters[:, -1] = 0.0
    sums = yield _DualValue(problem.loss, parameters, state.slopes)
    slope, loss = sums.gradient / total, sums.value / total
    # w = -(1 / (S l2)) sum_i s_i u_i x_i, summed afresh: the updates of a sweep leave rounding behind.
    current = rows.parts(-slope / net.l2[0], rows.intercepts(state.current))
    if not problem.fit_intercept:
        slope[:, -1] = 0.0
    # J by its definition; the bound comes from the dual and never falls.
    objective = loss + net.value(parameters[:, :-1])
    point = CompositePoint(parameters, objective, loss, slope, sums.conjugate / total)
    bound = max(state.bound, problem.bound(point, survey))
    state = replace(state, bound=bound, current=current, n_steps=state.n_steps + 1)
    if objective < state.objective:
        return replace(state, objective=objective, parameters=parameters)
    return state
