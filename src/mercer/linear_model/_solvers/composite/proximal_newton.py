"""Proximal Newton with working sets, for penalties with corners: l1 and elastic net.

Each step minimises the second-order model of the loss plus the penalty, by coordinate descent on the Hessian of a
working set of columns (Yuan, Ho and Lin, 2012; Johnson and Guestrin, 2015): those in use, and those whose subgradient
breaks its bound the most. Coordinate descent runs on the Hessian alone, so its sweeps do not touch the rows.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._native.linear import coordinate
from mercer._plain import plain
from mercer._solver.linear_problem import ROUNDING, LinearProblem, Point
from mercer._solver.metric import survey
from mercer._solver.request import Dense
from mercer._solver.step import Solution
from mercer._statistic.loss import LossCurvature

# Hessians of up to this many parameters are formed whole; larger problems start from this many columns.
_WORKING_SET = 256
# Most sweeps over the model of one step, which is not worth more: the next step has a better model.
_SWEEPS = 1000


@plain
@dataclass(frozen=True, eq=False)
class ProximalNewtonState:
    """Parameters (k, d + 1) and the steps taken."""

    parameters: np.ndarray
    n_steps: int


def proximal_newton(
    problem: LinearProblem, start: ProximalNewtonState | np.ndarray, max_iter: int
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from parameters, or from a state of an earlier run."""
    state = start if isinstance(start, ProximalNewtonState) else ProximalNewtonState(start, 0)
    moments, _ = yield from survey(problem, problem.shape[1] - 1)
    point = yield from problem.evaluate(state.parameters)
    certificate = problem.certify(point, moments)
    while True:
        solved = problem.is_solved(point, certificate)
        if solved or state.n_steps >= max_iter:
            return Solution(state, solved, certificate)
        columns = working_set(problem, point)
        # The Hessian of the working set only.
        curvature = yield LossCurvature(problem.loss, point.parameters, columns)
        target = yield Dense(partial(_model_minimum, problem, point, columns, curvature), heavy=True)
        accepted = yield from _backtrack(problem, point, target - point.parameters)
        if accepted is None:
            return Solution(state, False, certificate)
        point, state = accepted, ProximalNewtonState(accepted.parameters, state.n_steps + 1)
        certificate = problem.certify(point, moments)
        yield problem.step(point, state, certificate, working_set=float(len(columns)))


def working_set(problem: LinearProblem, point: Point) -> np.ndarray:
    """Return the columns, without the intercept's, that the next model may move, in order."""
    n_scores, width = problem.shape
    columns = np.arange(width - 1)
    # All columns fit: no set needs to be chosen.
    if n_scores * width <= 2 * _WORKING_SET:
        return columns
    used = np.any(point.parameters[:, :-1] != 0, axis=0)
    subgradient = problem.penalty.least_subgradient(point.parameters, point.gradient)[:, :-1]
    broken = np.max(np.abs(subgradient), axis=0)
    # Columns in use always stay; a set of at least twice their number leaves room to grow.
    broken[used] = np.inf
    size = max(_WORKING_SET // n_scores, 2 * int(used.sum()))
    chosen = np.argsort(-broken, kind="stable")[:size]
    return np.sort(chosen[broken[chosen] > 0])


def _model_minimum(problem: LinearProblem, point: Point, columns: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return the minimum of the second-order model of J over the working set."""
    chosen = np.append(columns, problem.shape[1] - 1) if problem.fit_intercept else columns
    k = problem.shape[0]
    hessian = np.ascontiguousarray(curvature) / problem.total_weight
    if not problem.fit_intercept:
        kept = np.tile(np.arange(len(columns) + 1) < len(columns), k)
        hessian = np.ascontiguousarray(hessian[np.ix_(kept, kept)])
    # The intercept has no l2 of its own unless the penalty says so.
    hessian[np.diag_indices_from(hessian)] += np.tile(problem.penalty.l2[chosen], k)
    target = np.ascontiguousarray(point.parameters[:, chosen]).reshape(-1)
    gradient = np.ascontiguousarray(point.gradient[:, chosen]).reshape(-1)
    # Solve the model to a hundredth of the present error, or to its square near the optimum: it is no more exact.
    error = point.violation
    coordinate.descend(
        hessian, np.tile(problem.penalty.l1[chosen], k), target, gradient, min(0.01, error) * error, _SWEEPS
    )
    result = point.parameters.copy()
    result[:, chosen] = target.reshape(k, -1)
    return result


def _backtrack(problem: LinearProblem, point: Point, direction: np.ndarray) -> Generator[Any, Any, Point | None]:
    """Return the first of the steps 1, 1/2, 1/4... that keeps a share of the decrease the model promises."""
    step = 1.0
    before = problem.penalty.value(point.parameters)
    smooth = float(np.vdot(point.slope, direction))
    # The decrease that the model promises bounds the slope of J along the direction (Tseng and Yun, 2009).
    promise = smooth + problem.penalty.value(point.parameters + direction) - before
    if not promise < 0:
        return None
    for _ in range(40):
        trial = yield from problem.evaluate(point.parameters + step * direction)
        slack = ROUNDING * max(1.0, abs(point.objective))
        if trial.objective <= point.objective + 1e-3 * step * promise + slack:
            return trial
        step *= 0.5
    return None
