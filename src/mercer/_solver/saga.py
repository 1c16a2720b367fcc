"""Stochastic average gradients: SAG (Schmidt, Le Roux, Bach, 2017) and SAGA (Defazio, Bach, Lacoste-Julien, 2014).

Every row's last residual is remembered (n x k numbers), so that a step costs one row and the noise of the gradient
vanishes towards the optimum. Each column has a step of its own, the inverse of its mean square: the method is blind to
the scaling of columns. Each epoch visits the rows in an order drawn from the seed and the epoch's number.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native import stochastic, stochastic_sparse
from mercer._objective import Loss, Softmax
from mercer._plain import plain
from mercer._solver.linear_problem import LinearProblem
from mercer._solver.step import Solution
from mercer._source import Source
from mercer._source.threads import one_blas_thread
from mercer._statistic.class_moments import LabelledScatter

__all__ = ["SagaState", "saga"]

# Numbers read in one native call: some 20 ms of work, so that Ctrl-C and progress are seen in between.
_CHUNK = 2**24


@plain
@dataclass(frozen=True, eq=False)
class SagaState:
    """The best parameters (k, d + 1) after an epoch, the current ones, the sum of remembered gradients, the remembered
    residuals (n, k), epochs, the largest change of a parameter in the last one (relative to the largest), the seed.
    """

    parameters: np.ndarray
    current: np.ndarray
    average: np.ndarray
    table: np.ndarray
    n_steps: int
    change: float
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Chunk:
    """A request: take one step for each row in `order`, in place."""

    problem: LinearProblem
    state: SagaState
    order: np.ndarray
    steps: np.ndarray
    averaged: bool

    def answer(self, source: Source) -> None:
        X = source.whole()
        problem, state = self.problem, self.state
        loss = 1 if isinstance(problem.loss, Softmax) else 0
        share = 0.0 if self.averaged else float(source.n_rows)
        weight = np.ones(source.n_rows) if source.weight is None else source.weight
        given = (source.y.astype(np.float64, copy=False), weight / problem.total_weight, self.order, loss, share)
        model = (problem.fit_intercept, self.steps, problem.penalty.l1, problem.penalty.l2)
        room = (state.current, state.average, state.table, np.empty(problem.shape[0]))
        with one_blas_thread():
            if issparse(X):
                seen = np.zeros(X.shape[1], dtype=np.intp)
                stochastic_sparse.average_gradients(X.data, X.indices, X.indptr, *given, *model, *room, seen)
            else:
                stochastic.average_gradients(X, *given, *model, *room)


@dataclass(frozen=True, eq=False)
class LargestRow:
    """A request: the largest weighted squared length of a row, in columns divided by `scale`, a 1 for the intercept."""

    scale: np.ndarray
    fit_intercept: bool

    def answer(self, source: Source) -> float:
        def longest(block: Any) -> np.ndarray:
            if block.is_sparse:
                lengths = block.X.multiply(block.X) @ (1.0 / self.scale**2)
            else:
                lengths = (block.X * block.X) @ (1.0 / self.scale**2)
            return block.weighted(lengths + float(self.fit_intercept))

        return float(np.max(source.map(longest)))


def saga(
    problem: LinearProblem,
    start: SagaState | np.ndarray,
    max_iter: int,
    n_rows: int,
    seed: tuple[int, ...],
    averaged: bool = False,
) -> Generator[Any, Any, Solution]:
    """Minimise `problem` by SAGA, or by SAG if `averaged`, from parameters or from a state of an earlier run."""
    state = start
    if not isinstance(start, SagaState):
        state = SagaState(start, start, np.zeros_like(start), np.zeros((n_rows, len(start))), 0, np.inf, seed)
    statistic = LabelledScatter(problem.loss, diagonal=True)
    moments = statistic.read((yield statistic))
    scale = np.sqrt(moments.scatter + moments.mean**2)
    scale = np.where(scale > 0, scale, 1.0)
    longest = yield LargestRow(scale, problem.fit_intercept)
    steps = _steps(problem, scale, longest * n_rows / problem.total_weight, n_rows, averaged)
    point = yield from problem.evaluate(state.parameters)
    certificate = problem.certify(point, moments)
    while True:
        solved = problem.solved(point, certificate) and state.change <= problem.tol
        if solved or state.n_steps >= max_iter:
            return Solution(state, solved, certificate)
        # A step's state is kept by watches: the next epoch writes to copies.
        working = replace(
            state,
            current=state.current.copy(),
            average=state.average.copy(),
            table=state.table.copy(),
            n_steps=state.n_steps + 1,
        )
        random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_steps,)))
        # SAG's memory resonates with an order in which no row comes twice (it diverges at 1 / L); SAGA gains from one.
        order = random.integers(n_rows, size=n_rows, dtype=np.intp) if averaged else random.permutation(n_rows)
        rows = max(1, _CHUNK // (len(state.average) * problem.shape[1]))
        for first in range(0, n_rows, rows):
            yield Chunk(problem, working, order[first : first + rows], steps, averaged)
        reached = yield from problem.evaluate(working.current)
        point = problem.better(reached, point)
        change = np.max(np.abs(working.current - state.current)) / max(np.max(np.abs(working.current)), 1e-300)
        state = replace(working, parameters=point.parameters, change=float(change))
        certificate = problem.certify(point, moments)
        yield problem.step(point, state, certificate)


def _steps(problem: LinearProblem, scale: np.ndarray, longest: float, n_rows: int, averaged: bool) -> np.ndarray:
    """The step of each column: that of rescaled columns, whose loss along one row is curved by at most `smoothness`."""
    smoothness = _largest_curvature(problem.loss) * longest
    convexity = float(np.min(problem.penalty.l2[:-1] / scale**2))
    # SAG takes 1 / L in practice; SAGA's theory asks for 1 / (2 (L + n mu)), at least 1 / (3 L).
    step = 1.0 / smoothness if averaged else 1.0 / (2.0 * smoothness + min(2.0 * n_rows * convexity, smoothness))
    return step / np.append(scale, 1.0) ** 2


def _largest_curvature(loss: Loss) -> float:
    """The largest second derivative of the loss in any direction: 1/4 for the logistic loss, 1/2 for softmax."""
    return 0.5 if isinstance(loss, Softmax) else 0.25
