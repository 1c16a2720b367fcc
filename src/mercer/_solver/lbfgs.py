"""L-BFGS in the metric of the data: the Hessian at zero, updated by the steps taken (Liu and Nocedal, 1989).

Where some steps have not been enough the curvature has changed on the way: the metric is then measured anew where the
fit stands. For a loss of one score this takes about three passes. Of several classes each gets the block of the Hessian
of its own parameters, for the price of about d / 4 passes.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.line_search import search
from mercer._solver.linear_problem import LinearProblem, Point
from mercer._solver.metric import WIDEST_GRAM, ClassMetric, LocalMetric, Metric, measure_at, survey
from mercer._solver.quasi_newton import inverse_product, remember
from mercer._solver.step import Solution

_MEMORY = 10
# Steps in one metric. Breast cancer (569 x 30) at C=10 takes 30 steps without a new metric, 13 with one after every 4
# steps and 10 with one after every 3; after every 2 or 1 steps the passes for the metric cost more than they save.
_RENEWAL = 3
# Steps of several classes before the first new metric; as many again and those before it lie between two. Raw digits
# (1797 x 64, 10 classes) at C=1 take 152 steps without a new metric and 41 so, wine (178 x 13) 72 and 33, scaled digits
# 43 and 25. New metrics after every 5 steps save some more steps, and cost more than they save.
_CLASS_RENEWAL = 15
# Passes over the rows that the blocks of d columns cost, for each column: no metric costs more than the steps before.
_CLASS_PASSES = 0.25
# Numbers in the blocks of all classes at most: 64 MB.
_LARGEST_BLOCKS = 2**23
# A step is also required to promise less than this share of tol: entries of the gradient in a badly scaled column can
# all be below tol far from the optimum.
PROMISE = 0.01


@plain
@dataclass(frozen=True, eq=False)
class LbfgsState:
    """Parameters (k, d + 1), the last steps and changes of the gradient, oldest first, the steps taken, and the place
    where the metric was measured (empty: at zero) with the steps taken since.
    """

    parameters: np.ndarray
    steps: tuple[np.ndarray, ...]
    changes: tuple[np.ndarray, ...]
    n_steps: int
    anchor: np.ndarray
    n_since: int


def lbfgs(problem: LinearProblem, start: LbfgsState | np.ndarray, max_iter: int) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from parameters, or from a state of an earlier run."""
    if not isinstance(start, LbfgsState):
        start = LbfgsState(start, (), (), 0, np.empty((0, *start.shape)), 0)
    metric: Metric | LocalMetric | ClassMetric
    moments, metric = yield from survey(problem, problem.shape[1] - 1)
    if len(start.anchor):
        metric = yield from measure_at(problem, start.anchor)
    state, point = start, (yield from problem.evaluate(start.parameters))
    certificate = problem.certify(point, moments)
    while True:
        direction = -inverse_product(state.steps, state.changes, point.gradient, metric.solve)
        # Half of gradient times step is what the quadratic model promises.
        promise = -0.5 * float(np.vdot(point.gradient, direction))
        # Solved only if the certificate holds and the next step would bring next to nothing.
        solved = problem.is_solved(point, certificate) and promise <= PROMISE * problem.tol
        if solved or state.n_steps >= max_iter:
            return Solution(state, solved, certificate)
        # The Hessian has changed on the way: measure it where the fit stands, and forget the remembered steps.
        if _is_outdated(problem, state):
            state = replace(state, steps=(), changes=(), anchor=state.parameters, n_since=0)
            metric = yield from measure_at(problem, state.anchor)
            direction = -metric.solve(point.gradient)
        accepted = yield from search(problem, point, direction)
        if accepted is None and len(state.steps) == 0:
            return Solution(state, False, certificate, "line_search")
        if accepted is None:
            # The remembered steps give no descent direction: forget them.
            state = replace(state, steps=(), changes=())
            continue
        state, point = _update(state, point, accepted), accepted
        certificate = problem.certify(point, moments)
        yield problem.step(point, state, certificate)


def _is_outdated(problem: LinearProblem, state: LbfgsState) -> bool:
    """Return whether enough steps were taken in one metric to measure it anew."""
    k, width = problem.shape
    if width > WIDEST_GRAM:
        return False
    if k == 1:
        return state.n_since >= _RENEWAL
    before = state.n_steps - state.n_since
    enough = max(_CLASS_RENEWAL, _CLASS_PASSES * width) + before
    return state.n_since >= enough and k * width * width <= _LARGEST_BLOCKS


def _update(state: LbfgsState, point: Point, accepted: Point) -> LbfgsState:
    """Remember the step to an accepted point."""
    step, change = accepted.parameters - point.parameters, accepted.gradient - point.gradient
    steps, changes = remember(state.steps, state.changes, step, change, _MEMORY)
    return LbfgsState(accepted.parameters, steps, changes, state.n_steps + 1, state.anchor, state.n_since + 1)
