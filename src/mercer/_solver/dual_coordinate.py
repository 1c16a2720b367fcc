"""Dual coordinate ascent for l2-penalised logistic regression (Yu, Huang and Lin, 2011).

With C_i = s_i / (S l2) the dual variable a_i lies in (0, C_i) and w = sum_i y_i a_i x_i, y in {-1, 1}. One coordinate
at a time is maximised exactly; its logit t solves t + y_i w . x_i + |x_i|^2 (a(t) - a_i) = 0, which rises in t.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native import dual_coordinate as native
from mercer._plain import plain
from mercer._solver.linear_problem import LinearProblem
from mercer._solver.step import Solution
from mercer._source import Source
from mercer._statistic import Statistic
from mercer._statistic.class_moments import LabelledScatter

__all__ = ["DualCoordinateState", "dual_coordinate"]

_CHUNK = 2**24
# The logit from which coordinates start: a = C / (1 + exp(7)), near the lower bound where most of them end.
_START = -7.0


@plain
@dataclass(frozen=True, eq=False)
class DualCoordinateState:
    """The best parameters (1, d + 1) after an epoch, the current ones, the logits of the dual, epochs, and the seed."""

    parameters: np.ndarray
    current: np.ndarray
    logits: np.ndarray
    n_steps: int
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class DualChunk:
    """A request: maximise the dual in each coordinate of `order`, in place."""

    problem: LinearProblem
    state: DualCoordinateState
    order: np.ndarray
    scale: float

    def answer(self, source: Source) -> None:
        X = source.whole()
        weight = np.ones(source.n_rows) if source.weight is None else source.weight
        bound = weight / (self.problem.total_weight * self.problem.penalty.l2[0])
        given = (2.0 * source.y - 1.0, bound, self.order, self.scale, self.state.logits, self.state.current[0])
        if issparse(X):
            native.logistic_dual_sparse(X.data, X.indices, X.indptr, *given)
        else:
            native.logistic_dual(X, *given)


@dataclass(frozen=True, eq=False)
class DualWeights:
    """A request: the parameters that the logits stand for."""

    problem: LinearProblem
    logits: np.ndarray
    scale: float

    def answer(self, source: Source) -> np.ndarray:
        weight = np.ones(source.n_rows) if source.weight is None else source.weight
        bound = weight / (self.problem.total_weight * self.problem.penalty.l2[0])
        signed = (2.0 * source.y - 1.0) * bound / (1.0 + np.exp(-self.logits))

        def add(block: Any) -> np.ndarray:
            return block.transpose_matmul(signed[block.start : block.start + block.n])

        total = source.reduce(OfBlock(add))
        return np.append(total, self.scale**2 * signed.sum())[None, :]


@dataclass(frozen=True, eq=False)
class OfBlock(Statistic):
    """A function of a block, to be summed."""

    function: Any

    def of(self, block: Any) -> Any:
        return self.function(block)


def dual_coordinate(
    problem: LinearProblem, start: DualCoordinateState | None, max_iter: int, n_rows: int, seed: tuple[int, ...]
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from the start of the dual, or from a state of an earlier run."""
    penalised = problem.penalty.l2[-1]
    scale = float(np.sqrt(problem.penalty.l2[0] / penalised)) if problem.fit_intercept else 0.0
    statistic = LabelledScatter(problem.loss, diagonal=True)
    moments = statistic.read((yield statistic))
    state = start
    if not isinstance(start, DualCoordinateState):
        logits = np.full(n_rows, _START)
        weights = yield DualWeights(problem, logits, scale)
        state = DualCoordinateState(weights, weights, logits, 0, seed)
    point = yield from problem.evaluate(state.parameters)
    certificate = problem.certify(point, moments)
    while True:
        solved = problem.solved(point, certificate)
        if solved or state.n_steps >= max_iter:
            return Solution(state, solved, certificate)
        working = replace(state, current=state.current.copy(), logits=state.logits.copy(), n_steps=state.n_steps + 1)
        random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_steps,)))
        order = random.permutation(n_rows)
        rows = max(1, _CHUNK // problem.shape[1])
        for first in range(0, n_rows, rows):
            yield DualChunk(problem, working, order[first : first + rows], scale)
        reached = yield from problem.evaluate(working.current)
        point = problem.better(reached, point)
        state = replace(working, parameters=point.parameters)
        certificate = problem.certify(point, moments)
        yield problem.step(point, state, certificate)
