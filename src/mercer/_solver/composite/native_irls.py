"""Iteratively reweighted least squares on few rows, many steps in one native call.

The same method as :mod:`mercer._solver.composite.irls`, for losses of lines and parabolas under an l2 penalty without a
free intercept, such as those of linear support vector machines. On 150 rows of 8 columns a step takes 5 microseconds in
native code and 400 if Python asks for each of its sums: fits to 50 rows of 3 columns take 0.2 ms, scikit-learn's 0.45,
and those by the general method 0.8 with the squared hinge and 7.8 with the hinge (``benchmarks.small_fits`` measures
LinearSVC). The scores of several classes are machines of their own.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.linear import machine_steps
from mercer._objective import LabelLoss, PiecewiseLoss
from mercer._plain import plain
from mercer._solver.composite.composite_problem import GAP, ROUNDING, CompositeProblem
from mercer._solver.composite.dual_ascent import takes_dual
from mercer._solver.composite.dual_rows import loss_shape
from mercer._solver.composite.irls import SHARE, irls
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Source
from mercer._types import Array

# Multiplications in one step of all machines: steps of one call are not interrupted, and take some 30 ms in all.
_HEAVIEST = 2**21
# Steps of one call.
_MOST = 60
# The parts of the state that steps change.
_CHANGED = ("parameters", "current", "objective", "bound", "barrier", "active")


@plain
@dataclass(frozen=True, eq=False)
class NativeIrlsState:
    """The best parameters (k, d + 1), the current coefficients (k, d), and for each score (k,) the best J, its lower
    bound, the barrier and whether the machine goes on; and the steps taken.
    """

    parameters: Any
    current: Any
    objective: Any
    bound: Any
    barrier: Any
    active: Any
    n_steps: int


@dataclass(frozen=True, eq=False)
class _Yardstick:
    """J of one score at zero coefficients, and the gap of one score that is allowed."""

    start: float
    allowed: float


def takes_native(problem: CompositeProblem, source: Source) -> bool:
    """Return whether the rows are few and the problem one that :func:`native_irls` solves."""
    n_scores, width = problem.shape
    if source.place != "memory" or problem.fit_intercept:
        return False
    # A step sums the Hessian over the rows and factors it.
    few = n_scores * max(source.n_rows, width) * width * width <= _HEAVIEST
    return few and isinstance(problem.loss, PiecewiseLoss) and takes_dual(problem) and _is_plain(source.whole())


def _is_plain(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)


def native_irls(problem: CompositeProblem, start: Any, max_iter: int, watched: bool) -> Generator[Any, Any, Solution]:
    """Minimise `problem` from zero coefficients or from a state; one step to a call where somebody is `watched`."""
    yardstick = yield _Measure(problem)
    state = start if isinstance(start, NativeIrlsState) else _begin(problem, yardstick)
    while True:
        limit = max_iter - state.n_steps
        run = yield _Steps(problem, state, yardstick, min(limit, 1 if watched else _MOST))
        if run is None:
            # Arithmetic failed, or a step had to be damped: the general method knows what to do.
            given = state.parameters if state.n_steps else None
            return (yield from irls(problem, given, limit))
        state, objectives, gaps = run
        certificate = _certify(state, yardstick)
        if len(objectives):
            earlier = {"objective": objectives[:-1], "gap": gaps[:-1]} if len(objectives) > 1 else None
            yield Step(objectives[-1], state, certificate, {"gap": gaps[-1]}, earlier)
        if not state.active.any() or state.n_steps >= max_iter:
            return Solution(state, certificate.satisfied, certificate)


def _begin(problem: CompositeProblem, yardstick: _Yardstick) -> NativeIrlsState:
    """Return the state at zero coefficients."""
    k, width = problem.shape
    barrier = 0.0 if problem.loss.is_smooth else 0.5 * yardstick.start
    infinite = np.full(k, np.inf)
    zeros, going = np.zeros((k, width)), np.ones(k, dtype=bool)
    return NativeIrlsState(zeros, zeros[:, :-1].copy(), infinite, -infinite, np.full(k, barrier), going, 0)


def _certify(state: NativeIrlsState, yardstick: _Yardstick) -> Certificate:
    gap = float((state.objective - state.bound).sum())
    return Certificate.of("duality gap", max(0.0, gap), len(state.objective) * yardstick.allowed, GAP)


@dataclass(frozen=True, eq=False)
class _Measure:
    """A request: J of one score at zero coefficients, and the gap that is allowed."""

    problem: CompositeProblem

    def answer(self, source: Source) -> _Yardstick:
        problem, y = self.problem, source.y
        shares = np.full(source.n_rows, 1.0 / source.n_rows) if source.weight is None else source.weight
        shares = shares / shares.sum()
        labels = isinstance(problem.loss, LabelLoss)
        rest = problem.loss.value(np.zeros((source.n_rows, problem.shape[0])), y, np, checked=True)
        start = float(shares @ rest) / problem.shape[0]
        # If all targets are alike, rounding is measured beside the loss of their mean.
        mean = np.zeros(1) if labels else np.array([float(shares @ y)])
        floor = 1.0 if labels else float(problem.loss.value(np.zeros((1, 1)), mean, np, checked=True)[0])
        return _Yardstick(start, problem.tol * start + ROUNDING * max(floor, start))


@dataclass(frozen=True, eq=False)
class _Steps:
    """A request: up to `limit` steps of every machine that goes on; None if one of them failed.

    The answer is the state, and J and the gap after each step, summed over the machines.
    """

    problem: CompositeProblem
    state: NativeIrlsState
    yardstick: _Yardstick
    limit: int

    def answer(self, source: Source) -> tuple[NativeIrlsState, list[float], list[float]] | None:
        problem, state = self.problem, self.state
        rows = np.ascontiguousarray(source.whole(), dtype=np.float64)
        weight = np.ones(len(rows)) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        weight = weight / problem.total_weight
        state = replace(state, **{name: getattr(state, name).copy() for name in _CHANGED})
        records = []
        for k in range(len(state.active)):
            record = np.empty((self.limit if state.active[k] else 0, 2))
            done = self._run(state, k, (rows, *self._direct(source.y, k), weight), record)
            if done is None:
                return None
            records.append(record[:done])
        length = max(len(record) for record in records)
        total = np.zeros((length, 2))
        for k, record in enumerate(records):
            total[: len(record)] += record
            # A machine that has ended stays where it is.
            total[len(record) :] += (state.objective[k], state.objective[k] - state.bound[k])
        state = replace(state, n_steps=state.n_steps + length)
        return state, total[:, 0].tolist(), np.maximum(total[:, 1], 0.0).tolist()

    def _direct(self, y: Array, k: int) -> tuple[Array, Array]:
        """Return the sign and the centre of the loss of each row for score `k`."""
        loss = self.problem.loss
        if not isinstance(loss, LabelLoss):
            return np.ones(len(y)), np.ascontiguousarray(y, dtype=np.float64)
        own = y == (1 if loss.n_scores == 1 else k)
        return np.where(own, 1.0, -1.0), np.full(len(y), getattr(loss, "corner", 0.0))

    def _run(self, state: NativeIrlsState, k: int, rows: tuple[Array, ...], record: Array) -> int | None:
        """Take the steps of one machine, in place; return their number, or None if they failed."""
        problem, (start, allowed) = self.problem, (self.yardstick.start, self.yardstick.allowed)
        if not state.active[k]:
            return 0
        n, width = rows[0].shape
        shape = loss_shape(problem.loss)
        assert shape is not None  # takes_native has looked
        # The gap that a barrier leaves is twice its weight for each corner of a row.
        last = 0.0 if problem.loss.is_smooth else max(0.5 * SHARE * problem.tol, 1e-13) * start
        last = 0.5 * last if shape[0] > 0 else last
        # Squared, since the decrease that a Newton step promises is quadratic in the gradient.
        limits = (allowed, max(1e-2 * problem.tol**2, 1e-16) * start, last)
        best = np.zeros(width)
        best[:] = state.parameters[k, :-1]
        room = (*np.empty((2, n)), *np.empty((3, width)), np.empty((width, width)))
        strength = float(problem.net.l2[0])
        machine = machine_steps.Machine(rows, shape, strength, limits, state.current[k], best, room)
        machine.objective, machine.bound = state.objective[k], state.bound[k]
        machine.barrier = state.barrier[k]
        done = machine_steps.run_steps(machine, record)
        if machine.odd or not np.isfinite(machine.objective - machine.bound):
            return None
        state.parameters[k, :-1] = best
        state.objective[k], state.bound[k] = machine.objective, machine.bound
        state.barrier[k], state.active[k] = machine.barrier, not machine.ended
        return done
