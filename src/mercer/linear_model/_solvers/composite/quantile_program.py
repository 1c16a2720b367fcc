"""Quantile regression to its exact optimum: a linear programme that only the rows near the plane enter.

Smoothed by a barrier, the problem is solved to a part in ten thousand. The rows far from the plane found then keep
their sides: each is a constant slope in the dual. What is left is a linear programme over the slopes of the near rows,

    min sum_i s_i u_i y_i    with    |sum_i s_i u_i x_i| <= alpha S,  sum_i s_i u_i = 0,  u_i between the slopes,

whose multipliers are the coefficients; the simplex method gives a vertex, with coefficients exactly zero. If all far
rows are still on their sides, that is the optimum of the whole; else those that are not join the near ones (Portnoy and
Koenker, 1997). The slopes of all rows are a dual point, so there is a duality gap after every round.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog

from mercer._objective import PiecewiseLoss
from mercer._plain import plain
from mercer._solver.composite.composite_problem import CompositePoint, CompositeProblem, Survey
from mercer._solver.composite.irls import IrlsState, irls
from mercer._solver.request import Dense
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._statistic.statistic import Statistic
from mercer._types import Array

# The share of J at zero coefficients that the last barrier has before the programme.
_ROUGH = 1e-4
# Rows of the first programme for each column.
_PER_COLUMN = 10
# Rows of the first programme besides those.
_SOME = 500
# The most programmes.
_ROUNDS = 50
# The tightest tolerances that HiGHS accepts.
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class NearCounts(Statistic):
    """For each of some sizes, the number of rows of positive weight with at most that residual."""

    parameters: Array
    sizes: Array

    def of(self, block: Block) -> Array:
        xp = block.xp
        near = xp.abs(_residuals(block, self.parameters))[:, None] <= self.sizes[None, :]
        if block.weight is not None:
            near = near & (block.weight > 0)[:, None]
        return xp.sum(xp.astype(near, xp.int64), axis=0)


@dataclass(frozen=True, eq=False)
class RowSums:
    """Some rows with their targets, weights and numbers, and what the others sum up to: the gradient of their losses by
    coefficients and, last, by the intercept, and the sum of slope times target.
    """

    X: Array
    y: Array
    weight: Array
    numbers: Array
    gradient: Array
    products: Array

    def __add__(self, other: "RowSums") -> "RowSums":
        xp = namespace_of(self.y)
        parts = ("X", "y", "weight", "numbers")
        rows = {part: xp.concat([getattr(self, part), getattr(other, part)]) for part in parts}
        return RowSums(**rows, gradient=self.gradient + other.gradient, products=self.products + other.products)


@dataclass(frozen=True, eq=False)
class NearRows(Statistic):
    """Rows whose residual is at most `size` or whose index is given; of the rest, sums by the side they are on."""

    loss: PiecewiseLoss
    parameters: Array
    size: float
    numbers: Array

    def of(self, block: Block) -> RowSums:
        xp = block.xp
        residual = _residuals(block, self.parameters)
        weight = xp.ones_like(residual) if block.weight is None else xp.astype(block.weight, residual.dtype)
        free = _is_free(block, residual, self.size, self.numbers) & (weight > 0)
        low, high = self.loss.limits
        # Far from the plane the loss is a line: its slope depends on the side only.
        # The residual y - score above zero means a score that is too low.
        slope = xp.where(residual > 0, xp.full_like(residual, low), xp.full_like(residual, high))
        heavy = xp.where(free, xp.zeros_like(slope), weight * slope)
        chosen = xp.nonzero(free)[0]
        rows = block.X[chosen].toarray() if block.is_sparse else xp.take(block.X, chosen, axis=0)
        y = xp.astype(block.y, residual.dtype)
        return RowSums(
            xp.astype(rows, residual.dtype),
            xp.take(y, chosen),
            xp.take(weight, chosen),
            xp.astype(chosen, xp.int64) + block.start,
            # What far rows add to the gradient is a constant of the programme.
            xp.concat([block.transpose_matmul(heavy), xp.reshape(xp.sum(heavy), (1,))]),
            xp.sum(heavy * y),
        )


@dataclass(frozen=True, eq=False)
class SideSums:
    """The weighted sum of the losses, and the indices of rows that have changed sides."""

    loss: float
    numbers: Array

    def __add__(self, other: "SideSums") -> "SideSums":
        return SideSums(self.loss + other.loss, namespace_of(self.numbers).concat([self.numbers, other.numbers]))


@dataclass(frozen=True, eq=False)
class SideChanges(Statistic):
    """The loss at other parameters, and which rows, neither near nor named, are now on the other side of the plane."""

    loss: PiecewiseLoss
    reference: Array
    size: float
    numbers: Array
    parameters: Array

    def of(self, block: Block) -> SideSums:
        xp = block.xp
        before, residual = (_residuals(block, parameters) for parameters in (self.reference, self.parameters))
        value = self.loss.value((xp.astype(block.y, residual.dtype) - residual)[:, None], block.y, xp, checked=True)
        # A row far off that changes sides contradicts the fixed slope it was summed with: it must become a row of the
        # program.
        changed = (before > 0) & (residual < 0) | (before <= 0) & (residual > 0)
        changed = changed & ~_is_free(block, before, self.size, self.numbers)
        if block.weight is not None:
            changed = changed & (block.weight > 0)
        numbers = xp.astype(xp.nonzero(changed)[0], xp.int64) + block.start
        return SideSums(float(xp.sum(block.weigh(value))), numbers)


def _residuals(block: Block, parameters: Array) -> Array:
    scores = block.matmul(parameters[0, :-1]) + parameters[0, -1]
    return block.xp.astype(block.y, scores.dtype) - scores


def _is_free(block: Block, residual: Array, size: float, numbers: Array) -> Array:
    """Return whether rows are near, or their index is in `numbers`, which is sorted."""
    xp = block.xp
    near = xp.abs(residual) <= size
    if numbers.shape[0] == 0:
        return near
    own = xp.arange(block.start, block.start + block.n, dtype=xp.int64, device=block.device)
    # Binary search in the sorted indices; clipped, since those beyond the last have no entry to compare.
    places = xp.clip(xp.searchsorted(numbers, own), 0, numbers.shape[0] - 1)
    return near | (xp.take(numbers, places) == own)


@plain
@dataclass(frozen=True, eq=False)
class ProgramState:
    """The best parameters (1, d + 1), J there, the best lower bound of J, the plane that tells near rows from far, how
    near they are, the indices of rows that joined them, and the steps taken.
    """

    parameters: Any
    objective: float
    bound: float
    reference: Any
    size: float
    numbers: Any
    n_steps: int


def quantile_program(
    problem: CompositeProblem,
    start: IrlsState | ProgramState | None,
    max_iter: int,
    n_rows: int | None,
    *,
    method: str = "highs-ds",
    options: dict[str, Any] | None = None,
) -> Generator[Any, Any, Solution]:
    """Minimise `problem`, a pinball loss with an l1 penalty or none.

    Parameters
    ----------
    problem : CompositeProblem
    start : IrlsState, ProgramState or None
        A state of an earlier run.
    max_iter : int
        The most steps of the smoothed problem.
    n_rows : int or None
        So few rows that all are near enough go to the programme at once; None where the number is not known.
    method, options
        Of :func:`scipy.optimize.linprog`.
    """
    options = _TIGHT if options is None else options
    survey = yield from problem.survey()
    state = start
    # All rows go to the programme at once where they are few.
    if start is None and n_rows is not None and n_rows <= 2 * _choose_size(problem):
        begin, none = survey.start, np.empty(0, dtype=np.int64)
        state = ProgramState(begin.parameters, begin.objective, -math.inf, begin.parameters, math.inf, none, 0)
    if not isinstance(state, ProgramState):
        rough = yield from irls(problem, state, max_iter, rough=_ROUGH)
        if rough.state.n_steps >= max_iter:
            return rough
        state = yield from _near(problem, rough.state, survey)
    certificate = None
    for _ in range(_ROUNDS):
        rows = yield NearRows(cast(PiecewiseLoss, problem.loss), state.reference, state.size, state.numbers)
        optimum = yield Dense(partial(_solve_program, problem, survey, rows, method, options), heavy=True)
        # With all rows in it the programme itself has no solution.
        if optimum is None and math.isinf(state.size):
            break
        if optimum is None:
            # The near rows cannot balance the far ones: more of them are needed.
            state = replace(state, size=4.0 * state.size)
            continue
        parameters, slopes = optimum
        check = SideChanges(cast(PiecewiseLoss, problem.loss), state.reference, state.size, state.numbers, parameters)
        sides = yield check
        point = _point(problem, rows, parameters, slopes, sides.loss)
        state, certificate = _judge(problem, state, point, survey)
        yield Step(state.objective, state, certificate, {"rows": float(len(rows.y))})
        # No far row has changed its side: the programme's solution is that of the whole problem.
        if certificate.satisfied or not len(sides.numbers):
            return Solution(state, certificate.satisfied, certificate)
        # Rows that changed sides join the near ones.
        numbers = np.union1d(state.numbers, sides.numbers).astype(np.int64)
        state = replace(state, numbers=numbers)
    certificate = certificate or Certificate.none("HiGHS did not solve the linear programme.")
    return Solution(state, False, certificate)


def _choose_size(problem: CompositeProblem) -> int:
    return _PER_COLUMN * (problem.n_features + 1) + _SOME


def _near(problem: CompositeProblem, rough: IrlsState, survey: Survey) -> Generator[Any, Any, ProgramState]:
    """Return the state from which the programme starts, with the nearest rows, which are likely to decide."""
    sizes = abs(survey.start.objective) * np.geomspace(1e-8, 1e8, 65)
    counts = yield NearCounts(rough.parameters, sizes)
    size = float(sizes[min(int(np.searchsorted(counts, _choose_size(problem))), len(sizes) - 1)])
    none = np.empty(0, dtype=np.int64)
    return ProgramState(rough.parameters, rough.objective, rough.bound, rough.parameters, size, none, rough.n_steps)


def _solve_program(
    problem: CompositeProblem, survey: Survey, rows: RowSums, method: str, options: dict[str, Any]
) -> tuple[Any, Any] | None:
    """Solve the programme; return parameters (1, d + 1) and the near rows' slopes, or None if infeasible."""
    # HiGHS has absolute tolerances, so scale values to about one. Equal targets have a loss of zero.
    largest = float(np.max(np.abs(rows.y), initial=0.0))
    size = (abs(survey.start.objective) if abs(survey.start.objective) > 1e-12 * largest else largest) or 1.0
    scale = survey.scale[:-1]
    # Weights, columns and targets are brought to about one, so that HiGHS's absolute tolerances mean the same
    # everywhere.
    unit = float(np.mean(rows.weight)) if len(rows.weight) else 1.0
    heavy = rows.weight[:, None] / unit
    design = heavy * rows.X / scale
    fixed = rows.gradient / unit
    limit = problem.net.l1 * (problem.total_weight / unit) / scale
    # Without a penalty the slopes of a column must balance exactly.
    free = limit == 0
    columns, targets = design[:, free].T, -(fixed[:-1] / scale)[free]
    if problem.fit_intercept:
        columns, targets = np.vstack([columns, heavy[:, 0]]), np.append(targets, -fixed[-1])
    # With one, |sum_i s_i u_i x_ij| may be up to alpha S: two inequalities for each column.
    bounded = design[:, ~free].T
    above = (limit - fixed[:-1] / scale)[~free]
    below = (limit + fixed[:-1] / scale)[~free]
    answer = linprog(
        heavy[:, 0] * rows.y / size,
        A_ub=np.vstack([bounded, -bounded]) if len(bounded) else None,
        b_ub=np.concatenate([above, below]) if len(bounded) else None,
        A_eq=columns if len(columns) else None,
        b_eq=targets if len(columns) else None,
        bounds=cast(PiecewiseLoss, problem.loss).limits,
        method=method,
        options=options,
    )
    if answer.status != 0:
        return None
    parameters = np.zeros((1, problem.n_features + 1))
    if len(bounded):
        prices = answer.ineqlin.marginals
        # The multipliers of the two inequalities are the positive and negative parts of the coefficient.
        parameters[0, :-1][~free] = prices[: len(bounded)] - prices[len(bounded) :]
    if len(columns):
        prices = answer.eqlin.marginals
        parameters[0, :-1][free] = prices[: int(free.sum())]
        if problem.fit_intercept:
            parameters[0, -1] = prices[-1] * size
    parameters[0, :-1] *= size / scale
    return parameters + 0.0, np.clip(answer.x, *cast(PiecewiseLoss, problem.loss).limits)


def _point(problem: CompositeProblem, rows: RowSums, parameters: Any, slopes: Any, loss: float) -> CompositePoint:
    """Return the vertex with the slopes of all rows as its dual point."""
    total, heavy = problem.total_weight, rows.weight * slopes
    slope = (rows.gradient + np.append(rows.X.T @ heavy, heavy.sum()))[None, :] / total
    if not problem.fit_intercept:
        slope[:, -1] = 0.0
    conjugate = float(rows.products + heavy @ rows.y) / total
    objective = loss / total + (0.0 if problem.penalty is None else problem.penalty.value(parameters[:, :-1]))
    return CompositePoint(parameters, objective, loss / total, slope, conjugate)


def _judge(
    problem: CompositeProblem, state: ProgramState, point: CompositePoint, survey: Survey
) -> tuple[ProgramState, Certificate]:
    """Keep the lower J and the higher bound, and say how far apart they are."""
    state = replace(state, bound=max(state.bound, problem.bound(point, survey)), n_steps=state.n_steps + 1)
    # Prefer a vertex that equals the best point to rounding: its zero coefficients are exact.
    if point.objective <= state.objective + 1e-12 * abs(state.objective):
        state = replace(state, parameters=point.parameters, objective=min(point.objective, state.objective))
    slackness = math.nan if problem.has_gap else problem.slackness(point, survey)
    return state, problem.certify(state.objective, state.bound, slackness, survey)
