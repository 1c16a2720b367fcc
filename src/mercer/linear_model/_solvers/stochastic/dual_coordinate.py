"""Dual coordinate ascent for l2-penalised logistic regression with an intercept under penalty (Yu, Huang, Lin, 2011).

With C_i = s_i / (S l2) the dual variable a_i lies in (0, C_i) and w = sum_i y_i a_i x_i, y in {-1, 1}. One coordinate
at a time is maximised exactly, in an order drawn anew for each epoch.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.composite.dual_rows import DualRows, PrepareDual, sweep
from mercer._solver.linear_problem import LinearProblem
from mercer._solver.step import Solution
from mercer._source import Block
from mercer._statistic import Statistic
from mercer._statistic.class_moments import LabelledScatter

# Coordinates start at a = C / (1 + exp(7)), near the lower bound where most of them end.
_START = -1.0 / (1.0 + np.exp(7.0))


@plain
@dataclass(frozen=True, eq=False)
class DualCoordinateState:
    """The best parameters (1, d + 1) after an epoch, the current sums, the slopes -a / C (1, n), epochs, the seed."""

    parameters: np.ndarray
    current: np.ndarray
    slopes: np.ndarray
    n_steps: int
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Combination(Statistic):
    """The sum of the rows, each times its coefficient."""

    coefficients: np.ndarray

    def of(self, block: Block) -> Any:
        return block.transpose_matmul(self.coefficients[block.start : block.start + block.n])


def dual_coordinate(
    problem: LinearProblem, start: DualCoordinateState | None, max_iter: int, n_rows: int, seed: tuple[int, ...]
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from the start of the dual, or from a state of an earlier run."""
    strength, penalised = problem.penalty.l2[0], problem.penalty.l2[-1]
    scale = float(np.sqrt(strength / penalised)) if problem.fit_intercept else 0.0
    statistic = LabelledScatter(problem.loss, diagonal=True)
    moments = statistic.read((yield statistic))
    rows = yield PrepareDual(problem.loss, strength, problem.total_weight, scale, np.zeros(problem.shape[1] - 1))
    if isinstance(start, DualCoordinateState):
        state = start
    else:
        slopes = np.full((1, n_rows), _START)
        parts = yield from _parts(rows, slopes)
        state = DualCoordinateState(rows.parameters(parts), parts, slopes, 0, seed)
    point = yield from problem.evaluate(state.parameters)
    certificate = problem.certify(point, moments)
    while True:
        solved = problem.is_solved(point, certificate)
        if solved or state.n_steps >= max_iter:
            return Solution(state, solved, certificate)
        working = replace(state, current=state.current.copy(), slopes=state.slopes.copy(), n_steps=state.n_steps + 1)
        random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_steps,)))
        order = random.permutation(n_rows)
        yield from sweep(rows, 0, rows.directions(0), order, np.inf, working.slopes, working.current)
        reached = yield from problem.evaluate(rows.parameters(working.current))
        point = problem.better(reached, point)
        state = replace(working, parameters=point.parameters)
        certificate = problem.certify(point, moments)
        yield problem.step(point, state, certificate)


def _parts(rows: DualRows, slopes: np.ndarray) -> Generator[Any, Any, np.ndarray]:
    """Sum the rows that slopes weigh; see :meth:`DualRows.parts`."""
    coefficients = -rows.factor * rows.directions(0)[0] * slopes[0]
    total = yield _Combination(coefficients)
    return rows.parts(np.append(total, coefficients.sum())[None, :], np.zeros(1))
