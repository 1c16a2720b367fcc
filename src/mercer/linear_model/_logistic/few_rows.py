"""Newton's method for two classes on few rows: L-BFGS whose metric is measured at every step.

A step of L-BFGS asks Python for a dozen small sums, and takes 80 microseconds whatever the rows. On few rows and few
columns the metric costs less than that, so it is measured anew where the fit stands: the direction is then Newton's, no
step needs to be remembered, and many steps can be taken in one native call. Dense rows of files, streams and Dask are
brought to memory for that: they are few, and answers have the same bits wherever rows are. Sparse rows and rows on a
device take the same steps one by one, and so does a step that does not lower the objective well as a whole.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.linear import logistic_steps
from mercer._objective import Logistic
from mercer._solver import Certificate, Solution, Step
from mercer._solver.lbfgs import PROMISE
from mercer._solver.line_search import search
from mercer._solver.linear_problem import LinearProblem
from mercer._solver.metric import measure_at, survey
from mercer._solver.newton import NewtonState
from mercer._source import Block, Source
from mercer._types import Array

# Columns: beyond, a factor of the metric in every step takes longer than the steps that it saves.
_WIDEST = 48
# Multiplications of one metric: some 0.2 ms of work on one thread, and 10 ms in 50 steps.
_HEAVIEST = 2**21
# Rows: the exponentials of more would keep one native call away for more than 50 ms.
_LONGEST = 2**15
# Steps of one call.
_MOST = 50


def takes_few(problem: LinearProblem, source: Source) -> bool:
    """Return whether rows and columns are so few that the metric is measured at every step."""
    width = problem.shape[1]
    if width > _WIDEST + 1 or not isinstance(problem.loss, Logistic) or problem.penalty.has_l1:
        return False
    n = source.n_rows
    return n <= _LONGEST and n * width * width <= _HEAVIEST


def solve_few(problem: LinearProblem, start: Any, max_iter: int, watched: bool) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from parameters or from a state; one step in each call if the fit is `watched`."""
    state = start if isinstance(start, NewtonState) else NewtonState(start, 0)
    moments: Any = None
    while True:
        limit = max_iter - state.n_steps
        run = yield _Steps(problem, state.parameters, min(limit, 1 if watched else _MOST))
        if run is not None:
            state = NewtonState(run.parameters, state.n_steps + len(run.record))
            if len(run.record):
                yield _make_step(problem, run, state)
            if run.certificate is not None and (run.solved or state.n_steps >= max_iter):
                return Solution(state, run.solved, run.certificate)
            if run.certificate is not None:
                continue
        if moments is None:
            moments, _ = yield from survey(problem, problem.shape[1] - 1)
        ended = yield from _search_once(problem, state, max_iter, moments)
        if isinstance(ended, Solution):
            return ended
        state = ended


def _search_once(
    problem: LinearProblem, state: NewtonState, max_iter: int, moments: Any
) -> Generator[Any, Any, NewtonState | Solution]:
    """Take one step along Newton's direction, as far as a line search goes; return the state, or the solution."""
    point = yield from problem.evaluate(state.parameters)
    certificate = problem.certify(point, moments)
    metric = yield from measure_at(problem, point.parameters)
    direction = -metric.solve(point.gradient)
    promise = -0.5 * float(np.vdot(point.gradient, direction))
    solved = problem.is_solved(point, certificate) and promise <= PROMISE * problem.tol
    if solved or state.n_steps >= max_iter:
        return Solution(state, solved, certificate)
    accepted = yield from search(problem, point, direction)
    if accepted is None:
        return Solution(state, False, certificate, "line_search")
    state = NewtonState(accepted.parameters, state.n_steps + 1)
    yield problem.step(accepted, state, problem.certify(accepted, moments))
    return state


@dataclass(frozen=True, eq=False)
class _Run:
    """Where native steps have led: the parameters (1, d + 1), J, the gradient and the gap after each step (m, 3).

    ``certificate`` is None where the run ended at a step that needs a search.
    """

    parameters: Array
    record: Array
    solved: bool
    certificate: Certificate | None


def _make_step(problem: LinearProblem, run: _Run, state: NewtonState) -> Step:
    """Return the record of all steps of a run."""
    names = ("objective", "gradient") if problem.penalty.is_zero else ("objective", "gradient", "gap")
    columns = dict(zip(names, run.record.T.tolist(), strict=False))
    last = {name: values[-1] for name, values in columns.items()}
    earlier = {name: values[:-1] for name, values in columns.items()} if len(run.record) > 1 else None
    certificate = problem.state_bound(last["gradient"], last.get("gap", np.inf))
    return Step(last.pop("objective"), state, certificate, last, earlier)


@dataclass(frozen=True, eq=False)
class _Steps:
    """A request: up to `limit` native steps from `parameters`; the answer for rows sparse or on a device is None."""

    problem: LinearProblem
    parameters: Array
    limit: int

    def answer(self, source: Source) -> _Run | None:
        problem, width = self.problem, self.problem.shape[1]
        if source.is_sparse or source.place == "device":
            return None
        rows, y, weight = (source.whole(), source.y, source.weight) if source.place == "memory" else _gather(source)
        rows, y = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
        n = len(rows)
        share = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
        share = share / problem.total_weight
        moments = (share @ rows, (share * y) @ rows, float(share @ y))
        rules = (problem.fit_intercept, problem.has_free_intercept, not problem.penalty.is_zero)
        limits = (problem.tol, np.inf if problem.penalty.is_zero else problem.gap_tolerance)
        current = np.array(self.parameters[0], dtype=np.float64)
        room = (np.empty((n, width)), np.empty(n), *np.empty((3, width)), *map(np.empty, ((1, width), (width, width))))
        l2 = np.ascontiguousarray(np.broadcast_to(problem.penalty.l2, width), dtype=np.float64)
        machine = logistic_steps.Machine((rows, y, share), moments, l2, rules, limits, current, room)
        record = np.empty((self.limit, 3))
        done = logistic_steps.run_steps(machine, record)
        certificate = None if machine.odd else problem.state_bound(machine.violation, machine.gap)
        return _Run(current[None], record[:done], machine.solved, certificate)


def _gather(source: Source) -> tuple[Array, Array, Array]:
    """Return all rows, labels and weights of a source elsewhere, block after block; of no weights None."""
    blocks = source.on_blocks(dict.fromkeys(range(source.n_blocks), _copy_block))
    rows, labels, weights = zip(*(blocks[number] for number in range(source.n_blocks)), strict=True)
    weight = None if weights[0] is None else np.concatenate(weights)
    return np.concatenate(rows), np.concatenate(labels), weight


def _copy_block(block: Block) -> tuple[Array, Array, Array]:
    # A reader may use the memory of a block again for the next one.
    return np.array(block.X), np.array(block.y), None if block.weight is None else np.array(block.weight)
