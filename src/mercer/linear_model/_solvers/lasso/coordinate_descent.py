"""Coordinate descent for the lasso and the elastic net: a fit for one penalty, target by target, and a path of them.

Minimised is, for each target,

    sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2),   S = sum_i s_i.

Inside, everything is S times that, so that the quadratic part is that of the scatter.
"""

import warnings
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Source
from mercer._statistic import Moments, MomentSums
from mercer._types import Array
from mercer.errors import DataError
from mercer.linear_model._solvers.lasso.column_store import OpenColumns
from mercer.linear_model._solvers.lasso.gram_descent import GramDescent, Orders, Penalty
from mercer.linear_model._solvers.lasso.task_descent import TaskDescent, TaskProblem, TaskWorkingSet
from mercer.linear_model._solvers.lasso.working_set import WorkingSet

STATEMENT = (
    "The objective exceeds its minimum by this at most: the duality gap at a feasible point made of the residual, for "
    "objectives divided by the sum of the weights."
)


@dataclass(frozen=True, eq=False)
class DescentPlan:
    """The problem, the method and the tolerances of a coordinate descent.

    Attributes
    ----------
    subject : str
        Who asks, for errors.
    centre : bool
        Whether there is an intercept.
    positive : bool
    tol : float
        The duality gap to reach, as a share of the objective without coefficients, twice.
    max_iter : int
        The most sweeps for a target.
    on_gram : bool
        Whether to descend on the scatter of all columns; otherwise on working sets of columns in memory.
    gram : ndarray or None
        The scatter, where the user knows it.
    single : bool
        Whether the rows, and so perhaps that scatter, are float32.
    seed : tuple of int or None
        Of the order in which coordinates are visited; None for the order of columns.
    joint : bool
        Whether the penalty bounds the coefficients of a column for all targets together.
    """

    subject: str
    centre: bool
    positive: bool
    tol: float
    max_iter: int
    on_gram: bool
    gram: Array = None
    single: bool = False
    seed: tuple[int, ...] | None = None
    joint: bool = False

    def moments(self) -> Moments:
        """Return the statistic to begin with."""
        return Moments(self.centre, diagonal=not self.on_gram or self.gram is not None)

    def penalty(self, alpha: float, l1_ratio: float, total: float) -> Penalty:
        """Return the penalty, times the sum of the weights."""
        return Penalty(total * alpha * l1_ratio, total * alpha * (1.0 - l1_ratio), self.positive)


@plain
@dataclass(frozen=True, eq=False)
class DescentState:
    """The model (``coef`` is features x targets), the progress of each target, and the state of the current one."""

    coef: Array
    intercept: Array
    sweeps: Array
    gaps: Array
    objectives: Array
    total: float
    method: str
    target: int
    settled: bool
    n_drawn: int
    record: tuple[Array, ...]


def coordinate_descent(
    plan: DescentPlan, alpha: float, l1_ratio: float, begin: Array, start: DescentState | None
) -> Solver:
    """Fit every target from the coefficients `begin`, or from a state of an earlier run."""
    moments = yield from sum_moments(plan)
    penalty, n_targets = plan.penalty(alpha, l1_ratio, moments.weight), len(moments.y_scatter)
    # Targets that share a penalty are one problem.
    goals = plan.tol * (moments.y_scatter.sum(keepdims=True) if plan.joint else moments.y_scatter)
    n_problems = len(goals)
    first = 0 if start is None else start.target
    problems = {}
    for target in range(first, n_problems):
        [problems[target]] = yield from open_problems(plan, [moments], [target])
    state = start or DescentState(
        begin, np.zeros(n_targets), np.zeros(n_problems, dtype=np.int64), np.zeros(n_problems), np.zeros(n_problems),
        moments.weight, problems[0].method, 0, False, 0, (),
    )  # fmt: skip
    for target, problem in problems.items():
        resumed = start is not None and target == first
        if resumed:
            yield from problem.restore(*state.record)
            problem.settled, problem.orders.n_drawn = state.settled, state.n_drawn
            problem.gap = float(state.gaps[target])
        yield from problem.start(state.coef if plan.joint else state.coef[:, target])
        if not resumed:
            # No sweeps, only the gap and the objective at the start: the first step reports all targets.
            yield from problem.round(penalty, float(goals[target]), plan.tol, 0)
            state = _advance(state, moments, target, problem, penalty)
    # Targets not yet solved keep their starting coefficients.
    current = problems[first]
    state = replace(
        state, target=first, settled=current.settled, n_drawn=current.orders.n_drawn, record=current.record()
    )
    if start is None:
        yield _step(state, moments, goals)
    finished = True
    for target in range(first, n_problems):
        problem, goal = problems.pop(target), float(goals[target])
        while not problem.settled and (left := plan.max_iter - int(state.sweeps[target])) > 0:
            # A round may take twice the sweeps done so far: the gap, a pass over wide rows, is computed O(log sweeps)
            # times.
            most = min(left, max(problem.pace, 2 * int(state.sweeps[target])))
            yield from problem.round(penalty, goal, plan.tol, most)
            state = _advance(state, moments, target, problem, penalty)
            yield _step(state, moments, goals)
        finished &= problem.settled and problem.gap <= goal
    return Solution(state, bool(finished and np.all(state.gaps <= goals)), _certificate(state, moments, goals))


def _advance(state: DescentState, moments: MomentSums, target: int, problem: Any, penalty: Penalty) -> DescentState:
    """Return the state after a round of one target."""
    coef, sweeps, gaps, objectives = (a.copy() for a in (state.coef, state.sweeps, state.gaps, state.objectives))
    if isinstance(problem, TaskProblem):
        coef = problem.coef
    else:
        coef[:, target] = problem.coef
    sweeps[target] += problem.sweeps
    gaps[target], objectives[target] = problem.gap, problem.objective(penalty)
    intercept = moments.y_mean - moments.mean @ coef
    drawn, record = problem.orders.n_drawn, problem.record()
    return DescentState(
        coef, intercept, sweeps, gaps, objectives, state.total, problem.method, target, problem.settled, drawn, record
    )


def _step(state: DescentState, moments: MomentSums, goals: Array) -> Step:
    certificate = _certificate(state, moments, goals)
    objective = float(state.objectives.sum()) / moments.weight
    return Step(objective, state, certificate, {"gap": certificate.value, "sweeps": float(state.sweeps.sum())})


def _certificate(state: DescentState, moments: MomentSums, goals: Array) -> Certificate:
    total = moments.weight
    return Certificate.of("duality gap", float(state.gaps.sum()) / total, float(goals.sum()) / total, STATEMENT)


def open_problems(
    plan: DescentPlan, moments: list[MomentSums], targets: list[int], weights: list[Array | None] | None = None
) -> Generator[Any, Any, list[Any]]:
    """Open one problem for each of some moments, with the targets and weights they belong to."""
    if plan.on_gram:
        if plan.joint:
            return [TaskDescent(sums, Orders(plan.seed)) for sums in moments]
        return [GramDescent(sums, target, Orders(plan.seed)) for sums, target in zip(moments, targets, strict=True)]
    y, own = yield Targets()
    weights = [own] * len(moments) if weights is None else weights
    stores = yield OpenColumns([sums.mean for sums in moments], weights)
    problems: list[Any] = []
    if plan.joint:
        for sums, store in zip(moments, stores, strict=True):
            centred = np.stack([store.weigh(column) for column in (y - sums.y_mean).T])
            problems.append(TaskWorkingSet(sums, Orders(plan.seed), store, centred, plan.subject))
        return problems
    for sums, target, store in zip(moments, targets, stores, strict=True):
        # Centred and multiplied by the roots of the weights, as the columns are.
        centred = store.weigh(y[:, target] - sums.y_mean[target])
        problems.append(WorkingSet(store, sums, target, centred, Orders(plan.seed), plan.subject))
    return problems


@dataclass(frozen=True)
class Targets:
    """A request: the targets of rows in memory as float64 columns, and the weights."""

    def answer(self, source: Source) -> tuple[Array, Array | None]:
        y = source.y if source.y.ndim == 2 else source.y[:, None]
        return y.astype(np.float64, copy=False), source.weight


def sum_moments(plan: DescentPlan) -> Generator[Any, Any, MomentSums]:
    """Sum the moments that a plan begins with; raise an error if sums of squares are not finite."""
    moments = yield plan.moments()
    check_sums(plan.subject, moments)
    if plan.gram is None:
        return moments
    return (yield from check_gram(plan.subject, plan.gram, moments, plan.centre, plan.single))


def check_gram(
    subject: str, gram: Array, moments: MomentSums, centre: bool, single: bool
) -> Generator[Any, Any, MomentSums]:
    """Return `moments`, which hold only the diagonal of the scatter, with the scatter `gram` that the user knows.

    If the model has an intercept and the rows are not centred, their Gram matrix is not their scatter: the scatter is
    then computed, with a warning. `single` says that the rows, hence the matrix, may be rounded to float32.
    """
    # How much of the diagonal rounding may explain.
    d, tolerance = len(moments.mean), 1e-3 if single else 1e-6
    if gram.shape != (d, d):
        raise DataError(f"{subject}: precompute must be a Gram matrix of shape {(d, d)}; got {gram.shape}.")
    # The Gram matrix of rows that are not centred is the scatter plus n mean mean^T.
    if centre and (moments.mean**2 * moments.weight > tolerance**2 * moments.scatter).any():
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix. Centre X first, or "
            "set fit_intercept=False.",
            UserWarning,
            stacklevel=2,
        )
        return (yield Moments(centre))
    given, wanted = np.diagonal(gram), moments.scatter
    wrong = ~np.isclose(given, wanted, rtol=tolerance, atol=tolerance * wanted.max(initial=0.0))
    if wrong.any() or not np.allclose(gram, gram.T, rtol=tolerance, atol=tolerance * wanted.max(initial=0.0)):
        column = int(np.argmax(wrong))
        raise DataError(
            f"{subject}: the Gram matrix in precompute did not pass validation: it must be symmetric, with the sums of "
            f"squares of the columns (centred, weighted) on its diagonal; got {given[column]:g} for column {column}, "
            f"expected {wanted[column]:g}. Set precompute=True to have it computed."
        )
    return MomentSums(moments.weight, moments.mean, gram, moments.y_mean, moments.cross, moments.y_scatter)


def check_cross(subject: str, given: Any, cross: Array) -> None:
    """Raise an error where the products of columns and targets that the user knows are not those of the rows."""
    if given is None:
        return
    given = np.asarray(given, dtype=np.float64).reshape(np.shape(given)[0], -1)
    near = 1e-3 * np.abs(cross).max(initial=0)
    if given.shape != cross.shape or not np.allclose(given, cross, rtol=1e-3, atol=near):
        raise DataError(
            f"{subject}: Xy must be X.T @ y, of shape {cross.shape}; got other values of shape {given.shape}."
        )


def check_sums(subject: str, moments: MomentSums) -> None:
    """Raise an error where sums of squares overflow."""
    if not all(np.isfinite(sums).all() for sums in (moments.scatter, moments.cross, moments.y_scatter)):
        raise DataError(
            f"{subject}: Coordinate descent iterations resulted in non-finite parameter values: the sums of squares "
            f"overflow. Scale the columns and the target to values below 1e150."
        )


def solve_problem(problem: Any, penalty: Penalty, goal: float, small: float, max_iter: int) -> Generator[Any, Any, int]:
    """Solve a problem for a penalty from where it is; the sweeps it took."""
    sweeps = 0
    while True:
        yield from problem.round(penalty, goal, small, max_iter - sweeps)
        sweeps += problem.sweeps
        if problem.settled or sweeps >= max_iter:
            return sweeps
